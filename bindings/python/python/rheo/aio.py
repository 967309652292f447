"""Rheo for asyncio: the same names as in `rheo`, awaitable.

>>> import asyncio
>>> import rheo.aio
>>> async def main() -> None:
...     async with rheo.aio.open("memory:") as db:
...         await db.create_stream("orders")
...         await db.create_group("orders", "billing")
...         await db.append("orders", {"total": 12.5})
...         for lease in await db.fetch("orders", "billing", wait_ms=1_000):
...             print(lease.event.payload)
...             await lease.ack()
>>> asyncio.run(main())
{'total': 12.5}

What does not wait is done at once, on the loop's thread: on `memory:`, and on a journal that does not sync each append.
What may wait for a disk, and what may walk for long (opening, closing, queries, replay, trim), runs on threads of the
instance's own, never on the loop's default executor. A waiting `fetch` occupies no thread at all.

Cancelling a waiting `fetch` loses nothing and leases nothing. Cancelling another operation stops waiting for it; what
has begun on a thread is done all the same.

An instance may be used from several event loops, also one after the other, and beside the plain API (`Instance.plain`).
"""

import asyncio
import copy
import itertools
import operator
import threading
import weakref
from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Any, Generic, Literal, ParamSpec, Self, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload

from . import _rheo
from ._consumer import CLOSE_MS, F, Outcome, shape
from ._errors import AlreadyDraining, Closed, RheoError
from ._rheo import Event
from ._types import Partitions, Payload, Sequences, Time
from ._values import Capabilities, DeadLetter, GroupInfo, Lag, Page, StreamInfo, TelemetryEvent

__all__ = [
    "Batch",
    "Cancel",
    "Consumer",
    "Context",
    "EventIterator",
    "Group",
    "Instance",
    "Lease",
    "Producer",
    "Stream",
    "get",
    "open",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_POLL = 0.2
"""How often a wait looks again where nothing can notify it, in seconds."""
_THREADS = 32
"""How many operations of an instance may wait for a disk at the same time: they share one sync."""
_WALKERS = 4
"""How many operations of an instance may walk a store at the same time. They have threads of their own, so that nothing
that is quick waits for them."""
_MOST_ITEMS = 10_000
"""What a batch holds at most."""
_CHUNK = 100
"""How many events a query's iterator takes from its thread at a time."""


_TURN = 0.001
"""For how long handlers that never wait keep their event loop from anything else, in seconds."""


class _OpenOptions(TypedDict, total=False):
    name: str | None
    default_max_demand: int | None
    default_lease_ms: int | None
    default_max_attempts: int | None
    max_payload_bytes: int | None
    clock: Literal["system", "manual"] | None
    clock_start: Time | None
    sync: str | None
    sync_settles: bool | None
    segment_bytes: int | None
    dumps: Callable[[Any], bytes | str] | None
    loads: Callable[[bytes], Any] | None
    telemetry: Callable[[TelemetryEvent], object] | None
    telemetry_durations: bool | None


class _AppendOptions(TypedDict, total=False):
    id: str | None
    key: str | None
    type: str | None
    metadata: Mapping[str, Any] | None
    timestamp: Time | None
    partition: int | None
    encoding: Literal["json", "bytes"] | None


class _GroupOptions(TypedDict, total=False):
    max_attempts: int | None
    max_deliveries: int | None
    ordering: Literal["none", "key"] | None
    start_after: Sequences | None
    start_at: Time | None
    partitions: Partitions | None


class _GroupUpdate(TypedDict, total=False):
    max_attempts: int | None
    max_deliveries: int | None


class _ReadOptions(TypedDict, total=False):
    after: int | None
    limit: int | None
    partition: int | None


class _QueryPart(TypedDict, total=False):
    where: Mapping[str, Any] | None
    from_: Time | None
    to: Time | None
    after_sequence: int | None
    until_sequence: int | None
    limit: int | None


class _Query(_QueryPart, total=False):
    order_by: Iterable[tuple[str, str]] | None


class _PageQuery(_QueryPart, total=False):
    cursor: str | None


class _TrimOptions(TypedDict, total=False):
    before_sequence: Sequences | None
    max_len: int | None
    max_age_ms: int | None
    max_bytes: int | None
    force: bool | None


class _FetchOptions(TypedDict, total=False):
    limit: int | None
    lease_ms: int | None
    consumer_id: str | None
    partitions: Partitions | None
    wait_ms: int | None


class _Partitions(TypedDict, total=False):
    partitions: Partitions | None


class _DeadLetterOptions(TypedDict, total=False):
    limit: int | None
    after: str | None
    partitions: Partitions | None


class _ReplayOptions(TypedDict, total=False):
    from_sequence: Sequences | None
    from_: Time | None
    event_ids: Iterable[str] | None
    query: Mapping[str, Any] | None
    partitions: Partitions | None


class _ResetOptions(TypedDict, total=False):
    confirm: bool | None
    start_after: Sequences | None
    start_at: Time | None
    partitions: Partitions | None


class _ProducerOptions(TypedDict, total=False):
    max_demand: int | None
    lease_ms: int | None
    poll_ms: int | None
    consumer_id: str | None
    partitions: Partitions | None
    on_failure: Literal["retry", "reject"] | None
    retry_delay: int | str | None


class _ConsumerOptions(_ProducerOptions, total=False):
    concurrency: int | None
    batch_timeout_ms: int | None
    max_lease_ms: int | None


class _Opening:
    """An instance that is about to be opened: to be awaited, or entered."""

    def __init__(self, url: str | None, options: _OpenOptions) -> None:
        self._url, self._options = url, options
        self._opened: Instance | None = None

    def __await__(self) -> "Generator[Any, None, Instance]":
        return self._open().__await__()

    async def _open(self) -> "Instance":
        threads = _Threads()

        def give_back(opened: _rheo.Instance) -> None:
            opened.close()

        def work() -> _rheo.Instance:
            return _rheo.open(self._url, **self._options)

        if self._url in (None, "memory:"):
            return Instance(work(), threads)
        return Instance(await threads.run_or_give_back(give_back, work), threads)

    async def __aenter__(self) -> "Instance":
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *error: object) -> None:
        if self._opened is not None:
            await self._opened.close()


def open(url: str | None = None, **options: Unpack[_OpenOptions]) -> _Opening:
    """Opens an instance, as `rheo.open` does: `db = await open(…)`, or `async with open(…) as db`.

    >>> import asyncio
    >>> import rheo.aio
    >>> async def main() -> None:
    ...     db = await rheo.aio.open("memory:")
    ...     await db.ping()
    ...     await db.close()
    >>> asyncio.run(main())
    """
    return _Opening(url, options)


def get(name: str) -> "Instance | None":
    """The open instance of this name, opened here or by `rheo.open`; None when there is none.

    >>> import rheo.aio
    >>> rheo.aio.get("nobody") is None
    True
    """
    found = _rheo.get(name)
    return None if found is None else Instance(found, _Threads())


