"""Sets the engine and the C library against floors, against each other and against Redis, and prints tables of ratios.

    python3 bench/run.py [--turns N] [--rounds N] [--write docs/benchmarks.md]

The programs take turns: one measures the engine and its floors (rheo-core/benches/ratios.rs), one the same work
through the shared library (bench/abi.c), one Redis Streams (bench/redis.c, where redis-server and hiredis are
installed). A figure is the median over the turns of each turn's median; a turn has one cold figure of a case. What
events cost in memory (rheo-core/benches/memory.rs), and idle consumers (bench/consumers.c), is measured once. With
--write, the part of the document between
its two markers is replaced.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


@dataclass(frozen=True)
class Target:
    """A ratio of two measured values and what it is to be; without a bound it is there to be looked at."""

    what: str
    numerator: str
    denominator: str
    bound: float | None
    at_least: bool

    def row(self, values: dict[str, float], absent: dict[str, str]) -> str:
        """A line of a table. `absent` says by the first word of a name why a value is not there."""
        for name in (self.numerator, self.denominator):
            if name not in values:
                return f"| {self.what} | | | | {self.target()} | not measured: {absent[name.split('_')[0]]} |"
        first, second = values[self.numerator], values[self.denominator]
        ratio = first / second
        return f"| {self.what} | {first:.0f} | {second:.0f} | {ratio:.2f} | {self.target()} | {self.met(ratio)} |"

    def target(self) -> str:
        return "" if self.bound is None else f"{'≥' if self.at_least else '≤'} {self.bound:g}"

    def met(self, ratio: float) -> str:
        if self.bound is None:
            return ""
        return "yes" if (ratio >= self.bound if self.at_least else ratio <= self.bound) else "**no**"


def faster(what: str, subject: str, floor: str, bound: float | None = None) -> Target:
    """The subject reaches so much of the floor's rate."""
    return Target(what, floor, subject, bound, at_least=True)


def grows(what: str, large: str, small: str, bound: float) -> Target:
    """The large case costs at most so much of the small one."""
    return Target(what, large, small, bound, at_least=False)


