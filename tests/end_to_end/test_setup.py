"""`make setup` on machines that lack something, with stand-ins for the system's own programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.driver import PATIENCE_S, ROOT

# Some of the packages.
QT_AND_BLAS = {"libegl1", "libgl1", "libxcb-cursor0", "libxkbcommon-x11-0", "libopenblas0-pthread"}


def stand_ins(folder: Path, *, user: int = 0, known: str = "", sudo: bool = False) -> str:
    """Write programs that replace system tools and change nothing. Return the PATH that finds them."""
    programs = {
        "ldconfig": f"cat <<'KNOWN'\n{known}\nKNOWN",
        "id": f"echo {user}",
        "sudo": 'if [ "$1" = -n ]; then exit 0; fi; echo sudo "$@" >&2' if sudo else "exit 1",
        "apt-get": 'echo apt-get "$@" >&2',
        "uname": "echo Linux",
    }
    for name, text in programs.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def system_libraries(folder: Path, *, has_home: bool = True, **machine: Any) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": stand_ins(folder, **machine)}
    if has_home:
        environment["HOME"] = str(folder)
        (folder / ".fonts").mkdir()
        (folder / ".fonts" / "some.ttf").touch()
    return subprocess.run(
        [ROOT / "packaging" / "system_libraries.sh"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def every_library() -> str:
    script = (ROOT / "packaging" / "system_libraries.sh").read_text()
    return "\n".join(word for word in script.split() if ".so." in word)


def test_with_all_libraries_present_nothing_is_installed(tmp_path: Path):
    done = system_libraries(tmp_path, known=every_library())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_root_installs_exactly_the_missing_packages(tmp_path: Path):
    known = every_library().replace("libxcb-cursor.so.0", "").replace("libopenblas.so.0", "")
    done = system_libraries(tmp_path, known=known)
    assert done.returncode == 0
    assert "Installing system libraries: libxcb-cursor0 libopenblas0-pthread\n" in done.stdout
    assert "apt-get update" in done.stderr


def test_a_user_with_passwordless_sudo_installs_them_too(tmp_path: Path):
    done = system_libraries(tmp_path, user=1000, sudo=True)
    assert done.returncode == 0
    assert "sudo apt-get update -qq" in done.stderr


def test_a_user_without_rights_is_given_the_exact_packages_in_one_line(tmp_path: Path):
    done = system_libraries(tmp_path, user=1000)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    command, packages = line.split(": sudo apt-get install ")
    assert "run make again" in command
    assert set(packages.split()) >= QT_AND_BLAS


def test_a_user_without_a_home_folder_can_set_bough_up(tmp_path: Path):
    done = system_libraries(tmp_path, known=every_library(), has_home=False, user=1000)
    assert "HOME" not in done.stderr
    # The system's fonts count, or are named as missing.
    assert done.returncode == 0 or "fonts-noto-core" in done.stderr


@pytest.mark.parametrize("version", ["3.10.12", "3.15.0"])
def test_an_unsuitable_python_is_reported_in_one_sentence_before_anything_is_made(tmp_path: Path, version: str):
    numbers = tuple(int(part) for part in version.split("."))
    python = tmp_path / "python"
    otherwise = f"import sys; sys.version, sys.version_info = '{version} (main)', {numbers}; exec(sys.stdin.read())"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{otherwise}"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [ROOT / "packaging" / "setup.sh", tmp_path / "venv", tmp_path / "no.lock"],
        env={**os.environ, "PYTHON": str(python), "PATH": stand_ins(tmp_path, known=every_library())},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Bough needs Python 3.11 to 3.14; this is {version}. "
        "Choose another version, for example: make PYTHON=python3.12\n"
    )
    assert not (tmp_path / "venv").exists()


@pytest.mark.long
def test_a_half_made_environment_is_made_again(tmp_path: Path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    done = subprocess.run(
        [ROOT / "packaging" / "setup.sh", venv, tmp_path / "no.lock"],
        env={**os.environ, "PYTHON": sys.executable, "PATH": stand_ins(tmp_path, known=every_library())},
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,  # it makes an environment with pip
        check=False,
    )
    assert done.returncode != 0
    assert "no.lock" in done.stderr
    subprocess.run([venv / "bin" / "python", "-m", "pip", "--version"], check=True, capture_output=True)
