"""Imports of other programs' SQLite databases, which are built here from the programs' real tables."""

from __future__ import annotations

import base64
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.model.exports.excerpt import whole_tree
from app.model.imports.source import REPLACED, Problem, conversations_in
from app.model.store import Store
from tests.app.model.exports.excerpts import import_all
from tests.app.model.imports import samples
from tests.app.model.imports.drawn import drawn


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


_OPEN_WEBUI = """
CREATE TABLE "user" (id VARCHAR(255) NOT NULL, name VARCHAR(255) NOT NULL, email VARCHAR(255) NOT NULL,
    role VARCHAR(255) NOT NULL, profile_image_url TEXT NOT NULL, PRIMARY KEY (id));
CREATE TABLE chat (id VARCHAR(255) NOT NULL, user_id VARCHAR(255) NOT NULL, title TEXT NOT NULL, share_id VARCHAR(255),
    archived INTEGER NOT NULL, created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL, chat JSON, pinned BOOLEAN,
    meta JSON DEFAULT '{}' NOT NULL, folder_id TEXT, current_message_id TEXT, PRIMARY KEY (id));
CREATE INDEX user_id_pinned_idx ON chat (user_id, pinned);
CREATE TABLE folder (id TEXT NOT NULL, parent_id TEXT, user_id TEXT NOT NULL, name TEXT NOT NULL, items JSON, meta JSON,
    is_expanded BOOLEAN NOT NULL, created_at BIGINT, updated_at BIGINT, data JSON, PRIMARY KEY (id, user_id));
CREATE TABLE file (id TEXT NOT NULL, user_id TEXT NOT NULL, filename TEXT NOT NULL, meta JSON, created_at INTEGER,
    hash TEXT, data JSON, updated_at BIGINT, path TEXT, PRIMARY KEY (id));
CREATE TABLE chat_message (id TEXT NOT NULL, chat_id TEXT NOT NULL, user_id TEXT, role TEXT NOT NULL, parent_id TEXT,
    content JSON, output JSON, model_id TEXT, files JSON, sources JSON, embeds JSON, meta JSON, done BOOLEAN,
    status_history JSON, error JSON, usage JSON, context_summary TEXT, created_at BIGINT, updated_at BIGINT,
    PRIMARY KEY (id), FOREIGN KEY(chat_id) REFERENCES chat (id) ON DELETE CASCADE);
CREATE INDEX chat_message_chat_parent_idx ON chat_message (chat_id, parent_id);
"""


