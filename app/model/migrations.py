"""The store's schema, as an ordered list of migrations. `PRAGMA user_version` is how many were applied."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from app.model.search_index import indexed

APPLICATION_ID = 0x426F7567
"""This number in the header of a file marks it as Bough's."""

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

_SECOND = """
-- Stars, pins and names that the user gives.
ALTER TABLE message ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE message ADD COLUMN starred_ms INTEGER;
ALTER TABLE conversation ADD COLUMN pinned_ms INTEGER;
CREATE INDEX message_starred ON message (id) WHERE starred_ms IS NOT NULL;

-- The record's, to search by.
ALTER TABLE message ADD COLUMN model TEXT;
UPDATE message SET model = json_extract(CAST(record AS TEXT), '$.model')
    WHERE record IS NOT NULL AND json_valid(CAST(record AS TEXT));

-- Text that streamed into a message since it was last written as a whole.
CREATE TABLE piece (
    id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX piece_message ON piece (message_id);

-- Deleted ids whose copies may still be in the search index, the log or the backups.
CREATE TABLE erased (
    id INTEGER PRIMARY KEY,
    message_id INTEGER,
    conversation_id INTEGER
) STRICT;

-- The text as the search index stores it; NULL: the text itself.
DROP TRIGGER message_added;
DROP TRIGGER message_gone;
DROP TRIGGER message_changed;
DROP TABLE message_text;
DROP VIEW searchable;
ALTER TABLE message ADD COLUMN indexed TEXT;
UPDATE message SET indexed = indexed(text) WHERE indexed(text) IS NOT NULL;
CREATE VIEW searchable AS SELECT id, coalesce(indexed, text) AS text FROM message WHERE state <> 'streaming';
CREATE VIRTUAL TABLE message_text USING fts5 (
    text, content = 'searchable', content_rowid = 'id', prefix = '1 2 3',
    tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
);
CREATE TRIGGER message_added AFTER INSERT ON message WHEN new.state <> 'streaming' BEGIN
    INSERT INTO message_text (rowid, text) VALUES (new.id, coalesce(new.indexed, new.text));
END;
CREATE TRIGGER message_gone AFTER DELETE ON message WHEN old.state <> 'streaming' BEGIN
    INSERT INTO message_text (message_text, rowid, text) VALUES ('delete', old.id, coalesce(old.indexed, old.text));
END;
CREATE TRIGGER message_changed AFTER UPDATE OF text, indexed, state ON message BEGIN
    INSERT INTO message_text (message_text, rowid, text)
        SELECT 'delete', old.id, coalesce(old.indexed, old.text) WHERE old.state <> 'streaming';
    INSERT INTO message_text (rowid, text)
        SELECT new.id, coalesce(new.indexed, new.text) WHERE new.state <> 'streaming';
END;
INSERT INTO message_text (message_text) VALUES ('rebuild');
"""

_THIRD = """
-- When a branch was pruned. It and all below it are hidden until the trash is emptied. 0: being deleted.
ALTER TABLE message ADD COLUMN pruned_ms INTEGER;
CREATE INDEX message_pruned ON message (pruned_ms) WHERE pruned_ms IS NOT NULL;
DROP INDEX message_parent;
-- The walk down reads this alone.
CREATE INDEX message_parent ON message (parent_id, pruned_ms);

ALTER TABLE conversation ADD COLUMN folder TEXT NOT NULL DEFAULT '';
ALTER TABLE conversation ADD COLUMN archived_ms INTEGER;

-- The tokens of streamed text, so that an interrupted answer can be continued exactly.
ALTER TABLE piece ADD COLUMN tokens BLOB;
"""

_FOURTH = """
-- Unsent texts and generation settings of a conversation; 0: of the empty page.
CREATE TABLE preparation (
    conversation_id INTEGER PRIMARY KEY,
    unsent TEXT,
    asking TEXT
) STRICT;
CREATE TRIGGER conversation_gone AFTER DELETE ON conversation BEGIN
    DELETE FROM preparation WHERE conversation_id = old.id;
END;
"""

_FIFTH = """
-- Pinned branches.
ALTER TABLE message ADD COLUMN pinned_ms INTEGER;
"""

_SIXTH = """
-- The model that a conversation asks; empty: the user has not chosen one there.
ALTER TABLE conversation ADD COLUMN model TEXT NOT NULL DEFAULT '';
"""

