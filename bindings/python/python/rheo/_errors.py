"""The exceptions: one class for each error of the contract, under one base class."""

from typing import ClassVar

from ._rheo import ERRORS, set_errors


class RheoError(Exception):
    """What every error of Rheo derives from.

    `str(error)` is the library's own text: what failed, with which value, and what to do.
    """

    code: ClassVar[str] = "internal"
    """The contract's name of the error, such as `"stale_lease"`."""
    number: ClassVar[int] = 901
    """The contract's number of the error, the same in every language."""
    retriable: ClassVar[bool] = False
    """Whether the same call may simply be made again."""
    retriable_with_same_id: ClassVar[bool] = False
    """Whether an append may be made again if it names the event's `id`, which makes the repetition harmless."""
    settle_class: ClassVar[str] = "unknown"
    """What a holder of a lease may conclude: `"lost"` (the lease is gone), `"definite"` (nothing was done), `"unknown"`
    (leave the lease to expire), or `"none"`."""

    # There is no `__init__`: an error is raised without running any code of Python's, also when the interpreter ends.

    @property
    def message(self) -> str:
        """What failed, with which value, and what to do."""
        return str(self.args[0]) if self.args else ""

    @property
    def cause(self) -> str | None:
        """What the system or a driver said, if it said something."""
        return self.args[1] if len(self.args) > 1 else None

    def __str__(self) -> str:
        return self.message if self.cause is None else f"{self.message}: {self.cause}"


class StreamNotFound(RheoError):
    """The stream does not exist."""

    settle_class = "lost"


class GroupNotFound(RheoError):
    """The stream has no such group."""

    settle_class = "lost"


class AlreadyExists(RheoError):
    """A stream, a group or an open instance of that name exists."""

    settle_class = "none"


class CursorNotFound(RheoError):
    """The event id to go on after is not among the dead letters."""

    settle_class = "none"


class StaleLease(RheoError):
    """The delivery is not leased under this lease any more: settled, claimed by another, replayed, reset or trimmed."""

    settle_class = "lost"


class ReceiptMismatch(RheoError):
    """The lease carries a receipt that is not the store's."""

    settle_class = "lost"


class InvalidArgument(RheoError, ValueError):
    """A value out of range or malformed. Also a `ValueError`."""

    settle_class = "definite"


class InvalidPartition(RheoError, ValueError):
    """The stream has no such partition. Also a `ValueError`."""

    settle_class = "none"


class InvalidPartitionCount(RheoError, ValueError):
    """A stream takes 1 to 65,536 partitions. Also a `ValueError`."""

    settle_class = "none"


class InvalidReplayOpts(RheoError, ValueError):
    """A replay takes exactly one of its ways to say what. Also a `ValueError`."""

    settle_class = "none"


class ConfirmRequired(RheoError):
    """The call destroys something; it wants `confirm=True`."""

    settle_class = "none"


class PayloadTooLarge(RheoError, ValueError):
    """The payload is larger than `max_payload_bytes`. Also a `ValueError`."""

    settle_class = "none"


class Unsupported(RheoError):
    """Neither this build nor this backend can do that."""

    settle_class = "definite"


class BackendUnavailable(RheoError):
    """The store does not answer."""

    retriable = True
    retriable_with_same_id = True


class Failed(RheoError):
    """It was definitely not done; `cause` says why."""

    retriable = True
    retriable_with_same_id = True
    settle_class = "definite"


class Ambiguous(RheoError):
    """Whether it was done is not known. An append may be repeated with the same `id`."""

    retriable_with_same_id = True


class Timeout(RheoError, TimeoutError):  # The contract's names.
    """The store did not answer in time. Also a `TimeoutError`."""

    retriable = True
    retriable_with_same_id = True


class AlreadyDraining(RheoError):
    """A drain is pending already."""

    settle_class = "none"


class Closed(RheoError):
    """The instance was closed."""


class Forked(RheoError):
    """The instance was opened before this process was forked off; open it in the child."""


class Poisoned(RheoError):
    """An earlier sync failed, so nothing may be promised until the journal is opened again."""


class Locked(RheoError):
    """Another process has the journal open."""

    retriable = True
    retriable_with_same_id = True
    settle_class = "none"


class Corrupt(RheoError):
    """What is stored fails its check."""

    settle_class = "none"


class VersionMismatch(RheoError):
    """The store was written by a newer version of Rheo."""

    settle_class = "none"


class Internal(RheoError):
    """A bug of Rheo's; please report it."""


def _by_number() -> dict[int, type[RheoError]]:
    classes = {cls.__name__: cls for cls in RheoError.__subclasses__()}
    by_number = {}
    for number, code in ERRORS:
        cls = classes["".join(part.capitalize() for part in code.split("_"))]
        cls.number, cls.code = number, code
        by_number[number] = cls
    return by_number


BY_NUMBER = _by_number()
"""Each class by the number of its error."""

set_errors(BY_NUMBER)
