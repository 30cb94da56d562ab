"""Permanently deletes marked messages, a few at a time, so that other programs can write in between.

A marked message has the pruning time 0: it and everything below it is hidden and can't be restored. Deleted messages
are noted in the table `erased` until all copies of them are gone, too.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence

from app.model.message import MessageId
from app.model.reach import in_sight

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
    """Delete all marked messages, children first, or until stopped. Return how many were deleted."""
    marked = [row[0] for row in connection.execute(MARKED)]
    if not marked:
        return 0
    # If another program has started a conversation there meanwhile, it keeps what it shows.
    shown = connection.execute(f"{in_sight(_ROOTED_THERE)} SELECT id FROM reached", (json.dumps(marked),))
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
