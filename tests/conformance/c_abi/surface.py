"""The C library as the scenarios see it: an operation's name and arguments become calls, their results JSON.

`rheo_instance_OPERATION` is called with the arguments that its parameters name; what is left over are options for its
builder. Only what C does otherwise has a method here.
"""

import enum
import itertools
import struct
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from scenarios.values import Broken, Json, Mistake, OperationError, compact, token_parts

from .consumption import Consuming, until
from .librheo import Handle, Library, Unfit
from .options import built
from .views import Views, text


class Way(enum.Enum):
    """How operations are called: every assertion holds in each way."""

    NAMES = "names"
    """Streams and groups by their names, settles by the lease, options by their typed setters."""
    BOUND = "bound"
    """Through the handles of streams and groups; what settles all leases of a fetch takes their list."""
    TOKENS = "tokens"
    """What can be said as text is text: settles by the token, options by name and text."""


DEFAULTS: dict[str, Json] = {
    "confirm": False,
    "after": 0,
    "limit": 100,
    "partition": 0,
    "partitions": None,
    "cursor": None,
    "reason": None,
    "delay_ms": 0,
    "lease_ms": None,
    "most": 1,
    "timeout_ms": 0,
    "interrupt": None,
    "context": None,
    "free_context": None,
}
"""Arguments that an operation may leave out and a C function may not."""

BOUND_VERBS = {
    "delete_stream": "delete",
    "stream_info": "get_info",
    "group_info": "get_info",
    "update_group": "update",
    "reset_group": "reset",
    "delete_group": "delete",
}
"""What bound handles call otherwise than the instance does."""

SETTLES = {f"{verb}{many}": verb for verb in ("ack", "retry", "reject", "release", "renew") for many in ("", "_many")}


