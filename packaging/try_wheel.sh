#!/bin/sh
# Installs the wheel into empty environments with pip, pipx and uv, one command each, and tries what it brings:
#   try_wheel.sh PYTHON FOLDER                with this Python (3.11 to 3.14); all files go into FOLDER
#   try_wheel.sh --debian SUITE FOLDER        in a new root of a Debian, with its Python; needs root and debootstrap
# Neither a display nor rights are needed for the first form. Ends with a line for each way, and fails if one failed.
# WAYS="pip uv" tries these ways alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

fail() {
  echo "try_wheel: $*" >&2
  exit 1
}

# Sets up an environment with what builds and installs wheels, in $1/tools.
make_tools() {
  "$python" -m venv "$1/tools"
  "$1/tools/bin/python" -m pip install --quiet --disable-pip-version-check hatchling pipx uv
}

# Runs a program of the wheel as somebody would who has nothing of the checkout.
program() {
  name=$1
  shift
  (cd "$home/elsewhere" && env -i HOME="$home" PATH="$programs:/usr/bin:/bin" LANG=C.UTF-8 QT_QPA_PLATFORM=offscreen \
    "$programs/$name" "$@")
}

# Tries the programs in $programs with the Python $1 of their environment, as a user whose home is empty.
try_programs() {
  home=$folder/home
  rm -rf "$home"
  mkdir -p "$home/elsewhere"

  version=$(program bough --version)
  [ "$version" = "bough $wanted" ] || fail "bough --version says $version instead of bough $wanted"
  [ "$(program bough-worker --version)" = "bough-worker $wanted" ] || fail "bough-worker --version says another version"
  # Modules and data files are those of the wheel.
  (cd "$home/elsewhere" && env -i HOME="$home" "$1" - <<'PYTHON') || fail "the wheel lacks data files"
import app, resources, sys, worker
from importlib.resources import files
assert all(module.__path__[0].startswith(sys.prefix) for module in (app, resources, worker)), "from elsewhere"
for name in ("docs/serving.md", "docs/servers.md", "icons/bough.svg", "translations/bough_de.qm", "guide/config.json"):
    assert files("resources").joinpath(name).is_file(), name
PYTHON
  program bough doctor || fail "bough doctor finds faults"
  echo "What is a branch?" | program bough-worker chat > "$folder/chat.txt"
  grep -qi branch "$folder/chat.txt" || fail "the guide does not answer"
  try_hooks
  printf '{"messages": [{"role": "user", "content": "Is it here?"}, {"role": "assistant", "content": "It is."}]}\n' \
    > "$home/elsewhere/chat.jsonl"
  program bough import chat.jsonl
  program bough list > "$folder/list.txt"
  grep -q "Is it here?" "$folder/list.txt" || fail "the imported conversation is not in the list"
  program bough export --all --format html --out pages
  grep -rq "It is." "$home/elsewhere/pages" || fail "the exported page lacks the answer"
  program bough tour --out tour > "$folder/tour.txt" 2>&1 || { cat "$folder/tour.txt"; fail "the tour failed"; }
}

# A hook of Bough and one of the user see the tokens of an answer.
try_hooks() {
  hooks=$(program bough-worker --help | tr '\n' ' ' | grep -o "${home}[^ ]*hooks") || fail "--help names no hook folder"
  mkdir -p "$hooks"
  cat > "$hooks/ends_soon.py" <<'HOOK'
def hook(step):
    return [] if step.phase == "after" and step.position > 4 else None
HOOK
  program bough-worker --stdio > "$folder/events.jsonl" <<'COMMANDS'
{"type": "load_model", "request_id": "load", "model": "guide"}
{"type": "generate", "request_id": "ask", "messages": [{"role": "user", "content": "What is a branch?"}], "hooks": ["no repeats", "ends soon"]}
COMMANDS
  grep '"type":"finished"' "$folder/events.jsonl" | grep -q "ends soon" || {
    cat "$folder/events.jsonl"
    fail "the hooks were not called"
  }
}

