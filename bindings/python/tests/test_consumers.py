"""Consumers and producers: threads, the interpreter lock, event loops, cancelling, closing from anywhere."""

import asyncio
import errno
import gc
import multiprocessing
import pickle
import re
import resource
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import in_thread, waiting

import rheo
import rheo.aio

SOON = 10_000
"""Longer than anything takes, in milliseconds."""


def until(is_so: Callable[[], bool]) -> None:
    """Returns once something is so."""
    end = time.monotonic() + SOON / 1000
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


def settled(db: rheo.Instance) -> bool:
    info = db.group_info("s", "g")
    return info.lag.lag == 0 and info.inflight_count == 0


def as_async(function: Callable[..., Any]) -> Any:
    """The same as an async function."""

    async def one(event: rheo.Event) -> Any:
        return function(event)

    async def two(event: rheo.Event, context: rheo.aio.Context) -> Any:
        return function(event, context)

    return one if function.__code__.co_argcount == 1 else two


KINDS = pytest.mark.parametrize("kind", [lambda function: function, as_async], ids=["plain", "async"])
Kind = Callable[[Callable[..., Any]], Any]


def nothing(_event: rheo.Event) -> None:
    """A handler that has nothing to do."""


# Outcomes


@KINDS
def test_every_outcome(db: rheo.Instance, kind: Kind) -> None:
    said: dict[int, list[Any]] = {
        0: [None],
        1: [rheo.ACK],
        2: [rheo.Reject({"why": 2})],
        3: [rheo.Retry("again", delay_ms=0), None],
        4: [rheo.RELEASE, rheo.RELEASE, None],
        5: [pickle.loads(pickle.dumps(rheo.ACK))],
    }
    seen: list[tuple[int, int]] = []

    def handle(event: rheo.Event, context: Any) -> rheo.Outcome | None:
        seen.append((event.payload, context.lease.attempt))
        return said[event.payload].pop(0)  # type: ignore[no-any-return]

    db.append_batch("s", list(range(6)))
    with db.consumer("s", "g", kind(handle)) as consumer:
        until(lambda: settled(db) and not consumer.inflight_count)
        assert consumer.is_running
    assert not any(said.values())
    assert sorted(seen) == [(0, 1), (1, 1), (2, 1), (3, 1), (3, 2), (4, 1), (4, 1), (4, 1), (5, 1)]
    assert [letter.reason for letter in db.dead_letters("s", "g")] == ['{"why":2}']
    assert not consumer.is_running
    assert consumer.failure is None
    assert consumer.wait()


@KINDS
def test_what_is_raised_is_the_reason_and_logged(
    db: rheo.Instance, kind: Kind, caplog: pytest.LogCaptureFixture
) -> None:
    def handle(event: rheo.Event) -> None:
        raise {0: LookupError("no such bill"), 1: KeyError(), 2: SystemExit(3)}[event.payload]

    db.append_batch("s", [0, 1] + [2] * (kind is not as_async))
    with db.consumer("s", "g", kind(handle), on_failure="reject"):
        until(lambda: settled(db))
    reasons = [letter.reason for letter in db.dead_letters("s", "g")]
    assert reasons == ["LookupError: no such bill", "KeyError", "SystemExit: 3"][: len(reasons)]
    assert {record.name for record in caplog.records} == {"rheo"}
    assert "no such bill" in caplog.records[0].getMessage()
    assert caplog.records[0].exc_info is not None
    assert "handle" in caplog.text


@KINDS
@pytest.mark.parametrize("returned", [5, "ack", True, rheo.Retry, object(), [None], rheo.Outcome()])
def test_anything_else_is_a_failure_that_names_it(db: rheo.Instance, kind: Kind, returned: Any) -> None:
    db.append("s", 1)
    with db.consumer("s", "g", kind(lambda _event: returned), on_failure="reject"):
        until(lambda: settled(db))
    [letter] = db.dead_letters("s", "g")
    assert letter.reason.startswith(f"the handler returned {returned!r}; it takes None, rheo.ACK")


