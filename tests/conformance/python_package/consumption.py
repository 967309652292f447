"""Producers and consumers as the scenarios see them."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import rheo
import rheo.aio
from scenarios.values import Json, Mistake

DEADLINE = 30.0
"""How long a step waits for handlers, in seconds."""


def until(is_so: Callable[[], bool], what: str) -> None:
    """Returns once something is so."""
    end = time.monotonic() + DEADLINE
    while not is_so():
        if time.monotonic() > end:
            raise Mistake(f"after {DEADLINE:.0f} seconds it was not so: {what}")
        time.sleep(0.001)


class Script:
    """What a handler says of the events, one after the other, and what it was given."""

    def __init__(self, outcomes: list[Json]) -> None:
        self._outcomes, self._seen = deque(outcomes), list[Json]()
        self._lock = threading.Lock()

    def next(self, lease: Any) -> Json:
        """Takes note of an event, and gives what is said of it."""
        with self._lock:
            self._seen.append({"event_id": lease.event.id, "attempt": lease.attempt})
            return self._outcomes.popleft() if self._outcomes else "ack"

    def handled(self, count: int) -> list[Json]:
        """What was given, once that is so much."""
        until(lambda: len(self._seen) >= count, f"{count} events were handled")
        return list(self._seen)

    def one(self, _event: rheo.Event, context: "rheo.Context | rheo.aio.Context") -> rheo.Outcome | None:
        """A handler of one event."""
        return said(self.next(context.lease))

    def many(
        self, events: list[rheo.Event], context: "rheo.Context | rheo.aio.Context"
    ) -> list[rheo.Outcome | None] | None:
        """A handler of many."""
        outcomes = [self.next(lease) for lease in context.leases]
        if [event.id for event in events] != [lease.event.id for lease in context.leases]:
            raise Mistake("the leases are not those of the events")
        return [said(outcome) for outcome in outcomes if outcome != "nothing"]

    def handler(self, is_many: bool, is_async: bool) -> Any:
        """The handler of either kind."""
        plain: Any = self.many if is_many else self.one

        async def handle(events: Any, context: rheo.aio.Context) -> Any:
            return plain(events, context)

        return handle if is_async else plain


def said(outcome: Json) -> rheo.Outcome | None:
    """An outcome as Python says it."""
    match outcome:
        case "ack":
            return None
        case {"retry": retry}:
            return rheo.Retry(**retry)
        case {"reject": reject}:
            return rheo.Reject(**reject)
        case {"fail": {"reason": reason}}:
            raise ValueError(reason)
        case _:
            raise Mistake(f"{outcome!r} is no outcome")


class Consuming:
    """A consumer and its script."""

    def __init__(self, consumer: Any, script: Script) -> None:
        self.consumer, self.script = consumer, script
