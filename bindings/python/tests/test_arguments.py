"""Arguments: a wrong type is a TypeError that names the argument, a wrong value the contract's error. And errors."""

import contextlib
import copy
import datetime as dt
import enum
import inspect
import itertools
import pickle
import random
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from conftest import START

import rheo

UTC = dt.UTC
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)


class Index:
    """A whole number that is no `int`, as numpy's are."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class One(enum.IntEnum):
    ONE = 1


# What each argument takes, by its name; the exceptions by method and name.
KINDS = {
    "text": [
        "stream",
        "group",
        "id",
        "key",
        "type",
        "consumer_id",
        "ordering",
        "cursor",
        "event_id",
        "encoding",
        "url",
        "name",
        "clock",
        "sync",
        "on_failure",
    ],
    "number": [
        "partition_count",
        "partition",
        "limit",
        "lease_ms",
        "wait_ms",
        "delay_ms",
        "ms",
        "max_attempts",
        "max_deliveries",
        "after",
        "after_sequence",
        "until_sequence",
        "max_len",
        "max_age_ms",
        "max_bytes",
        "default_max_demand",
        "default_lease_ms",
        "default_max_attempts",
        "max_payload_bytes",
        "segment_bytes",
        "concurrency",
        "batch_size",
        "batch_timeout_ms",
        "max_lease_ms",
        "max_demand",
        "poll_ms",
        "most",
        "timeout_ms",
    ],
    "flag": ["confirm", "force", "all", "sync_settles", "telemetry_durations"],
    "time": ["timestamp", "start_at", "from_", "to", "clock_start"],
    "partitions": ["partitions"],
    "sequences": ["start_after", "before_sequence", "from_sequence"],
    "mapping": ["metadata", "where", "query"],
    "texts": ["event_ids"],
    "pairs": ["order_by"],
    "lease": ["lease"],
    "leases": ["leases"],
    "items": ["items"],
    "function": ["dumps", "loads", "telemetry", "handler"],
    "delay": ["retry_delay"],
    "anything": ["payload", "reason", "value", "start", "stop"],
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names} | {"dead_letters.after": "text"}

WRONG_TYPES: dict[str, list[Any]] = {
    "text": [3, b"x", 1.5, ["x"], object()],
    "number": ["3", b"3", 1.0, 1.5, True, False, [1], object()],
    "flag": [1, 0, "yes", [], object()],
    "time": ["2024-01-01T00:00:00Z", 1.5, True, dt.date(2024, 1, 1), dt.timedelta(1), object()],
    "partitions": [0, "0", 1.5, ["0"], [True], [0.0], [None], object()],
    "sequences": ["3", 1.5, True, [1], {"0": 1}, {0: "1"}, {0: True}, {None: 1}],
    "mapping": [3, "x", [("a", 1)], True, object()],
    "texts": ["x", 3, True, [3], [None], [b"x"]],
    "pairs": ["sequence", 3, [3], ["sequence"], [("sequence",)], [("sequence", "asc", 1)], [("sequence", 1)]],
    "lease": [3, None, b"x", object(), ["x"]],
    "leases": [3, None, "x", [3], [None]],
    "items": [3, None, "x", b"x", {"a": 1}],
    "function": [3, "x", object()],
    "delay": [b"x", 1.5, True, [1], object()],
}
# None is like nothing given, where something need not be given.
WRONG_REQUIRED: dict[str, list[Any]] = {"text": [None], "number": [None]}

TOO_SMALL_OR_LARGE = [-1, -(2**63), -(2**63) - 1, 2**64, 2**100, -(2**100)]
WRONG_VALUES: dict[str, list[Any]] = {
    "number": TOO_SMALL_OR_LARGE,
    "sequences": [-1, 2**64, {0: -1}, {-1: 0}, {0: 2**64}, {2**64: 0}],
    "partitions": [[-1], [0, 2**32], [2**64]],
    "time": [2**63, -(2**63) - 1, 2**100, dt.datetime(2024, 1, 1)],
    "lease": ["", "x", "rheo1.", "rheo1.AAAA", "\ud800", "é"],
    "pairs": [[("id", "asc")], [("sequence", "up")], [("", "")]],
    "delay": [-1, 2**64, "", "x", "1.5", "-1", "exponential:2:1", "\ud800"],
}
BAD_NAMES = ["", "\n", "a\x00b", "x" * 256, "é" * 128, "\ud800", "\x7f"]
NAMES = ["stream", "group", "id", "type", "consumer_id"]

METHODS = [
    (owner, name)
    for owner in (rheo.Instance, rheo.Stream, rheo.Group, rheo.Batch, rheo.Lease, rheo.Producer)
    for name, method in sorted(vars(owner).items())
    if not name.startswith("_") and callable(method)
]


def parameters(method: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return {name: each for name, each in inspect.signature(method).parameters.items() if name != "self"}


def kind_of(method: str, name: str) -> str:
    return KIND_OF.get(f"{method}.{name}") or KIND_OF[name]


ARGUMENTS = [
    pytest.param(owner, method, name, id=f"{owner.__name__}.{method}({name})")
    for owner, method in METHODS
    for name in parameters(getattr(owner, method))
]


@pytest.fixture
def objects(manual: rheo.Instance) -> dict[type, Any]:
    """One of each class, with which nothing is wrong."""
    manual.append("s", {"a": 1}, id="first")
    batch = manual.fetch("s", "g")
    every = (manual, manual.stream("s"), manual.group("s", "g"), batch, batch[0], manual.producer("s", "g"))
    return {type(each): each for each in every}


def valid(objects: dict[type, Any], method: str, name: str) -> Any:
    lease = objects[rheo.Lease]
    fitting = {
        "stream": "s",
        "group": "g",
        "event_id": "first",
        "payload": 1,
        "items": [1],
        "ms": 1,
        "lease": lease,
        "leases": [lease],
        "partition_count": 1,
    }
    if method.startswith("create_"):
        fitting["stream" if method == "create_stream" else "group"] = "new"
    return fitting[name]


def call(objects: dict[type, Any], owner: type, method: str, name: str, value: Any, **other: Any) -> Any:
    """Calls a method with one argument given, and of the others what is required."""
    bound = getattr(objects[owner], method)
    values = {
        each.name: valid(objects, method, each.name)
        for each in parameters(bound).values()
        if each.default is inspect.Parameter.empty and each.name != name
    }
    values |= {name: value} | other
    by_place = [values.pop(each) for each, what in parameters(bound).items() if what.kind is what.POSITIONAL_ONLY]
    return bound(*by_place, **values)


def test_every_method_is_in_the_tables() -> None:
    assert len(METHODS) > 70
    for owner, method in METHODS:
        for name in parameters(getattr(owner, method)):
            assert kind_of(method, name), (owner, method, name)


@pytest.mark.parametrize(("owner", "method", "name"), ARGUMENTS)
def test_a_wrong_type_is_a_type_error_that_names_the_argument(
    objects: dict[type, Any], owner: type, method: str, name: str
) -> None:
    kind = kind_of(method, name)
    required = parameters(getattr(owner, method))[name].default is inspect.Parameter.empty
    wrong = [*WRONG_TYPES.get(kind, []), *(WRONG_REQUIRED.get(kind, []) if required else [])]
    assert wrong or kind == "anything"
    for value in wrong:
        with pytest.raises(TypeError) as raised:
            call(objects, owner, method, name, value)
        assert name in str(raised.value), value


@pytest.mark.parametrize(("owner", "method", "name"), ARGUMENTS)
def test_a_wrong_value_is_an_error_of_the_contract(
    objects: dict[type, Any], owner: type, method: str, name: str
) -> None:
    kind = kind_of(method, name)
    values = BAD_NAMES if name in NAMES else WRONG_VALUES.get(kind, [])
    if method == "get" and name == "event_id":
        values = []
    for value in values:
        with pytest.raises(rheo.RheoError) as raised:
            call(objects, owner, method, name, value)
        # A malformed name may as well be said not to exist.
        allowed = (rheo.InvalidArgument, rheo.InvalidPartition, rheo.InvalidPartitionCount)
        assert isinstance(raised.value, allowed), value
        assert str(raised.value)


@pytest.mark.parametrize("number", [10**5000, -(10**5000)], ids=["large", "small"])
def test_a_number_that_python_does_not_print_is_wrong_like_any(db: rheo.Instance, number: int) -> None:
    for failing in (
        lambda: db.read("s", limit=number),
        lambda: db.append("s", 1, partition=number),
        lambda: db.append("s", 1, timestamp=number),
        lambda: db.trim("s", before_sequence={0: number}),
    ):
        with pytest.raises((rheo.InvalidArgument, rheo.InvalidPartition)):
            failing()


NUMBERS = [each for each in ARGUMENTS if kind_of(str(each.values[1]), str(each.values[2])) in ("number", "sequences")]


@pytest.mark.parametrize(("owner", "method", "name"), NUMBERS)
def test_whole_numbers_of_other_types_are_numbers(
    objects: dict[type, Any], owner: type, method: str, name: str
) -> None:
    for number in (Index(1), One.ONE):
        # What the number says may be wrong here; that it is one may not be doubted, which would be a TypeError.
        with contextlib.suppress(rheo.RheoError):
            call(objects, owner, method, name, number)


@pytest.mark.parametrize(("owner", "method", "name"), [each for each in ARGUMENTS if each.values[0] is rheo.Instance])
def test_the_form_of_arguments_is_looked_at_before_the_stream(
    objects: dict[type, Any], owner: type, method: str, name: str
) -> None:
    taken = parameters(getattr(owner, method))
    if name == "stream" or "stream" not in taken or kind_of(method, name) == "anything":
        return
    wrong = WRONG_TYPES[kind_of(method, name)]
    with pytest.raises(TypeError, match=name):
        call(objects, owner, method, name, wrong[0], stream="missing")


@pytest.mark.parametrize("method", [name for owner, name in METHODS if owner is rheo.Instance])
def test_a_missing_stream_is_said_before_a_missing_group(objects: dict[type, Any], method: str) -> None:
    taken = parameters(getattr(rheo.Instance, method))
    if not {"stream", "group"} <= taken.keys() or method == "group":
        return
    extra: dict[str, Any] = {"confirm": True} if "confirm" in taken else {}
    extra |= {"from_sequence": 0} if method == "replay" else {}
    extra |= {"all": True} if method == "discard_dead_letters" else {}
    with pytest.raises(rheo.StreamNotFound, match="missing"):
        call(objects, rheo.Instance, method, "group", "missing too", stream="missing", **extra)
    if method != "create_group":
        with pytest.raises(rheo.GroupNotFound, match="missing too"):
            call(objects, rheo.Instance, method, "group", "missing too", **extra)


OPEN = list(parameters(rheo.open))


@pytest.mark.parametrize("name", OPEN)
def test_open_names_the_argument_of_a_wrong_type(name: str) -> None:
    for value in WRONG_TYPES[KIND_OF[name]]:
        with pytest.raises(TypeError) as raised:
            rheo.open(**{name: value})
        assert name in str(raised.value), value


@pytest.mark.parametrize("name", OPEN)
def test_open_refuses_a_wrong_value(name: str) -> None:
    values: dict[str, list[Any]] = {
        "text": ["", "nonsense", "\ud800"],
        "number": TOO_SMALL_OR_LARGE,
        "time": WRONG_VALUES["time"],
    }
    wrong: list[Any] = BAD_NAMES if name == "name" else values.get(KIND_OF[name], [])
    for value in wrong:
        with pytest.raises((rheo.InvalidArgument, rheo.Unsupported)):
            rheo.open(**{name: value})


@pytest.mark.parametrize("value", [3, None, b"x", object()])
def test_get_takes_a_name(value: Any) -> None:
    with pytest.raises(TypeError, match="name"):
        rheo.get(value)
    assert rheo.get("nobody") is None


def test_unknown_and_missing_arguments_are_type_errors(db: rheo.Instance) -> None:
    with pytest.raises(TypeError, match="payload"):
        db.append("s")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="nonsense"):
        db.append("s", 1, nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        db.append("s", 1, "id by place")  # type: ignore[call-arg]


def test_iterables_of_any_kind_are_taken(db: rheo.Instance) -> None:
    db.create_stream("three", 3)
    db.create_group("three", "g", start_after=UserDict({1: 0}), partitions=None)
    events = [db.append("three", number, partition=number, id=f"id {number}") for number in range(3)]
    sets: list[Any] = [[1, 0, 1], (0, 1), {0, 1}, range(2), iter([0, 1]), {0: "x", 1: "y"}, [Index(0), One.ONE]]
    for some in sets:
        leases = db.fetch("three", "g", partitions=some, limit=10)
        assert sorted(lease.event.partition for lease in leases) == [0, 1]
        leases.release()
    some_ids: list[Any] = [["id 0"], ("id 0",), {"id 0"}, iter(["id 0"]), {"id 0": 1}]
    for ids in some_ids:
        assert db.replay("three", "g", event_ids=ids) in (0, 1)
    orders: list[Any] = [[("sequence", "desc")], (["sequence", "desc"],), iter([("sequence", "desc")])]
    for order in orders:
        assert db.query("three", order_by=order) == events
    assert db.fetch("three", "g", partitions=[]).events() == []
    with pytest.raises(LookupError):
        db.fetch("three", "g", partitions=raising())


def raising() -> Iterator[int]:
    yield 0
    raise LookupError


def test_a_query_is_a_mapping_with_the_names_of_its_arguments(db: rheo.Instance) -> None:
    events = db.append_batch("s", [{"n": 1}, {"n": 2}])
    db.fetch("s", "g", limit=10).ack()
    when = events[0].timestamp
    for query in (
        {"where": {"n": 2}},
        UserDict(where={"n": 2}, limit=None),
        {"where": {"n": 2}, "from": when, "to": None},
    ):
        assert db.replay("s", "g", query=query) == 1
        db.fetch("s", "g", limit=10).ack()
    with pytest.raises(rheo.InvalidArgument, match=r'"nonsense".*where, from_'):
        db.replay("s", "g", query={"nonsense": 1})
    with pytest.raises(TypeError, match="limit"):
        db.replay("s", "g", query={"limit": "1"})
    with pytest.raises(TypeError, match="query"):
        db.replay("s", "g", query={1: 1})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "where",
    [{"n": {"near": 1}}, {"n": {"in": 1}}, {"n": {"exists": "yes"}}, {"n": {"prefix": 1}}, {"n": {}}],
)
def test_conditions_that_there_are_not_are_refused(db: rheo.Instance, where: Any) -> None:
    with pytest.raises(rheo.InvalidArgument, match="n"):
        db.query("s", where=where)


def test_conditions_are_refused_with_the_path(db: rheo.Instance) -> None:
    with pytest.raises(TypeError, match=r'^where\["n"\]\["in"\]\[1\] is a'):
        db.query("s", where={"n": {"in": [1, {2}]}})
    with pytest.raises(rheo.InvalidArgument, match=r'^where\["n"\] is'):
        db.query("s", where={"n": float("nan")})


REASONS: list[Any] = [None, "text", "", "\ud800", "a\x00b", {"a": 1}, {1}, object(), ValueError("x"), b"x", 10**5000]


class Unprintable:
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("reason", [*REASONS, Unprintable(), "é" * 5000], ids=lambda reason: type(reason).__name__)
def test_settling_never_fails_because_of_its_reason(db: rheo.Instance, reason: Any) -> None:
    db.append_batch("s", [1, 2])
    retried, rejected = db.fetch("s", "g", limit=2)
    retried.retry(reason)
    rejected.reject(reason)
    [letter] = db.dead_letters("s", "g")
    assert len(letter.reason.encode()) <= 1024


def test_a_reason_is_text_or_json(db: rheo.Instance) -> None:
    db.append_batch("s", [1, 2, 3])
    for lease, reason in zip(db.fetch("s", "g", limit=3), ["why", {"code": [1]}, ValueError("bad")], strict=True):
        lease.reject(reason)
    assert [letter.reason for letter in db.dead_letters("s", "g")] == ["why", '{"code":[1]}', "bad"]


# Times


class Summer(dt.tzinfo):
    """A zone with an hour that comes twice: +2 before, +1 after."""

    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(hours=1 if when is not None and when.fold else 2)

    def dst(self, _: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(0)

    def tzname(self, _: dt.datetime | None) -> str:
        return "summer"


class NoOffset(dt.tzinfo):
    """A zone that does not say how far it is: such a time is naive."""

    def utcoffset(self, _: dt.datetime | None) -> None:
        return None

    dst = tzname = utcoffset


def back(db: rheo.Instance, time: Any) -> rheo.Event:
    event = db.append("s", 1, timestamp=time)
    again = db.get("s", event.id)
    assert again is not None
    assert again.timestamp_us == event.timestamp_us
    return event


@pytest.mark.parametrize("naive", [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=NoOffset())])
def test_a_naive_time_is_refused_with_the_reason(db: rheo.Instance, naive: dt.datetime) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: db.append("s", 1, timestamp=naive),
        lambda: db.query("s", from_=naive),
        lambda: db.query("s", to=naive),
        lambda: db.create_group("s", "new", start_at=naive),
        lambda: db.reset_group("s", "g", confirm=True, start_at=naive),
        lambda: db.replay("s", "g", from_=naive),
        lambda: rheo.open(clock="manual", clock_start=naive),
    ]
    for refused in calls:
        with pytest.raises(rheo.InvalidArgument, match=r"2024-01-01 00:00:00.*without a time zone.*timezone\.utc"):
            refused()


def test_times_of_other_zones_are_the_same_moment(db: rheo.Instance) -> None:
    noon = dt.datetime(2024, 2, 29, 12, 0, 0, 123_456, tzinfo=UTC)
    for minutes in (-720, -210, 0, 330, 345, 840):
        event = back(db, noon.astimezone(dt.timezone(dt.timedelta(minutes=minutes))))
        assert event.timestamp == noon
        assert event.timestamp.tzinfo is UTC
    odd = dt.timezone(dt.timedelta(hours=1, seconds=1, microseconds=7))
    assert back(db, noon.astimezone(odd)).timestamp == noon


def test_an_hour_that_comes_twice_is_told_apart(db: rheo.Instance) -> None:
    first = dt.datetime(2024, 10, 27, 2, 30, tzinfo=Summer())
    second = first.replace(fold=1)
    assert back(db, second).timestamp_us - back(db, first).timestamp_us == 3_600_000_000


def test_every_microsecond_is_exact(db: rheo.Instance) -> None:
    rng = random.Random(1)
    first, last = -62_135_596_800_000_000, 253_402_300_799_999_999
    for micros in [first, last, -1, 0, 1, -999_999, -1_000_001, *(rng.randint(first, last) for _ in range(3_000))]:
        moment = EPOCH + dt.timedelta(microseconds=micros)
        by_time, by_number = db.append_batch("s", [rheo.Append(1, timestamp=moment), rheo.Append(1, timestamp=micros)])
        assert by_time.timestamp_us == by_number.timestamp_us == micros
        assert by_time.timestamp == by_number.timestamp == moment


def test_times_at_the_ends_of_what_python_has(db: rheo.Instance) -> None:
    for edge in (dt.datetime.min, dt.datetime.max):
        assert back(db, edge.replace(tzinfo=UTC)).timestamp == edge.replace(tzinfo=UTC)
    east, west = (dt.timezone(dt.timedelta(hours=hours)) for hours in (1, -1))
    assert back(db, dt.datetime.min.replace(tzinfo=east)).timestamp_us == -62_135_596_800_000_000 - 3_600_000_000
    assert back(db, dt.datetime.max.replace(tzinfo=west)).timestamp_us == 253_402_300_799_999_999 + 3_600_000_000


@pytest.mark.parametrize("micros", [2**63 - 1, -(2**63), 253_402_300_800_000_000, -62_135_596_800_000_001])
def test_a_time_beyond_datetime_is_had_as_a_number(db: rheo.Instance, micros: int) -> None:
    event = back(db, micros)
    assert event.timestamp_us == micros
    with pytest.raises(rheo.InvalidArgument, match=f"{micros}.*beyond what a datetime holds"):
        _ = event.timestamp
    assert repr(event)
    assert pickle.loads(pickle.dumps(event)).timestamp_us == micros


def test_a_subclass_of_datetime_is_a_time(db: rheo.Instance) -> None:
    class Stamp(dt.datetime):
        pass

    assert back(db, Stamp(2024, 1, 1, tzinfo=UTC)).timestamp == dt.datetime(2024, 1, 1, tzinfo=UTC)


def test_the_manual_clock_says_the_times(manual: rheo.Instance) -> None:
    start = EPOCH + dt.timedelta(microseconds=START)
    assert manual.now() == start
    assert manual.append("s", 1).timestamp == start
    [lease] = manual.fetch("s", "g", lease_ms=1_500)
    assert (lease.leased_at, lease.expires_at) == (start, start + dt.timedelta(seconds=1.5))
    assert manual.advance_clock(1_000) == start + dt.timedelta(seconds=1)
    assert lease.renew().expires_at == start + dt.timedelta(seconds=2.5)
    assert manual.renew(lease.token, 60_000) == start + dt.timedelta(seconds=61)
    with rheo.open(clock="manual", clock_start=start.astimezone(dt.timezone(dt.timedelta(hours=5)))) as other:
        assert other.now() == start


# Errors, as the contract's table has them

ERRORS = [
    (101, "stream_not_found", "lost", False),
    (102, "group_not_found", "lost", False),
    (103, "already_exists", "none", False),
    (104, "cursor_not_found", "none", False),
    (201, "stale_lease", "lost", False),
    (202, "receipt_mismatch", "lost", False),
    (301, "invalid_argument", "definite", False),
    (302, "invalid_partition", "none", False),
    (303, "invalid_partition_count", "none", False),
    (304, "invalid_replay_opts", "none", False),
    (305, "confirm_required", "none", False),
    (306, "payload_too_large", "none", False),
    (307, "unsupported", "definite", False),
    (401, "backend_unavailable", "unknown", True),
    (402, "failed", "definite", True),
    (403, "ambiguous", "unknown", False),
    (404, "timeout", "unknown", True),
    (405, "already_draining", "none", False),
    (501, "closed", "unknown", False),
    (502, "forked", "unknown", False),
    (503, "poisoned", "unknown", False),
    (504, "locked", "none", True),
    (505, "corrupt", "none", False),
    (506, "version_mismatch", "none", False),
    (901, "internal", "unknown", False),
]
CLASSES = {code: getattr(rheo, "".join(part.capitalize() for part in code.split("_"))) for _, code, *_ in ERRORS}


@pytest.mark.parametrize(("number", "code", "settle_class", "retriable"), ERRORS, ids=[each[1] for each in ERRORS])
def test_an_exception_says_what_the_contract_says(number: int, code: str, settle_class: str, retriable: bool) -> None:
    cls = CLASSES[code]
    assert issubclass(cls, rheo.RheoError)
    assert (cls.number, cls.code, cls.settle_class, cls.retriable) == (number, code, settle_class, retriable)
    # What may be repeated as it is may be repeated with its id; only `ambiguous` may be repeated with its id alone.
    assert cls.retriable_with_same_id is (retriable or code == "ambiguous")
    assert (cls.__module__, cls.__name__ in rheo.__all__) == ("rheo", True)
    assert cls.__doc__


def test_there_are_no_other_exceptions() -> None:
    assert set(rheo.RheoError.__subclasses__()) == set(CLASSES.values())


def test_exceptions_are_pythons_own_too() -> None:
    value_errors = {"invalid_argument", "invalid_partition", "invalid_partition_count", "invalid_replay_opts"}
    for code, cls in CLASSES.items():
        assert issubclass(cls, ValueError) is (code in value_errors | {"payload_too_large"})
        assert issubclass(cls, TimeoutError) is (code == "timeout")
    assert issubclass(rheo.RheoError, Exception)


@pytest.mark.parametrize("code", CLASSES)
def test_exceptions_pickle_and_copy(code: str) -> None:
    for error in (CLASSES[code]("what failed"), CLASSES[code]("what failed", "why")):
        pickled = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        for same in [*pickled, copy.copy(error), copy.deepcopy(error)]:
            assert type(same) is type(error)
            assert (same.message, same.cause, str(same)) == (error.message, error.cause, str(error))
    assert str(CLASSES[code]("what failed", "why")) == "what failed: why"


def test_raised_exceptions_pickle(db: rheo.Instance) -> None:
    with pytest.raises(rheo.StreamNotFound) as raised:
        db.append("missing", 1)
    same = pickle.loads(pickle.dumps(raised.value))
    assert (type(same), str(same)) == (rheo.StreamNotFound, str(raised.value))
    assert "missing" in str(same)


def raisers(db: rheo.Instance) -> Iterable[tuple[str, Callable[[], Any]]]:
    lease = db.fetch("s", "g")[0]
    lease.ack()
    yield "stream_not_found", lambda: db.read("missing")
    yield "group_not_found", lambda: db.lag("s", "missing")
    yield "already_exists", lambda: db.create_stream("s")
    yield "cursor_not_found", lambda: db.dead_letters("s", "g", after="missing")
    yield "stale_lease", lease.ack
    yield "invalid_argument", lambda: db.fetch("s", "g", lease_ms=0)
    yield "invalid_partition", lambda: db.append("s", 1, partition=1)
    yield "invalid_partition_count", lambda: db.create_stream("new", 0)
    yield "invalid_partition_count", lambda: db.create_stream("new", 65_537)
    yield "invalid_partition_count", lambda: db.create_stream("new", -1)
    yield "invalid_replay_opts", lambda: db.replay("s", "g")
    yield "invalid_replay_opts", lambda: db.replay("s", "g", from_sequence=0, event_ids=[])
    yield "confirm_required", lambda: db.reset_group("s", "g")
    yield "confirm_required", lambda: db.delete_stream("s")
    yield "unsupported", lambda: db.advance_clock(1)


def test_what_fails_raises_its_own_class(db: rheo.Instance) -> None:
    db.append("s", 1)
    for code, failing in raisers(db):
        with pytest.raises(rheo.RheoError) as raised:
            failing()
        assert type(raised.value) is CLASSES[code], code
        assert raised.value.message


def test_many_settles_give_errors_and_raise_none(db: rheo.Instance) -> None:
    db.append_batch("s", [1, 2, 3])
    batch = db.fetch("s", "g", limit=3)
    batch[1].ack()
    results = db.ack_many([batch[0], batch[1].token, "nonsense", batch[2], batch[2]])
    assert [type(result) for result in results] == [
        type(None),
        rheo.StaleLease,
        rheo.InvalidArgument,
        type(None),
        rheo.StaleLease,
    ]
    assert db.ack_many([]) == []


def test_all_operations_of_a_closed_instance_say_so(objects: dict[type, Any]) -> None:
    db = objects[rheo.Instance]
    events = db.query_stream("s")
    db.close()
    db.close()
    assert db.closed
    free = {"confirm", "close", "stream", "group", "capabilities", "payloads", "events", "tokens", "index", "count"}
    extras: dict[str, dict[str, Any]] = {
        "replay": {"from_sequence": 0},
        "discard_dead_letters": {"all": True},
        "trim": {"max_len": 1},
    }
    for owner, method in METHODS:
        if method in free:
            continue
        values = [
            valid(objects, method, name)
            for name, each in parameters(getattr(owner, method)).items()
            if each.default is inspect.Parameter.empty
        ]
        bound = getattr(objects[owner], method)
        many = method.endswith("_many") or (owner is rheo.Batch)
        if many:
            try:
                results = bound(*values)
            except rheo.Closed:
                continue
            assert [type(result) for result in results] == [rheo.Closed], (owner, method)
        else:
            try:
                result = bound(*values, **extras.get(method, {}))
                # What walks lazily says so at its first step.
                if isinstance(result, rheo.EventIterator):
                    next(result)
            except rheo.Closed:
                continue
            pytest.fail(f"{owner.__name__}.{method} does not raise Closed")
    with pytest.raises(rheo.Closed):
        next(events)


def test_every_public_name_is_there() -> None:
    assert all(hasattr(rheo, name) for name in rheo.__all__)
    assert list(rheo.__all__) == sorted(
        set(rheo.__all__), key=lambda name: (not name.isupper(), name[0].islower(), name)
    ) or set(rheo.__all__) <= set(dir(rheo))
    classes = itertools.chain(CLASSES.values(), (getattr(rheo, name) for name in rheo.__all__ if name[0].isupper()))
    assert {each.__module__ for each in classes if isinstance(each, type)} == {"rheo"}
