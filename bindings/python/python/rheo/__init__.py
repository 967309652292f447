"""Durable event streams and consumer groups inside your own process.

Events are appended to *streams*, which have partitions; *groups* of consumers take them under leases: fetch, work, ack.
What is not acked in time comes again, what fails too often becomes a dead letter, and nothing is ever lost silently.

>>> import rheo
>>> db = rheo.open("memory:")                 # or "journal:./data": a directory that survives kills and power cuts
>>> db.create_stream("orders", partition_count=4)
>>> db.create_group("orders", "billing", max_attempts=5)
>>> event = db.append("orders", {"total": 12.5}, type="placed", key="customer-7")
>>> for lease in db.fetch("orders", "billing", limit=100):
...     print(lease.event.type, lease.event.payload)
...     lease.ack()                           # or .retry("why", delay_ms=500), .reject("why"), .release(), .renew()
placed {'total': 12.5}
>>> db.lag("orders", "billing").lag
0
>>> db.close()

Everything may be used from any thread. Durations are milliseconds, sizes bytes, times aware `datetime`s; where a time
is taken, an `int` of microseconds since 1970 will do too. Every failure is a `RheoError`, a wrong type a `TypeError`.
`rheo.aio` has the same for asyncio.
"""

from collections.abc import Sequence as _Sequence

from . import _exit as _exit
from ._consumer import ACK, RELEASE, Consumer, Outcome, Reject, Retry
from ._errors import (
    AlreadyDraining,
    AlreadyExists,
    Ambiguous,
    BackendUnavailable,
    Closed,
    ConfirmRequired,
    Corrupt,
    CursorNotFound,
    Failed,
    Forked,
    GroupNotFound,
    Internal,
    InvalidArgument,
    InvalidPartition,
    InvalidPartitionCount,
    InvalidReplayOpts,
    Locked,
    PayloadTooLarge,
    Poisoned,
    ReceiptMismatch,
    RheoError,
    StaleLease,
    StreamNotFound,
    Timeout,
    Unsupported,
    VersionMismatch,
)
from ._rheo import (
    FEATURES,
    Append,
    Batch,
    Cancel,
    Context,
    Event,
    EventIterator,
    Group,
    Instance,
    Lease,
    Producer,
    Stream,
    get,
    open,
)
from ._rheo import VERSION as __version__  # noqa: N811
from ._values import (
    Capabilities,
    DeadLetter,
    GroupInfo,
    Lag,
    Page,
    PartitionInfo,
    PartitionLag,
    RetentionHold,
    StreamInfo,
    TelemetryEvent,
)
from .telemetry import log_to

__all__ = [
    "ACK",
    "FEATURES",
    "RELEASE",
    "AlreadyDraining",
    "AlreadyExists",
    "Ambiguous",
    "Append",
    "BackendUnavailable",
    "Batch",
    "Cancel",
    "Capabilities",
    "Closed",
    "ConfirmRequired",
    "Consumer",
    "Context",
    "Corrupt",
    "CursorNotFound",
    "DeadLetter",
    "Event",
    "EventIterator",
    "Failed",
    "Forked",
    "Group",
    "GroupInfo",
    "GroupNotFound",
    "Instance",
    "Internal",
    "InvalidArgument",
    "InvalidPartition",
    "InvalidPartitionCount",
    "InvalidReplayOpts",
    "Lag",
    "Lease",
    "Locked",
    "Outcome",
    "Page",
    "PartitionInfo",
    "PartitionLag",
    "PayloadTooLarge",
    "Poisoned",
    "Producer",
    "ReceiptMismatch",
    "Reject",
    "RetentionHold",
    "Retry",
    "RheoError",
    "StaleLease",
    "Stream",
    "StreamInfo",
    "StreamNotFound",
    "TelemetryEvent",
    "Timeout",
    "Unsupported",
    "VersionMismatch",
    "__version__",
    "get",
    "log_to",
    "open",
]

_Sequence.register(Batch)  # pyright: ignore[reportAttributeAccessIssue]


def _show_as_ours() -> None:
    """Has what is defined in the package's own modules shown as what it is imported as."""
    for name in __all__:
        value = globals()[name]
        if not isinstance(value, Outcome) and getattr(value, "__module__", "").startswith(f"{__name__}._"):
            value.__module__ = __name__


_show_as_ours()
