#!/usr/bin/env python3
"""Runs the conformance scenarios through the C library: the real shared library and its header, by ctypes.

    python3 tests/conformance/run_c_abi.py --library target/debug/librheo.so --backend memory:
    python3 tests/conformance/run_c_abi.py --library target/debug/librheo.so --backend 'journal:{place}/{number}'

Prints every scenario that failed and every one that was skipped, with what is missing, then the counts over all ways of
calling. The exit status is 0 when none failed.
"""

import sys
from pathlib import Path

from c_abi.librheo import Library
from c_abi.surface import Session, Way
from scenarios.main import HERE, parser, run_all


def main() -> int:
    arguments = parser(__doc__, Way)
    help_text = "the shared library, built with test-backends"
    arguments.add_argument("--library", dest="shared", metavar="FILE", type=Path, required=True, help=help_text)
    arguments.add_argument("--header", type=Path, default=HERE.parents[1] / "include" / "rheo.h", help="include/rheo.h")
    given = arguments.parse_args()
    library = Library(given.shared.resolve(), given.header)

    def offered(way: Way) -> set[str]:
        # Not `signed-partitions`: in C a partition has no sign.
        offered = {"signed-numbers", "token-lists"}
        if way is Way.BOUND:
            offered.add("bound")
        if not library.rheo_has_feature("redis"):
            offered.add("without-redis")
        return offered

    return run_all(given, list(Way), offered, lambda url, way: Session(library, url, way))


if __name__ == "__main__":
    sys.exit(main())
