"""A SQLite file, opened safely and changed whole or not at all; its errors are sentences. It knows no conversation."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

from app.model.migrations import APPLICATION_ID, MIGRATIONS, migrate

_DAMAGED = {"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT"}
_IN_USE = {"SQLITE_BUSY", "SQLITE_LOCKED"}
_NOT_ALLOWED = {"SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"}


class StoreError(Exception):
    """The store can't be used; its text says what happened and what to do."""


class Database:
    """One connection. Every method raises `StoreError`; none leaves half a change."""

    def __init__(self, path: Path, patience_ms: int) -> None:
        """Open the file, made anew where there is none; `patience_ms`: how long to wait for another program."""
        self._path = path
        with self._saying_why():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=patience_ms / 1000)
        # What a broken disk made of a text is better read than refused.
        self._connection.text_factory = _decoded
        try:
            with self._saying_why(), _one_at_a_time(path.parent):
                self._refuse_what_is_not_ours()
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA foreign_keys = ON")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute("PRAGMA fullfsync = ON")
                migrate(self._connection)
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def rows(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._saying_why():
            return self._connection.execute(query, parameters).fetchall()

    def write(self, statement: str, parameters: Sequence[object] = ()) -> int:
        """Change something within a transaction; return the id of the row that an INSERT made."""
        with self._saying_why():
            return self._connection.execute(statement, parameters).lastrowid or 0

    def write_many(self, statement: str, parameters: Iterable[Sequence[object]]) -> None:
        with self._saying_why():
            self._connection.executemany(statement, parameters)

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """Everything within happens or nothing does; it survives the death of this program."""
        with self._saying_why():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                # SQLite itself has rolled back already where the disk is full.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def durably(self) -> Generator[None]:
        """A transaction that has reached the disk when it ends, even if the power fails then."""
        with self._saying_why():
            self._connection.execute("PRAGMA synchronous = FULL")
            try:
                with self.transaction():
                    yield
            finally:
                self._connection.execute("PRAGMA synchronous = NORMAL")

    def _refuse_what_is_not_ours(self) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (num_tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if num_tables and application != APPLICATION_ID:
            raise StoreError(
                f"{self._path} belongs to another program. Nothing was changed; give Bough another folder (--data-dir)."
            )
        if version > len(MIGRATIONS):
            raise StoreError(
                f"The conversations in {self._path} were written by a newer Bough. Nothing was changed; "
                "open them with that version."
            )

    @contextlib.contextmanager
    def _saying_why(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(_sentence(self._path, error)) from error


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Generator[None]:
    """Let nobody else open a file here meanwhile: SQLite has no patience where it changes the journal's mode."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        # A file system may know no locks.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _sentence(path: Path, error: sqlite3.Error | OSError) -> str:
    # Extended codes are named after their plain ones: SQLITE_IOERR_SHMSIZE.
    name = "_".join(getattr(error, "sqlite_errorname", "").split("_")[:2])
    if name == "SQLITE_FULL":
        return (
            f"The disk is full, so {path} could not be written. What was stored before is kept. "
            "Free some space, then try again."
        )
    if name in _IN_USE:
        return f"Another program is writing to {path}. Nothing was changed. Close it, or try again in a moment."
    if name in _DAMAGED:
        return (
            f"The conversations in {path} are damaged ({error}). Nothing was changed. "
            "Put a backup in the file's place, or move it away to begin with an empty one."
        )
    if name in _NOT_ALLOWED or isinstance(error, OSError):
        return (
            f"The conversations in {path} can't be opened or written ({error}). Nothing was changed. "
            "See that you may write to the file and its folder, or name another folder with --data-dir."
        )
    return f"The conversations in {path} can't be used ({error}). Nothing was changed. Check the disk, then try again."
