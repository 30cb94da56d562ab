"""Restoring a backup: the program closes its windows, restores the backup, and opens them again."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

from app.model.backups import Backups
from app.model.store import Store


def test_a_restored_backup_is_shown_and_the_replaced_store_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite3"
    with contextlib.closing(Store(path)) as store:
        store.create_conversation("old", "", "Hello")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            backup = Backups(path).make(connection)
        store.create_conversation("new", "", "Hello")
    command = [sys.executable, "-m", "tests.end_to_end.run_restoring", str(tmp_path), str(backup)]
    bough = subprocess.run(command, capture_output=True, text=True, timeout=500, check=True)
    names, notice = bough.stdout.splitlines()
    assert names == "old"
    (kept,) = (tmp_path / "backups").glob("conversations-*-replaced.sqlite3")
    assert str(kept) in notice
    with contextlib.closing(Store(kept)) as store:
        assert {conversation.name for conversation in store.conversations.all()} == {"old", "new"}
