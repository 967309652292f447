"""Sets the Python package against redis-py, honker and plain Python, and prints tables of ratios.

    python bench/python.py [--turns N] [--rounds N] [--write docs/benchmarks.md]

It runs in an environment that has rheo (built as it ships), redis and honker; `make bench-python` sees to that. Each
turn is a fresh process with a fresh redis-server; within it the cases take turns, in rounds, the first of which does
not count. A figure is the median over the turns of each turn's median. What leases leave in memory is measured in
processes of its own. With --write, the part of the document between its two markers for Python is replaced.
"""

import argparse
import asyncio
import ctypes
import gc
import importlib.metadata
import json
import os
import platform
import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import honker  # type: ignore[import-untyped]
import redis

import rheo
import rheo.aio
from run import Target, faster, grows, listing, machine, measure, ratios, redis_server, redis_version

BEGIN, END = "<!-- figures of Python: begin -->", "<!-- figures of Python: end -->"

PAYLOADS: list[dict[str, object]] = [
    {
        "order": 100_000 + number,
        "customer": f"customer-{number % 100:04}",
        "total": 12.5 + number,
        "currency": "EUR",
        "items": 1 + number % 9,
        "express": number % 3 == 0,
        "status": "placed",
    }
    for number in range(1000)
]
BYTES = [json.dumps(payload, separators=(",", ":")).encode() for payload in PAYLOADS]
BATCHES = [PAYLOADS[start : start + 100] for start in range(0, 1000, 100)]

WAITING = 8
SPINNING = (1, 3)
LEASES = 1_000_000
WAKES = 2000

# By heading: the unit and the rows.
TARGETS: dict[str, tuple[str, list[Target]]] = {
    "Python: memory against redis-py": (
        "ns",
        [
            faster("append one, dict, against XADD one by one with json.dumps", "append_dict", "redis_xadd_dict", 90),
            faster("append one, bytes, against XADD one by one", "append_bytes", "redis_xadd_bytes", 200),
            faster(
                "append 100 dicts, against 100 XADD pipelined with json.dumps", "append_100", "redis_pipeline_100", 20
            ),
            faster(
                "fetch 100 + ack_many, untouched, against XREADGROUP + XACK of 100", "fetch_100", "redis_read_100", 15
            ),
            faster(
                "the same, decoded: payloads() against json.loads", "fetch_100_decoded", "redis_read_100_decoded", 6
            ),
            faster("fetch one + ack, against XREADGROUP + XACK of one", "fetch_one", "redis_read_one", 250),
            faster("append one, dict, by name", "append_dict_by_name", "redis_xadd_dict"),
            faster("append one, bytes, by name", "append_bytes_by_name", "redis_xadd_bytes"),
            faster("fetch one + ack, by name", "fetch_one_by_name", "redis_read_one"),
        ],
    ),
    'Python: `journal` with `sync="interval:100"` against honker\'s SQLite file': (
        "ns",
        [
            faster("append one, dict, against enqueue", "journal_append", "honker_enqueue", 25),
            faster(
                "append 100 dicts, against 100 enqueue in a transaction", "journal_append_100", "honker_enqueue_100", 15
            ),
            faster(
                "fetch 100 + ack_many, against claim_batch + ack_batch of 100",
                "journal_fetch_100",
                "honker_claim_100",
                10,
            ),
            faster("fetch one + ack, against claim_one + ack", "journal_fetch_one", "honker_claim_one", 25),
            faster("append one, dict, against publish to a stream of honker's", "journal_append", "honker_publish"),
        ],
    ),
    "Python: beside busy threads": (
        "%",
        [
            Target(
                f"appends kept beside {count} spinning thread{'s' * (count > 1)}, against a plain loop's",
                f"append_kept_{count}",
                f"loop_kept_{count}",
                0.4,
                at_least=True,
            )
            for count in SPINNING
        ],
    ),
    "Python: asyncio, and waiting threads": (
        "ns",
        [
            faster("append, awaited, against the plain one", "await_append", "append_dict_by_name", 0.4),
            faster("append, awaited, by a bound handle, against the plain one", "await_append_bound", "append_dict"),
            faster(
                f"append beside {WAITING} threads that wait in fetch, against none",
                f"append_{WAITING}_waiting",
                "append_0_waiting",
                0.95,
            ),
        ],
    ),
    "Python: consumers with nothing to do, against loops by hand": (
        "ns",
        [
            faster("plain function, against fetch 100 + ack_many", "consume_plain", "fetch_100", 0.3),
            faster("async function, against its own fetch 100 + ack_many", "consume_async", "await_fetch_100", 0.15),
            faster("plain function, against a loop that calls it with each event", "consume_plain", "fetch_100_called"),
            faster("plain function, lists of 100", "consume_lists", "fetch_100"),
            faster("plain function, with the default `max_demand` of 10", "consume_plain_10", "fetch_100"),
            faster("async function on a thread of its own", "consume_async_thread", "fetch_100"),
        ],
    ),
    "Python: resident after a million leases against before": (
        "KiB",
        [
            grows("a stream of a million, consumed once", "resident_after", "resident_before", 1.05),
            Target("the same", "resident_after", "resident_before", 0.95, at_least=True),
            grows(
                "a stream of 10,000, replayed a hundred times", "resident_replay_after", "resident_replay_before", 1.05
            ),
            Target("the same", "resident_replay_after", "resident_replay_before", 0.95, at_least=True),
        ],
    ),
}


