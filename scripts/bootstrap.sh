#!/usr/bin/env bash
# Makes .venv and installs the project into it, editable, with what the demo and the tests need. Needs Python 3.10-3.13
# (PYTHON=... names one) with pip, and a C++ compiler for the code that torch generates; works as root or not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

in_range='import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))'
has_headers='import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'

runs() { "$1" -c "$2" >/dev/null 2>&1; }

# Prefers a Python with its C headers: the code that torch.compile generates for the CPU includes Python.h.
find_python() {
    local test candidate
    for test in "$has_headers" pass; do
        for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
            if runs "$candidate" "$in_range" && runs "$candidate" "$test"; then
                echo "$candidate"
                return
            fi
        done
    done
    echo "bootstrap: no Python 3.10 to 3.13 found; install one, or name it: make PYTHON=/path/to/python3 ..." >&2
    return 1
}

make_venv() {
    local python
    python=$(find_python)
    rm -rf .venv
    # Debian's Python comes without ensurepip: then the pip that is there fills the new environment.
    "$python" -m venv .venv >/dev/null 2>&1 || {
        "$python" -m venv --clear --without-pip .venv
        "$python" -m pip --python .venv/bin/python install --quiet pip
    }
}

if ! runs .venv/bin/python "$in_range" || ! runs .venv/bin/python 'import pip'; then
    make_venv
fi
echo "bootstrap: installing into .venv with $(.venv/bin/python --version); the first time this takes minutes and 6 GB" >&2
.venv/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --editable '.[dev]'

runs .venv/bin/python "$has_headers" ||
    echo "bootstrap: this Python lacks its C headers (Debian: python3-dev); torch.compile regions cannot be built" >&2
command -v "${CXX:-g++}" >/dev/null ||
    echo "bootstrap: no ${CXX:-g++} found (Debian: g++, or set CXX); torch.compile regions cannot be built" >&2
touch .venv/.ready
