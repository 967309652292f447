"""`rheo.aio`: waits without threads, cancellation that loses nothing, and several loops."""

import asyncio
import contextlib
import gc
import importlib
import importlib.util
import inspect
import logging
import pickle
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import START

import rheo
import rheo.aio

FOREVER = 600_000
"""A wait that only something that happens can end, in milliseconds."""
PROMPT = 10
"""How long a prompt answer may take on a busy machine, in seconds."""


class NoExecutor(ThreadPoolExecutor):
    """A default executor that nobody may use."""

    def submit(self, *_: Any, **__: Any) -> "Future[Any]":
        raise AssertionError("the default executor was used")


def run(work: Coroutine[Any, Any, Any], factory: Callable[[], asyncio.AbstractEventLoop] | None = None) -> Any:
    """Runs work in a loop of its own, which may not take longer, nor use its default executor."""

    async def bounded() -> Any:
        asyncio.get_running_loop().set_default_executor(NoExecutor(1))
        async with asyncio.timeout(30):
            return await work

    with asyncio.Runner(debug=False, loop_factory=factory) as runner:
        return runner.run(bounded())


KINDS = ["memory", "journal", "synced journal", "journal that syncs settles"]


def options_of(kind: str, path: Path) -> tuple[str, dict[str, Any]]:
    synced: dict[str, Any] = {} if kind in ("memory", "journal") else {"sync": "always"}
    if "settles" in kind:
        synced["sync_settles"] = True
    return ("memory:" if kind == "memory" else f"journal:{path}"), synced


@contextlib.asynccontextmanager
async def opened(kind: str = "memory", path: Path = Path(), **options: Any) -> AsyncIterator["rheo.aio.Instance"]:
    url, synced = options_of(kind, path)
    async with rheo.aio.open(url, **synced, **options) as db:
        await db.create_stream("s")
        await db.create_group("s", "g")
        yield db


async def begun(work: Awaitable[Any]) -> "asyncio.Future[Any]":
    """Work under way: as far as it comes without anything happening."""
    task = asyncio.ensure_future(work)
    for _ in range(5):
        await asyncio.sleep(0)
    return task


# The same as the plain API


@pytest.mark.parametrize("name", ["Instance", "Stream", "Group", "Batch", "Lease", "Producer"])
def test_everything_of_the_plain_api_is_there(name: str) -> None:
    plain, mirror = getattr(rheo, name), getattr(rheo.aio, name)
    public = {each for each in vars(plain) if not each.startswith("_")}
    assert public <= set(dir(mirror))
    at_once = {
        "stream",
        "group",
        "capabilities",
        "query_stream",
        "consumer",
        "producer",
        "payloads",
        "events",
        "tokens",
        "index",
        "count",
    }
    for each in public:
        method = inspect.getattr_static(mirror, each)
        if callable(getattr(plain, each)) and each not in at_once:
            assert inspect.iscoroutinefunction(method), each


def test_opening_both_ways() -> None:
    async def work() -> None:
        db = await rheo.aio.open("memory:")
        await db.ping()
        await db.close()
        assert db.closed
        async with rheo.aio.open(name="both ways") as named:
            assert named.name == "both ways"
            found = rheo.aio.get("both ways")
            assert found is not None
            await found.create_stream("s")
            assert await named.list_streams() == ["s"]
            plain = rheo.get("both ways")
            assert plain is not None
            assert plain.list_streams() == ["s"]
        assert rheo.aio.get("both ways") is None
        with pytest.raises(rheo.InvalidArgument):
            await rheo.aio.open("nonsense:")
        with pytest.raises(TypeError, match="url"):
            await rheo.aio.open(3)  # type: ignore[arg-type]

    run(work())


