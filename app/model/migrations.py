"""The store's schema, as the ordered list of steps that lead to it; `PRAGMA user_version` counts those done."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

APPLICATION_ID = 0x426F7567
"""Marks a file as Bough's, in its header."""

_FIRST = """
CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_id INTEGER REFERENCES message (id) DEFERRABLE INITIALLY DEFERRED,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    record BLOB
) STRICT;
CREATE INDEX message_parent ON message (parent_id);
CREATE INDEX message_streaming ON message (id) WHERE state = 'streaming';

CREATE TABLE conversation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    root_id INTEGER NOT NULL REFERENCES message (id) DEFERRABLE INITIALLY DEFERRED,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    trashed_ms INTEGER
) STRICT;
CREATE INDEX conversation_root ON conversation (root_id);

CREATE TABLE choice (
    conversation_id INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    parent_id INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    -- NULL: the branch ends at the parent, though it has children.
    child_id INTEGER REFERENCES message (id) ON DELETE CASCADE,
    PRIMARY KEY (conversation_id, parent_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX choice_parent ON choice (parent_id);
CREATE INDEX choice_child ON choice (child_id);

-- Text is searchable once it no longer grows.
CREATE VIEW searchable AS SELECT id, text FROM message WHERE state <> 'streaming';
CREATE VIRTUAL TABLE message_text
    USING fts5 (text, content = 'searchable', content_rowid = 'id', tokenize = 'unicode61');
CREATE TRIGGER message_added AFTER INSERT ON message WHEN new.state <> 'streaming' BEGIN
    INSERT INTO message_text (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER message_gone AFTER DELETE ON message WHEN old.state <> 'streaming' BEGIN
    INSERT INTO message_text (message_text, rowid, text) VALUES ('delete', old.id, old.text);
END;
-- One trigger: SQLite leaves open which of two comes first.
CREATE TRIGGER message_changed AFTER UPDATE OF text, state ON message BEGIN
    INSERT INTO message_text (message_text, rowid, text)
        SELECT 'delete', old.id, old.text WHERE old.state <> 'streaming';
    INSERT INTO message_text (rowid, text) SELECT new.id, new.text WHERE new.state <> 'streaming';
END;
"""

MIGRATIONS = (_FIRST,)


def migrate(database: sqlite3.Connection) -> None:
    """Bring a database up to date, whole or not at all, even where another program is about to do the same."""
    if _version(database) == len(MIGRATIONS):
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        for script in MIGRATIONS[_version(database) :]:
            for statement in _statements(script):
                database.execute(statement)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")


def _version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return version


def _statements(script: str) -> Iterator[str]:
    """Cut a script up: `executescript` would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
