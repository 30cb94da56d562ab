"""Conversations on disk, in SQLite; it gives messages their ids and knows no window and no worker.

Messages form one forest with parent links only. A conversation reaches the messages below its root and the line
above it; a message goes when no conversation reaches it. What a person wrote is on the disk when `add` returns;
streamed text is written in batches and survives a crash of the program, if not of the machine.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path

import msgspec

from app.model.message import Conversation, Message, MessageId, Record, Role, State
from app.model.migrations import MIGRATIONS, migrate
from app.model.tree import Choices

_COLUMNS = "id, parent_id, role, text, state, created_ms, record"

# UNION (not UNION ALL) ends these walks on cycles, too.

_REACHED = """
WITH RECURSIVE
root (id) AS (SELECT root_id FROM conversation WHERE {where}),
line (id) AS (
    SELECT id FROM root
    UNION SELECT message.parent_id FROM message JOIN line USING (id) WHERE message.parent_id IS NOT NULL
),
below (id) AS (
    SELECT id FROM root
    UNION SELECT message.id FROM message JOIN below ON message.parent_id = below.id
),
reached (id) AS (SELECT id FROM line UNION SELECT id FROM below)
"""


class StoreError(Exception):
    """The store can't be used; its text says what happened and what to do."""


class Store:
    """One database of conversations."""

    def __init__(self, path: Path) -> None:
        """Open the database at `path`, made anew where there is none. Raises `StoreError`."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, isolation_level=None, timeout=5)
            self._prepare()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The conversations in {path} can't be opened ({error}). Nothing was changed. "
                "Close other programs that use them, or check the disk, then start Bough again."
            ) from error

    def _prepare(self) -> None:
        database = self._database
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("PRAGMA synchronous = NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > len(MIGRATIONS):
            raise StoreError(
                f"The conversations in {self.path} were written by a newer Bough. Nothing was changed; "
                "open them with that version."
            )
        migrate(database)

    def close(self) -> None:
        self._database.close()

    # --- messages ------------------------------------------------------------------------------------------

    def add(
        self,
        parent_id: MessageId | None,
        role: Role,
        text: str,
        *,
        state: State = "complete",
        record: Record | None = None,
    ) -> Message:
        """Add a message; it is on the disk when this returns."""
        with self._durably():
            return self._add(parent_id, role, text, state, record)

    def update(self, message: Message, *, durable: bool = False) -> None:
        """Write a message's text, state and record anew."""
        with self._durably() if durable else self._transaction():
            self._database.execute(
                "UPDATE message SET text = ?, state = ?, record = ? WHERE id = ?",
                (message.text, message.state, _encoded(message.record), message.id),
            )

    def append_text(self, message_id: MessageId, text: str) -> None:
        """Write text that has streamed in since the last time."""
        with self._transaction():
            self._database.execute("UPDATE message SET text = text || ? WHERE id = ?", (text, message_id))

    def messages(self, conversation_id: int) -> list[Message]:
        """Return every message that the conversation reaches, in the order of their making."""
        rows = self._database.execute(
            _REACHED.format(where="id = ?")
            + f"SELECT {_COLUMNS} FROM message WHERE id IN (SELECT id FROM reached) ORDER BY id",
            (conversation_id,),
        )
        return [_message(row) for row in rows]

    def interrupt_streaming(self, error: str) -> int:
        """Mark answers that a program which was killed left streaming; return how many."""
        rows = self._database.execute(f"SELECT {_COLUMNS} FROM message WHERE state = 'streaming'").fetchall()
        for row in rows:
            message = _message(row)
            record = msgspec.structs.replace(message.record or Record(), error=error)
            self.update(msgspec.structs.replace(message, state="stopped", record=record))
        return len(rows)

    # --- conversations -------------------------------------------------------------------------------------

    def create_conversation(self, name: str, system_prompt: str, first_text: str) -> tuple[Conversation, Message]:
        """Add a conversation with its system prompt and first question; return it and the question."""
        with self._durably():
            root = self._add(None, "root", "", "complete", None)
            system = self._add(root.id, "system", system_prompt, "complete", None)
            first = self._add(system.id, "user", first_text, "complete", None)
            return self._add_conversation(name, root.id), first

    def fork_conversation(self, name: str, message_id: MessageId) -> Conversation:
        """Add a conversation that shares everything up to a message and ends there; nothing is copied."""
        with self._durably():
            conversation = self._add_conversation(name, message_id)
            self._database.execute("INSERT INTO choice VALUES (?, ?, NULL)", (conversation.id, message_id))
            return conversation

    def conversations(self) -> list[Conversation]:
        """Return the conversations that are not thrown away, the last used first."""
        rows = self._database.execute(
            "SELECT id, name, root_id, created_ms, updated_ms FROM conversation WHERE trashed_ms IS NULL "
            "ORDER BY updated_ms DESC, id DESC"
        )
        return [_conversation(row) for row in rows]

    def conversation(self, conversation_id: int) -> Conversation:
        """Return one conversation. Raises `KeyError`."""
        row = self._database.execute(
            "SELECT id, name, root_id, created_ms, updated_ms FROM conversation WHERE id = ?",
            (conversation_id,),
        ).fetchone()
        if row is None:
            raise KeyError(conversation_id)
        return _conversation(row)

    def rename(self, conversation_id: int, name: str) -> None:
        with self._transaction():
            self._database.execute("UPDATE conversation SET name = ? WHERE id = ?", (name, conversation_id))

    def touch(self, conversation_id: int) -> None:
        """Note that the conversation was used now."""
        with self._transaction():
            self._database.execute("UPDATE conversation SET updated_ms = ? WHERE id = ?", (_now_ms(), conversation_id))

    def widen(self, conversation_id: int, root_id: MessageId) -> None:
        """Let the conversation begin further up, so that a branch there becomes its own."""
        with self._transaction():
            self._database.execute("UPDATE conversation SET root_id = ? WHERE id = ?", (root_id, conversation_id))

    def choices(self, conversation_id: int) -> dict[MessageId, MessageId | None]:
        """Return the chosen child of each message, as `app.model.tree.Choices` has it."""
        rows = self._database.execute(
            "SELECT parent_id, child_id FROM choice WHERE conversation_id = ?", (conversation_id,)
        )
        return {parent_id: child_id for parent_id, child_id in rows}  # noqa: C416 (keeps the types)

    def choose(self, conversation_id: int, child_ids: Choices) -> None:
        """Remember the chosen children, by their parents."""
        with self._transaction():
            self._database.executemany(
                "INSERT INTO choice VALUES (?, ?, ?) "
                "ON CONFLICT (conversation_id, parent_id) DO UPDATE SET child_id = excluded.child_id",
                [(conversation_id, parent_id, child_id) for parent_id, child_id in child_ids.items()],
            )

    def trash(self, conversation_id: int) -> None:
        """Throw a conversation away; it can be taken back until the trash is emptied."""
        with self._durably():
            self._database.execute("UPDATE conversation SET trashed_ms = ? WHERE id = ?", (_now_ms(), conversation_id))

    def restore(self, conversation_id: int) -> None:
        """Take a conversation back from the trash."""
        with self._durably():
            self._database.execute("UPDATE conversation SET trashed_ms = NULL WHERE id = ?", (conversation_id,))

    def empty_trash(self) -> int:
        """Delete what was thrown away and every message that no other conversation reaches; return their number."""
        with self._transaction():
            doomed = _REACHED.format(where="trashed_ms IS NOT NULL") + "SELECT id FROM reached"
            ids = {row[0] for row in self._database.execute(doomed)}
            if not ids:
                return 0
            kept = _REACHED.format(where="trashed_ms IS NULL") + "SELECT id FROM reached"
            ids -= {row[0] for row in self._database.execute(kept)}
            self._database.execute("DELETE FROM conversation WHERE trashed_ms IS NOT NULL")
            self._database.executemany("DELETE FROM message WHERE id = ?", [(message_id,) for message_id in ids])
            return len(ids)

    # --- inside --------------------------------------------------------------------------------------------

    def _add(self, parent_id: MessageId | None, role: Role, text: str, state: State, record: Record | None) -> Message:
        now_ms = _now_ms()
        cursor = self._database.execute(
            "INSERT INTO message (parent_id, role, text, state, created_ms, record) VALUES (?, ?, ?, ?, ?, ?)",
            (parent_id, role, text, state, now_ms, _encoded(record)),
        )
        assert cursor.lastrowid is not None
        return Message(
            id=cursor.lastrowid,
            parent_id=parent_id,
            role=role,
            text=text,
            state=state,
            created_ms=now_ms,
            record=record,
        )

    def _add_conversation(self, name: str, root_id: MessageId) -> Conversation:
        now_ms = _now_ms()
        cursor = self._database.execute(
            "INSERT INTO conversation (name, root_id, created_ms, updated_ms) VALUES (?, ?, ?, ?)",
            (name, root_id, now_ms, now_ms),
        )
        assert cursor.lastrowid is not None
        return Conversation(id=cursor.lastrowid, name=name, root_id=root_id, created_ms=now_ms, updated_ms=now_ms)

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @contextlib.contextmanager
    def _durably(self) -> Generator[None]:
        """A transaction that has reached the disk when it ends, even if the power fails then."""
        self._database.execute("PRAGMA synchronous = FULL")
        try:
            with self._transaction():
                yield
        finally:
            self._database.execute("PRAGMA synchronous = NORMAL")


_record_of = msgspec.json.Decoder(Record)


def _encoded(record: Record | None) -> bytes | None:
    return None if record is None else msgspec.json.encode(record)


def _message(row: tuple[int, int | None, Role, str, State, int, bytes | None]) -> Message:
    message_id, parent_id, role, text, state, created_ms, record = row
    return Message(
        id=message_id,
        parent_id=parent_id,
        role=role,
        text=text,
        state=state,
        created_ms=created_ms,
        record=None if record is None else _record_of.decode(record),
    )


def _conversation(row: tuple[int, str, int, int, int]) -> Conversation:
    conversation_id, name, root_id, created_ms, updated_ms = row
    return Conversation(id=conversation_id, name=name, root_id=root_id, created_ms=created_ms, updated_ms=updated_ms)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
