"""Deleting what was marked to go for good, some messages at a time, so that whoever else writes is not kept waiting.

A marked message was pruned at the time 0: it and all below it is out of everybody's sight, and nobody brings it back.
What is deleted is noted in `erased`, until nothing made of it is left either.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence

from app.model.message import MessageId
from app.model.reach import in_sight

MARK = 0

_SLICE = 250
"""Messages that are deleted at a time: some ten milliseconds, most of them the search index's."""

MARKED = """
WITH RECURSIVE marked (id) AS (
    SELECT id FROM message WHERE pruned_ms = 0
    UNION SELECT message.id FROM message JOIN marked ON message.parent_id = marked.id
)
SELECT id FROM marked
"""
"""All that is out of sight for good; those above come before those below them."""
_BEGINNING_THERE = "root_id IN (SELECT value FROM json_each(?1))"


def delete_marked(connection: sqlite3.Connection, is_stopped: Callable[[], bool] = lambda: False) -> int:
    """Delete them, the lowest first, until all are gone or this is to stop; return how many went."""
    marked = [row[0] for row in connection.execute(MARKED)]
    if not marked:
        return 0
    # A conversation that begins there after all, by another program's doing, keeps what it shows.
    shown = connection.execute(f"{in_sight(_BEGINNING_THERE)} SELECT id FROM reached", (json.dumps(marked),))
    kept = {row[0] for row in shown}
    doomed = [message_id for message_id in reversed(marked) if message_id not in kept]
    for start in range(0, len(doomed), _SLICE):
        if is_stopped():
            return start
        try:
            _delete(connection, doomed[start : start + _SLICE])
        except sqlite3.IntegrityError:
            # Where links go in circles, no message is the lowest.
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
