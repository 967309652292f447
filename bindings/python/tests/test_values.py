"""Values: how they show, compare, travel and end."""

import copy
import dataclasses
import datetime as dt
import pickle
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import rheo


@pytest.fixture
def leases(manual: rheo.Instance) -> rheo.Batch:
    manual.append("s", {"a": 1}, type="placed", key="k")
    manual.append("s", b"x" * 1_000)
    return manual.fetch("s", "g", limit=2)


# repr


def test_handles_and_events_show_what_they_are(manual: rheo.Instance, leases: rheo.Batch) -> None:
    assert repr(manual) == "<rheo.Instance, open>"
    assert repr(manual.stream("s")) == '<rheo.Stream "s">'
    assert repr(manual.group("s", "g")) == '<rheo.Group "g" of "s">'
    assert repr(leases) == '<rheo.Batch of 2 leases of "s" for "g">'
    assert repr(manual.fetch("s", "g")) == "<rheo.Batch of no leases>"
    assert repr(leases[0]) == '<rheo.Lease of "s" partition 0 sequence 1 for "g", attempt 1>'
    assert repr(leases[0].event) == '<rheo.Event "s" partition 0 sequence 1 type="placed" key="k", 7 bytes of json>'
    assert repr(leases[1].event) == '<rheo.Event "s" partition 0 sequence 2, 1000 bytes of bytes>'
    assert repr(manual.query_stream("s")) == "<rheo.EventIterator>"
    manual.close()
    assert repr(manual) == "<rheo.Instance, closed>"
    assert repr(leases[0])


def test_a_named_instance_shows_its_name() -> None:
    with rheo.open(name="shown") as named:
        assert repr(named) == '<rheo.Instance "shown", open>'
        assert named.name == "shown"
    with rheo.open() as nameless:
        assert nameless.name is None


def test_an_append_shows_what_it_was_made_of() -> None:
    assert repr(rheo.Append({"a": 1})) == "rheo.Append({'a': 1})"
    shown = repr(rheo.Append(b"x", id="i", key="k", type="t", metadata={}, timestamp=1, partition=0, encoding="json"))
    assert (
        shown == "rheo.Append(b'x', id='i', key='k', type='t', metadata={}, timestamp=1, partition=0, encoding='json')"
    )
    assert eval(shown).id == "i"


def test_errors_show_their_text() -> None:
    assert "gone" in repr(rheo.StaleLease("gone"))


def values(db: rheo.Instance) -> Iterator[Any]:
    db.append_batch("s", [1, 2, 3])
    db.fetch("s", "g")[0].reject("why")
    yield from (db.capabilities(), db.lag("s", "g"), db.lag("s", "g").partitions[0], db.group_info("s", "g"))
    yield from (db.stream_info("s"), db.stream_info("s").partitions[0], db.stream_info("s").partitions[0].held_by)
    yield from (db.dead_letters("s", "g")[0], db.query_page("s", limit=1), db.read("s")[0])
    yield rheo.TelemetryEvent("append", "s", None, 0, 1, 0, 0.5, None)


def test_every_value_shows_itself_shortly(db: rheo.Instance) -> None:
    for value in values(db):
        assert type(value).__name__ in repr(value)
        assert len(repr(value)) < 800, repr(value)


# Equality and hash


def test_events_are_equal_by_what_they_say(db: rheo.Instance) -> None:
    event = db.append("s", {"a": 1}, id="same")
    again = db.read("s")[0]
    other = db.append("s", {"a": 1})
    assert event == again
    assert not event != again  # noqa: SIM202
    assert hash(event) == hash(again)
    assert event != other
    assert not event == other  # noqa: SIM201
    assert len({event, again, other}) == 2
    assert {event: "found"}[again] == "found"
    assert db.fetch("s", "g")[0].event == event


@pytest.mark.parametrize("other", [1, None, "x", object(), ("s", 0, 1)])
def test_an_event_is_no_other_thing(db: rheo.Instance, other: Any) -> None:
    event = db.append("s", 1)
    assert (event == other) is False
    assert (other == event) is False
    assert (event != other) is True
    assert event not in [other]


def test_the_other_side_may_know_how_to_compare(db: rheo.Instance) -> None:
    class Anything:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    assert (db.append("s", 1) == Anything()) is True


def test_events_have_no_order(db: rheo.Instance) -> None:
    first, second = db.append_batch("s", [1, 2])
    with pytest.raises(TypeError):
        _ = first < second  # type: ignore[operator]