# By heading.
TARGETS = {
    "Against floors and against each other": [
        faster("append, engine by name, against the floor", "append_by_name", "floor_append", 0.5),
        faster("append, engine by a bound handle, against the floor", "append_bound", "floor_append", 0.5),
        faster("append, C by a bound handle, against the engine's", "c_append_bound", "append_bound", 0.85),
        faster("append, C by name, against the engine's by name", "c_append_by_name", "append_by_name", 0.75),
        faster("append 100, C, against the engine's", "c_append_batch_100", "append_batch_100", 0.92),
        faster("fetch one + ack, engine by name, against the floor", "fetch_ack_by_name", "floor_fetch_ack", 0.5),
        faster(
            "fetch one + ack, engine by a bound handle, against the floor", "fetch_ack_bound", "floor_fetch_ack", 0.5
        ),
        faster(
            "fetch one + ack, C by a bound handle, against the engine's", "c_fetch_ack_bound", "fetch_ack_bound", 0.85
        ),
        faster("fetch 100 + ack_many, C, against the engine's", "c_fetch_100_ack_many", "fetch_100_ack_many", 0.92),
        faster("fetch 100 + ack_many, engine, against singles", "fetch_100_ack_many", "fetch_ack_bound", 1.5),
    ],
    "Against Redis Streams, over loopback": [
        faster("append one, C, against XADD one by one", "c_append_bound", "redis_xadd", 40),
        faster("append 100, C, against 100 XADD pipelined", "c_append_batch_100", "redis_xadd_pipelined_100", 4),
        faster(
            "fetch 100 + ack_many, C, against XREADGROUP + XACK of 100",
            "c_fetch_100_ack_many",
            "redis_xreadgroup_100_xack",
            4,
        ),
        faster("append one, both cold", "c_append_bound_cold", "redis_xadd_cold"),
        faster("append 100, both cold", "c_append_batch_100_cold", "redis_xadd_pipelined_100_cold"),
        faster("fetch 100 + ack_many, both cold", "c_fetch_100_ack_many_cold", "redis_xreadgroup_100_xack_cold"),
    ],
    "Consumers": [
        faster(
            "consumer with a handler that does nothing, C, against fetch 100 + ack_many",
            "c_consumer",
            "c_fetch_100_ack_many",
            0.5,
        ),
        faster("the same in batches of 100", "c_consumer_batch_100", "c_fetch_100_ack_many"),
    ],
    "Two threads on two partitions against one on one": [
        faster("append", "append_2_threads", "append_1_thread", 1.6),
        faster("fetch one + ack", "fetch_ack_2_threads", "fetch_ack_1_thread", 1.6),
    ],
    "A telemetry hook that counts against none": [
        faster("append", "append_counted", "append_bound", 0.8),
        faster("fetch one + ack", "fetch_ack_counted", "fetch_ack_bound", 0.8),
        faster("append, with durations", "append_counted_with_durations", "append_bound"),
        faster("fetch one + ack, with durations", "fetch_ack_counted_with_durations", "fetch_ack_bound"),
    ],
    "Growth": [
        grows(
            "fetch + ack, backlog 10 million against 10 thousand",
            "fetch_ack_backlog_10_million",
            "fetch_ack_backlog_10_thousand",
            1.2,
        ),
        grows("append, 1,000 groups against one", "append_1000_groups", "append_1_group", 1.1),
        grows(
            "ack in order, 100,000 in flight against 100",
            "ack_inflight_100_thousand_in_order",
            "ack_inflight_100_in_order",
            2,
        ),
        grows(
            "ack at random, 100,000 in flight against 100 in order",
            "ack_inflight_100_thousand_at_random",
            "ack_inflight_100_in_order",
            4,
        ),
        grows(
            "lag + group_info, 1 million settled and as many ahead against 100",
            "group_info_of_1_million",
            "group_info_of_100",
            1.2,
        ),
    ],
    "The journal": [
        faster("append, without syncs, against one write", "journal_append", "floor_write", 0.7),
        faster(
            "append 100, without syncs, against encoding, writing and keeping",
            "journal_append_batch_100",
            "floor_batch_100",
            0.7,
        ),
        faster("append, synced, against write + fdatasync", "journal_append_synced", "floor_sync", 0.85),
        faster(
            "append, synced, 32 threads against one", "journal_append_synced_32_threads", "journal_append_synced", 8
        ),
        faster(
            "fetch 100 + ack_many, against in memory", "journal_fetch_100_ack_many", "memory_fetch_100_ack_many", 0.4
        ),
        faster("fetch one + ack, against two writes", "journal_fetch_ack", "floor_two_writes", 0.7),
        faster(
            "recovery of batches, against reading and checksumming",
            "journal_recover_batches",
            "floor_read_batches",
            0.5,
        ),
        faster("recovery of single appends, against the same", "journal_recover_singles", "floor_read_singles", 0.5),
        faster(
            "recovery of events appended and consumed, against the same",
            "journal_recover_consumed",
            "floor_read_consumed",
            0.5,
        ),
    ],
}

# The same in bytes for one event: 10 million events with a payload of 128 bytes and a key.
MEMORY = [
    grows("resident after the appends, against the payload", "resident_appended", "payload", (128 + 72) / 128),
    grows("resident after all were acked, against before", "resident_consumed", "resident_appended", 1.01),
    grows("the same after a replay", "resident_consumed_again", "resident_consumed", 1.01),
]

# From an append to the entry of an idle consumer's handler: by percentile the name and, in microseconds, the target.
WAKE_UPS = {
    "50": ("wake_up_p50", 25),
    "90": ("wake_up_p90", None),
    "99": ("wake_up_p99", 1000),
    "99.9": ("wake_up_p99.9", None),
    "the longest": ("wake_up_max", None),
}

# What is idle.
IDLE = {
    "threads of 200 consumers besides their handlers' and the program's": "consumers_200_threads",
    "use of a core by 200 idle consumers, in millionths": "consumers_200_use",
    "use of a core by 1,000 idle producers, in millionths": "producers_1000_use",
}


def engine_programs() -> dict[str, str]:
    """Builds the engine's benchmarks and says by name where they are."""
    command = ["cargo", "bench", "--locked", "--quiet", "-p", "rheo-core", "--no-run", "--message-format=json"]
    command += ["--bench", "ratios", "--bench", "journal", "--bench", "memory"]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    return {message["target"]["name"]: message["executable"] for message in messages if message.get("executable")}


