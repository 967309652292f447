"""Telemetry hooks to use as they are: `rheo.open(…, telemetry=rheo.log_to())`."""

import logging
from collections.abc import Callable

from ._values import TelemetryEvent


def log_to(logger: logging.Logger | str = "rheo", level: int = logging.DEBUG) -> Callable[[TelemetryEvent], None]:
    """A telemetry hook that logs every event: failures at `WARNING`, the rest at `level`.

    The event itself is the record's attribute `rheo`, for formatters and filters.

    Args:
        logger: The logger, or its name.
        level: The level of what did not fail.

    The hook is called on the thread of the operation, after it, with no lock of Rheo's held: a handler may log, block
    or call Rheo itself.

    >>> import rheo
    >>> db = rheo.open(telemetry=rheo.log_to("my.events"))
    >>> db.close()
    """
    target = logging.getLogger(logger) if isinstance(logger, str) else logger

    def hook(event: TelemetryEvent) -> None:
        at = level if event.error is None else logging.WARNING
        if target.isEnabledFor(at):
            labels = " ".join(f"{name}={value}" for name, value in event.labels().items())
            took = "" if event.duration is None else f" in {event.duration * 1000:.3f} ms"
            target.log(at, "%s count=%d %s%s", event.name, event.count, labels, took, extra={"rheo": event})

    return hook
