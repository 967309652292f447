#!/usr/bin/env bash
# Whether the Python code is laid out and written as agreed; with --write it is laid out.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ruff=(.venv/bin/ruff)
[[ -x ${ruff[0]} ]] || { echo 'ruff is not installed'; exit 77; }
places=(bindings/python examples/python tests bench demo scripts)
if [[ ${1:-} == --write ]]; then
    "${ruff[@]}" format "${places[@]}"
    exit
fi
"${ruff[@]}" format --check "${places[@]}"
"${ruff[@]}" check "${places[@]}"
