"""Memory: what is let go is given back, cycles are collected, and nothing grows with what was done."""

import gc
import sys
import weakref
from typing import Any

import pytest
from conftest import RunScript

import rheo

linux = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")

MEASURE = """
import gc, os, sys
import rheo

def resident():
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def compare(work, warm_up, rounds, room=1 << 20):
    # The best of three: what the allocator keeps of a peak is not what grows with each round.
    for _ in range(warm_up):
        work()
    growths = []
    for _ in range(3):
        before = resident()
        for _ in range(rounds):
            work()
        growths.append((resident() - before, before))
        if growths[-1][0] <= 0.05 * before + room:
            return
    sys.exit(f"resident memory grew by {growths}")

db = rheo.open()
db.create_stream("s")
db.create_group("s", "g", start_after=0)
"""


def measured(body: str) -> str:
    return MEASURE + "\n".join(line.removeprefix("    ") for line in body.splitlines())


@linux
def test_a_million_leases_leave_nothing(run_script: RunScript) -> None:
    run_script(
        measured("""
    db.append_batch("s", [{"n": n} for n in range(10_000)])
    before = None
    for round in range(110):
        db.reset_group("s", "g", confirm=True)
        # Held one by one, with their events and payloads, and then dropped at once.
        batch = db.fetch("s", "g", limit=10_000)
        leases = list(batch)
        payloads = [lease.event.payload["n"] for lease in leases[:100]]
        assert len(leases) == 10_000
        assert db.ack_many(leases[:5_000]) == [None] * 5_000
        for lease in leases[5_000:]:
            lease.ack()
        del batch, leases, lease, payloads
        if round == 9:
            before = resident()
    after = resident()
    assert abs(after - before) <= 0.05 * before, (before, after)
    """),
        timeout=60,
    )


GROWS_NOT: dict[str, tuple[str, int, int]] = {
    "append": (
        """
    def work():
        for _ in range(100):
            db.append("s", {"some": "text", "n": [1, 2.5, None]}, key="k", type="t", metadata={"a": 1})
        db.trim("s", max_len=0, force=True)
    """,
        100,
        400,
    ),
    "batches": (
        """
    def work():
        db.append_batch("s", [rheo.Append({"n": n}, key="k") for n in range(100)] + [b"x" * 1_000] * 20)
        db.trim("s", max_len=0, force=True)
    """,
        100,
        300,
    ),
    "payloads": (
        """
    events = db.append_batch("s", [{"a": [1, 2.5, "text", {"b": None}], "\\u00fc": 2**70}, b"x" * 1_000])
    def work():
        for event in db.read("s") * 100:
            event.payload, event.data, event.metadata, event.id, event.timestamp
    """,
        30,
        200,
    ),
    "new keys": (
        """
    count = 0
    def work():
        global count
        for _ in range(1_000):
            count += 1
            db.append("s", {f"a key that never comes again {count}": 1}).payload
        db.trim("s", max_len=0, force=True)
    """,
        10,
        40,
    ),
    "errors": (
        """
    db.append("s", 1)
    [lease] = db.fetch("s", "g")
    lease.ack()
    def work():
        for _ in range(300):
            for call in (lease.ack, lambda: db.append("s", [{1}]), lambda: db.read("missing"), lambda: db.get("s", 3)):
                try:
                    call()
                except (rheo.RheoError, TypeError):
                    pass
            db.ack_many([lease, "nonsense"])
    """,
        20,
        100,
    ),
    "instances": (
        """
    def work():
        for closes in (True, False):
            other = rheo.open(name="other" if closes else None, dumps=repr, telemetry=lambda event: None)
            other.create_stream("s")
            other.create_group("s", "g")
            other.append("s", 1)
            other.fetch("s", "g")
            if closes:
                other.close()
    """,
        100,
        500,
    ),
    "waits": (
        """
    import threading
    def work():
        thread = threading.Thread(target=lambda: db.fetch("s", "g", wait_ms=10_000).ack())
        thread.start()
        db.append("s", 1)
        thread.join()
        db.trim("s", max_len=0, force=True)
    """,
        100,
        500,
    ),
    "telemetry": (
        """
    told = []
    hooked = rheo.open(telemetry=told.append)
    hooked.create_stream("s")
    def work():
        for _ in range(500):
            hooked.append("s", 1)
        hooked.trim("s", max_len=0, force=True)
        told.clear()
    """,
        20,
        100,
    ),
    "queries": (
        """
    db.append_batch("s", [{"n": n} for n in range(500)])
    def work():
        db.query("s", where={"n": {"gt": 100}}, limit=500)
        next(db.query_stream("s"))
        db.query_page("s", limit=10)
        db.group_info("s", "g"), db.stream_info("s"), db.lag("s", "g"), db.capabilities()
    """,
        50,
        300,
    ),
    "event loops": (
        """
    import asyncio
    import rheo.aio
    async def main():
        async with rheo.aio.open("memory:") as other:
            await other.create_stream("s")
            await other.create_group("s", "g")
            for _ in range(20):
                waiter = asyncio.create_task(other.fetch("s", "g", wait_ms=10_000))
                await asyncio.sleep(0)
                await other.append("s", 1)
                await (await waiter).ack()
                waiter = asyncio.create_task(other.fetch("s", "g", wait_ms=10_000))
                await asyncio.sleep(0)
                waiter.cancel()
                await asyncio.wait([waiter])
    def work():
        asyncio.run(main())
    """,
        30,
        150,
    ),
}


