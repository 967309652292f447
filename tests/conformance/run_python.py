#!/usr/bin/env python3
"""Runs the conformance scenarios through the Python package, plain and by asyncio.

    python tests/conformance/run_python.py --backend memory:
    python tests/conformance/run_python.py --backend 'journal:{place}/{number}?sync=never'

Run by an interpreter that has the package. Prints every scenario that failed and every one that was skipped, with what
is missing, then the counts over all ways of calling. The exit status is 0 when none failed.
"""

import sys

import rheo
from python_package.surface import Session, Way
from scenarios.main import parser, run_all


def main() -> int:
    def offered(way: Way) -> set[str]:
        offered = {"signed-numbers", "signed-partitions", "token-lists"}
        if way.is_bound:
            offered.add("bound")
        if "redis" not in rheo.FEATURES:
            offered.add("without-redis")
        return offered

    return run_all(parser(__doc__, Way).parse_args(), list(Way), offered, Session)


if __name__ == "__main__":
    sys.exit(main())
