"""Plain values that operations return: frozen, comparable, picklable."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ._rheo import Event, set_values

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend guarantees and how it does it."""

    guarantees: Mapping[str, bool]
    """By name, such as `guarantees["durable"]`."""
    mechanisms: Mapping[str, bool]
    """By name, such as `mechanisms["notifications"]`."""


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Where a group stands in one partition."""

    frontier: int
    """The last sequence up to which everything is settled."""
    high_watermark: int
    """The last sequence there is; 0 in an empty partition."""
    lag: int
    """High watermark − frontier."""


@dataclass(frozen=True, slots=True)
class Lag:
    """Where a group stands."""

    stream: str
    group: str
    partitions: Mapping[int, PartitionLag]
    """Each partition that was asked for, by its number."""
    lag: int
    """The sum over these partitions."""


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """What there is to know of a group."""

    lag: Lag
    inflight_count: int
    """Leases that have not expired."""
    available_count: int
    """Open deliveries that are claimable now."""
    delayed_count: int
    """Open deliveries whose retry is not due yet."""
    dead_letter_count: int
    oldest_unsettled_at_us: int | None
    """The timestamp of the event after the frontier, in microseconds since 1970."""
    max_attempts: int
    max_deliveries: int
    """0: unlimited."""
    ordering: str
    """`"none"` or `"key"`."""

    @property
    def oldest_unsettled_at(self) -> datetime | None:
        """The timestamp of the event after the frontier."""
        micros = self.oldest_unsettled_at_us
        return None if micros is None else _EPOCH + timedelta(microseconds=micros)


@dataclass(frozen=True, slots=True)
class RetentionHold:
    """What keeps the first event of a partition from being trimmed."""

    sequence: int
    """The first sequence that may not go."""
    group: str
    """Which group has not passed it, or lists it as a dead letter."""
    dead_letter: bool


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """What there is to know of a partition."""

    partition: int
    first_sequence: int
    high_watermark: int
    bytes: int
    """Payloads, metadata, ids, keys and types."""
    held_by: RetentionHold | None


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """What there is to know of a stream."""

    stream: str
    partitions: list[PartitionInfo]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A rejected delivery."""

    group: str
    attempt: int
    reason: str
    dead_lettered_at: datetime
    event: Event

    @property
    def stream(self) -> str:
        """The stream's name."""
        return self.event.stream

    @property
    def event_id(self) -> str:
        """The event's id."""
        return self.event.id

    @property
    def partition(self) -> int:
        """The event's partition."""
        return self.event.partition

    @property
    def sequence(self) -> int:
        """The event's sequence."""
        return self.event.sequence


@dataclass(frozen=True, slots=True)
class Page:
    """One page of what a query finds."""

    events: list[Event]
    next_cursor: str | None
    """Where the next page begins; None when this was the last."""


@dataclass(frozen=True, slots=True)
class TelemetryEvent:
    """One thing that happened; docs/telemetry.md lists them all. Never holds a payload."""

    name: str
    """Such as `"append"` or `"stream.create"`."""
    stream: str
    group: str | None
    partition: int | None
    count: int
    """The measurement that the name says: events appended, leases given, and so on."""
    failed: int
    """How many leases of a settle failed."""
    duration: float | None
    """How long a span took, in seconds; None for counters."""
    error: str | None
    """The code of what failed."""

    def labels(self) -> dict[str, Any]:
        """The labels that are there, for a metrics library."""
        labels = {"stream": self.stream, "group": self.group, "partition": self.partition, "error": self.error}
        return {name: value for name, value in labels.items() if value is not None}


set_values(sys.modules[__name__])
