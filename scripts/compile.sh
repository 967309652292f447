#!/usr/bin/env bash
# Builds one program of C and C++ files against librheo, optimised like it, with every warning an error:
#
#     scripts/compile.sh PROGRAM debug|release SOURCE…
#
# The library must have been built. CC, CXX, CFLAGS and CXXFLAGS are honoured.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

program=${1:?usage: scripts/compile.sh PROGRAM debug|release SOURCE…}
libraries=$CARGO_TARGET_DIR/${2:?usage: scripts/compile.sh PROGRAM debug|release SOURCE…}
optimise=-O2
# What is optimised away, valgrind cannot see.
[[ $2 == release ]] || optimise=-O0
shift 2
strict=(-Wall -Wextra -pedantic -Werror "$optimise" -g -pthread "-I$root/include")

# The loader looks for the name that the library calls itself by; a build leaves the file under its plain name.
soname=$(readelf -d "$libraries/librheo.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[[ -n $soname ]] || fail "$libraries/librheo.so has no SONAME"
[[ $soname == librheo.so ]] || ln -sf librheo.so "$libraries/$soname"

mkdir -p "$program.objects"
link=("${CC:-cc}")
objects=()
for source in "$@"; do
    object=$program.objects/$(basename "$source").o
    objects+=("$object")
    case $source in
        *.c)
            # shellcheck disable=SC2086  # a list of flags
            "${CC:-cc}" -std=c11 "${strict[@]}" ${CFLAGS:-} -c "$source" -o "$object"
            ;;
        *)
            link=("${CXX:-c++}")
            # shellcheck disable=SC2086
            "${CXX:-c++}" -std=c++17 "${strict[@]}" ${CXXFLAGS:-} -c "$source" -o "$object"
            ;;
    esac
done
"${link[@]}" -pthread "${objects[@]}" "-L$libraries" "-Wl,-rpath,$libraries" -lrheo -o "$program"
