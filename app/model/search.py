"""Full-text search in the messages of all branches. Changes only the index, which can be rebuilt."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from app.model.database import DamagedError, Database, SearchIndexError
from app.model.message import Conversation, Message, MessageId, Role
from app.model.queries import COLUMNS, CONVERSATION_COLUMNS, conversations_in, message_in, visible
from app.model.search_index import Query, excerpt, parse_query
from app.model.thoughts import without_marks

_NUM_RANKED = 500
"""Only this many of the newest matches are ranked, so that searching for a letter in every message stays fast."""

_MAX_ID = 2**63 - 1

_REBUILD = "INSERT INTO message_text (message_text) VALUES ('rebuild')"

_LINE = """
WITH RECURSIVE line (id) AS (
    SELECT value FROM json_each(?1)
    UNION SELECT message.parent_id FROM message JOIN line USING (id) WHERE message.parent_id IS NOT NULL
)
"""


class Filters(Struct, frozen=True, kw_only=True):
    """Limits a search. None means no limit."""

    role: Role | None = None
    model: str | None = None
    """A part of the name of the model that wrote the message."""
    is_starred: bool | None = None
    is_pinned: bool | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    conversation_id: int | None = None


NO_FILTERS = Filters()


class Hit(Struct, frozen=True, kw_only=True):
    """A matching message and its branch."""

    message: Message
    conversation: Conversation
    path: tuple[MessageId, ...]
    """The ids from the topmost message down to the matching one."""
    version: int
    """The message's number among its siblings, from 1."""
    num_versions: int
    excerpt: str
    marks: tuple[tuple[int, int], ...]
    """The start and end of each matching word in the excerpt."""


