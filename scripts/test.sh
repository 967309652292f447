#!/usr/bin/env bash
# The whole test run, one line per stage; a stage's output is shown when it fails and kept in build/logs/.
#
#     scripts/test.sh             everything
#     scripts/test.sh NAME…       these stages only, with what was built before
#
# The last line counts the stages. The exit status is non-zero when one failed.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

logs=build/logs
mkdir -p "$logs"
only=" $* "
names=()
declare -A result seconds detail

# How many tests a log tells of, over all the runners in it: "312 passed, 0 failed, 2 skipped".
count() {
    awk '
        /^test result: /                                         { sub(/^test result: [^ ]* /, "") }
        # The test runner of Node
        /^(# |ℹ )pass [0-9]+$/    { passed += $3; seen = 1 }
        /^(# |ℹ )fail [0-9]+$/    { failed += $3 }
        /^(# |ℹ )skipped [0-9]+$/ { skipped += $3 }
        match($0, /^[0-9]+ passed[,;] [0-9]+ failed[,;] [0-9]+ (skipped|ignored)/) {
            split($0, word, " "); passed += word[1]; failed += word[3]; skipped += word[5]; seen = 1
        }
        # pytest
        match($0, /^([0-9]+ failed, )?[0-9]+ passed.* in [0-9.]+s/) {
            for (n = 2; n <= split($0, word, /[ ,]+/); n++) {
                if (word[n] == "passed") passed += word[n - 1]
                if (word[n] == "failed") failed += word[n - 1]
                if (word[n] == "skipped") skipped += word[n - 1]
            }
            seen = 1
        }
        END { if (seen) printf "%d passed, %d failed, %d skipped", passed, failed, skipped }' "$1"
}

record() {
    local name=$1
    names+=("$name")
    result[$name]=$2 seconds[$name]=$3 detail[$name]=$4
    printf '%-7s %5d s  %s\n' "$2" "$3" "$4"
}

# stage NAME COMMAND…: runs the command. With `after=OTHER` before it, only if that stage did not fail; with
# `tool=COMMAND` before it, only if that is installed. A command that ends with 77 was skipped, and said why.
stage() {
    local name=$1 log=$logs/$1.log started=$SECONDS
    shift
    [[ $only == '  ' || $only == *" $name "* ]] || return 0
    printf '== %-32s ' "$name"
    if [[ -n ${after:-} && ${result[$after]:-} =~ FAILED|skipped ]]; then
        record "$name" skipped 0 "it needs: $after"
    elif [[ -n ${tool:-} ]] && ! command -v "$tool" >/dev/null; then
        record "$name" skipped 0 "$tool is not installed"
    elif "$@" >"$log" 2>&1 </dev/null; then
        record "$name" ok $((SECONDS - started)) "$(count "$log")"
    elif [[ $? == 77 ]]; then
        record "$name" skipped $((SECONDS - started)) "$(tail -n 1 "$log")"
    else
        record "$name" FAILED $((SECONDS - started)) "$(count "$log")"
        printf -- '-- %s\n' "$*"
        cat "$log"
        printf -- '-- end of %s\n' "$log"
    fi
}

# What is linked by the tools of another language, and so apart from the rest.
without_languages=(--exclude rheo-python --exclude rheo-node)

# How the code looks
stage format cargo fmt --all --check -- --color never
tool=clang-format stage format-c scripts/check_format.sh
tool=shellcheck stage shell shellcheck .ci/run demo/run.sh scripts/*.sh
# Advisories need the network, so they are apart: cargo deny check advisories
tool=cargo-deny stage licences cargo deny --locked check licenses bans sources
# Everything with the backends that exist to test with, then what ships, then what other languages will wrap
stage clippy cargo clippy --locked --workspace "${without_languages[@]}" --all-targets --features "$test_features" -- -D warnings
stage clippy-shipped cargo clippy --locked -p rheo-ffi -- -D warnings
stage clippy-handles cargo clippy --locked -p rheo-ffi --no-default-features -- -D warnings
# In a target directory of its own: rheo-ffi is built without its C symbols there.
stage clippy-node cargo clippy --locked -p rheo-node --all-targets --features test-backends --target-dir "$CARGO_TARGET_DIR/node" -- -D warnings
stage docs env RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace "${without_languages[@]}" --no-deps --features "$test_features"
tool=doxygen stage docs-c scripts/docs.sh c

# Rust: unit, integration and documentation tests, the scenarios on the Rust surface, the generated header. With all
# targets the library and the tests agree on what their dependencies must do, so nothing is built twice.
stage build cargo build --locked --workspace "${without_languages[@]}" --all-targets --features "$test_features"
after=build stage rust cargo test --locked --workspace "${without_languages[@]}" --features "$test_features" --no-fail-fast

# C: what ships, the headers, the scenarios and the programs
stage build-shipped cargo build --locked --release -p rheo-ffi
stage headers scripts/check_headers.sh
after=build-shipped stage symbols scripts/check_symbols.sh "$release/librheo.so"
for backend in memory native-stream-double flaky:memory; do
    after=build stage "scenarios-c-${backend/:/-}" \
        python3 tests/conformance/run_c_abi.py --library "$debug/librheo.so" --backend "$backend:"
done
after=build stage scenarios-c-journal \
    python3 tests/conformance/run_c_abi.py --library "$debug/librheo.so" --backend 'journal:{place}/{number}?sync=never'
after=build stage programs scripts/check_programs.sh
after=build-shipped stage bench-builds scripts/compile.sh build/bench/abi release bench/abi.c
after=build-shipped stage bench-consumers-builds scripts/compile.sh build/bench/consumers release bench/consumers.c
after=build-shipped stage install scripts/check_install.sh
stage dist scripts/check_dist.sh
after=build-shipped stage examples scripts/check_examples.sh
after=build-shipped stage demo make --no-print-directory demo

# Python: the package as its tests want it (with the backends that exist to test with), then as it ships
stage python-lint scripts/check_python_lint.sh
stage clippy-python cargo clippy --locked -p rheo-python --features test-backends -- -D warnings
stage python-build scripts/build_python.sh
for backend in memory: flaky:memory: 'journal:{place}/{number}?sync=never'; do
    name=${backend%:*} name=${name/:/-}
    after=python-build stage "scenarios-python-$name" \
        .venv/bin/python tests/conformance/run_python.py --backend "$backend"
done
after=python-build stage readme scripts/check_readme.py
after=python-build stage python-types scripts/check_python_types.sh .venv/bin/python
after=python-build stage python-tests .venv/bin/python -m pytest --rootdir bindings/python -c bindings/python/pyproject.toml \
    bindings/python/tests
stage python-package scripts/check_python_package.sh

# Node: the package as it is tested, as it ships, and as it is installed
tool=node stage build-node scripts/node.sh build-test
for backend in memory native-stream-double flaky:memory; do
    after=build-node stage "scenarios-node-${backend/:/-}" scripts/node.sh scenarios "$backend:"
done
after=build-node stage scenarios-node-journal scripts/node.sh scenarios 'journal:{place}/{number}?sync=never'
after=build-node stage build-node-shipped scripts/node.sh build
after=build-node-shipped stage node-tests scripts/node.sh tests
after=build-node-shipped stage node-package scripts/node.sh package

# Memory and threads: docs/safety.md
stage fuzz scripts/fuzz.sh 30
stage address-sanitizer scripts/check_sanitizers.sh address
stage thread-sanitizer scripts/check_sanitizers.sh thread
stage miri scripts/check_miri.sh

[[ ${#names[@]} -gt 0 ]] || fail "no stage is called:$only"
declare -A total=([ok]=0 [FAILED]=0 [skipped]=0)
printf '\n%-32s %-7s %7s  %s\n' stage result seconds tests
for name in "${names[@]}"; do
    printf '%-32s %-7s %7d  %s\n' "$name" "${result[$name]}" "${seconds[$name]}" "${detail[$name]}"
    total[${result[$name]}]=$((total[${result[$name]}] + 1))
done
printf '\nStages, in %d s:\n%d passed, %d failed, %d skipped\n' \
    "$SECONDS" "${total[ok]}" "${total[FAILED]}" "${total[skipped]}"
[[ ${total[FAILED]} == 0 ]]
