"""A SQLite file with transactions, and with errors as sentences. Independent of conversations.

A file that can't be opened normally is opened read-only. If necessary, a migrated copy in memory is used instead, or
the newest sound backup, or an empty database. The file itself is then never written.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

from app.model.backups import Backups
from app.model.loss import erased_ids, had_conversations, has_conversations, have_more, is_lost, to_show
from app.model.migrations import APPLICATION_ID, MIGRATIONS, flaws, migrate, version_of
from app.model.own_files import beside, make_folder, open_own, restrict
from app.model.search_renewal import begin_renewal, renew_first, renew_slice
from worker.sentence import Sentence, SentenceError

_DAMAGED = {"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT"}
_REQUIRED_TABLES = ("conversation", "choice", "message", "piece")
_UNREADABLE = ("changed view", "missing view", *(f"missing column {table}." for table in _REQUIRED_TABLES))
"""The beginnings of those `flaws` that keep messages from being read."""
_IN_USE = {"SQLITE_BUSY", "SQLITE_LOCKED"}
_NOT_ALLOWED = {"SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"}

_WAL_PAGES = 8000
"""When the log has this many pages, a write copies it into the file. Usually `Upkeep` does so earlier."""


class StoreError(SentenceError):
    """The store can't be used; the sentence says what happened and what to do."""


class DamagedError(StoreError):
    """The file, or a part of it, can't be read."""


class SearchIndexError(StoreError):
    """Only the search index is damaged, which can be rebuilt."""