def _database(path: Path, schema: str, rows: dict[str, list[dict[str, Any]]]) -> Path:
    """Write a database. Values that are lists or objects are stored as JSON."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        _insert(connection, rows)
        connection.commit()
    return path


def _insert(connection: sqlite3.Connection, rows: dict[str, list[dict[str, Any]]]) -> None:
    for table, found in rows.items():
        for row in found:
            values = [json.dumps(value) if isinstance(value, list | dict) else value for value in row.values()]
            names = ", ".join(f'"{name}"' for name in row)
            connection.execute(f'INSERT INTO "{table}" ({names}) VALUES ({", ".join("?" * len(row))})', values)


def _user(user_id: str, name: str) -> dict[str, Any]:
    return {"id": user_id, "name": name, "email": f"{name}@example.org", "role": "user", "profile_image_url": ""}


def _chat(chat: dict[str, Any], **more: Any) -> dict[str, Any]:
    times = {"created_at": 1_700_000_000, "updated_at": 1_700_000_030}
    return {"id": "c-3", "user_id": "u", "title": "Math", "archived": 0, "pinned": 0, "chat": chat} | times | more


def test_a_chat_of_open_webuis_database_is_the_same_as_its_export(store: Store, tmp_path: Path) -> None:
    file = {"id": "f", "type": "file", "name": "n.txt"}
    chat = json.loads(json.dumps(samples.OPEN_WEBUI["chat"]))
    chat["history"]["messages"]["q"]["files"].append(file)
    rows: dict[str, list[dict[str, Any]]] = {
        "user": [_user("u", "Ada")],
        "folder": [
            {"id": "f1", "user_id": "u", "name": "School", "is_expanded": 0},
            {"id": "f2", "parent_id": "f1", "user_id": "u", "name": "Algebra", "is_expanded": 0},
        ],
        "file": [{"id": "f", "user_id": "u", "filename": "n.txt", "data": {"content": "notes"}}],
        "chat": [
            _chat(chat, pinned=1, archived=1, folder_id="f2", meta={"tags": ["sums", "pinned"]}),
            _chat(chat, id="s", user_id="shared-c-3"),
        ],
        "chat_message": [
            # An older state of a message that the chat has, and a message that it does not have.
            {"id": "c-3-a2", "chat_id": "c-3", "role": "assistant", "content": '"It"', "parent_id": "q"},
            {"id": "c-3-u2", "chat_id": "c-3", "role": "user", "content": '"Sure?"', "parent_id": "a2", "done": 1,
             "created_at": 1_700_000_025},
            {"id": "c-3-a3", "chat_id": "c-3", "role": "assistant", "content": '"Ye"', "parent_id": "u2", "done": 0,
             "created_at": 1_700_000_026, "model_id": "gpt-4o", "error": {"content": "too long"}},
        ],
    }  # fmt: skip
    path = _database(tmp_path / "webui.db", _OPEN_WEBUI, rows)
    before = path.read_bytes()
    summary = import_all(store, path)
    assert summary.problems == []
    assert dict(summary.remarks) == {
        "pictures and files, stored with their messages": 2,
        "tool calls, tool results and messages of other roles, kept as notes": 2,
        "messages that are only in Open WebUI's table of messages, added from there": 2,
        "tags of Open WebUI, left out": 1,
    }
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert drawn(excerpt) == [
        "0<1 system: Be exact.",
        "1<2 user: 15·17?",
        f"2<3 note: Picture: p.png\n\n![p.png](data:image/png;base64,{samples.PNG})",
        "3<4 user: File: n.txt\n\n```\nnotes\n```",
        "4<5 assistant: <think>\n10·17 < 255\n</think>\n\n255",
        '4<6 note: Tool call: calc\n\n```\n{"x":1}\n```',
        "6<7 note: Tool result\n\n255",
        "7<8 assistant: It is 255.",
        "8<9 user: Sure?",
        "9<10 assistant: Ye",
        "10<11 note: Error\n\ntoo long",
    ]
    conversation = excerpt.conversation
    assert (conversation.name, conversation.folder, conversation.model) == ("Math", "School/Algebra", "r1")
    assert (conversation.created_ms, conversation.updated_ms) == (1_700_000_000_000, 1_700_000_030_000)
    assert conversation.pinned_ms == conversation.archived_ms == conversation.updated_ms
    assert (excerpt.messages[10].state, excerpt.messages[10].created_ms) == ("failed", 1_700_000_026_000)
    # The export of the program is the same conversation, and the program's folder is as it was.
    again = import_all(store, path)
    assert (again.num_conversations, len(again.twins)) == (0, 1)
    (tmp_path / "export.json").write_text(json.dumps([samples.OPEN_WEBUI]))
    assert import_all(store, tmp_path / "export.json").num_conversations == 0
    assert ([*tmp_path.glob("webui*")], path.read_bytes()) == ([path], before)


def test_chats_of_several_users_and_of_the_first_versions(store: Store, tmp_path: Path) -> None:
    schema = """
        CREATE TABLE "user" ("id" VARCHAR(255) NOT NULL, "name" VARCHAR(255) NOT NULL);
        CREATE TABLE "chat" ("id" VARCHAR(255) NOT NULL, "user_id" VARCHAR(255) NOT NULL, "title" TEXT NOT NULL,
            "chat" TEXT NOT NULL, "timestamp" INTEGER NOT NULL);
        CREATE TABLE "chatidtag" ("id" VARCHAR(255) NOT NULL, "tag_name" VARCHAR(255) NOT NULL,
            "chat_id" VARCHAR(255) NOT NULL, "user_id" VARCHAR(255) NOT NULL, "timestamp" INTEGER NOT NULL);
    """
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    chats = [
        {"id": f"c{user}", "user_id": user, "title": user, "chat": {"messages": said}, "timestamp": 1_700_000_000}
        for user in ("u1", "u2")
    ]
    tag = {"id": "t", "tag_name": "pinned", "chat_id": "cu1", "user_id": "u1", "timestamp": 1}
    rows = {"user": [{"id": "u1", "name": "Ada"}], "chat": chats, "chatidtag": [tag]}
    summary = import_all(store, _database(tmp_path / "webui.db", schema, rows))
    first, second = (whole_tree(store, found) for found in summary.conversation_ids)
    assert drawn(first) == drawn(second) == ["1<2 user: Hi", "2<3 assistant: Ho"]
    found = [first.conversation, second.conversation]
    assert [(one.folder, one.created_ms, one.pinned_ms is not None) for one in found] == [
        ("Ada", 1_700_000_000_000, True),
        ("u2", 1_700_000_000_000, False),
    ]


def _simple(path: Path) -> Path:
    message = {"id": "q", "parentId": None, "role": "user", "content": "Hi"}
    chat = {"history": {"currentId": "q", "messages": {"q": message}}}
    return _database(path, _OPEN_WEBUI, {"chat": [_chat(chat), _chat(chat, id="c-4", title="Second")]})


def test_a_database_is_read_with_its_log_while_its_program_uses_it(store: Store, tmp_path: Path) -> None:
    path = _simple(tmp_path / "webui.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as program:
        program.execute("PRAGMA journal_mode = WAL")
        program.execute("UPDATE chat SET title = 'In the log' WHERE id = 'c-3'")
        program.execute("BEGIN EXCLUSIVE")
        program.execute("UPDATE chat SET title = 'Not committed'")
        files = {file: file.read_bytes() for file in tmp_path.glob("webui.db*")}
        assert import_all(store, path).num_conversations == 2
        assert {found.name for found in store.conversations.all()} == {"In the log", "Second"}
        assert {file: file.read_bytes() for file in tmp_path.glob("webui.db*")} == files
        program.execute("ROLLBACK")
        with zipfile.ZipFile(tmp_path / "backup.zip", "w") as archive:
            for file in files:
                archive.write(file, f"data/{file.name}")
    assert len(import_all(store, tmp_path / "backup.zip").twins) == 2


def test_a_database_that_changes_while_it_is_copied_is_refused(tmp_path: Path) -> None:
    path = _simple(tmp_path / "webui.db")
    written = False

    def changed(_bytes: int) -> None:
        nonlocal written
        if not written:
            with path.open("ab") as file:
                file.write(bytes(4096))
        written = True

    (problem,) = conversations_in(path, 0, changed)
    assert isinstance(problem, Problem)
    assert problem.why == "its program is changing it; close that program, then import it"


def _damaged(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chat'")
        ((size,),) = connection.execute("PRAGMA page_size")
    data = bytearray(path.read_bytes())
    data[(root - 1) * size : root * size] = bytes(size)
    path.write_bytes(data)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def _changed(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return change


def _looping(path: Path) -> None:
    """Let two children of a table's root be the same page. Levels of such pages would make a small file endless."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for number in range(50):
            connection.execute(
                "INSERT INTO chat SELECT ?, user_id, title, share_id, archived, created_at, updated_at, "
                "json_object('a', hex(zeroblob(900))), pinned, meta, folder_id, NULL FROM chat LIMIT 1",
                (f"c{number}",),
            )
        connection.execute("COMMIT")
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chat'")
        ((size,),) = connection.execute("PRAGMA page_size")
    data = bytearray(path.read_bytes())
    begin = (root - 1) * size
    assert data[begin] == 5  # An inner page of a table.
    first = begin + int.from_bytes(data[begin + 12 : begin + 14], "big")
    data[begin + 8 : begin + 12] = data[first : first + 4]
    path.write_bytes(data)


