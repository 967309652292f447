"""Payloads and metadata: what goes in comes out, and what cannot is refused with the path to it."""

import array
import collections
import contextlib
import ctypes
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import gc
import importlib.util
import itertools
import json
import math
import mmap
import pathlib
import random
import struct
import threading
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from conftest import RunScript

import rheo

SEED = 20_240_229
ALPHABET = 'abcXYZ 09_-"\\/\b\f\n\r\t\x00\x1f\x7f\x80äß\u2028\u2029\ufeff\ufffd\uffff€漢字😀𝄞\U0010ffff'


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(ALPHABET, k=rng.choice((0, 1, 3, 8, 60))))


def random_double(rng: random.Random) -> float:
    while not math.isfinite(value := struct.unpack("<d", rng.randbytes(8))[0]):
        pass
    return float(value)


def random_value(rng: random.Random, depth: int = 0) -> Any:
    simple: list[Callable[[], Any]] = [
        lambda: None,
        lambda: rng.random() < 0.5,
        lambda: rng.randint(-10, 10),
        lambda: rng.randint(-(2**70), 2**70),
        lambda: rng.choice((0.0, -0.0, 0.1, 1e300, 5e-324, -1.5)),
        lambda: random_double(rng),
        lambda: random_text(rng),
    ]
    nested: list[Callable[[], Any]] = [
        lambda: [random_value(rng, depth + 1) for _ in range(rng.randint(0, 4))],
        lambda: {random_text(rng): random_value(rng, depth + 1) for _ in range(rng.randint(0, 4))},
        lambda: tuple(random_value(rng, depth + 1) for _ in range(rng.randint(0, 3))),
    ]
    return rng.choice(simple if depth > 4 or rng.random() < 0.4 else nested)()


def decoded(db: rheo.Instance, text: bytes) -> Any:
    return db.append("s", text, encoding="json").payload


# Structured values


def test_random_values_come_back_as_json_gives_them_back(db: rheo.Instance) -> None:
    rng = random.Random(SEED)
    values = [random_value(rng) for _ in range(3_000)]
    events = db.append_batch("s", [rheo.Append(value) for value in values])
    for value, event in zip(values, events, strict=True):
        # As texts: `==` takes 1, 1.0 and True for one another, and no notice of the order of keys.
        assert json.dumps(event.payload) == json.dumps(value)
        assert event.payload == json.loads(json.dumps(value))
        assert event.encoding == "json"


def test_what_is_stored_is_json_that_any_reader_takes(db: rheo.Instance) -> None:
    rng = random.Random(SEED + 1)
    for _ in range(500):
        value = random_value(rng)
        assert json.dumps(json.loads(bytes(db.append("s", value).data))) == json.dumps(value)


def test_doubles_come_back_bit_for_bit(db: rheo.Instance) -> None:
    rng = random.Random(SEED)
    doubles = [random_double(rng) for _ in range(10_000)]
    back = db.append("s", doubles).payload
    assert list(map(repr, back)) == list(map(repr, doubles))
    assert struct.pack("<10000d", *back) == struct.pack("<10000d", *doubles)


@pytest.mark.parametrize("number", [2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**4299])
def test_integers_of_any_size_are_exact(db: rheo.Instance, number: int) -> None:
    back = db.append("s", [number, -number]).payload
    assert back == [number, -number]
    assert [type(item) for item in back] == [int, int]


def test_an_integer_that_python_does_not_print_is_refused_with_its_path(db: rheo.Instance) -> None:
    with pytest.raises(rheo.InvalidArgument, match=r'payload\["n"\]\[1\]'):
        db.append("s", {"n": [0, 10**5000]})


def test_an_integer_text_that_python_does_not_read_is_an_error_of_the_contract(db: rheo.Instance) -> None:
    event = db.append("s", b"9" * 5000, encoding="json")
    with pytest.raises(rheo.InvalidArgument):
        _ = event.payload


@dataclasses.dataclass
class Point:
    x: int = 1


class Colour(enum.Enum):
    RED = "red"


REFUSED = [
    {1},
    frozenset(),
    1j,
    decimal.Decimal("1.5"),
    fractions.Fraction(1, 2),
    dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    dt.date(2024, 1, 1),
    dt.time(1),
    dt.timedelta(1),
    uuid.UUID(int=1),
    pathlib.PurePath("x"),
    object(),
    Colour.RED,
    Point(),
    range(3),
    iter([]),
    map(str, []),
    len,
    int,
    ...,
    NotImplemented,
    {}.keys(),
    collections.deque(),
    collections.UserDict(),
    collections.UserList(),
    types.MappingProxyType({}),
    types.SimpleNamespace(),
    ValueError("x"),
]


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
def test_a_type_that_json_lacks_is_refused_with_the_path(db: rheo.Instance, value: Any) -> None:
    name = type(value).__qualname__
    with pytest.raises(TypeError) as raised:
        db.append("s", value)
    assert str(raised.value).startswith("payload is a")
    assert name in str(raised.value)
    with pytest.raises(TypeError) as raised:
        db.append("s", {"a": [0, {"b c": (value,)}]})
    assert str(raised.value).startswith('payload["a"][1]["b c"][0] is a')
    assert name in str(raised.value)
    assert db.read("s") == []


