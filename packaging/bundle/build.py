"""Builds what people install: build.py [--folder] [--without-starter]. Needs Python 3.11 to 3.14, git and the network.

The environment comes from `requirements.lock`, in build/bundle. In dist/ there are then the folder `bough` and, on
Linux, a Debian package and an archive of it. Two builds of one commit on one system have the same bytes: names are
sorted, times are the commit's, and hashes do not vary.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "packaging"), str(HERE)]

from contents import STRIPPED
from version import commit_time_s

LOCK = HERE / "requirements.lock"
WORK = ROOT / "build" / "bundle"
INPUTS = WORK / "inputs"
ENVIRONMENT = WORK / "environment"
PYTHON = ENVIRONMENT / "bin" / "python"
DIST = ROOT / "dist"
FOLDER = DIST / "bough"

_OPENBLAS = "libopenblas.so.0"


class BuildError(Exception):
    """The bundle can't be built; the text says why and what to do."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", action="store_true", help="make the folder alone, no package and no archive")
    parser.add_argument("--without-starter", action="store_true", help="leave out SmolLM2, the small real model")
    chosen = parser.parse_args()
    # The whole build, also of the processes that it starts.
    os.environ.update(PYTHONHASHSEED="0", SOURCE_DATE_EPOCH=str(commit_time_s(ROOT)), LC_ALL="C.UTF-8", TZ="UTC")
    for variable in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        os.environ.pop(variable, None)
    os.umask(0o022)
    try:
        _set_up_environment()
        _collect_inputs(with_starter=not chosen.without_starter)
        _make_folder()
        if sys.platform == "darwin":
            # The app has the same files.
            shutil.rmtree(FOLDER)
            if not chosen.folder:
                print(_python(str(HERE / "mac_app.py"), str(DIST / "Bough.app"), str(WORK), str(DIST)), end="")
        if sys.platform == "linux" and not chosen.folder:
            print(_python(str(HERE / "linux_packages.py"), str(FOLDER), str(WORK), str(DIST)), end="")
    except (BuildError, OSError, subprocess.CalledProcessError) as error:
        print(f"The bundle is not built: {error}", file=sys.stderr)
        return 1
    return 0


# --- the environment ------------------------------------------------------------------------------------------------


def _set_up_environment() -> None:
    """Install the locked packages and this checkout, as a wheel, into an environment of the build alone."""
    stamp = ENVIRONMENT / "locked"
    wanted = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    if not stamp.is_file() or stamp.read_text(encoding="ascii") != wanted:
        print(f"Installing the locked packages into {ENVIRONMENT.relative_to(ROOT)} (a few minutes the first time) …")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
        subprocess.run([*pip, "--require-hashes", "--only-binary=:all:", "-r", str(LOCK)], check=True)
        stamp.write_text(wanted, encoding="ascii")
    # pip would keep an installed Bough of the same version.
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--force-reinstall", str(ROOT)], check=True)


def _python(*arguments: str, **variables: str) -> str:
    """Run Python in the build's environment; return what it prints."""
    # Not in the checkout, so that modules are those of the wheel.
    done = subprocess.run(
        [str(PYTHON), *arguments],
        cwd=WORK,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


# --- what else goes in ----------------------------------------------------------------------------------------------


def _collect_inputs(*, with_starter: bool) -> None:
    """Write the files into INPUTS that are made for the bundle. They lie there as in the bundle."""
    shutil.rmtree(INPUTS, ignore_errors=True)
    INPUTS.mkdir(parents=True)
    _python(str(HERE / "notices.py"), str(INPUTS))
    _keep_names_of_transformers()
    if with_starter:
        _bring_starter()


def _keep_names_of_transformers() -> None:
    """Let the environment's transformers search for its names, so that the bundle need not."""
    code = "from worker import transformers_import as it; it.import_transformers(); "
    code += "print(it.__file__, it.are_names_kept())"
    file, are_kept = _python("-c", code).split()
    kept = sorted((Path(file).parent / "__pycache__").glob("transformers_import.*.names"))
    if are_kept != "True" or len(kept) != 1:
        raise BuildError("the names of transformers were not kept; see worker/transformers_import.py.")
    place = INPUTS / "worker" / "__pycache__"
    place.mkdir(parents=True)
    shutil.copy(kept[0], place)


def _bring_starter() -> None:
    models = INPUTS / "resources" / "models"
    # It stays in the work folder, so the next build does not make it again.
    kept = WORK / "starter"
    script = str(ROOT / "packaging" / "starter.py")
    _python(script, "--again", "--models", str(kept), "--cache", str(kept / "cache"), "--limit", "3600", PYTHONPATH="")
    found = [folder for folder in kept.iterdir() if (folder / "config.json").is_file()] if kept.is_dir() else []
    if not found:
        raise BuildError("the starter can't be had now. Try again with the network, or add --without-starter.")
    models.mkdir(parents=True)
    for folder in found:
        shutil.copytree(folder, models / folder.name)
        record = models / folder.name / "bough.json"
        if record.is_file():
            # It names the file that the model was made of by its time and place, which nobody else has.
            text = record.read_text(encoding="utf-8")
            same = f'"source_identity": "{hashlib.sha256(folder.name.encode()).hexdigest()}"'
            record.write_text(re.sub(r'"source_identity": "[0-9a-f]*"', same, text), encoding="utf-8")


# --- the folder -----------------------------------------------------------------------------------------------------


def _make_folder() -> None:
    variables = {"BOUGH_BUNDLE_INPUTS": str(INPUTS), "PYINSTALLER_CONFIG_DIR": str(WORK / "pyinstaller")}
    if sys.platform == "linux":
        variables["BOUGH_OPENBLAS"] = str(_openblas())
    command = ["-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "WARN"]
    command += ["--distpath", str(DIST), "--workpath", str(WORK / "work"), str(HERE / "bough.spec")]
    print("Making the folder …")
    _python(*command, **variables)
    if sys.platform == "linux":
        (FOLDER / "bough-worker").symlink_to("bough")
        licences = FOLDER / "_internal" / "resources" / "licences.txt"
        _python(str(HERE / "notices.py"), "--system", str(WORK / "libraries.json"), str(licences))
        (FOLDER / "licences.txt").symlink_to(licences.relative_to(FOLDER))
        _strip(FOLDER / "_internal")
        _settle(FOLDER, int(os.environ["SOURCE_DATE_EPOCH"]))


def _openblas() -> Path:
    found = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    paths = [line.rpartition("=> ")[2] for line in found.splitlines() if line.split()[:1] == [_OPENBLAS]]
    if not paths:
        raise BuildError(f"{_OPENBLAS} is not installed. Install it: apt-get install libopenblas0-pthread")
    return Path(paths[0])


def _strip(internal: Path) -> None:
    """Remove symbols for debuggers from some libraries. Each must still load."""
    files = sorted(str(file) for pattern in STRIPPED for file in internal.glob(pattern) if not file.is_symlink())
    subprocess.run(["strip", "--strip-unneeded", *files], check=True)
    _python("-c", "import ctypes, sys; [ctypes.PyDLL(file) for file in sys.argv[1:]]", *files)


def _settle(folder: Path, time_s: int) -> None:
    """Give all files of a folder the same time, and the rights that all users need."""
    for path in [folder, *sorted(folder.rglob("*"))]:
        if not path.is_symlink():
            is_program = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if is_program else 0o644)
        os.utime(path, (time_s, time_s), follow_symlinks=False)


if __name__ == "__main__":
    sys.exit(main())