_SEVENTH = """
-- The turns of other programs' requests that are kept as conversations, by the hash of all up to the turn.
CREATE TABLE kept_turn (
    key TEXT PRIMARY KEY,
    -- The last message of the turn before.
    above_id INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    -- The turn's messages have all ids from the first to the last, each the parent of the next.
    first_id INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    last_id INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    conversation_id INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX kept_turn_above ON kept_turn (above_id);
CREATE INDEX kept_turn_first ON kept_turn (first_id);
CREATE INDEX kept_turn_last ON kept_turn (last_id);
CREATE INDEX kept_turn_conversation ON kept_turn (conversation_id);
-- A turn with another text is another turn.
CREATE TRIGGER kept_turn_changed AFTER UPDATE OF text ON message WHEN new.text <> old.text BEGIN
    DELETE FROM kept_turn WHERE last_id = (SELECT min(last_id) FROM kept_turn WHERE last_id >= old.id)
        AND first_id <= old.id;
    DELETE FROM kept_turn WHERE above_id = old.id;
END;
"""

_EIGHTH = """
-- What the conversations of a folder have in common.
CREATE TABLE project (
    folder TEXT PRIMARY KEY,
    settings TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

_NINTH = """
-- The same in every store that has the conversation, also after an export and import.
ALTER TABLE conversation ADD COLUMN uid TEXT NOT NULL DEFAULT '';
UPDATE conversation SET uid = lower(hex(randomblob(8)));
CREATE INDEX conversation_uid ON conversation (uid);

