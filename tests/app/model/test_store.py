"""The store: sharing between conversations, damaged trees and records, several programs at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.model.database import StoreError
from app.model.message import Record, with_error
from app.model.migrations import COLUMNS
from app.model.open_conversation import OpenConversation
from app.model.store import TRASH_KEPT_MS, Store
from app.model.tree import Tree
from tests.app.model.stores import connection_of, shown, sql, trashed_ids
from tests.app.trees import drawn, labels, plant
from worker.sentence import verbatim

# --- sharing between conversations ---------------------------------------------------------------------------


def test_a_fork_copies_nothing_and_a_message_is_deleted_with_the_last_conversation_that_reaches_it(
    store: Store, path: Path
) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    fork = store.fork_conversation("fork", planted.ids["a1"])
    assert [message.id for message in shown(store, fork.id)][-1] == planted.ids["a1"]
    with sql(path) as database:
        assert database.execute("SELECT count(*) FROM message").fetchone() == (2 + 5,)

    store.conversations.trash(planted.conversation_id)
    assert store.empty_trash() == 1
    assert drawn(store.messages.shown_by(fork.id)) == "u1-a1-u2-a2"
    store.conversations.trash(fork.id)
    assert store.empty_trash() == 6
    with sql(path) as database:
        assert database.execute("SELECT count(*) FROM message").fetchone() == (0,)


def test_a_question_in_a_fork_leaves_the_original_branch_unchanged(store: Store) -> None:
    planted = plant(store, "u1-a1")
    fork = store.fork_conversation("fork", planted.ids["a1"])
    store.add(fork.id, planted.ids["a1"], "user", "u2")
    assert labels(shown(store, planted.conversation_id)) == "u1-a1"
    assert labels(shown(store, fork.id)) == "u1-a1-u2"
    store.add(planted.conversation_id, planted.ids["a1"], "user", "u3")
    assert labels(shown(store, planted.conversation_id)) == "u1-a1-u3"
    assert labels(shown(store, fork.id)) == "u1-a1-u2"


def test_a_conversation_that_is_written_in_leaves_the_trash(store: Store) -> None:
    planted = plant(store, "u1-a1")
    store.conversations.trash(planted.conversation_id)
    store.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
    assert store.empty_trash() == 0
    assert store.conversations.get(planted.conversation_id).name == "planted"


def test_the_last_used_conversation_is_the_first(store: Store, path: Path) -> None:
    older, newer = plant(store, "u1-a1"), plant(store, "u2-a2")
    with sql(path) as database:
        database.execute("UPDATE conversation SET updated_ms = id")
    assert [conversation.id for conversation in store.conversations.all()] == [
        newer.conversation_id,
        older.conversation_id,
    ]
    store.add(older.conversation_id, older.ids["a1"], "user", "u3")
    assert [conversation.id for conversation in store.conversations.all()] == [
        older.conversation_id,
        newer.conversation_id,
    ]


def test_pinned_conversations_come_before_those_used_last(store: Store) -> None:
    older, newer = plant(store, "u1-a1"), plant(store, "u2-a2")
    store.conversations.pin(older.conversation_id)
    assert [conversation.id for conversation in store.conversations.all()] == [
        older.conversation_id,
        newer.conversation_id,
    ]
    assert store.conversations.get(older.conversation_id).pinned_ms is not None
    store.conversations.pin(older.conversation_id, is_pinned=False)
    assert store.conversations.get(older.conversation_id).pinned_ms is None
    store.conversations.trash(newer.conversation_id)
    assert trashed_ids(store) == [newer.conversation_id]


def test_a_long_answer_is_not_written_again_with_each_word(store: Store, path: Path) -> None:
    planted = plant(store, "u1")
    answer = store.add(planted.conversation_id, planted.ids["u1"], "assistant", "long " * 100_000, state="streaming")
    with sql(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for _ in range(10):
        store.messages.append({answer.id: "word "})
    # Each write takes a page or two of the log.
    assert path.with_name("store.sqlite3-wal").stat().st_size < 10 * 5 * 4096
    (whole,) = [message for message in store.messages.shown_by(planted.conversation_id) if message.id == answer.id]
    assert whole.text == "long " * 100_000 + "word " * 10
    store.update(whole)
    with sql(path) as database:
        assert database.execute("SELECT count(*) FROM piece").fetchone() == (0,)


def test_the_users_text_is_on_the_disk_when_it_is_stored(store: Store) -> None:
    said: list[str] = []
    connection_of(store).set_trace_callback(said.append)
    conversation, question = store.create_conversation("name", "", "u1")
    assert said[0] == "PRAGMA synchronous = FULL"
    assert said[-2:] == ["COMMIT", "PRAGMA synchronous = NORMAL"]
    said.clear()
    store.add(conversation.id, question.id, "assistant", "a1")
    assert said[0] == "PRAGMA synchronous = FULL"
    assert said[-2:] == ["COMMIT", "PRAGMA synchronous = NORMAL"]


# --- damaged trees and records -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE message SET parent_id = {u2} WHERE id = {u1}",
        "UPDATE message SET parent_id = {a2} WHERE id = {a2}",
        "UPDATE message SET parent_id = {a2} WHERE id = 1",
        "UPDATE message SET parent_id = 999 WHERE id = {u2}",
        "DELETE FROM message WHERE id = {a1}",
        "DELETE FROM message WHERE id = 1",
        "UPDATE conversation SET root_id = 999",
        "UPDATE choice SET child_id = {u1}",
        "UPDATE message SET parent_id = NULL",
        "INSERT INTO choice SELECT 999, id, id FROM message",
    ],
)
def test_every_walk_ends_over_orphans_and_cycles(store: Store, path: Path, damage: str) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u2-a3")
    fork = store.fork_conversation("fork", planted.ids["u2"])
    with sql(path) as database:
        database.execute(damage.format(**planted.ids))
    for conversation_id in (planted.conversation_id, fork.id):
        messages = store.messages.shown_by(conversation_id)
        tree = Tree(messages, store.conversations.get(conversation_id).root_id)
        shown = tree.path(store.conversations.choices(conversation_id))
        assert len({message.id for message in shown}) == len(shown)
        for message in messages:
            assert message.id in tree.siblings(message.id)
            assert tree.lineage(message.id)[-1] == message
        store.conversations.trash(conversation_id)
    store.interrupt_streaming(verbatim("It ended."))
    store.empty_trash()
    assert store.conversations.all() == []


@pytest.mark.parametrize(
    ("damage", "is_lost"),
    [
        ("UPDATE message SET parent_id = {a2} WHERE id = {u1}", True),
        ("UPDATE message SET parent_id = {a3} WHERE id = {a3}", True),
        ("UPDATE message SET parent_id = {a2} WHERE id = 1", True),
        ("UPDATE message SET parent_id = 999 WHERE id = {u2}", True),
        ("DELETE FROM message WHERE id = {a1}", True),
        ("DELETE FROM message WHERE id = 1", True),
        ("UPDATE conversation SET root_id = 999", True),
        ("UPDATE message SET pruned_ms = 5 WHERE id = {u2}", False),
        ("UPDATE choice SET child_id = {u1}", False),
        ("UPDATE choice SET child_id = NULL", False),
        ("DELETE FROM choice", False),
    ],
)
def test_messages_that_damaged_links_hide_are_reported(store: Store, path: Path, damage: str, *, is_lost: bool) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u2-a3")
    conversation = store.conversations.get(planted.conversation_id)
    OpenConversation(store, conversation)
    assert store.messages.take_problems() == []
    with sql(path) as database:
        database.execute(damage.format(**planted.ids))
    OpenConversation(store, store.conversations.get(planted.conversation_id))
    problems = store.messages.take_problems()
    assert [str(problem).partition(",")[0] for problem in problems] == (
        ["Some messages of this conversation can't be shown"] if is_lost else []
    )


def test_a_store_without_ids_is_called_damaged_and_the_disk_is_not_called_full(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1")
    with sql(path) as database:
        database.execute("UPDATE sqlite_sequence SET seq = ?", (2**63 - 1,))
    no_ids = r"are damaged \(no id is left for another entry\)"
    with pytest.raises(StoreError, match=no_ids):
        store.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
    with pytest.raises(StoreError, match=no_ids):
        store.create_conversation("name", "", "u1")
    assert labels(shown(store, planted.conversation_id)) == "u1-a1"


@pytest.mark.parametrize(
    "record", [b"", b"\xff\xfe", b"{", b"[]", b'{"seed": "x"}', b'{"sampling": {"top_p": 7}}', b'{"a":' * 5000]
)
def test_a_damaged_record_affects_nothing_else(store: Store, path: Path, record: bytes) -> None:
    planted = plant(store, "u1-a1")
    with sql(path) as database:
        database.execute("UPDATE message SET record = ? WHERE id = ?", (record, planted.ids["a1"]))
    answer = store.messages.shown_by(planted.conversation_id)[-1]
    assert (answer.text, answer.record) == ("a1", None)


def test_invalid_bytes_are_read_as_far_as_they_are_text(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1")
    with sql(path) as database:
        database.execute("UPDATE message SET text = CAST(x'61ff62' AS TEXT) WHERE id = ?", (planted.ids["a1"],))
    assert store.messages.shown_by(planted.conversation_id)[-1].text == "a\ufffdb"


# --- several programs ----------------------------------------------------------------------------------------


def test_only_a_program_that_is_alone_ends_streams_and_empties_the_trash(store: Store, path: Path) -> None:
    planted = plant(store, "u1")
    thrown = plant(store, "u2-a2")
    store.add(planted.conversation_id, planted.ids["u1"], "assistant", "a1", state="streaming")
    store.conversations.trash(thrown.conversation_id)

    second = Store(path)
    assert not second.clean_up(verbatim("It ended."))
    assert second.messages.shown_by(planted.conversation_id)[-1].state == "streaming"
    store.close()
    third = Store(path)
    assert not third.clean_up(verbatim("It ended."))
    third.close()
    with sql(path) as database:
        database.execute("UPDATE conversation SET trashed_ms = trashed_ms - ?", (TRASH_KEPT_MS + 1000,))
    assert second.clean_up(verbatim("It ended."))
    ended = second.messages.shown_by(planted.conversation_id)[-1]
    assert ended.state == "stopped"
    assert ended.record == with_error(None, verbatim("It ended."))
    assert second.messages.shown_by(thrown.conversation_id) == []
    second.close()


def test_an_interrupted_answer_keeps_its_text_but_not_its_possibly_incomplete_ids(store: Store) -> None:
    planted = plant(store, "u1")
    record = Record(model="guide", token_ids=(1, 2), seed=7)
    answer = store.add(
        planted.conversation_id, planted.ids["u1"], "assistant", "two ids", state="streaming", record=record
    )
    store.messages.append({answer.id: " and more"})
    assert store.interrupt_streaming(verbatim("It ended.")) == 1
    ended = store.messages.shown_by(planted.conversation_id)[-1]
    assert (ended.text, ended.state) == ("two ids and more", "stopped")
    assert ended.record == with_error(Record(model="guide", seed=7), verbatim("It ended."))
    assert store.interrupt_streaming(verbatim("It ended.")) == 0


def test_the_columns_that_a_store_must_have_are_those_of_the_migrations(store: Store, path: Path) -> None:
    with sql(path) as database:
        for table, (keys, others) in COLUMNS.items():
            rows = database.execute("SELECT name, pk > 0 FROM pragma_table_info(?)", (table,)).fetchall()
            assert {name for name, is_key in rows if is_key} == set(keys.split())
            assert {name for name, is_key in rows if not is_key} == set(others.split())
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%STRICT%'")}
        assert tables == COLUMNS.keys()
