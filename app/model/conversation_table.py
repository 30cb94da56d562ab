"""The table of conversations, and the table of the child that each conversation shows at each fork."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Literal

from app.model.database import Database
from app.model.message import Conversation, MessageId
from app.model.queries import CONVERSATION_COLUMNS, conversations_in
from app.model.sources import new_uid
from app.model.tree import Choices

_ALL = f"SELECT {CONVERSATION_COLUMNS} FROM conversation"
_ORDER = "ORDER BY archived_ms IS NOT NULL, pinned_ms IS NULL, updated_ms DESC, id DESC"

# Other conversations than ?2 that reach ?1 and have made no choice there (or chose a message that was pruned since)
# keep showing what they show now: the newest child, or nothing.
PIN_OTHER_VIEWS = """
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

# A conversation that grows is not trash, even if another program deleted it meanwhile.
_UNPRUNE_LINE = """
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
    """The conversations of one store. Every method raises `StoreError` if the file can't be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Conversation]:
        """Return all conversations that are not in the trash: pinned first, archived last, else last used first."""
        return conversations_in(self._database.rows(f"{_ALL} WHERE trashed_ms IS NULL {_ORDER}"))

    def get(self, conversation_id: int) -> Conversation:
        """Return a conversation that is not in the trash. Raises `KeyError`."""
        rows = self._database.rows(f"{_ALL} WHERE trashed_ms IS NULL AND id = ?", (conversation_id,))
        for conversation in conversations_in(rows):
            return conversation
        raise KeyError(conversation_id)

    def folders(self) -> list[str]:
        """Return the names of all projects, and of the folders with conversations that are not in the trash."""
        rows = self._database.rows(
            "SELECT folder FROM conversation WHERE trashed_ms IS NULL AND folder <> '' UNION SELECT folder FROM project"
        )
        return sorted(row[0] for row in rows if isinstance(row[0], str))

    def model(self, conversation_id: int) -> str:
        """Return the name of the model that a conversation uses; empty if it has used none."""
        rows = self._database.rows("SELECT model FROM conversation WHERE id = ?", (conversation_id,))
        return next((row[0] for row in rows if isinstance(row[0], str)), "")

    def choices(self, conversation_id: int) -> dict[MessageId, MessageId | None]:
        """Return the chosen child of each message, as `app.model.tree.Choices` describes it."""
        rows = self._database.rows(
            "SELECT parent_id, child_id FROM choice WHERE conversation_id = ?", (conversation_id,)
        )
        return {parent_id: child_id for parent_id, child_id in rows}  # noqa: C416 (keeps the types)

    # --- changing ------------------------------------------------------------------------------------------

    def rename(self, conversation_id: int, name: str) -> None:
        self.set(conversation_id, "name", name)

    def pin(self, conversation_id: int, *, is_pinned: bool = True) -> None:
        """Pin a conversation to the top of the list, or unpin it."""
        self.set(conversation_id, "pinned_ms", _now_ms() if is_pinned else None)

    def archive(self, conversation_id: int, *, is_archived: bool = True) -> None:
        self.set(conversation_id, "archived_ms", _now_ms() if is_archived else None)

    def set_model(self, conversation_id: int, model: str) -> None:
        self.set(conversation_id, "model", model)

    def put_into_folder(self, conversation_id: int, folder: str) -> None:
        """Put a conversation into a folder; an empty name takes it out of its folder.

        A folder exists while it has conversations, or is a project.
        """
        self.set(conversation_id, "folder", folder)

    def trash(self, conversation_id: int) -> None:
        """Move a conversation to the trash."""
        self.set(conversation_id, "trashed_ms", _now_ms())

    def restore(self, conversation_id: int) -> None:
        """Restore a conversation from the trash."""
        self.set(conversation_id, "trashed_ms", None)

    def choose(self, conversation_id: int, child_ids: Choices) -> None:
        """Store the chosen child of each parent."""
        rows = [(conversation_id, parent_id, child_id) for parent_id, child_id in child_ids.items()]
        with self._database.transaction():
            self._database.write_many(_CHOOSE, rows)

    def widen(self, conversation_id: int, root_id: MessageId, child_ids: Choices) -> None:
        """Move the root of a conversation up to `root_id`. `child_ids`: the choices that lead to its old root."""
        with self._database.transaction():
            self.choose(conversation_id, child_ids)
            self._database.write("UPDATE conversation SET root_id = ? WHERE id = ?", (root_id, conversation_id))

    # --- parts of larger changes, to be called in a transaction --------------------------------------------

    def insert(self, name: str, root_id: MessageId, model: str = "", folder: str = "") -> Conversation:
        now_ms, uid = _now_ms(), new_uid()
        conversation_id = self._database.write(
            "INSERT INTO conversation (name, root_id, created_ms, updated_ms, model, folder, uid) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (name, root_id, now_ms, now_ms, model, folder, uid),
        )
        return Conversation(
            id=conversation_id,
            name=name,
            root_id=root_id,
            created_ms=now_ms,
            updated_ms=now_ms,
            folder=folder,
            model=model,
            uid=uid,
        )

    def set(
        self,
        conversation_id: int,
        column: Literal["name", "folder", "root_id", "trashed_ms", "pinned_ms", "archived_ms", "model"],
        value: str | int | None,
    ) -> None:
        with self._database.durably():
            self._database.write(f"UPDATE conversation SET {column} = ? WHERE id = ?", (value, conversation_id))

    def delete_choices(self, conversation_id: int, parent_ids: Iterable[MessageId]) -> None:
        """Delete the saved branch choices for these messages, so that the newest child of each is shown again."""
        self._database.write_many(
            "DELETE FROM choice WHERE conversation_id = ? AND parent_id = ?",
            [(conversation_id, parent_id) for parent_id in parent_ids],
        )

    def pin_other_views(self, parent_id: MessageId, conversation_id: int | None) -> None:
        """Make all other conversations keep their visible child at a message, before a new child is added to it."""
        self._database.write(PIN_OTHER_VIEWS, (parent_id, conversation_id))

    def mark_used(self, conversation_id: int, parent_id: MessageId) -> None:
        """After a child was added to a message, unprune the way to it, and restore the conversation from the trash."""
        self._database.write(_UNPRUNE_LINE, (parent_id, conversation_id))
        self._database.write(
            "UPDATE conversation SET updated_ms = ?, trashed_ms = NULL WHERE id = ?", (_now_ms(), conversation_id)
        )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
