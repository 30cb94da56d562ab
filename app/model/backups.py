"""Backups of a store: made with SQLite's own backup, checked, and limited in number."""

from __future__ import annotations

import contextlib
import math
import os
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable
from datetime import UTC, datetime
from pathlib import Path

from app.model.own_files import make_folder, restrict, sync

NUM_KEPT = 7
NUM_KEPT_OF_OLDER_VERSIONS = 2
NUM_KEPT_OF_REPLACED = 2

UNREADABLE = (sqlite3.Error, OSError, UnicodeDecodeError)
"""Raised for a damaged database. SQLite quotes its schema in messages, which Python can't always decode."""

_TIME = "%Y%m%dT%H%M%S%f"
_PAGES_PER_STEP = 2000
_VIEWS_AS_TABLES = (
    "SELECT 1 FROM sqlite_master WHERE type = 'view' AND name IN ('conversation', 'choice', 'message', 'piece')"
)
_ABANDONED_S = 24 * 3600
"""Unfinished copies older than this were left by a program that was killed."""


class StoppedError(Exception):
    """The work was cancelled because the program ends."""


class NotSoundError(sqlite3.DatabaseError):
    """A copy is damaged; the text says how."""


class Backups:
    """The backups of one store, in the folder `backups` beside it. A file's name holds the time of the backup (UTC)."""

    def __init__(self, store: Path) -> None:
        self.folder = store.parent / "backups"
        self._stem = store.stem
        self._named = re.compile(
            rf"{re.escape(store.stem)}-(?P<time>\d{{8}}T\d{{12}})(?P<label>-before-version-\d+|-replaced)?\.sqlite3"
        )

    def files(self) -> list[Path]:
        """Return the backups, newest first."""
        with contextlib.suppress(OSError):
            found = (file for file in self.folder.iterdir() if self._named.fullmatch(file.name) and file.is_file())
            return sorted(found, reverse=True)
        return []

    def num_messages(self, file: Path) -> int:
        """Return the number of messages in a backup; 0 if it can't be read."""
        with contextlib.suppress(*UNREADABLE), contextlib.closing(opened_backup(file)) as connection:
            return connection.execute("SELECT count(*) FROM message").fetchone()[0]
        return 0

    def restrict(self) -> None:
        """Let only the user read the backups, including existing ones."""
        restrict(self.folder, *self.files())

    def path_for_replaced(self) -> Path:
        """Return the new path for a store that a backup replaces. Messages deleted later are deleted there, too."""
        make_folder(self.folder)
        return self.folder / f"{self._stem}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}-replaced.sqlite3"

    def newest_time(self) -> datetime | None:
        """Return the time of the newest backup of this version; None if there is none.

        Backups from the future, made with a wrong clock, do not count.
        """
        for file in self.files():
            named = self._named.fullmatch(file.name)
            if named and not named["label"]:
                with contextlib.suppress(ValueError):
                    made = datetime.strptime(named["time"], _TIME).replace(tzinfo=UTC)
                    if made <= datetime.now(UTC):
                        return made
        return None

    def make(
        self,
        source: sqlite3.Connection,
        *,
        before_version: int | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Path:
        """Copy the database `source`, check the copy, and remove the oldest backups. Return the new file.

        `before_version` is the version that the store will be migrated to; None for a daily backup. Raises
        `sqlite3.Error`, `OSError`, and `NotSoundError` if the copy, and so the store, is damaged; older backups then
        stay.
        """
        make_folder(self.folder)
        label = "" if before_version is None else f"-before-version-{before_version}"
        file = self.folder / f"{self._stem}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}{label}.sqlite3"
        part = file.with_suffix(".part")
        try:
            # The file contains the user's texts, so only the user may read it.
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as copy:
                copy_database(source, copy, is_stopped)
                # Keep it a single file, without a log beside it.
                copy.execute("PRAGMA journal_mode = DELETE")
                refuse_unsound(copy, is_stopped)
            sync(part)
            part.replace(file)
            sync(self.folder)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        self._remove_oldest(but=file)
        self._remove_unfinished(datetime.now(UTC).timestamp() - _ABANDONED_S)
        return file

    def erase(
        self, message_ids: Iterable[int], conversation_ids: Iterable[int], is_stopped: Callable[[], bool]
    ) -> None:
        """Remove messages and conversations from every backup, without a trace in the files' bytes."""
        # Remove unfinished copies first. A program that is still writing a copy, begun before the deletion, then gives
        # it up.
        self._remove_unfinished()
        messages = [(number,) for number in message_ids]
        conversations = [(number,) for number in conversation_ids]
        for file in self.files():
            if is_stopped():
                raise StoppedError
            try:
                _erase_from(file, messages, conversations, is_stopped)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorname not in {"SQLITE_CORRUPT", "SQLITE_CORRUPT_VTAB", "SQLITE_NOTADB"}:
                    raise
                # A damaged backup could not be restored either.
                _remove(file)

    def _remove_unfinished(self, before_s: float = math.inf) -> None:
        with contextlib.suppress(OSError):
            for file in self.folder.glob(f"{self._stem}-*.part*"):
                if file.stat().st_mtime < before_s:
                    file.unlink(missing_ok=True)

    def _remove_oldest(self, but: Path) -> None:
        """Remove the surplus backups, but neither `but` nor the one with the most messages."""
        older = [file for file in self.files() if "-before-" in file.name]
        replaced = [file for file in self.files() if "-replaced" in file.name]
        plain = [file for file in self.files() if file not in older and file not in replaced]
        too_many = self._too_many(plain) if len(plain) > NUM_KEPT else []
        removed = [*too_many, *older[NUM_KEPT_OF_OLDER_VERSIONS:], *replaced[NUM_KEPT_OF_REPLACED:]]
        if not removed:
            return
        fullest = self._fullest(self.files())
        for file in removed:
            if file not in (but, fullest):
                with contextlib.suppress(OSError):
                    _remove(file)

    def _fullest(self, files: list[Path]) -> Path:
        return max(files, key=lambda file: (self.num_messages(file), file.name))

    def _too_many(self, files: list[Path]) -> list[Path]:
        """Return the daily backups to remove from `files`, which are sorted newest first.

        The two newest, the oldest and the fullest are kept. The others are chosen to leave small gaps in time.
        """
        fullest = self._fullest(files)
        now = datetime.now(UTC)
        ages_s = [max((now - self._time_of(file)).total_seconds(), 1.0) for file in files]
        kept = list(range(len(files)))
        while len(kept) > NUM_KEPT:
            # A removal leaves a gap between two backups. The older they are, the wider the gap may be.
            gaps = {
                middle: (ages_s[older] - ages_s[newer]) / ages_s[older]
                for newer, middle, older in zip(kept[1:], kept[2:], kept[3:], strict=False)
                if files[middle] != fullest
            }
            kept.remove(min(gaps, key=lambda middle: (gaps[middle], middle)))
        return [file for index, file in enumerate(files) if index not in kept]

    def _time_of(self, file: Path) -> datetime:
        named = self._named.fullmatch(file.name)
        with contextlib.suppress(ValueError):
            return datetime.strptime(named["time"] if named else "", _TIME).replace(tzinfo=UTC)
        return datetime.fromtimestamp(0, UTC)


def opened_backup(file: Path) -> sqlite3.Connection:
    """Open a backup to read it. Raises `sqlite3.Error`."""
    # No program writes to a backup, so SQLite needs no files beside it.
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
    try:
        _refuse_views(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_views(connection: sqlite3.Connection) -> None:
    """Raise `NotSoundError` if a view takes the place of a table, because reading it may never end."""
    if connection.execute(_VIEWS_AS_TABLES).fetchone():
        raise NotSoundError("a view in place of a table")


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    # A store that could not be opened was replaced together with its log.
    file.with_name(f"{file.name}-wal").unlink(missing_ok=True)


def refuse_unsound(connection: sqlite3.Connection, is_stopped: Callable[[], bool] = lambda: False) -> None:
    """Raise `NotSoundError` if a database is damaged. This takes a second for a few hundred megabytes."""
    with _stoppable(connection, is_stopped):
        try:
            result = [row[0] for row in connection.execute("PRAGMA quick_check(1)")]
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            result = [str(error)]
    if result != ["ok"]:
        raise NotSoundError("; ".join(result).splitlines()[0])


def copy_database(source: sqlite3.Connection, target: sqlite3.Connection, is_stopped: Callable[[], bool]) -> None:
    """Copy the present state of a database, also while others write to it. Raises `sqlite3.Error` and `StoppedError`.

    No transaction may be open in `source`.
    """

    def on_step(_status: int, _remaining: int, _total: int) -> None:
        if is_stopped():
            raise StoppedError

    # Inside a read transaction, writes of other programs do not restart the backup.
    source.execute("BEGIN")
    try:
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(target, pages=_PAGES_PER_STEP, progress=on_step, sleep=0)
    finally:
        source.execute("ROLLBACK")


def _erase_from(
    file: Path,
    messages: Iterable[tuple[int]],
    conversations: Iterable[tuple[int]],
    is_stopped: Callable[[], bool],
) -> None:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        with _stoppable(connection, is_stopped):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("DELETE FROM conversation WHERE id = ?", conversations)
            connection.executemany("DELETE FROM choice WHERE conversation_id = ?", conversations)
            connection.executemany("DELETE FROM message WHERE id = ?", messages)
            # The first version had no such table.
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'piece'").fetchone():
                connection.executemany("DELETE FROM piece WHERE message_id = ?", messages)
            connection.execute("INSERT INTO message_text (message_text) VALUES ('optimize')")
            connection.execute("COMMIT")


@contextlib.contextmanager
def _stoppable(connection: sqlite3.Connection, is_stopped: Callable[[], bool]) -> Generator[None]:
    connection.set_progress_handler(lambda: int(is_stopped()), 100_000)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname == "SQLITE_INTERRUPT":
            raise StoppedError from error
        raise
    finally:
        connection.set_progress_handler(None, 0)