def test_plain_values_are_equal_by_their_fields(db: rheo.Instance) -> None:
    first, second = list(values(db)), None
    assert [copy.copy(value) for value in first] == first
    assert db.lag("s", "g") == db.lag("s", "g")
    assert db.capabilities() == db.capabilities()
    assert second not in first


def test_plain_values_do_not_change(db: rheo.Instance) -> None:
    for value in values(db):
        names = (
            [field.name for field in dataclasses.fields(value)]
            if dataclasses.is_dataclass(value)
            else ["payload", "id"]
        )
        for name in [*names, "other"]:
            with pytest.raises((AttributeError, TypeError)):
                setattr(value, name, 1)


@pytest.mark.parametrize("kind", ["Instance", "Stream", "Group", "Batch", "Lease", "Event", "EventIterator"])
def test_nobody_makes_or_changes_a_handle(db: rheo.Instance, kind: str) -> None:
    with pytest.raises(TypeError):
        getattr(rheo, kind)()
    with pytest.raises(AttributeError):
        db.other = 1  # type: ignore[attr-defined]


# Pickling


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_events_pickle_as_they_are(db: rheo.Instance, protocol: int) -> None:
    events = [
        db.append("s", {"a": [1, "ü"]}, id="i", key="k\n\x00", type="t", metadata={"m": 1}, timestamp=-1),
        db.append("s", b"\x00\xff"),
        db.append("s", b"no json", encoding="json"),
        db.append("s", "again", id="i"),
    ]
    assert events[3].deduplicated
    for event in events:
        for same in (pickle.loads(pickle.dumps(event, protocol)), copy.copy(event), copy.deepcopy(event)):
            assert same == event
            assert hash(same) == hash(event)
            fields = [
                "id",
                "stream",
                "partition",
                "sequence",
                "timestamp_us",
                "key",
                "type",
                "metadata",
                "encoding",
                "data",
            ]
            assert [getattr(same, name) for name in fields] == [getattr(event, name) for name in fields]
            assert same.deduplicated is event.deduplicated
    assert pickle.loads(pickle.dumps(events[0], protocol)).payload == {"a": [1, "ü"]}


def test_an_event_outlives_its_instance_in_a_pickle(db: rheo.Instance) -> None:
    data = pickle.dumps(db.append("s", "kept"))
    db.close()
    assert pickle.loads(data).payload == "kept"


def test_a_pickle_that_is_none_is_refused() -> None:
    make = pickle.loads(pickle.dumps(rheo.open)).__module__
    assert make == "rheo"
    from rheo._rheo import event_from_parts

    for place, labels, content in [
        (("s", 0, 1), ("", 0, None, None), ("{}", "json", b"", False)),
        (("s", 0, 1), ("x" * 300, 0, None, None), ("{}", "json", b"", False)),
        (("s", 0, 1), ("x", 0, "k" * 2000, None), ("{}", "json", b"", False)),
        (("s", 0, 1), ("x", 0, None, ""), ("{}", "json", b"", False)),
        (("s", 0, 1), ("x", 0, None, None), ("{}", "xml", b"", False)),
    ]:
        with pytest.raises(rheo.InvalidArgument):
            event_from_parts(place, labels, content)


def test_plain_values_pickle(db: rheo.Instance) -> None:
    for value in values(db):
        assert pickle.loads(pickle.dumps(value)) == value


def test_leases_do_not_pickle_and_say_what_does(leases: rheo.Batch) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match=r"lease\.token.*lease\.event"):
            pickle.dumps(leases[0], protocol)


def test_batches_do_not_pickle_and_say_what_does(leases: rheo.Batch) -> None:
    with pytest.raises(TypeError, match="tokens"):
        pickle.dumps(leases)


@pytest.mark.parametrize("protocol", [0, 1, 2, pickle.HIGHEST_PROTOCOL])
def test_handles_do_not_pickle_and_say_what_to_do(db: rheo.Instance, protocol: int) -> None:
    for handle in (db, db.stream("s"), db.group("s", "g")):
        with pytest.raises(TypeError, match="open"):
            pickle.dumps(handle, protocol)


def test_an_event_with_functions_of_its_own_does_not_pickle() -> None:
    with rheo.open(dumps=repr) as db:
        db.create_stream("s")
        with pytest.raises(TypeError, match=r"dumps= or loads=.*event\.payload"):
            pickle.dumps(db.append("s", 1))


def test_a_token_settles_elsewhere(db: rheo.Instance) -> None:
    db.append_batch("s", [1, 2])
    tokens = db.fetch("s", "g", limit=2).tokens()
    assert [type(token) for token in tokens] == [str, str]
    db.ack(tokens[0])
    assert db.group("s", "g").ack_many(tokens)[1] is None
    assert db.lag("s", "g").lag == 0


