"""Background work on a store, in a separate thread: backups, checks, and permanent deletion.

It has its own connection, and never locks the store for more than some milliseconds. All work can be stopped and
started again: the store itself records what is still to be erased.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.model.backups import Backups, NotSoundError, StoppedError
from app.model.cache_folder import CacheFolder
from app.model.database import set_up
from app.model.own_files import beside
from app.model.search_renewal import begin_renewal, renew_slice
from app.model.trash import delete_marked
from worker.sentence import Sentence

_log = logging.getLogger(__name__)

BACKUP_EVERY = timedelta(days=1)

_SETTLE_S = 3.0
"""The first round waits until the program has started."""
_LOOK_S = 5.0
_RETRY_S = 300.0
"""The time until the next attempt after a failure. It is longer because attempts are expensive."""
_LOG_BYTES = 4 << 20
"""A log of this size is written into the store's file."""
_MERGE_PAGES = 200
"""Pages of the search index merged at a time, which takes some milliseconds."""
_PAUSE_S = 0.02
"""The shortest pause between two parts of the search index."""
_PATIENCE_S = 10.0


class Upkeep:
    """The thread, which runs until `close`. It calls `report` with a sentence about each problem."""

    def __init__(self, store: Path, cache_folder: CacheFolder, report: Callable[[Sentence], None]) -> None:
        self._path = store
        self._backups = Backups(store)
        self._cache_folder = cache_folder
        self._report = report
        self._is_stopped = False
        self._is_damaged = False
        """Whether damage was found and reported."""
        self._is_gone = False
        """Whether the missing file was reported."""

        self._is_asked = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store upkeep", daemon=True)
        self._thread.start()

    def start_now(self) -> None:
        """Do the pending work now, instead of waiting for the next regular check."""
        self._is_asked.set()

    def close(self) -> None:
        """Stop. Unfinished work is done the next time."""
        self._is_stopped = True
        self._is_asked.set()
        self._thread.join()

    def _run(self) -> None:
        if not self._is_there():
            return
        with contextlib.closing(sqlite3.connect(self._path, isolation_level=None, timeout=_PATIENCE_S)) as connection:
            with contextlib.suppress(sqlite3.Error):
                set_up(connection)
                _begin_log(connection)
            self._is_asked.wait(_SETTLE_S)
            self._backups.restrict()
            self._cache_folder.restrict()
            while not self._is_stopped:
                self._is_asked.clear()
                pause_s = _LOOK_S
                try:
                    set_up(connection)
                    if not self._is_there() or not self._round(connection):
                        pause_s = _RETRY_S
                except StoppedError:
                    break
                except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                    # For example a full disk. The next round tries again.
                    _log.warning("The store's upkeep was put off: %s", error)
                    pause_s = _RETRY_S
                self._is_asked.wait(pause_s)

    def _is_there(self) -> bool:
        """Return whether the store's file is at its path. If it is missing, report this once."""
        with contextlib.suppress(OSError):
            if not self._path.exists():
                if not self._is_gone:
                    self._is_gone = True
                    self._report(
                        Sentence(
                            "The file {path} is gone while Bough has it open. What you write from now on may not be "
                            "kept. Put the file back or connect its disk, then close Bough and start it again.",
                            path=self._path,
                        )
                    )
                return False
        return True

    def _round(self, connection: sqlite3.Connection) -> bool:
        """Do all pending work. Return whether it was completed."""
        is_erased = self._erase(connection)
        self._back_up(connection)
        self._renew_index(connection)
        log = beside(self._path, "-wal")
        if log.exists() and log.stat().st_size >= _LOG_BYTES:
            is_busy, num_pages, num_copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if not is_busy and num_copied == num_pages:
                _begin_log(connection)
        return is_erased

    # --- erasing -------------------------------------------------------------------------------------------

    def _erase(self, connection: sqlite3.Connection) -> bool:
        """Erase deleted messages from all copies. Return whether all of them are erased."""
        delete_marked(connection, lambda: self._is_stopped)
        self._stop_if_asked()
        erased = connection.execute("SELECT id, message_id, conversation_id FROM erased").fetchall()
        if not erased:
            return True
        # The search index drops deleted words when its parts are merged. Merge in steps, so that others can write.
        num_pages = -_MERGE_PAGES
        while True:
            self._stop_if_asked()
            before = connection.total_changes
            connection.execute("INSERT INTO message_text (message_text, rank) VALUES ('merge', ?)", (num_pages,))
            if connection.total_changes - before < 2:
                break
            num_pages = _MERGE_PAGES
        (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        # Remove the whole prompt cache. Its files hold token ids, but no ids of messages. Finding a message's tokens
        # would need the model's tokenizer and template, which may have changed, and a missed message would be text that
        # should have been erased. Prompts that were removed needlessly are processed again.
        emptied = self._cache_folder.empty()
        self._backups.erase(
            [number for _, number, _ in erased if number is not None],
            [number for _, _, number in erased if number is not None],
            lambda: self._is_stopped,
        )
        if is_busy or emptied.num_left:
            return False
        # Rows added meanwhile have higher numbers.
        connection.execute("DELETE FROM erased WHERE id <= ?", (max(number for number, _, _ in erased),))
        return True

    def _renew_index(self, connection: sqlite3.Connection) -> None:
        """Write the rest of the search index; stop early if new work is requested."""
        begun_s = time.monotonic()
        while not renew_slice(connection):
            # Pause as long as it took, so that others can write.
            if self._is_asked.wait(max(_PAUSE_S, time.monotonic() - begun_s)):
                return
            begun_s = time.monotonic()

    def _stop_if_asked(self) -> None:
        if self._is_stopped:
            raise StoppedError

    # --- backups -------------------------------------------------------------------------------------------

    def _back_up(self, connection: sqlite3.Connection) -> None:
        """Make a backup if the last one is old. Checks the backup rather than the store, which is in use."""
        newest = self._backups.newest_time()
        if self._is_damaged:
            return
        if newest is not None and datetime.now(UTC) - newest < BACKUP_EVERY:
            return
        if connection.execute("SELECT 1 FROM conversation LIMIT 1").fetchone() is None:
            return
        try:
            file = self._backups.make(connection, is_stopped=lambda: self._is_stopped)
        except NotSoundError as error:
            _log.error("The store is damaged: %s", error)
            self._is_damaged = True
            kept = [file for file in self._backups.files() if "-replaced" not in file.name]
            newest_intact = (
                Sentence("The newest intact backup is {file}.", file=kept[0])
                if kept
                else Sentence("There is no intact backup.")
            )
            self._report(
                Sentence(
                    "The conversations in {path} are partly damaged ({error}). "
                    "Bough shows everything that can be read. {backup}",
                    path=self._path,
                    error=error,
                    backup=newest_intact,
                )
            )
            return
        if not _has_sound_index(file):
            _log.warning("The search index did not match the messages; it is rebuilt")
            begin_renewal(connection)
            file.unlink()
            self._backups.make(connection, is_stopped=lambda: self._is_stopped)


def _begin_log(connection: sqlite3.Connection) -> None:
    """Start a new log here: the first change of a log waits for the disk, which the window should not do."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    # A file that was emptied meanwhile has no log, and must not be written.
    if version:
        connection.execute(f"PRAGMA user_version = {version}")


def _has_sound_index(file: Path) -> bool:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        try:
            # With rank 1 the index is compared with the messages.
            connection.execute("INSERT INTO message_text (message_text, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError:
            return False
    return True
