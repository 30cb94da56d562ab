"""The program starts despite any problem of its store.

It shows everything readable, reports the problem, and writes nothing.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.application import Application
from app.model.backups import Backups
from app.model.migrations import MIGRATIONS
from app.model.settings import Settings, save_settings
from app.model.store import Store
from tests.app.model.stores import bytes_below, sql
from tests.app.trees import labels, plant
from tests.end_to_end.conftest import OpenBough
from tests.waiting import PATIENCE_MS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.sqlite3"
    with contextlib.closing(Store(path)) as store:
        plant(store, "u1-a1")
    with sql(path) as database:
        Backups(path).make(database)
        database.execute("PRAGMA journal_mode = DELETE")
    return path


def _refuses(application: Application, said: str) -> None:
    """Check that the banner says what is wrong, and that text which can't be stored is given back."""
    banner, controller = application.window.banner, application.controller
    assert banner.isVisible()
    assert said in banner.label.text()
    unsent: list[str] = []
    controller.unsent.connect(unsent.append)
    controller.shown.new_conversation()
    controller.send("u9")
    assert unsent == ["u9"]
    assert "Nothing can be changed now." in banner.label.text()
    assert said in banner.label.text()


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:6000])


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _newer(path: Path) -> None:
    with sql(path) as database:
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (_truncated, "Bough shows the backup"),
        (_emptied, "The conversations are gone from"),
        (_newer, "come from a newer version of Bough"),
    ],
)
def test_an_unusable_store_is_shown_as_far_as_it_can_be_read(
    open_bough: OpenBough, qtbot: QtBot, path: Path, harm: Callable[[Path], None], said: str
) -> None:
    harm(path)
    before = path.read_bytes()
    application = open_bough()
    controller = application.controller
    assert [conversation.name for conversation in controller.program.conversations.all] == ["planted"]
    controller.shown.open_conversation(1)
    assert labels(controller.shown.path) == "u1-a1"
    _refuses(application, said)
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    application.window.close()
    assert path.read_bytes() == before


def test_a_store_that_is_gone_is_restored_or_left_behind(open_bough: OpenBough, path: Path) -> None:
    # Without its backups: a disk that is not connected.
    for file in (path, *Backups(path).files()):
        file.unlink()
    save_settings(path.parent / "settings.json", Settings(has_conversations=True))
    application = open_bough()
    banner = application.window.banner
    assert "and there is no backup" in banner.label.text()
    assert banner.button.text() == "Start without conversations"
    application.window.close()
    assert not path.exists()
    application = open_bough()
    application.window.banner.button.click()
    assert application.starts_again
    application.close()
    application = open_bough()
    assert not application.window.banner.isVisible()
    assert not application.store.why_read_only


def test_a_locked_store_is_reported_and_opens_once_it_is_free(open_bough: OpenBough, path: Path) -> None:
    with sql(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        application = open_bough()
        _refuses(application, "Another program is writing to")
        application.window.close()
        other.execute("ROLLBACK")
    application = open_bough()
    assert not application.store.why_read_only
    application.controller.shown.open_conversation(1)
    assert labels(application.controller.shown.path) == "u1-a1"


def test_permanently_deleted_text_is_in_no_file_any_more(open_bough: OpenBough, qtbot: QtBot, tmp_path: Path) -> None:
    application = open_bough()
    controller = application.controller
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    controller.send("zqxjkvwpf?")
    qtbot.waitUntil(lambda: controller.shown.streaming_message is None, timeout=PATIENCE_MS)
    conversation = controller.shown.conversation
    assert conversation is not None
    # State is written to disk when the worker is idle.
    qtbot.waitUntil(lambda: controller.program.cache_folder.num_bytes > 0, timeout=PATIENCE_MS)
    controller.program.conversations.delete(conversation.id)
    controller.program.conversations.empty_trash()
    qtbot.waitUntil(lambda: not _is_erasing(tmp_path), timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: application.session.state == "ready", timeout=PATIENCE_MS)
    application.window.close()
    assert controller.program.cache_folder.num_bytes == 0
    assert b"qxjkvwpf" not in bytes_below(tmp_path)


def _is_erasing(folder: Path) -> bool:
    with contextlib.closing(sqlite3.connect(folder / "conversations.sqlite3")) as database:
        return database.execute("SELECT count(*) FROM erased").fetchone() != (0,)
