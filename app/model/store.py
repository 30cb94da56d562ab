"""Conversations on disk, in SQLite; it gives messages their ids and knows no window and no worker.

Messages form one forest with parent links only. A conversation reaches the messages below its root and the line
above it; a message goes when no conversation reaches it. What a person wrote is on the disk when `add` returns;
streamed text is written in batches and survives a crash of the program, if not of the machine. While several
programs have a store open, messages are added and none are taken away.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.model.database import Database, StoreError
from app.model.message import Conversation, Message, MessageId, Record, Role, State, without_tokens
from app.model.presence import Presence
from app.model.tree import Choices

_PATIENCE_MS = 1000
"""How long another program may write; the window stands still meanwhile."""

_COLUMNS = "id, parent_id, role, text, state, created_ms, record"
_CONVERSATION = "SELECT id, name, root_id, created_ms, updated_ms FROM conversation WHERE trashed_ms IS NULL"

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

# Conversations other than ?2 that could choose below ?1 and have not keep what they show there: the newest, or nothing.
_PIN_OTHERS = """
WITH RECURSIVE line (id) AS (
    SELECT ?1
    UNION SELECT message.parent_id FROM message JOIN line USING (id) WHERE message.parent_id IS NOT NULL
)
INSERT OR IGNORE INTO choice
SELECT conversation.id, ?1, (SELECT max(id) FROM message WHERE parent_id = ?1)
FROM conversation JOIN line ON line.id = root_id WHERE conversation.id <> ?2
"""

_CHOOSE = (
    "INSERT INTO choice VALUES (?, ?, ?) ON CONFLICT (conversation_id, parent_id) DO UPDATE SET child_id = "
    "excluded.child_id"
)


class Store:
    """One database of conversations. Every method raises `StoreError` where the file can't be used."""

    def __init__(self, path: Path, *, patience_ms: int = _PATIENCE_MS) -> None:
        """Open the database at `path`, made anew where there is none."""
        self.path = path
        self._database = Database(path, patience_ms)
        try:
            self._presence = Presence(path.with_suffix(".lock"))
        except OSError as error:
            self._database.close()
            raise StoreError(
                f"{error.filename} can't be written ({error.strerror}). Nothing was changed. "
                "See that you may write to its folder, or name another one with --data-dir."
            ) from error

    def close(self) -> None:
        self._database.close()
        self._presence.close()

    def clean_up(self, interrupted: str) -> bool:
        """End what a killed program left streaming, and empty the trash; return whether that was done.

        Another program that has the store open may stream and take back from the trash: then nothing is done.
        """
        with self._presence.alone() as is_alone:
            if is_alone:
                self.interrupt_streaming(interrupted)
                self.empty_trash()
        return is_alone

    # --- messages ------------------------------------------------------------------------------------------

    def add(
        self,
        conversation_id: int,
        parent_id: MessageId,
        role: Role,
        text: str,
        *,
        state: State = "complete",
        record: Record | None = None,
    ) -> Message:
        """Add a message, chosen in this conversation and in no other; it is on the disk when this returns."""
        with self._database.durably():
            self._database.write(_PIN_OTHERS, (parent_id, conversation_id))
            message = self._add(parent_id, role, text, state, record)
            self._choose(conversation_id, {parent_id: message.id})
            # What is written in is no trash, even if another program threw it away.
            self._database.write(
                "UPDATE conversation SET updated_ms = ?, trashed_ms = NULL WHERE id = ?", (_now_ms(), conversation_id)
            )
            return message

    def update(self, *messages: Message) -> None:
        """Write the text, state and record of messages anew; they are on the disk when this returns."""
        with self._database.durably():
            for message in messages:
                self._database.write(
                    "UPDATE message SET text = ?, state = ?, record = ? WHERE id = ?",
                    (message.text, message.state, _encoded(message.record), message.id),
                )

    def append_texts(self, texts: Mapping[MessageId, str]) -> None:
        """Write what has streamed into messages since the last time."""
        with self._database.transaction():
            self._database.write_many(
                "UPDATE message SET text = text || ? WHERE id = ?",
                [(text, message_id) for message_id, text in texts.items()],
            )

    def messages(self, conversation_id: int) -> list[Message]:
        """Return every message that the conversation reaches, in the order of their making."""
        rows = self._database.rows(
            _REACHED.format(where="id = ?")
            + f"SELECT {_COLUMNS} FROM message WHERE id IN (SELECT id FROM reached) ORDER BY id",
            (conversation_id,),
        )
        return [_message(row) for row in rows]

    def interrupt_streaming(self, error: str) -> int:
        """Mark answers that a program which was killed left streaming; return how many."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM message WHERE state = 'streaming'")
        messages = [_message(row) for row in rows]
        if messages:
            self.update(*(_interrupted(message, error) for message in messages))
        return len(messages)

    # --- conversations -------------------------------------------------------------------------------------

    def create_conversation(self, name: str, system_prompt: str, first_text: str) -> tuple[Conversation, Message]:
        """Add a conversation with its system prompt and first question; return it and the question."""
        with self._database.durably():
            root = self._add(None, "root", "")
            system = self._add(root.id, "system", system_prompt)
            first = self._add(system.id, "user", first_text)
            conversation = self._add_conversation(name, root.id)
            self._choose(conversation.id, {root.id: system.id, system.id: first.id})
            return conversation, first

    def fork_conversation(self, name: str, message_id: MessageId) -> Conversation:
        """Add a conversation that shares everything up to a message and ends there; nothing is copied."""
        with self._database.durably():
            conversation = self._add_conversation(name, message_id)
            self._choose(conversation.id, {message_id: None})
            return conversation

    def conversations(self) -> list[Conversation]:
        """Return the conversations that are not thrown away, the last used first."""
        return [_conversation(row) for row in self._database.rows(f"{_CONVERSATION} ORDER BY updated_ms DESC, id DESC")]

    def conversation(self, conversation_id: int) -> Conversation:
        """Return a conversation that is not thrown away. Raises `KeyError`."""
        for row in self._database.rows(f"{_CONVERSATION} AND id = ?", (conversation_id,)):
            return _conversation(row)
        raise KeyError(conversation_id)

    def rename(self, conversation_id: int, name: str) -> None:
        self._set(conversation_id, "name", name)

    def widen(self, conversation_id: int, root_id: MessageId, child_ids: Choices) -> None:
        """Let the conversation begin further up, so that a branch there becomes its own; `child_ids`: the way down."""
        with self._database.transaction():
            self._choose(conversation_id, child_ids)
            self._database.write("UPDATE conversation SET root_id = ? WHERE id = ?", (root_id, conversation_id))

    def choices(self, conversation_id: int) -> dict[MessageId, MessageId | None]:
        """Return the chosen child of each message, as `app.model.tree.Choices` has it."""
        rows = self._database.rows(
            "SELECT parent_id, child_id FROM choice WHERE conversation_id = ?", (conversation_id,)
        )
        return {parent_id: child_id for parent_id, child_id in rows}  # noqa: C416 (keeps the types)

    def choose(self, conversation_id: int, child_ids: Choices) -> None:
        """Remember the chosen children, by their parents."""
        with self._database.transaction():
            self._choose(conversation_id, child_ids)

    def trash(self, conversation_id: int) -> None:
        """Throw a conversation away; it can be taken back until the trash is emptied."""
        self._set(conversation_id, "trashed_ms", _now_ms())

    def restore(self, conversation_id: int) -> None:
        """Take a conversation back from the trash."""
        self._set(conversation_id, "trashed_ms", None)

    def empty_trash(self) -> int:
        """Delete what was thrown away and every message that no other conversation reaches; return their number."""
        with self._database.durably():
            doomed = self._reached("trashed_ms IS NOT NULL")
            if doomed:
                doomed -= self._reached("trashed_ms IS NULL")
            self._database.write("DELETE FROM conversation WHERE trashed_ms IS NOT NULL")
            self._database.write_many("DELETE FROM message WHERE id = ?", [(message_id,) for message_id in doomed])
            return len(doomed)

    # --- inside --------------------------------------------------------------------------------------------

    def _add(
        self,
        parent_id: MessageId | None,
        role: Role,
        text: str,
        state: State = "complete",
        record: Record | None = None,
    ) -> Message:
        now_ms = _now_ms()
        message_id = self._database.write(
            "INSERT INTO message (parent_id, role, text, state, created_ms, record) VALUES (?, ?, ?, ?, ?, ?)",
            (parent_id, role, text, state, now_ms, _encoded(record)),
        )
        return Message(
            id=message_id, parent_id=parent_id, role=role, text=text, state=state, created_ms=now_ms, record=record
        )

    def _add_conversation(self, name: str, root_id: MessageId) -> Conversation:
        now_ms = _now_ms()
        conversation_id = self._database.write(
            "INSERT INTO conversation (name, root_id, created_ms, updated_ms) VALUES (?, ?, ?, ?)",
            (name, root_id, now_ms, now_ms),
        )
        return Conversation(id=conversation_id, name=name, root_id=root_id, created_ms=now_ms, updated_ms=now_ms)

    def _choose(self, conversation_id: int, child_ids: Choices) -> None:
        rows = [(conversation_id, parent_id, child_id) for parent_id, child_id in child_ids.items()]
        self._database.write_many(_CHOOSE, rows)

    def _set(self, conversation_id: int, column: Literal["name", "trashed_ms"], value: str | int | None) -> None:
        with self._database.durably():
            self._database.write(f"UPDATE conversation SET {column} = ? WHERE id = ?", (value, conversation_id))

    def _reached(self, where: str) -> set[MessageId]:
        return {row[0] for row in self._database.rows(_REACHED.format(where=where) + "SELECT id FROM reached")}


_record_of = msgspec.json.Decoder(Record)


def _encoded(record: Record | None) -> bytes | None:
    return None if record is None else msgspec.json.encode(record)


def _interrupted(message: Message, error: str) -> Message:
    # What ids there are belong to a beginning that may have grown since.
    record = msgspec.structs.replace(without_tokens(message.record or Record()), error=error)
    return msgspec.structs.replace(message, state="stopped", record=record)


def _message(row: tuple[Any, ...]) -> Message:
    message_id, parent_id, role, text, state, created_ms, encoded = row
    try:
        record = None if encoded is None else _record_of.decode(encoded)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # One damaged record must not lock a whole conversation away.
        record = None
    return Message(
        id=message_id,
        parent_id=parent_id,
        role=role,
        text=text,
        state=state,
        created_ms=created_ms,
        record=record,
    )


def _conversation(row: tuple[int, str, int, int, int]) -> Conversation:
    conversation_id, name, root_id, created_ms, updated_ms = row
    return Conversation(id=conversation_id, name=name, root_id=root_id, created_ms=created_ms, updated_ms=updated_ms)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