class LostError(StoreError):
    """The file is missing or empty, but it had conversations that the user did not delete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.has_backup = bool(Backups(path).files())
        if self.has_backup:
            why = Sentence(
                "The conversations are gone from {path}, although you did not delete them. Nothing was changed. "
                "Restore a backup under File, Backups. To begin without conversations, move the folder {folder} away.",
                path=path,
                folder=Backups(path).folder,
            )
        else:
            why = Sentence(
                "The conversations are gone from {path}, and there is no backup. Nothing was changed. If their folder "
                "is on another disk, connect it and start Bough again.",
                path=path,
            )
        super().__init__(why)


class Database:
    """One connection. Every method may raise `StoreError`, and never leaves a change incomplete."""

    def __init__(self, path: Path, connection: sqlite3.Connection, why_read_only: Sentence | None = None) -> None:
        """Call `open` or `open_read_only` instead. `why_read_only` is the reason given to writers; None if writable."""
        self._path = path
        self._connection = connection
        self.why_read_only = why_read_only
        self.flush_later: Callable[[], None] | None = None
        """Called after a change that must survive a power failure. None means that each such change waits for the
        disk."""
        self._afterwards: set[Callable[[], None]] = set()
        # Read text that a broken disk has damaged, rather than refuse it.
        connection.text_factory = _decoded

    @classmethod
    def open(cls, path: Path, patience_ms: int, *, was_used: bool = False) -> Database:
        """Open the file, or create it. `patience_ms` is the time to wait for another program.

        `was_used`: whether the file is known to have had conversations. Raises `LostError` if it has lost them.
        """
        with _errors_explained(path):
            if not path.exists() and (was_used or have_more(Backups(path))):
                raise LostError(path)
            if path.exists() and not path.is_file():
                raise OSError(errno.EINVAL, "it is not a file")
            _refuse_a_lone_log(path)
            make_folder(path.parent)
            restrict(*(beside(path, end) for end in ("", "-wal", "-shm", "-journal")))
            # SQLite gives the files beside it the same mode.
            os.close(open_own(str(path), os.O_CREAT | os.O_RDONLY))
            connection = sqlite3.connect(path, isolation_level=None, timeout=patience_ms / 1000)
        try:
            with _errors_explained(path), _one_at_a_time(path.parent):
                _refuse_foreign_file(path, connection)
                _refuse_another_schema(path, connection)
                _refuse_lost_store(path, connection, was_used=was_used)
                set_up(connection)
                if version_of(connection) == 0:
                    # A new file has nothing to lose yet, so don't wait for the disk.
                    connection.execute("PRAGMA synchronous = OFF")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
                if 0 < version_of(connection) < len(MIGRATIONS):
                    _keep_as_it_was(path, connection)
                if migrate(connection):
                    renew_first(connection)
                connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            _close_unchanged(path, connection)
            raise
        return cls(path, connection)

    @classmethod
    def open_read_only(cls, path: Path, why: Sentence) -> Database:
        """Open what can be read of the file or of its backups. `why` says why it can't be opened normally."""
        backups = Backups(path)
        for connection in _readable(path):
            if not is_lost(connection, backups):
                return cls(path, connection, Sentence("{why} You can still read your conversations.", why=why))
            connection.close()
        for backup in to_show(backups):
            for connection in _readable(backup):
                why = Sentence("{why} Bough shows the backup {file}, which can't be changed.", why=why, file=backup)
                return cls(path, connection, why)
        connection = sqlite3.connect(":memory:", isolation_level=None)
        migrate(connection)
        connection.execute("PRAGMA query_only = ON")
        return cls(path, connection, why)

    def close(self) -> None:
        self._connection.close()

    @property
    def num_changes(self) -> int:
        """The number of rows that were written since the file was opened."""
        return self._connection.total_changes

    @property
    def version_elsewhere(self) -> int:
        """A number that changes when another connection has changed the file."""
        return self.rows("PRAGMA data_version")[0][0]

    def rows(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with _errors_explained(self._path):
            return self._connection.execute(query, parameters).fetchall()

    def each(self, query: str, parameters: Sequence[object] = ()) -> Generator[tuple[Any, ...]]:
        """Yield the rows of a query one at a time, which is less work for the garbage collector."""
        with _errors_explained(self._path):
            yield from self._connection.execute(query, parameters)

    def write(self, statement: str, parameters: Sequence[object] = ()) -> int:
        """Execute a statement in a transaction. Return the id of the row that an INSERT added."""
        with _errors_explained(self._path):
            return self._connection.execute(statement, parameters).lastrowid or 0

    def write_many(self, statement: str, parameters: Iterable[Sequence[object]]) -> None:
        with _errors_explained(self._path):
            self._connection.executemany(statement, parameters)

    def begin_search_renewal(self) -> None:
        """Empty the search index, and write its first part again, which is all of a small store."""
        with _errors_explained(self._path):
            with self.transaction():
                begin_renewal(self._connection)
            if not self._connection.in_transaction:
                renew_first(self._connection)

    def renew_search_slice(self) -> bool:
        """Write the next messages into the search index. Return whether all are there now."""
        with _errors_explained(self._path):
            return renew_slice(self._connection)

    def afterwards(self, call: Callable[[], None]) -> None:
        """Call this once when the transaction that is open now has ended, unless its changes are undone."""
        self._afterwards.add(call)

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """Make all changes inside the block, or none. They survive the death of this program.

        Inside another transaction it becomes part of that one.
        """
        with _errors_explained(self._path):
            if self._connection.in_transaction:
                yield
                return
            if self.why_read_only:
                raise StoreError(Sentence("Nothing can be changed now. {why}", why=self.why_read_only))
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._afterwards.clear()
                # On a full disk, SQLite has already rolled back.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            while self._afterwards:
                self._afterwards.pop()()

    @contextlib.contextmanager
    def durably(self) -> Generator[None]:
        """Make a transaction that is on the disk when it ends, so that it survives a power failure.

        With `flush_later` it is on the disk after the flush.
        """
        with _errors_explained(self._path):
            if self._connection.in_transaction:
                yield
                return
            if self.flush_later is not None:
                with self.transaction():
                    yield
                self.flush_later()
                return
            self._connection.execute("PRAGMA synchronous = FULL")
            try:
                with self.transaction():
                    yield
            finally:
                self._connection.execute("PRAGMA synchronous = NORMAL")


def _close_unchanged(path: Path, connection: sqlite3.Connection) -> None:
    """Close a connection without changing the file, which may be damaged.

    When the last connection to a file closes, SQLite copies the log into the file. So the last connection to close here
    is one that can't write.
    """
    with contextlib.ExitStack() as last:
        with contextlib.suppress(sqlite3.Error, OSError):
            uri = f"{path.absolute().as_uri()}?mode=ro"
            reader = last.enter_context(contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0)))
            # This also opens the log.
            reader.execute("PRAGMA schema_version").fetchone()
        connection.close()


