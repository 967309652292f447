#!/usr/bin/env bash
# Runs the C and C++ programs of tests/, examples/ and demo/ under a sanitizer: address (with leaks and undefined
# behaviour) or thread, the latter only those that have threads. Each must end with 0 and without a report.
#
#     scripts/check_sanitizers.sh address|thread
source "$(dirname "${BASH_SOURCE[0]}")/instrumented.sh"

kind=${1:?usage: scripts/check_sanitizers.sh address|thread}
instrument "$kind"
compile=("-fsanitize=$kind")
link=("-fsanitize=$kind")
if [[ $kind == address ]]; then
    compile+=(-fsanitize=undefined -fno-sanitize-recover=undefined)
    link+=(-fsanitize=undefined)
else
    # Newer compilers call memcpy by a name of the sanitizer's own; what an older one brings is the same function. And
    # a program may have its own operator new.
    for function in memcpy memset memmove; do
        link+=("-Wl,--defsym=__tsan_$function=$function")
    done
    link+=("-Wl,--allow-multiple-definition")
fi
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1

# build PROGRAM SOURCE…: builds one program.
build() {
    local program=$1 source objects=()
    shift
    mkdir -p "$program.objects"
    for source in "$@"; do
        objects+=("$program.objects/$(basename "$source").o")
        if [[ $source == *.c ]]; then
            "$clang" -std=c11 -Wall -Wextra -g -O1 "${compile[@]}" -Iinclude -c "$source" -o "${objects[-1]}"
        else
            "${clang/clang/clang++}" -std=c++17 -Wall -Wextra -g -O1 "${compile[@]}" -Iinclude -c "$source" \
                -o "${objects[-1]}"
        fi || return 1
    done
    "${clang/clang/clang++}" -pthread "${link[@]}" "${objects[@]}" "$library" -lm -o "$program"
}

# Builds one program and runs it.
check_program() {
    local program=$programs/${1//\//-}
    build "$program" "$1" || return 1
    if [[ $1 == examples/* ]]; then
        scripts/run_example.sh "$program" "$1"
    else
        timeout 300 "$program"
    fi
}

# Builds the two of the demo and lets it tell its story.
check_demo() {
    build "$programs/ingest" demo/ingest.c demo/json.c && build "$programs/consume" demo/consume.cpp demo/json.c &&
        timeout 300 demo/run.sh "$programs"
}

count() {
    printf -- '-- %s\n' "$2"
    if "$@"; then
        passed=$((passed + 1))
    else
        printf '%s: FAILED\n' "$2"
        failed=$((failed + 1))
    fi
}

programs=build/instrumented/$kind/programs
passed=0 failed=0
mapfile -t sources < <(find tests/c tests/cpp examples -name '*.c' -o -name '*.cpp' | sort)
for source in "${sources[@]}"; do
    [[ $kind == address ]] || grep -qE 'pthread_create|std::async|std::thread' "$source" || continue
    count check_program "$source"
done
count check_demo demo
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
((failed == 0 && passed > 0))