@pytest.mark.parametrize("value", [b"x", bytearray(b"x"), memoryview(b"x"), array.array("b", [1])])
def test_bytes_inside_of_a_structure_are_refused(db: rheo.Instance, value: Any) -> None:
    with pytest.raises(TypeError, match=r'^payload\["a"\]\[0\] is a'):
        db.append("s", {"a": [value]})


@pytest.mark.parametrize("key", [1.5, None, True, (1,), b"x", frozenset(), Colour.RED])
def test_a_key_that_is_no_text_is_refused(db: rheo.Instance, key: Any) -> None:
    # json.dumps writes 1 as "1": what comes back would not be what went in.
    with pytest.raises(TypeError, match=r'^payload\[0\]\["a"\] has a key of type ') as raised:
        db.append("s", [{"a": {"fine": 1, key: 2}}])
    assert type(key).__name__ in str(raised.value)


class Number(enum.IntEnum):
    TWO = 2


class Name(enum.StrEnum):
    ANNA = "anna"


class Pair(NamedTuple):
    left: int
    right: str


class LyingInt(int):
    __repr__ = __str__ = lambda self: "], true, ["  # noqa: ARG005


class LyingFloat(float):
    __repr__ = __str__ = lambda self: "], true, ["  # noqa: ARG005


class LyingStr(str):
    __slots__ = ()
    __repr__ = __str__ = lambda self: '", "'  # noqa: ARG005


class Upper(dict[str, Any]):
    def items(self) -> Any:
        return [(key.upper(), value) for key, value in super().items()]


def ordered() -> Any:
    value = collections.OrderedDict(a=1, b=2, c=3)
    value.move_to_end("a")
    return value


SUBCLASSES: list[tuple[Any, str]] = [
    (Number.TWO, "2"),
    (Name.ANNA, '"anna"'),
    ({Name.ANNA: Number.TWO}, '{"anna": 2}'),
    (ordered(), '{"b": 2, "c": 3, "a": 1}'),
    (Pair(1, "x"), '[1, "x"]'),
    (collections.defaultdict(list, a=[1]), '{"a": [1]}'),
    (collections.Counter("aab"), '{"a": 2, "b": 1}'),
    (LyingInt(7), "7"),
    (LyingInt(2**80), str(2**80)),
    (LyingFloat(1.5), "1.5"),
    (LyingStr("x"), '"x"'),
    (Upper(a={"b": 1}), '{"A": {"b": 1}}'),
]


@pytest.mark.parametrize(("value", "text"), SUBCLASSES, ids=lambda value: type(value).__name__)
def test_subclasses_are_what_they_derive_from(db: rheo.Instance, value: Any, text: str) -> None:
    assert json.dumps(db.append("s", value).payload) == text
    assert json.dumps(db.append("s", [value, {"in": value}]).payload) == f'[{text}, {{"in": {text}}}]'


def test_python_types_come_back_plain(db: rheo.Instance) -> None:
    back = db.append("s", [Number.TWO, Name.ANNA, ordered(), LyingFloat(1)]).payload
    assert [type(item) for item in back] == [int, str, dict, float]


@pytest.mark.parametrize(
    "surrogate", [chr(0xD800), chr(0xDFFF), f"a{chr(0xDC00)}b", chr(0xDC00) + chr(0xD800)], ids=ascii
)
def test_a_lone_surrogate_is_refused_with_the_path(db: rheo.Instance, surrogate: str) -> None:
    with pytest.raises(rheo.InvalidArgument, match=r'^payload\["a"\]\[1\] holds a lone surrogate'):
        db.append("s", {"a": ["", surrogate]})
    with pytest.raises(rheo.InvalidArgument, match=r'^payload\["a"\] holds a lone surrogate'):
        db.append("s", {"a": {surrogate: 1}})
    with pytest.raises(rheo.InvalidArgument, match=r"^key holds a lone surrogate"):
        db.append("s", 1, key=surrogate)