# Places to work in: each is fresh, holds so many events, and is gone afterwards.


def fill(db: rheo.Instance, events: int) -> None:
    stream = db.stream("orders")
    for batch in islice(cycle(BATCHES), events // 100):
        stream.append_batch(batch)


@contextmanager
def opened(url: str, events: int, **options: Any) -> Iterator[rheo.Instance]:
    with rheo.open(url, **options) as db:
        db.create_stream("orders")
        db.create_group("orders", "billing")
        fill(db, events)
        yield db


def memory(events: int) -> AbstractContextManager[rheo.Instance]:
    return opened("memory:", events)


@contextmanager
def directory() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="rheo-bench-", dir=os.environ.get("RHEO_BENCH_DIR")) as place:
        yield place
    os.sync()  # or the system writes these files while the next are measured


@contextmanager
def journal(events: int) -> Iterator[rheo.Instance]:
    with directory() as place, opened(f"journal:{place}/data", events, sync="interval:100") as db:
        yield db


@contextmanager
def sqlite_of_honker(events: int) -> Iterator[Any]:
    with directory() as place:
        db = honker.open(f"{place}/honker.db")
        honker_enqueue_100(db, events)
        yield db
        db.close()


@contextmanager
def streams_of_redis(port: int | None, events: int) -> Iterator[Any]:
    assert port is not None
    with redis.Redis(port=port) as client:
        client.flushall()
        client.xgroup_create("orders", "billing", mkstream=True)
        redis_pipeline_100(client, events)
        yield client


@contextmanager
def spinning(threads: int, events: int) -> Iterator[rheo.Instance]:
    """Threads that compute in Python, beside."""
    is_over = False

    def spin() -> None:
        turns = 0
        while not is_over:
            turns += 1

    with memory(events) as db, ended([threading.Thread(target=spin) for _ in range(threads)]):
        try:
            yield db
        finally:
            is_over = True


@contextmanager
def waiting(threads: int, events: int) -> Iterator[rheo.Instance]:
    """Threads that wait in a fetch from another stream, beside."""

    def wait(group: rheo.Group) -> None:
        try:
            group.fetch(wait_ms=60_000)
        except rheo.Closed:
            return
        raise AssertionError("nobody appended anything there, and a minute is not over")

    with memory(events) as db:
        db.create_stream("idle")
        db.create_group("idle", "waiting")
        with ended([threading.Thread(target=wait, args=(db.group("idle", "waiting"),)) for _ in range(threads)]):
            time.sleep(0.1)  # also beside none: a processor that slept is slower at first
            try:
                yield db
            finally:
                db.close()


@contextmanager
def ended(threads: list[threading.Thread]) -> Iterator[None]:
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()


@contextmanager
def asynchronous(events: int) -> Iterator[tuple[asyncio.Runner, rheo.aio.Instance]]:
    assert events == 0

    async def set_up() -> rheo.aio.Instance:
        db = await rheo.aio.open("memory:")
        await db.create_stream("orders")
        return db

    with asyncio.Runner() as runner:
        db = runner.run(set_up())
        yield runner, db
        runner.run(db.close())


# What is measured. Bound handles, unless the name says otherwise.


def append_dict(db: rheo.Instance, events: int) -> None:
    append = db.stream("orders").append
    for payload in islice(cycle(PAYLOADS), events):
        append(payload)


def append_bytes(db: rheo.Instance, events: int) -> None:
    append = db.stream("orders").append
    for payload in islice(cycle(BYTES), events):
        append(payload)


