#!/usr/bin/env bash
# Checks what a built librheo.so shows to the linker: the functions that rheo.h declares and include/rheo.symbols lists,
# and nothing else, and a SONAME of the header's ABI version.
#
#     scripts/check_symbols.sh LIBRARY [--write]      --write notes the header's functions in include/rheo.symbols
#
# The list is there to be read in a change: lines that come are fine, a line that goes is a new ABI (docs/abi.md).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

library=${1:?usage: scripts/check_symbols.sh LIBRARY [--write]}
export LC_ALL=C
list=include/rheo.symbols
exported=$(nm -D --defined-only "$library" | awk '{ print $NF }' | sort)
declared=$("${CC:-cc}" -E -P include/rheo.h | sed -nE 's/.*\b(rheo_[a-z0-9_]+) ?\([^*].*/\1/p' | sort -u)
[[ -n $declared ]] || fail 'rheo.h declares no function'
if ! difference=$(diff <(printf '%s\n' "$declared") <(printf '%s\n' "$exported")); then
    fail "rheo.h (<) and the exports of $library (>) differ:
$difference"
fi
[[ ${2:-} != --write ]] || printf '%s\n' "$declared" >"$list"
if ! difference=$(diff "$list" <(printf '%s\n' "$exported")); then
    fail "$list (<) and the exports of $library (>) differ; see docs/abi.md, then run: $0 $library --write
$difference"
fi
version=$(printf '#include "rheo.h"\nRHEO_ABI_VERSION\n' | "${CC:-cc}" -E -P -Iinclude - | tail -n 1)
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[[ $soname == "librheo.so.$version" ]] || fail "$library: the SONAME is '$soname', not librheo.so.$version"
printf '%d functions, SONAME %s\n' "$(wc -l <<<"$exported")" "$soname"
