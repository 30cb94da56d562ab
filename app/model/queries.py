"""SQL and decoding that the tables of the store share.

A conversation reaches the line above its root and the messages below its root. A pruned message is hidden with
everything below it, except on the line of a conversation whose root is further down.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast, get_args

import msgspec

from app.model.message import MAX_MS, Conversation, Message, MessageId, Record, Role, State, with_error
from worker.sentence import Sentence

# UNION, not UNION ALL, so that the recursion ends on cycles.
_WALKS = """
WITH RECURSIVE
root (id) AS (SELECT root_id FROM conversation WHERE {where}),
line (id) AS (
    SELECT id FROM root
    UNION SELECT message.parent_id FROM message JOIN line USING (id) WHERE message.parent_id IS NOT NULL
),
below (id) AS (
    SELECT id FROM root
    UNION SELECT message.id FROM message JOIN below ON message.parent_id = below.id {seen}
),
reached (id) AS (SELECT id FROM line UNION SELECT id FROM below)
"""


def visible(where: str) -> str:
    """Return a WITH clause for `reached`: all messages that the conversations matching `where` show."""
    return _WALKS.format(where=where, seen="WHERE message.pruned_ms IS NULL")


def without(where: str, pruned: str) -> str:
    """Like `visible`, but with pruned messages, except those in `pruned`, an SQL expression of a JSON array."""
    return _WALKS.format(where=where, seen=f"WHERE message.id NOT IN (SELECT value FROM json_each({pruned}))")


def with_pruned(where: str) -> str:
    """Like `visible`, but with all pruned messages."""
    return _WALKS.format(where=where, seen="")


COLUMNS = "id, parent_id, role, text, state, created_ms, record, name, starred_ms, pinned_ms"

CONVERSATION_COLUMNS = "id, name, root_id, created_ms, updated_ms, pinned_ms, folder, archived_ms, model, uid"

_ROLES = frozenset(get_args(Role))
_STATES = frozenset(get_args(State))
_record_of = msgspec.json.Decoder(Record)


def encoded(record: Record | None) -> bytes | None:
    return None if record is None else msgspec.json.encode(record)


def message_in(row: tuple[Any, ...]) -> tuple[Message, Sentence | None]:
    """Return the readable part of a row's message, and a sentence about the problem; None without a problem."""
    message_id, parent_id, role, text, state, created_ms, found, name, starred_ms, pinned_ms = row
    problem = None
    record = None
    try:
        record = None if found is None else _record_of.decode(found)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError):
        problem = Sentence(
            "The record of how message {message} was made can't be read. Its text is intact.", message=str(message_id)
        )
    if role not in _ROLES or state not in _STATES:
        problem = Sentence(
            "Message {message} has an unknown type ({role}, {state}). Its text is intact.",
            message=str(message_id),
            role=role,
            state=state,
        )
        role, state = role if role in _ROLES else "assistant", state if state in _STATES else "complete"
    # A damaged page may have any value in its columns.
    if not isinstance(text, str) or not isinstance(parent_id, int | None):
        return unreadable(message_id, parent_id if isinstance(parent_id, int) else None)
    message = Message(
        id=message_id,
        parent_id=parent_id,
        role=cast("Role", role),
        text=text,
        state=cast("State", state),
        created_ms=_time(created_ms) or 0,
        record=record,
        name=name if isinstance(name, str) else "",
        starred_ms=_time(starred_ms),
        pinned_ms=_time(pinned_ms),
    )
    return message, problem


def _time(value: object) -> int | None:
    """Return a stored time in milliseconds. Impossible times, which damage may cause, become 0, which means unknown."""
    if not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_MS else 0


def unreadable(message_id: MessageId, parent_id: MessageId | None) -> tuple[Message, Sentence]:
    """Return a replacement for an unreadable message, and a sentence that says so."""
    problem = Sentence(
        "Message {message} can't be read because this part of the file is damaged. The other messages are intact.",
        message=str(message_id),
    )
    record = with_error(None, problem)
    role = "root" if parent_id is None else "assistant"
    return Message(id=message_id, parent_id=parent_id, role=role, text="", state="failed", record=record), problem


def conversations_in(rows: Iterable[tuple[Any, ...]]) -> list[Conversation]:
    """Return the conversations of rows. One whose name or root is damaged gets a replacement, so that it is listed."""
    conversations: list[Conversation] = []
    for row in rows:
        conversation_id, name, root_id, created_ms, updated_ms, pinned_ms, folder, archived_ms, model, uid = row
        conversations.append(
            Conversation(
                id=conversation_id,
                name=name if isinstance(name, str) else f"Conversation {conversation_id}",
                root_id=root_id if isinstance(root_id, int) else 0,
                created_ms=_time(created_ms) or 0,
                updated_ms=_time(updated_ms) or 0,
                pinned_ms=_time(pinned_ms),
                folder=folder if isinstance(folder, str) else "",
                archived_ms=_time(archived_ms),
                model=model if isinstance(model, str) else "",
                uid=uid if isinstance(uid, str) else "",
            )
        )
    return conversations