class _Threads:
    """The threads of an instance, made when the first operation needs one."""

    def __init__(self) -> None:
        self._executors: dict[int, ThreadPoolExecutor] = {}
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], _T], threads: int = _THREADS) -> "Future[_T]":
        """Has work done on a thread, one of so many."""
        with self._lock:
            if threads not in self._executors:
                self._executors[threads] = ThreadPoolExecutor(threads, thread_name_prefix="rheo-aio")
            return self._executors[threads].submit(work)

    async def run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Does work on a thread."""
        return await asyncio.wrap_future(self.submit(lambda: work(*args, **kwargs)))

    async def walk(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Does work on a thread for what may take long."""
        return await asyncio.wrap_future(self.submit(lambda: work(*args, **kwargs), _WALKERS))

    async def run_or_give_back(self, give_back: Callable[[_T], None], work: Callable[[], _T]) -> _T:
        """Does work on a thread; if nobody waits for the result any more when it is there, it is given back."""
        future = self.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except (asyncio.CancelledError, GeneratorExit):

            def given_back(done: Future[_T]) -> None:
                # What had not begun is cancelled by now.
                if not done.cancelled() and done.exception() is None:
                    give_back(done.result())

            future.add_done_callback(given_back)
            raise

    def end(self) -> None:
        """Lets the threads end."""
        with self._lock:
            executors, self._executors = self._executors, {}
        for executor in executors.values():
            executor.shutdown(wait=False)


