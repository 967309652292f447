"""The C library as its header declares it, callable with Python's values.

Every signature is read from rheo.h, so that none can differ from it. How a value crosses follows from the header's own
rules:

- a pointer and its length (`x`, `x_len`) are one argument: text, bytes or a list; None is NULL with length 0;
- `T **` and pointers to plain values that are not `const` are outputs, which the call returns: a handle, a number, a
  dictionary of a struct's fields;
- a handle that is not `const` and not the function's subject is to be filled: the call makes it, and returns it;
- a last parameter `rheo_error **error` makes the call raise `OperationError` instead of returning a status;
- a callback is a function that ctypes made, or None; the `void *` that comes with it is passed as it is;
- values of an enumeration are their names: `RHEO_ORDERING_KEY` is "key".
"""

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from scenarios.values import Broken, OperationError

PLAIN: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "uint8_t": ctypes.c_uint8,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
}
ENUMERATIONS = {
    "rheo_settle_class": "RHEO_SETTLE_",
    "rheo_retriable": "RHEO_RETRIABLE_",
    "rheo_encoding": "RHEO_ENCODING_",
    "rheo_ordering": "RHEO_ORDERING_",
    "rheo_clock": "RHEO_CLOCK_",
    "rheo_order_field": "RHEO_ORDER_FIELD_",
    "rheo_direction": "RHEO_DIRECTION_",
    "rheo_on_failure": "RHEO_ON_FAILURE_",
}
"""How the constants of an enumeration begin; C knows no other bond between the two."""

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
CONSTANT = re.compile(r"^#define (RHEO_\w+) (-?\d+)\s*$", re.MULTILINE)
CPLUSPLUS = re.compile(r"#ifdef __cplusplus.*?#endif", re.DOTALL)
DIRECTIVE = re.compile(r"^\s*#(?:.*\\\n)*.*$", re.MULTILINE)
STRUCT = re.compile(r"typedef struct (\w+)\s*\{([^}]*)\}\s*\1\s*;")
CALLBACK = re.compile(r"typedef \w+ \(\*(\w+)\)\(.*\)")
HANDLE = re.compile(r"typedef struct (\w+) \1")
ALIAS = re.compile(r"typedef (\w+) (\w+)")
FUNCTION = re.compile(r"([\w ]+?[ *]+)(rheo_\w+) ?\(([^()]*)\)")


Convert = Callable[[Any], Any]
"""What makes a value of another."""


class Unfit(Exception):
    """An argument that C cannot take."""


class OutOfRange(Unfit):
    """A number or a name of the right kind that is beyond what the parameter's type can say."""


class Lent(int):
    """A pointer that the library lends."""


class Handle:
    """A handle that the caller owns: freed at the end of a `with`, or by `free`."""

    def __init__(self, library: "Library", kind: str, pointer: int) -> None:
        self.owner, self.kind = library, kind
        self.pointer: int | None = pointer
        library.live.add(self)

    @property
    def _as_parameter_(self) -> int | None:
        return pointer_of(self)

    def free(self) -> None:
        """Frees it; later calls do nothing."""
        if self.pointer is not None:
            self.owner[f"{self.kind}_free"](self)
            self.pointer = None
            self.owner.live.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


@dataclass(frozen=True)
class Declared:
    """A parameter, a result or a field, as it is declared."""

    name: str
    base: str
    stars: int
    const: bool

    @staticmethod
    def read(declaration: str) -> "Declared":
        words = [word for word in re.findall(r"\w+|\*", declaration) if word != "struct"]
        const = words[0] == "const"
        return Declared(words[-1], words[const], words.count("*"), const)


@dataclass(frozen=True)
class Parameter:
    """One argument or output as Python sees it: one C parameter, or a pointer and its length."""

    name: str
    base: str
    types: tuple[Any, ...]
    convert: Callable[[Any], tuple[Any, ...]] | None = None
    """Of an argument: the values of its C parameters."""
    give: Convert | None = None
    """Of an output: what is returned of the place that was written. What has neither is a handle to be filled."""


class Function:
    """One function of the library."""

    def __init__(self, library: "Library", symbol: Any, parameters: list[Parameter], give: Convert | None) -> None:
        self._library, self._symbol, self._parameters = library, symbol, parameters
        self._give = give
        """What is returned of the result; None where the result is a status to be checked."""
        self.arguments = [parameter for parameter in parameters if parameter.convert]
        # Most calls read one thing of a handle. For them ctypes does all that is needed, and much faster.
        self._reads = bool(give) and all(parameter.base not in ENUMERATIONS for parameter in parameters)
        self._reads &= all(parameter.convert and len(parameter.types) == 1 for parameter in parameters)

    def __call__(self, *arguments: Any) -> Any:
        """Calls it. Returns its result and outputs: nothing, the only one, or a tuple."""
        if self._reads and self._give:
            return self._give(self._symbol(*arguments))
        if len(arguments) != len(self.arguments):
            raise Unfit(f"{self._symbol.__name__} takes {len(self.arguments)} arguments, not {len(arguments)}")
        given = iter(arguments)
        passed: list[Any] = []
        outputs: list[tuple[Convert, Any]] = []
        with ExitStack() as unless_done:
            for parameter in self._parameters:
                if parameter.convert:
                    passed.extend(parameter.convert(next(given)))
                elif parameter.give:
                    place = parameter.types[0]._type_()
                    passed.append(ctypes.byref(place))
                    outputs.append((parameter.give, place))
                else:
                    handle = unless_done.enter_context(self._library[f"{parameter.base}_new"]())
                    passed.append(handle.pointer)
                    outputs.append((same, handle))
            error = ctypes.c_void_p()
            if self._give:
                outputs.insert(0, (self._give, self._symbol(*passed)))
            elif status := self._symbol(*passed, ctypes.byref(error)):
                raise OperationError(self._library.taken_error(status, error.value))
            unless_done.pop_all()
        results = [give(place) for give, place in outputs]
        return tuple(results) if len(results) > 1 else (results or [None])[0]


