#!/bin/sh
# Builds the wheels into a folder: wheels.sh PYTHON FOLDER
# The plain wheel requires the CPU's backend on Linux. The other one, whose version ends in cuda13, requires CUDA's, because
# MLX's backends contain a file of the same name (mlx/lib/libmlx.so) and so can't be in one environment.
set -eu
python=$1
case $python in
  */*) python=$(cd "$(dirname "$python")" && pwd)/${python##*/} ;;
esac
mkdir -p "$2"
to=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
"$python" -m hatchling build -t wheel -d "$to"
version=$("$python" packaging/version.py)

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R app worker resources docs README.md LICENSE pyproject.toml "$copy"
cd "$copy"
"$python" - "$version" <<'PYTHON'
import sys
from pathlib import Path

version = sys.argv[1]
version += ".cuda13" if "+" in version else "+cuda13"
file = Path("pyproject.toml")
text = file.read_text()
for old, new in (('dynamic = ["version"]\n', f'version = "{version}"\n'), ('"mlx[cpu]; ', '"mlx[cuda13]; ')):
    if text.count(old) != 1:
        raise SystemExit(f"packaging/wheels.sh does not find this in pyproject.toml: {old}")
    text = text.replace(old, new)
file.write_text(text)
PYTHON
"$python" -m hatchling build -t wheel -d "$to"
