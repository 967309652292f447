#!/usr/bin/env bash
# Makes the pages of the manual and says where they are; a warning is an error:
#
#     scripts/docs.sh         those of the crates, and where doxygen is installed those of rheo.h and rheo.hpp
#     scripts/docs.sh c       those of rheo.h and rheo.hpp only
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

pages=()
if [[ ${1:-} != c ]]; then
    RUSTDOCFLAGS='-D warnings' cargo doc --quiet --locked --workspace --no-deps --features rheo-core/tracing
    pages+=("Rust: ${CARGO_TARGET_DIR#"$root/"}/doc/rheo_core/index.html")
fi
if command -v doxygen >/dev/null; then
    rm -rf build/docs
    mkdir -p build/docs
    doxygen docs/Doxyfile
    pages+=('C and C++: build/docs/c/index.html')
else
    pages+=('C and C++: left out, for doxygen is not installed; rheo.h and rheo.hpp themselves say the same')
fi
printf -v line '%s; ' "${pages[@]}"
printf '%s\n' "${line%; }"
