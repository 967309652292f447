# Sourced by the scripts that look for errors of memory: after `instrument address` or `instrument thread`,
#
#     $clang      is a clang that has libFuzzer and the sanitizers
#     $library    is a librheo.a built for them, with the backends that exist to test with
#     $accesses   says whether the sanitizer sees what librheo itself reads and writes, or only what programs do,
#                 and what either does through the C library (allocate, free, copy)
#
# For the accesses a nightly Rust is needed; the coverage that guides the fuzzer comes with any. Ends with 77, which is
# "skipped", where something is missing.
# shellcheck shell=bash
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

instrument() {
    local kind=$1 candidate host cargo=(cargo) target=build/instrumented/$1 flags build_std=() probe
    mkdir -p "$target"
    probe='int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }'
    clang=
    for candidate in ${CLANG:-clang clang-14}; do
        if "$candidate" -x c -fsanitize=fuzzer,address -o "$target/probe" - <<<"$probe" 2>"$target/probe.log"; then
            clang=$candidate
            break
        fi
    done
    [[ -n $clang ]] || skip 'no clang with libFuzzer; on Debian: apt-get install clang-14 libclang-rt-14-dev'

    flags=
    accesses=no
    if rustc +nightly --version >/dev/null 2>&1; then
        cargo=(cargo +nightly)
        # Rust's own library is as it comes, without the sanitizer, which is no difference in how things are laid out.
        flags="-Zsanitizer=$kind -Cunsafe-allow-abi-mismatch=sanitizer"
        accesses=yes
    fi
    if [[ $kind == thread ]]; then
        # Here Rust's own library is built anew: a lock whose inside is not seen orders nothing.
        [[ -d $(rustc +nightly --print sysroot 2>/dev/null)/lib/rustlib/src ]] ||
            skip 'thread sanitizer needs a nightly Rust with rust-src: rustup component add rust-src --toolchain nightly'
        build_std=("-Zbuild-std=std,panic_unwind")
    fi
    # What `cargo fuzz` asks for: which edges were run, and what was compared with what.
    [[ $kind == thread ]] || flags+=' -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
        -Cllvm-args=-sanitizer-coverage-trace-compares'
    host=$(rustc -vV | sed -n 's/^host: //p')
    RUSTFLAGS="$flags -Cdebug-assertions" "${cargo[@]}" build "${build_std[@]}" --quiet --locked --release \
        --target "$host" --target-dir "$target" -p rheo-ffi --features test-backends
    library=$target/$host/release/librheo.a
    export clang library accesses
    printf '%s sanitizer; the accesses of librheo itself are seen: %s\n' "$kind" "$accesses"
}