def _unended(path: Path) -> None:
    path.with_name("webui.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504) + b"/etc/passwd")


_ENDLESS = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS user_id, i AS title, i AS chat FROM n"
)
_NOT_PLAIN = "its “chat” is not a plain table, so Bough does not read it"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_damaged, "the database is damaged ("),
        (_looping, "the database is damaged ("),
        (_cut, "the database is damaged ("),
        (_unended, "its program did not finish a change; open the file once in that program, then import it"),
        (_changed("DROP TABLE chat", f"CREATE VIEW chat AS {_ENDLESS}"), _NOT_PLAIN),
        (_changed("DROP TABLE chat", "CREATE VIRTUAL TABLE chat USING fts5 (user_id, title)"), _NOT_PLAIN),
        (_changed("DROP TABLE chat", "CREATE TABLE chat (rowid, user_id, title, chat)"), _NOT_PLAIN),
        (_changed("DROP TABLE chat", "CREATE TABLE chat (user_id, title, chat AS (hex(zeroblob(9)) ))"), _NOT_PLAIN),
        (
            _changed("DROP TABLE chat"),
            "Bough does not support this database; its tables are chat_message, file, folder",
        ),
        (_changed("DELETE FROM chat"), "it contains no conversations"),
    ],
)  # fmt: skip
def test_a_damaged_or_hostile_database_is_refused_in_a_sentence(
    store: Store, tmp_path: Path, change: Callable[[Path], None], why: str
) -> None:
    path = _simple(tmp_path / "webui.db")
    change(path)
    before = path.read_bytes()
    (problem,) = import_all(store, path).problems
    assert problem.why.startswith(why)
    assert (path.read_bytes(), store.conversations.all()) == (before, [])


