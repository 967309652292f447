"""Threads: nothing is lost or given twice, nobody keeps the interpreter while it waits, and telemetry harms nobody."""

import collections
import gc
import itertools
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from conftest import in_thread, waiting

import rheo

FOREVER = 600_000
"""A wait that only something that happens can end, in milliseconds."""
PROMPT = 10
"""How long a prompt return may take on a busy machine, in seconds."""


def all_done(futures: list[Future[Any]]) -> list[Any]:
    return [future.result(30) for future in futures]


# One instance, many threads


@pytest.mark.parametrize("kind", ["db", "journal"])
def test_threads_lose_nothing_and_get_nothing_twice(
    kind: str,
    request: pytest.FixtureRequest,
    short_turns: None,  # noqa: ARG001
) -> None:
    db: rheo.Instance = request.getfixturevalue(kind)
    producers, each = 4, 400
    seen: collections.Counter[tuple[int, int]] = collections.Counter()
    lock, all_seen = threading.Lock(), threading.Event()

    def produce(producer: int) -> None:
        for number in range(0, each, 2):
            db.append("s", [producer, number])
            db.append_batch("s", [[producer, number + 1]])

    def consume(ack: Callable[[rheo.Batch], Any]) -> None:
        while True:
            batch = db.fetch("s", "g", limit=7, wait_ms=FOREVER)
            assert ack(batch) == [None] * len(batch)
            with lock:
                seen.update(map(tuple, batch.payloads()))
                if len(seen) == producers * each:
                    all_seen.set()

    def each_alone(batch: rheo.Batch) -> list[None]:
        for lease in batch:
            lease.ack()
        return [None] * len(batch)

    ways: list[Callable[[rheo.Batch], Any]] = [
        lambda batch: batch.ack(),
        lambda batch: db.ack_many(list(batch)),
        each_alone,
        lambda batch: db.group("s", "g").ack_many(batch.tokens()),
    ]
    consumers = [in_thread(lambda way=way: consume(way)) for way in ways]  # type: ignore[misc]
    all_done([in_thread(lambda n=n: produce(n)) for n in range(producers)])  # type: ignore[misc]
    assert all_seen.wait(30)
    assert db.lag("s", "g").lag == 0
    db.close()
    for consumer in consumers:
        with pytest.raises(rheo.Closed):
            consumer.result(PROMPT)
    assert set(seen.values()) == {1}
    assert len(seen) == producers * each


def test_threads_may_share_a_lease_and_one_settles_it(db: rheo.Instance, short_turns: None) -> None:  # noqa: ARG001
    for _ in range(50):
        db.append("s", 1)
        [lease] = db.fetch("s", "g")
        barrier = threading.Barrier(4)

        def settle(lease: rheo.Lease = lease, barrier: threading.Barrier = barrier) -> bool:
            barrier.wait(PROMPT)
            try:
                lease.ack()
            except rheo.StaleLease:
                return False
            return True

        assert all_done([in_thread(settle) for _ in range(4)]).count(True) == 1


def test_threads_may_share_an_iterator(db: rheo.Instance, short_turns: None) -> None:  # noqa: ARG001
    db.append_batch("s", list(range(1_000)))
    events = db.query_stream("s")
    batch = iter(db.fetch("s", "g", limit=1_000))
    found = all_done(
        [in_thread(lambda: ([e.payload for e in events], [lease.event.payload for lease in batch])) for _ in range(4)]
    )
    for part in (0, 1):
        assert sorted(itertools.chain.from_iterable(each[part] for each in found)) == list(range(1_000))


# Waits


def fetches(db: rheo.Instance) -> list[Callable[[], rheo.Batch]]:
    group = db.group("s", "g")
    return [lambda: db.fetch("s", "g", wait_ms=FOREVER), lambda: group.fetch(wait_ms=FOREVER)]


def test_a_waiting_fetch_returns_when_something_is_appended(db: rheo.Instance, long_turns: None) -> None:  # noqa: ARG001
    for fetch in fetches(db):
        # That this thread runs at all shows that the other one waits without the interpreter.
        waiter = waiting(fetch)
        assert not waiter.done()
        db.append("s", "woken")
        assert waiter.result(PROMPT).payloads() == ["woken"]


def test_a_waiting_fetch_returns_when_something_is_given_back(db: rheo.Instance, long_turns: None) -> None:  # noqa: ARG001
    db.append("s", "again")
    ways: list[Callable[[rheo.Lease], None]] = [lambda lease: lease.release(), lambda lease: lease.retry("why")]
    for give_back in ways:
        [lease] = db.fetch("s", "g")
        waiter = waiting(fetches(db)[0])
        give_back(lease)
        [again] = waiter.result(PROMPT)
        again.release()
    db.fetch("s", "g").ack()
    waiter = waiting(fetches(db)[0])
    db.replay("s", "g", from_sequence=0)
    assert waiter.result(PROMPT).payloads() == ["again"]


