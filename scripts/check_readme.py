#!/usr/bin/env python3
"""Builds and runs the programs of README.md as a reader would who pastes them, and compares what they print.

README.md holds one program in C, one in C++, one in Python and one in Rust, the `sh` commands that build and run the
first three from the root of the clone, and in its `text` block what each of them prints. The libraries must have been
built: the release library for C and C++, the debug build of the workspace for Rust, the package in .venv for Python.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PLACE = ROOT / "build" / "readme"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = {"c": "hello.c", "cpp": "hello.cpp", "python": "hello.py", "rust": "hello.rs"}

# A reader adds the crate to a package; this is the same, without fetching anything.
RUST = (
    "rustc --edition 2024 -D warnings hello.rs -o hello "
    "--extern rheo_core=target/debug/librheo_core.rlib -L dependency=target/debug/deps && ./hello"
)


def main():
    blocks = {}
    for language, text in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        blocks.setdefault(language, []).append(text)
    for language in (*PROGRAMS, "text"):
        if len(blocks.get(language, [])) != 1:
            sys.exit(f"README.md must hold one block of {language}; it holds {len(blocks.get(language, []))}")
    commands = [RUST, *"".join(blocks.get("sh", [])).splitlines()]
    (expected,) = blocks["text"]

    # A folder that looks like the root of the clone, so that the commands run as they are written.
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    (PLACE / "include").symlink_to(ROOT / "include")
    (PLACE / "target").symlink_to(TARGET)

    path = {"PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    failed = 0
    for language, name in PROGRAMS.items():
        (PLACE / name).write_text(blocks[language][0], encoding="utf-8")
        mine = [command for command in commands if f" {name} " in f"{command} "]
        if len(mine) != 1:
            sys.exit(f"README.md must hold one command that builds and runs {name}; it holds {len(mine)}")
        print(f"-- {mine[0]}", flush=True)
        done = subprocess.run(
            mine[0], shell=True, cwd=PLACE, text=True, stdout=subprocess.PIPE, timeout=300, env=os.environ | path
        )
        if done.returncode != 0 or done.stdout != expected:
            failed += 1
            print(f"{name}: exit status {done.returncode}; it printed\n{done.stdout}README.md says\n{expected}")
    print(f"{len(PROGRAMS) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