class _Base:
    """What every handle of an instance has."""

    __slots__ = ("__weakref__", "_appends_wait", "_deliveries_wait", "_instance", "_reads_wait", "_threads")

    def __init__(self, instance: _rheo.Instance, threads: _Threads) -> None:
        self._instance = instance
        self._threads = threads
        self._appends_wait, self._deliveries_wait, self._reads_wait = instance._blocking

    def _settled(self, payload: Payload, options: "_AppendOptions") -> bytes:
        """A payload as it is now, whatever becomes of it until a thread appends it. Completes the options."""
        data, options["encoding"] = _rheo.encoded(self._instance, payload, options.get("encoding"))  # type: ignore[typeddict-item]
        if (metadata := options.get("metadata")) is not None:
            options["metadata"] = copy.deepcopy(metadata)
        return data

    def _all_settled(
        self, items: "Iterable[Payload | _rheo.Append]", options: "_AppendOptions"
    ) -> "list[_rheo.Append]":
        """The items of a batch as they are now."""
        if isinstance(items, (str, dict, bytes, bytearray, memoryview)) or not isinstance(items, Iterable):
            return items  # type: ignore[return-value]  # Refused by whoever takes it.
        encoding, settled = options.pop("encoding", None), []
        for index, item in enumerate(itertools.islice(items, _MOST_ITEMS + 1)):
            given = item if isinstance(item, _rheo.Append) else _rheo.Append(item)
            try:
                data, tag = _rheo.encoded(self._instance, given.payload, given.encoding or encoding)
            except (TypeError, RheoError) as error:
                error.add_note(f"item {index} of the batch")
                raise
            names = ("id", "key", "type", "timestamp", "partition")
            rest: Any = {name: getattr(given, name) for name in names}
            settled.append(_rheo.Append(data, encoding=tag, metadata=copy.deepcopy(given.metadata), **rest))  # type: ignore[arg-type]
        if (metadata := options.get("metadata")) is not None:
            options["metadata"] = copy.deepcopy(metadata)
        return settled

    async def _walk(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What may take long wherever it is stored."""
        return await self._threads.walk(work, *args, **kwargs)

    async def _change(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What changes streams and groups."""
        if self._appends_wait:
            return await self._threads.run(work, *args, **kwargs)
        return work(*args, **kwargs)

    async def _read(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What reads a little."""
        if self._reads_wait:
            return await self._threads.run(work, *args, **kwargs)
        return work(*args, **kwargs)

    async def _settle(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What settles leases."""
        if self._deliveries_wait:
            return await self._threads.run(work, *args, **kwargs)
        return work(*args, **kwargs)


_Said: TypeAlias = Outcome | None
_AllSaid: TypeAlias = Sequence[Outcome | None] | None
_OneF = TypeVar(
    "_OneF",
    bound="Callable[[Event], Awaitable[_Said]] | Callable[[Event, Context], Awaitable[_Said]]",
)
_ManyF = TypeVar(
    "_ManyF",
    bound="Callable[[list[Event]], Awaitable[_AllSaid]] | Callable[[list[Event], Context], Awaitable[_AllSaid]]",
)


class _Settling(_Base):
    """Settling by lease or token, through an instance or a group."""

    __slots__ = ("_settler",)

    def __init__(
        self,
        instance: _rheo.Instance,
        threads: _Threads,
        settler: "_rheo.Instance | _rheo.Group | _rheo.Producer | None" = None,
    ) -> None:
        super().__init__(instance, threads)
        self._settler = settler or instance

    async def ack(self, lease: "Lease | str") -> None:
        """See `rheo.Instance.ack`."""
        await self._settle(self._settler.ack, _plain(lease))

    async def retry(self, lease: "Lease | str", reason: object = None, *, delay_ms: int | None = None) -> None:
        """See `rheo.Instance.retry`."""
        await self._settle(self._settler.retry, _plain(lease), reason, delay_ms=delay_ms)

    async def reject(self, lease: "Lease | str", reason: object = None) -> None:
        """See `rheo.Instance.reject`."""
        await self._settle(self._settler.reject, _plain(lease), reason)

    async def release(self, lease: "Lease | str") -> None:
        """See `rheo.Instance.release`."""
        await self._settle(self._settler.release, _plain(lease))

    @overload
    async def renew(self, lease: "Lease", lease_ms: int | None = None) -> "Lease": ...
    @overload
    async def renew(self, lease: str, lease_ms: int | None = None) -> datetime: ...
    async def renew(self, lease: "Lease | str", lease_ms: int | None = None) -> "Lease | datetime":
        """See `rheo.Instance.renew`."""
        if isinstance(lease, Lease):
            return Lease(await self._settle(self._settler.renew, lease._lease, lease_ms), self)
        return await self._settle(self._settler.renew, lease, lease_ms)

    async def ack_many(self, leases: "Batch | Iterable[Lease | str]") -> list[RheoError | None]:
        """See `rheo.Instance.ack_many`."""
        return await self._settle(self._settler.ack_many, _plain_many(leases))

    async def retry_many(
        self, leases: "Batch | Iterable[Lease | str]", reason: object = None, *, delay_ms: int | None = None
    ) -> list[RheoError | None]:
        """See `rheo.Instance.retry_many`."""
        return await self._settle(self._settler.retry_many, _plain_many(leases), reason, delay_ms=delay_ms)

    async def reject_many(
        self, leases: "Batch | Iterable[Lease | str]", reason: object = None
    ) -> list[RheoError | None]:
        """See `rheo.Instance.reject_many`."""
        return await self._settle(self._settler.reject_many, _plain_many(leases), reason)

    async def release_many(self, leases: "Batch | Iterable[Lease | str]") -> list[RheoError | None]:
        """See `rheo.Instance.release_many`."""
        return await self._settle(self._settler.release_many, _plain_many(leases))

    async def renew_many(
        self, leases: "Batch | Iterable[Lease | str]", lease_ms: int | None = None
    ) -> "list[Lease | datetime | RheoError]":
        """See `rheo.Instance.renew_many`."""
        results = await self._settle(self._settler.renew_many, _plain_many(leases), lease_ms)
        return [Lease(result, self) if isinstance(result, _rheo.Lease) else result for result in results]


class Instance(_Settling):
    """One opened backend. The operations, arguments and errors are those of `rheo.Instance`."""

    __slots__ = ()

    @property
    def plain(self) -> _rheo.Instance:
        """The same instance without asyncio."""
        return self._instance

    @property
    def name(self) -> str | None:
        """The name that it was opened with."""
        return self._instance.name

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._instance.closed

    def __repr__(self) -> str:
        return repr(self._instance).replace("rheo.Instance", "rheo.aio.Instance")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """See `rheo.Instance.close`. Fetches that wait give `Closed`."""
        if self._appends_wait or self._reads_wait:
            await self._threads.run(self._instance.close)
        else:
            self._instance.close()
        self._threads.end()

    async def ping(self) -> None:
        """See `rheo.Instance.ping`."""
        await self._read(self._instance.ping)

    async def ensure_indexes(self) -> None:
        """See `rheo.Instance.ensure_indexes`."""
        await self._change(self._instance.ensure_indexes)

    def capabilities(self) -> Capabilities:
        """See `rheo.Instance.capabilities`. Static, so there is nothing to await."""
        return self._instance.capabilities()

    async def now(self) -> datetime:
        """See `rheo.Instance.now`."""
        return await self._read(self._instance.now)

    async def advance_clock(self, ms: int) -> datetime:
        """See `rheo.Instance.advance_clock`."""
        return await self._read(self._instance.advance_clock, ms)

    def stream(self, stream: str) -> "Stream":
        """The stream's handle, its name resolved once. Nothing to await."""
        return Stream(self._instance.stream(stream), self)

    def group(self, stream: str, group: str) -> "Group":
        """The group's handle, its names resolved once. Nothing to await."""
        return Group(self._instance.group(stream, group), self)

    async def create_stream(self, stream: str, partition_count: int | None = None) -> None:
        """See `rheo.Instance.create_stream`."""
        await self._change(self._instance.create_stream, stream, partition_count)

    async def delete_stream(self, stream: str, *, confirm: bool | None = None) -> None:
        """See `rheo.Instance.delete_stream`."""
        await self._change(self._instance.delete_stream, stream, confirm=confirm)

    async def stream_info(self, stream: str) -> StreamInfo:
        """See `rheo.Instance.stream_info`."""
        return await self._read(self._instance.stream_info, stream)

    async def list_streams(self) -> list[str]:
        """See `rheo.Instance.list_streams`."""
        return await self._read(self._instance.list_streams)

    async def create_group(self, stream: str, group: str, **options: Unpack[_GroupOptions]) -> None:
        """See `rheo.Instance.create_group`."""
        await self._change(self._instance.create_group, stream, group, **options)

    async def update_group(self, stream: str, group: str, **options: Unpack[_GroupUpdate]) -> None:
        """See `rheo.Instance.update_group`."""
        await self._change(self._instance.update_group, stream, group, **options)

    async def delete_group(self, stream: str, group: str) -> None:
        """See `rheo.Instance.delete_group`."""
        await self._change(self._instance.delete_group, stream, group)

    async def list_groups(self, stream: str) -> list[str]:
        """See `rheo.Instance.list_groups`."""
        return await self._read(self._instance.list_groups, stream)

    async def append(self, stream: str, payload: Payload, **options: Unpack[_AppendOptions]) -> Event:
        """See `rheo.Instance.append`."""
        if self._appends_wait:
            payload = self._settled(payload, options)
            return await self._threads.run(self._instance.append, stream, payload, **options)
        return self._instance.append(stream, payload, **options)

    async def append_batch(
        self, stream: str, items: Iterable[Payload | _rheo.Append], **options: Unpack[_AppendOptions]
    ) -> list[Event]:
        """See `rheo.Instance.append_batch`."""
        if self._appends_wait:
            items = self._all_settled(items, options)
            return await self._threads.run(self._instance.append_batch, stream, items, **options)
        return self._instance.append_batch(stream, items, **options)

    async def read(self, stream: str, **options: Unpack[_ReadOptions]) -> list[Event]:
        """See `rheo.Instance.read`."""
        return await self._read(self._instance.read, stream, **options)

    async def get(self, stream: str, event_id: str) -> Event | None:
        """See `rheo.Instance.get`."""
        return await self._read(self._instance.get, stream, event_id)

    async def query(self, stream: str, **query: Unpack[_Query]) -> list[Event]:
        """See `rheo.Instance.query`."""
        return await self._walk(self._instance.query, stream, **query)

    async def query_page(self, stream: str, **query: Unpack[_PageQuery]) -> Page:
        """See `rheo.Instance.query_page`."""
        return await self._walk(self._instance.query_page, stream, **query)

    def query_stream(self, stream: str, **query: Unpack[_QueryPart]) -> "EventIterator":
        """See `rheo.Instance.query_stream`: to be iterated by `async for`."""
        return EventIterator(lambda: self._instance.query_stream(stream, **query), self)

    async def trim(self, stream: str, **options: Unpack[_TrimOptions]) -> int:
        """See `rheo.Instance.trim`."""
        return await self._walk(self._instance.trim, stream, **options)

    async def fetch(self, stream: str, group: str, **options: Unpack[_FetchOptions]) -> "Batch":
        """See `rheo.Instance.fetch`."""
        return await Group(self._instance.group(stream, group), self).fetch(**options)

    @overload
    def consumer(
        self, stream: str, group: str, handler: _OneF, *, batch_size: None = None, **options: Unpack[_ConsumerOptions]
    ) -> "Consumer[_OneF]": ...
    @overload
    def consumer(
        self, stream: str, group: str, handler: _ManyF, *, batch_size: int, **options: Unpack[_ConsumerOptions]
    ) -> "Consumer[_ManyF]": ...
    @overload
    def consumer(
        self,
        stream: str,
        group: str,
        handler: None = None,
        *,
        batch_size: None = None,
        **options: Unpack[_ConsumerOptions],
    ) -> "Callable[[_OneF], Consumer[_OneF]]": ...
    @overload
    def consumer(
        self, stream: str, group: str, handler: None = None, *, batch_size: int, **options: Unpack[_ConsumerOptions]
    ) -> "Callable[[_ManyF], Consumer[_ManyF]]": ...
    def consumer(
        self,
        stream: str,
        group: str,
        handler: Any = None,
        *,
        batch_size: int | None = None,
        **options: Unpack[_ConsumerOptions],
    ) -> Any:
        """Starts a consumer in the running event loop. See `rheo.Instance.consumer`. Nothing to await.

        The handler is an async function of an event (with `batch_size` of a list of events) and, if it has a second
        parameter, a `rheo.aio.Context`. Up to `concurrency` run at a time, as tasks of the loop. A handler that is to
        stop is told by `context.cancel`; its task is never cancelled by force. Plain functions: `plain.consumer`.
        """
        return Group(self._instance.group(stream, group), self).consumer(handler, batch_size=batch_size, **options)

    def producer(self, stream: str, group: str, **options: Unpack[_ProducerOptions]) -> "Producer":
        """Starts a producer. See `rheo.Instance.producer`. Nothing to await."""
        return Group(self._instance.group(stream, group), self).producer(**options)

    async def lag(self, stream: str, group: str, **options: Unpack[_Partitions]) -> Lag:
        """See `rheo.Instance.lag`."""
        return await self._read(self._instance.lag, stream, group, **options)

    async def group_info(self, stream: str, group: str, **options: Unpack[_Partitions]) -> GroupInfo:
        """See `rheo.Instance.group_info`."""
        return await self._read(self._instance.group_info, stream, group, **options)

    async def dead_letters(self, stream: str, group: str, **options: Unpack[_DeadLetterOptions]) -> list[DeadLetter]:
        """See `rheo.Instance.dead_letters`."""
        return await self._read(self._instance.dead_letters, stream, group, **options)

    async def discard_dead_letters(
        self, stream: str, group: str, event_ids: Iterable[str] | None = None, *, all: bool | None = None
    ) -> int:
        """See `rheo.Instance.discard_dead_letters`."""
        return await self._change(self._instance.discard_dead_letters, stream, group, event_ids, all=all)

    async def replay(self, stream: str, group: str, **options: Unpack[_ReplayOptions]) -> int:
        """See `rheo.Instance.replay`."""
        return await self._walk(self._instance.replay, stream, group, **options)

    async def reset_group(self, stream: str, group: str, **options: Unpack[_ResetOptions]) -> None:
        """See `rheo.Instance.reset_group`."""
        await self._walk(self._instance.reset_group, stream, group, **options)


class Stream(_Base):
    """A stream, its name resolved once. The operations are those of `rheo.Stream`."""

    __slots__ = ("_stream",)

    def __init__(self, stream: _rheo.Stream, instance: Instance) -> None:
        super().__init__(instance._instance, instance._threads)
        self._stream = stream

    @property
    def name(self) -> str:
        """The stream's name."""
        return self._stream.name

    def __repr__(self) -> str:
        return repr(self._stream).replace("rheo.Stream", "rheo.aio.Stream")

    async def append(self, payload: Payload, **options: Unpack[_AppendOptions]) -> Event:
        """See `rheo.Stream.append`."""
        if self._appends_wait:
            payload = self._settled(payload, options)
            return await self._threads.run(self._stream.append, payload, **options)
        return self._stream.append(payload, **options)

    async def append_batch(
        self, items: Iterable[Payload | _rheo.Append], **options: Unpack[_AppendOptions]
    ) -> list[Event]:
        """See `rheo.Stream.append_batch`."""
        if self._appends_wait:
            items = self._all_settled(items, options)
            return await self._threads.run(self._stream.append_batch, items, **options)
        return self._stream.append_batch(items, **options)

    async def read(self, **options: Unpack[_ReadOptions]) -> list[Event]:
        """See `rheo.Stream.read`."""
        return await self._read(self._stream.read, **options)

    async def get(self, event_id: str) -> Event | None:
        """See `rheo.Stream.get`."""
        return await self._read(self._stream.get, event_id)

    async def query(self, **query: Unpack[_Query]) -> list[Event]:
        """See `rheo.Stream.query`."""
        return await self._walk(self._stream.query, **query)

    async def query_page(self, **query: Unpack[_PageQuery]) -> Page:
        """See `rheo.Stream.query_page`."""
        return await self._walk(self._stream.query_page, **query)

    def query_stream(self, **query: Unpack[_QueryPart]) -> "EventIterator":
        """See `rheo.Stream.query_stream`: to be iterated by `async for`."""
        return EventIterator(lambda: self._stream.query_stream(**query), self)

    async def trim(self, **options: Unpack[_TrimOptions]) -> int:
        """See `rheo.Stream.trim`."""
        return await self._walk(self._stream.trim, **options)

    async def info(self) -> StreamInfo:
        """See `rheo.Stream.info`."""
        return await self._read(self._stream.info)

    async def list_groups(self) -> list[str]:
        """See `rheo.Stream.list_groups`."""
        return await self._read(self._stream.list_groups)

    async def delete(self, *, confirm: bool | None = None) -> None:
        """See `rheo.Stream.delete`."""
        await self._change(self._stream.delete, confirm=confirm)


class Group(_Settling):
    """A group, its names resolved once. The operations are those of `rheo.Group`."""

    __slots__ = ("_group",)

    def __init__(self, group: _rheo.Group, instance: Instance) -> None:
        super().__init__(instance._instance, instance._threads, group)
        self._group = group

    @property
    def stream(self) -> str:
        """The stream's name."""
        return self._group.stream

    @property
    def name(self) -> str:
        """The group's name."""
        return self._group.name

    def __repr__(self) -> str:
        return repr(self._group).replace("rheo.Group", "rheo.aio.Group")

    async def fetch(self, **options: Unpack[_FetchOptions]) -> "Batch":
        """See `rheo.Group.fetch`. A wait occupies no thread; cancelling it loses and leases nothing."""
        wait_ms = options.get("wait_ms")
        if not wait_ms:
            return Batch((await self._fetch_now(options))[0], self)
        partitions = options.get("partitions")
        if isinstance(partitions, Iterator):
            options["partitions"] = partitions = list(partitions)
        batch, _ = await self._fetch_now(options)
        asks_for_nothing = options.get("limit") == 0 or (partitions is not None and not partitions)
        if not batch and not asks_for_nothing:
            batch = await self._wait_and_fetch(options, operator.index(wait_ms))
        return Batch(batch, self)

    async def _fetch_now(self, options: _FetchOptions) -> tuple[_rheo.Batch, float | None]:
        """What is there, and in how many seconds time alone may bring more."""
        if not self._deliveries_wait:
            return self._group._fetch_now(**options)
        return await self._threads.run_or_give_back(_release, lambda: self._group._fetch_now(**options))

    async def _wait_and_fetch(self, options: _FetchOptions, wait_ms: int) -> _rheo.Batch:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_ms / 1000
        manual_deadline = None
        if self._instance._manual_clock:
            # Then the wait is over as well when that clock has moved so far.
            manual_deadline = self._instance._now_us() + wait_ms * 1000
        partitions = options.get("partitions")
        with _Wait(loop, lambda bridge: (self._group._watch(bridge, partitions), None)) as wait:
            while True:
                wait.is_woken = False
                batch, due = await self._fetch_now(options)
                left = deadline - loop.time()
                over = manual_deadline is not None and self._instance._now_us() >= manual_deadline
                # Between the claim and the return nothing is awaited, so nothing claimed can be lost to a cancellation.
                if batch or left <= 0 or over:
                    return batch
                if due is not None and manual_deadline is None:
                    left = min(left, due)
                await wait.for_at_most(left)

    @overload
    def consumer(
        self, handler: _OneF, *, batch_size: None = None, **options: Unpack[_ConsumerOptions]
    ) -> "Consumer[_OneF]": ...
    @overload
    def consumer(
        self, handler: _ManyF, *, batch_size: int, **options: Unpack[_ConsumerOptions]
    ) -> "Consumer[_ManyF]": ...
    @overload
    def consumer(
        self, handler: None = None, *, batch_size: None = None, **options: Unpack[_ConsumerOptions]
    ) -> "Callable[[_OneF], Consumer[_OneF]]": ...
    @overload
    def consumer(
        self, handler: None = None, *, batch_size: int, **options: Unpack[_ConsumerOptions]
    ) -> "Callable[[_ManyF], Consumer[_ManyF]]": ...
    def consumer(
        self, handler: Any = None, *, batch_size: int | None = None, **options: Unpack[_ConsumerOptions]
    ) -> Any:
        """See `rheo.aio.Instance.consumer`."""
        plan = self._group._plan(batch_size=batch_size, **options)
        if handler is not None:
            return Consumer(plan, handler, self)
        return lambda handler: Consumer(plan, handler, self)

    def producer(self, **options: Unpack[_ProducerOptions]) -> "Producer":
        """Starts a producer. See `rheo.Group.producer`. Nothing to await."""
        return Producer(self._group.producer(**options), self)

    async def lag(self, **options: Unpack[_Partitions]) -> Lag:
        """See `rheo.Group.lag`."""
        return await self._read(self._group.lag, **options)

    async def info(self, **options: Unpack[_Partitions]) -> GroupInfo:
        """See `rheo.Group.info`."""
        return await self._read(self._group.info, **options)

    async def dead_letters(self, **options: Unpack[_DeadLetterOptions]) -> list[DeadLetter]:
        """See `rheo.Group.dead_letters`."""
        return await self._read(self._group.dead_letters, **options)

    async def discard_dead_letters(self, event_ids: Iterable[str] | None = None, *, all: bool | None = None) -> int:
        """See `rheo.Group.discard_dead_letters`."""
        return await self._change(self._group.discard_dead_letters, event_ids, all=all)

    async def replay(self, **options: Unpack[_ReplayOptions]) -> int:
        """See `rheo.Group.replay`."""
        return await self._walk(self._group.replay, **options)

    async def reset(self, **options: Unpack[_ResetOptions]) -> None:
        """See `rheo.Group.reset`."""
        await self._walk(self._group.reset, **options)

    async def update(self, **options: Unpack[_GroupUpdate]) -> None:
        """See `rheo.Group.update`."""
        await self._change(self._group.update, **options)

    async def delete(self) -> None:
        """See `rheo.Group.delete`."""
        await self._change(self._group.delete)


class Batch(Sequence["Lease"]):
    """What a fetch gave: a sequence of leases."""

    __slots__ = ("_batch", "_handle")

    def __init__(self, batch: _rheo.Batch, handle: _Settling) -> None:
        self._batch, self._handle = batch, handle

    def __len__(self) -> int:
        return len(self._batch)

    @overload
    def __getitem__(self, index: int) -> "Lease": ...
    @overload
    def __getitem__(self, index: slice) -> "list[Lease]": ...
    def __getitem__(self, index: int | slice) -> "Lease | list[Lease]":
        if isinstance(index, slice):
            return [Lease(lease, self._handle) for lease in self._batch[index]]
        return Lease(self._batch[index], self._handle)

    def __iter__(self) -> "Iterator[Lease]":
        return (Lease(lease, self._handle) for lease in self._batch)

    def __repr__(self) -> str:
        return repr(self._batch).replace("rheo.Batch", "rheo.aio.Batch")

    def payloads(self) -> list[Any]:
        """The payloads of all events, decoded."""
        return self._batch.payloads()

    def events(self) -> list[Event]:
        """The events."""
        return self._batch.events()

    def tokens(self) -> list[str]:
        """The tokens of all leases."""
        return self._batch.tokens()

    async def ack(self) -> list[RheoError | None]:
        """Acks all; see `rheo.Batch.ack`."""
        return await self._handle._settle(self._batch.ack)

    async def retry(self, reason: object = None, *, delay_ms: int | None = None) -> list[RheoError | None]:
        """Retries all; see `rheo.Batch.retry`."""
        return await self._handle._settle(self._batch.retry, reason, delay_ms=delay_ms)

    async def reject(self, reason: object = None) -> list[RheoError | None]:
        """Rejects all; see `rheo.Batch.reject`."""
        return await self._handle._settle(self._batch.reject, reason)

    async def release(self) -> list[RheoError | None]:
        """Releases all; see `rheo.Batch.release`."""
        return await self._handle._settle(self._batch.release)

    async def renew(self, lease_ms: int | None = None) -> "list[Lease | RheoError]":
        """Renews all; see `rheo.Batch.renew`."""
        results = await self._handle._settle(self._batch.renew, lease_ms)
        return [Lease(result, self._handle) if isinstance(result, _rheo.Lease) else result for result in results]


class Lease:
    """A claim on one delivery. What it says and does is as in `rheo.Lease`."""

    __slots__ = ("_handle", "_lease")

    def __init__(self, lease: _rheo.Lease, handle: _Settling) -> None:
        self._lease, self._handle = lease, handle

    @property
    def lease_id(self) -> str:
        """The fence: 32 hexadecimal digits, kept by renew."""
        return self._lease.lease_id

    @property
    def receipt(self) -> str:
        """The backend's own identity of the claim."""
        return self._lease.receipt

    @property
    def stream(self) -> str:
        """The stream's name."""
        return self._lease.stream

    @property
    def group(self) -> str:
        """The group's name."""
        return self._lease.group

    @property
    def event(self) -> Event:
        """The event."""
        return self._lease.event

    @property
    def consumer_id(self) -> str:
        """Who holds it."""
        return self._lease.consumer_id

    @property
    def attempt(self) -> int:
        """1 on first delivery."""
        return self._lease.attempt

    @property
    def lease_ms(self) -> int:
        """How long it lasts from the claim or a renewal, in milliseconds."""
        return self._lease.lease_ms

    @property
    def leased_at(self) -> datetime:
        """When it was claimed."""
        return self._lease.leased_at

    @property
    def expires_at(self) -> datetime:
        """When it expires. Informational: the backend's own deadline counts."""
        return self._lease.expires_at

    @property
    def token(self) -> str:
        """A text by which whoever reaches the same store can settle it."""
        return self._lease.token

    def __eq__(self, other: object) -> bool:
        return self._lease == other._lease if isinstance(other, Lease) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._lease)

    def __repr__(self) -> str:
        return repr(self._lease).replace("rheo.Lease", "rheo.aio.Lease")

    def __reduce__(self) -> Any:
        return self._lease.__reduce__()

    async def ack(self) -> None:
        """Done; see `rheo.Lease.ack`."""
        await self._handle._settle(self._lease.ack)

    async def retry(self, reason: object = None, *, delay_ms: int | None = None) -> None:
        """Again, after a delay; see `rheo.Lease.retry`."""
        await self._handle._settle(self._lease.retry, reason, delay_ms=delay_ms)

    async def reject(self, reason: object = None) -> None:
        """Never again: a dead letter; see `rheo.Lease.reject`."""
        await self._handle._settle(self._lease.reject, reason)

    async def release(self) -> None:
        """Given back unworked; see `rheo.Lease.release`."""
        await self._handle._settle(self._lease.release)

    async def renew(self, lease_ms: int | None = None) -> "Lease":
        """The lease with a new deadline; see `rheo.Lease.renew`."""
        return Lease(await self._handle._settle(self._lease.renew, lease_ms), self._handle)


class EventIterator(AsyncIterator[Event]):
    """Pages through what a query finds, as it is asked for."""

    __slots__ = ("_begin", "_coming", "_events", "_handle", "_here", "_turn")

    def __init__(self, begin: Callable[[], _rheo.EventIterator], handle: _Base) -> None:
        self._begin, self._handle = begin, handle
        self._events: _rheo.EventIterator | None = None
        self._here: deque[Event] = deque()
        self._turn = asyncio.Lock()
        self._coming: Future[list[Event]] | None = None

    def __repr__(self) -> str:
        return "<rheo.aio.EventIterator>"

    async def __anext__(self) -> Event:
        async with self._turn:
            if not self._here:
                self._here.extend(await self._next_chunk())
            if not self._here:
                raise StopAsyncIteration
            return self._here.popleft()

    async def _next_chunk(self) -> list[Event]:
        # What a cancelled step had asked for is there for the next one.
        coming = self._coming = self._coming or self._handle._threads.submit(self._more, _WALKERS)
        arrival = asyncio.wrap_future(coming)
        # Its error is looked at below, of the other future.
        arrival.add_done_callback(lambda arrival: arrival.cancelled() or arrival.exception())
        await asyncio.wait([arrival])
        self._coming = None
        return coming.result()

    def _more(self) -> list[Event]:
        if self._events is None:
            self._events = self._begin()
        return list(itertools.islice(self._events, _CHUNK))


def _plain(lease: "Lease | str") -> _rheo.Lease | str:
    """A lease as the native module takes it; what is neither is refused there."""
    return lease._lease if isinstance(lease, Lease) else lease


def _plain_many(leases: "Batch | Iterable[Lease | str]") -> "_rheo.Batch | Iterable[_rheo.Lease | str]":
    if isinstance(leases, Batch):
        return leases._batch
    # A text is no list of leases, and what is not iterable is nothing at all: both are refused there.
    return (
        [_plain(lease) for lease in leases] if isinstance(leases, Iterable) and not isinstance(leases, str) else leases
    )


def _release(fetched: tuple[_rheo.Batch, float | None]) -> None:
    fetched[0].release()


def _release_some(fetched: tuple[_rheo.Batch | None, float | None]) -> None:
    if fetched[0] is not None:
        fetched[0].release()


def _give_back(hand: _rheo.Hand, _argument: object) -> None:
    hand.give_back()


class _Bridge:
    """How wakers, which run on any thread, reach the waits of one event loop: through a socket that the loop reads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # Weak: of a loop that was left with waits in it, nothing stays.
        self.waits: weakref.WeakSet[_Wait | _Handlers] = weakref.WeakSet()
        self.native = _rheo.Bridge()
        loop.add_reader(self.native.fileno(), self._woken)

    def _woken(self) -> None:
        self.native.drain()
        for wait in list(self.waits):
            if wait.watch is not None and wait.watch.take():
                wait.wake()

    @staticmethod
    def of(loop: asyncio.AbstractEventLoop) -> "_Bridge | None":
        """The loop's, while somebody waits there; None where the loop cannot read sockets."""
        bridge = _BRIDGES.get(loop)
        if bridge is None:
            try:
                bridge = _BRIDGES[loop] = _Bridge(loop)
            except (AttributeError, RuntimeError):
                # No sockets in this system, or none that this kind of loop reads.
                return None
        return bridge

    def leave(self, wait: "_Wait | _Handlers", loop: asyncio.AbstractEventLoop) -> None:
        """Takes a wait out. The last one takes the bridge with it, so that no loop keeps anything of ours."""
        self.waits.discard(wait)
        if not self.waits:
            _BRIDGES.pop(loop, None)
            if not loop.is_closed():
                loop.remove_reader(self.native.fileno())


_BRIDGES: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Bridge]" = weakref.WeakKeyDictionary()