def test_one_chat_that_cannot_be_read_keeps_no_other_from_being_imported(store: Store, tmp_path: Path) -> None:
    path = _simple(tmp_path / "webui.db")
    insert = "INSERT INTO chat (id, user_id, archived, created_at, updated_at, title, chat) VALUES "
    surrogate = r'{"history": {"messages": {"q": {"role": "user", "content": "\ud83d"}}}}'
    _changed(
        # Checks, triggers and views are never used.
        "CREATE TRIGGER changed AFTER UPDATE ON chat BEGIN DELETE FROM chat; END",
        f"CREATE VIEW endless AS {_ENDLESS}",
        f"""{insert} ('c-5', 'u', 0, 0, 0, 't', '{{"history": {{')""",
        f"{insert} ('c-6', 'u', 0, 0, 0, CAST(x'c3284d' AS TEXT), '{surrogate}')",
    )(path)
    summary = import_all(store, path)
    assert [str(problem.where) for problem in summary.problems] == [f"{path}, conversation 3"]
    assert summary.problems[0].why.startswith("it is not valid JSON (")
    assert {found.name for found in store.conversations.all()} == {"Math", "Second", "\ufffd(M"}
    assert summary.remarks[REPLACED] == 2


_LLM = """
CREATE TABLE _llm_migrations (name TEXT PRIMARY KEY, applied_at TEXT);
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE schemas (id TEXT PRIMARY KEY, content TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, prompt_json TEXT, options_json TEXT,
    response TEXT, response_json TEXT, conversation_id TEXT REFERENCES conversations(id), duration_ms INTEGER,
    datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER, token_details TEXT,
    schema_id TEXT REFERENCES schemas(id), resolved_model TEXT, reasoning TEXT);
CREATE VIRTUAL TABLE responses_fts USING FTS5 (prompt, response, content=responses);
CREATE TRIGGER responses_ai AFTER INSERT ON responses BEGIN
    INSERT INTO responses_fts (rowid, prompt, response) VALUES (new.rowid, new.prompt, new.response);
END;
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE prompt_attachments (response_id TEXT REFERENCES responses(id), attachment_id TEXT, "order" INTEGER,
    PRIMARY KEY (response_id, attachment_id));
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER,
    PRIMARY KEY (response_id, fragment_id, "order"));
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT, arguments TEXT,
    tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT, output TEXT,
    tool_call_id TEXT, instance_id INTEGER, exception TEXT);
"""
_LLM_TREE = """
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT REFERENCES messages(hash), role TEXT,
    provider_metadata TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT REFERENCES messages(hash), position INTEGER, type TEXT,
    tool_name TEXT, text TEXT, payload TEXT);
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
    resolved_model TEXT, options_json TEXT, schema_id TEXT, input_tokens INTEGER, output_tokens INTEGER,
    token_details TEXT, duration_ms INTEGER, datetime_utc TEXT, response_json TEXT);
CREATE VIEW message_tree AS SELECT hash FROM messages;
"""


