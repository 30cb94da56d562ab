"""A store of an older version is updated before the window opens, and a small window says so."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel

from app.model.backups import Backups
from app.model.database import StoreError
from app.model.store import Store
from app.updating import update_store
from tests.app.model.stores import write_first_version
from tests.waiting import PATIENCE_MS


def _words() -> str:
    windows = [found for found in QApplication.topLevelWidgets() if found.objectName() == "update_window"]
    labels = [label for window in windows if window.isVisible() for label in window.findChildren(QLabel)]
    return " ".join(label.text() for label in labels)


def _slowly(monkeypatch: pytest.MonkeyPatch, may_go_on: threading.Event) -> None:
    """Make backups wait for an event."""
    make = Backups.make

    def wait_and_make(self: Backups, *given: object, **named: object) -> Path:
        assert may_go_on.wait(PATIENCE_MS / 1000)
        return make(self, *given, **named)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Backups, "make", wait_and_make)


@pytest.mark.parametrize(("language", "words"), [("en", "makes a backup of your"), ("de", "legt eine Sicherung")])
def test_a_window_reports_that_a_store_is_being_updated_and_does_not_freeze(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str, words: str
) -> None:
    path = tmp_path / "c.sqlite3"
    write_first_version(path)
    may_go_on = threading.Event()
    _slowly(monkeypatch, may_go_on)
    found: list[str] = []

    def look() -> None:
        if said := _words():
            found.append(said)
            may_go_on.set()

    timer = QTimer(interval=5)
    timer.timeout.connect(look)
    timer.start()
    update_store(path, language, was_used=False, patience_ms=0)
    timer.stop()
    assert words in found[0]
    assert not _words()
    assert len(Backups(path).files()) == 1
    with contextlib.closing(Store(path)) as store:
        assert [conversation.name for conversation in store.conversations.all()] == ["old"]
    assert qapp is not None


def test_a_current_or_missing_store_is_not_updated(qapp: QApplication, tmp_path: Path) -> None:
    assert qapp is not None
    path = tmp_path / "c.sqlite3"
    update_store(path, "en", was_used=False)
    assert not path.exists()
    Store(path).close()
    before = path.read_bytes()
    update_store(path, "en", was_used=True)
    assert path.read_bytes() == before


def test_an_update_that_fails_is_said_when_the_store_is_opened(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert qapp is not None
    path = tmp_path / "c.sqlite3"
    write_first_version(path)

    def fail(*_: object, **__: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Backups, "make", fail)
    update_store(path, "en", was_used=False)
    with pytest.raises(StoreError, match="the backup failed"):
        Store(path)