class _Wait:
    """One wait in an event loop. `watch` begins to watch, and says how often to look nevertheless."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        watch: "Callable[[_rheo.Bridge], tuple[_rheo.Watch | None, float | None]]",
    ) -> None:
        self.is_woken = False
        self._loop, self._begin = loop, watch
        self._future: asyncio.Future[None] | None = None
        self._bridge: _Bridge | None = None
        self._poll = _POLL
        self.watch: _rheo.Watch | None = None

    def __enter__(self) -> Self:
        self._bridge = _Bridge.of(self._loop)
        if self._bridge is not None:
            self._bridge.waits.add(self)
            try:
                self.watch, poll = self._begin(self._bridge.native)
            except BaseException:
                self._bridge.leave(self, self._loop)
                raise
            if self.watch is not None:
                self._poll = poll or float("inf")
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if self.watch is not None:
                self.watch.close()
        finally:
            if self._bridge is not None:
                self._bridge.leave(self, self._loop)

    def wake(self) -> None:
        """Ends the wait, or the next one."""
        self.is_woken = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def for_at_most(self, seconds: float) -> None:
        """Waits until woken, or so long."""
        if self.is_woken or (self.watch is not None and self.watch.take()):
            return
        seconds = min(seconds, self._poll)
        self._future = self._loop.create_future()
        timer = None if seconds == float("inf") else self._loop.call_later(seconds, self.wake)
        try:
            await self._future
        finally:
            if timer is not None:
                timer.cancel()
            self._future = None


class _Deadline:
    """When a wait is over: after so long, or once a manual clock has moved so far."""

    def __init__(self, instance: _rheo.Instance, timeout_ms: int | None) -> None:
        self._instance, self._end = instance, float("inf")
        self._manual_end: int | None = None
        if timeout_ms is not None:
            self._end = monotonic() + operator.index(timeout_ms) / 1000
            if instance._manual_clock:
                self._manual_end = instance._now_us() + timeout_ms * 1000

    def left(self) -> float:
        """In how many seconds; 0 when it is over."""
        if self._manual_end is not None and self._instance._now_us() >= self._manual_end:
            return 0
        return max(self._end - monotonic(), 0)


async def _until(
    is_so: "Callable[[], bool]",
    watch: "Callable[[_rheo.Bridge], tuple[_rheo.Watch | None, float | None]]",
    deadline: _Deadline,
) -> bool:
    """Waits until something is so; gives whether it is. What is watched says when to look."""
    if is_so():
        return True
    with _Wait(asyncio.get_running_loop(), watch) as wait:
        while True:
            wait.is_woken = False
            if is_so():
                return True
            left = deadline.left()
            if left <= 0:
                return False
            await wait.for_at_most(left)


class Producer(_Settling):
    """Takes leases as they are asked for. What it says and does is as in `rheo.Producer`; `async with` closes it.

    >>> import asyncio
    >>> import rheo.aio
    >>> async def main() -> None:
    ...     async with rheo.aio.open() as db:
    ...         await db.create_stream("orders")
    ...         await db.create_group("orders", "billing")
    ...         await db.append("orders", {"total": 12.5})
    ...         async with db.producer("orders", "billing", max_demand=50) as producer:
    ...             async for lease in producer:
    ...                 print(lease.event.payload)
    ...                 await producer.ack(lease)
    ...                 break
    >>> asyncio.run(main())
    {'total': 12.5}
    """

    __slots__ = ("_producer",)

    def __init__(self, producer: _rheo.Producer, handle: _Settling) -> None:
        super().__init__(handle._instance, handle._threads, producer)
        self._producer = producer

    @property
    def stream(self) -> str:
        """The stream's name."""
        return self._producer.stream

    @property
    def group(self) -> str:
        """The group's name."""
        return self._producer.group

    @property
    def inflight_count(self) -> int:
        """How many leases it holds that are not settled."""
        return self._producer.inflight_count

    @property
    def is_stopped(self) -> bool:
        """Whether it gives no more leases: it was drained or closed, or its group is gone."""
        return self._producer.is_stopped

    def __repr__(self) -> str:
        return repr(self._producer).replace("rheo.Producer", "rheo.aio.Producer")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> "Lease":
        batch = await self._next(1, None)
        if not batch:
            raise StopAsyncIteration
        return Lease(batch[0], self)

    async def next(self, most: int = 1, *, timeout_ms: int = 0) -> "Batch | None":
        """See `rheo.Producer.next`. A wait occupies no thread; cancelling it loses and leases nothing."""
        batch = await self._next(most, timeout_ms)
        return None if batch is None else Batch(batch, self)

    async def _next(self, most: int, timeout_ms: int | None) -> _rheo.Batch | None:
        batch, _ = await self._next_now(most)
        if batch is None or batch or timeout_ms == 0:
            return batch
        deadline = _Deadline(self._instance, timeout_ms)
        with _Wait(asyncio.get_running_loop(), self._producer._watch) as wait:
            while True:
                wait.is_woken = False
                batch, due = await self._next_now(most)
                left = deadline.left()
                # Between the claim and the return nothing is awaited, so nothing claimed can be lost to a cancellation.
                if batch is None or batch or left <= 0:
                    return batch
                await wait.for_at_most(left if due is None else min(left, due))

    async def _next_now(self, most: int) -> tuple[_rheo.Batch | None, float | None]:
        if not self._deliveries_wait:
            return self._producer._next_now(most)
        return await self._threads.run_or_give_back(_release_some, lambda: self._producer._next_now(most))

    async def fail(self, lease: "Lease | str", reason: object = None) -> None:
        """See `rheo.Producer.fail`."""
        await self._settle(self._producer.fail, _plain(lease), reason)

    async def confirm(self, leases: "Batch | Iterable[Lease | str]") -> int:
        """See `rheo.Producer.confirm`."""
        return self._producer.confirm(_plain_many(leases))

    async def drain(self, timeout_ms: int = CLOSE_MS) -> bool:
        """See `rheo.Producer.drain`."""
        drain = await self._settle(self._producer._begin_drain)
        try:
            return await _until(drain.is_done, self._producer._watch, _Deadline(self._instance, timeout_ms))
        finally:
            drain.end()

    async def close(self, timeout_ms: int = 0) -> None:
        """See `rheo.Producer.close`."""
        if timeout_ms:
            deadline = _Deadline(self._instance, timeout_ms)
            with suppress(AlreadyDraining, Closed):
                await self.drain(timeout_ms)
            # Another drain may be pending.
            with suppress(Closed):
                await _until(lambda: not self._producer.inflight_count, self._producer._watch, deadline)
        await self._settle(self._producer.close)


