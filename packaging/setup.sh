#!/bin/sh
# Creates the virtual environment and installs the locked dependencies in it: setup.sh VENV LOCK
set -eu
venv=$1
lock=$2
python=${PYTHON:-python3}

"$python" - <<'PYTHON' || exit 1
import sys
# The locked Qt does not support newer versions.
if not (3, 11) <= sys.version_info[:2] <= (3, 14):
    sys.exit(f"Bough needs Python 3.11 to 3.14; this is {sys.version.split()[0]}. Choose another version, for example: make PYTHON=python3.12")
try:
    import ensurepip, venv
except ImportError:
    sys.exit("Python's venv module is missing. On Debian and Ubuntu: apt-get install python3-venv")
PYTHON

"$(dirname "$0")/system_libraries.sh"

# An environment that is incomplete or whose Python was removed is created again.
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"
echo "Installing Bough's dependencies into $venv (a few minutes the first time) …"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
# Install Bough itself, with the commands bough and bough-worker. Its dependencies are already installed.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
