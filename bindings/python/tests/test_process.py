"""Processes: they end, by themselves or by signals, with what they opened flushed; forks do not share what is open."""

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import RunScript, command

import rheo

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork, and signals are others")

PREPARE = """
import os, signal, sys, threading, time
import rheo

signal.alarm(10)  # Ends what hangs, forked children too.

def opened(url="memory:", **options):
    db = rheo.open(url, **options)
    db.create_stream("s")
    db.create_group("s", "g")
    return db

FOREVER = 600_000
"""


def with_preparation(text: str) -> str:
    return PREPARE + textwrap.dedent(text)


# The end

ENDS: dict[str, str] = {
    "nothing waits": """
        db = opened()
        lease = (db.append("s", 1), db.fetch("s", "g")[0])[1]
    """,
    "a thread waits": """
        db = opened()
        threading.Thread(target=lambda: db.fetch("s", "g", wait_ms=FOREVER)).start()
    """,
    "threads wait on a journal": """
        db = opened("journal:" + sys.argv[1])
        for _ in range(5):
            threading.Thread(target=lambda: db.fetch("s", "g", wait_ms=FOREVER)).start()
    """,
    "a daemon waits": """
        db = opened()
        started = threading.Event()
        def wait():
            started.set()
            db.fetch("s", "g", wait_ms=FOREVER)
        threading.Thread(target=wait, daemon=True).start()
        started.wait()
    """,
    "daemons wait again and again": """
        db = opened()
        started = threading.Barrier(9)
        def wait():
            started.wait()
            while True:
                try:
                    db.fetch("s", "g", wait_ms=FOREVER)
                except rheo.RheoError:
                    pass
        for _ in range(8):
            threading.Thread(target=wait, daemon=True).start()
        started.wait()
    """,
    "a daemon appends": """
        db = opened("journal:" + sys.argv[1])
        started = threading.Event()
        def work():
            while True:
                db.append("s", 1)
                started.set()
        threading.excepthook = lambda args: None
        threading.Thread(target=work, daemon=True).start()
        started.wait()
    """,
    "a daemon appends with each append synced": """
        db = opened("journal:" + sys.argv[1], sync="always")
        started = threading.Event()
        def work():
            while True:
                db.append("s", 1)
                started.set()
        threading.excepthook = lambda args: None
        threading.Thread(target=work, daemon=True).start()
        started.wait()
    """,
    "a worker of a pool waits": """
        from concurrent.futures import ThreadPoolExecutor
        db = opened()
        ThreadPoolExecutor().submit(db.fetch, "s", "g", wait_ms=FOREVER)
    """,
    "an event loop runs in a daemon": """
        import asyncio
        import rheo.aio
        started = threading.Event()
        async def work():
            async with rheo.aio.open("memory:") as db:
                await db.create_stream("s")
                await db.create_group("s", "g")
                asyncio.get_running_loop().call_soon(started.set)
                await db.fetch("s", "g", wait_ms=FOREVER)
        threading.excepthook = lambda args: None
        threading.Thread(target=lambda: asyncio.run(work()), daemon=True).start()
        started.wait()
    """,
    "an event loop waits while the plain API does": """
        import asyncio
        import rheo.aio
        async def work():
            db = await rheo.aio.open("journal:" + sys.argv[1], sync="always")
            await db.create_stream("s")
            await db.create_group("s", "g")
            await db.append("s", 1)
            await (await db.fetch("s", "g"))[0].ack()
            waiter = asyncio.create_task(db.fetch("s", "g", wait_ms=FOREVER))
            await asyncio.sleep(0)
        asyncio.run(work())
    """,
    "a hook is called at the end": """
        db = opened("journal:" + sys.argv[1], telemetry=lambda event: None)
        def wait():
            db.fetch("s", "g", wait_ms=FOREVER)
            db.append("s", "at the end")
        threading.Thread(target=wait).start()
    """,
    "a global is used at the end": """
        class Last:
            def __del__(self):
                try:
                    db.append("s", 1)
                except rheo.Closed:
                    pass
        db = opened()
        last = Last()
    """,
}


@pytest.mark.parametrize("name", ENDS)
def test_a_process_ends_by_itself(run_script: RunScript, tmp_path: Path, name: str) -> None:
    # What daemons do at the end is a matter of who comes first, so they have more than one chance.
    for attempt in range(20 if "daemons" in name else 5 if "daemon" in name else 1):
        run_script(with_preparation(ENDS[name]), tmp_path / f"journal {attempt}")


