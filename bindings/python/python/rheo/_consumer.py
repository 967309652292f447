"""Consumers, and what their handlers say."""

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, Self, TypeVar

from ._errors import AlreadyDraining, InvalidArgument, RheoError
from ._rheo import Plan, Producer, set_runtime

if TYPE_CHECKING:
    from . import aio

LOGGER = logging.getLogger("rheo")
CLOSE_MS = 30_000
"""How long a close or a drain waits that is not told, in milliseconds."""
_LOOK = 0.1
"""How often a wait looks whether the main thread has ended, in seconds."""


class Outcome:
    """What a handler says of an event: `rheo.ACK`, `rheo.Retry(…)`, `rheo.Reject(…)` or `rheo.RELEASE`."""

    __slots__ = ()
    _kind = ""


@dataclass(frozen=True, slots=True)
class _Ack(Outcome):
    _kind = "ack"

    def __repr__(self) -> str:
        return "rheo.ACK"


@dataclass(frozen=True, slots=True)
class _Release(Outcome):
    _kind = "release"

    def __repr__(self) -> str:
        return "rheo.RELEASE"


@dataclass(frozen=True, slots=True)
class Retry(Outcome):
    """The event is to be tried again; with the group's last attempt it becomes a dead letter.

    >>> import rheo
    >>> rheo.Retry("the bank is closed", delay_ms=60_000)
    Retry(reason='the bank is closed', delay_ms=60000)
    """

    _kind = "retry"
    reason: object = None
    """Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it."""
    delay_ms: int | None = None
    """How long until then, in milliseconds; the consumer's `retry_delay` when None."""

    def __post_init__(self) -> None:
        delay_ms: object = self.delay_ms
        if delay_ms is None:
            return
        if not isinstance(delay_ms, int) or isinstance(delay_ms, bool):
            raise TypeError(f"delay_ms takes a whole number, not {type(delay_ms).__qualname__}")
        if delay_ms < 0:
            raise InvalidArgument(f"delay_ms is {delay_ms}; it takes 0 or more")


@dataclass(frozen=True, slots=True)
class Reject(Outcome):
    """The event is to become a dead letter.

    >>> import rheo
    >>> rheo.Reject("a negative total")
    Reject(reason='a negative total')
    """

    _kind = "reject"
    reason: object = None
    """Why: text, or anything; what JSON has is kept as JSON, the rest as `str` shows it, 1 KiB of it."""


ACK: Final[Outcome] = _Ack()
"""The work is done."""
RELEASE: Final[Outcome] = _Release()
"""The event is given back unworked: available at once, and the attempt does not count."""

F = TypeVar("F", bound=Callable[..., Any])


class _Engine(Protocol):
    """What runs a handler."""

    def drain(self, timeout_ms: int) -> bool: ...
    def close(self, timeout_ms: int) -> None: ...
    def wait(self, timeout_ms: int | None) -> bool: ...
    @property
    def is_running(self) -> bool: ...
    @property
    def inflight_count(self) -> int: ...
    @property
    def failure(self) -> BaseException | None: ...


class Consumer(Generic[F]):
    """Runs a function for the events of a group. Made by `Instance.consumer`.

    It is a context manager that closes itself. Every thread may use it, a handler of its own too.

    >>> import rheo
    >>> with rheo.open() as db:
    ...     db.create_stream("orders")
    ...     db.create_group("orders", "billing")
    ...     events = db.append_batch("orders", [1, 2, 3])
    ...     total = 0
    ...     def add(event: rheo.Event) -> None:
    ...         global total
    ...         total += event.payload
    ...     with db.consumer("orders", "billing", add):
    ...         while db.lag("orders", "billing").lag:
    ...             pass
    >>> total
    6
    """

    __slots__ = ("__weakref__", "_engine", "_names", "handler")

    handler: F
    """The function, as it was given: call it in tests."""

    def __init__(self, plan: Plan, handler: F) -> None:
        is_async, wants_context = shape(handler)
        self._names = (plan.stream, plan.group)
        self.handler = handler
        self._engine: _Engine = _Loop(plan, handler, wants_context) if is_async else plan.pool(handler, wants_context)

    @property
    def stream(self) -> str:
        """The stream's name."""
        return self._names[0]

    @property
    def group(self) -> str:
        """The group's name."""
        return self._names[1]

    @property
    def is_running(self) -> bool:
        """Whether it takes events: it was neither drained nor closed, and nothing ended it."""
        return self._engine.is_running

    @property
    def inflight_count(self) -> int:
        """How many leases it holds that are not settled."""
        return self._engine.inflight_count

    @property
    def failure(self) -> BaseException | None:
        """What ended it by itself, None when nothing did: that the instance, the stream or the group is gone.

        Of an async function also what ended its event loop: that it could not start, `SystemExit`, a cancelled task.
        """
        return self._engine.failure

    def drain(self, timeout_ms: int = CLOSE_MS) -> bool:
        """Begins with no more events, gives back at once those that no handler has, and waits for those that run.

        A handler of its own does not wait. On the main thread the wait notices Ctrl-C.

        Args:
            timeout_ms: How long at most, in milliseconds; 30,000.

        Returns:
            Whether everything is settled.

        Raises:
            AlreadyDraining: Another drain is pending.
        """
        return self._engine.drain(timeout_ms)

    def close(self, timeout_ms: int = CLOSE_MS) -> None:
        """Drains, then sets the cancel signals of the handlers that still run, and makes their events available.

        What these say later counts for nothing; they go on until they return. A second call does nothing. Called by a
        handler of its own it waits for nobody and takes nothing away. Ctrl-C on the main thread ends the draining.

        Args:
            timeout_ms: How long to drain at most, in milliseconds; 30,000.
        """
        self._engine.close(timeout_ms)

    def wait(self, timeout_ms: int | None = None) -> bool:
        """Waits until it has ended: it was drained or closed, or something ended it. Notices Ctrl-C on the main thread.

        Args:
            timeout_ms: How long at most, in milliseconds; by default for ever.

        Returns:
            Whether it has ended.

        Raises:
            Closed: The instance was closed.
            GroupNotFound: The group was deleted.
            StreamNotFound: The stream was deleted.
            BaseException: What else `failure` is.
        """
        return self._engine.wait(timeout_ms)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = getattr(self.handler, "__qualname__", repr(self.handler))
        return f"<rheo.Consumer {name} of {self.stream!r} for {self.group!r}>"

    def __reduce__(self) -> Any:
        raise TypeError("a consumer does not pickle, since it belongs to this process; start one there")