def test_a_waiting_fetch_returns_when_the_manual_clock_says_so(manual: rheo.Instance, long_turns: None) -> None:  # noqa: ARG001
    manual.append("s", "later")
    manual.fetch("s", "g")[0].retry(delay_ms=5_000)
    waiter = waiting(fetches(manual)[0])
    manual.advance_clock(4_999)
    manual.advance_clock(1)
    batch = waiter.result(PROMPT)
    assert (batch.payloads(), batch.ack()) == (["later"], [None])
    waiter = waiting(lambda: manual.fetch("s", "g", wait_ms=FOREVER))
    while not waiter.done():
        # Again and again, since a wait begins at what the clock says when it begins.
        manual.advance_clock(FOREVER)
    assert waiter.result(PROMPT).payloads() == []


@pytest.mark.parametrize("kind", ["db", "journal"])
def test_close_ends_all_waits(kind: str, request: pytest.FixtureRequest, long_turns: None) -> None:  # noqa: ARG001
    db: rheo.Instance = request.getfixturevalue(kind)
    waiters = [waiting(fetch) for fetch in fetches(db) * 5]
    assert not any(waiter.done() for waiter in waiters)
    db.close()
    for waiter in waiters:
        with pytest.raises(rheo.Closed):
            waiter.result(PROMPT)


def test_what_is_gone_ends_its_waits(db: rheo.Instance, long_turns: None) -> None:  # noqa: ARG001
    db.create_stream("other")
    db.create_group("other", "g")
    of_stream = waiting(lambda: db.fetch("other", "g", wait_ms=FOREVER))
    of_group = waiting(fetches(db)[0])
    db.delete_group("s", "g")
    with pytest.raises(rheo.GroupNotFound):
        of_group.result(PROMPT)
    db.delete_stream("other", confirm=True)
    with pytest.raises(rheo.StreamNotFound):
        of_stream.result(PROMPT)


def test_a_wait_ends_by_itself_with_nothing(db: rheo.Instance) -> None:
    assert db.fetch("s", "g", wait_ms=1).events() == []
    assert db.fetch("s", "g", limit=0, wait_ms=FOREVER).events() == []
    assert db.fetch("s", "g", partitions=[], wait_ms=1).events() == []


def test_other_threads_run_while_a_journal_syncs(tmp_path: Path, long_turns: None) -> None:  # noqa: ARG001
    with rheo.open(f"journal:{tmp_path}", sync="always") as db:
        db.create_stream("s")
        appended: list[int] = []

        def append() -> None:
            appended.extend(db.append("s", number).sequence for number in range(200))

        # The other thread gave the interpreter up, and not because it had finished.
        done = waiting(append)
        assert len(appended) < 200
        done.result(30)
        assert appended == list(range(1, 201))


def test_work_in_memory_keeps_the_interpreter(db: rheo.Instance, long_turns: None) -> None:  # noqa: ARG001
    # Else a program with one busy thread would wait for its turn at every append.
    finished: list[bool] = []

    def work() -> None:
        for number in range(200):
            db.append("s", number)
            db.fetch("s", "g")[0].ack()
        finished.append(True)

    waiting(work).result(PROMPT)
    started = threading.Event()

    def announced() -> None:
        started.set()
        work()
        finished.append(True)

    future = in_thread(announced)
    assert started.wait(PROMPT)
    assert len(finished) == 3
    future.result(PROMPT)


# What may go in any order


def test_the_last_one_standing_works() -> None:
    works: dict[str, Callable[[Any, rheo.Event], bool]] = {
        "instance": lambda instance, _: instance.lag("s", "g").lag == 1,
        "stream": lambda stream, event: stream.read() == [event],
        "group": lambda group, _: group.info().inflight_count == 1,
        "batch": lambda batch, _: batch.ack() == [None],
        "lease": lambda lease, event: [lease.ack(), lease.event] == [None, event],
    }
    for order in itertools.permutations(works):
        instance = rheo.open()
        instance.create_stream("s")
        instance.create_group("s", "g")
        event = instance.append("s", {"a": 1})
        batch = instance.fetch("s", "g")
        held: dict[str, Any] = {
            "instance": instance,
            "stream": instance.stream("s"),
            "group": instance.group("s", "g"),
            "batch": batch,
            "lease": batch[0],
        }
        del instance, batch
        for name in order[:-1]:
            del held[name]
        assert works[order[-1]](held[order[-1]], event), order
        assert event.payload == {"a": 1}


def test_a_lease_settles_when_nothing_else_is_left() -> None:
    def leased() -> rheo.Lease:
        db = rheo.open()
        db.create_stream("s")
        db.create_group("s", "g")
        db.append("s", "kept")
        return db.fetch("s", "g")[0]

    lease = leased()
    gc.collect()
    assert lease.event.payload == "kept"
    lease = lease.renew()
    lease.ack()
    with pytest.raises(rheo.StaleLease):
        lease.ack()


