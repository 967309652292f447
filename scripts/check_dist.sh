#!/usr/bin/env bash
# Packs the working tree as `make dist` packs a commit, and installs from the archive as a package maker would: outside
# the tree, without a network, and with no crate but those in it.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

skip() {
    printf '%s\n' "$*"
    exit 77
}
[[ -e .git ]] || skip 'what git holds is packed, and this is no clone'
objects=$(git rev-parse --path-format=absolute --git-path objects) || skip 'git is missing or will not read this clone'
# Crates for other systems are packed as well, though no build here has fetched them.
cargo fetch --locked || skip 'not every crate of Cargo.lock is here or can be fetched'

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# All files as they are now, as git would commit them; its own index and store stay as they are.
mkdir "$place/objects"
export GIT_INDEX_FILE=$place/index GIT_OBJECT_DIRECTORY=$place/objects GIT_ALTERNATE_OBJECT_DIRECTORIES=$objects
git add --all
scripts/dist.sh "$(git write-tree)" "$place/archive.tar.gz"
printf 'packed after %d s\n' "$SECONDS"

tar -xzf "$place/archive.tar.gz" -C "$place"
cd "$place"/rheo-*
mkdir "$place/cargo-home"
export CARGO_HOME=$place/cargo-home CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$place/target
# Whether it builds is the question, not how fast the result is.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=0
make --no-print-directory install PREFIX=/usr DESTDIR="$place/package"
[[ -s $place/package/usr/lib/librheo.so && -s $place/package/usr/lib/librheo.a ]] || fail 'the library is not there'
