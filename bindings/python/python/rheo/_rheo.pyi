"""The native module. What is public is exported from `rheo`; what is private serves the rest of the package."""

from _collections_abc import dict_items
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import ModuleType, TracebackType
from typing import Any, Final, Literal, Protocol, Self, SupportsIndex, TypeAlias, TypeVar, final, overload

from . import aio
from ._consumer import Consumer, Outcome
from ._errors import RheoError
from ._types import Partitions, Payload, Sequences, Time
from ._values import Capabilities, DeadLetter, GroupInfo, Lag, Page, StreamInfo, TelemetryEvent

__all__ = [
    "ERRORS",
    "FEATURES",
    "VERSION",
    "Append",
    "Batch",
    "Bridge",
    "Cancel",
    "Context",
    "Drain",
    "Event",
    "EventIterator",
    "Group",
    "Hand",
    "Instance",
    "Lease",
    "Plan",
    "Pool",
    "Producer",
    "Stream",
    "Watch",
    "close_all",
    "encoded",
    "event_from_parts",
    "forget_parent",
    "get",
    "interrupt_waits",
    "open",
    "set_errors",
    "set_runtime",
    "set_values",
]

ERRORS: Final[list[tuple[int, str]]]
FEATURES: Final[list[str]]
VERSION: Final[str]

# Any dict with keys of text to a type checker, a `TypedDict` too, which `dict[str, Any]` leaves out. Other mappings,
# which the encoder refuses, have other items.
class _Object(Protocol):
    def items(self) -> dict_items[str, object]: ...

_Payload: TypeAlias = Payload | _Object

# `order_by` is a list in all examples; what is taken is any iterable of pairs.
_OrderBy: TypeAlias = Iterable[tuple[str, str]]
# What settles many takes besides a batch.
_Leases: TypeAlias = Batch | Iterable[Lease | str]

# What handles one event at a time, and a list of events at a time.
_Said: TypeAlias = Outcome | None
_AllSaid: TypeAlias = Sequence[Outcome | None] | None
_OneF = TypeVar(
    "_OneF",
    bound=Callable[[Event], _Said]
    | Callable[[Event, Context], _Said]
    | Callable[[Event], Awaitable[_Said]]
    | Callable[[Event, aio.Context], Awaitable[_Said]],
)
_ManyF = TypeVar(
    "_ManyF",
    bound=Callable[[list[Event]], _AllSaid]
    | Callable[[list[Event], Context], _AllSaid]
    | Callable[[list[Event]], Awaitable[_AllSaid]]
    | Callable[[list[Event], aio.Context], Awaitable[_AllSaid]],
)

def open(
    url: str | None = None,
    *,
    name: str | None = None,
    default_max_demand: int | None = None,
    default_lease_ms: int | None = None,
    default_max_attempts: int | None = None,
    max_payload_bytes: int | None = None,
    clock: Literal["system", "manual"] | None = None,
    clock_start: Time | None = None,
    sync: str | None = None,
    sync_settles: bool | None = None,
    segment_bytes: int | None = None,
    dumps: Callable[[Any], bytes | str] | None = None,
    loads: Callable[[bytes], Any] | None = None,
    telemetry: Callable[[TelemetryEvent], object] | None = None,
    telemetry_durations: bool | None = None,
) -> Instance: ...
def get(name: str) -> Instance | None: ...
def event_from_parts(
    place: tuple[str, int, int],
    labels: tuple[str, int, str | None, str | None],
    content: tuple[str, str, bytes, bool],
) -> Event: ...
def encoded(instance: Instance, payload: _Payload, encoding: str | None) -> tuple[bytes, str]: ...
def forget_parent() -> None: ...
def interrupt_waits() -> None: ...
def close_all() -> None: ...
def set_runtime(
    outcome: type[Outcome], ack: Outcome, log_failure: Callable[[object, str, str, BaseException | None, str], None]
) -> None: ...
def set_errors(classes: dict[int, type[RheoError]]) -> None: ...
def set_values(module: ModuleType) -> None: ...

