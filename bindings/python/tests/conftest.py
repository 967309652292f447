"""Fixtures: instances that need no server, threads that certainly wait, and scripts in processes of their own."""

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import rheo

START = 1_700_000_000_000_000
"""Where the manual clock begins, in microseconds."""


def _with_stream(db: rheo.Instance) -> rheo.Instance:
    db.create_stream("s")
    db.create_group("s", "g")
    return db


@pytest.fixture
def db() -> Iterator[rheo.Instance]:
    """A memory instance with the stream `s` and its group `g`."""
    with rheo.open("memory:") as instance:
        yield _with_stream(instance)


@pytest.fixture
def manual() -> Iterator[rheo.Instance]:
    """The same, on a clock that stands at `START`."""
    with rheo.open("memory:", clock="manual", clock_start=START) as instance:
        yield _with_stream(instance)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[rheo.Instance]:
    """The same, kept in a directory."""
    with rheo.open(f"journal:{tmp_path / 'journal'}") as instance:
        yield _with_stream(instance)


@pytest.fixture
def short_turns() -> Iterator[None]:
    """The interpreter changes between threads all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def long_turns() -> Iterator[None]:
    """The interpreter is not taken from a thread: another one runs only when that one gives it up by itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    yield
    sys.setswitchinterval(before)


def in_thread(work: Callable[[], Any]) -> "Future[Any]":
    """Does work in a thread of its own, which does not keep a failed test run from ending."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def waiting(work: Callable[[], Any]) -> "Future[Any]":
    """Starts work that waits, and returns when it gave up the interpreter. Wants `long_turns`: else it says nothing."""
    assert sys.getswitchinterval() == 60
    started = threading.Event()

    def run() -> Any:
        started.set()
        return work()

    future = in_thread(run)
    assert started.wait(10)
    return future


RunScript = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a script to a file, so that `multiprocessing` can import it."""

    def write(text: str) -> Path:
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


def command(path: Path, *args: object) -> list[str]:
    """Python with all warnings as errors, but for that of 3.12 of a fork beside threads, which is what is tested."""
    flags = ["-X", "faulthandler", "-W", "error", "-W", "ignore:This process:DeprecationWarning"]
    return [sys.executable, *flags, str(path), *map(str, args)]


@pytest.fixture
def run_script(script: Callable[[str], Path]) -> RunScript:
    """Runs a script in a process of its own, within seconds; what it writes to stderr is a failure."""

    def run(
        text: str, *args: object, status: int = 0, stderr: str = "", timeout: float = 20
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            command(script(text), *args), capture_output=True, text=True, timeout=timeout, check=False
        )
        assert (done.returncode, done.stderr) == (status, stderr), done.stdout
        return done

    return run
