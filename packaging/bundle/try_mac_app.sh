#!/bin/sh
# Installs Bough.app from a disk image into a folder of its own, as a user does, and tries it: try_mac_app.sh IMAGE PICTURES
set -eu
image=$1
mkdir -p "$2"
pictures=$(cd "$2" && pwd)
folder=$(mktemp -d)
# A new user's home, so that nothing of this machine helps.
HOME="$folder/home"
export HOME
mkdir -p "$HOME"
hdiutil attach "$image" -readonly -nobrowse -mountpoint "$folder/image"
ditto "$folder/image/Bough.app" "$folder/Bough.app"
hdiutil detach "$folder/image"
app="$folder/Bough.app"
codesign --verify --deep --strict --verbose=2 "$app"
codesign --display --entitlements - "$app"

# Nothing that the build installed is in reach of these.
program() {
  name=$1
  shift
  env -i HOME="$HOME" PATH=/usr/bin:/bin:/usr/sbin:/sbin TMPDIR="$folder" "$app/Contents/MacOS/$name" "$@"
}
program bough --version
program bough doctor
echo "What is a branch?" | program bough-worker chat | grep -i branch
program bough tour --out "$pictures"

# The Finder names files by an event. The picture shows whether the import window has opened.
echo '{"messages": [{"role": "user", "content": "Is this file open?"}]}' > "$folder/conversation.jsonl"
open -n -a "$app" "$folder/conversation.jsonl"
sleep 20
screencapture -x "$pictures/opened-from-the-finder.png" || echo "This machine takes no pictures of its screen." >&2
pids=$(pgrep -f "$app/Contents/MacOS/bough" || true)
[ -n "$pids" ] || { echo "Bough is not running after the Finder has opened a file." >&2; exit 1; }
# shellcheck disable=SC2086 # a list of numbers
kill $pids
