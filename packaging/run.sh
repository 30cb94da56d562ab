#!/bin/sh
# Starts Bough, or plays its tour if there is no display: run.sh PYTHON
set -eu
python=$1
# Only Ctrl+C makes this fail.
"$python" "$(dirname "$0")/starter.py"
if "$python" -c 'from app.display import has_display; raise SystemExit(not has_display())'; then
  exec "$python" -m app
fi
echo "There is no display, so Bough plays its tour instead."
"$python" -m app tour --out build/tour
