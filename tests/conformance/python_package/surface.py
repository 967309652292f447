"""The Python package as the scenarios see it: an operation's name and arguments become a call, its result JSON.

The method of the operation's name is called with the arguments as they are; what Python says otherwise has one here.
"""

import asyncio
import base64
import enum
import itertools
import json
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import rheo
import rheo.aio
from python_package.consumption import Consuming, Script, until
from scenarios.values import Json, Mistake, OperationError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SETTLES = {f"{verb}{many}": verb for verb in ("ack", "retry", "reject", "release", "renew") for many in ("", "_many")}
BOUND_VERBS = {
    "delete_stream": "delete",
    "stream_info": "info",
    "group_info": "info",
    "update_group": "update",
    "reset_group": "reset",
    "delete_group": "delete",
}
"""What bound handles call otherwise than the instance does."""


class Way(enum.Enum):
    """How operations are called: every assertion holds in each way."""

    NAMES = "names"
    """By the names of streams and groups; the instance settles the lease."""
    OWN = "own"
    """The same; a lease settles itself, and so does a batch."""
    BOUND = "bound"
    """Through the handles of streams and groups."""
    TOKENS = "tokens"
    """By names; the instance settles the token."""
    AIO_NAMES = "aio-names"
    AIO_OWN = "aio-own"
    AIO_BOUND = "aio-bound"
    AIO_TOKENS = "aio-tokens"

    @property
    def is_aio(self) -> bool:
        """Whether it is asyncio's."""
        return self.value.startswith("aio-")

    @property
    def kind(self) -> str:
        """The way, whichever interface it goes through."""
        return self.value.removeprefix("aio-")

    @property
    def is_bound(self) -> bool:
        """Whether it goes through bound handles."""
        return self.kind == "bound"


class Loop:
    """An event loop on a thread of its own; any thread may have it run something and wait for that."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def result(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """What a coroutine gives."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def end(self) -> None:
        """Stops and closes it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Session:
    """What one scenario has of the package: instances and leases."""

    def __init__(self, url: str, way: Way) -> None:
        self._url, self.way = url, way
        self._stores = itertools.count()
        self._loop = Loop() if way.is_aio else None
        self._surfaces: list[Surface] = []
        self.leases: dict[str, Any] = {}
        """Each by its token."""
        self.batches: dict[tuple[str, ...], Any] = {}
        """What a fetch gave, by the tokens."""
        self.producers: dict[str, Any] = {}
        self.consumers: dict[str, Consuming] = {}

    def open(self, url: str | None, options: dict[str, Json]) -> "Surface":
        """Opens an instance; without a URL on another empty store of the kind under test."""
        if url is None:
            url = self._url.replace("{number}", str(next(self._stores)))
        module = rheo.aio if self.way.is_aio else rheo
        return self._kept(self.done(lambda: opened(module.open, url, options)))

    def find(self, name: str) -> "Surface | None":
        """The open instance of this name."""
        found = self.done(lambda: (rheo.aio if self.way.is_aio else rheo).get(name))
        return None if found is None else self._kept(found)

    def done(self, make: Callable[[], Any]) -> Any:
        """What a call gives, awaited where it is asyncio's."""
        try:
            return self._loop.result(awaited(make)) if self._loop else make()
        except rheo.RheoError as error:
            raise OperationError(error_view(error)) from error
        except TypeError as error:
            # In Python a value of the wrong type is this; the contract knows no types.
            if " takes " not in str(error) or "argument" in str(error):
                raise
            raise OperationError(error_view(rheo.InvalidArgument(str(error)))) from error

    def close(self) -> None:
        """Closes everything. Whether that works is for scenarios of their own."""
        for each in (*self.producers.values(), *(consuming.consumer for consuming in self.consumers.values())):
            with suppress(OperationError):
                self.done(lambda each=each: each.close(timeout_ms=0))  # type: ignore[misc]
        for surface in self._surfaces:
            with suppress(OperationError):
                surface.call("close", {})

    def free(self) -> None:
        """Ends the loop. No call may run any more."""
        if self._loop:
            self._loop.end()

    def _kept(self, instance: Any) -> "Surface":
        self._surfaces.append(Surface(self, instance))
        return self._surfaces[-1]


