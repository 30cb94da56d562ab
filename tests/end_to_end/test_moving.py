"""Moving to another computer in the window: the file is written, and read by an empty Bough and by one in use."""

from __future__ import annotations

import contextlib
from pathlib import Path

from pytestqt.qtbot import QtBot

from app.__main__ import _put_back  # pyright: ignore[reportPrivateUsage]
from app.care.moving import is_moved
from app.model.store import Store
from tests.app.trees import plant
from tests.end_to_end.conftest import OpenBough
from tests.waiting import PATIENCE_MS


def _plant(folder: Path, tree: str) -> None:
    with contextlib.closing(Store(folder / "conversations.sqlite3")) as store:
        plant(store, tree)


def _texts(folder: Path) -> set[str]:
    """Return the texts of all messages."""
    with contextlib.closing(Store(folder / "conversations.sqlite3")) as store:
        ids = [one.id for one in store.conversations.all()]
        return {message.text for each in ids for message in store.messages.shown_by(each)}


def test_everything_moves_from_window_to_window(open_bough: OpenBough, qtbot: QtBot, tmp_path: Path) -> None:
    one, empty, used = (tmp_path / name for name in ("one", "empty", "used"))
    file = tmp_path / "all.boughmove"
    for folder, tree in ((one, "u1-a1-u2 | a1-u3"), (used, "u8-a8")):
        folder.mkdir()
        _plant(folder, tree)
    before = _texts(one)

    bough = open_bough(folder=one)
    bough.window.action("move").trigger()
    window = bough.window.dialogs.show_move()
    window.write(file)
    qtbot.waitUntil(lambda: "Everything is in all.boughmove" in bough.window.banner.label.text(), timeout=PATIENCE_MS)
    assert not window.isVisible()
    bough.window.close()

    bough = open_bough(folder=empty)
    bough.window.dialogs.show_move().read(file)
    qtbot.waitUntil(lambda: bough.backup_to_restore is not None, timeout=PATIENCE_MS)
    moved = bough.backup_to_restore
    assert moved is not None
    assert is_moved(moved)
    bough.window.close()
    assert (
        _put_back(empty / "conversations.sqlite3", moved).text
        == "The conversations of the other computer are here now."
    )
    assert _texts(empty) == before
    assert not moved.parent.exists()

    bough = open_bough(folder=used)
    window = bough.window.dialogs.show_move()
    window.read(file)
    qtbot.waitUntil(lambda: "Imported 1 conversation" in bough.window.banner.label.text(), timeout=PATIENCE_MS)
    assert len(bough.program.conversations.all) == 2
    bough.window.close()
    assert _texts(used) == before | {"u8", "a8"}
    assert not [path for path in used.iterdir() if path.name.startswith(".moved-")]


def test_a_wrong_file_is_refused_in_the_window(open_bough: OpenBough, qtbot: QtBot, tmp_path: Path) -> None:
    file = tmp_path / "photo.jpg"
    file.write_bytes(b"no archive")
    window = open_bough().window.dialogs.show_move()
    window.read(file)
    qtbot.waitUntil(lambda: "photo.jpg is not a file that Bough wrote" in window.note.text(), timeout=PATIENCE_MS)
    assert window.isVisible()
    assert window.read_button.isEnabled()