def set_up(connection: sqlite3.Connection) -> None:
    """Configure a connection that writes."""
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA fullfsync = ON")
    # Overwrite the bytes of deleted rows.
    connection.execute("PRAGMA secure_delete = ON")


def _keep_as_it_was(path: Path, connection: sqlite3.Connection) -> None:
    try:
        Backups(path).make(connection, before_version=len(MIGRATIONS))
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise StoreError(
            Sentence(
                "The conversations in {path} come from an older version of Bough. "
                "Bough makes a backup before it updates them, and the backup failed ({error}). Nothing was changed. "
                "Free some disk space, then start Bough again.",
                path=path,
                error=error,
            )
        ) from error


def _readable(path: Path) -> Generator[sqlite3.Connection]:
    """Yield connections that can read a file, in turn. The caller owns the connection that it chooses."""
    if not path.is_file():
        # A pipe would block.
        return
    wal = beside(path, "-wal")
    uris = [f"{path.absolute().as_uri()}?mode=ro"]
    with contextlib.suppress(OSError):
        # If no files can be created beside it, SQLite reads a file only if it is declared immutable.
        if not wal.exists() or wal.stat().st_size == 0:
            uris.append(f"{path.absolute().as_uri()}?immutable=1")
    for uri in uris:
        with contextlib.suppress(sqlite3.Error, OSError, UnicodeDecodeError, StoreError):
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0.2)
            try:
                connection = _up_to_date(path, connection)
            except BaseException:
                connection.close()
                raise
            yield connection


