"""What the library gives as JSON, with the contract's field names: what `expect` is matched with."""

import base64
import json
from collections.abc import Callable
from typing import Any

from scenarios.values import Json

from .librheo import Handle, Lent, Library

EVENT = "id stream partition sequence timestamp key type metadata encoding deduplicated"
LEASE = "receipt stream group consumer_id attempt leased_at expires_at token"
COUNTS = "inflight_count available_count delayed_count dead_letter_count"
OPTIONS = "max_attempts max_deliveries ordering"


class Views:
    """Reads handles, and pointers that the library lends."""

    def __init__(self, library: Library) -> None:
        self._c = library

    def of(self, result: Any) -> Json:
        """What a call gave. A handle is freed."""
        if not isinstance(result, Handle):
            return result
        with result:
            view: Callable[[Handle], Json] = getattr(self, result.kind.removeprefix("rheo_"))
            return view(result)

    def event(self, event: Handle | Lent) -> Json:
        view = self._fields("event", event, EVENT)
        payload = self._c.rheo_event_payload(event)
        try:
            view["payload"] = payload.decode() if view["encoding"] == "json" else base64.b64encode(payload).decode()
        except UnicodeDecodeError:
            view["payload"] = base64.b64encode(payload).decode()
        return {**view, "metadata": json.loads(view["metadata"])}

    def event_list(self, events: Handle) -> Json:
        return [self.event(event) for event in self._elements("event_list", events)]

    def event_iterator(self, iterator: Handle) -> Json:
        following = iter(lambda: self._c.rheo_event_iterator_next(iterator), None)
        return [self.event(event) for event in following]

    def lease(self, lease: Handle | Lent) -> Json:
        view = self._fields("lease", lease, LEASE)
        view["lease_id"], view["lease_ms"] = text(self._c.rheo_lease_id(lease)), self._c.rheo_lease_ms(lease)
        return {**view, "event": self.event(self._c.rheo_lease_event(lease))}

    def results(self, results: Handle) -> Json:
        """What became of each lease: nothing, when it expires now, or its error."""
        c = self._c
        errors = list(self._elements("results", results, "error"))
        expiries = list(self._elements("results", results, "expires_at"))
        return [
            c.error(error) if error is not None else {"expires_at": expiry} if expiry else None
            for error, expiry in zip(errors, expiries, strict=True)
        ]

    def name_list(self, names: Handle) -> Json:
        return [text(name) for name in self._elements("name_list", names)]

    def stream_info(self, info: Handle) -> Json:
        view = self._fields("stream_info", info, "stream")
        view["partitions"] = list(self._elements("stream_info", info))
        for partition in view["partitions"]:
            sequence, dead_letter = partition.pop("held_sequence"), partition.pop("held_dead_letter")
            if (group := text(partition["held_by"])) is not None:
                partition["held_by"] = {"sequence": sequence, "group": group, "dead_letter": dead_letter}
        return view

    def lag(self, lag: Handle | Lent) -> Json:
        view = self._fields("lag", lag, "stream group")
        partitions = {str(partition.pop("partition")): partition for partition in self._elements("lag", lag)}
        return {**view, "partitions": partitions, "lag": self._c.rheo_lag_total(lag)}

    def group_info(self, info: Handle) -> Json:
        view = self._fields("group_info", info, COUNTS)
        there, oldest = self._c.rheo_group_info_oldest_unsettled_at(info)
        view["oldest_unsettled_at"] = oldest if there else None
        view["options"] = self._fields("group_info", info, OPTIONS)
        return {**view, "lag": self.lag(self._c.rheo_group_info_lag(info))}

    def dead_letter_list(self, letters: Handle) -> Json:
        return [self.dead_letter(letter) for letter in self._elements("dead_letter_list", letters)]

    def dead_letter(self, letter: Lent) -> Json:
        view = self._fields("dead_letter", letter, "group attempt reason dead_lettered_at")
        view["event"] = event = self.event(self._c.rheo_dead_letter_event(letter))
        return {**view, "event_id": event["id"], **{name: event[name] for name in ("stream", "partition", "sequence")}}

    def capabilities(self, capabilities: Handle) -> Json:
        def declared(noun: str) -> Json:
            of = f"rheo_capabilities_{noun}"
            names = (text(self._c[f"{of}_name"](capabilities, at)) for at in range(self._c[f"{of}s_len"](capabilities)))
            return {name: self._c[of](capabilities, name) for name in names}

        return {f"{noun}s": declared(noun) for noun in ("guarantee", "mechanism")}

    def _fields(self, noun: str, handle: Handle | Lent, names: str) -> dict[str, Json]:
        """Fields that have a function of their own."""
        fields = ((name, self._c[f"rheo_{noun}_{name}"](handle)) for name in names.split())
        return {name: text(field) if isinstance(field, bytes) else field for name, field in fields}

    def _elements(self, noun: str, handle: Handle | Lent, what: str = "get") -> Any:
        """What a list gives for each of its positions."""
        return (self._c[f"rheo_{noun}_{what}"](handle, at) for at in range(self._c[f"rheo_{noun}_len"](handle)))


def text(content: bytes | None) -> str | None:
    """The text of bytes that the library gave; None where it gave nothing."""
    return None if content is None else content.decode()