def opened(open_: Callable[..., Any], url: str, options: dict[str, Json]) -> Any:
    """Opens; an option that there is not is a mistake of the caller's, as in any language that names arguments."""
    try:
        return open_(url, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise rheo.InvalidArgument(str(error)) from None


async def awaited(make: Callable[[], Any]) -> Any:
    """What a call gives: an awaitable is awaited, an asynchronous iterator exhausted."""
    result = make()
    if hasattr(result, "__aiter__") and not isinstance(result, rheo.aio.Producer):
        return [element async for element in result]
    return await result if hasattr(result, "__await__") else result


class Surface:
    """An instance and how it is called. Any thread may call."""

    def __init__(self, session: Session, instance: Any) -> None:
        self._session, self._instance = session, instance
        self._bound: dict[tuple[str, ...], Any] = {}
        self._own: set[str] = set()
        """The tokens of leases that this instance's fetches gave."""

    def call(self, op: str, args: dict[str, Json]) -> Json:
        """Calls an operation."""
        args = dict(args)
        if op in SETTLES:
            return self._settle(op, args)
        method: Callable[[dict[str, Json]], Json] | None = getattr(self, f"op_{op}", None)
        return method(args) if method else view(self._invoke(op, args))

    def view(self) -> Json:
        """What `get_instance` gives."""
        return {"name": self._instance.name}

    # What Python does otherwise

    def op_inject(self, args: dict[str, Json]) -> Json:
        fault = ":".join(str(args.pop(name)) for name in ("fault", "operation", "count"))
        return view(self._invoke("create_stream", {"stream": f"flaky!{fault}", **args}))

    def op_advance_clock(self, args: dict[str, Json]) -> Json:
        self._invoke("advance_clock", args)

    def op_append(self, args: dict[str, Json]) -> Json:
        return view(self._invoke("append", with_content(args)))

    def op_append_batch(self, args: dict[str, Json]) -> Json:
        items = [rheo.Append(**with_content(dict(item))) for item in args.pop("items")]
        # An item without options of its own may be the payload itself.
        plain = dict.fromkeys(("id", "key", "type", "metadata", "timestamp", "partition", "encoding"))
        for index, item in enumerate(items):
            if all(getattr(item, name) is None for name in plain):
                items[index] = item.payload
        return view(self._invoke("append_batch", {**args, "items": items}))

    def op_query_page(self, args: dict[str, Json]) -> Json:
        if "order_by" in args:
            # It has no such parameter at all.
            raise OperationError(error_view(rheo.InvalidArgument("query_page takes no order_by")))
        return view(self._invoke("query_page", args))

    def op_query_stream(self, args: dict[str, Json]) -> Json:
        if "order_by" in args:
            raise OperationError(error_view(rheo.InvalidArgument("query_stream takes no order_by")))
        return view(self._invoke("query_stream", args, list))

    def op_fetch(self, args: dict[str, Json]) -> Json:
        views = self._taken(self._invoke("fetch", args))
        self._own.update(view["token"] for view in views)
        return views

    def _taken(self, batch: Any) -> list[dict[str, Json]]:
        """Keeps leases for their settles."""
        views = []
        for lease in batch:
            views.append(view(lease))
            self._session.leases[views[-1]["token"]] = lease
        self._session.batches[tuple(view["token"] for view in views)] = batch
        return views

    # Producers and consumers

    def op_start_producer(self, args: dict[str, Json]) -> None:
        name = args.pop("as")
        self._session.producers[name] = self._invoke("producer", args)

    def op_start_consumer(self, args: dict[str, Json]) -> None:
        session = self._session
        name, script = args.pop("as"), Script(args.pop("outcomes", []))
        if args.get("batch_size") == 1:
            # Whoever names it gets lists.
            del args["batch_size"]
        handler = script.handler("batch_size" in args, session.way.is_aio or session.way.kind == "tokens")
        if session.way.kind == "own":
            begin = self._invoke("consumer", args)
            consumer = session.done(lambda: begin(handler))
        else:
            consumer = self._invoke("consumer", {**args, "handler": handler})
        session.consumers[name] = Consuming(consumer, script)

    def op_next(self, args: dict[str, Json]) -> Json:
        producer = self._session.producers[args.pop("producer")]
        batch = self._session.done(lambda: producer.next(**args))
        return "stopped" if batch is None else self._taken(batch)

    def op_fail(self, args: dict[str, Json]) -> None:
        producer, lease = self._session.producers[args.pop("producer")], self._lease(args.pop("lease"))
        self._session.done(lambda: producer.fail(lease, **args))

    def op_confirm(self, args: dict[str, Json]) -> Json:
        producer = self._session.producers[args.pop("producer")]
        leases = [self._lease(lease) for lease in args.pop("leases")]
        return self._session.done(lambda: producer.confirm(leases, **args))

    def _running(self, args: dict[str, Json]) -> Any:
        """The producer or consumer that is named."""
        if "producer" in args:
            return self._session.producers[args.pop("producer")]
        return self._session.consumers[args.pop("consumer")].consumer

    def op_inflight_count(self, args: dict[str, Json]) -> Json:
        running = self._running(args)
        return self._session.done(lambda: running.inflight_count)

    def op_drain(self, args: dict[str, Json]) -> Json:
        running, args = self._running(args), {"timeout_ms": 0, **args}
        return self._session.done(lambda: running.drain(**args))

    def op_close_producer(self, args: dict[str, Json]) -> None:
        running, args = self._running(args), {"timeout_ms": 0, **args}
        self._session.done(lambda: running.close(**args))

    op_close_consumer = op_close_producer

    def op_handled(self, args: dict[str, Json]) -> Json:
        return self._session.consumers[args["consumer"]].script.handled(args["count"])

    def op_settled(self, args: dict[str, Json]) -> None:
        consumer = self._session.consumers[args["consumer"]].consumer
        until(lambda: consumer.inflight_count == 0, "everything is settled")

    def op_ended(self, args: dict[str, Json]) -> None:
        consumer = self._session.consumers[args["consumer"]].consumer
        if not self._session.done(lambda: consumer.wait(timeout_ms=30_000)):
            raise Mistake("after 30 seconds the consumer had not ended")

    def _settle(self, op: str, args: dict[str, Json]) -> Json:
        session, kind = self._session, self._session.way.kind
        is_many = op != SETTLES[op]
        given = args.pop("leases" if is_many else "lease")
        producer = session.producers[args.pop("producer")] if "producer" in args else None
        subject = producer or self._settler(given if is_many else [given], args)
        keywords = {name: args.pop(name) for name in ("reason", "delay_ms", "lease_ms") if name in args}
        if args:
            raise Mistake(f"{op} has no argument {min(args)!r}")
        if not is_many:
            lease = self._lease(given)
            # One of a producer's settles through it.
            is_own = token_of(given) in self._own if producer is None else True
            if kind == "own" and not isinstance(lease, str) and is_own:
                return renewal(session.done(lambda: getattr(lease, op)(**keywords)))
            return renewal(session.done(lambda: getattr(subject, op)(lease, **keywords)))
        leases = [self._lease(lease) for lease in given]
        whole = session.batches.get(tuple(token_of(lease) for lease in given))
        is_own = all(token_of(lease) in self._own for lease in given) if producer is None else True
        if kind == "own" and whole is not None and is_own:
            return [renewal(result) for result in session.done(lambda: getattr(whole, SETTLES[op])(**keywords))]
        if kind == "bound" and whole is not None:
            leases = whole
        return [renewal(result) for result in session.done(lambda: getattr(subject, op)(leases, **keywords))]

    def _lease(self, given: Json) -> Any:
        """What is passed for a lease: itself, or its token."""
        if self._session.way.kind == "tokens" or isinstance(given, str):
            return token_of(given)
        return self._session.leases[token_of(given)]

    def _settler(self, leases: list[Json], args: dict[str, Json]) -> Any:
        """What settles: in the bound way the handle of the group that is named, or that all the leases are of."""
        if self._session.way.is_bound:
            groups = {(lease["stream"], lease["group"]) for lease in leases if isinstance(lease, dict)}
            if "stream" in args:
                groups = {(args.pop("stream"), args.pop("group"))}
            if len(groups) == 1 and ((bool(leases) and all(isinstance(lease, dict) for lease in leases)) or not leases):
                return self._handle(*groups.pop())
            if len(groups) == 1 and all(isinstance(lease, str) for lease in leases):
                return self._handle(*groups.pop())
        return self._instance

    # How a call is made

    def _invoke(self, op: str, args: dict[str, Json], then: Callable[[Any], Any] = lambda result: result) -> Any:
        """Calls an operation of the instance, or in the bound way that of a stream or group."""
        if "from" in args:
            args["from_"] = args.pop("from")
        for name in ("start_after", "from_sequence", "before_sequence"):
            if isinstance(args.get(name), dict):
                args[name] = {int(partition): sequence for partition, sequence in args[name].items()}
        subject, verb = self._instance, op
        if self._session.way.is_bound:
            bound_verb = BOUND_VERBS.get(op, op)
            for handle, names in ((rheo.Group, ("stream", "group")), (rheo.Stream, ("stream",))):
                if hasattr(handle, bound_verb) and args.keys() >= set(names) and not op.startswith("create_"):
                    subject, verb = self._handle(*(args.pop(name) for name in names)), bound_verb
                    break
        method = getattr(subject, verb, None)
        if method is None:
            raise Mistake(f"there is no operation {op!r}")

        def make() -> Any:
            try:
                return method(**args)
            except TypeError as error:
                if "unexpected keyword argument" in str(error):
                    raise Mistake(f"{op}: {error}") from error
                raise

        result = self._session.done(make)
        # A plain iterator is gone over here, where its errors are looked for too.
        return self._session.done(lambda: then(result))

    def _handle(self, *names: str) -> Any:
        """The bound handle of a stream or a group, made at its first use."""
        if names not in self._bound:
            make = self._instance.group if len(names) == 2 else self._instance.stream
            self._bound[names] = self._session.done(lambda: make(*names))
        return self._bound[names]


def token_of(lease: Json) -> str:
    """The token of what a settle is given: a whole lease, or the token itself."""
    token = lease.get("token") if isinstance(lease, dict) else lease
    if not isinstance(token, str):
        raise Mistake(f"{lease!r} is neither a lease nor a token")
    return token


def with_content(args: dict[str, Json]) -> dict[str, Json]:
    """The arguments of an append with the payload as Python gives it."""
    match args.pop("payload"):
        case {"json": value}:
            return {**args, "payload": value}
        case {"text": str(characters)}:
            return {**args, "payload": characters.encode(), "encoding": "json"}
        case {"bytes_text": str(characters)}:
            return {**args, "payload": characters.encode()}
        case {"bytes_hex": str(digits), **rest}:
            return {**args, "payload": bytes.fromhex(digits), **rest}
        case other:
            raise Mistake(f"{other!r} is no payload")


# What the package gives, as JSON with the contract's field names


def view(value: Any) -> Json:
    """A result as the scenarios look at it."""
    match value:
        case None | bool() | int() | str():
            return value
        case datetime():
            return micros(value)
        case list() | rheo.EventIterator():
            return [view(element) for element in value]
        case rheo.Event():
            return event_view(value)
        case rheo.Lease() | rheo.aio.Lease():
            return lease_view(value)
        case rheo.RheoError():
            return error_view(value)
        case rheo.Lag():
            partitions = {str(partition): fields(at) for partition, at in value.partitions.items()}
            return {**fields(value), "partitions": partitions}
        case rheo.GroupInfo():
            shown = fields(value)
            options = {name: shown.pop(name) for name in ("max_attempts", "max_deliveries", "ordering")}
            oldest = shown.pop("oldest_unsettled_at_us")
            return {**shown, "oldest_unsettled_at": oldest, "options": options}
        case rheo.DeadLetter():
            places = ("stream", "event_id", "partition", "sequence")
            return {**fields(value), **{name: getattr(value, name) for name in places}}
        case dict():
            return {name: view(field) for name, field in value.items()}
        case _:
            return fields(value)


def fields(value: Any) -> dict[str, Json]:
    """The fields of a plain value."""
    return {name: view(getattr(value, name)) for name in value.__dataclass_fields__ if name != "partitions"} | (
        {"partitions": view(value.partitions)} if isinstance(value, rheo.StreamInfo) else {}
    )


def event_view(event: rheo.Event) -> dict[str, Json]:
    names = "id stream partition sequence key type metadata encoding deduplicated"
    shown = {name: getattr(event, name) for name in names.split()}
    payload = bytes(event.data)
    try:
        shown["payload"] = payload.decode() if event.encoding == "json" else base64.b64encode(payload).decode()
    except UnicodeDecodeError:
        shown["payload"] = base64.b64encode(payload).decode()
    if event.encoding == "json":
        check_decoding(event, payload)
    return {**shown, "timestamp": event.timestamp_us}


def check_decoding(event: rheo.Event, payload: bytes) -> None:
    """The lazily decoded payload is what the standard library reads of the bytes."""
    try:
        expected = json.loads(payload)
    except ValueError:
        return
    if event.payload != expected:
        raise Mistake(f"{payload!r} was decoded as {event.payload!r}")


def lease_view(lease: Any) -> dict[str, Json]:
    names = "lease_id receipt stream group consumer_id attempt lease_ms token"
    shown = {name: getattr(lease, name) for name in names.split()}
    times = {name: micros(getattr(lease, name)) for name in ("leased_at", "expires_at")}
    return {**shown, **times, "event": event_view(lease.event)}


def renewal(result: Any) -> Json:
    """What a settle gives: nothing, when the lease expires now, or an error."""
    match result:
        case None | rheo.RheoError():
            return view(result)
        case datetime():
            return {"expires_at": micros(result)}
        case _:
            return {"expires_at": micros(result.expires_at)}


def error_view(error: rheo.RheoError) -> dict[str, Json]:
    retriable = "yes" if error.retriable else "with_same_id" if error.retriable_with_same_id else "no"
    return {
        "code": error.code,
        "number": error.number,
        "message": error.message,
        "cause": error.cause,
        "retriable": retriable,
        "settle_class": error.settle_class,
    }


def micros(time: datetime) -> int:
    """Microseconds since the Unix epoch."""
    return (time - EPOCH) // timedelta(microseconds=1)