@final
class Append:
    def __new__(
        cls,
        payload: _Payload,
        *,
        id: str | None = None,
        key: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
        encoding: Literal["json", "bytes"] | None = None,
    ) -> Self: ...
    # Any: the same objects that were given.
    @property
    def payload(self) -> Any: ...
    @property
    def id(self) -> str | None: ...
    @property
    def key(self) -> str | None: ...
    @property
    def type(self) -> str | None: ...
    @property
    def metadata(self) -> Mapping[str, Any] | None: ...
    @property
    def timestamp(self) -> Time | None: ...
    @property
    def partition(self) -> int | None: ...
    @property
    def encoding(self) -> Literal["json", "bytes"] | None: ...

@final
class Event:
    @property
    def id(self) -> str: ...
    @property
    def stream(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def timestamp(self) -> datetime: ...
    @property
    def timestamp_us(self) -> int: ...
    @property
    def key(self) -> str | None: ...
    @property
    def type(self) -> str | None: ...
    @property
    def metadata(self) -> dict[str, Any]: ...
    @property
    def encoding(self) -> Literal["json", "bytes"]: ...
    @property
    def deduplicated(self) -> bool: ...
    # Any: whatever JSON holds, or what `loads` made of it.
    @property
    def payload(self) -> Any: ...
    @property
    def data(self) -> memoryview: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(
        self,
    ) -> tuple[
        Callable[..., Event],
        tuple[
            tuple[str, int, int],
            tuple[str, int, str | None, str | None],
            tuple[str, str, bytes, bool],
        ],
    ]: ...

@final
class EventIterator:
    def __iter__(self) -> Self: ...
    def __next__(self) -> Event: ...

@final
class Lease:
    @property
    def lease_id(self) -> str: ...
    @property
    def receipt(self) -> str: ...
    @property
    def stream(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def event(self) -> Event: ...
    @property
    def consumer_id(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def lease_ms(self) -> int: ...
    @property
    def leased_at(self) -> datetime: ...
    @property
    def expires_at(self) -> datetime: ...
    @property
    def token(self) -> str: ...
    def ack(self) -> None: ...
    def retry(self, reason: object = None, *, delay_ms: int | None = None) -> None: ...
    def reject(self, reason: object = None) -> None: ...
    def release(self) -> None: ...
    def renew(self, lease_ms: int | None = None) -> Lease: ...
    # It always raises; `NoReturn` would not be a `__reduce__` to a type checker.
    def __reduce__(self) -> str: ...

@final
class _LeaseIterator:
    def __iter__(self) -> Self: ...
    def __next__(self) -> Lease: ...
    def __length_hint__(self) -> int: ...

@final
class Batch(Sequence[Lease]):
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Lease: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Lease]: ...
    def __iter__(self) -> _LeaseIterator: ...
    def __contains__(self, key: object, /) -> bool: ...
    def index(self, value: Any, start: int = 0, stop: int = ..., /) -> int: ...
    def count(self, value: object) -> int: ...
    def payloads(self) -> list[Any]: ...
    def events(self) -> list[Event]: ...
    def tokens(self) -> list[str]: ...
    def ack(self) -> list[RheoError | None]: ...
    def retry(self, reason: object = None, *, delay_ms: int | None = None) -> list[RheoError | None]: ...
    def reject(self, reason: object = None) -> list[RheoError | None]: ...
    def release(self) -> list[RheoError | None]: ...
    def renew(self, lease_ms: int | None = None) -> list[Lease | RheoError]: ...

@final
class Bridge:
    def __new__(cls) -> Self: ...
    def fileno(self) -> int: ...
    def drain(self) -> None: ...

@final
class Watch:
    def take(self) -> bool: ...
    def close(self) -> None: ...

@final
class Stream:
    @property
    def name(self) -> str: ...
    def append(
        self,
        payload: _Payload,
        *,
        id: str | None = None,
        key: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
        encoding: Literal["json", "bytes"] | None = None,
    ) -> Event: ...
    def append_batch(
        self,
        items: Iterable[_Payload | Append],
        *,
        id: str | None = None,
        key: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
        encoding: Literal["json", "bytes"] | None = None,
    ) -> list[Event]: ...
    def read(
        self, *, after: int | None = None, limit: int | None = None, partition: int | None = None
    ) -> list[Event]: ...
    def get(self, event_id: str) -> Event | None: ...
    def query(
        self,
        *,
        where: Mapping[str, Any] | None = None,
        from_: Time | None = None,
        to: Time | None = None,
        after_sequence: int | None = None,
        until_sequence: int | None = None,
        order_by: _OrderBy | None = None,
        limit: int | None = None,
    ) -> list[Event]: ...
    def query_page(
        self,
        *,
        where: Mapping[str, Any] | None = None,
        from_: Time | None = None,
        to: Time | None = None,
        after_sequence: int | None = None,
        until_sequence: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page: ...
    def query_stream(
        self,
        *,
        where: Mapping[str, Any] | None = None,
        from_: Time | None = None,
        to: Time | None = None,
        after_sequence: int | None = None,
        until_sequence: int | None = None,
        limit: int | None = None,
    ) -> EventIterator: ...
    def trim(
        self,
        *,
        before_sequence: Sequences | None = None,
        max_len: int | None = None,
        max_age_ms: int | None = None,
        max_bytes: int | None = None,
        force: bool | None = None,
    ) -> int: ...
    def info(self) -> StreamInfo: ...
    def list_groups(self) -> list[str]: ...
    def delete(self, *, confirm: bool | None = None) -> None: ...

@final
class Group:
    @property
    def stream(self) -> str: ...
    @property
    def name(self) -> str: ...
    def fetch(
        self,
        *,
        limit: int | None = None,
        lease_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        wait_ms: int | None = None,
    ) -> Batch: ...
    def _fetch_now(
        self,
        *,
        limit: int | None = None,
        lease_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        wait_ms: int | None = None,
    ) -> tuple[Batch, float | None]: ...
    def _watch(self, bridge: Bridge | None = None, partitions: Partitions | None = None) -> Watch | None: ...
    @overload
    def consumer(
        self,
        handler: _OneF,
        *,
        concurrency: int | None = None,
        batch_size: None = None,
        batch_timeout_ms: int | None = None,
        max_lease_ms: int | None = None,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Consumer[_OneF]: ...
    @overload
    def consumer(
        self,
        handler: _ManyF,
        *,
        concurrency: int | None = None,
        batch_size: int,
        batch_timeout_ms: int | None = None,
        max_lease_ms: int | None = None,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Consumer[_ManyF]: ...
    @overload
    def consumer(
        self,
        handler: None = None,
        *,
        concurrency: int | None = None,
        batch_size: None = None,
        batch_timeout_ms: int | None = None,
        max_lease_ms: int | None = None,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Callable[[_OneF], Consumer[_OneF]]: ...
    @overload
    def consumer(
        self,
        handler: None = None,
        *,
        concurrency: int | None = None,
        batch_size: int,
        batch_timeout_ms: int | None = None,
        max_lease_ms: int | None = None,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Callable[[_ManyF], Consumer[_ManyF]]: ...
    def _plan(
        self,
        *,
        concurrency: int | None = None,
        batch_size: int | None = None,
        batch_timeout_ms: int | None = None,
        max_lease_ms: int | None = None,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Plan: ...
    def producer(
        self,
        *,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Producer: ...
    def ack(self, lease: Lease | str) -> None: ...
    def retry(self, lease: Lease | str, reason: object = None, *, delay_ms: int | None = None) -> None: ...
    def reject(self, lease: Lease | str, reason: object = None) -> None: ...
    def release(self, lease: Lease | str) -> None: ...
    @overload
    def renew(self, lease: Lease, lease_ms: int | None = None) -> Lease: ...
    @overload
    def renew(self, lease: str, lease_ms: int | None = None) -> datetime: ...
    def ack_many(self, leases: _Leases) -> list[RheoError | None]: ...
    def retry_many(
        self, leases: _Leases, reason: object = None, *, delay_ms: int | None = None
    ) -> list[RheoError | None]: ...
    def reject_many(self, leases: _Leases, reason: object = None) -> list[RheoError | None]: ...
    def release_many(self, leases: _Leases) -> list[RheoError | None]: ...
    # The overlap is harmless: only a list that is asked for more than it holds differs.
    @overload
    def renew_many(  # pyright: ignore[reportOverlappingOverload]
        self, leases: Batch | Iterable[Lease], lease_ms: int | None = None
    ) -> list[Lease | RheoError]: ...
    @overload
    def renew_many(self, leases: Iterable[str], lease_ms: int | None = None) -> list[datetime | RheoError]: ...
    @overload
    def renew_many(  # pyright: ignore[reportOverlappingOverload]
        self, leases: _Leases, lease_ms: int | None = None
    ) -> list[Lease | datetime | RheoError]: ...
    def lag(self, *, partitions: Partitions | None = None) -> Lag: ...
    def info(self, *, partitions: Partitions | None = None) -> GroupInfo: ...
    def dead_letters(
        self, *, limit: int | None = None, after: str | None = None, partitions: Partitions | None = None
    ) -> list[DeadLetter]: ...
    def discard_dead_letters(self, event_ids: Iterable[str] | None = None, *, all: bool | None = None) -> int: ...
    def replay(
        self,
        *,
        from_sequence: Sequences | None = None,
        from_: Time | None = None,
        event_ids: Iterable[str] | None = None,
        query: Mapping[str, Any] | None = None,
        partitions: Partitions | None = None,
    ) -> int: ...
    def reset(
        self,
        *,
        confirm: bool | None = None,
        start_after: Sequences | None = None,
        start_at: Time | None = None,
        partitions: Partitions | None = None,
    ) -> None: ...
    def update(self, *, max_attempts: int | None = None, max_deliveries: int | None = None) -> None: ...
    def delete(self) -> None: ...

@final
class Instance:
    @property
    def name(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def _blocking(self) -> tuple[bool, bool, bool]: ...
    @property
    def _manual_clock(self) -> bool: ...
    def _now_us(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None: ...
    def close(self) -> None: ...
    def ping(self) -> None: ...
    def ensure_indexes(self) -> None: ...
    def capabilities(self) -> Capabilities: ...
    def now(self) -> datetime: ...
    def advance_clock(self, ms: int) -> datetime: ...
    def stream(self, stream: str) -> Stream: ...
    def group(self, stream: str, group: str) -> Group: ...
    def create_stream(self, stream: str, partition_count: int | None = None) -> None: ...
    def delete_stream(self, stream: str, *, confirm: bool | None = None) -> None: ...
    def stream_info(self, stream: str) -> StreamInfo: ...
    def list_streams(self) -> list[str]: ...
    def create_group(
        self,
        stream: str,
        group: str,
        *,
        max_attempts: int | None = None,
        max_deliveries: int | None = None,
        ordering: Literal["none", "key"] | None = None,
        start_after: Sequences | None = None,
        start_at: Time | None = None,
        partitions: Partitions | None = None,
    ) -> None: ...
    def update_group(
        self, stream: str, group: str, *, max_attempts: int | None = None, max_deliveries: int | None = None
    ) -> None: ...
    def delete_group(self, stream: str, group: str) -> None: ...
    def list_groups(self, stream: str) -> list[str]: ...
    def append(
        self,
        stream: str,
        payload: _Payload,
        *,
        id: str | None = None,
        key: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
        encoding: Literal["json", "bytes"] | None = None,
    ) -> Event: ...
    def append_batch(
        self,
        stream: str,
        items: Iterable[_Payload | Append],
        *,
        id: str | None = None,
        key: str | None = None,
        type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Time | None = None,
        partition: int | None = None,
        encoding: Literal["json", "bytes"] | None = None,
    ) -> list[Event]: ...
    def read(
        self, stream: str, *, after: int | None = None, limit: int | None = None, partition: int | None = None
    ) -> list[Event]: ...
    def get(self, stream: str, event_id: str) -> Event | None: ...
    def query(
        self,
        stream: str,
        *,
        where: Mapping[str, Any] | None = None,
        from_: Time | None = None,
        to: Time | None = None,
        after_sequence: int | None = None,
        until_sequence: int | None = None,
        order_by: _OrderBy | None = None,
        limit: int | None = None,
    ) -> list[Event]: ...
    def query_page(
        self,
        stream: str,
        *,
        where: Mapping[str, Any] | None = None,
        from_: Time | None = None,
        to: Time | None = None,
        after_sequence: int | None = None,
        until_sequence: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page: ...
    def query_stream(
        self,
        stream: str,
        *,
        where: Mapping[str, Any] | None = None,
        from_: Time | None = None,
        to: Time | None = None,
        after_sequence: int | None = None,
        until_sequence: int | None = None,
        limit: int | None = None,
    ) -> EventIterator: ...
    def trim(
        self,
        stream: str,
        *,
        before_sequence: Sequences | None = None,
        max_len: int | None = None,
        max_age_ms: int | None = None,
        max_bytes: int | None = None,
        force: bool | None = None,
    ) -> int: ...
    def fetch(
        self,
        stream: str,
        group: str,
        *,
        limit: int | None = None,
        lease_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        wait_ms: int | None = None,
    ) -> Batch: ...
    @overload
    def consumer(
        self,
        stream: str,
        group: str,
        handler: _OneF,
        *,
        concurrency: int | None = None,
        batch_size: None = None,
        batch_timeout_ms: int | None = None,
        max_lease_ms: int | None = None,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Consumer[_OneF]: ...
    @overload
    def consumer(
        self,
        stream: str,
        group: str,
        handler: _ManyF,
        *,
        concurrency: int | None = None,
        batch_size: int,
        batch_timeout_ms: int | None = None,
        max_lease_ms: int | None = None,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Consumer[_ManyF]: ...
    @overload
    def consumer(
        self,
        stream: str,
        group: str,
        handler: None = None,
        *,
        concurrency: int | None = None,
        batch_size: None = None,
        batch_timeout_ms: int | None = None,
        max_lease_ms: int | None = None,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Callable[[_OneF], Consumer[_OneF]]: ...
    @overload
    def consumer(
        self,
        stream: str,
        group: str,
        handler: None = None,
        *,
        concurrency: int | None = None,
        batch_size: int,
        batch_timeout_ms: int | None = None,
        max_lease_ms: int | None = None,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Callable[[_ManyF], Consumer[_ManyF]]: ...
    def producer(
        self,
        stream: str,
        group: str,
        *,
        max_demand: int | None = None,
        lease_ms: int | None = None,
        poll_ms: int | None = None,
        consumer_id: str | None = None,
        partitions: Partitions | None = None,
        on_failure: Literal["retry", "reject"] | None = None,
        retry_delay: int | str | None = None,
    ) -> Producer: ...
    def ack(self, lease: Lease | str) -> None: ...
    def retry(self, lease: Lease | str, reason: object = None, *, delay_ms: int | None = None) -> None: ...
    def reject(self, lease: Lease | str, reason: object = None) -> None: ...
    def release(self, lease: Lease | str) -> None: ...
    @overload
    def renew(self, lease: Lease, lease_ms: int | None = None) -> Lease: ...
    @overload
    def renew(self, lease: str, lease_ms: int | None = None) -> datetime: ...
    def ack_many(self, leases: _Leases) -> list[RheoError | None]: ...
    def retry_many(
        self, leases: _Leases, reason: object = None, *, delay_ms: int | None = None
    ) -> list[RheoError | None]: ...
    def reject_many(self, leases: _Leases, reason: object = None) -> list[RheoError | None]: ...
    def release_many(self, leases: _Leases) -> list[RheoError | None]: ...
    # The overlap is harmless: only a list that is asked for more than it holds differs.
    @overload
    def renew_many(  # pyright: ignore[reportOverlappingOverload]
        self, leases: Batch | Iterable[Lease], lease_ms: int | None = None
    ) -> list[Lease | RheoError]: ...
    @overload
    def renew_many(self, leases: Iterable[str], lease_ms: int | None = None) -> list[datetime | RheoError]: ...
    @overload
    def renew_many(  # pyright: ignore[reportOverlappingOverload]
        self, leases: _Leases, lease_ms: int | None = None
    ) -> list[Lease | datetime | RheoError]: ...
    def lag(self, stream: str, group: str, *, partitions: Partitions | None = None) -> Lag: ...
    def group_info(self, stream: str, group: str, *, partitions: Partitions | None = None) -> GroupInfo: ...
    def dead_letters(
        self,
        stream: str,
        group: str,
        *,
        limit: int | None = None,
        after: str | None = None,
        partitions: Partitions | None = None,
    ) -> list[DeadLetter]: ...
    def discard_dead_letters(
        self, stream: str, group: str, event_ids: Iterable[str] | None = None, *, all: bool | None = None
    ) -> int: ...
    def replay(
        self,
        stream: str,
        group: str,
        *,
        from_sequence: Sequences | None = None,
        from_: Time | None = None,
        event_ids: Iterable[str] | None = None,
        query: Mapping[str, Any] | None = None,
        partitions: Partitions | None = None,
    ) -> int: ...
    def reset_group(
        self,
        stream: str,
        group: str,
        *,
        confirm: bool | None = None,
        start_after: Sequences | None = None,
        start_at: Time | None = None,
        partitions: Partitions | None = None,
    ) -> None: ...

@final
class Producer:
    @property
    def stream(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def inflight_count(self) -> int: ...
    @property
    def is_stopped(self) -> bool: ...
    def next(self, most: int | None = None, *, timeout_ms: int | None = None) -> Batch | None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Lease: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None: ...
    def ack(self, lease: Lease | str) -> None: ...
    def retry(self, lease: Lease | str, reason: object = None, *, delay_ms: int | None = None) -> None: ...
    def reject(self, lease: Lease | str, reason: object = None) -> None: ...
    def release(self, lease: Lease | str) -> None: ...
    def fail(self, lease: Lease | str, reason: object = None) -> None: ...
    @overload
    def renew(self, lease: Lease, lease_ms: int | None = None) -> Lease: ...
    @overload
    def renew(self, lease: str, lease_ms: int | None = None) -> datetime: ...
    def ack_many(self, leases: _Leases) -> list[RheoError | None]: ...
    def retry_many(
        self, leases: _Leases, reason: object = None, *, delay_ms: int | None = None
    ) -> list[RheoError | None]: ...
    def reject_many(self, leases: _Leases, reason: object = None) -> list[RheoError | None]: ...
    def release_many(self, leases: _Leases) -> list[RheoError | None]: ...
    # The overlap is harmless: only a list that is asked for more than it holds differs.
    @overload
    def renew_many(  # pyright: ignore[reportOverlappingOverload]
        self, leases: Batch | Iterable[Lease], lease_ms: int | None = None
    ) -> list[Lease | RheoError]: ...
    @overload
    def renew_many(self, leases: Iterable[str], lease_ms: int | None = None) -> list[datetime | RheoError]: ...
    @overload
    def renew_many(  # pyright: ignore[reportOverlappingOverload]
        self, leases: _Leases, lease_ms: int | None = None
    ) -> list[Lease | datetime | RheoError]: ...
    def confirm(self, leases: _Leases) -> int: ...
    def drain(self, timeout_ms: int | None = None) -> bool: ...
    def close(self, timeout_ms: int | None = None) -> None: ...
    # It always raises; `NoReturn` would not be a `__reduce__` to a type checker.
    def __reduce__(self) -> str: ...
    def _next_now(self, most: int) -> tuple[Batch | None, float | None]: ...
    def _watch(self, bridge: Bridge | None = None) -> tuple[Watch, float | None]: ...
    def _begin_drain(self) -> Drain: ...
    def _hand(self, handler: object) -> Hand: ...

@final
class Context:
    @property
    def lease(self) -> Lease: ...
    @property
    def leases(self) -> Batch: ...
    @property
    def cancel(self) -> Cancel: ...
    def __reduce__(self) -> str: ...

@final
class Cancel:
    def is_set(self) -> bool: ...
    def wait(self, timeout_ms: int | None = None) -> bool: ...
    def _end(self) -> None: ...
    def _is_over(self) -> bool: ...
    def _watch(self, bridge: Bridge) -> Watch: ...
    def __reduce__(self) -> str: ...

@final
class Plan:
    @property
    def stream(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def instance(self) -> Instance: ...
    @property
    def concurrency(self) -> int: ...
    @property
    def batch_timeout_ms(self) -> int: ...
    def pool(self, handler: Callable[..., Any], wants_context: bool) -> Pool: ...
    def producer(self) -> Producer: ...

@final
class Pool:
    def drain(self, timeout_ms: int | None) -> bool: ...
    def close(self, timeout_ms: int | None) -> None: ...
    def wait(self, timeout_ms: int | None) -> bool: ...
    @property
    def is_running(self) -> bool: ...
    @property
    def inflight_count(self) -> int: ...
    @property
    def failure(self) -> RheoError | None: ...

@final
class Drain:
    def is_done(self) -> bool: ...
    def end(self) -> None: ...

@final
class Hand:
    # Any: an event, or a list of events.
    def step(self, returned: object) -> Any: ...
    def failed(self, error: BaseException) -> None: ...
    @property
    def is_full(self) -> bool: ...
    def more(self) -> Any: ...
    def begin(self) -> Any: ...
    def leases(self) -> Batch: ...
    def cancel(self) -> Cancel: ...
    def give_back(self) -> None: ...
    @property
    def is_stopped(self) -> bool: ...
    @property
    def look_again(self) -> float | None: ...
