#!/bin/sh
# Makes the virtual environment and installs the locked dependencies in it: setup.sh VENV LOCK
set -eu
venv=$1
lock=$2
python=${PYTHON:-python3}

"$python" - <<'PYTHON' || exit 1
import sys
# Of newer ones the locked Qt knows nothing.
if not (3, 11) <= sys.version_info[:2] <= (3, 14):
    sys.exit(f"Bough needs Python 3.11 to 3.14; this is {sys.version.split()[0]}. Name another one: make PYTHON=python3.12")
try:
    import ensurepip, venv
except ImportError:
    sys.exit("Python's venv module is missing. On Debian and Ubuntu: apt-get install python3-venv")
PYTHON

"$(dirname "$0")/system_libraries.sh"

# One whose making was broken off, or whose Python is gone, is made again.
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"
echo "Installing Bough's dependencies into $venv (a few minutes the first time) …"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
# Bough itself, with the programs bough and bough-worker; its dependencies are there already.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
