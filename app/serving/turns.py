"""Stores the turns that the model generated, with their ids, by their exact histories.

Clients return the text of an answer, or its tool calls; the model has processed ids, and several sequences of ids may
spell one text. So the server stores the ids, in a file of its own. A returned turn then gets the same ids, whatever the
prompt cache holds, and is not processed again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import sys
from array import array
from collections.abc import Collection, Generator, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from app.model.own_files import set_aside
from app.serving.history import chained, digest_of, digest_of_tools
from app.serving.messages import Unremembered
from worker.protocol import Message, ModelLoaded, Tool, ToolCall
from worker.tools.turn_parts import CallBroken, Content, Part, Reasoning, calls_in

_log = logging.getLogger(__name__)

_MAX_BYTES = 256 << 20
"""The limit for all turns together. Beyond it, the least recently used turns are deleted."""
_KEPT_SHARE = 0.9
_MAX_PARAMETERS = 500
"""The limit for the parameters of one SQL statement."""

_TABLES = """
CREATE TABLE IF NOT EXISTS turns (
  key BLOB PRIMARY KEY,      -- of the model, the tools, all earlier messages, and this turn as clients return it
  turn BLOB NOT NULL,        -- a WrittenTurn
  ids BLOB NOT NULL,         -- little-endian numbers of 32 bits
  used INTEGER NOT NULL      -- grows with each use
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS turns_by_use ON turns (used, length(turn) + length(ids));
"""


class WrittenTurn(Struct, frozen=True):
    """A turn as the model generated it."""

    written: str
    """The turn's whole text, with the markers of reasoning and tool calls."""
    content: str
    reasoning: str = ""


class Turns:
    """Stores generated turns. If the file can't be used, they are kept in memory until the process ends."""

    def __init__(self, path: Path | None, max_bytes: int = _MAX_BYTES) -> None:
        """`path` is the file for the turns. None means that they are kept in memory until the process ends."""
        self._max_bytes = max_bytes
        self._database, self.problem = _opened(path)
        self._use = self._number("SELECT coalesce(max(used), 0) FROM turns")
        self._num_bytes = self._number("SELECT coalesce(sum(length(turn) + length(ids)), 0) FROM turns")

    def recalled(self, loaded: ModelLoaded, tools: Sequence[Tool], messages: Sequence[Message]) -> list[Message]:
        """Return a request's messages. Turns that the model generated are restored exactly, with their ids."""
        keys = _keys(loaded, tools, messages)
        wanted = [key for key, message in zip(keys, messages, strict=True) if message.role == "assistant"]
        found = self._found(wanted)
        self._touch(found)
        return [
            _restored(message, *found[key]) if key in found and message.role == "assistant" else message
            for key, message in zip(keys, messages, strict=True)
        ]

    def add(
        self,
        loaded: ModelLoaded,
        tools: Sequence[Tool],
        messages: Sequence[Message],
        turn: Message,
        written: str,
        ids: Sequence[int],
    ) -> None:
        """Store an answer with the history `messages`, those of its request.

        `turn` is the answer as clients see it; `written` is its whole text, which `ids` spell.
        """
        if not written:
            return
        key = _keys(loaded, tools, [*messages, turn])[-1]
        kept = msgspec.json.encode(WrittenTurn(written, turn.content, turn.reasoning))
        numbers = array("I", ids)
        if sys.byteorder == "big":
            numbers.byteswap()
        self._use += 1
        with _reported(), self._database:
            self._database.execute(
                "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?)", (key, kept, numbers.tobytes(), self._use)
            )
            self._num_bytes += len(kept) + 4 * len(ids)
            if self._num_bytes > self._max_bytes:
                self._delete_oldest()

    def close(self) -> None:
        """Close the file."""
        with _reported():
            self._database.close()

    def _found(self, keys: Iterable[bytes]) -> dict[bytes, tuple[WrittenTurn, list[int]]]:
        found: dict[bytes, tuple[WrittenTurn, list[int]]] = {}
        with _reported():
            wanted = list(keys)
            for start in range(0, len(wanted), _MAX_PARAMETERS):
                some = wanted[start : start + _MAX_PARAMETERS]
                marks = ",".join("?" * len(some))
                rows = self._database.execute(f"SELECT key, turn, ids FROM turns WHERE key IN ({marks})", some)
                for key, turn, ids in rows:
                    numbers = array("I", ids)
                    if sys.byteorder == "big":
                        numbers.byteswap()
                    found[key] = (msgspec.json.decode(turn, type=WrittenTurn), numbers.tolist())
        return found

    def _touch(self, keys: Collection[bytes]) -> None:
        if not keys:
            return
        self._use += 1
        with _reported(), self._database:
            self._database.executemany("UPDATE turns SET used = ? WHERE key = ?", [(self._use, key) for key in keys])

    def _delete_oldest(self) -> None:
        """Delete the least recently used turns, and some more so that this is rare."""
        self._num_bytes = self._number("SELECT coalesce(sum(length(turn) + length(ids)), 0) FROM turns")
        excess = self._num_bytes - round(self._max_bytes * _KEPT_SHARE)
        for used, num_bytes in self._database.execute(
            "SELECT used, sum(length(turn) + length(ids)) FROM turns GROUP BY used ORDER BY used"
        ).fetchall():
            if excess <= 0:
                break
            self._database.execute("DELETE FROM turns WHERE used = ?", (used,))
            excess -= num_bytes
            self._num_bytes -= num_bytes

    def _number(self, query: str) -> int:
        with _reported():
            return int(self._database.execute(query).fetchone()[0])
        return 0


def turn_of(parts: Sequence[Part]) -> Message | None:
    """Return an answer as a message; None if a call in it is broken."""
    if any(isinstance(part, CallBroken) for part in parts):
        return None
    return Message(
        role="assistant",
        content="".join(part.text for part in parts if isinstance(part, Content)),
        reasoning="".join(part.text for part in parts if isinstance(part, Reasoning)),
        tool_calls=[ToolCall(name=call.name, arguments=call.arguments, id=call.id) for call in calls_in(parts)],
    )


def _keys(loaded: ModelLoaded, tools: Sequence[Tool], messages: Sequence[Message]) -> list[bytes]:
    """Return a key for each message. Equal messages with the same model and the same history have the same key."""
    start = loaded.identity.encode() + digest_of_tools(tools)
    return chained(start, [digest_of(message) for message in messages])


def _restored(message: Message, turn: WrittenTurn, ids: list[int]) -> Message:
    """Return a turn as the model generated it. Its tool calls keep the ids that the client uses for them."""
    is_plain = turn.written == turn.content and not message.tool_calls
    return replace(
        message,
        content=turn.content,
        reasoning=turn.reasoning,
        token_ids=ids,
        written=UNSET if is_plain else turn.written,
    )


@contextlib.contextmanager
def _reported() -> Generator[None]:
    """Log an error of the file instead of raising it: requests can be answered without stored turns."""
    try:
        yield
    except (sqlite3.Error, msgspec.MsgspecError) as error:
        _log.warning("Written turns could not be looked up or kept (%s). They are tokenized again.", error)


def _opened(path: Path | None) -> tuple[sqlite3.Connection, Unremembered | None]:
    """Return the database; in memory if its file can't be used. A damaged file is renamed."""
    if path is None:
        return _prepared(sqlite3.connect(":memory:")), None
    try:
        return _opened_file(path), None
    except (sqlite3.Error, OSError) as error:
        is_damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        aside = set_aside(path) if is_damaged else None
        problem = Unremembered(error=str(error), file=str(aside or path), is_aside=aside is not None)
        _log.warning("%s can't be used (%s). Turns of earlier starts are not known.", problem.file, problem.error)
        if aside is not None:
            with contextlib.suppress(OSError, sqlite3.Error):
                for suffix in ("-wal", "-shm"):
                    path.with_name(path.name + suffix).unlink(missing_ok=True)
                return _opened_file(path), problem
    return _prepared(sqlite3.connect(":memory:")), problem


def _opened_file(path: Path) -> sqlite3.Connection:
    """Open a file that only its owner can read. Raises `OSError` and `sqlite3.Error`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600))
    path.chmod(0o600)
    database = sqlite3.connect(path, timeout=0.5)
    try:
        # Another `bough serve` may use the same file.
        database.execute("PRAGMA journal_mode = WAL")
        # The last turns may be lost if the power fails.
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("PRAGMA journal_size_limit = 4194304")
        return _prepared(database)
    except sqlite3.Error:
        database.close()
        raise


def _prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    database.executescript(_TABLES)
    return database
