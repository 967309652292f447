"""A consumer as the scenarios see one: what its handler says of the events, one by one, and what it was given."""

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from scenarios.values import Json, Mistake, OperationError

from .librheo import Handle, Lent, Library

DEADLINE = 30.0
"""How long a step waits for handlers, in seconds."""

HANDLER = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
OK, FAILED = 0, 402
"""What a handler returns."""


def until(is_so: Callable[[], bool], what: str) -> None:
    """Returns once something is so."""
    end = time.monotonic() + DEADLINE
    while not is_so():
        if time.monotonic() > end:
            raise Mistake(f"after {DEADLINE:.0f} seconds it was not so: {what}")
        time.sleep(0.001)


class Consuming:
    """A consumer, its handler and what that has seen."""

    def __init__(self, library: Library, outcomes: list[Json]) -> None:
        self._c, self._outcomes = library, deque(outcomes)
        self._seen: list[Json] = []
        self._wrong: list[Exception] = []
        self._lock = threading.Lock()
        self.handler = HANDLER(self._handle)
        """What the library calls. Kept as long as it may."""
        self.consumer: Handle
        """The consumer, once it is started."""

    def handled(self, count: int) -> list[Json]:
        """What the handler was given, once that is so much."""
        until(lambda: len(self._seen) >= count or bool(self._wrong), f"{count} events were handled")
        if self._wrong:
            raise self._wrong[0]
        return list(self._seen)

    def free(self) -> None:
        """Frees the consumer once no handler of it runs any more."""
        with suppress(OperationError):  # One that ended by itself has ended all the same.
            until(lambda: self._c.rheo_consumer_wait(self.consumer, 1000), "the consumer has ended")
        self.consumer.free()

    def _handle(self, pointer: int, _context: Any) -> int:
        try:
            return self._judge(Lent(pointer))
        except Exception as error:  # The next step that asks raises it.
            self._wrong.append(error)
            return FAILED

    def _judge(self, work: Lent) -> int:
        """Says an outcome of each event; returns OK unless it says nothing of one, or fails alone."""
        c, count, status = self._c, self._c.rheo_work_len(work), OK
        for at in range(count):
            lease = c.rheo_work_lease(work, at)
            event_id = c.rheo_event_id(c.rheo_work_event(work, at)).decode()
            with self._lock:
                self._seen.append({"event_id": event_id, "attempt": c.rheo_lease_attempt(lease)})
                outcome = self._outcomes.popleft() if self._outcomes else "ack"
            match outcome:
                case "ack":
                    if count > 1:
                        c.rheo_work_ack(work, at)
                case "nothing":
                    status = FAILED
                case {"retry": {"reason": reason, **delay}}:
                    c.rheo_work_retry(work, at, reason, delay.get("delay_ms"))
                case {"reject": {"reason": reason}}:
                    c.rheo_work_reject(work, at, reason)
                case {"fail": {"reason": reason}} if count == 1:
                    c.rheo_work_set_reason(work, reason)
                    status = FAILED
                case {"fail": {"reason": reason}}:
                    c.rheo_work_fail(work, at, reason)
                case _:
                    raise Mistake(f"{outcome!r} is no outcome")
        return status
