#!/usr/bin/env bash
# Builds the library, optimised, and notes beside it which of the system's libraries the static one needs.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

printf '== librheo\n'
cargo build --quiet --locked --release -p rheo-ffi
# An empty crate needs the same: what Rust's own library needs, for everything else is inside.
needs=$("${RUSTC:-rustc}" --crate-name empty --crate-type staticlib --print native-static-libs \
    --out-dir "$release/empty" - </dev/null 2>&1)
sed -n 's/^note: native-static-libs: //p' <<<"$needs" >"$release/librheo.system-libraries"
[[ -s $release/librheo.system-libraries ]] || fail "rustc does not say what a static library needs: $needs"
