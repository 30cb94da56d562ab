#!/bin/sh
# Opens Bough; where there is no display, lets it play its tour: run.sh PYTHON
set -eu
python=$1
if "$python" -c 'from app.display import has_display; raise SystemExit(not has_display())'; then
  exec "$python" -m app
fi
echo "There is no display here, so Bough plays its tour without one."
"$python" -m app tour --out build/tour
