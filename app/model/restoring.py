"""Lists a store's backups, and restores one of them."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from app.model.backups import Backups, opened_backup, refuse_unsound
from app.model.database import StoreError
from app.model.own_files import beside, sync
from app.model.presence import Presence
from worker.sentence import Sentence

State: TypeAlias = Literal["unknown", "sound", "damaged"]
Reason: TypeAlias = Literal["daily", "update", "restore"]
"""Why a backup was made: daily, before a migration, or because a backup replaced this store."""


class Backup(Struct, frozen=True, kw_only=True):
    """One backup. Its state and number of conversations are known after it was checked."""

    file: Path
    made_ms: int
    num_bytes: int
    reason: Reason
    state: State = "unknown"
    num_conversations: int = 0


def listed(store: Path) -> Generator[list[Backup], None, list[Backup]]:
    """Return the backups of a store, newest first. Yield the list after each one was checked."""
    found = [backup for file in Backups(store).files() if (backup := _seen(file)) is not None]
    yield list(found)
    for index, backup in enumerate(found):
        found[index] = _checked(backup)
        yield list(found)
    return found


def restore(store: Path, backup: Path) -> Path:
    """Replace a store with an intact backup. Return the path to which the replaced store was moved.

    No program may have the store open. If this function raises `StoreError`, nothing has changed.
    """
    try:
        presence = Presence(store.with_suffix(".lock"))
        with contextlib.closing(presence), presence.alone() as is_alone:
            if not is_alone:
                raise StoreError(
                    Sentence(
                        "Another Bough has these conversations open, so nothing was restored. "
                        "Close it, then restore the backup again."
                    )
                )
            return _replace(store, backup)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            Sentence(
                "The backup {backup} could not be restored ({error}). Your conversations are unchanged.",
                backup=backup.name,
                error=error,
            )
        ) from error


def _replace(store: Path, backup: Path) -> Path:
    with contextlib.closing(opened_backup(backup)) as connection:
        refuse_unsound(connection)
    _write_log_into(store)
    kept = Backups(store).path_for_replaced()
    # If the store is a link to a file elsewhere, it stays one.
    real = beside(store, "")
    new = real.with_name(f".{kept.name}")
    try:
        shutil.copyfile(backup, new)
        new.chmod(0o600)
        sync(new)
        # Link the old files under their new names before any is removed.
        for end in ("", "-wal"):
            file = beside(store, end)
            if file.exists() and (not end or file.stat().st_size):
                _link(file, beside(kept, end))
        for end in ("-wal", "-shm"):
            beside(store, end).unlink(missing_ok=True)
        new.replace(real)
        sync(kept.parent)
        sync(real.parent)
    finally:
        new.unlink(missing_ok=True)
    return kept


def _seen(file: Path) -> Backup | None:
    with contextlib.suppress(OSError, ValueError):
        time = file.stem.split("-before-")[0].removesuffix("-replaced").rpartition("-")[2]
        made = datetime.strptime(time, "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
        return Backup(
            file=file,
            made_ms=int(made.timestamp() * 1000),
            num_bytes=file.stat().st_size,
            reason="update" if "-before-" in file.name else "restore" if "-replaced" in file.name else "daily",
        )
    return None


def _checked(backup: Backup) -> Backup:
    try:
        with contextlib.closing(opened_backup(backup.file)) as connection:
            refuse_unsound(connection)
            (number,) = connection.execute("SELECT count(*) FROM conversation WHERE trashed_ms IS NULL").fetchone()
            return msgspec.structs.replace(backup, state="sound", num_conversations=number)
    except (sqlite3.Error, UnicodeDecodeError):
        return msgspec.structs.replace(backup, state="damaged")


def _write_log_into(store: Path) -> None:
    """Write the log into the store's file, if it can still be opened."""
    # SQLite would delete the log of an empty file.
    if store.exists() and store.stat().st_size:
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(store)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _link(file: Path, new: Path) -> None:
    try:
        os.link(file, new)
    except OSError:
        # The file system has no hard links.
        shutil.copyfile(file, new)
        sync(new)