def test_a_wait_outlives_its_handles(long_turns: None) -> None:  # noqa: ARG001
    db = rheo.open(name="waited for")
    db.create_stream("s")
    db.create_group("s", "g")
    group = db.group("s", "g")
    waiter = waiting(lambda group=group: group.fetch(wait_ms=FOREVER))  # type: ignore[misc]
    del db, group
    gc.collect()
    found = rheo.get("waited for")
    assert found is not None
    found.append("s", "woken")
    assert waiter.result(PROMPT).payloads() == ["woken"]
    found.close()


# Telemetry


Hook = Callable[[rheo.TelemetryEvent], object]


@pytest.fixture
def hooked() -> Iterator[Callable[[Hook], rheo.Instance]]:
    opened: list[rheo.Instance] = []

    def open_with(hook: Hook, **options: Any) -> rheo.Instance:
        db = rheo.open(telemetry=hook, **options)
        opened.append(db)
        db.create_stream("s")
        db.create_group("s", "g")
        return db

    yield open_with
    for db in opened:
        db.close()


OpenHooked = Callable[..., rheo.Instance]


def test_the_hook_is_told_what_happens(hooked: OpenHooked) -> None:
    told: list[rheo.TelemetryEvent] = []
    db = hooked(told.append)
    db.append("s", {"secret": "payload"})
    db.append_batch("s", [1, 2])
    leases = db.fetch("s", "g", limit=3)
    leases[0].ack()
    leases[1].retry("why")
    db.fetch("s", "g")[0].reject("why")
    leases[2].release()
    db.query("s")
    names = [event.name for event in told]
    for name in ("stream.create", "group.create", "append", "append_batch", "fetch", "lease", "ack", "retry", "reject"):
        assert name in names
    assert {"release", "dead_letter", "redelivery", "query"} <= set(names)
    spans = {event.name: event for event in told if event.duration is not None}
    assert spans["append_batch"].count == 2
    assert all(event.stream == "s" and event.error is None for event in told)
    assert all(type(event) is rheo.TelemetryEvent and (event.duration or 0) >= 0 for event in told)
    assert "secret" not in repr(told)
    assert next(event for event in told if event.name == "ack").labels() == {"stream": "s", "group": "g"} | {
        name: value for name, value in spans["ack"].labels().items() if name == "partition"
    }


def test_the_hook_is_told_what_fails(hooked: OpenHooked) -> None:
    told: list[rheo.TelemetryEvent] = []
    db = hooked(told.append)
    db.append("s", 1)
    [lease] = db.fetch("s", "g")
    lease.ack()
    with pytest.raises(rheo.StaleLease):
        lease.ack()
    failed = [event for event in told if event.error is not None]
    assert [(event.name, event.error) for event in failed] == [("ack", "stale_lease")]


def test_durations_may_be_left_out(hooked: OpenHooked) -> None:
    told: list[rheo.TelemetryEvent] = []
    db = hooked(told.append, telemetry_durations=False)
    db.append("s", 1)
    assert "append" in [event.name for event in told]
    assert {event.duration for event in told} == {None}


def test_ctrl_c_in_a_hook_reaches_the_program(hooked: OpenHooked) -> None:
    def fail(event: rheo.TelemetryEvent) -> None:
        if event.name == "append":
            raise KeyboardInterrupt

    db = hooked(fail)

    def work() -> None:
        db.append("s", 1)
        while True:
            pass

    with pytest.raises(KeyboardInterrupt):
        work()
    assert db.read("s")[0].payload == 1


@pytest.mark.parametrize("error", [LookupError, SystemExit, GeneratorExit])
def test_what_the_hook_raises_harms_nobody(
    hooked: OpenHooked, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: rheo.TelemetryEvent) -> None:
        raise error("mine")

    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: unraisable.append((args.exc_type, args.object)))
    db = hooked(fail)
    assert db.append("s", 1).sequence == 1
    db.fetch("s", "g")[0].ack()
    assert db.lag("s", "g").lag == 0
    assert len(unraisable) >= 5
    assert set(unraisable) == {(error, fail)}


def test_the_hook_may_use_the_instance(hooked: OpenHooked) -> None:
    inside: list[str] = []

    def hook(event: rheo.TelemetryEvent) -> None:
        if not inside and event.name in ("append", "ack", "fetch"):
            inside.append(event.name)
            audit = db.append("s", {"audit": event.name})
            found.append((audit.sequence, db.lag("s", "g").lag, len(db.fetch("s", "g", limit=1, wait_ms=1))))
            inside.clear()

    found: list[tuple[int, int, int]] = []
    db = hooked(hook)
    db.append("s", 1)
    assert found == [(2, 2, 1)]
    db.fetch("s", "g", limit=1)[0].ack()
    assert [event.payload for event in db.read("s")] == [1, {"audit": "append"}, {"audit": "fetch"}, {"audit": "ack"}]
    assert len(found) == 3


