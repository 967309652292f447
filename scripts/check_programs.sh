#!/usr/bin/env bash
# Builds every program in tests/c and tests/cpp against the debug library and runs it under valgrind: it must end
# with 0, within five minutes, without an invalid access and without losing memory.
#
#     scripts/check_programs.sh [SOURCE…]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

sources=("$@")
(($# > 0)) || mapfile -t sources < <(find tests/c tests/cpp -name '*.c' -o -name '*.cpp' | sort)
((${#sources[@]} > 0)) || fail 'no program found in tests/c and tests/cpp'

passed=0 failed=0
for source in "${sources[@]}"; do
    program=build/${source%.*}
    mkdir -p "$(dirname "$program")"
    printf -- '-- %s\n' "$source"
    if scripts/compile.sh "$program" debug "$source" &&
        timeout 300 valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
            --errors-for-leak-kinds=definite "$program"; then
        passed=$((passed + 1))
    else
        printf '%s: FAILED\n' "$source"
        failed=$((failed + 1))
    fi
done
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
((failed == 0))
