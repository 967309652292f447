#!/usr/bin/env bash
# Checks the types of the Python package as its users' type checkers see them: the stubs against the module that was
# built, and the package and the programs in examples/python with mypy and pyright. Prints what fails.
#
#     scripts/check_python_types.sh [PYTHON]
#
# PYTHON has the package installed, and mypy and pyright; without it, that of the virtual environment that is active.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

python=${1:-${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}}
[[ -n $python ]] || fail 'give a python, or activate the virtual environment that has the package'
found=$(command -v "$python") || fail "there is no $python"
python=$found

package=bindings/python/python/rheo
mapfile -t programs < <(find examples/python -name '*.py' | sort)
((${#programs[@]} > 0)) || fail 'no program found in examples/python'

passed=0 failed=0
check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf -- '-- %s: FAILED\n%s\n' "$name" "$output"
    fi
}

mypy=("$python" -m mypy --strict --config-file bindings/python/pyproject.toml)
check 'stubtest' "$python" -m mypy.stubtest --mypy-config-file bindings/python/pyproject.toml rheo
check 'mypy, the package' "${mypy[@]}" "$package"
check 'mypy, the examples' "${mypy[@]}" "${programs[@]}"
check 'pyright, the package' "$python" -m pyright --pythonpath "$python" "$package"
check 'pyright, the examples' "$python" -m pyright --pythonpath "$python" "${programs[@]}"

printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
((failed == 0))
