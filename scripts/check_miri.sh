#!/usr/bin/env bash
# Runs the tests that reach the unsafe code of rheo-core under Miri, which sees every access that Rust's rules forbid.
# It is some hundred times slower than the processor, so these are the small ones: events, leases and the memory engine.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if ! cargo +nightly miri --version >/dev/null 2>&1; then
    printf 'skipped: no Miri; with a nightly Rust: rustup component add miri rust-src --toolchain nightly\n'
    exit 77
fi
# The clock is the machine's.
export MIRIFLAGS=-Zmiri-disable-isolation
cargo +nightly miri test --quiet --locked --target-dir build/instrumented/miri -p rheo-core --lib -- \
    event:: lease:: backend::memory::tests
