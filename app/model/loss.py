"""Finds out whether an empty store lost its conversations, never had any, or had all of them deleted by the user.

Conversations that the user deletes are later removed from the backups, too. Until then the table `erased` lists them.
A conversation that is in a backup, but neither in the store nor in that table, was lost.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Container, Iterator
from pathlib import Path

from app.model.backups import UNREADABLE, Backups, opened_backup, refuse_unsound


def has_conversations(connection: sqlite3.Connection) -> bool:
    """Return whether a store has any conversation or message, the trash included."""
    if not _has_table(connection, "conversation"):
        return False
    found = connection.execute("SELECT EXISTS (SELECT 1 FROM conversation) OR EXISTS (SELECT 1 FROM message)")
    return bool(found.fetchone()[0])


def had_conversations(connection: sqlite3.Connection) -> bool:
    """Return whether a store, which may be empty now, ever had a conversation."""
    if not _has_table(connection, "sqlite_sequence"):
        return False
    return connection.execute("SELECT 1 FROM sqlite_sequence WHERE name = 'conversation'").fetchone() is not None


def erased_ids(connection: sqlite3.Connection) -> set[int]:
    """Return the ids of conversations that the user deleted and that may still be in backups."""
    if not _has_table(connection, "erased"):
        return set()
    return {row[0] for row in connection.execute("SELECT conversation_id FROM erased")}


def have_more(backups: Backups, erased: Container[int] = ()) -> bool:
    """Return whether a backup has a conversation that the user did not delete."""
    for file in backups.files():
        with contextlib.suppress(*UNREADABLE), contextlib.closing(opened_backup(file)) as connection:
            if any(row[0] not in erased for row in connection.execute("SELECT id FROM conversation")):
                return True
    return False


def to_show(backups: Backups) -> Iterator[Path]:
    """Yield the sound backups in the order in which to try them.

    Those with at least half as many messages as the fullest come first, newest first, because backups made after a loss
    may contain little.
    """
    sizes = {file: backups.num_messages(file) for file in backups.files()}
    fullest = max(sizes.values(), default=0)
    for file in sorted(sizes, key=lambda file: (2 * sizes[file] >= fullest, file), reverse=True):
        with contextlib.suppress(*UNREADABLE), contextlib.closing(opened_backup(file)) as connection:
            refuse_unsound(connection)
            yield file


def is_lost(connection: sqlite3.Connection, backups: Backups) -> bool:
    """Return whether a readable store has lost its conversations; False for a store that can't be read."""
    with contextlib.suppress(*UNREADABLE):
        return not has_conversations(connection) and have_more(backups, erased_ids(connection))
    return False


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None
