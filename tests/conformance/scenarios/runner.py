"""Runs scenarios. ../README.md says what each part of them means."""

import itertools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Protocol

from .matching import difference
from .values import CLOCK_START, Broken, Json, Lacking, Mistake, OperationError, Values, shown

JOIN_DEADLINE = 30.0
"""How long a join waits, in seconds: far more than anything takes, and less than the minute of a missed wake-up."""

UNDER_TEST = ""
"""The name under which a run keeps the instance under test."""

WANTED = {"expect", "expect_error", "save"}
STEPS: dict[str, tuple[set[str], set[str]]] = {
    "op": (set(), {"args", "on", "as", *WANTED}),
    "start": ({"as"}, set()),
    "join": (set(), {"meanwhile", *WANTED}),
    "repeat": ({"steps"}, set()),
}
"""Each kind of step, with what must and what may stand beside it."""

RUNS = itertools.count()

Call = Callable[[], Json]
"""A call that only waits to be made."""


class Target(Protocol):
    """An instance, as far as a run uses one."""

    def call(self, op: str, args: dict[str, Json]) -> Json: ...
    def view(self) -> Json: ...


class Session(Protocol):
    """What a run has of the surface under test."""

    def open(self, url: str | None, options: dict[str, Json]) -> Target: ...
    def find(self, name: str) -> Target | None: ...
    def close(self) -> None: ...
    def free(self) -> None: ...


class Failed(Exception):
    """A step did not do what it should: what was called, what should have come, what came."""

    def __init__(self, call: str, expected: str, got: str) -> None:
        super().__init__(call, expected, got)
        self.step, self.call, self.expected, self.got = "", call, expected, got