class Surface:
    """An instance and how it is called. Any thread may call."""

    def __init__(self, library: Library, instance: Handle, way: Way, leases: "Leases") -> None:
        self._c, self._instance, self._way, self._leases = library, instance, way, leases
        self._views = Views(library)
        self._bound: dict[tuple[str, ...], Handle] = {}
        self._producers: dict[str, Handle] = {}
        self._consumers: dict[str, Consuming] = {}
        self._lock = threading.Lock()

    def call(self, op: str, args: dict[str, Json]) -> Json:
        """Calls an operation."""
        method: Callable[[dict[str, Json]], Json] | None = getattr(self, f"op_{op}", None)
        args = dict(args)
        try:
            if op in SETTLES or op == "fail":
                return self._settle(op, args)
            return method(args) if method else self._views.of(self._invoke(op, args))
        except Unfit as error:
            raise Mistake(f"{op}: {error}") from error

    def view(self) -> Json:
        """What `get_instance` gives."""
        return {"name": text(self._c.rheo_instance_name(self._instance))}

    def close_running(self) -> None:
        """Closes every producer and consumer. Whether that works is for scenarios of their own."""
        for noun, names in (("consumer", self._consumers), ("producer", self._producers)):
            for name in names:
                with suppress(OperationError):
                    self._on(noun, name, "close", {})

    def free(self) -> None:
        """Frees every handle."""
        for consuming in self._consumers.values():
            consuming.free()
        for handle in (*self._producers.values(), *self._bound.values(), self._instance):
            handle.free()

    # What C does otherwise

    def op_inject(self, args: dict[str, Json]) -> Json:
        fault = ":".join(str(take(args, name)) for name in ("fault", "operation", "count"))
        return self._invoke("create_stream", {"stream": f"flaky!{fault}", **args})

    def op_advance_clock(self, args: dict[str, Json]) -> Json:
        self._invoke("advance_clock", args)

    def op_append(self, args: dict[str, Json]) -> Json:
        position, event = self._invoke("append", with_content(args))
        view = self._views.of(event)
        if view != {**view, **position}:
            raise Broken(f"the position is {position}, the event {view}")
        return view

    def op_append_batch(self, args: dict[str, Json]) -> Json:
        with self._c.rheo_batch_new() as batch:
            for item in take(args, "items"):
                self._call(self._c.rheo_batch_add, [batch], with_content(dict(item)))
            return self._views.of(self._invoke("append_batch", {**args, "batch": batch}))

    def op_get(self, args: dict[str, Json]) -> Json:
        return self._views.of(self._invoke("get_event", args))

    def op_query_page(self, args: dict[str, Json]) -> Json:
        with self._invoke("query_page", args) as page:
            next_cursor = text(self._c.rheo_event_list_next_cursor(page))
            return {"events": self._views.event_list(page), "next_cursor": next_cursor}

    def op_fetch(self, args: dict[str, Json]) -> Json:
        return self._seen(self._leases.own(self._invoke("fetch", args)))

    def _seen(self, leases: Handle) -> Json:
        """The views of the leases in a list, which are kept for their settles."""
        c, views = self._c, []
        for at in range(c.rheo_lease_list_len(leases)):
            lease = c.rheo_lease_list_get(leases, at)
            views.append(self._views.lease(lease))
            self._leases.leases[views[-1]["token"]] = self._leases.own(c.rheo_lease_clone(lease))
        if self._way is Way.BOUND:
            self._leases.lists[tuple(view["token"] for view in views)] = leases
        else:
            leases.free()  # The leases outlive it.
        return views

    def op_discard_dead_letters(self, args: dict[str, Json]) -> Json:
        everything = args.pop("all", False)
        return self._invoke("discard_all_dead_letters" if everything else "discard_dead_letters", args)

    # Producers and consumers

    def op_start_producer(self, args: dict[str, Json]) -> Json:
        name = take(args, "as")
        self._producers[name] = self._invoke("producer", args)

    def op_start_consumer(self, args: dict[str, Json]) -> Json:
        name, consuming = take(args, "as"), Consuming(self._c, args.pop("outcomes", []))
        consuming.consumer = self._invoke("consumer", {**args, "handler": consuming.handler})
        self._consumers[name] = consuming

    def op_next(self, args: dict[str, Json]) -> Json:
        leases, stopped = self._on("producer", take(args, "producer"), "next", args)
        seen = self._seen(self._leases.own(leases))
        return "stopped" if stopped else seen

    def op_confirm(self, args: dict[str, Json]) -> Json:
        lease_ids = [token_parts(token_of(lease))["lease_id"] for lease in take(args, "leases")]
        return self._on("producer", take(args, "producer"), "confirm", {**args, "lease_ids": lease_ids})

    def op_inflight_count(self, args: dict[str, Json]) -> Json:
        return self._on_either("inflight_count", args)

    def op_drain(self, args: dict[str, Json]) -> Json:
        return self._on_either("drain", args)

    def op_close_producer(self, args: dict[str, Json]) -> Json:
        return self._on_either("close", args)

    def op_close_consumer(self, args: dict[str, Json]) -> Json:
        return self._on_either("close", args)

    def op_handled(self, args: dict[str, Json]) -> Json:
        return self._consuming(take(args, "consumer")).handled(take(args, "count"))

    def op_settled(self, args: dict[str, Json]) -> Json:
        name = take(args, "consumer")
        until(lambda: self._on("consumer", name, "inflight_count", {}) == 0, "the consumer holds no lease")

    def op_ended(self, args: dict[str, Json]) -> Json:
        if not self._on("consumer", take(args, "consumer"), "wait", {"timeout_ms": 30_000}):
            raise Mistake("the consumer did not end within 30 seconds")

    def _on_either(self, verb: str, args: dict[str, Json]) -> Json:
        noun = "producer" if "producer" in args else "consumer"
        return self._on(noun, take(args, noun), verb, args)

    def _on(self, noun: str, name: str, verb: str, args: dict[str, Json]) -> Any:
        """Calls a function of a producer or a consumer."""
        subject = self._producer(name) if noun == "producer" else self._consuming(name).consumer
        return self._call(self._c[f"rheo_{noun}_{verb}"], [subject], args)

    def _producer(self, name: str) -> Handle:
        if name not in self._producers:
            raise Mistake(f"no producer is called {name!r}")
        return self._producers[name]

    def _consuming(self, name: str) -> Consuming:
        if name not in self._consumers:
            raise Mistake(f"no consumer is called {name!r}")
        return self._consumers[name]

    # Settles

    def _settle(self, op: str, args: dict[str, Json]) -> Json:
        verb = SETTLES.get(op, op)
        many = take(args, "leases") if op != verb else [take(args, "lease")]
        if not isinstance(many, list):
            raise Mistake(f"leases is {many!r}, not a list")
        noun, subject = self._settler(many, args)
        if (noun, verb) == ("producer", "retry"):
            args.setdefault("delay_ms", None)  # The producer's own.
        tokens = [token_of(lease) for lease in many]
        by_token = self._way is Way.TOKENS or any(isinstance(lease, str) for lease in many)
        what: dict[str, Any]
        if by_token:
            form, what = ("token", {"token": tokens[0]}) if op == verb else ("tokens", {"tokens": tokens})
        elif op == verb:
            form, what = "", {"lease": self._leases.leases[tokens[0]]}
        elif whole := self._leases.lists.get(tuple(tokens)):
            form, what = "list", {"leases": whole}
        else:
            form, what = "many", {"leases": [self._leases.leases[token] for token in tokens]}
        function = "_".join(filter(None, ("rheo", noun, verb, form)))
        result = self._call(self._c[function], [subject], {**args, **what})
        return {"expires_at": result} if op == "renew" else self._views.of(result)

    def _settler(self, leases: list[Json], args: dict[str, Json]) -> tuple[str, Handle]:
        """What settles: a producer, or in the bound way the handle of the one group that is named or concerned."""
        if "producer" in args:
            return "producer", self._producer(take(args, "producer"))
        if self._way is Way.BOUND:
            groups = {group_of(lease) for lease in leases}
            if "stream" in args:
                groups = {(take(args, "stream"), take(args, "group"))}
            if len(groups) == 1 and (names := groups.pop()):
                return "group", self._handle("group", *names)
        return "instance", self._instance

    # How a call is made

    def _invoke(self, verb: str, args: dict[str, Json]) -> Any:
        """Calls an operation of the instance, or in the bound way that of a stream or group."""
        bound_verb = BOUND_VERBS.get(verb, verb)
        for kind, names in (("group", ("stream", "group")), ("stream", ("stream",))):
            function = f"rheo_{kind}_{bound_verb}"
            if self._way is Way.BOUND and function in self._c and args.keys() >= set(names):
                subject = self._handle(kind, *(args.pop(name) for name in names))
                return self._call(self._c[function], [subject], args)
        if f"rheo_instance_{verb}" not in self._c:
            raise Mistake("there is no such operation")
        return self._call(self._c[f"rheo_instance_{verb}"], [self._instance], args)

    def _call(self, function: Any, subject: list[Any], args: dict[str, Json]) -> Any:
        """Calls a function: each argument goes to the parameter of its name, what is left over to the builder."""
        parameters = function.arguments[len(subject) :]
        builders = [parameter for parameter in parameters if parameter.base.endswith(("_options", "_query"))]
        named = {parameter.name for parameter in parameters if parameter not in builders}
        left = {name: value for name, value in args.items() if name not in named}
        if left and not builders:
            raise Mistake(f"it has no argument {min(left)!r}")
        with ExitStack() as built_here:
            values = list(subject)
            for parameter in parameters:
                if parameter in builders:
                    builder = built(self._c, parameter.base, left, as_text=self._way is Way.TOKENS)
                    values.append(built_here.enter_context(builder) if left else None)
                else:
                    values.append(take({**DEFAULTS, **args}, parameter.name))
            return function(*values)

    def _handle(self, kind: str, *names: str) -> Handle:
        """The bound handle of a stream or a group, made at its first use."""
        with self._lock:
            if names not in self._bound:
                self._bound[names] = self._c[f"rheo_instance_{kind}"](self._instance, *names)
            return self._bound[names]