@linux
@pytest.mark.parametrize("name", GROWS_NOT)
def test_memory_does_not_grow_with(run_script: RunScript, name: str) -> None:
    body, warm_up, rounds = GROWS_NOT[name]
    run_script(measured(body) + f"\ncompare(work, {warm_up}, {rounds})\n", timeout=60)


@linux
def test_open_files_do_not_grow(run_script: RunScript, tmp_path: Any) -> None:
    run_script(
        measured("""
    import asyncio, threading
    import rheo.aio
    async def main():
        async with rheo.aio.open("journal:" + sys.argv[1], sync="always") as other:
            if not await other.list_streams():
                await other.create_stream("s")
                await other.create_group("s", "g")
            waiter = asyncio.create_task(other.fetch("s", "g", wait_ms=10_000))
            await other.append("s", 1)
            await (await waiter).ack()
    def count():
        return len(os.listdir("/proc/self/fd"))
    before = count()
    for _ in range(20):
        asyncio.run(main())
    # The threads of an instance end by themselves, a little later than the loop.
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(10)
    assert count() == before, (before, count())
    """),
        tmp_path / "journal",
    )


# Cycles and weak references


class Canary:
    """Something that a weak reference sees go."""


def collected(make: Any) -> bool:
    """Whether what `make` ties together goes when nobody else holds it."""
    gone = weakref.ref(make())
    gc.collect()
    return gone() is None


def test_a_payload_that_holds_its_event_is_collected(db: rheo.Instance) -> None:
    def make() -> Canary:
        event = db.append("s", {"a": []})
        canary = Canary()
        event.payload["a"] += [event, canary]
        return canary

    assert collected(make)


def test_a_payload_that_holds_its_lease_is_collected(db: rheo.Instance) -> None:
    db.append("s", [])

    def make() -> Canary:
        [lease] = db.fetch("s", "g")
        canary = Canary()
        lease.event.payload.extend([lease, canary])
        return canary

    assert collected(make)


def test_an_append_in_its_own_payload_is_collected() -> None:
    def make() -> Canary:
        canary = Canary()
        payload: dict[str, Any] = {"canary": canary}
        payload["append"] = rheo.Append(payload, metadata=payload)
        return canary

    assert collected(make)


def test_an_append_lets_go_of_what_it_was_made_of() -> None:
    class Text(str):
        __slots__ = ("__weakref__",)

    def make() -> Text:
        text = Text("x")
        rheo.Append(1, key=text)
        return text

    assert collected(make)


@pytest.mark.parametrize("option", ["dumps", "loads", "telemetry"])
def test_functions_go_with_their_instance(option: str) -> None:
    def make() -> Any:
        def function(given: Any) -> bytes:
            return repr(given).encode()

        options: dict[str, Any] = {option: function, "name": f"with {option}"}
        db = rheo.open(**options)
        db.create_stream("s")
        db.append("s", 1)
        db.close()
        return function

    assert collected(make)


@pytest.mark.parametrize("what", ["instance", "stream", "group", "batch", "lease", "event"])
def test_weak_references_work(what: str) -> None:
    def make() -> Any:
        db = rheo.open()
        db.create_stream("s")
        db.create_group("s", "g")
        event = db.append("s", 1)
        batch = db.fetch("s", "g")
        every = {
            "instance": db,
            "stream": db.stream("s"),
            "group": db.group("s", "g"),
            "batch": batch,
            "lease": batch[0],
        }
        every["event"] = event
        thing = every[what]
        assert weakref.ref(thing)() is thing
        assert weakref.WeakSet([thing])
        return thing

    assert collected(make)


def test_a_closed_instance_keeps_no_payload_of_ours(db: rheo.Instance) -> None:
    canary = Canary()
    gone = weakref.ref(canary)
    payload = {"n": 1}
    db.append("s", rheo.Append(payload).payload)
    event = db.read("s")[0]
    event.payload["canary"] = canary
    del canary
    assert gone() is not None
    del event
    assert gone() is None
