#!/usr/bin/env python3
"""Runs the conformance scenarios through the C library: the real shared library and its header, by ctypes.

    python3 tests/conformance/run_c_abi.py --library target/debug/librheo.so --backend memory:
    python3 tests/conformance/run_c_abi.py --library target/debug/librheo.so --backend 'journal:{place}/{number}'

Prints every scenario that failed and every one that was skipped, with what is missing, then the counts over all ways of
calling. The exit status is 0 when none failed.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from c_abi.librheo import Library
from c_abi.runner import Failed, Run
from c_abi.surface import Session, Way
from c_abi.values import Json, Lacking

HERE = Path(__file__).resolve().parent
URL_HELP = "opened for each scenario, as empty stores; {place} is a new directory, {number} that of the store"


def offers(library: Library, url: str, way: Way) -> set[str]:
    """What this surface, build and store offer of what scenarios may need.

    Not `signed-partitions`: in C a partition has no sign.
    """
    offered = {"signed-numbers", "token-lists"}
    if way is Way.BOUND:
        offered.add("bound")
    if url.startswith("flaky:"):
        offered.add("flaky")
    if url.removeprefix("flaky:") == "native-stream-double:":
        offered.add("receipts")
    if not library.rheo_has_feature("redis"):
        offered.add("without-redis")
    return offered


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True, help="the shared library, built with test-backends")
    parser.add_argument("--backend", required=True, metavar="URL", help=URL_HELP)
    parser.add_argument("--only", default="", metavar="TEXT", help="only scenarios with this text in theme/name")
    parser.add_argument("--mode", choices=[way.value for way in Way], help="only this way of calling")
    parser.add_argument("--header", type=Path, default=HERE.parents[1] / "include" / "rheo.h", help="include/rheo.h")
    arguments = parser.parse_args()

    library = Library(arguments.library.resolve(), arguments.header)
    themes = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(HERE.glob("*.json"))]
    scenarios = [(f"{theme['theme']}/{each['name']}", each) for theme in themes for each in theme["scenarios"]]
    scenarios = [(name, scenario) for name, scenario in scenarios if arguments.only in name]
    if not scenarios:
        sys.exit(f"no scenario has {arguments.only!r} in its name")
    counts: Counter[str] = Counter()
    for way in [Way(arguments.mode)] if arguments.mode else list(Way):
        offered = offers(library, arguments.backend, way)
        for name, scenario in scenarios:
            with TemporaryDirectory(prefix="rheo-") as place:
                session = Session(library, arguments.backend.replace("{place}", place), way)
                counts[run(f"{name} ({way.value})", scenario, session, offered)] += 1
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