class Leases:
    """The leases of a scenario."""

    def __init__(self) -> None:
        self.leases: dict[str, Handle] = {}
        """Each by its token."""
        self.lists: dict[tuple[str, ...], Handle] = {}
        """What a fetch gave, by the tokens."""
        self._owned: list[Handle] = []

    def own(self, handle: Handle) -> Handle:
        """Frees a handle at the end, if nobody does before."""
        self._owned.append(handle)
        return handle

    def free(self) -> None:
        """Frees every handle."""
        for handle in self._owned:
            handle.free()


class Session:
    """What one scenario has of the library: instances and leases."""

    def __init__(self, library: Library, url: str, way: Way) -> None:
        self._c, self._url, self._way = library, url, way
        self._stores = itertools.count()
        self._leases = Leases()
        self._surfaces: list[Surface] = []

    def open(self, url: str | None, options: dict[str, Json]) -> Surface:
        """Opens an instance; without a URL on another empty store of the kind under test."""
        with built(self._c, "rheo_options", options, as_text=self._way is Way.TOKENS) as given:
            if url is None:  # a store of its own
                url = self._url.replace("{number}", str(next(self._stores)))
            return self._kept(self._c.rheo_instance_open(url, given))

    def find(self, name: str) -> Surface | None:
        """The open instance of this name."""
        instance = self._c.rheo_instance_get(name)
        return instance and self._kept(instance)

    def close(self) -> None:
        """Closes every instance. Whether that works is for scenarios of their own."""
        for surface in self._surfaces:
            surface.close_running()
        for surface in self._surfaces:
            with suppress(OperationError):
                surface.call("close", {})

    def free(self) -> None:
        """Frees every handle. No call may run any more."""
        self._leases.free()
        for surface in self._surfaces:
            surface.free()
        if self._c.live:
            raise Broken(f"never freed: {sorted(handle.kind for handle in self._c.live)}")

    def _kept(self, instance: Handle) -> Surface:
        self._surfaces.append(Surface(self._c, instance, self._way, self._leases))
        return self._surfaces[-1]


