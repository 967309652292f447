"""Metrics for OpenTelemetry from the telemetry hook: how many, how long, how many failed, how far behind.

Needs `pip install opentelemetry-api`; what exports the metrics (opentelemetry-sdk) is set up by a program, not by a
library. Without it this says so and ends.
"""

# prints: opentelemetry-api is not installed; nothing to feed
# or prints: fed 7 events: append, fetch, lease, ack, group.frontier

import importlib
import sys
from collections.abc import Callable
from typing import Any

import rheo


def feed(metrics: Any) -> Callable[[rheo.TelemetryEvent], None]:
    """Make a hook that feeds `opentelemetry.metrics`. It is called on the thread of the operation, so it does little.

    Operations are told apart by attributes, as OpenTelemetry wants it, so that a few instruments serve them all.
    """
    meter = metrics.get_meter("rheo", rheo.__version__)
    count = meter.create_counter("rheo.count", description="what an event counts: appended, leased, settled, …")
    errors = meter.create_counter("rheo.errors", description="operations, and leases of a settle, that failed")
    duration = meter.create_histogram("rheo.duration", unit="s", description="how long operations take")
    frontier = meter.create_gauge("rheo.frontier", description="the last sequence up to which all is settled")

    def hook(event: rheo.TelemetryEvent) -> None:
        attributes = {"operation": event.name, **event.labels()}
        if event.name == "group.frontier":
            frontier.set(event.count, attributes)
            return
        count.add(event.count, attributes)
        if event.duration is not None:
            duration.record(event.duration, attributes)
        if event.failed or event.error:
            errors.add(event.failed or 1, attributes)

    return hook


def main() -> None:
    """Feed the metrics of a little work."""
    try:
        metrics = importlib.import_module("opentelemetry.metrics")
    except ImportError:
        print("opentelemetry-api is not installed; nothing to feed")
        sys.exit(0)
    told: list[str] = []
    to_metrics = feed(metrics)

    def hook(event: rheo.TelemetryEvent) -> None:
        told.append(event.name)
        to_metrics(event)

    with rheo.open("memory:", telemetry=hook) as db:
        db.create_stream("orders")
        db.create_group("orders", "billing")
        db.append("orders", {"total": 12.5})
        db.fetch("orders", "billing").ack()
        db.lag("orders", "billing")
    work = [name for name in dict.fromkeys(told) if not name.endswith(".create")]
    print(f"fed {len(told)} events: {', '.join(work)}")


if __name__ == "__main__":
    main()
