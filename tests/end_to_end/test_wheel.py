"""The wheel in an empty environment, away from the checkout: both programs work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.driver import ROOT

pytestmark = pytest.mark.timeout(900)


def _run(command: list[str | Path], folder: Path, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program outside the checkout, with nothing of the checkout in its environment."""
    ours = ("PYTHON", "VIRTUAL_ENV", "QT_", "DISPLAY", "WAYLAND_DISPLAY", "PYTEST_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        command,
        cwd=folder,
        env=inherited,
        input=given,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def _install(folder: Path) -> Path:
    """Install the wheel and its dependencies at the locked versions. Return the folder of its programs."""
    wheel, _ = _build(folder / "dist")
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(_pinned((ROOT / "packaging" / "requirements.lock").read_text())))
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--constraint", constraints]
    _run([*pip, wheel], folder)
    return folder / "env" / "bin"


def _build(folder: Path) -> list[Path]:
    """Build the wheels. Return the plain one and the one for CUDA."""
    _run([ROOT / "packaging" / "wheels.sh", sys.executable, folder], ROOT)
    return sorted(folder.iterdir(), key=lambda wheel: "cuda13" in wheel.name)


def _pinned(lock: str) -> list[str]:
    """Return the lock's lines without their hashes."""
    return re.findall(r"^([a-z0-9][^\s;]*==[^\s;]+(?: ; [^\\\n]+?)?) *\\?$", lock, re.MULTILINE)


def _check_that_it_is_not_the_checkout(programs: Path, folder: Path) -> None:
    code = "import app, worker, resources; print(app.__file__, worker.__file__, *resources.__path__)"
    found = _run([programs / "python", "-c", code], folder).stdout.split()
    assert all(place.startswith(str(programs.parent)) for place in found)


def _ask_the_worker(programs: Path, folder: Path) -> None:
    commands = [
        {"type": "load_model", "request_id": "load", "model": "guide"},
        {
            "type": "generate",
            "request_id": "ask",
            "messages": [{"role": "user", "content": "What is a branch?"}],
            "max_tokens": 60,
        },
    ]
    given = "".join(json.dumps(command) + "\n" for command in commands)
    done = _run([programs / "bough-worker", "--stdio", "--cache-folder", "cache"], folder, given)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    ends = {event["request_id"]: event for event in events if event["type"] in {"model_loaded", "finished", "failed"}}
    assert ends["load"]["type"] == "model_loaded"
    assert ends["ask"]["type"] == "finished"
    assert "branch" in ends["ask"]["choices"][0]["text"].lower()


def _play_the_tour(programs: Path, folder: Path) -> None:
    done = _run([programs / "bough", "tour", "--out", "tour"], folder)
    assert "Traceback" not in done.stderr
    assert json.loads((folder / "tour" / "tour.json").read_text())["ok"]
    assert "What is a branch?" in (folder / "tour" / "transcript.md").read_text()


def test_every_locked_version_is_a_constraint() -> None:
    lock = (ROOT / "packaging" / "requirements.lock").read_text()
    assert len(_pinned(lock)) == sum(line[:1].isalnum() for line in lock.splitlines())
    assert any(line.startswith("pyside6-essentials==") for line in _pinned(lock))


def test_the_wheel_for_cuda_differs_in_its_version_and_backend_alone(tmp_path: Path) -> None:
    wheels = _build(tmp_path)
    version, for_cuda = (wheel.name.split("-")[1] for wheel in wheels)
    assert for_cuda in {f"{version}+cuda13", f"{version}.cuda13"}
    plain, cuda = map(_contents, wheels)
    assert {name for name in plain if plain[name] != cuda.get(name)} == {"METADATA", "RECORD"}
    assert plain.keys() == cuda.keys()
    lines = zip(plain["METADATA"].decode().splitlines(), cuda["METADATA"].decode().splitlines(), strict=True)
    assert [pair for pair in lines if pair[0] != pair[1]] == [
        (f"Version: {version}", f"Version: {for_cuda}"),
        ("Requires-Dist: mlx[cpu]; sys_platform == 'linux'", "Requires-Dist: mlx[cuda13]; sys_platform == 'linux'"),
    ]


def _contents(wheel: Path) -> dict[str, bytes]:
    """Return the wheel's files by their names, without the folder `bough-….dist-info`."""
    with zipfile.ZipFile(wheel) as opened:
        return {re.sub(r"^bough-[^/]*/", "", name): opened.read(name) for name in opened.namelist()}


@pytest.mark.long
def test_the_installed_wheel_answers_a_question_and_plays_its_tour(tmp_path: Path) -> None:
    programs = _install(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    _check_that_it_is_not_the_checkout(programs, elsewhere)
    _ask_the_worker(programs, elsewhere)
    _play_the_tour(programs, elsewhere)