class Cancel:
    """Tells a handler that it is in vain to go on, as `rheo.Cancel` does; to be awaited.

    It is set when the handler's lease is lost, when it has had the event for `max_lease_ms`, and when the consumer is
    closed before it returned. The handler's task is not cancelled: whether to stop is the handler's to decide.
    """

    __slots__ = ("_cancel",)

    def __init__(self, cancel: _rheo.Cancel) -> None:
        self._cancel = cancel

    def is_set(self) -> bool:
        """Whether it is in vain to go on."""
        return self._cancel.is_set()

    async def wait(self, timeout_ms: int | None = None) -> bool:
        """Waits until it is set, or the handler has returned; gives whether it is set.

        Args:
            timeout_ms: How long at most, in milliseconds; by default until then.
        """
        loop = asyncio.get_running_loop()
        end = float("inf") if timeout_ms is None else monotonic() + timeout_ms / 1000
        with _Wait(loop, lambda bridge: (self._cancel._watch(bridge), None)) as wait:
            while not self._cancel._is_over() and (left := end - monotonic()) > 0:
                wait.is_woken = False
                await wait.for_at_most(left)
        return self.is_set()


class Context:
    """What an async handler with a second parameter is given beside the event: the lease, and the signal to stop.

    The consumer settles by what the handler returns; the lease is here to be looked at.
    """

    __slots__ = ("_cancel", "_leases")

    def __init__(self, leases: "Batch", cancel: Cancel) -> None:
        self._leases, self._cancel = leases, cancel

    @property
    def lease(self) -> "Lease":
        """The lease of the event; of a batch, that of the first."""
        return self._leases[0]

    @property
    def leases(self) -> "Batch":
        """The leases of all events."""
        return self._leases

    @property
    def cancel(self) -> Cancel:
        """The signal to stop."""
        return self._cancel


