"""The trash: deleted conversations and pruned branches, and deleting them permanently.

A message is deleted when nothing else reaches it: neither another conversation, even one in the trash, nor a visible
branch. Many messages are marked, and deleted later a few at a time, so that other programs can write in between. A
marked message has the pruning time 0: it and everything below it is hidden and can't be restored. Deleted messages are
listed in the table `erased` until all copies of them are gone, too.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Generator, Sequence

from msgspec import Struct

from app.model.database import Database
from app.model.message import MessageId
from app.model.queries import visible, with_pruned, without

MARK = 0

_SLICE = 250
"""Messages deleted at a time. This takes some ten milliseconds, mostly for the search index."""

MARKED = """
WITH RECURSIVE marked (id) AS (
    SELECT id FROM message WHERE pruned_ms = 0
    UNION SELECT message.id FROM message JOIN marked ON message.parent_id = marked.id
)
SELECT id FROM marked
"""
"""All marked messages and their descendants, parents before children."""
_ROOTED_THERE = "root_id IN (SELECT value FROM json_each(?1))"


def delete_marked(connection: sqlite3.Connection, is_stopped: Callable[[], bool] = lambda: False) -> int:
    """Delete the marked messages, children first, until `is_stopped()` is true. Return how many were deleted."""
    marked = [row[0] for row in connection.execute(MARKED)]
    if not marked:
        return 0
    # If another program has started a conversation there meanwhile, its messages are kept.
    shown = connection.execute(f"{visible(_ROOTED_THERE)} SELECT id FROM reached", (json.dumps(marked),))
    kept = {row[0] for row in shown}
    doomed = [message_id for message_id in reversed(marked) if message_id not in kept]
    for start in range(0, len(doomed), _SLICE):
        if is_stopped():
            return start
        try:
            _delete(connection, doomed[start : start + _SLICE])
        except sqlite3.IntegrityError:
            # With circular links, no order deletes children first.
            _delete(connection, doomed[start:])
            break
    return len(doomed)


def _delete(connection: sqlite3.Connection, message_ids: Sequence[MessageId]) -> None:
    rows = [(message_id,) for message_id in message_ids]
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany("INSERT INTO erased (message_id) VALUES (?)", rows)
        connection.executemany("DELETE FROM message WHERE id = ?", rows)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


_MAX_AT_ONCE = 1000
"""At most this many messages are deleted immediately; more are deleted in the background."""

_GIVEN = "id IN (SELECT value FROM json_each(?1))"

_BELOW = """
WITH RECURSIVE reached (id) AS (
    SELECT value FROM json_each(?1)
    UNION SELECT message.id FROM message JOIN reached ON message.parent_id = reached.id
)
"""
_LINE = """
WITH RECURSIVE line (id, height) AS (
    SELECT ?1, 0
    UNION SELECT message.parent_id, height + 1 FROM message JOIN line USING (id)
    WHERE message.parent_id IS NOT NULL AND height < 1000000
)
"""


class TrashItem(Struct, frozen=True, kw_only=True):
    """A conversation in the trash, or a pruned branch, whose topmost message is `message_id`."""

    conversation_id: int
    name: str
    """The conversation's name."""
    message_id: MessageId | None = None
    text: str = ""
    """The beginning of the branch."""
    trashed_ms: int = 0
    num_messages: int = 0
    """How many messages are permanently deleted if only this entry is deleted."""


