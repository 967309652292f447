#!/usr/bin/env bash
# Builds every program in examples/ against the library that ships and runs it as its head says (run_example.sh): it must
# print exactly the lines that its head announces ("prints: …"). No example is longer than a page: 80 lines.
#
#     scripts/check_examples.sh [SOURCE…]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

sources=("$@")
(($# > 0)) || mapfile -t sources < <(find examples -name '*.c' -o -name '*.cpp' | sort)
((${#sources[@]} > 0)) || fail 'no program found in examples'

check() {
    local source=$1 program=build/$1.program lines
    lines=$(wc -l <"$source")
    ((lines < 80)) || { printf '%s has %d lines; it should have less than 80\n' "$source" "$lines" && return 1; }
    mkdir -p "$(dirname "$program")"
    scripts/compile.sh "$program" release "$source" || return 1
    sed -nE 's#^(//| \*) prints: ##p' "$source" >"$program.expected"
    [[ -s $program.expected ]] || { printf '%s does not say what it prints\n' "$source" && return 1; }
    scripts/run_example.sh "$program" "$source" >"$program.printed" || { printf '%s ended with %d\n' "$source" $? && return 1; }
    diff --label "$source" --label 'what it printed' -u "$program.expected" "$program.printed"
}

passed=0 failed=0
for source in "${sources[@]}"; do
    printf -- '-- %s\n' "$source"
    if check "$source"; then
        passed=$((passed + 1))
    else
        printf '%s: FAILED\n' "$source"
        failed=$((failed + 1))
    fi
done
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
((failed == 0))