def test_responses_of_llm_become_a_conversation_with_tools_fragments_and_attachments(
    store: Store, tmp_path: Path
) -> None:
    def response(number: int, prompt: str, text: str, **more: Any) -> dict[str, Any]:
        when = f"2025-06-01T10:00:0{number}.000000"
        return {"id": f"r{number}", "conversation_id": "c", "model": "gpt-4o", "prompt": prompt, "response": text,
                "duration_ms": 500, "datetime_utc": when} | more  # fmt: skip

    rows: dict[str, list[dict[str, Any]]] = {
        "conversations": [{"id": "c", "name": "Cats", "model": "gpt-4o"}],
        "schemas": [{"id": "s", "content": {"type": "object"}}],
        "responses": [
            response(1, "What is it?", "", system="Be brief."),
            response(2, "", "A cat", system="Be brief.", resolved_model="gpt-4o-2024", reasoning="Look."),
            response(3, "As JSON", "{}", schema_id="s"),
            response(4, "Alone", "Yes", conversation_id=None),
        ],
        "attachments": [
            {"id": "a1", "type": "image/png", "content": base64.b64decode(samples.PNG)},
            {"id": "a2", "type": "image/png", "url": "https://example.org/cat.png"},
        ],
        "prompt_attachments": [
            {"response_id": "r1", "attachment_id": "a2", "order": 1},
            {"response_id": "r1", "attachment_id": "a1", "order": 0},
        ],
        "fragments": [{"id": 7, "hash": "h", "content": "A long text"}],
        "prompt_fragments": [{"response_id": "r1", "fragment_id": 7, "order": 0}],
        "tool_calls": [{"response_id": "r1", "name": "look", "arguments": {"at": 1}, "tool_call_id": "t"}],
        "tool_results": [{"response_id": "r2", "name": "look", "output": "fur", "tool_call_id": "t"}],
    }
    summary = import_all(store, _database(tmp_path / "logs.db", _LLM, rows))
    assert (summary.problems, dict(summary.programs)) == ([], {"llm": 2})
    second, first = sorted(
        (whole_tree(store, found) for found in summary.conversation_ids), key=lambda one: len(drawn(one))
    )
    assert drawn(second) == ["1<2 user: Alone", "2<3 assistant: Yes"]
    assert drawn(first) == [
        "0<1 system: Be brief.",
        "1<2 user: A long text\nWhat is it?",
        f"2<3 note: Picture: a1.png\n\n![a1.png](data:image/png;base64,{samples.PNG})",
        "3<4 note: File: cat.png\n\nhttps://example.org/cat.png",
        '4<5 note: Tool call: look\n\n```json\n{\n  "at": 1\n}\n```',
        "5<6 note: Tool result: look\n\n```\nfur\n```",
        "6<7 assistant: <think>\nLook.\n</think>\n\nA cat",
        "7<8 user: As JSON",
        '8<9 note: Answer format\n\n```json\n{\n  "type": "object"\n}\n```',
        "9<10 assistant: {}",
    ]
    answer = first.messages[7]
    assert (first.conversation.name, answer.record and answer.record.model) == ("Cats", "gpt-4o-2024")
    assert answer.created_ms == 1_748_772_002_500
    assert len(import_all(store, tmp_path / "logs.db").twins) == 2


