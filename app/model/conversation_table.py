"""The conversations of one store, as rows, and which child each shows at a fork; it knows no text but their names."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Literal

from app.model.database import Database
from app.model.message import Conversation, MessageId
from app.model.rows import CONVERSATION_COLUMNS, conversations_in
from app.model.tree import Choices

_ALL = f"SELECT {CONVERSATION_COLUMNS} FROM conversation"
_ORDER = "ORDER BY archived_ms IS NOT NULL, pinned_ms IS NULL, updated_ms DESC, id DESC"

# Conversations other than ?2 that could choose below ?1 and have not (or chose what was pruned since) keep what they
# show there: the newest, or nothing.
_PIN_OTHERS = """
WITH RECURSIVE line (id) AS (
    SELECT ?1
    UNION SELECT message.parent_id FROM message JOIN line USING (id) WHERE message.parent_id IS NOT NULL
)
INSERT INTO choice
SELECT conversation.id, ?1, (SELECT max(id) FROM message WHERE parent_id = ?1 AND pruned_ms IS NULL)
FROM conversation JOIN line ON line.id = root_id WHERE conversation.id IS NOT ?2
ON CONFLICT (conversation_id, parent_id) DO UPDATE SET child_id = excluded.child_id
WHERE child_id IN (SELECT id FROM message WHERE parent_id = ?1 AND pruned_ms IS NOT NULL)
"""

# What is written in is no trash, even if another program threw it away.
_BRING_TO_SIGHT = """
WITH RECURSIVE
root (id) AS (SELECT root_id FROM conversation WHERE id = ?2),
line (id) AS (
    SELECT ?1
    UNION SELECT message.parent_id FROM message JOIN line USING (id)
    WHERE message.parent_id IS NOT NULL AND message.id NOT IN (SELECT id FROM root)
)
UPDATE message SET pruned_ms = NULL
WHERE pruned_ms > 0 AND id IN (SELECT id FROM line) AND id NOT IN (SELECT id FROM root)
"""

_CHOOSE = (
    "INSERT INTO choice VALUES (?, ?, ?) ON CONFLICT (conversation_id, parent_id) DO UPDATE SET child_id = "
    "excluded.child_id"
)


class ConversationTable:
    """What writes is called within a transaction. Every method raises `StoreError` where the file can't be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, *, is_trashed: bool = False) -> list[Conversation]:
        """Return those that are not thrown away, or those that are: the pinned, the last used, those put away."""
        return conversations_in(
            self._database.rows(f"{_ALL} WHERE (trashed_ms IS NOT NULL) = ? {_ORDER}", (is_trashed,))
        )

    def one(self, conversation_id: int) -> Conversation:
        """Return a conversation that is not thrown away. Raises `KeyError`."""
        rows = self._database.rows(f"{_ALL} WHERE trashed_ms IS NULL AND id = ?", (conversation_id,))
        for conversation in conversations_in(rows):
            return conversation
        raise KeyError(conversation_id)

    def folders(self) -> list[str]:
        """Return the folders that anything lies in which is not thrown away."""
        rows = self._database.rows("SELECT DISTINCT folder FROM conversation WHERE trashed_ms IS NULL AND folder <> ''")
        return sorted(row[0] for row in rows if isinstance(row[0], str))

    def choices(self, conversation_id: int) -> dict[MessageId, MessageId | None]:
        """Return the chosen child of each message, as `app.model.tree.Choices` has it."""
        rows = self._database.rows(
            "SELECT parent_id, child_id FROM choice WHERE conversation_id = ?", (conversation_id,)
        )
        return {parent_id: child_id for parent_id, child_id in rows}  # noqa: C416 (keeps the types)

    # --- writing -------------------------------------------------------------------------------------------

    def insert(self, name: str, root_id: MessageId) -> Conversation:
        now_ms = _now_ms()
        conversation_id = self._database.write(
            "INSERT INTO conversation (name, root_id, created_ms, updated_ms) VALUES (?, ?, ?, ?)",
            (name, root_id, now_ms, now_ms),
        )
        return Conversation(id=conversation_id, name=name, root_id=root_id, created_ms=now_ms, updated_ms=now_ms)

    def set(
        self,
        conversation_id: int,
        column: Literal["name", "folder", "root_id", "trashed_ms", "pinned_ms", "archived_ms"],
        value: str | int | None,
    ) -> None:
        self._database.write(f"UPDATE conversation SET {column} = ? WHERE id = ?", (value, conversation_id))

    def choose(self, conversation_id: int, child_ids: Choices) -> None:
        """Remember the chosen children, by their parents."""
        rows = [(conversation_id, parent_id, child_id) for parent_id, child_id in child_ids.items()]
        self._database.write_many(_CHOOSE, rows)

    def forget_choices(self, conversation_id: int, parent_ids: Iterable[MessageId]) -> None:
        """Let the newest child be shown again."""
        self._database.write_many(
            "DELETE FROM choice WHERE conversation_id = ? AND parent_id = ?",
            [(conversation_id, parent_id) for parent_id in parent_ids],
        )

    def let_others_stay(self, parent_id: MessageId, conversation_id: int | None) -> None:
        """Before a child is added: let all others go on showing what they show below this message."""
        self._database.write(_PIN_OTHERS, (parent_id, conversation_id))

    def was_used(self, conversation_id: int, parent_id: MessageId) -> None:
        """Something was added below this message: that is in sight, and the conversation no trash."""
        self._database.write(_BRING_TO_SIGHT, (parent_id, conversation_id))
        self._database.write(
            "UPDATE conversation SET updated_ms = ?, trashed_ms = NULL WHERE id = ?", (_now_ms(), conversation_id)
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
