#!/bin/sh
# Installs the tools for the screen reader test if possible. Without them, this one test is skipped.
set -eu
[ "$(uname)" = Linux ] && command -v apt-get >/dev/null || exit 0
missing=''
command -v Xvfb >/dev/null || missing="$missing xvfb"
command -v dbus-run-session >/dev/null || missing="$missing dbus"
[ -e /usr/libexec/at-spi-bus-launcher ] || missing="$missing at-spi2-core"
/usr/bin/python3 -c 'import pyatspi' 2>/dev/null || missing="$missing python3-pyatspi"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ]; then
  as_root=''
elif sudo -n true 2>/dev/null; then
  as_root=sudo
else
  exit 0
fi
echo "Installing the tools for the screen reader test:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of packages
{ $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $missing; } >/dev/null 2>&1 ||
  echo "The tools could not be installed, so the test is skipped."
