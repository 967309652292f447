#!/usr/bin/env bash
# Puts what `make lib` built where other programs find it, or takes it away again:
#
#     scripts/install.sh install|uninstall
#
# PREFIX is where (/usr/local), LIBDIR where in it the libraries go (lib; some systems have lib64 or
# lib/x86_64-linux-gnu). DESTDIR, if set, is put before it all, as package makers need it. What was installed finds its
# parts by where it lies: the prefix may be moved.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

action=${1:-}
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-lib}
[[ $prefix == /* ]] || fail "PREFIX must begin with /, and is '$prefix'"
libdir=${libdir#"${prefix%/}"/}
[[ $libdir =~ ^[^/.][^/]*(/[^/.][^/]*)*$ ]] || fail "LIBDIR must be a folder in PREFIX, such as lib64, and is '$libdir'"
to=${DESTDIR:-}${prefix%/}

# Others read what root installs.
umask 022

version=$(sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
abi_version=$(sed -n 's/^#define RHEO_ABI_VERSION //p' include/rheo.h)
files=(include/rheo.h include/rheo.hpp
    "$libdir/librheo.a" "$libdir/librheo.so.$version" "$libdir/librheo.so.$abi_version" "$libdir/librheo.so"
    "$libdir/pkgconfig/rheo.pc" "$libdir/cmake/rheo/rheo-config.cmake" "$libdir/cmake/rheo/rheo-config-version.cmake")

# fill_in TEMPLATE FOLDER SYSTEM_LIBRARIES: a file of packaging/ with the names of this installation.
fill_in() {
    mkdir -p "$to/$2"
    # shellcheck disable=SC2001  # bash's own replacement has no such pattern
    sed -e "s|@VERSION@|$version|; s|@ABI_VERSION@|$abi_version|; s|@LIBDIR@|$libdir|; s|@SYSTEM_LIBRARIES@|$3|" \
        -e "s|@UP@|$(sed 's|[^/]*|..|g' <<<"$libdir")|" "packaging/$1.in" >"$to/$2/$1"
}

case $action in
    install)
        for built in "$release"/librheo.{so,a,system-libraries}; do
            [[ -e $built ]] || fail "${built##*/} is not built; first run, as yourself: make lib"
        done
        # The C compiler adds these two by itself, and knows which of their kinds; `cc -static` could not have the first.
        system=$(sed 's/-lgcc_s\b//g; s/-lc\b//g; s/  */ /g; s/^ //; s/ $//' "$release/librheo.system-libraries")
        install -d "$to/include" "$to/$libdir"
        install -m 644 include/rheo.h include/rheo.hpp "$to/include"
        install -m 644 "$release/librheo.a" "$to/$libdir"
        install -m 755 "$release/librheo.so" "$to/$libdir/librheo.so.$version"
        ln -sfn "librheo.so.$version" "$to/$libdir/librheo.so.$abi_version"
        ln -sfn "librheo.so.$abi_version" "$to/$libdir/librheo.so"
        fill_in rheo.pc "$libdir/pkgconfig" "$system"
        cmake_names=${system//-l/}
        fill_in rheo-config.cmake "$libdir/cmake/rheo" "${cmake_names// /;}"
        fill_in rheo-config-version.cmake "$libdir/cmake/rheo" ''
        printf 'Installed rheo %s in %s; if that is new, the loader wants: ldconfig\n' "$version" "$to"
        ;;
    uninstall)
        rm -f "${files[@]/#/$to/}"
        [[ ! -d $to/$libdir/cmake/rheo ]] || rmdir --ignore-fail-on-non-empty "$to/$libdir/cmake/rheo"
        printf 'Removed rheo %s from %s\n' "$version" "$to"
        ;;
    *) fail 'usage: scripts/install.sh install|uninstall' ;;
esac
