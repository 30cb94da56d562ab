"""`bough doctor` and `--version`: each finding is true, nothing is changed, and broken libraries do not stop it."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.model.backups import Backups
from app.model.migrations import APPLICATION_ID
from app.model.settings import Settings, save_settings
from app.model.store import Store
from app.places import Places
from app.shell import doctor_command
from app.shell.doctor_command import store_facts
from tests.app.model.stores import bytes_below, sql
from tests.app.trees import plant
from tests.driver import ROOT


def _obey_modes() -> None:
    """Let a program of root obey the modes of files, as those of other users do."""
    if sys.platform == "linux" and os.geteuid() == 0:
        drop_from_bounding_set, override, read_search = 24, 1, 2
        for capability in (override, read_search):
            ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)


def _doctor(data: Path, libraries: Path | None = None, **options: Any) -> tuple[int, dict[str, dict[str, str]]]:
    """Run `bough doctor --json` and return its exit code and its findings by name."""
    without = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}
    environment = {name: value for name, value in os.environ.items() if name not in without}
    environment["PYTHONPATH"] = os.pathsep.join([*([] if libraries is None else [str(libraries)]), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "app", "doctor", "--json", "--data-dir", str(data)],
        cwd=ROOT, env=environment, capture_output=True, timeout=500, check=False, **options,
    )  # fmt: skip
    assert done.stderr == b""
    found = json.loads(done.stdout)
    assert (done.returncode == 0) is found["is_well"]
    for finding in found["findings"]:
        assert finding["says"].endswith(".")
        # A sentence says how to mend what is wrong, and only that.
        assert (finding["state"] == "ok") is (finding["mend"] == ""), finding
    return done.returncode, {finding["name"]: finding for finding in found["findings"]}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with conversations, a backup, settings and hooks."""
    folder = tmp_path / "data"
    with contextlib.closing(Store(folder / "conversations.sqlite3")) as store:
        plant(store, "u1-a1")
    with sql(folder / "conversations.sqlite3") as database:
        Backups(folder / "conversations.sqlite3").make(database)
    save_settings(folder / "settings.json", Settings(theme="dark"))
    (folder / "hooks").mkdir()
    (folder / "hooks" / "mine.py").write_text("def hook(step):\n    return None\n")
    return folder


@pytest.mark.parametrize(("module", "name"), [("app", "bough"), ("worker", "bough-worker")])
def test_both_programs_say_their_version(module: str, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{name} {importlib.metadata.version('bough')}\n"


def test_a_sound_installation_is_well_and_nothing_is_changed(data: Path) -> None:
    before = bytes_below(data)
    code, found = _doctor(data)
    assert code == 0, found
    assert bytes_below(data) == before
    states = {name: finding["state"] for name, finding in found.items()}
    usual = ("Bough", "Python", "Qt", "MLX", "GPU", "Disk", "Conversations", "Backups", "Settings", "Hooks")
    assert {name: states[name] for name in usual} == dict.fromkeys(usual, "ok")
    assert found["Conversations"]["says"].startswith("1 in ")
    assert found["Hooks"]["says"].startswith("1 of your own")
    assert "can be written and is yours" in found["Folder for conversations"]["says"]
    assert {"Memory", "Keyring", "Models", "Folder for models", "Folder for logs"} <= found.keys()
    if sys.platform == "linux":
        # This run has no display, which is no fault.
        assert states["Display"] == "warning"


def test_broken_parts_are_named_and_the_rest_is_checked(data: Path, tmp_path: Path) -> None:
    libraries = tmp_path / "libraries"
    for package, text in (("PySide6", "import os\nos.abort()\n"), ("mlx", "raise ImportError('no such symbol')\n")):
        (libraries / package).mkdir(parents=True)
        (libraries / package / "__init__.py").write_text(text)
    store = data / "conversations.sqlite3"
    store.write_bytes(store.read_bytes()[:6000])
    (data / "settings.json").write_text('{"theme": "purple"}')
    (data / "hooks" / "wrong.py").write_text("def hook(step:\n")
    (data / "models").write_text("")
    before = bytes_below(data)
    code, found = _doctor(data, libraries)
    assert code == 1
    assert bytes_below(data) == before
    faults = {name: finding["says"] for name, finding in found.items() if finding["state"] == "fault"}
    assert faults.keys() == {"Qt", "MLX", "Conversations", "Settings", "Folder for models"}
    assert "crashes (SIGABRT)" in faults["Qt"]
    assert "no such symbol" in faults["MLX"]
    assert "damaged" in faults["Conversations"]
    assert "theme" in faults["Settings"]
    assert "1 of 2 can't be used. wrong.py is not valid Python" in found["Hooks"]["says"]
    assert "restore a backup" in found["Conversations"]["mend"]


def test_a_home_that_can_not_be_written_is_a_fault_and_stays_empty() -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        home.chmod(0o555)
        code, found = _doctor(home / "bough", preexec_fn=_obey_modes)
        assert code == 1
        assert not list(home.iterdir())
        folder = found["Folder for conversations"]
        assert folder["state"] == "fault"
        assert folder["says"] == f"{home / 'bough'} is not there, and {home} can't be written."
        home.chmod(0o755)


@pytest.mark.skipif(sys.platform != "linux", reason="Reads a file of Linux")
def test_a_store_in_use_is_checked_with_its_log_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    with contextlib.closing(Store(path)) as store:
        plant(store, "u1-a1")
        assert store.path == path
        log = path.with_name(f"{path.name}-wal")
        assert log.stat().st_size
        before = {file: file.read_bytes() for file in (path, log)}
        facts = store_facts(str(path))
        assert (facts["problem"], facts["num_conversations"], facts["application"]) == ("", 1, APPLICATION_ID)
        assert {file: file.read_bytes() for file in (path, log)} == before
        # A copy without the index of the log, as a backup program makes it.
        copy = tmp_path / "copy"
        copy.mkdir()
        for file, content in before.items():
            (copy / file.name).write_bytes(content)
    assert store_facts(str(copy / path.name))["num_conversations"] == 1
    assert sorted(file.name for file in copy.iterdir()) == [path.name, log.name]


def test_findings_are_also_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor_command, "_CHECKS", (doctor_command._store, doctor_command._hooks, _broken))  # pyright: ignore[reportPrivateUsage]
    code = doctor_command.doctor(argparse.Namespace(json=False), Places.under(tmp_path / "none"))
    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert "ok       Conversations: there are none yet." in lines
    # A check that fails itself is named, and the others go on.
    fault = next(index for index, line in enumerate(lines) if line.startswith("fault    Broken: "))
    assert "ZeroDivisionError" in lines[fault]
    assert lines[fault + 1].startswith(" " * 9)
    assert not (tmp_path / "none").exists()


def _broken(_places: Places) -> Iterator[doctor_command.Finding]:
    yield from [1 // 0]  # pyright: ignore[reportReturnType]