-- The conversations of other programs' files, with their names and places there.
CREATE TABLE source (
    conversation_id INTEGER PRIMARY KEY REFERENCES conversation (id) ON DELETE CASCADE,
    program TEXT NOT NULL,
    key TEXT NOT NULL,
    head TEXT NOT NULL
) STRICT;
CREATE INDEX source_key ON source (key, program);
CREATE TABLE source_message (
    conversation_id INTEGER NOT NULL REFERENCES source (conversation_id) ON DELETE CASCADE,
    key INTEGER NOT NULL,
    -- NULL: it was deleted here.
    message_id INTEGER REFERENCES message (id) ON DELETE SET NULL,
    digest INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX source_message_message ON source_message (message_id);
"""

_FACTS = (
    "char(57600) || {0}.role || ' ' || char(57600) || "
    "coalesce(strftime('%Y%m', {0}.created_ms / 1000, 'unixepoch'), '') || ' ' || coalesce({0}.model, '')"
)

_TENTH = f"""
-- The signs of the text for the index; NULL: it has none.
ALTER TABLE message ADD COLUMN signs TEXT;
CREATE INDEX message_pinned_branch ON message (id) WHERE pinned_ms IS NOT NULL;

-- The messages above this id are in the search index. It is written from the newest message down; 0: all are there.
CREATE TABLE search_progress (
    id INTEGER PRIMARY KEY,
    above_id INTEGER NOT NULL
) STRICT;
INSERT INTO search_progress SELECT 1, coalesce(max(id), 0) FROM message;

DROP TRIGGER message_added;
DROP TRIGGER message_gone;
DROP TRIGGER message_changed;
DROP TABLE message_text;
DROP VIEW searchable;
-- What a search can be limited to is in the index, too: the role and the month (UTC), each behind a private character,
-- and the model's name.
CREATE VIEW searchable AS SELECT id, coalesce(indexed, text) AS text, signs, {_FACTS.format("message")} AS facts
    FROM message WHERE state <> 'streaming' AND id > (SELECT above_id FROM search_progress);
CREATE VIRTUAL TABLE message_text USING fts5 (
    text, signs, facts, content = 'searchable', content_rowid = 'id', prefix = '1 2 3',
    tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
);
CREATE TRIGGER message_added AFTER INSERT ON message
WHEN new.state <> 'streaming' AND new.id > (SELECT above_id FROM search_progress) BEGIN
    INSERT INTO message_text (rowid, text, signs, facts)
        VALUES (new.id, coalesce(new.indexed, new.text), new.signs, {_FACTS.format("new")});
END;
CREATE TRIGGER message_gone AFTER DELETE ON message
WHEN old.state <> 'streaming' AND old.id > (SELECT above_id FROM search_progress) BEGIN
    INSERT INTO message_text (message_text, rowid, text, signs, facts)
        VALUES ('delete', old.id, coalesce(old.indexed, old.text), old.signs, {_FACTS.format("old")});
END;
CREATE TRIGGER message_changed AFTER UPDATE OF text, indexed, signs, state, role, model, created_ms ON message
WHEN old.id > (SELECT above_id FROM search_progress) BEGIN
    INSERT INTO message_text (message_text, rowid, text, signs, facts)
        SELECT 'delete', old.id, coalesce(old.indexed, old.text), old.signs, {_FACTS.format("old")}
        WHERE old.state <> 'streaming';
    INSERT INTO message_text (rowid, text, signs, facts)
        SELECT new.id, coalesce(new.indexed, new.text), new.signs, {_FACTS.format("new")}
        WHERE new.state <> 'streaming';
END;
"""

_ELEVENTH = f"""
-- Messages whose text is written into the index in the background; their form is 'ё' until then. The texts are those
-- that the index has of them, from before they were changed; NULL: it has none.
CREATE TABLE search_waiting (
    id INTEGER PRIMARY KEY,
    text TEXT,
    signs TEXT,
    facts TEXT
) STRICT;

DROP TRIGGER message_added;
DROP TRIGGER message_gone;
DROP TRIGGER message_changed;
DROP VIEW searchable;
CREATE VIEW searchable AS
    SELECT id, coalesce(indexed, text) AS text, signs, {_FACTS.format("message")} AS facts FROM message
        WHERE state <> 'streaming' AND indexed IS NOT 'ё' AND id > (SELECT above_id FROM search_progress)
    UNION ALL SELECT id, text, signs, facts FROM search_waiting WHERE text IS NOT NULL;
CREATE TRIGGER message_added AFTER INSERT ON message
WHEN new.id > (SELECT above_id FROM search_progress) BEGIN
    INSERT OR REPLACE INTO search_waiting (id) SELECT new.id WHERE new.indexed = 'ё';
    INSERT INTO message_text (rowid, text, signs, facts)
        SELECT new.id, coalesce(new.indexed, new.text), new.signs, {_FACTS.format("new")}
        WHERE new.state <> 'streaming' AND new.indexed IS NOT 'ё';
END;
CREATE TRIGGER message_gone AFTER DELETE ON message
WHEN old.id > (SELECT above_id FROM search_progress) BEGIN
    INSERT INTO message_text (message_text, rowid, text, signs, facts)
        SELECT 'delete', old.id, coalesce(old.indexed, old.text), old.signs, {_FACTS.format("old")}
        WHERE old.state <> 'streaming' AND old.indexed IS NOT 'ё';
    INSERT INTO message_text (message_text, rowid, text, signs, facts)
        SELECT 'delete', id, text, signs, facts FROM search_waiting WHERE id = old.id AND text IS NOT NULL;
    DELETE FROM search_waiting WHERE id = old.id;
END;
CREATE TRIGGER message_changed AFTER UPDATE OF text, indexed, signs, state, role, model, created_ms ON message
WHEN old.id > (SELECT above_id FROM search_progress) BEGIN
    -- It waits from now on, or goes on waiting.
    INSERT OR REPLACE INTO search_waiting (id, text, signs, facts)
        SELECT old.id, coalesce(old.indexed, old.text), old.signs, {_FACTS.format("old")}
        WHERE new.indexed = 'ё' AND old.state <> 'streaming' AND old.indexed IS NOT 'ё';
    INSERT OR IGNORE INTO search_waiting (id) SELECT new.id WHERE new.indexed = 'ё';
    -- It does not wait.
    INSERT INTO message_text (message_text, rowid, text, signs, facts)
        SELECT 'delete', old.id, coalesce(old.indexed, old.text), old.signs, {_FACTS.format("old")}
        WHERE new.indexed IS NOT 'ё' AND old.state <> 'streaming' AND old.indexed IS NOT 'ё';
    INSERT INTO message_text (message_text, rowid, text, signs, facts)
        SELECT 'delete', id, text, signs, facts FROM search_waiting
        WHERE new.indexed IS NOT 'ё' AND id = old.id AND text IS NOT NULL;
    DELETE FROM search_waiting WHERE new.indexed IS NOT 'ё' AND id = old.id;
    INSERT INTO message_text (rowid, text, signs, facts)
        SELECT new.id, coalesce(new.indexed, new.text), new.signs, {_FACTS.format("new")}
        WHERE new.indexed IS NOT 'ё' AND new.state <> 'streaming';
END;
"""

_DEFINITION = re.compile(r"^(CREATE|DROP) (?:VIRTUAL )?(TABLE|TRIGGER|VIEW) (\w+).*", re.MULTILINE | re.DOTALL)

MIGRATIONS = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH, _SEVENTH, _EIGHTH, _NINTH, _TENTH, _ELEVENTH)
"""The text of a migration must never change: `flaws` compares the triggers and views of a store with it."""

COLUMNS: Mapping[str, tuple[str, str]] = {
    "choice": ("conversation_id parent_id", "child_id"),
    "conversation": ("id", "name root_id created_ms updated_ms trashed_ms pinned_ms folder archived_ms model uid"),
    "erased": ("id", "message_id conversation_id"),
    "kept_turn": ("key", "above_id first_id last_id conversation_id"),
    "message": (
        "id",
        "parent_id role text state created_ms record name starred_ms model indexed pruned_ms pinned_ms signs",
    ),
    "piece": ("id", "message_id text tokens"),
    "preparation": ("conversation_id", "unsent asking"),
    "project": ("folder", "settings"),
    "search_progress": ("id", "above_id"),
    "search_waiting": ("id", "text signs facts"),
    "source": ("conversation_id", "program key head"),
    "source_message": ("conversation_id key", "message_id digest"),
}
"""The primary key and the other columns of each table after all migrations. A test derives them from `MIGRATIONS`."""


def migrate(database: sqlite3.Connection, steps: Sequence[str] | None = None) -> bool:
    """Apply the missing migrations in one transaction, so that other programs can safely try it at the same time.

    Return whether there were any. The search index may then be empty (see `search_renewal`).
    """
    steps = MIGRATIONS if steps is None else steps
    if version_of(database) == len(steps):
        return False
    database.create_function("indexed", 1, indexed, deterministic=True)
    database.execute("BEGIN IMMEDIATE")
    try:
        for script in steps[version_of(database) :]:
            for statement in _statements(script):
                database.execute(statement)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {len(steps)}")
        database.execute("COMMIT")
    finally:
        if database.in_transaction:
            database.execute("ROLLBACK")
    return True


def version_of(database: sqlite3.Connection) -> int:
    """Return how many migrations were applied to a database."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return version


def definitions(version: int) -> Mapping[tuple[str, str], str]:
    """Return the SQL of the tables, triggers and views of a database of this version, by their kind and name."""
    found: dict[tuple[str, str], str] = {}
    for script in MIGRATIONS[: max(0, version)]:
        for statement in _statements(script):
            if (defined := _DEFINITION.search(statement)) is not None:
                kind, name = defined[2].lower(), defined[3]
                if defined[1] == "CREATE":
                    found[kind, name] = defined[0].strip().removesuffix(";")
                else:
                    found.pop((kind, name), None)
    return found


def flaws(database: sqlite3.Connection) -> list[str]:
    """Return which tables, columns, triggers and views are missing or changed, and which additions do harm.

    Triggers and views are programs, which may change messages or never end. Views that do not replace a table are
    harmless. So are added columns that may be empty.
    """
    expected = definitions(version_of(database))
    rows = database.execute("SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'trigger', 'view')")
    found = {(str(kind), str(name)): str(sql) for kind, name, sql in rows}
    missing = [f"missing {kind} {name}" for kind, name in expected if (kind, name) not in found]
    added = [f"unexpected {kind} {name}" for kind, name in found if kind == "trigger" and (kind, name) not in expected]
    changed = [
        f"changed {kind} {name}"
        for (kind, name), sql in expected.items()
        if kind != "table" and found.get((kind, name), sql) != sql
    ]
    # Missing columns of older versions are found by the next migration, in a transaction.
    columns = _flaws_of_columns(database) if version_of(database) == len(MIGRATIONS) else []
    return missing + columns + added + changed


def _flaws_of_columns(database: sqlite3.Connection) -> list[str]:
    # A damaged search index is built again, but SQLite fails when it is asked for its columns.
    found = {
        (table, str(column)): (bool(is_key), bool(is_required))
        for table in COLUMNS
        for column, is_key, is_required in database.execute(
            'SELECT p.name, p.pk > 0, p."notnull" AND p.dflt_value IS NULL '
            "FROM sqlite_master AS m, pragma_table_info(m.name) AS p WHERE m.type = 'table' AND m.name = ?",
            (table,),
        )
    }
    flaws: list[str] = []
    for table, (keys, others) in COLUMNS.items():
        if not any(of == table for of, _ in found):
            continue  # The table is missing, or is a view.
        expected = dict.fromkeys(keys.split(), True) | dict.fromkeys(others.split(), False)
        for column, is_key in expected.items():
            if (table, column) not in found:
                flaws.append(f"missing column {table}.{column}")
            elif found[table, column][0] != is_key:
                flaws.append(f"changed key of table {table}")
        flaws += [
            f"unexpected column {table}.{name}"
            for (of, name), (_, is_required) in found.items()
            if of == table and name not in expected and is_required
        ]
    return flaws


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements, because `executescript` would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
