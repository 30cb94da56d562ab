"""The list of backups, and restoring one of them: the replaced store is kept beside it."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from app.model.backups import Backups
from app.model.database import StoreError
from app.model.restoring import listed, restore
from app.model.store import Store
from tests.app.trees import drawn, plant


def _store_with_backup(path: Path) -> tuple[int, Path]:
    """A conversation, a backup of it, and one question that was added later."""
    with contextlib.closing(Store(path)) as store:
        planted = plant(store, "u1-a1")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            backup = Backups(path).make(connection)
        store.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
    return planted.conversation_id, backup


def _drawn(path: Path, conversation_id: int) -> str:
    with contextlib.closing(Store(path)) as store:
        return drawn(store.messages.shown_by(conversation_id))


def test_backups_are_listed_with_their_contents_and_whether_they_are_sound(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    _, backup = _store_with_backup(path)
    damaged = backup.with_name("conversations-20200131T120000000000-before-version-3.sqlite3")
    damaged.write_bytes(backup.read_bytes()[:5000])
    first, *_, last = listed(path)
    assert [one.state for one in first] == ["unknown", "unknown"]
    assert [(one.file, one.state, one.num_conversations, one.reason) for one in last] == [
        (backup, "sound", 1, "daily"),
        (damaged, "damaged", 0, "update"),
    ]
    assert last[0].num_bytes == backup.stat().st_size
    assert last[1].made_ms == 1_580_472_000_000
    # No files were added beside them.
    assert set(backup.parent.iterdir()) == {backup, damaged}


def test_a_backup_replaces_the_store_which_is_kept_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    conversation_id, backup = _store_with_backup(path)
    kept = restore(path, backup)
    assert _drawn(path, conversation_id) == "u1-a1"
    assert _drawn(kept, conversation_id) == "u1-a1-u2"
    assert backup.exists()


def test_text_deleted_later_is_also_deleted_in_the_replaced_store(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    with contextlib.closing(Store(path)) as store:
        conversation, question = store.create_conversation("old", "", "a secret of mine")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            backup = Backups(path).make(connection)
    kept = restore(path, backup)
    assert [(one.file, one.reason) for one in [*listed(path)][-1]] == [(kept, "restore"), (backup, "daily")]
    assert b"a secret of mine" in kept.read_bytes()
    Backups(path).erase([question.id], [conversation.id], lambda: False)
    assert all(b"a secret of mine" not in file.read_bytes() for file in backup.parent.iterdir())


def test_the_newest_replaced_stores_are_kept_and_the_one_with_the_most_messages(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    _, backup = _store_with_backup(path)
    kept = [restore(path, backup) for _ in range(4)]
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        newest = Backups(path).make(connection)
    assert set(Backups(path).files()) == {newest, backup, kept[0], *kept[-2:]}


def test_a_damaged_store_that_cannot_be_opened_is_kept_with_its_log(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    conversation_id, backup = _store_with_backup(path)
    path.write_bytes(b"no database")
    path.with_name(f"{path.name}-wal").write_bytes(b"its log")
    kept = restore(path, backup)
    assert kept.read_bytes() == b"no database"
    assert _drawn(path, conversation_id) == "u1-a1"


def test_nothing_is_restored_from_a_damaged_backup_or_while_another_program_has_the_store_open(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    conversation_id, backup = _store_with_backup(path)
    with contextlib.closing(Store(path)), pytest.raises(StoreError, match="Another Bough"):
        restore(path, backup)
    backup.write_bytes(backup.read_bytes()[:5000])
    with pytest.raises(StoreError, match="unchanged"):
        restore(path, backup)
    assert _drawn(path, conversation_id) == "u1-a1-u2"
    assert {file.name for file in tmp_path.iterdir()} == {path.name, "conversations.lock", "backups"}
