#!/bin/sh
# Builds the wheels into a folder: wheels.sh PYTHON FOLDER
# The plain wheel requires the CPU's backend on Linux. The other one, whose version ends in +cuda13, requires CUDA's, because
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

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R app worker resources docs README.md LICENSE pyproject.toml "$copy"
cd "$copy"
"$python" - <<'PYTHON'
import re
from pathlib import Path

file = Path("pyproject.toml")
text, found = re.subn(r'^version = "([^"]+)"$', r'version = "\1+cuda13"', file.read_text(), flags=re.MULTILINE)
text, found_too = re.subn(r'"mlx\[cpu\]; ', '"mlx[cuda13]; ', text)
if (found, found_too) != (1, 1):
    raise SystemExit("packaging/wheels.sh does not find the version and MLX's backend in pyproject.toml.")
file.write_text(text)
PYTHON
"$python" -m hatchling build -t wheel -d "$to"
