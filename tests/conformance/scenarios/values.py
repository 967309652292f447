"""References and generated values: what an object with a `$` name stands for in a scenario."""

import base64
import json
import struct
from dataclasses import dataclass, replace
from typing import Any

Json = Any
"""What a JSON text can hold."""

CLOCK_START = 1_700_000_000_000_000
"""Where the clock of every scenario starts, in microseconds since the Unix epoch."""

FORMS: dict[str, set[str]] = {
    "$ref": set(),
    "$time": set(),
    "$integer": set(),
    "$index": set(),
    "$concat": set(),
    "$unique": set(),
    "$repeat": {"count"},
    "$generate": {"count"},
    "$slice": {"from", "to", "step"},
    "$token": {"stream", "group", "partition", "sequence", "lease_id", "receipt", "lease_ms"},
}
"""Each form, and what may stand beside it."""

TOKEN_PREFIX = "rheo1."
TOKEN_HEAD = struct.Struct("<IQQ16s")


class Mistake(Exception):
    """A mistake in the scenario itself."""


class OperationError(Exception):
    """The surface refused a call; `view` is the error as the scenarios see it."""

    def __init__(self, view: dict[str, Any]) -> None:
        super().__init__(view)
        self.view = view


class Broken(Exception):
    """The surface contradicts its description or itself."""


class Lacking(Exception):
    """What the scenario needs and this surface or store lacks."""


@dataclass(frozen=True)
class Values:
    """What values are made from."""

    saved: dict[str, Json]
    unique: str
    """What makes a text unique to this run of the scenario."""
    index: int | None = None
    """The counter of the loop around the value."""

    def resolve(self, value: Json) -> Json:
        """The value with everything put in. Names that stand for nothing here (matchers) stay."""
        if isinstance(value, list):
            return [self.resolve(element) for element in value]
        if not isinstance(value, dict):
            return value
        name = next((name for name in value if name in FORMS), None)
        if name is None:
            return {name: self.resolve(field) for name, field in value.items()}
        beside = {other: field for other, field in value.items() if other != name}
        try:
            if not FORMS[name].issuperset(beside):
                raise Mistake(f"{sorted(beside.keys() - FORMS[name])} does not belong there")
            return self._made(name, value[name], beside)
        except (Mistake, ArithmeticError, LookupError, TypeError, ValueError, struct.error) as error:
            raise Mistake(f"{shown(value)}: {error!r}") from error

    def _made(self, name: str, operand: Json, beside: dict[str, Json]) -> Json:
        match name:
            case "$ref":
                return self._reference(operand)
            case "$time":
                return CLOCK_START + operand * 1000
            case "$integer":
                return int(operand)
            case "$index":
                if self.index is None:
                    raise Mistake("there is no loop around it")
                return self.index + operand
            case "$concat":
                return "".join(map(str, self.resolve(operand)))
            case "$unique":
                return f"{operand}-{self.unique}"
            case "$repeat":
                return operand * beside["count"]
            case "$generate":
                return [replace(self, index=index).resolve(operand) for index in range(beside["count"])]
            case "$slice":
                return self.resolve(operand)[beside.get("from", 0) : beside.get("to") : beside.get("step", 1)]
            case _:
                return token_text({**token_parts(self.resolve(operand)["token"]), **self.resolve(beside)})

    def _reference(self, path: str) -> Json:
        name, *parts = path.split(".")
        value = self.saved[name]
        for part in parts:
            value = value[int(part)] if isinstance(value, list) else value[part]
        return value


def token_parts(token: str) -> dict[str, Json]:
    """What the text of a token says; ../README.md describes the bytes."""
    encoded = token.removeprefix(TOKEN_PREFIX)
    content = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))[:-4]
    partition, sequence, lease_ms, lease_id = TOKEN_HEAD.unpack_from(content)
    parts = {"partition": partition, "sequence": sequence, "lease_ms": lease_ms, "lease_id": lease_id.hex()}
    rest = content[TOKEN_HEAD.size :]
    for name in ("stream", "group"):
        parts[name], rest = rest[1 : 1 + rest[0]].decode(), rest[1 + rest[0] :]
    return {**parts, "receipt": rest.decode()}


def token_text(parts: dict[str, Json]) -> str:
    """The token that says this."""
    numbers = (parts[name] for name in ("partition", "sequence", "lease_ms"))
    content = TOKEN_HEAD.pack(*numbers, bytes.fromhex(parts["lease_id"]))
    for name in (parts["stream"].encode(), parts["group"].encode()):
        content += bytes([len(name)]) + name
    content += parts["receipt"].encode()
    checksum = 0x811C9DC5
    for byte in content:
        checksum = (checksum ^ byte) * 0x01000193 & 0xFFFFFFFF
    return TOKEN_PREFIX + base64.urlsafe_b64encode(content + checksum.to_bytes(4, "little")).decode().rstrip("=")


def compact(value: Json) -> str:
    """A value as JSON, without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shown(value: Json, most: int = 600) -> str:
    """A value as text for people, cut where a reader would stop."""
    text = compact(value)
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"
