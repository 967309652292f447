"""Sets the engine and the C library against their floors and prints a table of ratios.

    python3 bench/run.py [--turns N] [--rounds N] [--write docs/benchmarks.md]

The programs take turns: one measures the engine and its floors (rheo-core/benches/ratios.rs), the other the same work
through the shared library (bench/abi.c). A figure is the median over the turns of each turn's median. With --write, the
part of the document between its two markers is replaced.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


@dataclass(frozen=True)
class Target:
    """A ratio of two measured times and what it is to be."""

    what: str
    numerator: str
    denominator: str
    bound: float
    at_least: bool

    def row(self, times: dict[str, float]) -> str:
        ratio = times[self.numerator] / times[self.denominator]
        met = ratio >= self.bound if self.at_least else ratio <= self.bound
        sign = "≥" if self.at_least else "≤"
        return (
            f"| {self.what} | {times[self.numerator]:.0f} | {times[self.denominator]:.0f} "
            f"| {ratio:.2f} | {sign} {self.bound:g} | {'yes' if met else '**no**'} |"
        )


def faster(what: str, subject: str, floor: str, bound: float) -> Target:
    """The subject reaches so much of the floor's rate."""
    return Target(what, floor, subject, bound, at_least=True)


def grows(what: str, large: str, small: str, bound: float) -> Target:
    """The large case costs at most so much of the small one."""
    return Target(what, large, small, bound, at_least=False)


TARGETS = [
    faster("append, engine by name, against the floor", "append_by_name", "floor_append", 0.5),
    faster("append, engine by a bound handle, against the floor", "append_bound", "floor_append", 0.5),
    faster("append, C by a bound handle, against the engine's", "c_append_bound", "append_bound", 0.85),
    faster("append, C by name, against the engine's by name", "c_append_by_name", "append_by_name", 0.75),
    faster("append 100, C, against the engine's", "c_append_batch_100", "append_batch_100", 0.92),
    faster("fetch one + ack, engine by name, against the floor", "fetch_ack_by_name", "floor_fetch_ack", 0.5),
    faster("fetch one + ack, engine by a bound handle, against the floor", "fetch_ack_bound", "floor_fetch_ack", 0.5),
    faster("fetch one + ack, C by a bound handle, against the engine's", "c_fetch_ack_bound", "fetch_ack_bound", 0.85),
    faster("fetch 100 + ack_many, C, against the engine's", "c_fetch_100_ack_many", "fetch_100_ack_many", 0.92),
    faster("fetch 100 + ack_many, engine, against singles", "fetch_100_ack_many", "fetch_ack_bound", 1.5),
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
    grows("lag + group_info, 1 million settled and as many ahead against 100", "group_info_of_1_million", "group_info_of_100", 1.2),
]


def engine_program() -> Path:
    """Builds the engine's benchmark and says where it is."""
    command = ["cargo", "bench", "--locked", "--quiet", "-p", "rheo-core", "--bench", "ratios", "--no-run"]
    built = subprocess.run([*command, "--message-format=json"], cwd=ROOT, check=True, capture_output=True, text=True)
    messages = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    programs = [message["executable"] for message in messages if message.get("executable")]
    if not programs:
        sys.exit("cargo built no benchmark named ratios")
    return Path(programs[-1])


def measure(command: list[str]) -> dict[str, float]:
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name: float(nanos) for name, nanos in (line.split("\t") for line in output.splitlines())}


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


def table(times: dict[str, float]) -> str:
    lines = ["| what | ns | ns | ratio | target | met |", "|---|---:|---:|---:|---:|---|"]
    lines += [target.row(times) for target in TARGETS]
    lines += ["", "Every time, in nanoseconds for one event:", "", "| case | ns |", "|---|---:|"]
    lines += [f"| `{name}` | {nanos:.1f} |" for name, nanos in times.items()]
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--turns", type=int, default=9, help="how often each program runs (default 9)")
    arguments.add_argument("--rounds", type=int, default=5, help="rounds within a run (default 5)")
    arguments.add_argument("--write", type=Path, help="the document whose figures are to be replaced")
    options = arguments.parse_args()

    rounds = str(options.rounds)
    programs = [[str(engine_program()), "--rounds", rounds], [str(ROOT / "build/bench/abi"), rounds]]
    turns: dict[str, list[float]] = {}
    for _ in range(options.turns):
        for program in programs:
            for name, nanos in measure(program).items():
                turns.setdefault(name, []).append(nanos)
    times = {name: statistics.median(samples) for name, samples in turns.items()}

    figures = f"{machine()}; medians of {options.turns} turns of {rounds} rounds.\n\n{table(times)}"
    print(figures)
    if options.write:
        text = options.write.read_text()
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
        options.write.write_text(f"{before}{BEGIN}\n{figures}\n{END}{after}")


if __name__ == "__main__":
    main()