class Library:
    """The loaded library: `library.rheo_version()`, or `library["rheo_version"]()`."""

    def __init__(self, path: Path, header: Path) -> None:
        self._loaded = ctypes.CDLL(str(path))
        self.live: set[Handle] = set()
        """The handles that were not freed yet."""
        content = COMMENT.sub(" ", header.read_text(encoding="utf-8"))
        self._constants = {name: int(value) for name, value in CONSTANT.findall(content)}
        self._types = dict(PLAIN)
        self._functions: dict[str, Function] = {}
        self._callbacks: set[str] = set()
        content = STRUCT.sub(self._struct, DIRECTIVE.sub("", CPLUSPLUS.sub("", content)))
        for declaration in filter(None, (" ".join(part.split()) for part in content.split(";"))):
            if alias := ALIAS.fullmatch(declaration):
                self._types[alias[2]] = self._types[alias[1]]
            elif function := FUNCTION.fullmatch(declaration):
                self._function(function[2], Declared.read(f"{function[1]} result"), function[3])
            elif callback := CALLBACK.fullmatch(declaration):
                self._callbacks.add(callback[1])
            elif not HANDLE.fullmatch(declaration):
                raise SyntaxError(f"{header} has a declaration that this reader does not know: {declaration}")

    def __getitem__(self, name: str) -> Function:
        return self._functions[name]

    def __getattr__(self, name: str) -> Function:
        if name not in self._functions:
            raise AttributeError(f"the header declares no {name}")
        return self._functions[name]

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def taken_error(self, status: int, pointer: int | None) -> dict[str, Any]:
        """The view of an error that a function wrote out, which is freed."""
        if pointer is None:
            raise Broken(f"the status {status} came without an error")
        with Handle(self, "rheo_error", pointer) as error:
            view = self.error(error)
        if view["number"] != status:
            raise Broken(f"the status {status} came with the error {view}")
        return view

    def error(self, error: Handle | Lent) -> dict[str, Any]:
        """The view of an error."""
        view = {"number": self.rheo_error_code(error), "code": self.rheo_error_name(error)}
        for name in ("message", "cause", "retriable", "settle_class"):
            view[name] = self[f"rheo_error_{name}"](error)
        return {name: field.decode() if isinstance(field, bytes) else field for name, field in view.items()}

    # Reading the header

    def _struct(self, declaration: re.Match[str]) -> str:
        """A plain struct becomes a type, and nothing of it stays in the text."""
        fields = [Declared.read(field) for field in declaration[2].split(";") if field.strip()]
        types = [(field.name, ctypes.c_void_p if field.stars else self._types[field.base]) for field in fields]
        self._types[declaration[1]] = type(declaration[1], (ctypes.Structure,), {"_fields_": types})
        return ""

    def _function(self, name: str, result: Declared, declared: str) -> None:
        parameters = [] if declared == "void" else [Declared.read(parameter) for parameter in declared.split(",")]
        fallible = bool(parameters) and (parameters[-1].name, parameters[-1].stars) == ("error", 2)
        seen = list(self._grouped(parameters[:-1] if fallible else parameters))
        symbol = self._loaded[name]
        symbol.argtypes = [ctype for parameter in seen for ctype in parameter.types]
        symbol.argtypes += [ctypes.POINTER(ctypes.c_void_p)] if fallible else []
        if result.stars:
            symbol.restype = ctypes.c_char_p if result.base == "char" else ctypes.c_void_p
        else:
            symbol.restype = None if result.base == "void" else self._types[result.base]
        give = lent if result.stars and result.base != "char" else self._result(result.base)
        self._functions[name] = Function(self, symbol, seen, None if fallible else give)

    def _grouped(self, parameters: list[Declared]) -> Iterator[Parameter]:
        lengths = {f"{parameter.name}_len" for parameter in parameters}
        for index, parameter in enumerate(parameters):
            following = parameters[index + 1].name if index + 1 < len(parameters) else ""
            if following == f"{parameter.name}_len":
                yield self._array(parameter)
            elif parameter.name not in lengths:
                yield self._single(parameter, is_subject=index == 0)

    def _single(self, declared: Declared, is_subject: bool) -> Parameter:
        name, base, ctype = declared.name, declared.base, self._types.get(declared.base)
        if base in self._callbacks or (base, declared.stars, declared.const) == ("void", 1, False):
            return Parameter(name, base, (ctypes.c_void_p,), lambda value: (ctypes.cast(value, ctypes.c_void_p),))
        if ctype is not None and not declared.stars:
            convert = self._number(base) if base in ENUMERATIONS else fit(name, ctype)
            return Parameter(name, base, (ctype,), lambda value: (convert(value),))
        if ctype is not None:
            pointer = ctypes.POINTER(ctype)
            if not declared.const:
                return Parameter(name, base, (pointer,), give=plain)
            convert = fit(name, ctype)
            return Parameter(
                name, base, (pointer,), lambda value: (None if value is None else pointer(ctype(convert(value))),)
            )
        if declared.stars == 2:
            give = (lambda place: lent(place.value)) if declared.const else self._owned(base)
            return Parameter(name, base, (ctypes.POINTER(ctypes.c_void_p),), give=give)
        if declared.const or is_subject:
            return Parameter(name, base, (ctypes.c_void_p,), lambda handle: (pointer_of(handle),))
        return Parameter(name, base, (ctypes.c_void_p,))

    def _array(self, declared: Declared) -> Parameter:
        name, base = declared.name, declared.base
        if declared.stars == 1 and base in ("char", "void"):
            return Parameter(name, base, (ctypes.c_char_p, ctypes.c_size_t), lambda value: encoded(name, value))
        ctype = ctypes.c_void_p if declared.stars == 2 else self._types[base]
        element = pointer_of if declared.stars == 2 else self._view if base == "rheo_bytes" else fit(name, ctype)

        def convert(values: Any) -> tuple[Any, ...]:
            if values is None:
                return None, 0
            if not isinstance(values, list):
                raise Unfit(f"{name} takes a list, not {values!r}")
            # An empty list is not NULL, which would mean something else.
            return (ctype * max(1, len(values)))(*map(element, values)), len(values)

        return Parameter(name, base, (ctypes.POINTER(ctype), ctypes.c_size_t), convert)

    def _owned(self, kind: str) -> Convert:
        """What turns an output into a handle of this kind; None for NULL."""
        return lambda place: None if place.value is None else Handle(self, kind, place.value)

    def _view(self, value: Any) -> Any:
        content, length = encoded("an element", value)
        return self._types["rheo_bytes"](ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p), length)

    def _number(self, enumeration: str) -> Callable[[Any], int]:
        """What turns a name of an enumeration into its number."""

        def number(name: Any) -> int:
            constant = f"{ENUMERATIONS[enumeration]}{str(name).upper()}"
            if constant not in self._constants:
                raise OutOfRange(f"there is no {constant}")
            return self._constants[constant]

        return number

    def _result(self, base: str) -> Convert:
        """What turns a result into Python's value."""
        if base not in ENUMERATIONS:
            return content_of if base == "rheo_bytes" else same
        start = ENUMERATIONS[base]
        names = {number: name for name, number in self._constants.items() if name.startswith(start)}
        return lambda number: names[number].removeprefix(start).lower()