# Batches


def test_a_batch_is_a_sequence(leases: rheo.Batch) -> None:
    assert isinstance(leases, Sequence) or hasattr(leases, "__getitem__")
    listed = list(leases)
    assert [lease.event.sequence for lease in listed] == [1, 2]
    assert len(leases) == 2
    assert bool(leases)
    assert [leases[at].event.sequence for at in (0, 1, -1, -2)] == [1, 2, 2, 1]
    assert [[lease.event.sequence for lease in leases[part]] for part in (slice(1, None), slice(None, None, -1))] == [
        [2],
        [2, 1],
    ]
    assert leases[5:] == []
    assert [lease.lease_id for lease in reversed(leases)] == [lease.lease_id for lease in reversed(listed)]
    with pytest.raises(TypeError):
        _ = leases["x"]  # type: ignore[call-overload]


@pytest.mark.parametrize("at", [2, -3, 2**31, 2**63, -(2**63) - 1, 10**30])
def test_a_place_outside_of_a_batch_is_an_index_error(leases: rheo.Batch, at: int) -> None:
    with pytest.raises(IndexError):
        _ = leases[at]


def test_an_empty_batch_is_false(db: rheo.Instance) -> None:
    batch = db.fetch("s", "g")
    assert not batch
    assert (list(batch), batch.payloads(), batch.events(), batch.tokens(), batch.ack()) == ([], [], [], [], [])


def test_a_batch_gives_all_at_once(manual: rheo.Instance, leases: rheo.Batch) -> None:
    assert leases.payloads() == [{"a": 1}, b"x" * 1_000]
    assert leases.events() == [lease.event for lease in leases]
    assert leases.tokens() == [lease.token for lease in leases]
    renewed = [lease for lease in leases.renew(60_000) if isinstance(lease, rheo.Lease)]
    assert [lease.expires_at for lease in renewed] == [manual.now() + dt.timedelta(minutes=1)] * 2
    assert [lease.lease_id for lease in renewed] == [lease.lease_id for lease in leases]
    assert leases.ack() == [None, None]
    assert [type(result) for result in leases.ack()] == [rheo.StaleLease] * 2
    assert [type(result) for result in leases.renew()] == [rheo.StaleLease] * 2


# Named instances


def test_a_name_is_found_from_another_thread() -> None:
    with rheo.open(name="found") as db, ThreadPoolExecutor(1) as pool:
        db.create_stream("s")
        found = pool.submit(rheo.get, "found").result(10)
        assert found is not None
        pool.submit(found.append, "s", 1).result(10)
        assert [event.payload for event in db.read("s")] == [1]
        with pytest.raises(rheo.AlreadyExists, match="found"):
            rheo.open(name="found")
    assert rheo.get("found") is None
    assert found.closed
    rheo.open(name="found").close()


def test_closing_what_was_found_closes_the_instance() -> None:
    db = rheo.open(name="closed by another")
    found = rheo.get("closed by another")
    assert found is not None
    found.close()
    with pytest.raises(rheo.Closed):
        db.ping()


def test_one_of_many_threads_gets_the_name(short_turns: None) -> None:  # noqa: ARG001
    barrier = threading.Barrier(8)

    def race() -> rheo.Instance | None:
        barrier.wait(10)
        try:
            return rheo.open(name="raced for")
        except rheo.AlreadyExists:
            return None

    with ThreadPoolExecutor(8) as pool:
        opened = [each.result(10) for each in [pool.submit(race) for _ in range(8)]]
    [winner] = [each for each in opened if each is not None]
    winner.close()


# Context managers


def test_leaving_closes() -> None:
    with rheo.open() as db:
        assert not db.closed
    assert db.closed
    with db as same:
        assert same is db
    assert db.closed


def test_leaving_by_an_error_closes_and_lets_it_through() -> None:
    with pytest.raises(LookupError, match="mine"):
        with rheo.open() as db:
            raise LookupError("mine")
    assert db.closed


def test_times_are_in_utc(db: rheo.Instance) -> None:
    event = db.append("s", 1)
    [lease] = db.fetch("s", "g")
    info = db.group_info("s", "g")
    for time in (event.timestamp, lease.leased_at, lease.expires_at, db.now(), info.oldest_unsettled_at):
        assert isinstance(time, dt.datetime)
        assert time.utcoffset() == dt.timedelta(0)
