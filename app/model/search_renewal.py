"""Writes long messages into the search index, and all messages after the index was emptied.

It works in small transactions, from the newest message to the oldest. The store records the progress
(`search_progress`) and the messages that were left for later (`search_waiting`), so the work may stop at any moment and
is continued later. Search does not find these messages, nor those that were not reached yet. It finds all others, and
triggers keep their entries up to date.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from app.model.search_index import WAITING, at_once, indexed, signs

_SLICE = 200
_SLICE_CHARS = 200_000
"""A slice ends at this many messages or characters. Writing it takes some ten milliseconds."""
_AT_ONCE = 5
"""This many slices are written at once when an index is begun, so small stores never have an incomplete index."""

# CROSS JOIN makes SQLite start with the few messages that wait. Otherwise it would read all messages for each step,
# which took 14 minutes with a million messages.
_WAIT = (
    f"FROM search_waiting CROSS JOIN message USING (id) WHERE indexed = '{WAITING}' AND state <> 'streaming' LIMIT 1"
)
UNFINISHED = f"SELECT 1 FROM search_progress WHERE above_id > 0 UNION ALL SELECT 1 {_WAIT}"
"""This query has a row if messages are missing in the index."""


def begin_renewal(connection: sqlite3.Connection) -> None:
    """Empty the index, in one transaction."""
    connection.execute("SAVEPOINT renewal")
    try:
        _empty(connection)
        connection.execute("DELETE FROM search_waiting")
        connection.execute("INSERT OR REPLACE INTO search_progress SELECT 1, coalesce(max(id), 0) FROM message")
        connection.execute("RELEASE renewal")
    except BaseException:
        # On a full disk, SQLite has already rolled back.
        if connection.in_transaction:
            connection.execute("ROLLBACK TO renewal")
            connection.execute("RELEASE renewal")
        raise


def is_renewed(connection: sqlite3.Connection) -> bool:
    """Return whether all messages are in the index."""
    return connection.execute(UNFINISHED).fetchone() is None


def renew_slice(connection: sqlite3.Connection) -> bool:
    """Write the next messages into the index. Return whether all messages are in it now."""
    if not _write_waiting(connection):
        _renew_slice(connection)
    return is_renewed(connection)


def renew_first(connection: sqlite3.Connection) -> None:
    """Write the newest messages into the index. Long ones wait. In a small store, these are all messages."""
    for _ in range(_AT_ONCE):
        _renew_slice(connection)


def _renew_slice(connection: sqlite3.Connection) -> None:
    if connection.execute("SELECT 1 FROM search_progress WHERE above_id > 0").fetchone() is None:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another program may have written some meanwhile.
        for (above_id,) in connection.execute("SELECT above_id FROM search_progress").fetchall():
            _write(connection, list(_slice(connection, above_id)))
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _write_waiting(connection: sqlite3.Connection) -> bool:
    """Write a waiting message into the index, unless it is changed or deleted meanwhile. Return whether any waited."""
    rows = connection.execute(f"SELECT id, CAST(message.text AS BLOB) {_WAIT}").fetchall()
    for message_id, found in rows:
        text = _decoded(found)
        connection.execute(
            "UPDATE message SET indexed = ?, signs = ? "
            "WHERE id = ? AND indexed = ? AND state <> 'streaming' AND CAST(text AS BLOB) IS ?",
            (indexed(text), signs(text), message_id, WAITING, found),
        )
    return bool(rows)


def _empty(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("INSERT INTO message_text (message_text) VALUES ('delete-all')")
    except sqlite3.DatabaseError:
        # FTS5 can't empty a damaged index. These are the rows of an empty one.
        for table in ("data", "idx", "docsize"):
            connection.execute(f"DELETE FROM message_text_{table}")
        connection.execute("INSERT INTO message_text_data VALUES (1, x''), (10, x'00000000000000')")


def _slice(connection: sqlite3.Connection, above_id: int) -> Iterator[tuple[int, str]]:
    """Yield the ids and texts of the newest messages that are not in the index."""
    num_chars = 0
    rows = connection.execute(
        "SELECT id, CAST(text AS BLOB) FROM message WHERE id <= ? AND id > 0 ORDER BY id DESC LIMIT ?",
        (above_id, _SLICE),
    )
    for message_id, found in rows:
        text = _decoded(found)
        yield message_id, text
        num_chars += len(text)
        if num_chars >= _SLICE_CHARS:
            break


def _write(connection: sqlite3.Connection, messages: list[tuple[int, str]]) -> None:
    # While they are not above `above_id`, no trigger writes them into the index.
    connection.executemany(
        "UPDATE message SET indexed = ?1, signs = ?2 WHERE id = ?3 AND (indexed IS NOT ?1 OR signs IS NOT ?2)",
        [(*at_once(text), message_id) for message_id, text in messages],
    )
    end = messages[-1][0] - 1 if messages else 0
    connection.execute("UPDATE search_progress SET above_id = ?", (end,))
    if messages:
        connection.execute(
            "INSERT INTO message_text (rowid, text, signs, facts) "
            "SELECT id, text, signs, facts FROM searchable WHERE id BETWEEN ? AND ? ORDER BY id",
            (end + 1, messages[0][0]),
        )
        connection.execute(
            "INSERT OR REPLACE INTO search_waiting (id) "
            "SELECT id FROM message WHERE id BETWEEN ? AND ? AND indexed = ?",
            (end + 1, messages[0][0], WAITING),
        )


def _decoded(text: bytes | None) -> str:
    """Return text that was read as bytes, because a broken disk may have damaged it."""
    return (text or b"").decode("utf-8", "replace")