def same(value: Any) -> Any:
    """A value that needs no conversion."""
    return value


def plain(place: Any) -> Any:
    """What an output that is no handle holds now."""
    if not isinstance(place, ctypes.Structure):
        return place.value
    fields = ((name, getattr(place, name)) for name, *_ in place._fields_)
    return {name: content_of(field) if isinstance(field, ctypes.Structure) else field for name, field in fields}


def content_of(view: Any) -> bytes | None:
    """A copy of what a `rheo_bytes` shows; None where its pointer is NULL."""
    return None if view.data is None else ctypes.string_at(view.data, view.len)


def fit(name: str, ctype: Any) -> Convert:
    """What passes a value on if the parameter can take it; ctypes would cut it to size."""
    kind = bool if ctype is ctypes.c_bool else int

    def checked(value: Any) -> Any:
        if type(value) is not kind:
            raise Unfit(f"{name} is {value!r}, not of the type {kind.__name__}")
        if ctype(value).value != value:
            raise OutOfRange(f"{name} is {value}, which {ctype.__name__} cannot hold")
        return value

    return checked


def encoded(name: str, value: Any) -> tuple[bytes | None, int]:
    """Text or bytes as pointer and length."""
    if isinstance(value, str):
        value = value.encode()
    if value is not None and not isinstance(value, bytes):
        raise Unfit(f"{name} takes text, not {value!r}")
    return value, len(value or b"")


def lent(pointer: int | None) -> Lent | None:
    """A pointer that the library gave; None for NULL."""
    return None if pointer is None else Lent(pointer)


def pointer_of(handle: Any) -> int | None:
    """The pointer of a handle, or one that the library lends. Nothing else can pass for one."""
    if handle is None or isinstance(handle, Lent):
        return handle
    if not isinstance(handle, Handle) or handle.pointer is None:
        raise Unfit(f"{handle!r} is no handle, or was freed")
    return handle.pointer
