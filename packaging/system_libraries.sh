#!/bin/sh
# Installs missing system libraries for Qt and OpenBLAS (Debian, Ubuntu and similar systems).
set -eu
[ "$(uname)" = Linux ] || exit 0

# Libraries and the packages that contain them.
wanted='
libEGL.so.1 libegl1
libGL.so.1 libgl1
libfontconfig.so.1 libfontconfig1
libdbus-1.so.3 libdbus-1-3
libglib-2.0.so.0 libglib2.0-0
libxkbcommon.so.0 libxkbcommon0
libxkbcommon-x11.so.0 libxkbcommon-x11-0
libxcb-cursor.so.0 libxcb-cursor0
libxcb-icccm.so.4 libxcb-icccm4
libxcb-image.so.0 libxcb-image0
libxcb-keysyms.so.1 libxcb-keysyms1
libxcb-randr.so.0 libxcb-randr0
libxcb-render-util.so.0 libxcb-render-util0
libxcb-shape.so.0 libxcb-shape0
libxcb-xinerama.so.0 libxcb-xinerama0
libxcb-xkb.so.1 libxcb-xkb1
libopenblas.so.0 libopenblas0-pthread
'
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
known=$("$ldconfig" -p 2>/dev/null || true)
missing=''
for entry in $(echo "$wanted" | awk 'NF { print $1 ":" $2 }'); do
  case "$known" in
    *"${entry%%:*}"*) ;;
    *) missing="$missing ${entry#*:}" ;;
  esac
done
# At least one font is needed.
if ! find /usr/share/fonts /usr/local/share/fonts "${HOME:-}/.local/share/fonts" "${HOME:-}/.fonts" \
    -name '*.[to]t[fc]' 2>/dev/null | grep -q .; then
  missing="$missing fonts-noto-core fonts-noto-mono"
fi
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "Bough needs these libraries (named as in Debian):$missing. Install them with your system's package manager." >&2
  exit 0
fi
if [ "$(id -u)" = 0 ]; then
  as_root=''
elif sudo -n true 2>/dev/null; then
  as_root=sudo
else
  echo "Bough needs system libraries. Install them and run make again: sudo apt-get install$missing" >&2
  exit 1
fi
echo "Installing system libraries:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of packages
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