def _up_to_date(path: Path, connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a read-only connection with all tables: the given one, or a connection to a migrated copy in memory."""
    if not path.stat().st_size:
        raise StoreError(Sentence("{path} is empty.", path=path))
    if application_of(connection) != APPLICATION_ID:
        raise StoreError(Sentence("{path} belongs to another program.", path=path))
    found = flaws(connection) if version_of(connection) <= len(MIGRATIONS) else []
    # A trigger runs only when something is written, as by a migration.
    if (version_of(connection) < len(MIGRATIONS) and found) or any(each.startswith(_UNREADABLE) for each in found):
        raise sqlite3.DatabaseError(found[0])
    if version_of(connection) < len(MIGRATIONS):
        memory = sqlite3.connect(":memory:", isolation_level=None)
        connection.backup(memory)
        connection.close()
        connection = memory
        migrate(connection)
        while not renew_slice(connection):
            pass
    # A newer version may have other tables, but these are required.
    for table in _REQUIRED_TABLES:
        if connection.execute("SELECT type FROM sqlite_master WHERE name = ?", (table,)).fetchone() != ("table",):
            raise sqlite3.DatabaseError(f"missing table {table}")
        connection.execute(f"SELECT * FROM {table} LIMIT 1").fetchall()
    connection.execute("SELECT count(*) FROM conversation WHERE trashed_ms IS NULL").fetchall()
    connection.execute("PRAGMA query_only = ON")
    return connection


def application_of(connection: sqlite3.Connection) -> int:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    return application


def _refuse_foreign_file(path: Path, connection: sqlite3.Connection) -> None:
    (num_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if num_tables and application_of(connection) != APPLICATION_ID:
        raise StoreError(
            Sentence(
                "{path} belongs to another program. Nothing was changed. "
                "Choose another folder for Bough with --data-dir.",
                path=path,
            )
        )
    if version_of(connection) > len(MIGRATIONS):
        raise StoreError(
            Sentence(
                "The conversations in {path} come from a newer version of Bough. Nothing was changed. "
                "Open them with that version.",
                path=path,
            )
        )


def _refuse_a_lone_log(path: Path) -> None:
    """Refuse a log whose file is missing or empty, because SQLite would delete the log with its contents."""
    log = beside(path, "-wal")
    if not log.is_file() or not log.stat().st_size or (path.exists() and path.stat().st_size):
        return
    if have_more(Backups(path)):
        raise LostError(path)
    raise StoreError(
        Sentence(
            "The file {path} is missing or empty, but its log {log} exists and may contain conversations. Nothing "
            "was changed. Put the file back. To begin without conversations, move the log away.",
            path=path,
            log=log.name,
        )
    )


def _refuse_another_schema(path: Path, connection: sqlite3.Connection) -> None:
    (num_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if num_tables and (found := flaws(connection)):
        raise _damaged(path, found[0])


def _refuse_lost_store(path: Path, connection: sqlite3.Connection, *, was_used: bool) -> None:
    if has_conversations(connection):
        return
    is_new = not had_conversations(connection)
    if (was_used and is_new) or have_more(Backups(path), erased_ids(connection)):
        raise LostError(path)


@contextlib.contextmanager
def _errors_explained(path: Path) -> Generator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise _store_error(path, error) from error


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Generator[None]:
    """Keep other programs from opening a file here, because SQLite does not wait when it changes the journal mode."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Some file systems have no locks.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _store_error(path: Path, error: sqlite3.Error | OSError | UnicodeDecodeError) -> StoreError:
    # Extended codes are named after their plain ones: SQLITE_IOERR_SHMSIZE.
    full_name = getattr(error, "sqlite_errorname", "")
    name = "_".join(full_name.split("_")[:2])
    if name == "SQLITE_FULL" and _has_no_ids_left(path):
        return _damaged(path, "no id is left for another entry", StoreError)
    if name == "SQLITE_FULL":
        return StoreError(
            Sentence(
                "The disk is full, so {path} could not be saved. Everything saved before is kept. "
                "Free some disk space, then try again.",
                path=path,
            )
        )
    if name in _IN_USE:
        return StoreError(
            Sentence(
                "Another program is writing to {path}. Nothing was changed. Close it, or try again in a moment.",
                path=path,
            )
        )
    # SQLite quotes a damaged schema in its message, which Python can't decode.
    if name in _DAMAGED or isinstance(error, UnicodeDecodeError):
        return _damaged(path, error, SearchIndexError if full_name == "SQLITE_CORRUPT_VTAB" else DamagedError)
    if name in _NOT_ALLOWED or isinstance(error, OSError):
        return StoreError(
            Sentence(
                "The conversations in {path} can't be opened or saved ({error}). Nothing was changed. "
                "Check that you may write to the file and its folder, or choose another folder with --data-dir.",
                path=path,
                error=error,
            )
        )
    return StoreError(
        Sentence(
            "The conversations in {path} can't be used ({error}). Nothing was changed. Check the disk, then try again.",
            path=path,
            error=error,
        )
    )


def _has_no_ids_left(path: Path) -> bool:
    """Return whether a table has given out the largest id, which only damage explains. SQLite says “full” for it."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as reader:
            return bool(reader.execute("SELECT 1 FROM sqlite_sequence WHERE seq >= ?", (2**63 - 1,)).fetchone())
    except (sqlite3.Error, OSError):
        return False


def _damaged(path: Path, error: object, kind: type[StoreError] = DamagedError) -> StoreError:
    return kind(
        Sentence(
            "The conversations in {path} are damaged ({error}). Nothing was changed. "
            "Replace the file with a backup, or move it away to start with an empty one.",
            path=path,
            error=error,
        )
    )