def test_a_pool_that_was_imported_first_ends_too(run_script: RunScript) -> None:
    # Who registers last is called first at the end: it must not matter who that is.
    text = with_preparation(ENDS["a worker of a pool waits"])
    run_script("from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor\n" + text)


def test_an_exit_status_is_kept(run_script: RunScript) -> None:
    body = 'db = opened()\nthreading.Thread(target=lambda: db.fetch("s", "g", wait_ms=FOREVER)).start()\nsys.exit(3)'
    run_script(PREPARE + body, status=3)


def test_a_journal_is_flushed_at_the_end(run_script: RunScript, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    run_script(
        with_preparation("""
        db = opened("journal:" + sys.argv[1], sync="never")
        db.append_batch("s", list(range(1_000)))
        def work():
            db.fetch("s", "g", wait_ms=FOREVER, limit=1_000)[:10]
            assert db.fetch("s", "g", wait_ms=FOREVER).events() == []
            for number in range(1_000, 2_000):
                db.append("s", number)
        threading.Thread(target=work).start()
    """),
        path,
    )
    with rheo.open(f"journal:{path}") as db:
        assert [event.payload for event in db.read("s", limit=10_000)] == list(range(2_000))


def test_a_journal_may_be_opened_again_after_a_kill(script: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "journal"
    text = with_preparation("""
        db = opened("journal:" + sys.argv[1], sync="always")
        for number in range(100):
            db.append("s", number)
        print("ready", flush=True)
        db.fetch("s", "g", wait_ms=FOREVER)
        while True:
            db.append("s", "more")
    """)
    with subprocess.Popen(command(script(text), path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(rheo.Locked):
            rheo.open(f"journal:{path}")
        process.kill()
        process.wait(10)
    with rheo.open(f"journal:{path}") as db:
        assert [event.payload for event in db.read("s", limit=100)] == list(range(100))


# Signals


def signalled(path: Path, number: int, *args: object) -> tuple[int, str, str]:
    """Runs a script, sends it a signal when it says that it is ready, and gives how it ended."""
    process = subprocess.Popen(command(path, *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
    return process.returncode, out, err


@pytest.mark.parametrize("call", ['db.fetch("s", "g", wait_ms=FOREVER)', 'db.group("s", "g").fetch(wait_ms=FOREVER)'])
def test_ctrl_c_ends_a_wait_and_leases_nothing(script: Callable[[str], Path], call: str) -> None:
    path = script(
        with_preparation(f"""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        db = opened()
        try:
            print("ready", flush=True)
            {call}
        except KeyboardInterrupt:
            db.append("s", 1)
            print(db.group_info("s", "g").inflight_count, db.fetch("s", "g").payloads(), flush=True)
    """)
    )
    assert signalled(path, signal.SIGINT) == (0, "0 [1]\n", "")


def test_ctrl_c_that_nobody_catches_ends_the_process(script: Callable[[str], Path], tmp_path: Path) -> None:
    path = script(
        with_preparation("""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        db = opened("journal:" + sys.argv[1])
        db.create_group("s", "empty", start_after=10)
        db.append("s", 1)
        threading.Thread(target=lambda: db.fetch("s", "empty", wait_ms=FOREVER)).start()
        print("ready", flush=True)
        db.fetch("s", "empty", wait_ms=FOREVER)
        db.fetch("s", "empty", wait_ms=FOREVER)
    """)
    )
    status, _, err = signalled(path, signal.SIGINT, tmp_path / "journal")
    assert status in (-signal.SIGINT, 128 + signal.SIGINT)
    assert err.rstrip().endswith("KeyboardInterrupt")


def test_a_signal_that_raises_nothing_ends_no_wait(script: Callable[[str], Path]) -> None:
    path = script(
        with_preparation("""
        db = opened()
        signal.signal(signal.SIGUSR1, lambda *_: db.append("s", "from the handler"))
        print("ready", flush=True)
        print(db.fetch("s", "g", wait_ms=FOREVER).payloads(), flush=True)
    """)
    )
    assert signalled(path, signal.SIGUSR1) == (0, "['from the handler']\n", "")


def test_what_a_handler_raises_ends_the_wait(script: Callable[[str], Path]) -> None:
    path = script(
        with_preparation("""
        class Stop(Exception):
            pass
        def stop(*_):
            raise Stop
        signal.signal(signal.SIGTERM, stop)
        db = opened()
        try:
            print("ready", flush=True)
            db.fetch("s", "g", wait_ms=FOREVER)
        except Stop:
            print("stopped", flush=True)
    """)
    )
    assert signalled(path, signal.SIGTERM) == (0, "stopped\n", "")


def test_ctrl_c_ends_an_event_loop(script: Callable[[str], Path]) -> None:
    path = script(
        with_preparation("""
        import asyncio
        import rheo.aio
        signal.signal(signal.SIGINT, signal.default_int_handler)
        async def work():
            async with rheo.aio.open("memory:") as db:
                await db.create_stream("s")
                await db.create_group("s", "g")
                print("ready", flush=True)
                try:
                    await db.fetch("s", "g", wait_ms=FOREVER)
                finally:
                    print((await db.group_info("s", "g")).inflight_count, db.closed, flush=True)
        try:
            asyncio.run(work())
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    )
    assert signalled(path, signal.SIGINT) == (0, "0 False\ninterrupted\n", "")


# Forks


@pytest.mark.parametrize("url", ["memory:", "journal:"])
def test_a_child_is_told_at_once_and_the_parent_goes_on(run_script: RunScript, tmp_path: Path, url: str) -> None:
    run_script(
        with_preparation("""
        url = sys.argv[1] + (sys.argv[2] if sys.argv[1] == "journal:" else "")
        db = opened(url, name="parent's", telemetry=lambda event: None)
        db.append_batch("s", [{"n": n} for n in range(5)])
        stream, group = db.stream("s"), db.group("s", "g")
        batch = db.fetch("s", "g", limit=2)
        lease, events = batch[0], db.query_stream("s", limit=3)
        event = next(events)
        calls = [
            lambda: db.append("s", 1), lambda: db.append_batch("s", [1]), lambda: db.read("s"), db.ping,
            lambda: db.get("s", "id"), lambda: db.query("s"), lambda: db.query_page("s"),
            lambda: next(db.query_stream("s")), lambda: list(events), lambda: [db.now(), db.ping()],
            lambda: db.fetch("s", "g"), lambda: db.fetch("s", "g", wait_ms=FOREVER), lambda: db.ack(lease),
            lambda: db.ack(lease.token), lambda: db.renew(lease), lambda: db.lag("s", "g"),
            lambda: db.group_info("s", "g"), lambda: db.advance_clock(1),
            lambda: db.create_stream("new"), lambda: db.list_streams(), lambda: db.trim("s", max_len=1),
            lambda: db.replay("s", "g", from_sequence=0), lambda: db.dead_letters("s", "g"),
            lambda: db.stream_info("s"),
            lambda: stream.append(1), lambda: stream.read(), lambda: stream.info(), lambda: stream.query(),
            lambda: group.fetch(), lambda: group.fetch(wait_ms=FOREVER), lambda: group.ack(lease), lambda: group.lag(),
            lambda: lease.ack(), lambda: lease.retry("why"), lambda: lease.reject("why"), lambda: lease.release(),
            lambda: lease.renew(), lambda: db.create_group("s", "new"), lambda: db.delete_stream("s", confirm=True),
        ]
        for_all = [batch.ack, lambda: db.ack_many(batch), lambda: group.renew_many([lease]), batch.renew]
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            signal.alarm(8)
            for number, call in enumerate(calls):
                try:
                    call()
                except rheo.Forked:
                    continue
                os._exit(10 + number)
            for number, call in enumerate(for_all):
                try:
                    results = call()
                except rheo.Forked:
                    continue
                if not all(isinstance(result, rheo.Forked) for result in results):
                    os._exit(100 + number)
            # What is in memory is there, and what the child opens is its own.
            if event.payload != {"n": 0} or batch.payloads() != [{"n": 0}, {"n": 1}] or len(bytes(event.data)) != 7:
                os._exit(110)
            own = opened()
            own.append("s", 1)
            if own.fetch("s", "g", wait_ms=FOREVER).payloads() != [1]:
                os._exit(111)
            try:
                db.close()
            except rheo.Forked:
                pass
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, os.waitstatus_to_exitcode(status)
        assert batch.ack() == [None, None]
        assert [event.payload for event in events] == [{"n": n} for n in range(1, 5)]
        db.append("s", "after")
        assert [event.payload for event in db.read("s")] == [{"n": n} for n in range(5)] + ["after"]
        db.close()
        if url != "memory:":
            with rheo.open(url) as again:
                assert len(again.read("s")) == 6
                assert again.lag("s", "g").lag == 4
    """),
        url,
        tmp_path / "journal",
    )


@pytest.mark.parametrize("exit", ["sys.exit(0)", "os._exit(0)"])
def test_a_child_that_ends_harms_no_journal(run_script: RunScript, tmp_path: Path, exit: str) -> None:
    run_script(
        with_preparation(f"""
        db = opened("journal:" + sys.argv[1], sync="never")
        for number in range(20):
            db.append("s", number)
            child = os.fork()
            if child == 0:
                {exit}
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        db.close()
        with rheo.open("journal:" + sys.argv[1]) as again:
            assert [event.payload for event in again.read("s")] == list(range(20))
    """),
        tmp_path / "journal",
    )


def test_a_child_holds_no_journal_locked(run_script: RunScript, tmp_path: Path) -> None:
    run_script(
        with_preparation("""
        url = "journal:" + sys.argv[1]
        db = opened(url)
        may_end, end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(end)
            os.read(may_end, 1)
            os._exit(0)
        db.close()
        rheo.open(url).close()
        os.write(end, b"x")
        assert os.waitpid(child, 0)[1] == 0
    """),
        tmp_path / "journal",
    )


def test_a_journal_that_the_parent_has_is_locked_for_the_child(run_script: RunScript, tmp_path: Path) -> None:
    run_script(
        with_preparation("""
        url = "journal:" + sys.argv[1]
        db = opened(url)
        child = os.fork()
        if child == 0:
            try:
                rheo.open(url)
            except rheo.Locked:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        db.close()
    """),
        tmp_path / "journal",
    )


def test_a_pre_fork_server(run_script: RunScript, tmp_path: Path) -> None:
    run_script(
        with_preparation("""
        # What a server's master opens goes on in the master only; each worker opens its own, under the same name.
        master = opened(name="app")
        children = []
        for number in range(3):
            child = os.fork()
            if child == 0:
                assert rheo.get("app") is None
                with rheo.open(f"journal:{sys.argv[1]}/{number}", name="app") as db:
                    db.create_stream("s")
                    db.create_group("s", "g")
                    assert rheo.get("app") is not None
                    worker = threading.Thread(target=lambda: db.fetch("s", "g", wait_ms=FOREVER).ack())
                    worker.start()
                    db.append("s", number)
                    worker.join()
                sys.exit(0)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        assert master.append("s", 1).sequence == 1
        for number in range(3):
            with rheo.open(f"journal:{sys.argv[1]}/{number}") as db:
                assert [event.payload for event in db.read("s")] == [number]
                assert db.lag("s", "g").lag == 0
    """),
        tmp_path,
    )


def test_children_of_a_busy_parent_do_not_hang(run_script: RunScript, tmp_path: Path) -> None:
    run_script(
        with_preparation("""
        dbs = [opened(), opened("journal:" + sys.argv[1], sync="always")]
        stop = threading.Event()
        def work(db):
            while not stop.is_set():
                db.append("s", {"n": 1})
                db.fetch("s", "g", limit=10).ack()
                with rheo.open(name=f"of {threading.get_ident()}") as other:
                    other.ping()
        threads = [threading.Thread(target=work, args=(db,)) for db in dbs * 2]
        for thread in threads:
            thread.start()
        for _ in range(40):
            child = os.fork()
            if child == 0:
                signal.alarm(5)
                for db in dbs:
                    try:
                        db.append("s", 1)
                    except rheo.Forked:
                        continue
                    os._exit(1)
                own = opened(name="own")
                own.append("s", {"n": 1})
                own.fetch("s", "g", wait_ms=FOREVER).ack()
                own.close()
                os._exit(0)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status:
                stop.set()
                sys.exit(f"the child ended with {status}")
        stop.set()
        for thread in threads:
            thread.join()
    """),
        tmp_path / "journal",
    )


def test_a_child_of_a_parent_that_waits(run_script: RunScript) -> None:
    run_script(
        with_preparation("""
        db = opened()
        threads = [threading.Thread(target=lambda: db.fetch("s", "g", wait_ms=FOREVER)) for _ in range(3)]
        for thread in threads:
            thread.start()
        child = os.fork()
        if child == 0:
            own = opened()
            thread = threading.Thread(target=lambda: own.fetch("s", "g", wait_ms=FOREVER))
            thread.start()
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [thread.is_alive() for thread in threads] == [True] * 3
    """)
    )


def test_an_event_loop_in_a_child(run_script: RunScript) -> None:
    run_script(
        with_preparation("""
        import asyncio
        import rheo.aio
        async def work():
            async with rheo.aio.open("memory:") as db:
                await db.create_stream("s")
                await db.create_group("s", "g")
                waiter = asyncio.create_task(db.fetch("s", "g", wait_ms=FOREVER))
                await asyncio.sleep(0)
                await db.append("s", 1)
                assert (await waiter).payloads() == [1]
        asyncio.run(work())
        child = os.fork()
        if child == 0:
            asyncio.run(work())
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        asyncio.run(work())
    """)
    )


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(run_script: RunScript, method: str) -> None:
    # What the pool's own resource tracker does at the end is its matter; what counts is that it ends.
    run_script(
        with_preparation("""
        import multiprocessing

        def work(job):
            method, token, event = job
            assert event.payload == {"n": 1}
            if method == "fork":
                try:
                    parents.append("s", 1)
                    return None
                except rheo.Forked:
                    pass
            with rheo.open() as db:
                db.create_stream("s")
                return os.getpid(), token, db.append("s", event.payload, id=event.id)

        parents = None
        if __name__ == "__main__":
            method = sys.argv[1]
            parents = opened(name="parent's")
            event = parents.append("s", {"n": 1})
            [lease] = parents.fetch("s", "g")
            with multiprocessing.get_context(method).Pool(2) as pool:
                results = pool.map(work, [(method, lease.token, event)] * 4)
                pool.close()
                pool.join()
            for pid, token, back in results:
                assert pid != os.getpid()
                assert (back.id, back.payload) == (event.id, event.payload)
            parents.ack(results[0][1])
            assert parents.lag("s", "g").lag == 0
    """),
        method,
        timeout=40,
    )


def test_a_journal_stays_where_it_was_opened(run_script: RunScript, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    run_script(
        """
        import os, pathlib, sys
        import rheo
        place = pathlib.Path(sys.argv[1])
        os.chdir(place / "a")
        db = rheo.open("journal:./data", segment_bytes=4096, sync="never")
        os.chdir(place / "b")
        db.create_stream("s")
        for number in range(100):
            db.append("s", "x" * 1000)
        db.close()
        assert not list(place.joinpath("b").iterdir())
        with rheo.open(f"journal:{place}/a/data") as again:
            assert len(again.read("s", limit=1_000)) == 100
    """,
        tmp_path,
    )


def test_forked_children_that_end_as_usual_do_not_hang(run_script: RunScript) -> None:
    # A child has the parent's locks and waits in whatever state they were, and must leave them alone at its end.
    run_script(
        """
        import multiprocessing, sys, threading
        import rheo
        db = rheo.open()
        db.create_stream("s")
        db.create_group("s", "g")
        def wait():
            try:
                while True:
                    db.fetch("s", "g", wait_ms=1)
            except rheo.Closed:
                pass
        for _ in range(4):
            threading.Thread(target=wait, daemon=True).start()
        context = multiprocessing.get_context("fork")
        for _ in range(60):
            child = context.Process(target=int)
            child.start()
            child.join(10)
            assert child.exitcode == 0, child.exitcode
    """,
        timeout=60,
    )


# Consumers

CONSUMERS: dict[str, str] = {
    "idle ones are left": """
        db = opened()
        db.consumer("s", "g", lambda event: None, concurrency=4)
        async def handle(event):
            pass
        db.consumer("s", "g", handle)
    """,
    "busy ones are left": """
        db = opened("journal:" + sys.argv[1], sync="never")
        def handle(event):
            db.append("s", event.payload + 1)
        async def handle_too(event):
            db.append("s", event.payload + 1)
        db.consumer("s", "g", handle, concurrency=4)
        db.consumer("s", "g", handle_too)
        db.append_batch("s", list(range(100)))
    """,
    "handlers finish": """
        db = opened("journal:" + sys.argv[1])
        begun = threading.Barrier(2)
        def handle(event):
            begun.wait()
            time.sleep(0.2)
            print("handled", event.payload, flush=True)
        db.consumer("s", "g", handle)
        db.append("s", 1)
        db.append("s", 2)
        begun.wait()
    """,
    "a handler spins": """
        db = opened()
        begun = threading.Event()
        def handle(event):
            begun.set()
            while True:
                pass
        db.consumer("s", "g", handle)
        db.append("s", 1)
        begun.wait()
    """,
    "a handler sleeps and goes on": """
        db = opened()
        begun = threading.Event()
        def handle(event):
            begun.set()
            while True:
                time.sleep(0.001)
        db.consumer("s", "g", handle)
        async def forever(event):
            while True:
                time.sleep(0.001)
        db.consumer("s", "g", forever)
        db.append("s", 1)
        db.append("s", 1)
        begun.wait()
    """,
    "a thread waits for one": """
        db = opened()
        async def handle(event):
            pass
        for handler in (handle, lambda event: None):
            threading.Thread(target=db.consumer("s", "g", handler).wait).start()
        def work():
            with db.producer("s", "g") as producer:
                for lease in producer:
                    lease.ack()
        threading.Thread(target=work).start()
    """,
    "an event loop leaves one": """
        import asyncio
        import rheo.aio
        async def work():
            db = await rheo.aio.open("memory:")
            await db.create_stream("s")
            await db.create_group("s", "g")
            async def handle(event):
                await asyncio.sleep(3600)
            db.consumer("s", "g", handle)
            await db.append("s", 1)
            await asyncio.sleep(0.01)
        asyncio.run(work())
    """,
}


@pytest.mark.parametrize("name", CONSUMERS)
def test_a_process_ends_with_its_consumers(run_script: RunScript, tmp_path: Path, name: str) -> None:
    for attempt in range(3):
        path = tmp_path / f"journal {attempt}"
        done = run_script(with_preparation(CONSUMERS[name]), path)
        if name == "handlers finish":
            assert done.stdout == "handled 1\n"
            with rheo.open(f"journal:{path}") as db:
                assert db.fetch("s", "g").payloads() == [2]


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_ctrl_c_ends_the_wait_for_a_consumer(script: Callable[[str], Path], is_async: bool) -> None:
    path = script(
        with_preparation(f"""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        db = opened()
        {"async " if is_async else ""}def handle(event):
            print("handled", flush=True)
        with db.consumer("s", "g", handle) as consumer:
            try:
                print("ready", flush=True)
                consumer.wait()
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        print(consumer.is_running, flush=True)
    """)
    )
    assert signalled(path, signal.SIGINT) == (0, "interrupted\nFalse\n", "")


def test_ctrl_c_ends_the_wait_of_a_producer(script: Callable[[str], Path]) -> None:
    path = script(
        with_preparation("""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        db = opened()
        with db.producer("s", "g") as producer:
            try:
                print("ready", flush=True)
                for lease in producer:
                    pass
            except KeyboardInterrupt:
                print("interrupted", flush=True)
    """)
    )
    assert signalled(path, signal.SIGINT) == (0, "interrupted\n", "")


SIGTERM: dict[str, str] = {
    "plain": """
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with opened("journal:" + sys.argv[1]) as db:
            db.append_batch("s", list(range(10)))
            started = threading.Event()
            def handle(event):
                started.wait()
                print("ready", flush=True)
                while consumer.is_running:
                    time.sleep(0.001)
                print("handled", event.payload, flush=True)
            try:
                with db.consumer("s", "g", handle) as consumer:
                    started.set()
                    consumer.wait()
            except KeyboardInterrupt:
                pass
    """,
    "async function": """
        import asyncio
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with opened("journal:" + sys.argv[1]) as db:
            db.append_batch("s", list(range(10)))
            started = threading.Event()
            async def handle(event):
                started.wait()
                print("ready", flush=True)
                while consumer.is_running:
                    await asyncio.sleep(0.001)
                print("handled", event.payload, flush=True)
            try:
                with db.consumer("s", "g", handle) as consumer:
                    started.set()
                    consumer.wait()
            except KeyboardInterrupt:
                pass
    """,
    "asyncio": """
        import asyncio
        import rheo.aio
        async def main():
            stop = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
            async with rheo.aio.open("journal:" + sys.argv[1]) as db:
                await db.create_stream("s")
                await db.create_group("s", "g")
                await db.append_batch("s", list(range(10)))
                async def handle(event):
                    print("ready", flush=True)
                    await stop.wait()
                    print("handled", event.payload, flush=True)
                async with db.consumer("s", "g", handle):
                    await stop.wait()
        asyncio.run(main())
    """,
}


@pytest.mark.parametrize("name", SIGTERM)
def test_sigterm_ends_well(script: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    path = tmp_path / "journal"
    assert signalled(script(with_preparation(SIGTERM[name])), signal.SIGTERM, path) == (0, "handled 0\n", "")
    with rheo.open(f"journal:{path}") as db:
        # The others were given back: they are there at once, and the attempt did not count.
        batch = db.fetch("s", "g")
        assert [(lease.event.payload, lease.attempt) for lease in batch] == [(n, 1) for n in range(1, 10)]
