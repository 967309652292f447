"""What is public is documented, and what the documentation shows is so."""

import dataclasses
import doctest
import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rheo
import rheo.aio
import rheo.telemetry
from rheo._errors import BY_NUMBER

ROOT = Path(__file__).resolve().parents[3]
MODULES: tuple[ModuleType, ...] = (rheo, rheo.aio, rheo.telemetry)
NATIVE = (rheo.Instance, rheo.Stream, rheo.Group, rheo.Batch, rheo.Lease, rheo.Event, rheo.Append, rheo.Producer)
PAGES = (ROOT / "docs" / "python.md", ROOT / "bindings" / "python" / "README.md")
PROGRAMS = sorted((ROOT / "examples" / "python").glob("*.py"))
BLOCK = re.compile(r"^```(pycon|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class has that is public and its own, or of a private base of the package."""
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "rheo":
            for name, value in vars(base).items():
                # Fields and plain attributes have their text below them, where the interpreter does not keep it.
                is_documentable = callable(value) or isinstance(value, classmethod | staticmethod | property)
                is_documentable = is_documentable or inspect.isgetsetdescriptor(value) or base in NATIVE
                if not name.startswith("_") and name not in fields and is_documentable:
                    yield name, value


def documented() -> Iterator[tuple[str, Any]]:
    """Everything public that can have a docstring, with its name."""
    for module in MODULES:
        yield module.__name__, module
        for name in getattr(module, "__all__", ["log_to"]):
            value = getattr(module, name)
            if isinstance(value, type) or inspect.isroutine(value):
                yield f"{module.__name__}.{name}", value
            if isinstance(value, type):
                for member, inner in members(value):
                    yield f"{module.__name__}.{name}.{member}", inner


DOCUMENTED = dict(documented())


def sections(page: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The blocks of code under each heading of a page."""
    heading = ""
    for part in re.split(r"^(#+ .*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if re.fullmatch(r"#+ .*", part):
            heading = part.lstrip("# ")
        elif blocks := BLOCK.findall(part):
            yield f"{page.name}: {heading}", blocks


SECTIONS = dict(section for page in PAGES for section in sections(page))


def run(text: str, name: str, namespace: dict[str, Any]) -> int:
    """Runs the examples of a text; says how many there were."""
    test = doctest.DocTestParser().get_doctest(text, namespace, name, None, 0)
    # The test clears the globals that it is given a copy of; the next block of a section wants them.
    test.globs = namespace
    said: list[str] = []
    results = doctest.DocTestRunner().run(test, out=said.append, clear_globs=False)
    assert results.failed == 0, "".join(said)
    return results.attempted


def test_there_is_something_to_check() -> None:
    assert len(DOCUMENTED) > 150
    some = {"rheo.Instance.append", "rheo.Lease.token", "rheo.Append.key", "rheo.aio.Instance.fetch"}
    assert some < DOCUMENTED.keys()
    assert len(SECTIONS) >= 10
    assert len(PROGRAMS) >= 5


@pytest.mark.parametrize("name", DOCUMENTED)
def test_what_is_public_has_a_docstring(name: str) -> None:
    # Its own: `inspect.getdoc` would find that of a base class, or of `object`.
    assert len((DOCUMENTED[name].__doc__ or "").split()) > 1


NATIVE_MEMBERS = [f"rheo.{cls.__name__}.{member}" for cls in NATIVE for member, _ in members(cls)]


@pytest.mark.parametrize("name", [*NATIVE_MEMBERS, "rheo.open", "rheo.get"])
def test_every_native_method_has_an_example(name: str) -> None:
    assert ">>> " in (DOCUMENTED[name].__doc__ or "")


@pytest.mark.parametrize("name", [name for name, value in DOCUMENTED.items() if ">>> " in (value.__doc__ or "")])
def test_the_examples_of_a_docstring_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(inspect.getdoc(DOCUMENTED[name]) or "", name, {"rheo": rheo}) > 0


@pytest.mark.parametrize("name", SECTIONS)
def test_the_examples_of_a_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Classes that a page defines look up their module, as those of a program do.
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for language, code in SECTIONS[name]:
        for needed in re.findall(r"^(?:>>> )?import (\w+)$", code, flags=re.MULTILINE):
            if importlib.util.find_spec(needed) is None:
                pytest.skip(f"{needed} is not installed")
        if language == "pycon":
            assert run(code, name, namespace) > 0
        else:
            exec(compile(code, name, "exec"), namespace)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_prints_what_it_announces(program: Path, tmp_path: Path) -> None:
    source = program.read_text(encoding="utf-8")
    assert source.count("\n") < 80
    announced = [
        "".join(f"{line}\n" for line in re.findall(rf"^# {lead}: (.*)$", source, flags=re.MULTILINE))
        for lead in ("prints", "or prints")
    ]
    assert announced[0]
    command = [sys.executable, "-W", "error", str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout in announced


def test_the_guide_lists_every_error() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (\d+) \| ([^|]+) \| ([^|]+) \|", text, flags=re.MULTILINE)
    retriable = {True: "yes", False: "no"}
    assert [tuple(row) for row in rows] == [
        (
            cls.__name__,
            cls.code,
            str(number),
            "with the same id" if cls.retriable_with_same_id and not cls.retriable else retriable[cls.retriable],
            "\u2013" if cls.settle_class == "none" else cls.settle_class,
        )
        for number, cls in BY_NUMBER.items()
    ]


def test_arguments_are_documented() -> None:
    """Each parameter of a native method stands in its docstring, and nothing that is none."""
    for cls in NATIVE:
        for member, value in members(cls):
            if callable(value):
                parameters = list(inspect.signature(value).parameters)[1:]
                text = inspect.getdoc(value) or ""
                said = re.search(r"^Args:\n((?:    .*\n?)+)", text, flags=re.MULTILINE)
                named = re.findall(r"^    (\w+): ", said.group(1), flags=re.MULTILINE) if said else []
                assert named == parameters, f"{cls.__name__}.{member}"
    for function in (rheo.open, rheo.Append):
        parameters = list(inspect.signature(function).parameters)
        text = (inspect.getdoc(function) or "").partition("\n\nReturns")[0]
        assert re.findall(r"^    (\w+): ", text, flags=re.MULTILINE) == parameters
