#!/usr/bin/env bash
# Packs what git holds with the sources of every crate, so that it builds without a network:
#
#     scripts/dist.sh [TREE [ARCHIVE]]      HEAD, or another commit or tree, into build/rheo-VERSION.tar.gz
#
# The same commit gives the same archive, byte for byte. What is not committed is not in it.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[[ -e .git ]] || fail 'make dist packs what git holds; this is no clone, but perhaps such an archive already'
tree=${1:-HEAD}
name=rheo-$(git show "$tree:Cargo.toml" | sed -n '/^\[workspace.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p')
archive=${2:-build/$name.tar.gz}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
packed=$place/$name

git archive --prefix="$name/" "$tree" | tar -x -C "$place"
cargo vendor --quiet --locked --manifest-path "$packed/Cargo.toml" "$packed/vendor" >/dev/null
# Sources only: these are for Windows and WebAssembly, which nothing here is built for, and are half of it all.
find "$packed/vendor" -type f -name '*.[ao]' -delete
mkdir "$packed/.cargo"
cat >"$packed/.cargo/config.toml" <<'CONFIG'
# The crates come from vendor/, not from the network.
[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = "vendor"
CONFIG
mkdir -p build
tar -c -C "$place" --sort=name --mtime="$(stat -c @%Y "$packed/Cargo.toml")" --owner=0 --group=0 --numeric-owner \
    --mode=go=rX,u+rw "$name" | gzip -n >"$archive"
printf '%s: %s\n' "$archive" "$(du -h "$archive" | cut -f1)"