def append_dict_by_name(db: rheo.Instance, events: int) -> None:
    append = db.append
    for payload in islice(cycle(PAYLOADS), events):
        append("orders", payload)


def append_bytes_by_name(db: rheo.Instance, events: int) -> None:
    append = db.append
    for payload in islice(cycle(BYTES), events):
        append("orders", payload)


def append_100(db: rheo.Instance, events: int) -> None:
    fill(db, events)


def fetch_100(db: rheo.Instance, events: int) -> None:
    billing = db.group("orders", "billing")
    for _ in range(events // 100):
        results = billing.ack_many(billing.fetch(limit=100))
    assert len(results) == 100
    assert not any(results)


def fetch_100_decoded(db: rheo.Instance, events: int) -> None:
    billing = db.group("orders", "billing")
    for _ in range(events // 100):
        batch = billing.fetch(limit=100)
        payloads = batch.payloads()
        billing.ack_many(batch)
    assert len(payloads) == 100


def fetch_one(db: rheo.Instance, events: int) -> None:
    fetch = db.group("orders", "billing").fetch
    for _ in range(events):
        fetch(limit=1)[0].ack()


def fetch_one_by_name(db: rheo.Instance, events: int) -> None:
    fetch, ack = db.fetch, db.ack
    for _ in range(events):
        ack(fetch("orders", "billing", limit=1)[0])


def redis_xadd_dict(client: Any, events: int) -> None:
    for payload in islice(cycle(PAYLOADS), events):
        client.xadd("orders", {"payload": json.dumps(payload)})


def redis_xadd_bytes(client: Any, events: int) -> None:
    for payload in islice(cycle(BYTES), events):
        client.xadd("orders", {"payload": payload})


def redis_pipeline_100(client: Any, events: int) -> None:
    for batch in islice(cycle(BATCHES), events // 100):
        pipeline = client.pipeline(transaction=False)
        for payload in batch:
            pipeline.xadd("orders", {"payload": json.dumps(payload)})
        pipeline.execute()


def redis_read(client: Any, count: int) -> list[tuple[bytes, dict[bytes, bytes]]]:
    answer = client.xreadgroup("billing", "bench", {"orders": ">"}, count=count)
    # In RESP3 a map of streams to lists of pages, in RESP2 a list of pairs.
    entries = answer[b"orders"][0] if isinstance(answer, dict) else answer[0][1]
    assert len(entries) == count
    return entries  # type: ignore[no-any-return]


def redis_read_100(client: Any, events: int) -> None:
    for _ in range(events // 100):
        entries = redis_read(client, 100)
        client.xack("orders", "billing", *[id for id, _ in entries])


def redis_read_100_decoded(client: Any, events: int) -> None:
    for _ in range(events // 100):
        entries = redis_read(client, 100)
        payloads = [json.loads(fields[b"payload"]) for _, fields in entries]
        client.xack("orders", "billing", *[id for id, _ in entries])
    assert len(payloads) == 100


def redis_read_one(client: Any, events: int) -> None:
    for _ in range(events):
        ((id, _),) = redis_read(client, 1)
        client.xack("orders", "billing", id)


def honker_enqueue(db: Any, events: int) -> None:
    enqueue = db.queue("orders").enqueue
    for payload in islice(cycle(PAYLOADS), events):
        enqueue(payload)


def honker_publish(db: Any, events: int) -> None:
    publish = db.stream("orders").publish
    for payload in islice(cycle(PAYLOADS), events):
        publish(payload)


def honker_enqueue_100(db: Any, events: int) -> None:
    enqueue = db.queue("orders").enqueue
    for batch in islice(cycle(BATCHES), events // 100):
        with db.transaction() as transaction:
            for payload in batch:
                enqueue(payload, tx=transaction)


def honker_claim_100(db: Any, events: int) -> None:
    queue = db.queue("orders")
    for _ in range(events // 100):
        acked = queue.ack_batch([job.id for job in queue.claim_batch("bench", 100)], "bench")
    assert acked == 100


def honker_claim_one(db: Any, events: int) -> None:
    queue = db.queue("orders")
    for _ in range(events):
        acked = queue.claim_one("bench").ack()
    assert acked


def nothing(_event: rheo.Event) -> None:
    pass


def fetch_100_called(db: rheo.Instance, events: int) -> None:
    billing = db.group("orders", "billing")
    for _ in range(events // 100):
        batch = billing.fetch(limit=100)
        for event in batch.events():
            nothing(event)
        billing.ack_many(batch)


def nothing_of_many(_events: list[rheo.Event]) -> None:
    pass


async def nothing_async(_event: rheo.Event) -> None:
    pass


def consume(handler: Any, options: dict[str, Any], db: rheo.Instance, _events: int) -> None:
    """Returns when a consumer has handled all there is."""
    billing = db.group("orders", "billing")
    with billing.consumer(handler, **options):
        while billing.lag().lag:
            time.sleep(0.001)


@contextmanager
def filled_asynchronous(events: int) -> Iterator[tuple[asyncio.Runner, rheo.aio.Instance]]:
    with asynchronous(0) as (runner, db):
        db.plain.create_group("orders", "billing")
        fill(db.plain, events)
        yield runner, db


def await_fetch_100(place: tuple[asyncio.Runner, rheo.aio.Instance], events: int) -> None:
    runner, db = place

    async def loop() -> None:
        billing = db.group("orders", "billing")
        for _ in range(events // 100):
            results = await billing.ack_many(await billing.fetch(limit=100))
        assert len(results) == 100

    runner.run(loop())


def consume_async(place: tuple[asyncio.Runner, rheo.aio.Instance], _events: int) -> None:
    runner, db = place

    async def loop() -> None:
        billing = db.group("orders", "billing")
        async with billing.consumer(nothing_async, max_demand=100):
            while (await billing.lag()).lag:
                await asyncio.sleep(0.001)

    runner.run(loop())


def awaited(place: tuple[asyncio.Runner, rheo.aio.Instance], events: int) -> None:
    runner, db = place

    async def append() -> None:
        append = db.append
        for payload in islice(cycle(PAYLOADS), events):
            await append("orders", payload)

    runner.run(append())


def awaited_bound(place: tuple[asyncio.Runner, rheo.aio.Instance], events: int) -> None:
    runner, db = place

    async def append() -> None:
        append = db.stream("orders").append
        for payload in islice(cycle(PAYLOADS), events):
            await append(payload)

    runner.run(append())


def plain(steps: int, _: object, events: int) -> None:
    """A loop that is nothing but Python."""
    for _payload in islice(cycle(PAYLOADS), events):
        for _step in range(steps):
            pass


T = TypeVar("T")


@dataclass(frozen=True)
class Case(Generic[T]):
    """A loop over so many events, in a place of its own."""

    name: str
    events: int
    place: Callable[[int], AbstractContextManager[T]]
    loop: Callable[[T, int], None]
    # Whether the place holds that many events before.
    filled: bool = False

    def nanos_for_one(self) -> float:
        with self.place(self.events if self.filled else 0) as place:
            gc.collect()
            begin = time.perf_counter_ns()
            self.loop(place, self.events)
            return (time.perf_counter_ns() - begin) / self.events


def cases(redis_port: int | None) -> Iterator[Case[Any]]:
    """All, each beside what it is compared with."""
    for case in (*in_memory(redis_port), *consumers(), *beside_spinning(), *beside_waiting(), *durable()):
        if redis_port is not None or not case.name.startswith("redis_"):
            yield case


def in_memory(redis_port: int | None) -> Iterator[Case[Any]]:
    streams = partial(streams_of_redis, redis_port)
    yield Case("redis_xadd_dict", 1000, streams, redis_xadd_dict)
    yield Case("append_dict", 50_000, memory, append_dict)
    yield Case("append_dict_by_name", 50_000, memory, append_dict_by_name)
    yield Case("await_append", 50_000, asynchronous, awaited)
    yield Case("await_append_bound", 50_000, asynchronous, awaited_bound)
    yield Case("redis_xadd_bytes", 1000, streams, redis_xadd_bytes)
    yield Case("append_bytes", 50_000, memory, append_bytes)
    yield Case("append_bytes_by_name", 50_000, memory, append_bytes_by_name)
    yield Case("redis_pipeline_100", 5000, streams, redis_pipeline_100)
    yield Case("append_100", 50_000, memory, append_100)
    yield Case("redis_read_100", 5000, streams, redis_read_100, filled=True)
    yield Case("fetch_100", 50_000, memory, fetch_100, filled=True)
    yield Case("redis_read_100_decoded", 5000, streams, redis_read_100_decoded, filled=True)
    yield Case("fetch_100_decoded", 50_000, memory, fetch_100_decoded, filled=True)
    yield Case("redis_read_one", 1000, streams, redis_read_one, filled=True)
    yield Case("fetch_one", 50_000, memory, fetch_one, filled=True)
    yield Case("fetch_one_by_name", 50_000, memory, fetch_one_by_name, filled=True)


def consumers() -> Iterator[Case[Any]]:
    yield Case("fetch_100_called", 50_000, memory, fetch_100_called, filled=True)
    yield Case("consume_plain", 50_000, memory, partial(consume, nothing, {"max_demand": 100}), filled=True)
    yield Case("consume_plain_10", 50_000, memory, partial(consume, nothing, {}), filled=True)
    yield Case("consume_lists", 50_000, memory, partial(consume, nothing_of_many, {"batch_size": 100}), filled=True)
    yield Case(
        "consume_async_thread", 50_000, memory, partial(consume, nothing_async, {"max_demand": 100}), filled=True
    )
    yield Case("await_fetch_100", 50_000, filled_asynchronous, await_fetch_100, filled=True)
    yield Case("consume_async", 50_000, filled_asynchronous, consume_async, filled=True)


def beside_spinning() -> Iterator[Case[Any]]:
    # The loop's body takes as long as an append, as near as whole steps come.
    steps = 100  # numbers that the interpreter does not make anew
    a_hundred = Case("", 20_000, nullcontext, partial(plain, steps))
    an_append = Case("", 50_000, memory, append_dict)
    an_append.nanos_for_one()  # touches the memory
    share = statistics.median(an_append.nanos_for_one() / a_hundred.nanos_for_one() for _ in range(9))
    loop = partial(plain, max(1, round(share * steps)))
    # Long enough for dozens of the interpreter's switch intervals of 5 ms.
    for threads in (0, *SPINNING):
        yield Case(f"append_{threads}_spinning", 200_000, partial(spinning, threads), append_dict)
        yield Case(f"loop_{threads}_spinning", 200_000, partial(spinning, threads), loop)


def beside_waiting() -> Iterator[Case[Any]]:
    for threads in (0, WAITING):
        yield Case(f"append_{threads}_waiting", 200_000, partial(waiting, threads), append_dict)


def durable() -> Iterator[Case[Any]]:
    yield Case("honker_publish", 1000, sqlite_of_honker, honker_publish)
    yield Case("honker_enqueue", 1000, sqlite_of_honker, honker_enqueue)
    yield Case("journal_append", 100_000, journal, append_dict)
    yield Case("honker_enqueue_100", 3000, sqlite_of_honker, honker_enqueue_100)
    yield Case("journal_append_100", 200_000, journal, append_100)
    yield Case("honker_claim_100", 3000, sqlite_of_honker, honker_claim_100, filled=True)
    yield Case("journal_fetch_100", 200_000, journal, fetch_100, filled=True)
    yield Case("honker_claim_one", 500, sqlite_of_honker, honker_claim_one, filled=True)
    yield Case("journal_fetch_one", 50_000, journal, fetch_one, filled=True)


def keep_memory() -> None:
    """Has the C library keep what is freed, so that each round finds memory that was touched before."""
    if hasattr(library := ctypes.CDLL(None), "mallopt"):
        trim_threshold, mmap_threshold = -1, -3
        library.mallopt(trim_threshold, 0x7FFFFFFF)
        library.mallopt(mmap_threshold, 32 << 20)


def turn(rounds: int, redis_port: int | None) -> dict[str, float]:
    """Measures every case in rounds: in nanoseconds for one event."""
    keep_memory()
    todo = list(cases(redis_port))
    samples: dict[str, list[float]] = {case.name: [] for case in todo}
    for number in range(rounds + 1):
        for case in todo:
            nanos = case.nanos_for_one()
            if number > 0:  # the first one touches the memory
                samples[case.name].append(nanos)
    return {name: statistics.median(measured) for name, measured in samples.items()}


def resident() -> float:
    """What this process has in memory, in KiB."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1024


def take(group: rheo.Group, leases: int) -> None:
    """Fetches by a hundred, looks at every lease, acks half of the batches lease by lease, and drops all."""
    for batch_number in range(leases // 100):
        leased = list(group.fetch(limit=100))
        assert len(leased) == 100
        if batch_number % 2:
            group.ack_many(leased)
        else:
            for lease in leased:
                lease.ack()


def left_by_consuming() -> dict[str, float]:
    warm_up = 10_000
    with memory(LEASES + warm_up) as db:
        billing = db.group("orders", "billing")
        take(billing, warm_up)
        before = resident()
        take(billing, LEASES)
        return {"resident_before": before, "resident_after": resident()}


def left_by_replaying() -> dict[str, float]:
    events = 10_000
    with memory(events) as db:
        billing = db.group("orders", "billing")
        take(billing, events)
        before = resident()
        for _ in range(LEASES // events):
            billing.replay(from_sequence=0)
            take(billing, events)
        return {"resident_replay_before": before, "resident_replay_after": resident()}


def wakes() -> dict[str, float]:
    """From an append to the entry of an idle consumer's handler, in nanoseconds."""
    measured: dict[str, float] = {}

    def note(_event: rheo.Event) -> None:
        entered.append(time.perf_counter_ns())
        handled.set()

    async def note_async(event: rheo.Event) -> None:
        note(event)

    for name, handler in (("plain", note), ("async", note_async)):
        took = []
        with memory(0) as db, db.consumer("orders", "billing", handler):
            for _ in range(WAKES):
                entered: list[int] = []
                handled = threading.Event()
                time.sleep(0.001)  # idle again
                begin = time.perf_counter_ns()
                db.append("orders", 1)
                handled.wait()
                took.append(entered[0] - begin)
        took.sort()
        for share in (50, 90, 99):
            measured[f"wake_{name}_p{share}"] = took[WAKES * share // 100]
        measured[f"wake_{name}_max"] = took[-1]
    return measured


def versions() -> str:
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("redis", "honker"))
    return f"{platform.python_implementation()} {platform.python_version()}, {packages}"


def replaced(text: str, figures: str) -> str:
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{figures}\n{END}{rest.split(END)[1]}"


def report(
    times: dict[str, float], sizes: dict[str, float], woken: dict[str, float], absent: dict[str, str], head: str
) -> str:
    """The tables."""
    values = times | sizes
    for what in ("append", "loop"):
        for count in SPINNING:
            values[f"{what}_kept_{count}"] = 100 * times[f"{what}_0_spinning"] / times[f"{what}_{count}_spinning"]
    lines = [head]
    for heading, (unit, targets) in TARGETS.items():
        lines += ["", f"### {heading}", "", *ratios(unit, targets, values, absent)]
    lines += ["", "### Python: from an append to the handler of an idle consumer", "", *listing("ns", woken)]
    lines += ["", "### Python: every value", "", "In nanoseconds for one event:", "", *listing("ns", times)]
    return "\n".join([*lines, "", "Resident, in KiB:", "", *listing("KiB", sizes)])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--turns", type=int, default=5, help="how many processes measure, one after another (default 5)"
    )
    arguments.add_argument("--rounds", type=int, default=5, help="rounds within a turn (default 5)")
    arguments.add_argument("--write", type=Path, help="the document whose figures are to be replaced")
    # What the processes are started with.
    arguments.add_argument("--turn", action="store_true", help=argparse.SUPPRESS)
    arguments.add_argument("--redis-port", type=int, help=argparse.SUPPRESS)
    arguments.add_argument("--wakes", action="store_true", help=argparse.SUPPRESS)
    arguments.add_argument("--left-by", choices=("consuming", "replaying"), help=argparse.SUPPRESS)
    options = arguments.parse_args()

    if options.turn or options.left_by or options.wakes:
        if options.turn:
            measured = turn(options.rounds, options.redis_port)
        elif options.wakes:
            measured = wakes()
        else:
            measured = left_by_consuming() if options.left_by == "consuming" else left_by_replaying()
        for name, value in measured.items():
            print(f"{name}\t{value:.1f}")
        return

    itself = (sys.executable, __file__)
    has_redis = shutil.which("redis-server") is not None
    turns: dict[str, list[float]] = {}
    for _ in range(options.turns):
        with redis_server() if has_redis else nullcontext() as port:
            found = ("--redis-port", str(port)) if has_redis else ()
            measured = measure(*itself, "--turn", "--rounds", str(options.rounds), *found)
        for name, nanos in measured.items():
            turns.setdefault(name, []).append(nanos)
    times = {name: statistics.median(samples) for name, samples in turns.items()}
    sizes: dict[str, float] = {}
    if Path("/proc/self/statm").exists():
        sizes = measure(*itself, "--left-by", "consuming") | measure(*itself, "--left-by", "replaying")

    absent = {"redis": "redis-server is not installed", "resident": "this system has no /proc/self/statm"}
    head = f"{machine()}, {versions()}{redis_version() if has_redis else ''}; "
    head += f"medians of {options.turns} turns of {options.rounds} rounds."
    figures = report(times, sizes, measure(*itself, "--wakes"), absent, head)
    print(figures)
    if options.write:
        options.write.write_text(replaced(options.write.read_text(), figures))


if __name__ == "__main__":
    main()
