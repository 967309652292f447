"""Options as the C library takes them: a builder, filled by typed setters or by name and text."""

from collections.abc import Iterator
from contextlib import contextmanager

from scenarios.values import Json, Mistake, compact

from .librheo import Handle, Library, OutOfRange

ADDERS = {"event_ids": "add_event_id", "order_by": "add_order_by"}
"""Options that are lists, and what adds an element to them."""

JSON_TEXTS = ("where", "metadata")
"""Options that are JSON, which C takes as text."""


@contextmanager
def built(c: Library, kind: str, given: dict[str, Json], as_text: bool) -> Iterator[Handle]:
    """The builder of this kind with these options set: by name and text, or each by its own function if it can."""
    with c[f"{kind}_new"]() as builder:
        for name, value in given.items():
            if name in JSON_TEXTS:
                value = compact(value)
            setter, adder = f"{kind}_set_{name}", f"{kind}_{ADDERS.get(name)}"
            typed = setter in c or adder in c
            # Whoever opens an instance may name any option; others are arguments of their operations.
            if not typed and kind != "rheo_options":
                raise Mistake(f"{kind} has no {name!r}")
            if not typed or as_text or not set_typed(c, builder, setter, adder, value):
                c[f"{kind}_set"](builder, name, value if isinstance(value, str) else compact(value))
        yield builder


def set_typed(c: Library, builder: Handle, setter: str, adder: str, value: Json) -> bool:
    """Sets an option by its own functions; false where they cannot say the value, which is then text."""
    try:
        if setter.endswith("_retry_delay"):
            return set_retry_delay(c, builder, setter, str(value))
        if isinstance(value, list) and adder in c:
            for element in value:
                c[adder](builder, *(element if isinstance(element, list) else [element]))
            return bool(value)
        if isinstance(value, dict) and f"{setter}_in" in c:
            for partition, sequence in value.items():
                c[f"{setter}_in"](builder, int(partition), sequence)
            return bool(value)
        if isinstance(value, dict):
            with built(c, "rheo_query", value, as_text=False) as query:
                c[setter](builder, query)
        else:
            c[setter](builder, value)
    except OutOfRange:
        return False
    return True


def set_retry_delay(c: Library, builder: Handle, setter: str, text: str) -> bool:
    """Sets a retry delay by the function for its form; false for what has none."""
    match text.split(":"):
        case [delay] if delay.isdecimal():
            c[setter](builder, int(delay))
        case ["exponential", first, most] if first.isdecimal() and most.isdecimal():
            c[f"{setter}_exponential"](builder, int(first), int(most))
        case _:
            return False
    return True