class Search:
    """Searches one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, typed: str, filters: Filters = NO_FILTERS, *, limit: int = 20) -> list[Hit]:
        """Return the messages of all branches that match `typed`, best first. Raises `StoreError`.

        If `typed` is empty, all messages that pass the filters match; without any filters, none.
        """
        try:
            return self._find(typed, filters, limit)
        except (SearchIndexError, DamagedError):
            # SQLite does not always say that only the index is damaged.
            self.rebuild()
            return self._find(typed, filters, limit)

    def _find(self, typed: str, filters: Filters, limit: int) -> list[Hit]:
        query = parse_query(typed)
        if not query and filters == NO_FILTERS:
            return []
        hits: list[Hit] = []
        number, before = _NUM_RANKED, _MAX_ID
        # Messages in the trash are skipped. If they are many, look at more and older messages.
        while len(hits) < limit:
            found = self._found(query, filters, number, before)
            for start in range(0, len(found), step := max(limit, len(found) // 20)):
                hits += self._hits(found[start : start + step], query, filters)
                if len(hits) >= limit:
                    break
            if len(found) < number:
                break
            number, before = 4 * number, min(found)
        return hits[:limit]

    def rebuild(self) -> None:
        """Rebuild the index from the messages."""
        try:
            with self._database.transaction():
                self._database.write(_REBUILD)
        except (SearchIndexError, DamagedError):
            with self._database.transaction():
                # Write an empty index by hand, because FTS5 can't rebuild a damaged one.
                for table in ("data", "idx", "docsize"):
                    self._database.write(f"DELETE FROM message_text_{table}")
                self._database.write("INSERT INTO message_text_data VALUES (1, x''), (10, x'00000000000000')")
                self._database.write(_REBUILD)

    def _found(self, query: Query, filters: Filters, number: int, before: MessageId) -> list[MessageId]:
        """Return the ids of the newest `number` matches below the id `before`, best first."""
        where, parameters = _conditions(query, filters)
        if not query.match:
            sql = (
                f"SELECT id FROM message WHERE state <> 'streaming' AND role <> 'root' AND id < ? {where} "
                "ORDER BY id DESC LIMIT ?"
            )
            return [row[0] for row in self._database.rows(sql, (before, *parameters, number))]
        # Only the index has the order, so its matches are joined one by one.
        joined = "message_text CROSS JOIN message ON message.id = message_text.rowid" if where else "message_text"
        newest = self._database.rows(
            f"SELECT message_text.rowid FROM {joined} WHERE message_text MATCH ? AND message_text.rowid < ? {where} "
            "ORDER BY message_text.rowid DESC LIMIT ?",
            (query.match, before, *parameters, number),
        )
        if not newest:
            return []
        ranked = self._database.rows(
            f"SELECT message_text.rowid FROM {joined} WHERE message_text MATCH ? "
            f"AND message_text.rowid >= ? AND message_text.rowid < ? {where} ORDER BY rank",
            (query.match, newest[-1][0], before, *parameters),
        )
        return [row[0] for row in ranked]

    def _hits(self, ids: list[MessageId], query: Query, filters: Filters) -> list[Hit]:
        numbers = f"[{','.join(map(str, ids))}]"
        rows = self._database.rows(
            f"{_LINE} SELECT id, parent_id, pruned_ms FROM message WHERE id IN (SELECT id FROM line)", (numbers,)
        )
        parents: dict[MessageId, MessageId | None] = {row[0]: row[1] for row in rows}
        pruned = {row[0] for row in rows if row[2] is not None}
        messages = {
            row[0]: message_in(row)[0]
            for row in self._database.rows(
                f"SELECT {COLUMNS} FROM message WHERE id IN (SELECT value FROM json_each(?))", (numbers,)
            )
        }
        versions = {
            row[0]: (row[1], row[2])
            for row in self._database.rows(
                "SELECT message.id, sum(other.id <= message.id), count(*) FROM message "
                "JOIN message AS other ON other.parent_id = message.parent_id "
                "AND (other.pruned_ms IS NULL OR other.id = message.id) "
                "WHERE message.id IN (SELECT value FROM json_each(?)) GROUP BY message.id",
                (numbers,),
            )
        }
        conversations = self._conversations(numbers, filters)
        hits: list[Hit] = []
        for message_id in ids:
            path = _path(message_id, parents)
            # Choose the conversation whose own part has the message; of several, the last used.
            conversation = _nearest(path, conversations, pruned) or self._forked_below(message_id, filters)
            if conversation is None or message_id not in messages:
                continue
            message = messages[message_id]
            text, marks = excerpt(without_marks(message), query)
            version, num_versions = versions.get(message_id, (1, 1))
            hits.append(
                Hit(
                    message=message,
                    conversation=conversation,
                    path=tuple(path),
                    version=version,
                    num_versions=num_versions,
                    excerpt=text,
                    marks=marks,
                )
            )
        return hits

    def _conversations(self, numbers: str, filters: Filters) -> dict[MessageId, Conversation]:
        """Return the conversations that begin at these messages or above them, by their roots."""
        rows = self._database.rows(
            f"{_LINE} SELECT {CONVERSATION_COLUMNS} FROM conversation "
            "WHERE root_id IN (SELECT id FROM line) AND trashed_ms IS NULL AND (?2 IS NULL OR id = ?2) "
            "ORDER BY updated_ms, id",
            (numbers, filters.conversation_id),
        )
        return {conversation.root_id: conversation for conversation in conversations_in(rows)}

    def _forked_below(self, message_id: MessageId, filters: Filters) -> Conversation | None:
        """Return the last used conversation with this message in its shared past."""
        rows = self._database.rows(
            "WITH RECURSIVE below (id) AS (SELECT ?1 UNION SELECT message.id FROM message JOIN below "
            f"ON message.parent_id = below.id) SELECT {CONVERSATION_COLUMNS} "
            "FROM conversation WHERE root_id IN (SELECT id FROM below) AND trashed_ms IS NULL "
            "AND (?2 IS NULL OR id = ?2) ORDER BY updated_ms DESC, id DESC LIMIT 1",
            (message_id, filters.conversation_id),
        )
        return next(iter(conversations_in(rows)), None)


def _conditions(query: Query, filters: Filters) -> tuple[str, list[Any]]:
    conditions: list[tuple[str, Any]] = [("instr(message.text, ?)", literal) for literal in query.literals]
    if filters.role is not None:
        conditions.append(("message.role = ?", filters.role))
    if filters.model is not None:
        conditions.append(("instr(lower(message.model), lower(?))", filters.model))
    if filters.is_starred is not None:
        conditions.append(("(message.starred_ms IS NOT NULL) = ?", filters.is_starred))
    if filters.is_pinned is not None:
        conditions.append(("(message.pinned_ms IS NOT NULL) = ?", filters.is_pinned))
    if filters.since_ms is not None:
        conditions.append(("message.created_ms >= ?", filters.since_ms))
    if filters.until_ms is not None:
        conditions.append(("message.created_ms <= ?", filters.until_ms))
    if filters.conversation_id is not None:
        reached = f"{visible('id = ?')} SELECT id FROM reached"
        conditions.append((f"message.id IN ({reached})", filters.conversation_id))
    return "".join(f" AND {condition}" for condition, _ in conditions), [value for _, value in conditions]


def _nearest(
    path: list[MessageId], conversations: dict[MessageId, Conversation], pruned: set[MessageId]
) -> Conversation | None:
    """Return the conversation whose own, visible part contains the end of a path; None if there is none."""
    for upper in reversed(path):
        if upper in conversations:
            return conversations[upper]
        if upper in pruned:
            break
    return None


def _path(message_id: MessageId, parents: dict[MessageId, MessageId | None]) -> list[MessageId]:
    path: list[MessageId] = []
    seen: set[MessageId] = set()
    current: MessageId | None = message_id
    while current is not None and current in parents and current not in seen:
        seen.add(current)
        path.append(current)
        current = parents[current]
    path.reverse()
    return path
