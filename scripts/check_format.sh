#!/usr/bin/env bash
# Checks (or, with --write, mends) the layout of the C and C++ files written by hand.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mode=(--dry-run -Werror)
[[ ${1:-} != --write ]] || mode=(-i)
mapfile -t files < <(find include demo bench examples fuzz tests -name '*.[ch]' -o -name '*.[ch]pp' | grep -vx include/rheo.h)
((${#files[@]} > 0)) || fail 'no C or C++ file found'
clang-format "${mode[@]}" "${files[@]}"
printf '%d files\n' "${#files[@]}"
