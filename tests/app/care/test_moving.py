"""All data moves to another computer in one file: an empty one gets the same data, any other loses nothing."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from app.care.moving import MoveError, forget, move_out, settle, unpacked
from app.model.attachment import Attachment
from app.model.generation_settings import GenerationSettings, Preset
from app.model.preparations import Prepared
from app.model.project import Project
from app.model.settings import Settings, load_settings, save_settings
from app.model.store import Store
from app.model.unsent import Unsent
from tests.app.trees import plant
from tests.driver import ROOT

_TABLES = (
    *("message", "conversation", "choice", "piece", "preparation", "project"),
    *("source", "source_message", "kept_turn"),
)


def _run(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app", "move", *map(str, arguments), "--data-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip


def _rows(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables with a user's data."""
    with contextlib.closing(sqlite3.connect(folder / "conversations.sqlite3")) as database:
        return {table: sorted(database.execute(f"SELECT * FROM {table}"), key=repr) for table in _TABLES}


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A folder with conversations, the trash, a project with a file, an unsent text, settings, presets and hooks."""
    folder = tmp_path / "full"
    with contextlib.closing(Store(folder / "conversations.sqlite3")) as store:
        for tree in ("u1-a1-u2 | a1-u3", "u4-a4", "u5-a5"):
            plant(store, tree)
        trashed = store.conversations.all()[0]
        store.conversations.trash(trashed.id)
        kept = store.conversations.all()[0]
        store.preparations.put(kept.id, Prepared(unsent=Unsent(text="not sent yet")))
        file = Attachment(name="facts.txt", text="A fact.")
        store.projects.put("Letters", Project(instructions="Be brief.", files=(file,)))
    settings = Settings(
        theme="dark", presets=(Preset(name="mine", generation=GenerationSettings(hooks=("shout",))),), model="/a/model"
    )
    save_settings(folder / "settings.json", settings)
    (folder / "hooks").mkdir()
    (folder / "hooks" / "shout.py").write_text("def hook(step):\n    return None\n")
    return folder


def test_an_empty_computer_gets_the_same_data(full: Path, tmp_path: Path) -> None:
    before = _rows(full)
    assert all(before[table] for table in ("message", "conversation", "preparation", "project"))
    file, there = tmp_path / "all.boughmove", tmp_path / "there"
    done = _run("out", file, folder=full)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.stat().st_mode & 0o077 == 0
    done = _run("in", file, folder=there)
    assert (done.returncode, done.stderr) == (0, "")
    assert "All conversations were imported" in done.stdout
    assert "Imported hooks (they run only when you turn them on): shout.py." in done.stdout
    assert _rows(there) == before == _rows(full)
    settings = load_settings(there / "settings.json")
    assert (settings.theme, [preset.name for preset in settings.presets]) == ("dark", ["mine"])
    # Neither models nor their folders are moved.
    assert settings.model == "guide"
    assert (there / "hooks" / "shout.py").read_text() == (full / "hooks" / "shout.py").read_text()
    # The second time, everything is there already.
    done = _run("in", file, folder=there)
    assert "0 conversations were added, 0 got 0 new messages, and 2 were already here." in done.stdout
    assert _rows(there)["message"] == before["message"]
    assert not [path for path in there.iterdir() if path.name.startswith(".moved-")]


def test_a_computer_in_use_gets_new_data_and_keeps_its_own(full: Path, tmp_path: Path) -> None:
    file, there = tmp_path / "all.boughmove", tmp_path / "there"
    assert _run("out", file, folder=full).returncode == 0
    with contextlib.closing(Store(there / "conversations.sqlite3")) as store:
        plant(store, "u8-a8")
        store.projects.put("Letters", Project(instructions="Be long."))
    save_settings(
        there / "settings.json",
        Settings(theme="light", presets=(Preset(name="theirs", generation=GenerationSettings()),)),
    )
    (there / "hooks").mkdir()
    (there / "hooks" / "shout.py").write_text("# mine\n")
    own = _rows(there)
    done = _run("in", file, folder=there)
    assert "2 conversations were added" in done.stdout
    assert "The old ones are saved in" in done.stdout
    # The output names everything that could not be imported.
    assert done.returncode == 1
    assert done.stderr == "Hooks with these names already exist and were not changed: shout.py.\n"
    now = _rows(there)
    for table in ("message", "conversation", "choice", "project"):
        assert {row[0] for row in own[table]} <= {row[0] for row in now[table]}
    assert set(own["message"]) <= set(now["message"])
    with contextlib.closing(Store(there / "conversations.sqlite3")) as store:
        assert len(store.conversations.all()) == 3
        project = store.projects.get("Letters")
        assert project is not None
        assert project.instructions == "Be long."
    assert (there / "hooks" / "shout.py").read_text() == "# mine\n"
    kept = json.loads((there / "settings before import 1.json").read_text())
    assert kept["settings"]["theme"] == "light"
    assert [preset.name for preset in load_settings(there / "settings.json").presets] == ["theirs", "mine"]


def test_moving_in_is_refused_while_bough_is_open(full: Path, tmp_path: Path) -> None:
    file, there = tmp_path / "all.boughmove", tmp_path / "there"
    assert _run("out", file, folder=full).returncode == 0
    with contextlib.closing(Store(there / "conversations.sqlite3")):
        done = _run("in", file, folder=there)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "Bough is open. Nothing was changed. Close it, then try again.\n"
        # The file can be written while Bough is open.
        assert _run("out", tmp_path / "again.boughmove", folder=there).returncode == 0


def _pack(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def _all_steps(steps: Any) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


_HEAD = b'{"format":"bough-move","version":1}'
_SETTINGS = b'{"format":"bough-settings","version":1,"settings":{},"hooks":{}}'


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (None, "not a file that Bough wrote"),
        ({}, "not a file that Bough wrote"),
        ({"bough-move.json": b"{"}, "not a file that Bough wrote"),
        ({"bough-move.json": b'{"format":"other","version":1}'}, "not a file that Bough wrote"),
        ({"bough-move.json": b'{"format":"bough-move","version":2}'}, "newer version"),
        ({"bough-move.json": _HEAD}, "not a file that Bough wrote"),
        ({"bough-move.json": _HEAD, "settings.json": b"[]"}, "not a settings file"),
        (
            {"bough-move.json": _HEAD, "settings.json": _SETTINGS, "conversations.sqlite3": b"SQLite format 3\0" * 90},
            "not a file that Bough wrote",
        ),
        (
            {"bough-move.json": _HEAD, "settings.json": _SETTINGS, "conversations.sqlite3": b""},
            "not a file that Bough wrote",
        ),
    ],
)
def test_an_invalid_file_is_refused_and_leaves_nothing(
    files: dict[str, bytes] | None, says: str, tmp_path: Path
) -> None:
    file, data = tmp_path / "file.boughmove", tmp_path / "data"
    if files is None:
        file.write_bytes(b"PK\x03\x04 and no archive")
    else:
        _pack(file, **files)
    with pytest.raises(Exception, match=says) as caught:
        _all_steps(unpacked(file, data))
    assert "Nothing was changed" in str(caught.value)
    assert list(data.iterdir()) == []


def test_moving_out_a_damaged_store_reports_the_damage(full: Path, tmp_path: Path) -> None:
    store = full / "conversations.sqlite3"
    store.write_bytes(store.read_bytes()[:9000])
    before = store.read_bytes()
    with pytest.raises(MoveError, match="can't be copied"):
        _all_steps(move_out(tmp_path / "all", store, Settings(), full / "hooks"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]
    assert store.read_bytes() == before


def test_a_cancelled_move_leaves_no_files(full: Path, tmp_path: Path) -> None:
    steps = move_out(tmp_path / "all", full / "conversations.sqlite3", Settings(), full / "hooks")
    next(steps)
    steps.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


def test_settings_alone_can_be_moved(tmp_path: Path) -> None:
    file = tmp_path / "all"
    _all_steps(move_out(file, tmp_path / "none.sqlite3", Settings(theme="dark"), tmp_path / "hooks"))
    moved = _all_steps(unpacked(file, tmp_path / "data"))
    assert moved.store is None
    assert moved.settings.changes["theme"] == "dark"
    assert list((tmp_path / "data").iterdir()) == []


def test_only_the_store_of_an_unpacked_file_is_removed(full: Path, tmp_path: Path) -> None:
    file = tmp_path / "all"
    _all_steps(move_out(file, full / "conversations.sqlite3", Settings(), full / "hooks"))
    moved = _all_steps(unpacked(file, tmp_path / "data"))
    assert _all_steps(settle(tmp_path / "there" / "conversations.sqlite3", moved.store)) is None
    forget(moved.store)
    assert list((tmp_path / "data").iterdir()) == []
    forget(full / "conversations.sqlite3")
    assert (full / "conversations.sqlite3").exists()
