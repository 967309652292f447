# Sourced by the scripts beside it: strict mode, and where things are.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# One target directory, also where a configuration of the user's says otherwise.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"

# Where the checked results of a build live: "debug" carries the backends that exist to test with, "release" is
# what ships and does not.
debug=$CARGO_TARGET_DIR/debug
release=$CARGO_TARGET_DIR/release
test_features=rheo-core/tracing,rheo-ffi/test-backends,rheo-conformance/test-backends
export debug release test_features

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}
