"""Types of arguments, for annotations."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

JSON: TypeAlias = str | int | float | bool | dict[str, Any] | list[Any] | tuple[Any, ...] | None
"""What JSON can hold. Inside of dicts and lists it is checked when it is appended."""
Payload: TypeAlias = JSON | bytes | bytearray | memoryview
"""What can be appended. With `dumps=` of one's own it is whatever that takes, and any object with a buffer is bytes."""
Time: TypeAlias = datetime | int
"""A moment: an aware `datetime`, or microseconds since 1970."""
Sequences: TypeAlias = int | Mapping[int, int]
"""One sequence for all partitions, or one for each that is named."""
Partitions: TypeAlias = Iterable[int]
"""A set of partitions."""