def test_threads_of_llm_and_their_forks_are_branches_of_one_conversation(store: Store, tmp_path: Path) -> None:
    said = [
        ("s", None, "system", "text", "Be brief.", None),
        ("u1", "s", "user", "text", None, {"text_ref": [{"literal": "Read: "}, {"fragment": 7}]}),
        ("a1", "u1", "assistant", "reasoning", "Hm.", None),
        ("u2", "a1", "user", "text", "More", None),
        ("a2", "u2", "assistant", "text", "Two", None),
        ("u3", "a1", "user", "text", "Less", None),
        ("a3", "u3", "assistant", "tool_call", None, {"name": "f", "arguments": {}}),
    ]
    turns = [("c", "u1", "a1", "m1", 1), ("c", "u2", "a2", "m2", 2), ("d", "u3", "a3", "m3", 3)]
    rows: dict[str, list[dict[str, Any]]] = {
        "fragments": [{"id": 7, "hash": "h", "content": "A long text"}],
        "messages": [{"hash": one, "parent_hash": above, "role": role} for one, above, role, *_ in said],
        "parts": [
            {"message_hash": one, "position": 1, "type": kind, "text": text, "payload": payload}
            for one, _, _, kind, text, payload in said
        ],
        "threads": [
            {"id": "c", "name": "Cats", "tip_message_hash": "a2", "datetime_utc": "2026-06-01 10:00:00+00:00"},
            {"id": "d", "tip_message_hash": "a3", "forked_from": "c", "datetime_utc": "2026-06-01 10:00:02+00:00"},
        ],
        "turns": [
            {"id": f"t{second}", "thread_id": thread, "parent_message_hash": above, "tip_message_hash": tip,
             "model": model, "datetime_utc": f"2026-06-01T10:00:0{second}"}
            for thread, above, tip, model, second in turns
        ],
        # The conversation was begun with an older version.
        "conversations": [{"id": "c", "name": "Cats"}],
        "responses": [
            {"id": "r", "conversation_id": "c", "prompt": "Read: A long text", "response": "One", "reasoning": "Hm.",
             "system": "Be brief.", "model": "m1"},
        ],
    }  # fmt: skip
    rows["parts"].append({"message_hash": "a1", "position": 2, "type": "text", "text": "One"})
    summary = import_all(store, _database(tmp_path / "logs.db", _LLM + _LLM_TREE, rows))
    assert summary.problems == []
    (excerpt,) = (whole_tree(store, found) for found in summary.conversation_ids)
    assert drawn(excerpt) == [
        "0<1 system: Be brief.",
        "1<2 user: Read: A long text",
        "2<3 assistant: <think>\nHm.\n</think>\n\nOne",
        "3<4 user: More",
        "4<5 assistant: Two",
        "3<6 user: Less",
        "6<7 note: Tool call: f\n\n```json\n{}\n```",
    ]
    records = [message.record and message.record.model for message in excerpt.messages]
    assert [model for model in records if model] == ["m1", "m2", "m3"]
    assert excerpt.path[-1].text.startswith("Tool call")
    assert excerpt.messages[5].created_ms - excerpt.conversation.created_ms == 2_000
    assert len(import_all(store, tmp_path / "logs.db").twins) == 1


def _before() -> dict[str, list[dict[str, Any]]]:
    """Return a log with a call of a tool, as llm wrote it before it had threads."""
    said = [("What?", "I look."), ("", "A cat"), ("Sure?", "Yes"), ("Dog?", "No")]
    return {
        "conversations": [{"id": "c", "name": "Cats", "model": "m"}, {"id": "x", "name": "Dogs", "model": "m"}],
        "responses": [
            {"id": f"r{number}", "conversation_id": "x" if number == 4 else "c", "model": "m", "prompt": prompt,
             "system": "Be brief.", "response": text, "datetime_utc": f"2026-05-01T10:00:0{number}"}
            for number, (prompt, text) in enumerate(said, 1)
        ],
        "tool_calls": [{"response_id": "r1", "name": "look", "arguments": {"at": 1}, "tool_call_id": "t"}],
        "tool_results": [{"response_id": "r2", "name": "look", "output": "fur", "tool_call_id": "t"}],
    }  # fmt: skip


def _after(*, answer: str = "Yes") -> dict[str, list[dict[str, Any]]]:
    """Return the log after the conversation went on in a version with threads, which store it again from its begin."""
    said = [
        ("h0", "system", "text", "Be brief.", None),
        ("h1", "user", "text", "What?", None),
        ("h2", "assistant", "text", "I look.", None),
        ("h3", "tool", "tool_result", None, {"name": "look", "output": "fur"}),
        ("h4", "assistant", "text", "A cat", None),
        ("h5", "user", "text", "Sure?", None),
        ("h6", "assistant", "text", answer, None),
        ("h7", "user", "text", "And now?", None),
        ("h8", "assistant", "text", "Still", None),
    ]
    call = {"name": "look", "arguments": {"at": 1}}
    thread = {"id": "c", "name": "Cats", "tip_message_hash": "h8", "datetime_utc": "2026-06-01 10:00:00+00:00"}
    turn = {"id": "r5", "thread_id": "c", "parent_message_hash": "h7", "tip_message_hash": "h8", "model": "m2",
            "datetime_utc": "2026-06-01T10:00:01"}  # fmt: skip
    return _before() | {
        "messages": [
            {"hash": one, "parent_hash": f"h{number - 1}" if number else None, "role": role}
            for number, (one, role, *_) in enumerate(said)
        ],
        "parts": [
            *({"message_hash": one, "position": 0, "type": kind, "text": text, "payload": payload}
              for one, _, kind, text, payload in said),
            {"message_hash": "h2", "position": 1, "type": "tool_call", "tool_name": "look", "payload": call},
        ],
        "threads": [thread],
        "turns": [turn],
    }  # fmt: skip


