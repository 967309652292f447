#!/usr/bin/env bash
# The Python package as its users get it: a wheel whose tag holds, a source archive that builds from itself, and an
# installation from the tree, each in an empty virtual environment where the README's programs run.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python=$root/.venv/bin/python
# They build what is the same, once.
export CARGO_TARGET_DIR

# An empty environment with what is given installed; gives its interpreter.
environment() {
    local name=$1
    shift
    "$python" -m venv "$place/$name"
    "$place/$name/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
    printf '%s' "$place/$name/bin/python"
}

# The first program of the package's README and a journal that is opened twice, in an empty directory.
try() {
    local interpreter=$1
    mkdir -p "$place/work"
    (
        cd "$place/work"
        rm -rf data
        "$interpreter" - <<'PROGRAM'
import doctest
import importlib.metadata

import rheo
import rheo.aio

assert importlib.metadata.version("rheo") == rheo.__version__
assert rheo.FEATURES == ["memory", "journal"], rheo.FEATURES
assert "site-packages" in rheo.__file__, rheo.__file__
for module in (rheo, rheo.aio):
    assert doctest.testmod(module, extraglobs={"rheo": rheo}).failed == 0
with rheo.open("journal:./data") as db:
    db.create_stream("orders")
    db.create_group("orders", "billing")
    db.append("orders", {"total": 12.5})
with rheo.open("journal:./data") as db:
    (lease,) = db.fetch("orders", "billing")
    assert lease.event.payload == {"total": 12.5}
    lease.ack()
PROGRAM
    )
}

cargo_version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

.venv/bin/maturin build --quiet --release --locked -m bindings/python/Cargo.toml -o "$place/dist"
wheel=$(echo "$place"/dist/rheo-*.whl)
echo "$(basename "$wheel"), $(stat -c %s "$wheel") bytes"
[[ $(basename "$wheel") == rheo-"$cargo_version"-cp311-abi3-manylinux*.whl ]] || fail "the wheel's name is not as it should be"
# What the tag promises: no symbol of a newer system library.
claimed=$(basename "$wheel" | sed -n 's/.*-\(manylinux_[0-9]*_[0-9]*\)_.*/\1/p')
"$python" -m auditwheel show "$wheel" | tee "$place/audit" | head -n 20
grep -q "\"${claimed}_$(uname -m)\"" "$place/audit" || fail "the wheel claims $claimed, which does not hold"
# Only the module's entry is exported: no C function of Rheo's a second time.
(cd "$place" && "$python" -m zipfile -e "$wheel" unpacked)
exported=$(nm -D --defined-only "$place"/unpacked/rheo/_rheo*.so | awk '{print $3}')
[[ $exported == PyInit__rheo ]] || fail "the module exports: $exported"
try "$(environment wheel "$wheel")"

.venv/bin/maturin sdist -m bindings/python/Cargo.toml -o "$place/dist"
archive=$(echo "$place"/dist/rheo-*.tar.gz)
echo "$(basename "$archive"), $(stat -c %s "$archive") bytes"
try "$(environment archive "$archive")"

try "$(environment tree "$root/bindings/python")"
echo '3 passed, 0 failed, 0 skipped'