@pytest.mark.parametrize(
    "text",
    [
        rb'"\ud800"',
        rb'"\udc00"',
        rb'"\ud800\ud800"',
        rb'"\udc00\ud800"',
        rb'"\ud83d\ude00"',
        rb'"x\ud83dx\ude00"',
        rb'{"\ud800": "\ud800\udbff\udfff"}',
        rb'"\uD83D\uDE00\ude00"',
        rb'"\ud800\n\udc00"',
        rb'"\ud800\u0041"',
    ],
)
def test_surrogates_of_other_languages_decode_as_json_does(db: rheo.Instance, text: bytes) -> None:
    assert decoded(db, text) == json.loads(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_in_json_is_refused_with_the_path(db: rheo.Instance, value: float) -> None:
    with pytest.raises(rheo.InvalidArgument, match=r'^payload\["a"\]\[1\] is -?(?i:nan|inf)'):
        db.append("s", {"a": [0.0, value]})


def nested(depth: int, kind: str) -> Any:
    value: Any = []
    for level in range(depth - 1):
        value = {"k": value} if kind == "dicts" or (kind == "both" and level % 2) else [value]
    return value


@pytest.mark.parametrize("kind", ["lists", "dicts", "both"])
def test_200_levels_are_taken_and_no_more(db: rheo.Instance, kind: str) -> None:
    deepest = nested(200, kind)
    assert db.append("s", deepest).payload == deepest
    with pytest.raises(rheo.InvalidArgument, match="200 levels"):
        db.append("s", nested(201, kind))
    text = json.dumps(nested(201, kind)).encode()
    with pytest.raises(rheo.InvalidArgument, match="200"):
        decoded(db, text)
    with pytest.raises(rheo.InvalidArgument):
        decoded(db, b"[" * 1_000_000)


def test_200_levels_fit_on_a_small_stack(run_script: RunScript) -> None:
    run_script("""
        import threading, rheo
        value = []
        for _ in range(199):
            value = [value]
        db = rheo.open()
        db.create_stream("s")
        same = []
        threading.stack_size(128 * 1024)
        thread = threading.Thread(target=lambda: same.append(db.append("s", value).payload == value))
        thread.start()
        thread.join()
        assert same == [True]
    """)


def test_cycles_are_refused(db: rheo.Instance) -> None:
    items: list[Any] = []
    items.append(items)
    mapping: dict[str, Any] = {}
    mapping["a"] = [mapping]
    for value in (items, mapping, [mapping], Upper(x=items)):
        with pytest.raises(rheo.InvalidArgument, match="holds itself"):
            db.append("s", value)
    items.clear()
    mapping.clear()


def test_the_same_object_twice_is_no_cycle(db: rheo.Instance) -> None:
    shared = {"x": [1]}
    assert db.append("s", [shared, shared, {"again": shared}]).payload == [shared, shared, {"again": shared}]


def test_a_dict_that_changes_while_it_is_read_is_an_error_like_any(db: rheo.Instance) -> None:
    class Changes(dict[str, int]):
        def items(self) -> Any:
            outer["new"] = 1
            return super().items()

    outer: dict[str, Any] = {"first": Changes(a=1), "second": 2}
    # Which error is not said, but it has to be an `Exception`: a panic is none, and passes every `except Exception`.
    with contextlib.suppress(rheo.InvalidArgument, RuntimeError):
        db.append("s", outer)
    assert db.append("s", {"fine": 1}).payload == {"fine": 1}


def test_a_list_that_changes_while_it_is_read_is_harmless(db: rheo.Instance) -> None:
    class Shrinks(dict[str, int]):
        def items(self) -> Any:
            outer.clear()
            return super().items()

    outer: list[Any] = [Shrinks(a=1), 2, 3, [4] * 1000]
    assert db.append("s", outer).payload == [{"a": 1}]


def test_what_a_subclass_raises_is_what_the_caller_gets(db: rheo.Instance) -> None:
    class Broken(dict[str, int]):
        def items(self) -> Any:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        db.append("s", [Broken(a=1)])
    assert db.read("s") == []


# JSON texts that others wrote

VALID = [
    rb'"\"\\\/\b\f\n\r\t\u0000\u0041\u00e9\u20AC\uD83D\uDE00"',
    b' \t\r\n{ "a" : [ 1 , -0 , 0.5 , -1.25e+10 , 1E5 , 1e-5 , 0e0 ] , "b" : { } , "c" : [ ] }\r\n',
    b'{"a":1,"b":2,"a":{"a":[null,true,false]}}',
    b'{"":"","\\u0000":1," ":2}',
    '{"é":"漢字","😀":"\U0010ffff\u2028\x7f\ufeff"}'.encode(),
    b"[1e400,-1e400,1e-400,0.1e1,123456789012345678901234567890,-9223372036854775808,9223372036854775808]",
    b"[[[[[[]]]]],[{}],[[],[]]]",
    b"0",
    b"-0",
    b"-0.0",
    b"-1",
    b"true",
    b"null",
    b'""',
]
INVALID = [
    *(b"", b" ", b"\xef\xbb\xbf{}", b"nul", b"nulll", b"True", b"NaN", b"Infinity", b"-Infinity", b"[NaN]", b"inf"),
    *(b"01", b"-01", b"00", b"1.", b".5", b"-", b"+1", b"1e", b"1e+", b"1.e5", b"0x10", b"1_000", b"--1", b"1 2"),
    *(b"[1,]", b"[,1]", b"[1 2]", b"[", b"]", b"[1", b"[1}", b'{"a":1,}', b"{,}", b'{"a"}', b'{"a":}', b'{"a" 1}'),
    *(b"{a:1}", b"{1:1}", b"{'a':1}", b'{"a":1', b'{"a":1]', b"{null:1}", b'{"a":1 "b":2}', b"// c\n1", b"1 /* */"),
    *(b'"', b'"a', b'"\\', b'"\\"', b'"\\x41"', b'"\\u12"', b'"\\u123"', b'"\\u12g4"', b'"\\u+123"', b'"\\u 123"'),
    *(b'"\\a"', b'"\\0"', b'"\\U00000041"', b'"a\nb"', b'"\x00"', b'"\x1f"', b'"a\tb"', b"'a'", b'"a" "b"', b'"a",'),
    *(b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xf4\x90\x80\x80"', b"\xff", b'"\xe2\x82"', b"\x00", b"1\x00"),
    *(b"\x0b1", b"\x0c1", "\u00a01".encode(), "\u0661".encode(), "1\u2028".encode(), b"\x1c1"),
]


@pytest.mark.parametrize("text", VALID)
def test_valid_texts_decode_as_json_does(db: rheo.Instance, text: bytes) -> None:
    assert repr(decoded(db, text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", INVALID)
def test_invalid_texts_are_kept_but_do_not_decode(db: rheo.Instance, text: bytes) -> None:
    event = db.append("s", text, encoding="json")
    with pytest.raises(rheo.InvalidArgument, match="at byte") as raised:
        _ = event.payload
    assert event.id in "".join(raised.value.__notes__)
    assert bytes(event.data) == text


def test_of_a_key_given_twice_the_last_holds(db: rheo.Instance) -> None:
    assert list(decoded(db, b'{"a":1,"b":2,"a":3}').items()) == [("a", 3), ("b", 2)]


def test_the_place_of_the_fault_is_named(db: rheo.Instance) -> None:
    with pytest.raises(rheo.InvalidArgument, match=r"at byte 8\b"):
        decoded(db, b'{"a": [1}')
    with pytest.raises(rheo.InvalidArgument, match=r"at byte 5\b"):
        decoded(db, b'["a\xc3\xa9\xff"]')


class StricterError(Exception):
    """What Python's reader takes beyond RFC 8259."""


def by_json(text: bytes) -> Any:
    def constant(name: str) -> Any:
        raise StricterError(name)

    return json.loads(text.decode(), parse_constant=constant)


def mutated(rng: random.Random, text: bytes) -> bytes:
    data = bytearray(text)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        piece = rng.choice(
            (b'"', b"\\", b",", b":", b"[", b"]", b"{", b"}", b"0", b"-", b"e", b".", b"\\u", b"\\ud8", b"\n")
        )
        what = rng.randrange(4)
        if what == 0:
            data[at:at] = piece
        elif what == 1:
            del data[at : at + rng.randint(1, 3)]
        elif what == 2:
            data[at : at + 1] = bytes([rng.randrange(256)])
        else:
            other = rng.randrange(len(data) + 1)
            data[at:at] = data[other : other + rng.randint(1, 8)]
    return bytes(data)


def test_mutated_texts_decode_as_json_does_or_not_at_all(db: rheo.Instance) -> None:
    rng = random.Random(SEED)
    seeds = [*VALID, *(json.dumps(random_value(rng), ensure_ascii=rng.random() < 0.5).encode() for _ in range(200))]
    texts = [mutated(rng, rng.choice(seeds)) for _ in range(20_000)]
    outcomes: collections.Counter[str] = collections.Counter()
    for event in itertools.chain.from_iterable(
        db.append_batch("s", texts[at : at + 1_000], encoding="json") for at in range(0, len(texts), 1_000)
    ):
        text = bytes(event.data)
        ours: Any
        try:
            ours, refused = event.payload, False
        except rheo.InvalidArgument:
            ours, refused = None, True
        try:
            theirs = by_json(text)
        except StricterError:
            # By design: NaN and the infinities are no JSON.
            assert refused, text
            outcomes["stricter"] += 1
        except ValueError:
            assert refused, text
            outcomes["both refuse"] += 1
        else:
            assert not refused, text
            # By repr, which tells -0.0 from 0 and takes an infinity (1e999) for itself.
            assert repr(ours) == repr(theirs), text
            outcomes["both take"] += 1
    assert min(outcomes["both take"], outcomes["both refuse"]) > 1_000, outcomes


# Bytes


def mapped() -> mmap.mmap:
    memory = mmap.mmap(-1, 3)
    memory[:] = b"abc"
    return memory


class Bytes(bytes):
    pass


BYTES_LIKE: list[tuple[str, Callable[[], Any], bytes]] = [
    ("bytes", lambda: b"abc", b"abc"),
    ("empty", lambda: b"", b""),
    ("subclass", lambda: Bytes(b"abc"), b"abc"),
    ("bytearray", lambda: bytearray(b"abc"), b"abc"),
    ("empty bytearray", lambda: bytearray(), b""),
    ("memoryview", lambda: memoryview(b"abc"), b"abc"),
    ("slice", lambda: memoryview(b"abcdef")[2:5], b"cde"),
    ("empty slice", lambda: memoryview(b"abc")[3:], b""),
    ("every other", lambda: memoryview(b"abcdef")[::2], b"ace"),
    ("backwards", lambda: memoryview(b"abc")[::-1], b"cba"),
    ("signed", lambda: memoryview(b"\xffbc").cast("b"), b"\xffbc"),
    ("chars", lambda: memoryview(b"abc").cast("c"), b"abc"),
    ("bools", lambda: memoryview(b"\x00\x01").cast("?"), b"\x00\x01"),
    ("table", lambda: memoryview(b"abcdef").cast("B", (2, 3)), b"abcdef"),
    ("longs", lambda: array.array("l", [1, -2]), array.array("l", [1, -2]).tobytes()),
    ("doubles", lambda: array.array("d", [1.5]), struct.pack("d", 1.5)),
    ("array slice", lambda: memoryview(array.array("H", [1, 2, 3]))[::2], array.array("H", [1, 3]).tobytes()),
    ("mmap", mapped, b"abc"),
    ("ctypes", lambda: (ctypes.c_char * 3).from_buffer_copy(b"abc"), b"abc"),
]


@pytest.mark.parametrize(("make", "content"), [case[1:] for case in BYTES_LIKE], ids=[case[0] for case in BYTES_LIKE])
def test_bytes_like_objects_are_bytes(db: rheo.Instance, make: Callable[[], Any], content: bytes) -> None:
    given = make()
    events = [db.append("s", given), *db.append_batch("s", [given, rheo.Append(given)]), db.stream("s").append(given)]
    for event in events:
        assert (event.payload, bytes(event.data), event.encoding) == (content, content, "bytes")
        assert type(event.payload) is bytes


@pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="numpy is not installed")
def test_arrays_of_numpy_are_bytes(db: rheo.Instance) -> None:
    import numpy as np  # type: ignore[import-not-found,unused-ignore]

    table = np.arange(6, dtype="<i2").reshape(2, 3)
    for given in (table, table.T, table[:, ::2], np.asfortranarray(table)):
        assert db.append("s", given).payload == given.tobytes()


def test_what_was_appended_does_not_change_with_its_source(db: rheo.Instance) -> None:
    source = bytearray(b"abc")
    value = {"a": [1]}
    events = [*db.append_batch("s", [source, value])]
    source[:] = b"xyz!"
    value["a"].append(2)
    assert [event.payload for event in events] == [b"abc", {"a": [1]}]


def test_a_released_view_is_refused(db: rheo.Instance) -> None:
    view = memoryview(b"abc")
    view.release()
    with pytest.raises(ValueError, match="released"):
        db.append("s", view)
    assert db.read("s") == []


def test_a_source_may_be_resized_after_the_append(db: rheo.Instance) -> None:
    source = bytearray(b"abc")
    db.append("s", source)
    source.extend(b"d" * 10_000)  # BufferError while the buffer is lent.


# encoding=


def test_encoding_says_what_bytes_are(db: rheo.Instance) -> None:
    text = b'{"a": 1}'
    as_json = db.append("s", text, encoding="json")
    assert (as_json.payload, as_json.encoding, bytes(as_json.data)) == ({"a": 1}, "json", text)
    as_bytes = db.append("s", text, encoding="bytes")
    assert (as_bytes.payload, as_bytes.encoding) == (text, "bytes")
    shared = db.append_batch("s", [text, rheo.Append(text, encoding="bytes"), bytearray(text)], encoding="json")
    assert [event.encoding for event in shared] == ["json", "bytes", "json"]
    assert [event.sequence for event in db.query("s", where={"a": 1})] == [1, 3, 5]


@pytest.mark.parametrize("value", [{}, [], "text", 1, None, True])
def test_encoding_is_for_bytes_only(db: rheo.Instance, value: Any) -> None:
    for encoding in ("json", "bytes"):
        with pytest.raises(TypeError, match=r"payload takes bytes when encoding is given"):
            db.append("s", value, encoding=encoding)


def test_encoding_is_one_of_two(db: rheo.Instance) -> None:
    with pytest.raises(rheo.InvalidArgument, match='encoding is "xml"; it takes "json" or "bytes"'):
        db.append("s", b"", encoding="xml")  # type: ignore[arg-type]


# dumps= and loads=


class Custom:
    def __init__(self) -> None:
        self.dumped: list[Any] = []
        self.loaded: list[Any] = []

    def dumps(self, value: Any) -> bytes:
        self.dumped.append(value)
        return json.dumps(value, default=str).encode()

    def loads(self, text: Any) -> Any:
        self.loaded.append(text)
        return json.loads(text, parse_float=decimal.Decimal)


@pytest.fixture
def custom() -> Custom:
    return Custom()


@pytest.fixture
def with_custom(custom: Custom) -> Iterator[rheo.Instance]:
    with rheo.open("memory:", name="with custom", dumps=custom.dumps, loads=custom.loads) as instance:
        instance.create_stream("s")
        instance.create_group("s", "g")
        yield instance


def test_own_functions_encode_and_decode(with_custom: rheo.Instance, custom: Custom) -> None:
    event = with_custom.append("s", {"at": dt.date(2024, 2, 29), "price": 0.1})
    assert custom.dumped == [{"at": dt.date(2024, 2, 29), "price": 0.1}]
    assert custom.loaded == []
    assert event.payload == {"at": "2024-02-29", "price": decimal.Decimal("0.1")}
    assert event.payload is event.payload
    assert custom.loaded == [b'{"at": "2024-02-29", "price": 0.1}']
    assert type(custom.loaded[0]) is bytes


def test_own_functions_hold_wherever_events_come_from(with_custom: rheo.Instance) -> None:
    with_custom.append("s", 0.5)
    [lease] = with_custom.fetch("s", "g")
    batch = with_custom.fetch("s", "g")
    assert batch.payloads() == []
    lease.release()
    batch = with_custom.group("s", "g").fetch()
    found = [
        lease.event,
        *batch.events(),
        batch[0].renew().event,
        *with_custom.read("s"),
        *with_custom.query("s"),
        *with_custom.query_stream("s"),
        *with_custom.query_page("s").events,
        with_custom.get("s", lease.event.id),
        with_custom.stream("s").read()[0],
    ]
    batch[0].reject("no")
    found += [letter.event for letter in with_custom.dead_letters("s", "g")]
    other = rheo.get("with custom")
    assert other is not None
    found += other.read("s")
    assert [event.payload for event in found] == [decimal.Decimal("0.5")] * 11
    assert batch.payloads() == [decimal.Decimal("0.5")]


def test_get_finds_the_functions_while_anything_of_the_instance_lives(custom: Custom) -> None:
    instance = rheo.open("memory:", name="kept by a lease", dumps=custom.dumps, loads=custom.loads)
    instance.create_stream("s")
    instance.create_group("s", "g")
    instance.append("s", 0.5)
    batch = instance.fetch("s", "g")
    del instance
    gc.collect()
    again = rheo.get("kept by a lease")
    assert again is not None
    assert again.read("s")[0].payload == decimal.Decimal("0.5")
    assert len(batch) == 1
    again.close()


def test_a_name_opened_anew_does_not_keep_the_functions(custom: Custom) -> None:
    rheo.open("memory:", name="anew", dumps=custom.dumps, loads=custom.loads).close()
    with rheo.open("memory:", name="anew") as plain:
        plain.create_stream("s")
        found = rheo.get("anew")
        assert found is not None
        assert found.append("s", 0.5).payload == 0.5
    assert custom.dumped == []


def test_bytes_do_not_go_through_own_functions(with_custom: rheo.Instance, custom: Custom) -> None:
    assert with_custom.append("s", b"abc").payload == b"abc"
    assert (custom.dumped, custom.loaded) == ([], [])


def test_orjson_fits() -> None:
    orjson = pytest.importorskip("orjson")
    with rheo.open("memory:", dumps=orjson.dumps, loads=orjson.loads) as instance:
        instance.create_stream("s")
        event = instance.append(
            "s", {"id": uuid.UUID(int=1), "at": dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "n": [1, "ü"]}
        )
        assert event.payload == {"id": str(uuid.UUID(int=1)), "at": "2024-01-01T00:00:00+00:00", "n": [1, "ü"]}
        assert instance.query("s", where={"at": {"prefix": "2024"}}) == [event]
        with pytest.raises(TypeError):
            instance.append("s", {1})  # type: ignore[arg-type]


def test_dumps_may_give_text(db: rheo.Instance) -> None:
    with rheo.open("memory:", dumps=json.dumps) as instance:
        instance.create_stream("s")
        assert instance.append("s", {"a": "ü"}).payload == {"a": "ü"}
    del db


@pytest.mark.parametrize("given", [None, 1, bytearray(b"1"), [b"1"]])
def test_dumps_has_to_give_bytes_or_text(given: Any) -> None:
    with rheo.open("memory:", dumps=lambda _: given) as instance:
        instance.create_stream("s")
        with pytest.raises(TypeError, match="dumps takes a function that gives bytes or str"):
            instance.append("s", {})
        assert instance.read("s") == []


def test_what_own_functions_raise_is_what_the_caller_gets() -> None:
    class MineError(Exception):
        pass

    def fail(_: Any) -> Any:
        raise MineError

    with rheo.open("memory:", dumps=fail) as instance:
        instance.create_stream("s")
        with pytest.raises(MineError):
            instance.append("s", {})
        with pytest.raises(MineError):
            instance.append_batch("s", [b"fine", {}])
        assert instance.read("s") == []
    with rheo.open("memory:", loads=fail) as instance:
        instance.create_stream("s")
        event = instance.append("s", {})
        for _ in range(2):
            with pytest.raises(MineError):
                _ = event.payload


def test_own_functions_may_use_the_instance() -> None:
    def dumps(value: Any) -> bytes:
        if value != "inner":
            instance.append("s", "inner")
        return json.dumps(value).encode()

    def loads(text: bytes) -> Any:
        return [json.loads(text), len(instance.read("s"))]

    with rheo.open("memory:", dumps=dumps, loads=loads) as instance:
        instance.create_stream("s")
        events = instance.append_batch("s", [{"outer": "x" * 100}, b"raw", {"second": "y" * 100}])
        assert [event.sequence for event in events] == [3, 4, 5]
        assert [event.payload for event in events] == [[{"outer": "x" * 100}, 5], b"raw", [{"second": "y" * 100}, 5]]


# Metadata


@pytest.mark.parametrize(
    "metadata",
    [
        {"a": [1, None]},
        ordered(),
        types.MappingProxyType({"a": 1}),
        collections.UserDict(a=1),
        collections.ChainMap({"a": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_metadata_is_any_mapping(db: rheo.Instance, metadata: Any) -> None:
    event = db.append("s", 1, metadata=metadata)
    assert json.dumps(event.metadata) == json.dumps(dict(metadata))
    assert json.dumps(db.read("s")[0].metadata) == json.dumps(dict(metadata))


def test_metadata_is_empty_when_not_given_and_nobody_can_change_it(db: rheo.Instance) -> None:
    event = db.append("s", 1)
    assert event.metadata == {}
    event.metadata["a"] = 1
    assert event.metadata == {}


@pytest.mark.parametrize("metadata", [[], "x", 1, b"{}", [("a", 1)], True])
def test_metadata_that_is_no_mapping_is_refused(db: rheo.Instance, metadata: Any) -> None:
    with pytest.raises(TypeError, match=r"^metadata takes a mapping"):
        db.append("s", 1, metadata=metadata)


def test_metadata_is_refused_with_the_path(db: rheo.Instance) -> None:
    with pytest.raises(TypeError, match=r'^metadata\["a"\]\[0\] is a'):
        db.append("s", 1, metadata={"a": [{1}]})
    with pytest.raises(TypeError, match=r"^metadata has a key"):
        db.append("s", 1, metadata={1: 1})  # type: ignore[dict-item]
    with pytest.raises(rheo.InvalidArgument, match=r'^metadata\["a"\] is'):
        db.append("s", 1, metadata={"a": math.inf})


def test_metadata_has_at_most_64_kib(db: rheo.Instance) -> None:
    room = 64 * 1024 - len('{"a":""}')
    assert db.append("s", 1, metadata={"a": "x" * room}).metadata["a"] == "x" * room
    with pytest.raises(rheo.InvalidArgument, match="metadata"):
        db.append("s", 1, metadata={"a": "x" * (room + 1)})


def test_the_largest_payload_is_16_mib(db: rheo.Instance) -> None:
    largest = bytes(16 << 20)
    assert db.append("s", largest).data == largest
    with pytest.raises(rheo.PayloadTooLarge, match=str((16 << 20) + 1)):
        db.append("s", largest + b"\0")
    with pytest.raises(rheo.PayloadTooLarge):
        db.append("s", "x" * (16 << 20))


# What an event lends


@pytest.mark.parametrize("kind", ["memory", "journal"])
def test_data_outlives_everything(kind: str, request: pytest.FixtureRequest) -> None:
    db: rheo.Instance = request.getfixturevalue("db" if kind == "memory" else "journal")
    content = bytes(range(256)) * 64
    db.append("s", content)
    views = [db.read("s")[0].data, db.fetch("s", "g")[0].event.data[10:20]]
    db.trim("s", max_len=0, force=True)
    db.delete_stream("s", confirm=True)
    db.close()
    gc.collect()
    garbage = [bytes(16_384) for _ in range(1_000)]
    assert views == [content, content[10:20]]
    assert len(garbage) == 1_000


def test_data_is_read_only_bytes(db: rheo.Instance) -> None:
    view = db.append("s", {"a": 1}).data
    assert isinstance(view, memoryview)
    assert (view.readonly, view.format, view.ndim, view.nbytes, view.c_contiguous) == (True, "B", 1, 7, True)
    with pytest.raises(TypeError):
        view[0] = 1
    assert json.loads(bytes(view)) == {"a": 1}
    assert bytes(db.append("s", b"").data) == b""
    view.release()


def test_data_goes_where_bytes_go(db: rheo.Instance) -> None:
    event = db.append("s", b"abc")
    assert db.append("s", event.data).payload == b"abc"
    assert struct.unpack("3s", event.data) == (b"abc",)


def test_a_payload_is_decoded_once(db: rheo.Instance) -> None:
    for value in ({"a": 1}, b"abc" * 100, [1.5]):
        event = db.append("s", value)
        assert event.payload is event.payload
    [lease, *_] = db.fetch("s", "g")
    assert lease.event is lease.event
    assert lease.event.payload is lease.event.payload


def test_threads_that_decode_at_once_get_one_payload(db: rheo.Instance, short_turns: None) -> None:  # noqa: ARG001
    for _ in range(20):
        event = db.append("s", {"list": list(range(500))})
        barrier = threading.Barrier(4)
        found: list[Any] = []

        def look(event: rheo.Event = event, barrier: threading.Barrier = barrier, found: list[Any] = found) -> None:
            barrier.wait(10)
            found.append(event.payload)

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len(found) == 4
        assert all(payload is found[0] for payload in found)


# All or nothing


def raising() -> Iterator[Any]:
    yield 1
    raise LookupError("mine")


WRONG_ID: dict[str, Any] = {"id": 5}
WRONG_METADATA: dict[str, Any] = {"metadata": []}
BAD: list[tuple[str, Any, type[BaseException], str]] = [
    ("type", [1, b"x", {"a": {1}}], TypeError, r'^item 2: payload\["a"\]'),
    ("key", [1, {2: 2}], TypeError, "^item 1: payload has a key"),
    ("value", [1, [math.nan]], rheo.InvalidArgument, r"^item 1: payload\[0\]"),
    ("surrogate", [1, 2, 3, "\ud800"], rheo.InvalidArgument, "^item 3: payload"),
    ("id type", [1, rheo.Append(1, **WRONG_ID)], TypeError, "^item 1: id takes"),
    ("id", [1, rheo.Append(1, id="\n")], rheo.InvalidArgument, r"\b1\b.*id"),
    ("partition", [1, rheo.Append(1, partition=7)], rheo.InvalidPartition, "7"),
    ("time", [1, rheo.Append(1, timestamp=dt.datetime(2024, 1, 1))], rheo.InvalidArgument, "^item 1: timestamp"),
    ("metadata", [1, rheo.Append(1, **WRONG_METADATA)], TypeError, "^item 1: metadata"),
    ("encoding", [1, rheo.Append(1, encoding="json")], TypeError, "^item 1: payload"),
    ("size", [1, bytes((16 << 20) + 1)], rheo.PayloadTooLarge, str((16 << 20) + 1)),
    ("many", [1] * 10_001, rheo.InvalidArgument, "10,?000"),
    ("iterator", raising(), LookupError, "^mine$"),
]


@pytest.mark.parametrize(("items", "error", "text"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_one_bad_item_and_nothing_is_appended(
    db: rheo.Instance, items: Any, error: type[BaseException], text: str
) -> None:
    with pytest.raises(error, match=text):
        db.append_batch("s", items)
    assert db.stream_info("s").partitions[0].high_watermark == 0
    assert db.append("s", 1).sequence == 1


@pytest.mark.parametrize("items", ["text", b"bytes", bytearray(b"x"), memoryview(b"x"), {"a": 1}, 5, None])
def test_one_payload_is_no_batch(db: rheo.Instance, items: Any) -> None:
    with pytest.raises(TypeError, match=r"^items takes a list"):
        db.append_batch("s", items)
    assert db.read("s") == []


def test_any_iterable_is_a_batch(db: rheo.Instance) -> None:
    for items in ([1, 2], (1, 2), iter([1, 2]), (n for n in (1, 2)), range(1, 3), collections.deque([1, 2])):
        assert [event.payload for event in db.append_batch("s", items)] == [1, 2]
    assert db.append_batch("s", []) == []
    with pytest.raises(rheo.InvalidArgument, match="id"):
        db.append_batch("s", [1, 2], id="shared")


def test_an_endless_batch_is_refused(db: rheo.Instance) -> None:
    counter = itertools.count()
    with pytest.raises(rheo.InvalidArgument, match="10001 items or more"):
        db.append_batch("s", counter)
    assert next(counter) <= 10_002
    assert db.read("s") == []


def test_a_named_instance_is_found_with_its_decoder_at_once() -> None:
    found: list[bool] = []

    def look() -> None:
        while not found:
            instance = rheo.get("quick")
            if instance is not None and not instance.closed:
                with contextlib.suppress(rheo.RheoError):
                    instance.create_stream("s")
                    found.append(instance.append("s", {"a": 1}).payload == "mine")

    thread = threading.Thread(target=look)
    thread.start()
    with rheo.open(name="quick", loads=lambda _: "mine"):
        thread.join()
    assert found == [True]


def test_a_time_beyond_a_datetime_is_shown_in_microseconds(db: rheo.Instance) -> None:
    db.create_group("s", "far")
    db.append("s", 1, timestamp=2**62)
    info = db.group_info("s", "far")
    assert info.oldest_unsettled_at_us == 2**62
    with pytest.raises(OverflowError):
        _ = info.oldest_unsettled_at