# Installs in each way. Uses the index that pip and uv use otherwise.
try_all() {
  report=''
  for way in $ways; do
    echo "== $way, Python $("$python" -c 'import platform; print(platform.python_version())')"
    place=$folder/$way
    rm -rf "$place"
    case $way in
      pip)
        "$python" -m venv "$place"
        "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
        programs=$place/bin
        try_programs "$place/bin/python"
        ;;
      pipx)
        PIPX_HOME=$place PIPX_BIN_DIR=$place/bin PIPX_MAN_DIR=$place/man
        export PIPX_HOME PIPX_BIN_DIR PIPX_MAN_DIR
        "$folder/tools/bin/pipx" install --quiet --python "$python" "$wheel"
        programs=$place/bin
        try_programs "$place/venvs/bough/bin/python"
        "$folder/tools/bin/pipx" uninstall --quiet bough
        ;;
      uv)
        UV_TOOL_DIR=$place UV_TOOL_BIN_DIR=$place/bin
        export UV_TOOL_DIR UV_TOOL_BIN_DIR
        "$folder/tools/bin/uv" tool install --quiet --no-progress --python "$python" "$wheel"
        programs=$place/bin
        try_programs "$place/bough/bin/python"
        "$folder/tools/bin/uv" tool uninstall --quiet bough
        ;;
    esac
    [ "$way" = pip ] || [ -z "$(find "$place" -name 'bough*')" ] || fail "$way left files of Bough when it uninstalled"
    report="$report$way installed it, and all of it works.
"
  done
  printf '%s' "$report"
}

# Makes the root of a Debian, and runs this script there as a user. Its packages are brought from here, so it needs no index.
try_in_debian() {
  suite=$1
  root=$folder/root
  [ "$(id -u)" = 0 ] || fail "a root of Debian can be made only by root"
  command -v debootstrap > /dev/null || fail "debootstrap is missing; install it: apt-get install debootstrap"
  # shellcheck disable=SC2016 # apt replaces the name
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/$' | head -1)
  [ -n "$mirror" ] || fail "apt is not set up for a mirror of Debian"
  rm -rf "$root"
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$suite" "$root" "$mirror" > "$folder/debootstrap.txt" ||
    { tail -5 "$folder/debootstrap.txt"; fail "the root of $suite can't be made"; }
  version=$(chroot "$root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "== Debian $suite, Python $version"
  # The mirror may be a copy of some weeks ago.
  echo 'Acquire::Check-Valid-Until "false";' > "$root/etc/apt/apt.conf.d/90copy"
  mkdir -p "$root/try/packages" "$root/etc/uv"
  printf 'no-index = true\nfind-links = ["/try/packages"]\n' > "$root/etc/uv/uv.toml"
  "$folder/tools/bin/python" -m pip download --quiet --disable-pip-version-check --only-binary :all: \
    --python-version "$version" --dest "$root/try/packages" "$wheel" pipx uv hatchling setuptools
  cp "$here/try_wheel.sh" "$here/system_libraries.sh" "$wheel" "$root/try"
  chroot "$root" /try/system_libraries.sh
  chroot "$root" useradd --create-home tester
  chroot "$root" chown -R tester /try
  # What every running system has.
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/dev/shm"
  trap 'umount "$root/proc" "$root/dev/shm"' EXIT
  chroot --userspec tester "$root" env -i HOME=/home/tester PATH=/usr/bin:/bin PIP_NO_INDEX=1 PIP_FIND_LINKS=/try/packages \
    WAYS="$ways" /try/try_wheel.sh --wheel "/try/${wheel##*/}" python3 /home/tester/try
}

ways=${WAYS:-pip pipx uv}
suite='' wheel=''
case ${1:-} in
  --debian) suite=$2 && shift 2 ;;
  --wheel) wheel=$2 && shift 2 ;;
esac
if [ -n "$suite" ]; then
  python=python3
else
  [ $# -ge 1 ] || fail "usage: try_wheel.sh PYTHON FOLDER, or try_wheel.sh --debian SUITE FOLDER"
  python=$(command -v "$1") || fail "there is no $1"
  shift
fi
[ $# -eq 1 ] || fail "usage: try_wheel.sh PYTHON FOLDER, or try_wheel.sh --debian SUITE FOLDER"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
make_tools "$folder"
if [ -z "$wheel" ]; then
  rm -rf "$folder/dist"
  "$here/wheels.sh" "$folder/tools/bin/python" "$folder/dist" > /dev/null
  wheel=$(find "$folder/dist" -name 'bough-*.whl' ! -name '*cuda*')
fi
wanted=$(basename "$wheel" | cut -d - -f 2)
if [ -n "$suite" ]; then
  try_in_debian "$suite"
else
  try_all
fi