def test_a_coroutine_that_nobody_expected_is_a_failure(db: rheo.Instance) -> None:
    async def work() -> None:
        pass

    db.append("s", 1)
    with db.consumer("s", "g", lambda _event: work(), on_failure="reject"):  # type: ignore[type-var]
        until(lambda: settled(db))
    assert "coroutine" in db.dead_letters("s", "g")[0].reason


def test_values_of_outcomes() -> None:
    assert rheo.Retry("a", 5) == rheo.Retry("a", delay_ms=5) != rheo.Retry("a")
    assert pickle.loads(pickle.dumps(rheo.Reject("a"))) == rheo.Reject("a")
    assert [repr(each) for each in (rheo.ACK, rheo.RELEASE)] == ["rheo.ACK", "rheo.RELEASE"]
    for bad, error in ((-1, rheo.InvalidArgument), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="delay_ms"):
            rheo.Retry(delay_ms=bad)  # type: ignore[arg-type]


@KINDS
def test_batches_settle_one_by_one(db: rheo.Instance, kind: Kind) -> None:
    sizes: list[int] = []

    def handle(events: list[rheo.Event]) -> Any:
        sizes.append(len(events))
        if events[0].payload >= 10:
            return None
        return [rheo.Reject("three") if event.payload == 3 else rheo.ACK for event in events]

    db.append_batch("s", list(range(10)))
    with db.consumer("s", "g", kind(handle), batch_size=5, batch_timeout_ms=20):
        until(lambda: settled(db))
        db.append_batch("s", [10, 11])
        until(lambda: settled(db))
    assert sizes == [5, 5, 2]
    assert [letter.event.payload for letter in db.dead_letters("s", "g")] == [3]


@pytest.mark.parametrize("returned", [5, rheo.ACK, [], [rheo.ACK], [rheo.ACK] * 3, "ab", [5, None]])
def test_a_batch_wants_an_outcome_for_each(db: rheo.Instance, returned: Any) -> None:
    db.append_batch("s", [1, 2])
    with db.consumer("s", "g", lambda _events: returned, batch_size=2, on_failure="reject"):
        until(lambda: settled(db))
    letters = db.dead_letters("s", "g")
    acked = sum(each is None or each is rheo.ACK for each in returned) if isinstance(returned, list) else 0
    assert len(letters) == max(2 - acked, 0)
    assert all(letter.reason.startswith("the handler returned") for letter in letters)