def why_no_redis() -> str | None:
    """What is missing to measure Redis."""
    if shutil.which("redis-server") is None:
        return "redis-server is not installed"
    header = [*compiler(), "-E", "-include", "hiredis/hiredis.h", "-x", "c", os.devnull]
    if subprocess.run(header, capture_output=True).returncode != 0:
        return "hiredis is not installed"
    return None


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def redis_program() -> str:
    """Builds bench/redis.c and says where it is."""
    program = ROOT / "build/bench/redis"
    program.parent.mkdir(parents=True, exist_ok=True)
    strict = ["-std=c11", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    command = [*compiler(), *strict, str(ROOT / "bench/redis.c"), "-lhiredis", "-o", str(program)]
    subprocess.run(command, check=True)
    return str(program)


@contextmanager
def redis_server() -> Iterator[int]:
    """A server of our own that keeps nothing on disk; gives its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="rheo-bench-") as place:
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", place]
        command += ["--save", "", "--appendonly", "no"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
            try:
                said = ""
                for line in server.stdout:
                    said += line
                    if "Ready to accept connections" in line:
                        break
                else:
                    sys.exit(f"redis-server on port {port} ended at once; it said:\n{said}")
                yield port
            finally:
                server.terminate()


def measure(*command: str) -> dict[str, float]:
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: float(value) for name, value in (line.split("\t") for line in output.splitlines())}


def machine() -> str:
    """The machine in one line: figures mean nothing without it."""
    model = platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line.split(":", 1)[1].strip() for line in information.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    rustc = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    libc = " ".join(platform.libc_ver())
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, {libc}, Rust {rustc}"


def redis_version() -> str:
    said = subprocess.run(["redis-server", "--version"], check=True, capture_output=True, text=True).stdout
    return ", Redis " + next(word for word in said.split() if word.startswith("v=")).removeprefix("v=")


def ratios(unit: str, targets: list[Target], values: dict[str, float], absent: dict[str, str]) -> list[str]:
    lines = [f"| what | {unit} | {unit} | ratio | target | met |", "|---|---:|---:|---:|---:|---|"]
    return lines + [target.row(values, absent) for target in targets]


def listing(unit: str, values: dict[str, float]) -> list[str]:
    lines = [f"| case | {unit} |", "|---|---:|"]
    return lines + [f"| `{name}` | {value:.1f} |" for name, value in values.items()]


def wake_ups(values: dict[str, float]) -> list[str]:
    lines = ["| percentile | µs | target | met |", "|---|---:|---:|---|"]
    for percentile, (name, bound) in WAKE_UPS.items():
        micros = values[name] / 1000
        target, met = ("", "") if bound is None else (f"≤ {bound}", "yes" if micros <= bound else "**no**")
        lines.append(f"| {percentile} | {micros:.1f} | {target} | {met} |")
    return lines


def idle(values: dict[str, float]) -> list[str]:
    return ["| what | |", "|---|---:|", *(f"| {what} | {values[name]:.0f} |" for what, name in IDLE.items())]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--turns", type=int, default=9, help="how often each program runs (default 9)")
    arguments.add_argument("--rounds", type=int, default=5, help="rounds within a run (default 5)")
    arguments.add_argument("--write", type=Path, help="the document whose figures are to be replaced")
    options = arguments.parse_args()

    rounds = str(options.rounds)
    engine = engine_programs()
    no_redis = why_no_redis()
    redis = None if no_redis else redis_program()
    turns: dict[str, list[float]] = {}
    for _ in range(options.turns):
        measured = measure(engine["ratios"], "--rounds", rounds)
        measured |= measure(engine["journal"], "--rounds", rounds)
        os.sync()  # or the system writes its files while the next are measured
        measured |= measure(str(ROOT / "build/bench/abi"), rounds)
        if redis:
            with redis_server() as port:
                measured |= measure(redis, str(port), rounds)
        for name, nanos in measured.items():
            turns.setdefault(name, []).append(nanos)
    times = {name: statistics.median(samples) for name, samples in turns.items()}
    sizes = measure(engine["memory"])
    consumers = measure(str(ROOT / "build/bench/consumers"))
    absent = {"redis": no_redis, "resident": "this system has no /proc/self/status"}

    lines = [f"{machine()}{redis_version() if redis else ''}; medians of {options.turns} turns of {rounds} rounds."]
    for heading, targets in TARGETS.items():
        lines += ["", f"### {heading}", "", *ratios("ns", targets, times, absent)]
    lines += ["", "### Memory", "", *ratios("bytes", MEMORY, sizes, absent)]
    lines += ["", "### From an append to the handler of an idle consumer", "", *wake_ups(consumers)]
    lines += ["", "### Consumers and producers with nothing to do", "", *idle(consumers)]
    lines += ["", "### Every value", "", "In nanoseconds for one event:", "", *listing("ns", times)]
    lines += ["", "In bytes for one event:", "", *listing("bytes", sizes)]
    figures = "\n".join(lines)
    print(figures)
    if options.write:
        text = options.write.read_text()
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
        options.write.write_text(f"{before}{BEGIN}\n{figures}\n{END}{after}")


if __name__ == "__main__":
    main()
