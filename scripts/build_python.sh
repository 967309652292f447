#!/usr/bin/env bash
# Puts the Python package into .venv as its tests want it: unoptimised, with the backends that exist to test with.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

VIRTUAL_ENV=$root/.venv .venv/bin/maturin develop --quiet --locked --features test-backends -m bindings/python/Cargo.toml
.venv/bin/python -c 'import rheo; print("rheo", rheo.__version__, *rheo.FEATURES)'
