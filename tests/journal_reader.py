#!/usr/bin/env python3
"""Reads a journal by docs/journal-format.md alone, and prints what it holds as JSON.

    tests/journal_reader.py PATH

By stream: each partition's events, and each group's options and, by partition, its cursor, its frontier, its open
deliveries with their attempts and due times, and its dead letters. It changes nothing, and knows nothing of the
library.
"""

import json
import sys
import uuid
from pathlib import Path

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def integer(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


class Body:
    """Reads a body from the front."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            sys.exit("a body ends too soon")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self) -> int:
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def options(self) -> dict:
        return {"max_attempts": self.number(), "max_deliveries": self.number(), "keeps_keys": self.take(1) == b"\1"}

    def text(self) -> str:
        return self.take(self.number()).decode()

    def time(self) -> int:
        return int.from_bytes(self.take(8), "little", signed=True)

    def event(self) -> dict:
        time = self.time()
        head = self.take(12)
        payload, metadata, key = integer(head, 0, 4), integer(head, 4, 4), integer(head, 8, 2)
        generated = head[11] == 0
        identity = str(uuid.UUID(bytes=self.take(16))) if generated else self.take(head[11]).decode()
        event = {"id": identity, "timestamp": time, "key": self.take(key).decode() or None}
        event["type"] = self.take(head[10]).decode() or None
        event["metadata"] = json.loads(self.take(metadata & 0x7FFFFFFF).decode() or "{}")
        return event | {"encoding": "json" if metadata >> 31 else "bytes", "payload": self.take(payload).hex()}


def records(directory: Path):
    """The records of a log: kind and body."""
    position = 0
    segments = sorted(file for file in directory.iterdir() if file.suffix == ".log")
    for number, file in enumerate(segments):
        data = file.read_bytes()
        head = data[:64]
        is_whole = len(head) == 64 and crc32c(head[:12] + bytes(4) + head[16:]) == integer(head, 12, 4)
        if not is_whole or head[:8] != b"RHEOLOG\n":
            if 0 < number == len(segments) - 1 and len(data) <= 64:
                return
            sys.exit(f"{file}: it has no header")
        if integer(head, 8, 4) != 1:
            sys.exit(f"{file}: it is of version {integer(head, 8, 4)}")
        if integer(head, 32, 8) != position:
            sys.exit(f"{file}: it does not begin where the one before ends")
        at = 64
        while (record := whole_record(data, at, head[16:32])) and integer(data, at + 16, 8) == position:
            yield record[12], Body(record[32:])
            at += len(record)
            position += len(record)
        if at < len(data) and (number + 1 < len(segments) or was_synced(data, at, head[16:32])):
            sys.exit(f"{file} is damaged at offset {at}")


def was_synced(data: bytes, damage: int, log: bytes) -> bool:
    """Whether a whole record behind a place says that this place had been synced."""
    base = integer(data, 32, 8)
    at = damage
    while (at := data.find(b"\xf7R\xe0\x01", at + 1)) >= 0:
        is_record = whole_record(data, at, log) and integer(data, at + 16, 8) == base + at - 64
        if is_record and integer(data, at + 24, 8) > base + damage - 64:
            return True
    return False


def whole_record(data: bytes, at: int, log: bytes) -> bytes | None:
    record = data[at : at + 32 + integer(data, at + 8, 4)] if len(data) >= at + 32 else b""
    if record[:4] != b"\xf7R\xe0\x01" or crc32c(log + record[8:]) != integer(record, 4, 4):
        return None
    return record


def opened(attempt: int) -> dict:
    return {"attempt": attempt, "due": None}


class Progress:
    """A group in one partition."""

    def __init__(self, cursor: int) -> None:
        self.cursor = cursor
        self.open: dict[int, dict] = {}
        self.dead: dict[int, dict] = {}

    def pass_over(self, cursor: int) -> None:
        self.open |= {sequence: opened(0) for sequence in range(self.cursor, cursor)}
        self.cursor = max(self.cursor, cursor)

    def change(self, tag: int, sequence: int, body: Body, first: int) -> None:
        if tag == 1:
            count, attempt = body.number(), body.number()
            self.pass_over(sequence)
            self.open |= {claimed: opened(attempt) for claimed in range(max(sequence, first), sequence + count)}
            self.cursor = max(self.cursor, sequence + count)
        elif tag == 2:
            for acked in range(sequence, sequence + body.number()):
                self.open.pop(acked, None)
        elif tag == 3:
            due, _ = body.time(), body.number()
            if sequence in self.open:
                self.open[sequence]["due"] = due
        elif tag == 4:
            attempt = body.number()
            if sequence in self.open:
                self.open[sequence] = opened(attempt)
        elif tag == 5:
            letter = {"attempt": body.number(), "at": body.time(), "reason": body.text()}
            if self.open.pop(sequence, None) is not None:
                self.dead[sequence] = letter
        elif tag == 6:
            self.dead.pop(sequence, None)
        elif tag == 7:
            self.forget(lambda other: other >= sequence)
            self.cursor = min(self.cursor, sequence)
        elif tag == 8:
            if sequence >= first:
                self.dead.pop(sequence, None)
                self.open[sequence] = opened(0)
        elif tag == 9:
            self.__init__(sequence)
        elif tag == 10:
            self.pass_over(sequence)
        else:
            sys.exit(f"there is a change with the tag {tag}, which version 1 does not have")

    def forget(self, which) -> None:
        self.open = {sequence: delivery for sequence, delivery in self.open.items() if not which(sequence)}
        self.dead = {sequence: letter for sequence, letter in self.dead.items() if not which(sequence)}

    def shown(self) -> dict:
        frontier = min(self.open, default=self.cursor) - 1
        return {"cursor": self.cursor, "frontier": frontier, "open": self.open, "dead": self.dead}


def read_stream(directory: Path, partition_count: int) -> dict:
    events: list[dict[int, dict]] = [{} for _ in range(partition_count)]
    firsts = [1] * partition_count
    groups: dict[int, dict] = {}
    for kind, body in records(directory):
        if kind == 16:
            while body:
                partition, sequence = body.number(), body.number()
                events[partition][sequence] = body.event()
        elif kind == 17:
            while body:
                partition, first = body.number(), body.number()
                firsts[partition] = first
                events[partition] = {at: event for at, event in events[partition].items() if at >= first}
                for group in groups.values():
                    progress = group["partitions"][partition]
                    progress.forget(lambda sequence, first=first: sequence < first)
                    progress.cursor = max(progress.cursor, first)
        elif kind == 18:
            number, options, name = body.number(), body.options(), body.text()
            groups[number] = {"name": name, "partitions": [Progress(body.number()) for _ in range(partition_count)]}
            groups[number] |= options
        elif kind == 19:
            number, options = body.number(), body.options()
            if number in groups:
                groups[number] |= options
        elif kind == 20:
            groups.pop(body.number(), None)
        elif kind == 21:
            group = groups.get(body.number())
            while body and group:
                tag, partition, sequence = body.take(1)[0], body.number(), body.number()
                group["partitions"][partition].change(tag, sequence, body, firsts[partition])
        elif kind != 32:
            sys.exit(f"there is a record of kind {kind}, which version 1 does not have")
    for group in groups.values():
        group["partitions"] = [progress.shown() for progress in group["partitions"]]
    return {"partitions": events, "groups": {group.pop("name"): group for group in groups.values()}}


def main() -> None:
    journal = Path(sys.argv[1])
    streams: dict[int, tuple[str, int]] = {}
    for kind, body in records(journal / "registry"):
        if kind == 1:
            number, partition_count = body.number(), body.number()
            streams[number] = (body.text(), partition_count)
        elif kind == 2:
            del streams[body.number()]
    read = {name: read_stream(journal / "streams" / str(number), count) for number, (name, count) in streams.items()}
    print(json.dumps(read))


if __name__ == "__main__":
    main()
