#!/usr/bin/env bash
# Compiles each header by itself, included twice, in every language standard that it promises.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# compiles HEADER COMPILER LANGUAGE STANDARD
compiles() {
    printf '%s: %s -std=%s\n' "$1" "$2" "$4"
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$1" "$1" |
        "$2" -x "$3" "-std=$4" -Wall -Wextra -pedantic -Werror -Iinclude -c -o /dev/null -
}

for standard in c11 c17; do
    compiles rheo.h "${CC:-cc}" c "$standard"
done
for standard in c++17 c++20; do
    compiles rheo.h "${CXX:-c++}" c++ "$standard"
    compiles rheo.hpp "${CXX:-c++}" c++ "$standard"
done
