#!/usr/bin/env bash
# The Node package: what the test run and the Makefile do with it.
#
#     scripts/node.sh build              what ships: bindings/node/rheo.PLATFORM.node and dist/
#     scripts/node.sh build-test         what is tested: build/node/rheo.node, with the backends that exist to test with, and dist/
#     scripts/node.sh scenarios URL      the conformance scenarios on a store
#     scripts/node.sh tests              the package's own tests
#     scripts/node.sh package            what is packed, installed into empty directories
#     scripts/node.sh bench [--write F]  against better-sqlite3 and node-redis
#
# Ends with 77 where Node 20 or newer is missing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

what=${1:?usage: scripts/node.sh build|build-test|scenarios|tests|package|bench}
shift
package=bindings/node

if ! command -v node >/dev/null || [[ $(node -p 'process.versions.node.split(".")[0]') -lt 20 ]]; then
    echo 'Node 20 or newer is not installed: https://nodejs.org'
    exit 77
fi

# The tools of a package, once; again when they change.
tools() {
    if [[ ! -d $1/node_modules || $1/package-lock.json -nt $1/node_modules ]]; then
        # Not `npm ci`: it wants the packages with the libraries, which are published after this one is built.
        (cd "$1" && npm install "${@:2}" --omit=optional --no-audit --no-fund --loglevel=error) || {
            echo "npm install failed in $1; see above"
            exit 77
        }
        touch "$1/node_modules"
    fi
}

export RHEO_NATIVE_LIBRARY=$root/build/node/rheo.node
case $what in
build | build-test)
    tools $package --ignore-scripts
    option=
    [[ $what == build ]] || option=--test
    node $package/scripts/build.mjs $option
    ;;
scenarios) node tests/conformance/run_node.mjs --backend "$1" ;;
tests)
    find $package/test -name '*.test.mjs' ! -name 'package.test.mjs' -print0 | sort -z | xargs -0 node --test --test-reporter=tap
    ;;
package) node --test --test-reporter=tap $package/test/package.test.mjs ;;
bench)
    unset RHEO_NATIVE_LIBRARY
    # better-sqlite3 fetches or compiles its library in a script of its own.
    tools bench/node
    node bench/node/run.mjs "$@"
    ;;
*) fail "unknown: $what" ;;
esac