@KINDS
def test_outcomes_without_an_event_are_ignored(db: rheo.Instance, kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    db.append_batch("s", [1, 2])
    returned = [rheo.Reject("one"), rheo.ACK, rheo.Reject("three"), 4]
    with db.consumer("s", "g", kind(lambda _events: iter(returned)), batch_size=2, batch_timeout_ms=SOON):
        until(lambda: settled(db))
    assert [(letter.event.payload, letter.reason) for letter in db.dead_letters("s", "g")] == [(1, "one")]
    assert not caplog.records


# How it is asked for


def test_a_decorator_gives_the_consumer(db: rheo.Instance) -> None:
    done: list[int] = []

    @db.consumer("s", "g", concurrency=8)
    def bill(event: rheo.Event) -> rheo.Outcome | None:
        done.append(event.payload)
        return None

    @db.group("s", "g").consumer(batch_size=10)
    async def bills(events: list[rheo.Event]) -> None:
        done.extend(event.payload for event in events)

    assert isinstance(bill, rheo.Consumer)
    assert isinstance(bills, rheo.Consumer)
    assert (bill.stream, bill.group, bill.handler(db.append("s", 1))) == ("s", "g", None)
    assert re.fullmatch(r"<rheo.Consumer .*bill of 's' for 'g'>", repr(bill))
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(bill)
    until(lambda: settled(db))
    assert done == [1, 1]
    bill.close()
    bills.close()


def test_handlers_of_all_shapes(db: rheo.Instance) -> None:
    class Method:
        def one(self, event: rheo.Event) -> None:
            done.append(event)

        async def two(self, event: rheo.Event, context: rheo.aio.Context) -> None:
            done.append((event, context.lease.event.id, len(context.leases)))

        def __call__(self, event: rheo.Event, _context: rheo.Context, more: int = 1) -> None:
            done.append((event, more))

    done: list[Any] = []
    handlers: list[Any] = [
        Method().one,
        Method().two,
        Method(),
        done.append,
        lambda event, more=2: done.append(event),  # noqa: ARG005
        lambda *events: done.append(events),
    ]
    for handler in handlers:
        db.append("s", 1)
        with db.consumer("s", "g", handler):
            until(lambda: settled(db))
    assert len(done) == len(handlers)
    assert len(done[-1]) == 1


@pytest.mark.parametrize(
    "handler", [5, "f", lambda: None, lambda a, b, c: (a, b, c), lambda event, *, name: (event, name)], ids=range(5)
)
def test_what_is_no_handler(db: rheo.Instance, handler: Any) -> None:
    with pytest.raises(TypeError, match="handler takes a function of an event"):
        db.consumer("s", "g", handler)
    with pytest.raises(TypeError, match="handler takes a function of an event"):
        db.consumer("s", "g")(handler)


def test_what_is_wrong_is_said_at_the_start(db: rheo.Instance) -> None:
    threads = threading.active_count()

    def handle(event: rheo.Event) -> None:
        del event

    for options in (
        {"concurrency": -1},
        {"concurrency": 0},
        {"batch_size": 0},
        {"batch_size": -3},
        {"max_demand": -1},
        {"lease_ms": 0},
        {"poll_ms": 0},
        {"max_lease_ms": -1},
        {"batch_timeout_ms": -1},
        {"retry_delay": "linear"},
        {"retry_delay": -1},
        {"on_failure": "ignore"},
        {"consumer_id": ""},
        {"partitions": []},
    ):
        with pytest.raises(rheo.InvalidArgument):
            db.consumer("s", "g", handle, **options)  # type: ignore[call-overload]
    with pytest.raises(rheo.InvalidPartition):
        db.consumer("s", "g", handle, partitions=[7])
    with pytest.raises(TypeError, match="concurrency takes a whole number, not str"):
        db.consumer("s", "g", handle, concurrency="8")  # type: ignore[call-overload]
    with pytest.raises(rheo.GroupNotFound):
        db.consumer("s", "missing", handle)
    with pytest.raises(rheo.StreamNotFound):
        db.consumer("missing", "g", as_async(handle))
    with pytest.raises(rheo.GroupNotFound):
        db.producer("s", "missing")
    assert threading.active_count() <= threads


# Ends


@KINDS
@pytest.mark.parametrize("what", ["group", "stream", "instance"])
def test_it_ends_with_what_it_is_of(kind: Kind, what: str) -> None:
    told: list[rheo.TelemetryEvent] = []
    db = rheo.open(telemetry=told.append)
    db.create_stream("s")
    db.create_group("s", "g")
    consumer = db.consumer("s", "g", kind(nothing), concurrency=3)
    assert not consumer.wait(1)
    if what == "group":
        db.delete_group("s", "g")
    elif what == "stream":
        db.delete_stream("s", confirm=True)
    else:
        db.close()
    error = {"group": rheo.GroupNotFound, "stream": rheo.StreamNotFound, "instance": rheo.Closed}[what]
    with pytest.raises(error):
        consumer.wait(SOON)
    assert isinstance(consumer.failure, error)
    assert not consumer.is_running
    consumer.close()
    names = [event.name for event in told if event.name.startswith("consumer.")]
    assert names == ["consumer.start", "consumer.stop"]
    assert [event.error for event in told if event.name == "consumer.stop"] == [error.code]
    db.close()


class Stop(BaseException):
    """What no handler of errors catches."""


async def cancel_itself(event: rheo.Event) -> None:
    """Cancels its own task: it notices, it does not, it takes it for done."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    if event.payload == 1:
        await asyncio.sleep(0)
    if event.payload == 3:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)


async def stop(event: rheo.Event) -> None:
    if event.payload == 1:
        raise Stop("it")


@pytest.mark.parametrize("handler", [cancel_itself, stop], ids=["cancel", "stop"])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_whatever_an_async_handler_raises_is_a_failure_of_that_event(
    db: rheo.Instance, handler: Any, concurrency: int
) -> None:
    reason = "CancelledError" if handler is cancel_itself else "Stop: it"
    with db.consumer("s", "g", handler, on_failure="reject", concurrency=concurrency) as consumer:
        for payload in (1, 2, 3, 4):
            db.append("s", payload)
            until(lambda: settled(db))
        assert consumer.is_running
        assert consumer.failure is None
        assert not consumer.wait(1)
    assert [(letter.event.payload, letter.reason) for letter in db.dead_letters("s", "g")] == [(1, reason)]

    async def work() -> None:
        async with rheo.aio.open() as db:
            await db.create_stream("s")
            await db.create_group("s", "g")
            async with db.consumer("s", "g", handler, on_failure="reject", concurrency=concurrency) as consumer:
                await db.append_batch("s", [1, 2, 3, 4])
                await so(lambda: settled(db.plain))
                assert consumer.is_running
                assert consumer.failure is None
            assert await consumer.wait()
            assert [letter.reason for letter in await db.dead_letters("s", "g")] == [reason]

    run(work())


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_ends_a_loop_ends_its_consumer(db: rheo.Instance, error: type[BaseException]) -> None:
    async def handle(_event: rheo.Event) -> None:
        raise error("over")

    db.append("s", 1)
    consumer = db.consumer("s", "g", handle, on_failure="reject", concurrency=3)
    with pytest.raises(error, match="over"):
        consumer.wait(SOON)
    assert isinstance(consumer.failure, error)
    assert not consumer.is_running
    # Of an interrupt it says what it is; the filter above is for that.
    until(lambda: all(thread.name != "rheo-consumer" for thread in threading.enumerate()))
    assert [letter.reason for letter in db.dead_letters("s", "g")] == [f"{error.__name__}: over"]

    opened: list[rheo.aio.Instance] = []
    started: list[rheo.aio.Consumer[Any]] = []

    async def work() -> None:
        opened.append(aio := await rheo.aio.open())
        await aio.create_stream("s")
        await aio.create_group("s", "g")
        started.append(aio.consumer("s", "g", handle, on_failure="reject", concurrency=3))
        await aio.append("s", 1)
        await started[0].wait()

    with pytest.raises(error, match="over"):
        asyncio.run(work())
    assert isinstance(started[0].failure, error)
    assert not started[0].is_running
    with opened[0].plain as plain:
        assert [letter.reason for letter in plain.dead_letters("s", "g")] == [f"{error.__name__}: over"]


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("has_begun", [True, False])
def test_a_consumer_whose_task_is_cancelled_ends(concurrency: int, has_begun: bool) -> None:
    async def work() -> None:
        async with rheo.aio.open() as db:
            await db.create_stream("s")
            await db.create_group("s", "g")
            before = asyncio.all_tasks()
            await db.append("s", 1)
            begun = asyncio.Event()

            async def stay(_event: rheo.Event) -> None:
                begun.set()
                await asyncio.sleep(3600)

            consumer = db.consumer("s", "g", stay, concurrency=concurrency)
            tasks = asyncio.all_tasks() - before
            if has_begun:
                await begun.wait()
            for task in tasks:
                task.cancel()
            with pytest.raises(RuntimeError, match="cancelled from outside"):
                await consumer.wait(SOON)
            assert not consumer.is_running
            assert isinstance(consumer.failure, RuntimeError)
            info = await db.group_info("s", "g")
            assert (info.available_count or info.lag.lag, info.inflight_count) == (1, 0)
            await consumer.close()

    run(work())


def test_a_timeout_within_a_handler_is_its_own_matter(db: rheo.Instance) -> None:
    async def handle(event: rheo.Event) -> None:
        async with asyncio.timeout(0.001):
            await asyncio.sleep(3600)
        del event

    db.append_batch("s", [1, 2, 3])
    with db.consumer("s", "g", handle, on_failure="reject") as consumer:
        until(lambda: settled(db))
        assert consumer.is_running
    assert [letter.reason for letter in db.dead_letters("s", "g")] == ["TimeoutError"] * 3


def test_a_loop_that_cannot_start_ends_the_consumer(db: rheo.Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_sockets() -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("asyncio.events.new_event_loop", no_sockets)
    consumer = db.consumer("s", "g", as_async(nothing))
    with pytest.raises(OSError, match="Too many open files"):
        consumer.wait(SOON)
    assert isinstance(consumer.failure, OSError)
    assert not consumer.is_running
    consumer.close()


@KINDS
def test_a_handler_may_close_and_drain(db: rheo.Instance, kind: Kind) -> None:
    drained: list[bool] = []

    def handle(event: rheo.Event) -> None:
        del event
        begun.wait(SOON / 1000)
        consumer.close()
        drained.append(consumer.drain())
        consumer.wait()

    begun = threading.Event()
    db.append_batch("s", list(range(5)))
    consumer = db.consumer("s", "g", kind(handle))
    begun.set()
    assert consumer.wait(SOON)
    assert drained == [False]
    assert db.lag("s", "g").lag == 4
    assert len(db.fetch("s", "g")) == 4


@KINDS
def test_one_drain_at_a_time(db: rheo.Instance, kind: Kind) -> None:
    db.append_batch("s", [1, 2, 3])
    begun, go = threading.Event(), threading.Event()

    def handle(event: rheo.Event) -> None:
        del event
        begun.set()
        go.wait(SOON / 1000)

    consumer = db.consumer("s", "g", kind(handle))
    assert begun.wait(SOON / 1000)
    first = in_thread(lambda: consumer.drain(SOON))
    # What no handler had is there for others at once.
    until(lambda: db.group_info("s", "g").available_count == 2)
    with pytest.raises(rheo.AlreadyDraining):
        consumer.drain()
    go.set()
    assert first.result(SOON / 1000)
    assert consumer.drain()
    consumer.close()
    assert consumer.wait(SOON)


@KINDS
def test_a_handler_that_does_not_return_is_told_and_left(db: rheo.Instance, kind: Kind) -> None:
    db.append("s", 1)
    begun, cancelled, leave = threading.Event(), threading.Event(), threading.Event()

    def handle(_event: rheo.Event, context: Any) -> None:
        begun.set()
        until(context.cancel.is_set)
        cancelled.set()
        leave.wait(SOON / 1000)

    consumer = db.consumer("s", "g", kind(handle))
    assert begun.wait(SOON / 1000)
    consumer.close(timeout_ms=1)
    assert cancelled.wait(SOON / 1000)
    assert not consumer.wait(1)
    [again] = db.fetch("s", "g")
    leave.set()
    assert consumer.wait(SOON)
    # What it said came too late.
    again.ack()


@KINDS
def test_a_lost_lease_cancels(manual: rheo.Instance, kind: Kind) -> None:
    manual.append("s", 1)
    begun, results = threading.Event(), list[tuple[bool, bool]]()

    def plain(_event: rheo.Event, context: rheo.Context) -> None:
        before = context.cancel.is_set()
        begun.set()
        results.append((before, context.cancel.wait(SOON)))

    async def in_loop(_event: rheo.Event, context: rheo.aio.Context) -> None:
        before = context.cancel.is_set()
        begun.set()
        results.append((before, await context.cancel.wait(SOON)))

    handler: Any = in_loop if kind is as_async else plain
    with manual.consumer("s", "g", handler, lease_ms=1000) as consumer:
        assert begun.wait(SOON / 1000)
        manual.reset_group("s", "g", confirm=True, start_after=1)
        manual.advance_clock(500)
        until(lambda: bool(results) and not consumer.inflight_count)
    assert results == [(False, True)]


def test_a_signal_stays_as_it_was(db: rheo.Instance) -> None:
    kept: list[rheo.Cancel] = []

    def handle(_event: rheo.Event, context: rheo.Context) -> None:
        kept.append(context.cancel)

    db.append_batch("s", [1, 2])
    with db.consumer("s", "g", handle):
        until(lambda: settled(db))
        assert not kept[0].wait()
    assert [cancel.is_set() for cancel in kept] == [False, False]


@KINDS
def test_renewed_as_long_as_it_is_handled(manual: rheo.Instance, kind: Kind) -> None:
    manual.append("s", 1)
    begun, go = threading.Event(), threading.Event()

    def handle(event: rheo.Event) -> None:
        del event
        begun.set()
        go.wait(SOON / 1000)

    with manual.consumer("s", "g", kind(handle), lease_ms=1000, max_lease_ms=3000):
        assert begun.wait(SOON / 1000)
        for _ in range(5):
            assert not manual.fetch("s", "g")
            manual.advance_clock(500)
        manual.advance_clock(2000)
        [second] = manual.fetch("s", "g")
        assert second.attempt == 2
        go.set()


def test_the_instance_keeps_its_consumers(db: rheo.Instance) -> None:
    done: list[int] = []

    class Handler:
        def __call__(self, event: rheo.Event) -> None:
            done.append(event.payload)

    handler = Handler()
    gone = weakref.ref(handler)
    db.consumer("s", "g", handler)
    del handler
    gc.collect()
    db.append("s", 1)
    until(lambda: done == [1])
    db.close()
    until(lambda: gc.collect() >= 0 and gone() is None)


# Threads and the interpreter


def test_handlers_run_on_so_many_threads(db: rheo.Instance) -> None:
    together, idents = threading.Barrier(4), set[int]()

    def handle(event: rheo.Event) -> None:
        del event
        together.wait(SOON / 1000)
        idents.add(threading.get_ident())

    db.append_batch("s", list(range(40)))
    with db.consumer("s", "g", handle, concurrency=4):
        until(lambda: settled(db))
    assert len(idents) == 4
    assert not db.dead_letters("s", "g")


def test_async_handlers_run_as_so_many_tasks(db: rheo.Instance) -> None:
    most, now = 0, 0

    async def handle(event: rheo.Event) -> None:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001 * (event.payload % 3))
        now -= 1

    db.append_batch("s", list(range(100)))
    with db.consumer("s", "g", handle, concurrency=7):
        until(lambda: settled(db))
    assert most == 7


def test_an_idle_consumer_gives_the_interpreter_up(db: rheo.Instance, long_turns: None) -> None:  # noqa: ARG001
    """Nobody takes the interpreter from a thread here: all would stand still if one kept it while it waits."""
    done = threading.Event()
    with db.consumer("s", "g", lambda _event: done.set()):
        for _ in range(10):
            done.clear()
            db.append("s", 1)
            assert done.wait(SOON / 1000)
            until(lambda: settled(db))


def test_a_busy_consumer_lets_others_run(db: rheo.Instance) -> None:
    events: list[rheo.Event] = []
    for _ in range(20):
        db.append_batch("s", [1] * 10_000)
    # Of the kind that never gives the interpreter up by itself.
    with db.consumer("s", "g", events.append):
        until(lambda: bool(events))
        assert len(events) < 200_000
        until(lambda: settled(db))
    assert len(events) == 200_000


def test_idle_consumers_cost_no_time(db: rheo.Instance) -> None:
    consumers = [db.consumer("s", "g", nothing) for _ in range(20)]
    consumers.append(db.consumer("s", "g", as_async(nothing)))
    time.sleep(0.1)
    before = resource.getrusage(resource.RUSAGE_SELF)
    time.sleep(0.5)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.1
    for consumer in consumers:
        consumer.close()


@KINDS
def test_memory_does_not_grow(db: rheo.Instance, kind: Kind) -> None:
    def handle(event: rheo.Event, context: Any) -> None:
        assert event.payload["n"] >= 0
        assert context.lease.attempt == 1

    def pass_(events: int) -> int:
        for _ in range(events // 1000):
            db.append_batch("s", [{"n": n} for n in range(1000)])
            until(lambda: settled(db))
            db.trim("s", max_len=0)
        gc.collect()
        return int(re.findall(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[0])

    with db.consumer("s", "g", kind(handle), concurrency=2):
        before = pass_(20_000)
        assert pass_(100_000) < before * 1.1 + 2000


def test_a_fork_has_no_part_in_it(db: rheo.Instance) -> None:
    def work() -> None:
        for call in (
            consumer.drain,
            consumer.close,
            consumer.wait,
            asynchronous.close,
            asynchronous.wait,
            producer.next,
        ):
            try:
                call()
            except rheo.Forked:
                continue
            raise SystemExit(f"{call} did not raise")

    consumer = db.consumer("s", "g", nothing)
    asynchronous = db.consumer("s", "g", as_async(nothing))
    producer = db.producer("s", "g")
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(SOON / 1000)
    assert child.exitcode == 0
    db.append("s", 1)
    until(lambda: settled(db))
    consumer.close()
    asynchronous.close()
    producer.close()


# Producers


def test_a_producer(db: rheo.Instance) -> None:
    db.append_batch("s", list(range(10)))
    with db.producer("s", "g", max_demand=3) as producer:
        assert (producer.stream, producer.group) == ("s", "g")
        batch = producer.next(5)
        assert batch is not None
        assert batch.payloads() == [0, 1, 2]
        assert producer.next() == producer.next(3, timeout_ms=1) or not producer.next()
        batch[0].ack()
        producer.ack(batch[1])
        producer.ack(batch[2].token)
        assert producer.inflight_count == 0
        for lease in producer:
            if lease.event.payload == 5:
                break
            lease.ack()
        assert producer.inflight_count == 1
    assert producer.is_stopped
    assert producer.next() is None
    assert list(producer) == []
    # The break and the end gave it back at once.
    assert db.fetch("s", "g", limit=1).payloads() == [5]


def test_retry_through_a_producer_has_its_delay(manual: rheo.Instance) -> None:
    manual.append("s", 1)
    producer = manual.producer("s", "g", retry_delay=700)
    for settle in ("lease", "producer", "fail"):
        lease = next(producer)
        if settle == "lease":
            lease.retry("later")
        elif settle == "producer":
            producer.retry(lease, "later")
        else:
            producer.fail(lease, "later")
        assert manual.group_info("s", "g").delayed_count == 1
        manual.advance_clock(699)
        assert not producer.next()
        manual.advance_clock(1)
    producer.close()


def test_a_wait_for_leases(db: rheo.Instance, long_turns: None) -> None:  # noqa: ARG001
    producer = db.producer("s", "g")
    waiter = waiting(lambda: producer.next(timeout_ms=SOON))
    db.append("s", "there")
    batch = waiter.result(SOON / 1000)
    assert batch.payloads() == ["there"]
    end = waiting(lambda: list(producer))
    drain = in_thread(lambda: producer.drain(SOON))
    assert end.result(SOON / 1000) == []
    batch.ack()
    assert drain.result(SOON / 1000)
    producer.close()


# asyncio


def run(work: Any) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(bounded())


async def so(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON / 1000):
        while not is_so():
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("journal_options", [None, {}, {"sync": "always", "sync_settles": True}])
def test_an_asyncio_consumer(tmp_path: Path, journal_options: dict[str, Any] | None) -> None:
    async def work() -> None:
        url = "memory:" if journal_options is None else f"journal:{tmp_path}"
        async with rheo.aio.open(url, **(journal_options or {})) as db:
            await db.create_stream("s")
            await db.create_group("s", "g")
            loop, done = asyncio.get_running_loop(), []

            @db.consumer("s", "g", concurrency=4)
            async def handle(event: rheo.Event, context: rheo.aio.Context) -> rheo.Outcome | None:
                assert asyncio.get_running_loop() is loop
                await asyncio.sleep(0)
                done.append((event.payload, context.lease.attempt))
                return rheo.Retry(delay_ms=0) if context.lease.attempt == 1 and event.payload % 10 == 0 else None

            await db.append_batch("s", list(range(100)))
            await so(lambda: len(done) == 110 and not handle.inflight_count)
            assert (await db.lag("s", "g")).lag == 0
            assert handle.is_running
            assert await handle.drain()
            await handle.close()
            assert await handle.wait()
            assert not handle.is_running
            async with db.group("s", "g").producer(max_demand=5) as producer:
                await db.append_batch("s", [1, 2, 3])
                async for lease in producer:
                    await lease.ack()
                    if lease.event.payload == 3:
                        break
                assert producer.inflight_count == 0
                waiter = asyncio.create_task(producer.next(timeout_ms=SOON))
                await asyncio.sleep(0)
                await db.append("s", 4)
                batch = await waiter
                assert batch is not None
                assert await producer.confirm(batch) == 1
                assert await producer.drain(0)
                assert await producer.next() is None

    run(work())


def test_asyncio_handlers_may_close_and_are_told() -> None:
    async def work() -> None:
        async with rheo.aio.open() as db:
            await db.create_stream("s")
            await db.create_group("s", "g")
            await db.append_batch("s", [1, 2, 3])

            async def close(_event: rheo.Event) -> None:
                await consumer.close()
                await consumer.wait()

            consumer = db.consumer("s", "g", close)
            assert await consumer.wait(SOON)
            assert (await db.lag("s", "g")).lag == 2

            told: list[bool] = []
            begun = asyncio.Event()

            async def stay(_event: rheo.Event, context: rheo.aio.Context) -> None:
                begun.set()
                told.append(await context.cancel.wait())
                await left.wait()

            left = asyncio.Event()
            second = db.consumer("s", "g", stay)
            await begun.wait()
            drain = asyncio.create_task(second.drain(SOON))
            await asyncio.sleep(0)
            with pytest.raises(rheo.AlreadyDraining):
                await second.drain()
            drain.cancel()
            await asyncio.sleep(0)
            await second.close(timeout_ms=1)
            await so(lambda: told == [True])
            assert len(await db.fetch("s", "g")) == 2
            assert not await second.wait(1)
            left.set()
            assert await second.wait(SOON)

    run(work())


def test_asyncio_loops_stay_responsive() -> None:
    async def work() -> None:
        async with rheo.aio.open() as db:
            await db.create_stream("s")
            await db.create_group("s", "g")
            await db.append_batch("s", [1] * 10_000)

            async def handle(_event: rheo.Event) -> None:
                return None

            turns = 0
            async with db.consumer("s", "g", handle) as consumer:
                while (await db.lag("s", "g")).lag:
                    turns += 1
                    await asyncio.sleep(0)
                assert consumer.is_running
            assert turns > 3

    run(work())


def test_asyncio_wants_async_functions_and_a_loop() -> None:
    async def work() -> rheo.aio.Instance:
        db = await rheo.aio.open()
        await db.create_stream("s")
        await db.create_group("s", "g")
        with pytest.raises(TypeError, match="async function"):
            db.consumer("s", "g", nothing)  # type: ignore[call-overload]
        with pytest.raises(rheo.GroupNotFound):
            db.consumer("s", "missing", as_async(nothing))
        with pytest.raises(rheo.InvalidArgument):
            db.consumer("s", "g", as_async(nothing), concurrency=-1)
        # Left running: the end of the loop ends it, and gives back what it has.
        await db.append("s", 1)
        begun = asyncio.Event()

        async def stay(_event: rheo.Event) -> None:
            begun.set()
            await asyncio.sleep(3600)

        db.consumer("s", "g", stay)
        await begun.wait()
        return db

    db = run(work())
    assert db.plain.group_info("s", "g").available_count == 1
    with pytest.raises(RuntimeError, match="loop"):
        db.consumer("s", "g", as_async(nothing))
    db.plain.close()
