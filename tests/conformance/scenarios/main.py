"""What every script that runs the scenarios does: choose them, run them in each way of calling, tell, and count."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory

from .runner import Failed, Run, Session
from .values import Json, Lacking

HERE = Path(__file__).resolve().parents[1]
URL_HELP = "opened for each scenario, as empty stores; {place} is a new directory, {number} that of the store"


def parser(about: str | None, ways: type[Enum]) -> argparse.ArgumentParser:
    """The arguments that every such script has."""
    arguments = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--backend", required=True, metavar="URL", help=URL_HELP)
    arguments.add_argument("--only", default="", metavar="TEXT", help="only scenarios with this text in theme/name")
    arguments.add_argument("--mode", choices=[way.value for way in ways], help="only this way of calling")
    return arguments


def offers(url: str) -> set[str]:
    """What a store of this URL offers of what scenarios may need."""
    offered = set()
    if url.startswith("flaky:"):
        offered.add("flaky")
    if url.removeprefix("flaky:") == "native-stream-double:":
        offered.add("receipts")
    return offered


def run_all(
    arguments: argparse.Namespace,
    ways: Sequence[Enum],
    offered: Callable[[Enum], set[str]],
    session: Callable[[str, Enum], Session],
) -> int:
    """Runs them; gives the exit status.

    `offered` says what the surface offers in a way, `session` begins one at a URL.
    """
    themes = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(HERE.glob("*.json"))]
    scenarios = [(f"{theme['theme']}/{each['name']}", each) for theme in themes for each in theme["scenarios"]]
    scenarios = [(name, scenario) for name, scenario in scenarios if arguments.only in name]
    if not scenarios:
        sys.exit(f"no scenario has {arguments.only!r} in its name")
    counts: Counter[str] = Counter()
    for way in [way for way in ways if arguments.mode in (None, way.value)]:
        needs = offers(arguments.backend) | offered(way)
        for name, scenario in scenarios:
            with TemporaryDirectory(prefix="rheo-") as place:
                begun = session(arguments.backend.replace("{place}", place), way)
                counts[run(f"{name} ({way.value})", scenario, begun, needs)] += 1
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


def run(name: str, scenario: Json, session: Session, offered: set[str]) -> str:
    """Runs a scenario, tells of it unless it passed, and says what became of it."""
    try:
        if missing := [need for need in scenario.get("needs", []) if need not in offered]:
            raise Lacking(", ".join(missing))
        Run(session).scenario(scenario)
    except Lacking as missing:
        print(f"skipped {name}: it needs {missing}")
        return "skipped"
    except Failed as failure:
        print(f"FAILED  {name}, step {failure.step}: {failure.call}")
        print(f"        expected {failure.expected}")
        print(f"        got      {failure.got}")
        return "failed"
    return "passed"
