"""The messages of one store, as rows: reading them whatever is broken, and writing them; it knows no conversation.

A message that can't be read is set aside: it is shown as such and left as it is, and all others are read.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from app.model.database import DamagedError, Database
from app.model.message import Drawn, Message, MessageId, Record, Role, State
from app.model.pieces import Grown, Pieces
from app.model.reach import in_sight
from app.model.rows import COLUMNS, encoded, message_in, unreadable
from app.model.tree import Tree
from app.model.words import indexed


class MessageTable:
    """What writes is called within a transaction. Every method raises `StoreError` where the file can't be used."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pieces = Pieces(database)
        self._troubles: list[str] = []

    def take_troubles(self) -> list[str]:
        """Return what could not be read since the last time, as sentences."""
        troubles, self._troubles = self._troubles, []
        return troubles

    # --- reading -------------------------------------------------------------------------------------------

    def shown_by(self, conversation_id: int) -> list[Message]:
        """Return what a conversation shows in any of its branches, in the order of their making."""
        reached = in_sight("id = ?") + "SELECT {} FROM message WHERE id IN (SELECT id FROM reached)"
        pieces = self._pieces.read()
        try:
            rows = self._database.each(f"{reached.format(COLUMNS)} ORDER BY id", (conversation_id,))
            return [self._read(row, pieces) for row in rows]
        except DamagedError:
            # The links alone, from an index of theirs; then each message by itself.
            rows = self._database.rows(
                reached.format("id, parent_id").replace(
                    "FROM message WHERE", "FROM message INDEXED BY message_parent WHERE"
                ),
                (conversation_id,),
            )
            links = {row[0]: row[1] if isinstance(row[1], int) else None for row in rows}
            return [self._read_alone(message_id, links[message_id], pieces) for message_id in sorted(links)]

    def lineage(self, message_id: MessageId) -> list[Message]:
        """Return a message and all above it, the topmost first; nothing where there is no such message."""
        rows = self._database.rows(
            "WITH RECURSIVE line (id) AS (SELECT ? UNION SELECT parent_id FROM message JOIN line USING (id)) "
            f"SELECT {COLUMNS} FROM message WHERE id IN (SELECT id FROM line)",
            (message_id,),
        )
        pieces = self._pieces.read()
        return Tree((self._read(row, pieces) for row in rows), message_id).lineage(message_id)

    def one(self, message_id: MessageId) -> Message:
        """Return one message. Raises `KeyError`."""
        pieces = self._pieces.read()
        for row in self._database.rows(f"SELECT {COLUMNS} FROM message WHERE id = ?", (message_id,)):
            return self._read(row, pieces)
        raise KeyError(message_id)

    def present(self, message_ids: Iterable[MessageId]) -> set[MessageId]:
        """Return those of them that there are."""
        given = json.dumps(sorted(message_ids))
        rows = self._database.rows("SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?))", (given,))
        return {row[0] for row in rows}

    def streaming(self) -> list[Message]:
        """Return the answers that were not ended."""
        rows = self._database.rows(f"SELECT {COLUMNS} FROM message WHERE state = 'streaming'")
        pieces = self._pieces.read()
        return [self._read(row, pieces) for row in rows]

    # --- writing -------------------------------------------------------------------------------------------

    def insert(
        self,
        parent_id: MessageId | None,
        role: Role,
        text: str,
        state: State = "complete",
        record: Record | None = None,
    ) -> Message:
        now_ms = time.time_ns() // 1_000_000
        message_id = self._database.write(
            "INSERT INTO message (parent_id, role, text, indexed, state, created_ms, record, model) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (parent_id, role, text, indexed(text), state, now_ms, encoded(record), record and record.model),
        )
        return Message(
            id=message_id, parent_id=parent_id, role=role, text=text, state=state, created_ms=now_ms, record=record
        )

    def write(self, messages: Iterable[Message]) -> None:
        """Write text, state and record of messages anew, whole."""
        for message in messages:
            self._database.write(
                "UPDATE message SET text = ?, indexed = ?, state = ?, record = ?, model = ? WHERE id = ?",
                (
                    message.text,
                    indexed(message.text),
                    message.state,
                    encoded(message.record),
                    message.record and message.record.model,
                    message.id,
                ),
            )
            self._database.write("DELETE FROM piece WHERE message_id = ?", (message.id,))

    def append(self, texts: Mapping[MessageId, str], drawn: Mapping[MessageId, Sequence[Drawn]]) -> None:
        """Write what has streamed in, in a transaction of its own."""
        self._pieces.append(texts, drawn)

    def set(
        self, message_id: MessageId, column: Literal["name", "starred_ms", "pinned_ms"], value: str | int | None
    ) -> None:
        self._database.write(f"UPDATE message SET {column} = ? WHERE id = ?", (value, message_id))

    def prune(self, message_ids: Iterable[MessageId], pruned_ms: int | None) -> None:
        """Take messages out of sight, or back (None). Those pruned before keep their time; those marked to go go."""
        self._database.write_many(
            "UPDATE message SET pruned_ms = ? WHERE id = ? AND (pruned_ms IS NULL) = ? AND pruned_ms IS NOT 0",
            [(pruned_ms, message_id, pruned_ms is not None) for message_id in message_ids],
        )

    # --- inside --------------------------------------------------------------------------------------------

    def _read(self, row: tuple[Any, ...], pieces: Mapping[MessageId, Grown]) -> Message:
        message, trouble = message_in(row)
        if trouble:
            self._troubles.append(trouble)
        if message.id in pieces:
            message = pieces[message.id].onto(message)
        return message

    def _read_alone(
        self, message_id: MessageId, parent_id: MessageId | None, pieces: Mapping[MessageId, Grown]
    ) -> Message:
        with contextlib.suppress(DamagedError):
            for row in self._database.rows(f"SELECT {COLUMNS} FROM message WHERE id = ?", (message_id,)):
                return self._read(row, pieces)
        message, trouble = unreadable(message_id, parent_id)
        self._troubles.append(trouble)
        return message