def consumer(plan: Plan, handler: F | None) -> "Consumer[F] | Callable[[F], Consumer[F]]":
    """Starts a consumer, or gives what starts it once it has its handler."""
    if handler is not None:
        return Consumer(plan, handler)
    return lambda handler: Consumer(plan, handler)


def shape(handler: Any) -> tuple[bool, bool]:
    """Whether a handler is an async function, and whether it wants a context."""
    wanted = "handler takes a function of an event, or of an event and a context"
    if not callable(handler):
        raise TypeError(f"{wanted}, not {type(handler).__qualname__}")
    is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):
        # Some that are written in C do not say.
        return is_async, False
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    required = [each for each in positional if each.default is each.empty]
    takes_any = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    named = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.default is each.empty]
    if named or len(required) > 2 or not (positional or takes_any):
        raise TypeError(f"{wanted}, not {inspect.signature(handler)}")
    return is_async, len(required) == 2


class _Loop:
    """Runs an async function as tasks of an event loop on a thread of its own."""

    def __init__(self, plan: Plan, handler: "Callable[..., Any]", wants_context: bool) -> None:
        self._producer: Producer = plan.producer()
        self._plan, self._handler, self._wants_context = plan, handler, wants_context
        self._failure: BaseException | None = None
        self._handlers: aio._Handlers | None = None
        self._ended = threading.Event()
        # A daemon, so that it does not keep the interpreter; what it does then is drained at the end all the same.
        self._thread = threading.Thread(target=self._run, name="rheo-consumer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.run(self._main())
        except (Exception, asyncio.CancelledError) as error:
            # What it is to watch is gone already, or the system has nothing left for a loop.
            self._failure = error
        finally:
            with suppress(RheoError):
                self._producer.close()
            self._ended.set()

    async def _main(self) -> None:
        from . import aio

        instance = aio.Instance(self._plan.instance, aio._Threads())
        try:
            self._handlers = aio._Handlers(self._producer, self._plan, self._handler, self._wants_context, instance)
            await self._handlers.ended
        finally:
            instance._threads.end()

    @property
    def _is_here(self) -> bool:
        """Whether it is called by a handler."""
        return threading.get_ident() == self._thread.ident

    def drain(self, timeout_ms: int) -> bool:
        return self._producer.drain(0 if self._is_here else timeout_ms)

    def close(self, timeout_ms: int) -> None:
        if self._is_here:
            with suppress(AlreadyDraining):
                self._producer.drain(0)
            return
        end = time.monotonic() + timeout_ms / 1000 if timeout_ms else 0
        self._producer.close(timeout_ms)
        # Handlers that were settled are about to return.
        self._ended.wait(max(end - time.monotonic(), 0.001) if not self._producer.inflight_count else 0)

    def wait(self, timeout_ms: int | None) -> bool:
        end = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        # Also says when this is another process than the one that started it.
        is_over = self._producer.is_stopped and self._ended.is_set()
        while not is_over and not self._is_here and threading.main_thread().is_alive():
            left = _LOOK if end is None else end - time.monotonic()
            if left <= 0:
                break
            is_over = self._ended.wait(min(left, _LOOK))
        if is_over and (failure := self.failure) is not None:
            raise failure
        return is_over

    @property
    def is_running(self) -> bool:
        return not self._producer.is_stopped

    @property
    def inflight_count(self) -> int:
        return self._producer.inflight_count

    @property
    def failure(self) -> BaseException | None:
        return (self._handlers and self._handlers.failure) or self._failure


def log_failure(handler: object, stream: str, group: str, raised: BaseException | None, wrong: str) -> None:
    """Logs that a handler failed."""
    name = getattr(handler, "__qualname__", None) or repr(handler)
    LOGGER.error("handler %s of group %r of stream %r failed: %s", name, group, stream, wrong, exc_info=raised)


set_runtime(Outcome, ACK, log_failure)