class Trash:
    """The trash of one store. Methods raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def listed(self) -> Generator[list[TrashItem], None, list[TrashItem]]:
        """Return the entries, most recently deleted first. Yield the entries so far after each was counted."""
        found = sorted((*self._conversations(), *self._branches()), key=lambda one: -one.trashed_ms)
        for index, one in enumerate(found):
            is_branch = one.message_id is not None
            doomed = self.doomed([] if is_branch else [one.conversation_id], [one.message_id] if is_branch else [])
            found[index] = _counted(one, len(doomed))
            yield found[: index + 1]
        return found

    def counted(
        self, conversation_ids: Collection[int], branch_ids: Collection[MessageId]
    ) -> Generator[None, None, int]:
        """Return how many messages are permanently deleted with these entries. Yield once before the slow part."""
        yield
        return len(self.doomed(conversation_ids, branch_ids))

    def doomed(self, conversation_ids: Collection[int], branch_ids: Collection[MessageId | None]) -> set[MessageId]:
        """Return the messages that are permanently deleted with these conversations and branches."""
        given, branches = json.dumps(sorted(conversation_ids)), json.dumps([one for one in branch_ids if one])
        doomed = self._ids(with_pruned(_GIVEN), given) | self._ids(_BELOW, branches)
        # Conversations that reach any of them have their root below one of them.
        others = self._database.rows(
            f"{_BELOW} SELECT conversation.id FROM conversation JOIN reached ON reached.id = root_id "
            "WHERE conversation.id NOT IN (SELECT value FROM json_each(?2))",
            (json.dumps(sorted(doomed)), given),
        )
        doomed -= self._ids(without(_GIVEN, "?2"), json.dumps([row[0] for row in others]), branches)
        # Messages that were deleted before are already marked.
        return doomed - {row[0] for row in self._database.rows(MARKED)}

    def delete(self, conversation_ids: Collection[int], branch_ids: Collection[MessageId]) -> int:
        """Permanently delete entries; call it in a transaction. Return how many messages are deleted.

        If there are many, they are only marked, which hides them at once; `delete_marked` deletes them in the
        background.
        """
        doomed = self.doomed(conversation_ids, branch_ids)
        trashed = [(conversation_id,) for conversation_id in conversation_ids]
        self._database.write_many("INSERT INTO erased (conversation_id) VALUES (?)", trashed)
        self._database.write_many("DELETE FROM conversation WHERE id = ?", trashed)
        if len(doomed) <= _MAX_AT_ONCE:
            erased = [(message_id,) for message_id in sorted(doomed)]
            self._database.write_many("INSERT INTO erased (message_id) VALUES (?)", erased)
            self._database.write_many("DELETE FROM message WHERE id = ?", erased)
        else:
            self._database.write(
                "UPDATE message SET pruned_ms = ?2 WHERE id IN (SELECT value FROM json_each(?1)) "
                "AND (parent_id IS NULL OR parent_id NOT IN (SELECT value FROM json_each(?1)))",
                (json.dumps(sorted(doomed)), MARK),
            )
        return len(doomed)

    def conversations_before(self, before_ms: int) -> list[int]:
        """Return the conversations that were deleted before that time."""
        return [row[0] for row in self._database.rows("SELECT id FROM conversation WHERE trashed_ms < ?", (before_ms,))]

    def branches_before(self, before_ms: int) -> list[MessageId]:
        """Return the topmost messages of the branches that were pruned before that time."""
        rows = self._database.rows("SELECT id FROM message WHERE pruned_ms > 0 AND pruned_ms < ?", (before_ms,))
        return [row[0] for row in rows]

    # --- inside --------------------------------------------------------------------------------------------

    def _conversations(self) -> list[TrashItem]:
        rows = self._database.rows("SELECT id, name, trashed_ms FROM conversation WHERE trashed_ms IS NOT NULL")
        return [TrashItem(conversation_id=row[0], name=str(row[1]), trashed_ms=row[2]) for row in rows]

    def _branches(self) -> list[TrashItem]:
        rows = self._database.rows("SELECT id, substr(text, 1, 400), pruned_ms FROM message WHERE pruned_ms > 0")
        pruned = {row[0] for row in rows}
        found: list[TrashItem] = []
        for message_id, text, pruned_ms in rows:
            line = self._database.rows(f"{_LINE} SELECT id FROM line ORDER BY height", (message_id,))
            if any(above[0] in pruned for above in line[1:]):
                # It is restored with the branch above it.
                continue
            home = self._database.rows(
                f"{_LINE} SELECT conversation.id, conversation.name FROM line JOIN conversation ON root_id = line.id "
                "WHERE trashed_ms IS NULL ORDER BY height DESC, conversation.id LIMIT 1",
                (message_id,),
            )
            for conversation_id, name in home:
                found.append(
                    TrashItem(
                        conversation_id=conversation_id,
                        name=str(name),
                        message_id=message_id,
                        text=" ".join(str(text).split()),
                        trashed_ms=pruned_ms,
                    )
                )
        return found

    def _ids(self, reached: str, *parameters: object) -> set[MessageId]:
        rows = self._database.rows(f"{reached} SELECT id FROM reached", parameters)
        return {row[0] for row in rows if isinstance(row[0], int)}


def _counted(one: TrashItem, num_messages: int) -> TrashItem:
    return TrashItem(
        conversation_id=one.conversation_id,
        name=one.name,
        message_id=one.message_id,
        text=one.text,
        trashed_ms=one.trashed_ms,
        num_messages=num_messages,
    )