_ONCE = [
    "0<1 system: Be brief.",
    "1<2 user: What?",
    "2<3 assistant: I look.",
    '3<4 note: Tool call: look\n\n```json\n{\n  "at": 1\n}\n```',
    "4<5 note: Tool result: look\n\n```\nfur\n```",
    "5<6 assistant: A cat",
    "6<7 user: Sure?",
    "7<8 assistant: Yes",
]


@pytest.mark.parametrize("is_known", [True, False])
def test_a_conversation_of_llm_that_continues_as_a_thread_is_not_duplicated(
    store: Store, tmp_path: Path, *, is_known: bool
) -> None:
    if is_known:
        before = import_all(store, _database(tmp_path / "before.db", _LLM, _before()))
        assert (before.num_conversations, before.num_messages) == (2, 10)
    after = import_all(store, _database(tmp_path / "after.db", _LLM + _LLM_TREE, _after()))
    if is_known:
        assert after.num_conversations == 0
        assert [(update.name, update.num_messages) for update in after.updates] == [("Cats", 2)]
    trees = {found.name: drawn(whole_tree(store, found.id)) for found in store.conversations.all()}
    assert trees["Cats"] == [*_ONCE, "8<9 user: And now?", "9<10 assistant: Still"]
    assert len(trees) == 2


def test_a_thread_of_llm_that_differs_from_its_responses_is_a_branch(store: Store, tmp_path: Path) -> None:
    import_all(store, _database(tmp_path / "after.db", _LLM + _LLM_TREE, _after(answer="Perhaps")))
    (found,) = (found for found in store.conversations.all() if found.name == "Cats")
    excerpt = whole_tree(store, found.id)
    assert drawn(excerpt)[:7] == _ONCE[:7]
    assert sorted(line.partition(" ")[2] for line in drawn(excerpt)[7:]) == [
        "assistant: Perhaps",
        "assistant: Still",
        "assistant: Yes",
        "user: And now?",
    ]
    assert excerpt.path[-1].text == "Still"


def test_answer_formats_and_added_system_texts_of_threads_of_llm_are_kept(store: Store, tmp_path: Path) -> None:
    table = 'CREATE TABLE turn_fragments (turn_id TEXT, fragment_id INTEGER, "order" INTEGER, kind TEXT);'
    rows: dict[str, list[dict[str, Any]]] = {
        "messages": [
            {"hash": "s", "parent_hash": None, "role": "system"},
            {"hash": "q", "parent_hash": "s", "role": "user"},
            {"hash": "a", "parent_hash": "q", "role": "assistant"},
        ],
        "parts": [
            {"message_hash": "s", "position": 0, "type": "text", "text": "Be brief."},
            {"message_hash": "q", "position": 0, "type": "text", "text": "As JSON"},
            {"message_hash": "a", "position": 0, "type": "text", "text": "{}"},
        ],
        "fragments": [{"id": 1, "content": "Be brief."}, {"id": 2, "content": "Be kind."}],
        "schemas": [{"id": "j", "content": {"type": "object"}}],
        "threads": [{"id": "c", "name": "Cats", "tip_message_hash": "a", "datetime_utc": "2026-06-01T10:00:00"}],
        "turns": [
            {"id": "t", "thread_id": "c", "parent_message_hash": "q", "tip_message_hash": "a", "model": "m",
             "schema_id": "j", "datetime_utc": "2026-06-01T10:00:01"},
        ],
        "turn_fragments": [
            {"turn_id": "t", "fragment_id": 1, "order": 0, "kind": "system"},
            {"turn_id": "t", "fragment_id": 2, "order": 1, "kind": "system"},
        ],
    }  # fmt: skip
    summary = import_all(store, _database(tmp_path / "logs.db", _LLM + _LLM_TREE + table, rows))
    assert [line.partition(" ")[2] for line in drawn(whole_tree(store, summary.conversation_ids[0]))] == [
        "system: Be brief.",
        "user: As JSON",
        "note: System\n\nBe kind.",
        'note: Answer format\n\n```json\n{\n  "type": "object"\n}\n```',
        "assistant: {}",
    ]