def take(args: dict[str, Json], name: str) -> Json:
    """An argument that must be there, and then no longer is."""
    if name not in args:
        raise Mistake(f"it needs the argument {name!r}")
    return args.pop(name)


def token_of(lease: Json) -> str:
    """The token of what a settle is given: a whole lease, or the token itself."""
    token = lease.get("token") if isinstance(lease, dict) else lease
    if not isinstance(token, str):
        raise Mistake(f"{lease!r} is neither a lease nor a token")
    return token


def group_of(lease: Json) -> tuple[str, str] | None:
    """The stream and the group of a lease or a token; None where the token is malformed."""
    if isinstance(lease, dict):
        return lease["stream"], lease["group"]
    try:
        parts = token_parts(token_of(lease))
    except (ValueError, LookupError, struct.error):
        return None
    return parts["stream"], parts["group"]


def with_content(args: dict[str, Json]) -> dict[str, Json]:
    """The arguments of an append with the payload's bytes and tag."""
    if "encoding" in args:
        raise Mistake("encoding belongs into the payload")
    match take(args, "payload"):
        case {"json": value, **rest}:
            payload, encoding = compact(value).encode(), "json"
        case {"text": str(characters), **rest}:
            payload, encoding = characters.encode(), "json"
        case {"bytes_text": str(characters), **rest}:
            payload, encoding = characters.encode(), "bytes"
        case {"bytes_hex": str(digits), **rest}:
            payload, encoding = bytes.fromhex(digits), "bytes"
        case other:
            raise Mistake(f"{other!r} is no payload")
    args |= {"payload": payload, "encoding": rest.pop("encoding", encoding)}
    if rest:
        raise Mistake(f"{rest!r} does not belong into a payload")
    return args