class Run:
    """One run of a scenario."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._unique = f"{os.getpid()}-{next(RUNS)}"
        self._targets: dict[str, Target] = {}
        self._saved: dict[str, Json] = {}
        self._background: dict[str, tuple[str, threading.Thread, Future[Json]]] = {}

    def scenario(self, scenario: dict[str, Json]) -> None:
        """Runs it. Raises `Failed`, or `Lacking` where it does not apply."""
        try:
            opening = {"op": "open", "args": scenario.get("options", {}), "as": UNDER_TEST}
            self._at("0", self._step, opening, None)
            self._at("0", self._require, scenario.get("requires", []))
            self._steps(scenario["steps"])
        finally:
            self._at("the end", self._end)

    def _require(self, guarantees: list[str]) -> None:
        declared = self._targets[UNDER_TEST].call("capabilities", {})["guarantees"]
        if unknown := [name for name in guarantees if name not in declared]:
            raise Mistake(f"there are no guarantees {unknown}")
        if missing := [f"the guarantee {name}" for name in guarantees if not declared[name]]:
            raise Lacking(", ".join(missing))

    def _end(self) -> None:
        """Closes every instance, which ends every call that still waits, and frees everything."""
        self._session.close()
        deadline = time.monotonic() + JOIN_DEADLINE
        for call, thread, _ in self._background.values():
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                raise Failed(call, "an end soon after close", "none; handles were not freed")
        self._session.free()

    @staticmethod
    def _at(place: str, action: Callable[..., None], *arguments: Json) -> None:
        """Does something; a failure says where."""
        try:
            action(*arguments)
            return
        except Mistake as error:
            failure = Failed("the scenario", "a well-formed step", str(error))
        except Broken as error:
            failure = Failed("the surface", "answers that agree", str(error))
        except Failed as error:
            failure = error
        except (OperationError, LookupError, TypeError, ValueError, AttributeError) as error:
            failure = Failed("the runner", "no exception", repr(error))
        failure.step = place
        raise failure

    def _steps(self, steps: list[Json], within: str = "", index: int | None = None) -> None:
        for position, step in enumerate(steps, 1):
            place = f"{position}" if index is None else f"{within}.{position} (round {index + 1})"
            self._at(place, check_form, step)
            if "repeat" in step:
                for turn in range(step["repeat"]):
                    self._steps(step["steps"], place, turn)
            else:
                self._at(place, self._step, step, index)

    def _step(self, step: dict[str, Json], index: int | None) -> None:
        if "start" in step:
            self._start(step["start"], step["as"], index)
            return
        text, make = self._joining(step, index) if "join" in step else self._prepared(step, index)
        result = self._compared(text, make, step, index)
        if "save" in step:
            self._saved[step["save"]] = result

    def _resolved(self, value: Json, index: int | None) -> Json:
        return Values(self._saved, self._unique, index).resolve(value)

    def _prepared(self, call: dict[str, Json], index: int | None) -> tuple[str, Call]:
        """A call's text, and the call."""
        op, args = call["op"], self._resolved(call.get("args", {}), index)
        text = f"{op} {shown(args)}"
        if op in ("open", "get_instance"):
            return text, partial(self._open if op == "open" else self._get_instance, args, call.get("as"))
        on = call.get("on", UNDER_TEST)
        if on not in self._targets:
            raise Mistake(f"no instance is called {on!r}")
        if op in ("start_producer", "start_consumer"):
            # The surface keeps what it gives.
            args = {**args, "as": call["as"]}
        return text, partial(self._targets[on].call, op, args)

    def _start(self, call: dict[str, Json], name: str, index: int | None) -> None:
        """Makes a call in a thread of its own."""
        text, make = self._prepared(call, index)
        future: Future[Json] = Future()

        def work() -> None:
            try:
                future.set_result(make())
            except BaseException as error:  # The join raises it.
                future.set_exception(error)

        thread = threading.Thread(target=work, daemon=True)
        self._background[name] = text, thread, future
        thread.start()

    def _joining(self, step: dict[str, Json], index: int | None) -> tuple[str, Call]:
        """What waits for a started call, and its text; `meanwhile` is called until it has ended."""
        if step["join"] not in self._background:
            raise Mistake(f"nothing was started as {step['join']!r}")
        text, _, future = self._background[step["join"]]
        meanwhile = step.get("meanwhile")

        def wait() -> Json:
            deadline = time.monotonic() + JOIN_DEADLINE
            while True:
                try:
                    return future.result(timeout=0.001 if meanwhile else JOIN_DEADLINE)
                except TimeoutError:
                    if time.monotonic() >= deadline:
                        raise Failed(text, "an answer", f"none within {JOIN_DEADLINE:.0f} seconds") from None
                if meanwhile:
                    self._compared(*self._prepared(meanwhile, index), {}, index)

        return text, wait

    def _open(self, args: dict[str, Json], name: str | None) -> None:
        options = {option: value for option, value in args.items() if option != "url"}
        if "clock" not in options:
            options = {"clock": "manual", "clock_start": CLOCK_START, **options}
        target = self._session.open(args.get("url"), options)
        if name is not None:
            self._targets[name] = target

    def _get_instance(self, args: dict[str, Json], name: str | None) -> Json:
        if args.keys() != {"name"}:
            raise Mistake(f"get_instance takes a name, not {shown(args)}")
        target = self._session.find(args["name"])
        if target is not None and name is not None:
            self._targets[name] = target
        return target and target.view()

    def _compared(self, call: str, make: Call, step: dict[str, Json], index: int | None) -> Json:
        """Makes a call, compares what came with what is expected, and gives it back."""
        wants_error = "expect_error" in step
        wanted = self._resolved(step.get("expect_error" if wants_error else "expect"), index)
        expected = f"the error {shown(wanted)}" if wants_error else shown(wanted) if "expect" in step else "success"
        try:
            result = make()
        except OperationError as error:
            if not wants_error:
                raise Failed(call, expected, f"the error {shown(error.view)}") from None
            result, wanted = error.view, {"code": wanted} if isinstance(wanted, str) else wanted
        else:
            if wants_error:
                raise Failed(call, expected, f"success: {shown(result)}")
        if (wants_error or "expect" in step) and (differs := difference(wanted, result)):
            raise Failed(call, expected, f"{shown(result)} ({differs})")
        return result


def check_form(step: dict[str, Json]) -> None:
    """Whether a step is one of the format's."""
    kinds = step.keys() & STEPS.keys()
    required, optional = STEPS[min(kinds)] if len(kinds) == 1 else ({"one of these"}, set())
    if not kinds | required <= step.keys() <= kinds | required | optional or {"expect", "expect_error"} <= step.keys():
        raise Mistake(f"a step is one call, start, join or repeat, with what belongs to it, not {shown(step)}")
