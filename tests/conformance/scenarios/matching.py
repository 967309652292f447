"""Whether what came is what was expected."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from .values import Json, shown

KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    str: "string",
    list: "array",
    dict: "object",
}


def difference(expected: Json, actual: Json, path: str = "it") -> str | None:
    """Where and how `actual` differs from what is expected; None when it matches."""
    return next(differences(expected, actual, path), None)


def differences(expected: Json, actual: Json, path: str) -> Iterator[str]:
    """The differences, first to last. What is not reached is not looked at."""
    match expected, actual:
        case dict(), _ if any(name.startswith("$") for name in expected):
            for name, wanted in expected.items():
                yield from unmatched(name, wanted, actual, path)
        case dict(), dict():
            for name, wanted in expected.items():
                yield from differences(wanted, actual.get(name), f"{path}.{name}")
        case list(), list() if len(expected) == len(actual):
            for index, (wanted, value) in enumerate(zip(expected, actual, strict=True)):
                yield from differences(wanted, value, f"{path}.{index}")
        case list(), list():
            yield f"{path}: {len(actual)} elements instead of {len(expected)}: {shown(actual)}"
        case _ if not equal(expected, actual):
            yield f"{path}: {shown(actual)} instead of {shown(expected)}"


def unmatched(name: str, wanted: Json, actual: Json, path: str) -> Iterator[str]:
    """The differences from what one matcher wants."""
    holds = False
    match name, actual:
        case "$any", _:
            holds = wanted is True and actual is not None
        case "$type", float():
            holds = wanted == "integer" and actual.is_integer()
        case "$type", _:
            holds = KINDS[type(actual)] == wanted
        case "$ge", _:
            holds = is_number(actual) and actual >= wanted
        case "$le", _:
            holds = is_number(actual) and actual <= wanted
        case "$len", list():
            holds = len(actual) == wanted
        case "$each", list():
            yield from differences([wanted] * len(actual), actual, path)
            return
        case "$set", list():
            holds = len(wanted) == len(actual) and assigned(wanted, actual)
        case "$ascending", list():
            fields = [element.get(wanted) if isinstance(element, dict) else None for element in actual]
            holds = all(ascends(*pair) for pair in pairwise(fields))
        case "$exact", dict():
            for other in actual.keys() - wanted.keys():
                yield f"{path}: has a field {other!r} that is not expected"
            yield from differences(wanted, actual, path)
            return
        case "$not", _:
            holds = difference(wanted, actual) is not None
        case "$contains", str():
            holds = wanted in actual
        case "$text_max_bytes", str():
            holds = len(actual.encode()) <= wanted
        case "$mask", str():
            holds = re.fullmatch(re.escape(wanted).replace(re.escape("#"), "[0-9a-f]"), actual) is not None
        case "$json", str():
            try:
                parsed = json.loads(actual)
            except ValueError as error:
                yield f"{path}: {shown(actual)} is not JSON: {error}"
            else:
                yield from differences(wanted, parsed, f"{path}.$json")
            return
    if not holds:
        yield f"{path}: {shown(actual)} instead of {shown({name: wanted})}"


def equal(one: Json, other: Json) -> bool:
    """Equal, numbers by value; true and false are no numbers."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def is_number(value: Json) -> bool:
    """Whether it is a number; true and false are none."""
    return type(value) in (int, float)


def ascends(one: Json, following: Json) -> bool:
    """Whether two texts or two numbers go up."""
    alike = (is_number(one) and is_number(following)) or (isinstance(one, str) and isinstance(following, str))
    return alike and bool(one < following)


def assigned(patterns: list[Json], elements: list[Json]) -> bool:
    """Whether every pattern can have an element of its own: a matching in a bipartite graph."""
    holder: dict[int, int] = {}
    fits = [[at for at, element in enumerate(elements) if difference(pattern, element) is None] for pattern in patterns]

    def place(pattern: int, tried: set[int]) -> bool:
        for at in fits[pattern]:
            if at not in tried:
                tried.add(at)
                if at not in holder or place(holder[at], tried):
                    holder[at] = pattern
                    return True
        return False

    return all(place(pattern, set()) for pattern in range(len(patterns)))
