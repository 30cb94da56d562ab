"""The store's schema, as the ordered list of steps that lead to it; `PRAGMA user_version` counts those done."""

from __future__ import annotations

import sqlite3

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
CREATE VIRTUAL TABLE message_text USING fts5 (text, content = 'message', content_rowid = 'id', tokenize = 'unicode61');
CREATE TRIGGER message_added AFTER INSERT ON message WHEN new.state <> 'streaming' BEGIN
    INSERT INTO message_text (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER message_gone AFTER DELETE ON message WHEN old.state <> 'streaming' BEGIN
    INSERT INTO message_text (message_text, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER message_left AFTER UPDATE OF text, state ON message WHEN old.state <> 'streaming' BEGIN
    INSERT INTO message_text (message_text, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER message_reached AFTER UPDATE OF text, state ON message WHEN new.state <> 'streaming' BEGIN
    INSERT INTO message_text (rowid, text) VALUES (new.id, new.text);
END;
"""

MIGRATIONS = (_FIRST,)


def migrate(database: sqlite3.Connection) -> None:
    """Bring a database up to date, each step whole or not at all."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    for number, script in enumerate(MIGRATIONS[version:], version + 1):
        database.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
