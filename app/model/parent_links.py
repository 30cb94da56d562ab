"""The parents of messages, in memory, because SQLite takes a tenth of a second to walk up 100,000 messages.

Links never change, and ids are never used again, so links that were read once stay valid.
"""

from __future__ import annotations

import contextlib
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from app.model.database import Database
from app.model.message import MessageId

_MAX_READ = 5_000
"""If a search needs the links of more messages than this, the links of all messages are read."""
_MAX_ID = 1 << 23
"""Larger ids come from damage. A store with one has a dictionary instead of an array."""

_Links: TypeAlias = "array[int] | dict[MessageId, MessageId]"
"""The parent of each message by its id; 0 means that it has no parent."""


class ParentLinks:
    """The links of one store. Every method may raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._all: array[int] | None = None

    def first_above(self, message_ids: Iterable[MessageId], ends: dict[MessageId, int]) -> Mapping[MessageId, int]:
        """Find the nearest message of `ends` at or above each message.

        Return `ends` with the values found. A message without such an end gets the value 0. All messages on the way are
        added to `ends`, too, so that no link is followed twice.
        """
        wanted = sorted(each for each in message_ids if each not in ends)
        links = self._above(wanted)
        ends[0] = 0
        for message_id in wanted:
            here = message_id
            # Damaged links may form a cycle or lead nowhere.
            with contextlib.suppress(LookupError):
                for _ in range(len(links) + 1):
                    if here in ends:
                        break
                    here = links[here]
            ends[message_id] = ends.get(here, 0)
        return ends

    def upwards(self, message_id: MessageId) -> Iterator[MessageId]:
        """Yield a message and all above it, the topmost last."""
        links = self._above([message_id])
        here = message_id
        # Damaged links may form a cycle or lead nowhere.
        with contextlib.suppress(LookupError):
            for _ in range(len(links) + 1):
                if not here:
                    break
                yield here
                here = links[here]

    def _above(self, message_ids: Iterable[MessageId]) -> _Links:
        """Return the links of these messages and of all their ancestors, and perhaps of others."""
        if self._all is None:
            rows = self._database.rows(
                "WITH RECURSIVE line (id, parent_id) AS (SELECT id, parent_id FROM message "
                "WHERE id IN (SELECT value FROM json_each(?1)) UNION SELECT message.id, message.parent_id "
                "FROM line JOIN message ON message.id = line.parent_id) SELECT id, parent_id FROM line LIMIT ?2",
                (json.dumps(list(message_ids)), _MAX_READ),
            )
            if len(rows) < _MAX_READ:
                return {message_id: parent_id or 0 for message_id, parent_id in rows}
            (max_id,) = self._database.rows("SELECT max(id) FROM message")[0]
            if max_id > _MAX_ID:
                rows = self._database.rows("SELECT id, parent_id FROM message")
                return {message_id: parent_id or 0 for message_id, parent_id in rows}
            self._all = self._up_to(max_id)
        links = self._all
        for message_id, parent_id in self._database.each(
            "SELECT id, parent_id FROM message WHERE id >= ? ORDER BY id", (len(links),)
        ):
            if message_id <= _MAX_ID:
                links.extend(0 for _ in range(message_id - len(links)))
                links.append(parent_id if isinstance(parent_id, int) and parent_id > 0 else 0)
        return links

    def _up_to(self, max_id: MessageId) -> array[int]:
        links = array("q", bytes(8 * (max(max_id, 0) + 1)))
        # In any order, so that SQLite reads an index that has both columns, and no texts.
        rows = self._database.each(
            "SELECT id, parent_id FROM message "
            "WHERE parent_id > 0 AND typeof(parent_id) = 'integer' AND id BETWEEN 1 AND ?",
            (max_id,),
        )
        for message_id, parent_id in rows:
            links[message_id] = parent_id
        return links