def test_the_hook_may_close_the_instance(hooked: OpenHooked) -> None:
    def hook(event: rheo.TelemetryEvent) -> None:
        if event.name == "append":
            db.close()

    db = hooked(hook)
    assert db.append("s", 1).sequence == 1
    with pytest.raises(rheo.Closed):
        db.append("s", 1)


def test_the_hook_is_called_on_the_thread_of_the_operation(hooked: OpenHooked, short_turns: None) -> None:  # noqa: ARG001
    told: collections.Counter[tuple[str, int]] = collections.Counter()
    lock = threading.Lock()

    def hook(event: rheo.TelemetryEvent) -> None:
        with lock:
            told[event.name, threading.get_ident()] += event.count

    db = hooked(hook)
    # The idents of threads that ended are given again.
    end = threading.Barrier(4)

    def work() -> tuple[int, int]:
        for number in range(200):
            db.append("s", number)
        batch = db.fetch("s", "g", limit=200)
        batch.ack()
        end.wait(PROMPT)
        return threading.get_ident(), len(batch)

    done = all_done([in_thread(work) for _ in range(4)])
    for ident, leased in done:
        assert told["append", ident] == 200
        assert told["ack", ident] == leased
    assert sum(leased for _, leased in done) == 800


def test_the_hook_is_called_in_waits_too(hooked: OpenHooked, long_turns: None) -> None:  # noqa: ARG001
    told: list[str] = []
    db = hooked(lambda event: told.append(event.name))
    waiter = waiting(fetches(db)[0])
    db.append("s", 1)
    assert len(waiter.result(PROMPT)) == 1
    assert "lease" in told


def test_log_to_logs_all(caplog: pytest.LogCaptureFixture, hooked: OpenHooked) -> None:
    caplog.set_level(logging.DEBUG, "my.events")
    db = hooked(rheo.log_to("my.events", logging.INFO))
    db.append("s", {"secret": 1}, partition=0)
    [lease] = db.fetch("s", "g")
    lease.ack()
    with pytest.raises(rheo.StaleLease):
        lease.ack()
    by_level = {
        level: [r.getMessage() for r in caplog.records if r.levelno == level]
        for level in (logging.INFO, logging.WARNING)
    }
    assert any(text.startswith("append count=1 stream=s") and text.endswith(" ms") for text in by_level[logging.INFO])
    [warning] = by_level[logging.WARNING]
    assert "error=stale_lease" in warning
    assert all(isinstance(record.rheo, rheo.TelemetryEvent) for record in caplog.records)  # type: ignore[attr-defined]
    assert "secret" not in caplog.text


def test_log_to_takes_a_logger_and_heeds_its_level(caplog: pytest.LogCaptureFixture, hooked: OpenHooked) -> None:
    logger = logging.getLogger("my.quiet")
    caplog.set_level(logging.WARNING, "my.quiet")
    db = hooked(rheo.log_to(logger))
    db.append("s", 1)
    assert caplog.records == []
    with pytest.raises(rheo.StreamNotFound):
        db.append("missing", 1)
    assert {record.levelno for record in caplog.records} <= {logging.WARNING}


@pytest.mark.parametrize("kind", ["memory", "journal"])
def test_a_handler_that_holds_its_lock_and_uses_the_instance(
    kind: str,
    tmp_path: Path,
    short_turns: None,  # noqa: ARG001
) -> None:
    """Handlers log under a lock of their own. One that calls Rheo there waits for Rheo while it holds that lock; if
    Rheo held one of its own while it called the hook, two threads would wait for each other."""

    class Audit(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("append"):
                with rheo_used:
                    db.lag("s", "g")
                    db.fetch("s", "g", limit=1)

    rheo_used = threading.RLock()
    logger = logging.Logger("audit", logging.DEBUG)
    logger.addHandler(Audit())
    log = rheo.log_to(logger)
    nested = threading.local()

    def hook(event: rheo.TelemetryEvent) -> None:
        # Else what the handler does would be logged by the handler, for ever.
        if not getattr(nested, "inside", False):
            nested.inside = True
            log(event)
            nested.inside = False

    url = "memory:" if kind == "memory" else f"journal:{tmp_path}"
    db = rheo.open(url, telemetry=hook)
    db.create_stream("s")
    db.create_group("s", "g")

    def work() -> None:
        for number in range(100):
            db.append("s", number)
            logger.info("append by hand")

    all_done([in_thread(work) for _ in range(4)])
    assert db.stream_info("s").partitions[0].high_watermark == 400
    db.close()
