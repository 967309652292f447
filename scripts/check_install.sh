#!/usr/bin/env bash
# Installs the library as a package maker does, moves what was installed, and builds and runs outside the tree what a
# user of the package would: a C program with pkg-config and a C++ program with CMake, each shared and static.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
version=$(sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
passed=0

# prints PROGRAM TEXT: the program prints this, with the library found or not needed.
prints() {
    local printed
    printed=$(LD_LIBRARY_PATH=$libraries "$1") || fail "$1 failed: $printed"
    [[ $printed == "$2" ]] || fail "$1 printed '$printed', not '$2'"
    passed=$((passed + 1))
}

# loads PROGRAM: the shared libraries of ours that a program asks the loader for.
loads() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(librheo.*\)\]/\1/p'
}

# Debian, among others, has its libraries a folder deeper.
for libdir in lib lib/x86_64-linux-gnu; do
    printf -- '-- %s\n' "$libdir"
    make --no-print-directory install DESTDIR="$place/package" PREFIX=/opt/rheo LIBDIR="$libdir"
    mv "$place/package/opt/rheo" "$place/moved"
    [[ -z $(find "$place/package" ! -type d) ]] || fail 'something was installed outside PREFIX'
    libraries=$place/moved/$libdir
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

    cmake -S . -B cmake -DCMAKE_CXX_FLAGS='-Wall -Wextra -pedantic -Werror' -Drheo_DIR="$libraries/cmake/rheo"
    cmake --build cmake
    prints cmake/hello-shared "$version: from C++"
    prints cmake/hello-static "$version: from C++"
    for asked in 0.0.9 0.2 1 "$version.1"; do
        ! cmake -S . -B "other-$asked" -Drheo_DIR="$libraries/cmake/rheo" -Dwanted="$asked" >/dev/null 2>&1 ||
            fail "CMake takes version $version for $asked"
    done

    for program in c-shared cmake/hello-shared; do
        [[ -n $(loads "$program") ]] || fail "$program does not load the shared library"
    done
    for program in c-static cmake/hello-static; do
        [[ -z $(loads "$program") ]] || fail "$program loads the shared library"
    done

    cd "$root"
    make --no-print-directory uninstall PREFIX="$place/moved" LIBDIR="$libdir"
    left=$(find "$place/moved" ! -type d)
    [[ -z $left ]] || fail "uninstall leaves: $left"
    rm -rf "${place:?}"/*
done
printf '%d passed, 0 failed, 0 skipped\n' "$passed"