@pytest.mark.parametrize("kind", KINDS)
def test_all_operations(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(kind, tmp_path) as db:
            stream, group = db.stream("s"), db.group("s", "g")
            first = await db.append("s", {"n": 0}, key="k", type="t", metadata={"a": 1}, id="first")
            events = [
                first,
                await stream.append({"n": 1}),
                *await db.append_batch("s", [{"n": 2}, rheo.Append({"n": 3})]),
            ]
            events += await stream.append_batch([{"n": 4}])
            assert await db.read("s") == await stream.read() == events
            assert await db.get("s", "first") == await stream.get("first") == first
            assert await db.query("s", where={"n": {"gt": 2}}) == await stream.query(after_sequence=3) == events[3:]
            page = await db.query_page("s", limit=4)
            assert page.events + (await stream.query_page(cursor=page.next_cursor)).events == events
            assert [event async for event in db.query_stream("s")] == events
            assert [event async for event in stream.query_stream(where={"n": 1})] == events[1:2]

            batch = await db.fetch("s", "g", limit=5, lease_ms=60_000)
            assert [lease.event.payload for lease in batch] == batch.payloads() == [{"n": n} for n in range(5)]
            assert (batch.events(), len(batch.tokens()), len(batch[1:])) == (events, 5, 4)
            assert (await batch[0].renew(90_000)).lease_id == batch[0].lease_id
            assert (await db.renew(batch[0])).expires_at > batch[1].expires_at
            assert (await group.renew(batch[0].token)).tzinfo is not None
            assert [lease.lease_id for lease in await batch.renew()] == [lease.lease_id for lease in batch]  # type: ignore[union-attr]
            await batch[0].ack()
            with pytest.raises(rheo.StaleLease):
                await batch[0].ack()
            await batch[1].retry("why", delay_ms=FOREVER)
            await batch[2].reject("why")
            await batch[3].release()
            assert (await group.info()).delayed_count == (await group.info()).dead_letter_count == 1
            [again] = await group.fetch()
            assert [type(result) for result in await db.ack_many([again, batch[4].token, batch[0]])] == [
                type(None),
                type(None),
                rheo.StaleLease,
            ]
            assert (await db.lag("s", "g")).lag == (await group.lag()).lag == 4
            assert [letter.event for letter in await db.dead_letters("s", "g")] == [events[2]]
            assert await group.dead_letters() == await db.dead_letters("s", "g")
            assert await db.replay("s", "g", event_ids=[events[2].id]) == 1
            await (await group.fetch())[0].reject()
            assert await db.discard_dead_letters("s", "g", all=True) == 1
            await group.reset(confirm=True)
            await db.reset_group("s", "g", confirm=True, start_after=4)
            assert len(await (await db.fetch("s", "g")).ack()) == 1
            assert await db.trim("s", max_len=4, force=True) == 1
            assert await stream.trim(max_len=3) in (0, 1)
            await db.update_group("s", "g", max_attempts=7)
            await group.update(max_deliveries=3)
            assert ((await db.group_info("s", "g")).max_attempts, (await group.info()).max_deliveries) == (7, 3)
            assert await db.list_groups("s") == await stream.list_groups() == ["g"]
            assert await db.stream_info("s") == await stream.info()
            await db.ensure_indexes()
            assert db.capabilities().guarantees["at_least_once"]
            assert (await db.now()).tzinfo is not None
            await group.delete()
            await stream.delete(confirm=True)
            assert await db.list_streams() == []

    run(work())


def test_what_is_wrong_is_refused_as_in_the_plain_api() -> None:
    async def work() -> None:
        async with opened() as db:
            failing: list[tuple[type[Exception], str, Callable[[], Any]]] = [
                (TypeError, "wait_ms", lambda: db.fetch("s", "g", wait_ms="1")),  # type: ignore[arg-type]
                (TypeError, "wait_ms", lambda: db.fetch("s", "g", wait_ms=True)),
                (TypeError, "wait_ms", lambda: db.fetch("s", "g", wait_ms=False)),
                (TypeError, "wait_ms", lambda: db.fetch("s", "g", wait_ms=1.5)),  # type: ignore[arg-type]
                (rheo.InvalidArgument, "wait_ms", lambda: db.fetch("s", "g", wait_ms=-1)),
                (rheo.InvalidArgument, "wait_ms", lambda: db.fetch("s", "g", wait_ms=2**62)),
                (rheo.InvalidArgument, "lease_ms", lambda: db.fetch("s", "g", lease_ms=0, wait_ms=FOREVER)),
                (rheo.InvalidPartition, "5", lambda: db.fetch("s", "g", partitions=[5], wait_ms=FOREVER)),
                (rheo.StreamNotFound, "missing", lambda: db.fetch("missing", "g", wait_ms=FOREVER)),
                (rheo.GroupNotFound, "missing", lambda: db.group("s", "missing").fetch(wait_ms=FOREVER)),
                (TypeError, "payload", lambda: db.append("s", {1})),  # type: ignore[arg-type]
                (TypeError, "lease", lambda: db.ack(3)),  # type: ignore[arg-type]
                (TypeError, "leases", lambda: db.ack_many("x")),
                (TypeError, "leases", lambda: db.ack_many(3)),  # type: ignore[arg-type]
                (rheo.InvalidArgument, "token", lambda: db.ack("x")),
            ]
            for error, text, call in failing:
                with pytest.raises(error, match=text):
                    await call()

    run(work())


def test_a_wait_ends_by_itself_with_nothing() -> None:
    async def work() -> None:
        async with opened() as db:
            assert (await db.fetch("s", "g", wait_ms=1)).events() == []
            assert (await db.fetch("s", "g", limit=0, wait_ms=FOREVER)).events() == []
            assert (await db.fetch("s", "g", partitions=iter([0]), wait_ms=1)).events() == []

    run(work())


def test_leases_do_not_pickle_and_say_what_does() -> None:
    async def work() -> None:
        async with opened() as db:
            await db.append("s", 1)
            [lease] = await db.fetch("s", "g")
            with pytest.raises(TypeError, match=r"lease\.token"):
                pickle.dumps(lease)

    run(work())


def test_handles_show_what_they_are() -> None:
    async def work() -> None:
        async with opened() as db:
            await db.append("s", 1)
            batch = await db.fetch("s", "g")
            assert repr(db) == "<rheo.aio.Instance, open>"
            assert repr(db.stream("s")) == '<rheo.aio.Stream "s">'
            assert repr(db.group("s", "g")) == '<rheo.aio.Group "g" of "s">'
            assert repr(batch) == '<rheo.aio.Batch of 1 leases of "s" for "g">'
            assert repr(batch[0]) == '<rheo.aio.Lease of "s" partition 0 sequence 1 for "g", attempt 1>'
            assert repr(db.query_stream("s")) == "<rheo.aio.EventIterator>"

    run(work())


# Waits


@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_wait_at_once_without_threads(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(kind, tmp_path) as db:
            before = threading.active_count()
            waiters = [asyncio.ensure_future(db.fetch("s", "g", limit=1, wait_ms=FOREVER)) for _ in range(300)]
            for _ in range(20):
                await asyncio.sleep(0)
            if kind == "memory":
                assert threading.active_count() <= before
            await db.append_batch("s", list(range(300)))
            batches = await asyncio.gather(*waiters)
            assert sorted(batch.payloads()[0] for batch in batches) == list(range(300))
            results = await asyncio.gather(*(batch.ack() for batch in batches))
            assert results == [[None]] * 300
            assert (await db.lag("s", "g")).lag == 0

    run(work())


def test_what_ends_a_wait() -> None:
    async def work() -> None:
        async with opened() as db:
            await db.append("s", "again")
            for give_back in ("release", "retry"):
                [lease] = await db.fetch("s", "g")
                waiter = await begun(db.fetch("s", "g", wait_ms=FOREVER))
                assert not waiter.done()
                await getattr(lease, give_back)()
                [lease] = await waiter
                await lease.release()
            # A thread that knows nothing of the loop.
            await (await db.fetch("s", "g")).ack()
            waiter = await begun(db.fetch("s", "g", wait_ms=FOREVER))
            thread = threading.Thread(target=lambda: db.plain.append("s", "from a thread"))
            thread.start()
            assert (await waiter).payloads() == ["from a thread"]
            thread.join()
            waiter = await begun(db.fetch("s", "g", wait_ms=FOREVER))
            await db.delete_group("s", "g")
            with pytest.raises(rheo.GroupNotFound):
                await waiter

    run(work())


def test_a_due_retry_and_an_expired_lease_end_a_wait() -> None:
    async def work() -> None:
        async with opened() as db:
            await db.append("s", 1)
            await (await db.fetch("s", "g"))[0].retry(delay_ms=30)
            [lease] = await db.fetch("s", "g", wait_ms=FOREVER, lease_ms=30)
            [again] = await db.fetch("s", "g", wait_ms=FOREVER)
            assert (lease.attempt, again.attempt) == (2, 3)

    run(work())


def test_the_manual_clock_ends_a_wait() -> None:
    async def work() -> None:
        async with opened(clock="manual", clock_start=START) as db:
            await db.append("s", "later")
            await (await db.fetch("s", "g"))[0].retry(delay_ms=5_000)
            waiter = await begun(db.fetch("s", "g", wait_ms=FOREVER))
            await db.advance_clock(4_999)
            await begun(asyncio.sleep(0))
            assert not waiter.done()
            await db.advance_clock(1)
            [lease] = await waiter
            await lease.ack()
            waiter = await begun(db.fetch("s", "g", wait_ms=3_000))
            await db.advance_clock(3_000)
            assert (await waiter).payloads() == []

    run(work())


@pytest.mark.parametrize("kind", KINDS)
def test_close_ends_all_waits(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(kind, tmp_path) as db:
            waiters = [await begun(db.fetch("s", "g", wait_ms=FOREVER)) for _ in range(20)]
            await db.close()
            await db.close()
            for result in await asyncio.gather(*waiters, return_exceptions=True):
                assert isinstance(result, rheo.Closed)
            for call in (db.append("s", 1), db.fetch("s", "g", wait_ms=FOREVER), db.ping(), db.query("s")):
                with pytest.raises(rheo.Closed):
                    await call

    run(work())


# Cancellation and timeouts


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_wait_leases_nothing(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(kind, tmp_path) as db:
            waiters = [await begun(db.fetch("s", "g", wait_ms=FOREVER)) for _ in range(10)]
            for waiter in waiters:
                waiter.cancel()
            for result in await asyncio.gather(*waiters, return_exceptions=True):
                assert isinstance(result, asyncio.CancelledError)
            await db.append("s", 1)
            assert (await db.group_info("s", "g")).inflight_count == 0
            assert (await db.fetch("s", "g", wait_ms=FOREVER)).payloads() == [1]

    run(work())


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancellation_at_any_moment_loses_nothing(kind: str, tmp_path: Path) -> None:
    """Cancels after each number of the loop's turns, so that some cancellation meets every step of a fetch."""

    async def work() -> None:
        async with opened(kind, tmp_path) as db:
            for turns in range(25):
                event = await db.append("s", turns)
                waiter = asyncio.ensure_future(db.fetch("s", "g", wait_ms=FOREVER, lease_ms=FOREVER))
                for _ in range(turns):
                    await asyncio.sleep(0)
                waiter.cancel()
                try:
                    batch = await waiter
                except asyncio.CancelledError:
                    # Given back, though perhaps by a thread that is still about to: a wait finds it whenever that is.
                    batch = await db.fetch("s", "g", wait_ms=20_000)
                assert batch.events() == [event]
                assert batch[0].attempt == 1
                await batch.ack()
            assert (await db.lag("s", "g")).lag == 0

    run(work())


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancellation_while_something_is_appended_loses_nothing(kind: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with opened(kind, tmp_path) as db:
            for turns in range(25):
                waiter = await begun(db.fetch("s", "g", wait_ms=FOREVER, lease_ms=FOREVER))
                event = await db.append("s", turns)
                for _ in range(turns % 8):
                    await asyncio.sleep(0)
                waiter.cancel()
                try:
                    batch = await waiter
                except asyncio.CancelledError:
                    batch = await db.fetch("s", "g", wait_ms=20_000)
                assert batch.events() == [event]
                await batch.ack()

    run(work())


def test_a_timeout_ends_a_wait() -> None:
    async def work() -> None:
        async with opened() as db:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await db.fetch("s", "g", wait_ms=FOREVER)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(db.fetch("s", "g", wait_ms=FOREVER), 0.02)
            async with asyncio.timeout(PROMPT):
                assert (await db.fetch("s", "g", wait_ms=20)).payloads() == []
            await db.append("s", 1)
            assert (await db.group_info("s", "g")).inflight_count == 0

    run(work())


def test_a_task_group_ends_its_waits() -> None:
    async def work() -> None:
        async with opened() as db:

            async def fail() -> None:
                raise LookupError("mine")

            async def fail_among_waits() -> None:
                async with asyncio.TaskGroup() as group:
                    for _ in range(10):
                        group.create_task(db.fetch("s", "g", wait_ms=FOREVER))
                    group.create_task(fail())

            with pytest.raises(ExceptionGroup) as raised:
                await fail_among_waits()
            assert [str(error) for error in raised.value.exceptions] == ["mine"]
            await db.append("s", 1)
            assert len(await db.fetch("s", "g")) == 1

    run(work())


def test_a_cancelled_append_is_done_or_not_but_never_half(tmp_path: Path) -> None:
    async def work() -> None:
        async with opened("synced journal", tmp_path) as db:
            for turns in range(10):
                task = asyncio.ensure_future(db.append_batch("s", [[turns, n] for n in range(3)]))
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
            await db.append("s", "last")
            payloads = [event.payload for event in await db.read("s", limit=100)]
            assert payloads.pop() == "last"
            assert len(payloads) % 3 == 0
            for at in range(0, len(payloads), 3):
                assert [n for _, n in payloads[at : at + 3]] == [0, 1, 2]

    run(work())


def test_a_cancelled_opening_leaves_nothing_open(tmp_path: Path) -> None:
    async def work() -> None:
        for turns in range(6):
            opening = asyncio.ensure_future(_open(tmp_path))
            for _ in range(turns):
                await asyncio.sleep(0)
            opening.cancel()
            result = (await asyncio.gather(opening, return_exceptions=True))[0]
            if isinstance(result, rheo.aio.Instance):
                await result.close()
        # A thread may be about to close what nobody waited for: as long as it is open, the journal is locked.
        while True:
            try:
                async with rheo.aio.open(f"journal:{tmp_path}"):
                    return
            except rheo.Locked:
                await asyncio.sleep(0)

    run(work())


async def _open(path: Path) -> "rheo.aio.Instance":
    db: rheo.aio.Instance = await rheo.aio.open(f"journal:{path}")
    return db


# Loops


def test_several_loops_in_threads_share_an_instance() -> None:
    loops, each = 4, 50
    ready = threading.Barrier(loops + 1)
    plain = rheo.open(name="shared by loops")
    plain.create_stream("s")
    plain.create_group("s", "g")

    async def work() -> list[int]:
        db = rheo.aio.get("shared by loops")
        assert db is not None
        waiters = [await begun(db.fetch("s", "g", limit=1, wait_ms=FOREVER)) for _ in range(each)]
        ready.wait(PROMPT)
        batches = await asyncio.gather(*waiters)
        for batch in batches:
            assert await batch.ack() == [None]
        return [batch.payloads()[0] for batch in batches]

    with ThreadPoolExecutor(loops) as pool:
        running = [pool.submit(lambda: run(work())) for _ in range(loops)]
        ready.wait(PROMPT)
        for number in range(loops * each):
            plain.append("s", number)
        found = [number for each_loop in running for number in each_loop.result(30)]
    assert sorted(found) == list(range(loops * each))
    plain.close()


def test_one_instance_in_one_loop_after_another(tmp_path: Path) -> None:
    for url, options in (("memory:", {}), (f"journal:{tmp_path}", {"sync": "always"})):
        db = asyncio.run(_opened_plainly(url, options))

        async def use(number: int, db: "rheo.aio.Instance" = db) -> None:
            waiter = await begun(db.fetch("s", "g", wait_ms=FOREVER))
            await db.append("s", number)
            batch = await waiter
            assert batch.payloads() == [number]
            await batch.ack()
            assert [event.payload async for event in db.query_stream("s")] == list(range(number + 1))

        for number in range(3):
            run(use(number))
        run(db.close())


async def _opened_plainly(url: str, options: Any) -> "rheo.aio.Instance":
    db: rheo.aio.Instance = await rheo.aio.open(url, **options)
    await db.create_stream("s")
    await db.create_group("s", "g")
    return db


def test_a_loop_that_ends_in_the_middle_of_waits() -> None:
    plain = rheo.open(name="left by a loop")
    plain.create_stream("s")
    plain.create_group("s", "g")

    async def leave() -> None:
        db = rheo.aio.get("left by a loop")
        assert db is not None
        for _ in range(10):
            await begun(db.fetch("s", "g", wait_ms=FOREVER))

    # `asyncio.run` cancels what is left.
    for _ in range(3):
        asyncio.run(leave())
    plain.append("s", 1)
    assert plain.group_info("s", "g").inflight_count == 0
    assert plain.fetch("s", "g").payloads() == [1]
    plain.close()


def test_a_loop_that_is_closed_with_waits_in_it(recwarn: pytest.WarningsRecorder) -> None:
    plain = rheo.open(name="closed under")
    plain.create_stream("s")
    plain.create_group("s", "g")

    async def begin() -> None:
        db = rheo.aio.get("closed under")
        assert db is not None
        kept.append(await begun(db.fetch("s", "g", wait_ms=FOREVER)))

    kept: list[Any] = []
    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    loop.close()
    # Wakes a watch whose loop is gone.
    plain.append("s", 1)
    for task in kept:
        task._log_destroy_pending = False
    kept.clear()
    del loop
    gc.collect()
    assert plain.fetch("s", "g").payloads() == [1]
    plain.close()
    assert [str(each.message) for each in recwarn if issubclass(each.category, ResourceWarning)] == []


# Iterators


def test_an_iterator_may_be_left_and_shared() -> None:
    async def work() -> None:
        async with opened() as db:
            events = await db.append_batch("s", list(range(1_000)))
            async for event in db.query_stream("s"):
                if event.payload == 150:
                    break
            # Here the limit is that of a page.
            iterator = db.query_stream("s", limit=450)
            assert [await anext(iterator) for _ in range(3)] == events[:3]
            assert [event async for event in iterator] == events[3:]
            with pytest.raises(StopAsyncIteration):
                await anext(iterator)
            with pytest.raises(TypeError, match="limit"):
                async for _ in db.query_stream("s", limit="1"):  # type: ignore[arg-type]
                    pass
            with pytest.raises(rheo.StreamNotFound):
                await anext(db.query_stream("missing"))

    run(work())


def test_two_tasks_on_one_iterator_get_each_event_once() -> None:
    async def work() -> None:
        async with opened() as db:
            await db.append_batch("s", list(range(1_000)))
            iterator = db.query_stream("s")

            async def take() -> list[int]:
                return [event.payload async for event in iterator]

            taken = await asyncio.gather(take(), take(), take())
            assert sorted(number for each in taken for number in each) == list(range(1_000))

    run(work())


def test_a_cancelled_step_of_an_iterator_skips_nothing() -> None:
    async def work() -> None:
        async with opened() as db:
            await db.append_batch("s", list(range(500)))
            for turns in [0, *[1, 2, 3, 4] * 8]:
                iterator = db.query_stream("s")
                step = asyncio.ensure_future(_next(iterator))
                for _ in range(turns):
                    await asyncio.sleep(0)
                step.cancel()
                result = (await asyncio.gather(step, return_exceptions=True))[0]
                before = [result.payload] if isinstance(result, rheo.Event) else []
                assert before + [event.payload async for event in iterator] == list(range(500))

    run(work())


async def _next(iterator: Any) -> rheo.Event:
    event: rheo.Event = await anext(iterator)
    return event


# A good citizen of the loop


@pytest.mark.parametrize("kind", KINDS)
def test_debug_mode_has_nothing_to_complain_of(kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with opened(kind, tmp_path) as db:
            waiters = [await begun(db.fetch("s", "g", limit=1, wait_ms=FOREVER)) for _ in range(10)]
            await db.append_batch("s", list(range(10)))
            for batch in await asyncio.gather(*waiters):
                await batch.ack()
            waiters = [await begun(db.fetch("s", "g", wait_ms=FOREVER)) for _ in range(10)]
            for waiter in waiters:
                waiter.cancel()
            await asyncio.gather(*waiters, return_exceptions=True)
            assert len([event async for event in db.query_stream("s")]) == 10

    caplog.set_level(logging.WARNING, "asyncio")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with asyncio.Runner(debug=True) as runner:
            # Slower than the loop allows would be a wait; what a busy machine adds is not.
            runner.get_loop().slow_callback_duration = 0.5
            runner.run(work())
        gc.collect()
    assert [record.getMessage() for record in caplog.records] == []


def test_the_loop_runs_while_a_journal_syncs(tmp_path: Path) -> None:
    async def work() -> None:
        async with opened("synced journal", tmp_path) as db:
            appends = [asyncio.ensure_future(db.append("s", number)) for number in range(50)]
            turns = 0
            while not all(append.done() for append in appends):
                turns += 1
                await asyncio.sleep(0)
            assert turns > 2
            assert sorted(append.result().sequence for append in appends) == list(range(1, 51))

    run(work())


def test_an_instance_that_nobody_closes_keeps_no_loop() -> None:
    async def work() -> None:
        db = await rheo.aio.open("memory:")
        await db.create_stream("s")
        await db.query("s")

    for _ in range(3):
        run(work())
    gc.collect()


@pytest.mark.skipif(importlib.util.find_spec("uvloop") is None, reason="uvloop is not installed")
@pytest.mark.parametrize("kind", KINDS)
def test_uvloop(kind: str, tmp_path: Path) -> None:
    uvloop = importlib.import_module("uvloop")

    async def work() -> None:
        async with opened(kind, tmp_path) as db:
            waiters = [asyncio.ensure_future(db.fetch("s", "g", limit=1, wait_ms=FOREVER)) for _ in range(100)]
            await asyncio.sleep(0)
            waiters.pop().cancel()
            await db.append_batch("s", list(range(99)))
            batches = await asyncio.gather(*waiters)
            assert sorted(batch.payloads()[0] for batch in batches) == list(range(99))
            waiter = await begun(db.fetch("s", "g", wait_ms=FOREVER))
            await db.close()
            with pytest.raises(rheo.Closed):
                await waiter

    run(work(), uvloop.new_event_loop)


def test_the_executor_that_must_not_be_used_would_tell() -> None:
    async def work() -> None:
        assert isinstance(NoExecutor(1), Executor)
        with pytest.raises(AssertionError, match="default executor"):
            await asyncio.to_thread(int)

    run(work())


def test_what_is_appended_is_the_payload_at_the_call(tmp_path: Path) -> None:
    async def work() -> None:
        async with rheo.aio.open(f"journal:{tmp_path}/journal") as db:
            await db.create_stream("s")
            payload: dict[str, int] = {}
            tasks = []
            for number in range(50):
                payload["n"] = number
                batch = db.append_batch("s", [payload, rheo.Append(payload, metadata=payload)])
                tasks.append(asyncio.create_task(batch))
                await asyncio.sleep(0)
            payload["n"] = -1
            for number, task in enumerate(tasks):
                events = await task
                assert [event.payload for event in events] == [{"n": number}] * 2
                assert events[1].metadata == {"n": number}

    run(work())


def test_leases_are_equal_by_their_claim() -> None:
    async def work() -> None:
        async with rheo.aio.open() as db:
            await db.create_stream("s")
            await db.create_group("s", "g")
            await db.append_batch("s", [1, 2])
            batch = await db.fetch("s", "g")
            assert batch[0] == batch[0] != batch[1]
            assert batch[1] in batch
            assert batch.index(batch[1]) == 1
            assert len({*batch, *batch}) == 2

    run(work())
