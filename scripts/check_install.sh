#!/usr/bin/env bash
# Installs the library as a package maker does, copies what was installed to another place, uninstalls the original, and
# builds and runs outside the tree what a user of the copy would: a C program with pkg-config and a C++ program with
# CMake, each shared and static.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

for tool in pkg-config cmake; do
    command -v "$tool" >/dev/null || {
        printf '%s is not installed\n' "$tool"
        exit 77
    }
done
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
version=$(sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
IFS=. read -r major minor _ <<<"$version"
soname=librheo.so.$(sed -n 's/^#define RHEO_ABI_VERSION //p' include/rheo.h)
passed=0

# prints PROGRAM TEXT: the program prints this, with the library found or not needed.
prints() {
    local printed
    printed=$(LD_LIBRARY_PATH=$libraries "$1") || fail "$1 failed: $printed"
    [[ $printed == "$2" ]] || fail "$1 printed '$printed', not '$2'"
    passed=$((passed + 1))
}

# loads PROGRAM LIBRARY: this (or nothing, if empty) is what of ours the program asks the loader for.
loads() {
    local loaded
    loaded=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(librheo.*\)\]/\1/p')
    [[ $loaded == "$2" ]] || fail "$1 loads '$loaded', not '$2'"
}

# finds VERSION: whether CMake takes the package for one that asks for this version; empty: for any.
finds() {
    cmake -S . -B cmake -Drheo_DIR="$libraries/cmake/rheo" -Dwanted="$1" >/dev/null 2>&1
}

# Debian, among others, has its libraries a folder deeper.
for libdir in lib lib/x86_64-linux-gnu; do
    printf -- '-- %s\n' "$libdir"
    original=(DESTDIR="$place/package" PREFIX='/opt/a prefix' LIBDIR="$libdir")
    make --no-print-directory install "${original[@]}"
    cp -a "$place/package/opt/a prefix" "$place/moved"
    make --no-print-directory uninstall "${original[@]}"
    left=$(find "$place/package" ! -type d)
    [[ -z $left ]] || fail "uninstall leaves, or install put outside PREFIX: $left"

    libraries=$place/moved/$libdir
    for link in "librheo.so $soname" "$soname librheo.so.$version"; do
        [[ $(readlink "$libraries/${link% *}") == "${link#* }" ]] || fail "not linked: ${link/ / to }"
    done
    cp -r tests/install "$place/user"
    cd "$place/user"

    export PKG_CONFIG_PATH=$libraries/pkgconfig
    [[ $(pkg-config --modversion rheo) == "$version" ]] || fail "rheo.pc is not of version $version"
    strict=(-std=c11 -Wall -Wextra -pedantic -Werror hello.c)
    # shellcheck disable=SC2046  # pkg-config gives lists of flags
    "${CC:-cc}" "${strict[@]}" $(pkg-config --cflags --libs rheo) -o c-shared
    # shellcheck disable=SC2046
    "${CC:-cc}" "${strict[@]}" -static $(pkg-config --static --cflags --libs rheo) -o c-static
    prints ./c-shared "$version: from C"
    prints ./c-static "$version: from C"

    # Which folder deeper, CMake knows on systems that have it.
    at=-Drheo_DIR=$libraries/cmake/rheo
    [[ $libdir != lib ]] || at=-DCMAKE_PREFIX_PATH=$place/moved
    cmake -S . -B cmake -DCMAKE_CXX_FLAGS='-Wall -Wextra -pedantic -Werror' "$at"
    cmake --build cmake
    prints cmake/hello-shared "$version: from C++"
    prints cmake/hello-static "$version: from C++"
    for program in c-shared cmake/hello-shared; do
        loads "$program" "$soname"
    done
    for program in c-static cmake/hello-static; do
        loads "$program" ''
    done

    for asked in '' "${version%.*}" "$version"; do
        finds "$asked" || fail "CMake does not take version $version for '$asked'"
    done
    for asked in 0.0.9 "$major.$((minor + 1))" "$((major + 1))" "$version.1"; do
        ! finds "$asked" || fail "CMake takes version $version for $asked"
    done

    cd "$root"
    rm -rf "${place:?}"/*
done
printf '%d passed, 0 failed, 0 skipped\n' "$passed"
