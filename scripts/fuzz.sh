#!/usr/bin/env bash
# Runs the fuzz target of fuzz/ for so many seconds: random programs of C calls, in a process that address sanitizer
# watches. Fails at the first finding, with the shortest input that shows it and the calls that this input makes.
#
#     scripts/fuzz.sh SECONDS           starts from fuzz/corpus and what earlier runs here found
#     scripts/fuzz.sh SECONDS --keep    afterwards replaces fuzz/corpus by the hundred inputs that reach the most
source "$(dirname "${BASH_SOURCE[0]}")/instrumented.sh"

seconds=${1:?usage: scripts/fuzz.sh SECONDS [--keep]}
instrument address

# Absolute: the program works in a directory of its own, where it makes journals.
work=$root/build/fuzz
corpus=$root/fuzz/corpus
mkdir -p "$work/corpus" "$corpus"
rm -f "$work"/crash-* "$work"/leak-* "$work"/timeout-* "$work"/oom-* "$work"/minimized-*
fuzz/calls.py include/rheo.h >"$work/calls.h"
"$clang" -std=c11 -Wall -Wextra -Werror -g -O1 -fsanitize=fuzzer,address -Iinclude "-I$work" fuzz/abi.c "$library" \
    -lm -o "$work/abi"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

options=(-max_len=600 -len_control=20 -timeout=60 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1
    "-artifact_prefix=$work/")
if ! nice -n 10 "$work/abi" "${options[@]}" "-max_total_time=$seconds" "$work/corpus" "$corpus"; then
    found=$(find "$work" -maxdepth 1 -name 'crash-*' -o -name 'leak-*' -o -name 'timeout-*' -o -name 'oom-*' | head -n 1)
    [[ -n $found ]] || fail 'the fuzzer failed without an input that shows why'
    "$work/abi" -minimize_crash=1 -max_total_time=30 "-exact_artifact_path=$work/minimized-input" "$found" \
        >"$work/minimize.log" 2>&1 || true
    [[ ! -s $work/minimized-input ]] || found=$work/minimized-input
    printf '\n-- the shortest input: %s\n-- in base64: %s\n-- its calls, the last one fails:\n' "$found" "$(base64 -w 0 "$found")"
    RHEO_FUZZ_TRACE=1 "$work/abi" "$found" 2>&1 | grep '^call ' || true
    exit 1
fi

if [[ ${2:-} == --keep ]]; then
    rm -rf "$work/kept"
    mkdir "$work/kept"
    "$work/abi" -set_cover_merge=1 -use_counters=0 -verbosity=0 "$work/kept" "$work/corpus" "$corpus"
    # The longest hundred reach nearly what all do.
    mapfile -t kept < <(find "$work/kept" -type f -printf '%s %p\n' | sort -rn | head -n 100 | cut -d' ' -f2)
    rm -f "$corpus"/*
    mv "${kept[@]}" "$corpus"/
fi