class _Task(asyncio.Task[None]):
    """Tells cancellations by what runs in it, which is a handler, from those of others, which shut it down."""

    def __init__(self, work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> None:
        self.own: list[Any] = []
        """What it said when it cancelled itself."""
        self.is_shut_down = False
        super().__init__(work, loop=loop)

    def cancel(self, msg: Any = None) -> bool:
        # What passes another's cancellation on, as task groups do, cancels as itself.
        if self.is_shut_down or asyncio.current_task(self.get_loop()) is not self:
            self.is_shut_down = True
        else:
            self.own.append(msg)
        return super().cancel(msg)

    async def forget(self) -> None:
        """Takes its own cancellations back. Raises if there is one of others."""
        with suppress(asyncio.CancelledError):
            # One that was not noticed yet comes here.
            await asyncio.sleep(0)
        while self.own:
            self.own.pop()
            self.uncancel()
        if self.cancelling():
            raise asyncio.CancelledError


class _Handlers:
    """Runs an async function for the events of a group, as tasks of the running loop.

    A task for each handler that may run at a time; each takes work by itself. One that finds none waits, and whoever
    finds some wakes the next.
    """

    def __init__(
        self, producer: _rheo.Producer, plan: _rheo.Plan, handler: Any, wants_context: bool, handle: _Settling
    ) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._producer, self._handler, self._handle = producer, handler, handle
        self._wants_context = wants_context
        self._concurrency, self._fill = plan.concurrency, plan.batch_timeout_ms
        self._tasks: set[_Task] = set()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._wakes = 0
        # One task has seen that there will be no more.
        self._is_over = False
        self._timer: asyncio.TimerHandle | None = None
        self._pause_at = monotonic() + _TURN
        self.failure: BaseException | None = None
        self.ended: asyncio.Future[None] = loop.create_future()
        self._bridge = _Bridge.of(loop)
        # What the bridge asks; nothing while all have enough to do.
        self.watch: _rheo.Watch | None = None
        self._watch, poll = producer._watch(None if self._bridge is None else self._bridge.native)
        self._poll = poll if self._bridge is not None else _POLL
        if self._bridge is not None:
            self._bridge.waits.add(self)
        _RUNNING.add(self)
        self._begin()

    def _begin(self) -> None:
        task = _Task(self._work(), self._loop)
        self._tasks.add(task)
        task.add_done_callback(self._ended_one)

    def wake(self) -> None:
        """Has one more look for work."""
        self._wakes += 1
        while self._idle:
            future = self._idle.popleft()
            if not future.done():
                future.set_result(None)
                return
        if len(self._tasks) < self._concurrency and not self._is_over:
            self._begin()

    def _wake_in(self, seconds: float) -> None:
        when = self._loop.time() + seconds
        if self._timer is None or when < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(when, self._timed)

    def _timed(self) -> None:
        self._timer = None
        self.wake()

    async def _work(self) -> None:
        handler, hand = self._handler, self._producer._hand(self._handler)
        task, waits, wants_context = (
            cast("_Task", asyncio.current_task()),
            self._handle._deliveries_wait,
            self._wants_context,
        )
        step, fill, idle = hand.step, self._fill, self._idle
        tasks, concurrency, own = self._tasks, self._concurrency, task.own
        returned = None
        try:
            while True:
                argument = await self._step(hand, returned) if waits else step(returned)
                if argument is None:
                    argument = await self._wait(hand)
                    if argument is None:
                        break
                if idle or len(tasks) < concurrency:
                    self.wake()
                if fill and not hand.is_full:
                    argument = await self._filled(hand)
                    if argument is None:
                        returned = None
                        continue
                try:
                    returned = await (self._in_context(hand, argument) if wants_context else handler(argument))
                except GeneratorExit:
                    raise
                except BaseException as error:
                    if own:
                        await task.forget()
                    if isinstance(error, asyncio.CancelledError) and task.cancelling():
                        raise
                    hand.failed(error)
                    if isinstance(error, (KeyboardInterrupt, SystemExit)):
                        # Settled at the end of this task; they end the loop.
                        raise
                    task.is_shut_down = False
                    returned = None
                if own:
                    await task.forget()
                if monotonic() >= self._pause_at:
                    await asyncio.sleep(0)
                    self._pause_at = monotonic() + _TURN
        except BaseException as error:
            self._fail(error)
            if not isinstance(error, Exception):
                raise
        finally:
            # The others are to see it too.
            self._is_over = True
            self.wake()
            with suppress(RheoError):
                hand.give_back()

    def _fail(self, error: BaseException) -> None:
        """Ends it: with what ends consumers, or since a task cannot go on. The other tasks finish what they have."""
        if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
            if self._producer.is_stopped:
                # It was about to end.
                return
            error = RuntimeError("a task of the consumer was cancelled from outside; start it anew")
        self.failure, self._is_over = self.failure or error, True
        with suppress(RheoError):
            self._producer.drain(0)

    async def _in_context(self, hand: _rheo.Hand, argument: Any) -> Any:
        cancel = hand.cancel()
        try:
            return await self._handler(argument, Context(Batch(hand.leases(), self._handle), Cancel(cancel)))
        finally:
            cancel._end()

    async def _step(self, hand: _rheo.Hand, returned: Any) -> Any:
        """Settles what there was and takes more, where that may wait for a disk."""
        give_back = partial(_give_back, hand)
        return await self._handle._threads.run_or_give_back(give_back, lambda: hand.step(returned))

    async def _wait(self, hand: _rheo.Hand) -> Any:
        """Waits for work; gives what the handler is given, or None when there will never be more."""
        while not hand.is_stopped:
            self.watch = self._watch
            self._watch.take()
            wakes = self._wakes
            argument = await self._step(hand, None) if self._handle._deliveries_wait else hand.step(None)
            if argument is not None:
                return argument
            if hand.is_stopped:
                break
            if wakes != self._wakes:
                continue
            due = hand.look_again
            if self._poll is not None:
                due = self._poll if due is None else min(due, self._poll)
            if due is not None:
                self._wake_in(due)
            future: asyncio.Future[None] = self._loop.create_future()
            self._idle.append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self.wake()
                raise
            finally:
                if not self._idle:
                    self.watch = None
        return None

    async def _filled(self, hand: _rheo.Hand) -> Any:
        """Waits for more events to a batch."""
        deadline = _Deadline(self._handle._instance, self._fill)
        with _Wait(self._loop, self._producer._watch) as wait:
            while not hand.is_full and not hand.is_stopped and (left := deadline.left()) > 0:
                wait.is_woken = False
                if self._handle._deliveries_wait:
                    give_back = partial(_give_back, hand)
                    await self._handle._threads.run_or_give_back(give_back, hand.more)
                else:
                    hand.more()
                if not hand.is_full and not hand.is_stopped:
                    due = hand.look_again
                    await wait.for_at_most(left if due is None else min(left, due))
        if hand.is_stopped:
            # Nothing is begun any more.
            await self._handle._settle(hand.give_back)
            return None
        return hand.begin()

    def _ended_one(self, task: _Task) -> None:
        self._tasks.discard(task)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            # Also of one that was cancelled before it began.
            self._fail(error)
        if self._tasks:
            return
        if self._timer is not None:
            self._timer.cancel()
        _RUNNING.discard(self)
        with suppress(RheoError):
            self._producer.close()
        self._watch.close()
        if self._bridge is not None:
            self._bridge.leave(self, self._loop)
        if not self.ended.done() and not self._loop.is_closed():
            self.ended.set_result(None)

    @property
    def is_here(self) -> bool:
        """Whether it is one of the handlers that asks."""
        return asyncio.current_task() in self._tasks

    async def drain(self, timeout_ms: int) -> bool:
        """See `Consumer.drain`."""
        drain = await self._handle._settle(self._producer._begin_drain)
        try:
            if self.is_here:
                return drain.is_done()
            return await _until(drain.is_done, self._producer._watch, _Deadline(self._handle._instance, timeout_ms))
        finally:
            drain.end()

    async def close(self, timeout_ms: int) -> None:
        """See `Consumer.close`."""
        if self.is_here:
            with suppress(AlreadyDraining):
                await self.drain(0)
            return
        deadline = _Deadline(self._handle._instance, timeout_ms)
        with suppress(AlreadyDraining, Closed):
            await self.drain(timeout_ms)
        with suppress(Closed):
            # Another drain may be pending.
            await _until(lambda: not self._producer.inflight_count, self._producer._watch, deadline)
        await self._handle._settle(self._producer.close)
        if self._tasks:
            # Those that were settled are about to return.
            await asyncio.wait(set(self._tasks), timeout=max(deadline.left(), 0.001))

    async def wait(self, timeout_ms: int | None) -> bool:
        """See `Consumer.wait`."""
        if not self.is_here and not self.ended.done():
            seconds = None if timeout_ms is None else timeout_ms / 1000
            await asyncio.wait([self.ended], timeout=seconds)
        if self.ended.done() and self.failure is not None:
            raise self.failure
        return self.ended.done()


_RUNNING: "set[_Handlers]" = set()
"""Those that run, since a loop refers to its tasks but weakly."""


class Consumer(Generic[F]):
    """Runs an async function for the events of a group, in the event loop where it was started.

    `async with` closes it. It goes on as long as its loop runs, also when nobody refers to it.

    >>> import asyncio
    >>> import rheo.aio
    >>> async def main() -> None:
    ...     async with rheo.aio.open() as db:
    ...         await db.create_stream("orders")
    ...         await db.create_group("orders", "billing")
    ...         await db.append("orders", {"total": 12.5})
    ...         done = asyncio.Event()
    ...         @db.consumer("orders", "billing", concurrency=8)
    ...         async def bill(event: rheo.Event) -> rheo.Outcome | None:
    ...             print(event.payload)
    ...             done.set()
    ...         await done.wait()
    ...         await bill.close()
    >>> asyncio.run(main())
    {'total': 12.5}
    """

    __slots__ = ("__weakref__", "_handlers", "_names", "_producer", "handler")

    handler: F
    """The function, as it was given: call it in tests."""

    def __init__(self, plan: _rheo.Plan, handler: F, handle: _Settling) -> None:
        is_async, wants_context = shape(handler)
        if not is_async:
            name = getattr(handler, "__qualname__", type(handler).__qualname__)
            raise TypeError(f"handler takes an async function, not {name}; a plain one is for plain.consumer")
        self.handler, self._names = handler, (plan.stream, plan.group)
        asyncio.get_running_loop()
        self._producer = plan.producer()
        self._handlers = _Handlers(self._producer, plan, handler, wants_context, handle)

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
        return not self._producer.is_stopped

    @property
    def inflight_count(self) -> int:
        """How many leases it holds that are not settled."""
        return self._producer.inflight_count

    @property
    def failure(self) -> BaseException | None:
        """What ended it by itself; see `rheo.Consumer.failure`."""
        return self._handlers.failure

    def __repr__(self) -> str:
        name = getattr(self.handler, "__qualname__", repr(self.handler))
        return f"<rheo.aio.Consumer {name} of {self.stream!r} for {self.group!r}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def drain(self, timeout_ms: int = CLOSE_MS) -> bool:
        """See `rheo.Consumer.drain`."""
        return await self._handlers.drain(timeout_ms)

    async def close(self, timeout_ms: int = CLOSE_MS) -> None:
        """See `rheo.Consumer.close`. Tasks of handlers that still run are not cancelled."""
        await self._handlers.close(timeout_ms)

    async def wait(self, timeout_ms: int | None = None) -> bool:
        """See `rheo.Consumer.wait`."""
        return await self._handlers.wait(timeout_ms)
