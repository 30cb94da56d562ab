"""Full-text search in the messages of all branches. Changes only the index, which can be rebuilt.

Of all matches, the newest are ranked. FTS5's own rank would count each word in the whole index, which takes longer than
to find it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from app.model.database import DamagedError, Database, SearchIndexError
from app.model.message import MAX_MS, Conversation, Message, MessageId, Role
from app.model.parent_links import ParentLinks
from app.model.queries import COLUMNS, CONVERSATION_COLUMNS, conversations_in, message_in
from app.model.search_index import Query, excerpt, indexed, parse_query
from app.model.search_renewal import UNFINISHED
from app.model.thoughts import without_marks

_NUM_RANKED = 500
"""Only this many of the newest matches are ranked, so that searching for a letter in every message stays fast."""
_RANKED_CHARS = 4000
"""Only this many characters at the beginning of a message are searched for the number of its matching words."""

_MAX_ID = 2**63 - 1
_FACT = "\ue100"
"""In the index, the role and the month of a message follow this character (see `migrations.py`)."""

_K, _B = 1.2, 0.75
"""The usual parameters of BM25: how soon repetitions of a word stop counting, and how much short texts rank higher."""


class Filters(Struct, frozen=True, kw_only=True):
    """Limits a search. None and false mean no limit."""

    role: Role | None = None
    model: str | None = None
    """Words of the name of the model that wrote the message, one after another; the last may be unfinished."""
    is_starred: bool = False
    is_pinned: bool = False
    since_ms: int | None = None
    until_ms: int | None = None


NO_FILTERS = Filters()


class Hit(Struct, frozen=True, kw_only=True):
    """A matching message and a conversation that shows it."""

    message: Message
    conversation: Conversation
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
        self._links = ParentLinks(database)

    @property
    def is_complete(self) -> bool:
        """Whether all messages are in the index. If not, old or long messages are not found yet.

        See `search_renewal`.
        """
        return not self._database.rows(UNFINISHED)

    def find(self, typed: str, filters: Filters = NO_FILTERS, *, limit: int = 20) -> list[Hit]:
        """Return the messages of all branches that match `typed`, best first. Raises `StoreError`.

        If `typed` is empty, all messages that pass the filters match. Without filters, no message matches then.
        """
        try:
            return self._find(typed, filters, limit)
        except (SearchIndexError, DamagedError):
            # SQLite does not always say that only the index is damaged.
            self.begin_again()
            return self._find(typed, filters, limit)

    def line(self, message_id: MessageId) -> list[MessageId]:
        """Return the ids from the topmost message down to this one. Raises `StoreError`."""
        return list(dict.fromkeys(self._links.upwards(message_id)))[::-1]

    def begin_again(self) -> None:
        """Empty the index and begin to write it again; `Upkeep` continues this."""
        self._database.begin_search_renewal()

    def renew_slice(self) -> bool:
        """Write the next messages into the index. Return whether all are there now."""
        return self._database.renew_search_slice()

    def _find(self, typed: str, filters: Filters, limit: int) -> list[Hit]:
        query = parse_query(typed)
        if (not query and filters == NO_FILTERS) or _has_no_time(filters):
            return []
        homes = _Homes(self._database, self._links)
        hits: list[Hit] = []
        number, before = _NUM_RANKED, _MAX_ID
        # Messages in the trash are skipped. If they are many, look at more and older messages.
        while len(hits) < limit:
            found = self._newest(query, filters, number, before)
            ranked = self._ranked(found, query)
            for start in range(0, len(ranked), step := max(limit, len(ranked) // 20)):
                hits += self._hits(ranked[start : start + step], query, homes, limit - len(hits))
                if len(hits) >= limit:
                    break
            if len(found) < number:
                break
            number, before = 4 * number, found[-1]
        return hits

    def _newest(self, query: Query, filters: Filters, number: int, before: MessageId) -> list[MessageId]:
        """Return the ids of the newest `number` matches below the id `before`, newest first."""
        match = " AND ".join(part for part in (query.match, _facts(filters)) if part)
        if match:
            # A join reads each message, which is necessary only for exact times.
            is_timed = filters.since_ms is not None or filters.until_ms is not None
            sql = "SELECT message_text.rowid AS id FROM message_text " + (
                "CROSS JOIN message ON message.id = message_text.rowid " if is_timed else ""
            )
            # Messages that wait to be indexed have outdated entries in the index.
            where = "message_text MATCH ? AND message_text.rowid NOT IN (SELECT id FROM search_waiting)"
            column = "message_text.rowid"
        else:
            sql, where, column = "SELECT id FROM message ", "state <> 'streaming' AND role <> 'root' AND ?1 = ''", "id"
        conditions, parameters = _conditions(filters, column)
        rows = self._database.rows(
            f"{sql} WHERE {where} AND {column} < ? {conditions} ORDER BY {column} DESC LIMIT ?",
            (match, before, *parameters, number),
        )
        return [row[0] for row in rows]

    def _ranked(self, ids: list[MessageId], query: Query) -> list[MessageId]:
        """Return messages in the order of BM25.

        The rarity of words is ignored, because all these messages have all words. Occurrences are counted as
        substrings. Words of up to two letters are ignored; if there are no others, the order is kept.
        """
        forms = ((indexed(term.text) or term.text).lower() for term in query.terms)
        words = [form for form in forms if len(form) > 2]
        if not words or len(ids) < 2:
            return ids
        texts: dict[MessageId, str] = dict(
            self._database.rows(
                f"SELECT id, substr(coalesce(indexed, text, ''), 1, {_RANKED_CHARS}) FROM message "
                "WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(ids),),
            )
        )
        mean = sum(map(len, texts.values())) / max(1, len(texts)) or 1

        def score(message_id: MessageId) -> float:
            text = texts.get(message_id, "").lower()
            weight = _K * (1 - _B + _B * len(text) / mean)
            return sum((count := text.count(word) or 1) / (count + weight) for word in words)

        return sorted(ids, key=score, reverse=True)

    def _hits(self, ids: Sequence[MessageId], query: Query, homes: _Homes, limit: int) -> list[Hit]:
        """Return the hits of the first `limit` of these messages that a conversation shows."""
        found = homes.of(ids)
        shown = list(itertools.islice((each for each in ids if found.get(each)), limit))
        numbers = json.dumps(shown)
        conversations = homes.conversations({found[each] for each in shown})
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
        hits: list[Hit] = []
        for message_id in shown:
            if message_id not in messages or found[message_id] not in conversations:
                continue
            message = messages[message_id]
            text, marks = excerpt(without_marks(message), query)
            version, num_versions = versions.get(message_id, (1, 1))
            hits.append(
                Hit(
                    message=message,
                    conversation=conversations[found[message_id]],
                    version=version,
                    num_versions=num_versions,
                    excerpt=text,
                    marks=marks,
                )
            )
        return hits


class _Homes:
    """Finds the conversation that shows a message.

    This is the one whose own part contains the message, else the last used one that begins below it. A pruned message
    hides everything below it.
    """

    def __init__(self, database: Database, links: ParentLinks) -> None:
        self._database = database
        self._links = links
        self._ends: dict[MessageId, int] = dict.fromkeys(
            (row[0] for row in database.rows("SELECT id FROM message WHERE pruned_ms IS NOT NULL")), 0
        )
        # If several conversations have this root, take the one that was used last.
        roots = database.rows("SELECT root_id, id FROM conversation WHERE trashed_ms IS NULL ORDER BY updated_ms, id")
        self._ends.update((row[0], row[1]) for row in roots)
        self._below: dict[MessageId, int] | None = None

    def of(self, message_ids: Sequence[MessageId]) -> dict[MessageId, int]:
        """Map the id of each message to the id of its conversation; 0 means that no conversation shows it."""
        found = self._links.first_above(message_ids, self._ends)
        homes = {each: found[each] for each in message_ids}
        if not all(homes.values()):
            below = self._begun_below()
            homes = {each: home or below.get(each, 0) for each, home in homes.items()}
        return homes

    def conversations(self, numbers: set[int]) -> dict[int, Conversation]:
        rows = self._database.rows(
            f"SELECT {CONVERSATION_COLUMNS} FROM conversation WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(numbers)),),
        )
        return {conversation.id: conversation for conversation in conversations_in(rows)}

    def _begun_below(self) -> dict[MessageId, int]:
        """Return the last used conversation that begins below each message."""
        if self._below is None:
            self._below = {}
            forks = self._database.rows(
                "SELECT conversation.id, root_id FROM conversation JOIN message ON message.id = root_id "
                "WHERE trashed_ms IS NULL AND parent_id IS NOT NULL ORDER BY updated_ms DESC, conversation.id DESC"
            )
            for conversation_id, root_id in forks:
                for message_id in self._links.upwards(root_id):
                    if message_id in self._below:
                        break
                    self._below[message_id] = conversation_id
        return self._below


def _has_no_time(filters: Filters) -> bool:
    return filters.since_ms is not None and filters.until_ms is not None and filters.since_ms > filters.until_ms


def _facts(filters: Filters) -> str:
    """Return the FTS5 expression for the filters by role, model and time; empty without them.

    It limits times only to whole months.
    """
    parts: list[str] = []
    if filters.role is not None:
        parts.append(f'"{_FACT}{filters.role}"')
    if filters.model is not None:
        parts.append('"' + filters.model.replace('"', '""').replace("\0", " ") + '"*')
    if filters.since_ms is not None or filters.until_ms is not None:
        until_ms = MAX_MS if filters.until_ms is None else filters.until_ms
        months = _beginnings(_month(filters.since_ms or 0), _month(until_ms))
        parts.append("(" + " OR ".join(f'"{_FACT}{month}"*' for month in months) + ")")
        if filters.role is None:
            return f'(facts : ({" AND ".join(parts)}) NOT facts : "{_FACT}root")'
    return f"facts : ({' AND '.join(parts)})" if parts else ""


def _conditions(filters: Filters, column: str) -> tuple[str, list[Any]]:
    conditions: list[str] = []
    parameters: list[Any] = []
    for is_wanted, time in ((filters.is_starred, "starred_ms"), (filters.is_pinned, "pinned_ms")):
        if is_wanted:
            conditions.append(f"{column} IN (SELECT id FROM message WHERE {time} IS NOT NULL)")
    for value, comparison in ((filters.since_ms, ">="), (filters.until_ms, "<=")):
        if value is not None:
            conditions.append(f"message.created_ms {comparison} ?")
            parameters.append(value)
    return "".join(f" AND {condition}" for condition in conditions), parameters


def _month(time_ms: int) -> str:
    return datetime.fromtimestamp(min(max(time_ms, 0), MAX_MS) / 1000, UTC).strftime("%Y%m")


def _beginnings(first: str, last: str, before: str = "") -> list[str]:
    """Return the shortest prefixes that match exactly the numbers from `first` to `last`, which are equally long."""
    if not first or (set(first) == {"0"} and set(last) == {"9"}):
        return [before] if first <= last else []
    low, high = first[0], last[0]
    if low > high:
        return []
    if low == high:
        return _beginnings(first[1:], last[1:], before + low)
    rest = len(first) - 1
    return [
        *_beginnings(first[1:], "9" * rest, before + low),
        *(before + str(digit) for digit in range(int(low) + 1, int(high))),
        *_beginnings("0" * rest, last[1:], before + high),
    ]
