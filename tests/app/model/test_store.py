"""The store: random walks against dictionaries, the search index, and everything that can be wrong with a file."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import msgspec
import pytest

from app.model.database import StoreError, set_up
from app.model.erasing import delete_marked
from app.model.message import Message, Record
from app.model.migrations import MIGRATIONS
from app.model.store import TRASH_KEPT_MS, Store
from app.model.tree import Tree
from tests.app.forest import Forest
from tests.app.trees import drawn, labels, plant

# With rank 1 the index is compared with the messages, too.
_INTEGRITY_CHECK = "INSERT INTO message_text (message_text, rank) VALUES ('integrity-check', 1)"
_WORDS = ("leaf", "twig", "Ast", "börse", "木", "שלום", "\0", "😀", "a\0b", "rot ten", "")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store(path, patience_ms=50)
    yield store
    store.close()


def _shown(store: Store, conversation_id: int) -> list[Message]:
    tree = Tree(store.messages(conversation_id), store.conversation(conversation_id).root_id)
    return tree.path(store.choices(conversation_id))


def _connection(store: Store) -> sqlite3.Connection:
    """The store's own."""
    return store._database._connection  # pyright: ignore[reportPrivateUsage]


@contextlib.contextmanager
def _sql(path: Path) -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        yield connection
    finally:
        connection.close()


# --- walks -----------------------------------------------------------------------------------------------------


class _Walk:
    """Does the same to a store and to the dictionaries."""

    def __init__(self, path: Path, seed: int) -> None:
        self.draw = random.Random(seed)
        self.path = path
        self.store = Store(path)
        self.forest = Forest()

    def step(self) -> None:
        operations = [self.add] * 8 + [self.choose] * 3 + [self.grow] * 4 + [self.fork, self.create, self.trash]
        operations += [self.restore, self.empty, self.widen, self.rename, self.reopen, self.rewrite, self.interrupt]
        operations += [self.prune, self.unprune, self.replace]
        if not self.forest.kept_talks:
            self.create()
        else:
            self.draw.choice(operations)()

    def text(self) -> str:
        return " ".join(self.draw.choices(_WORDS, k=self.draw.randint(0, 4)))

    def talk(self) -> int:
        return self.draw.choice(self.forest.kept_talks)

    def create(self) -> None:
        name, system_prompt, question = self.text(), self.text(), self.text()
        conversation, first = self.store.create_conversation(name, system_prompt, question)
        assert conversation.id == self.forest.create(name, system_prompt, question)
        assert first.id == max(self.forest.nodes)

    def fork(self) -> None:
        node = self.draw.choice(sorted(self.forest.reached(self.talk())))
        assert self.store.fork_conversation("fork", node).id == self.forest.fork("fork", node)

    def add(self) -> None:
        talk = self.talk()
        root = self.forest.talks[talk].root
        # What another program threw away meanwhile, too.
        parent = self.draw.choice(sorted(self.forest.below(root)))
        role, text, is_growing = self.draw.choice(["user", "assistant"]), self.text(), self.draw.random() < 0.3
        others = {other: self.forest.path(other) for other in self.forest.talks if other != talk}
        pruned = self.forest.pruned
        message = self.store.add(
            talk,
            parent,
            "user" if role == "user" else "assistant",
            text,
            state="streaming" if is_growing else "complete",
        )
        assert message.id == self.forest.add(talk, parent, role, text, is_growing=is_growing)
        if self.forest.pruned == pruned:
            assert {other: self.forest.path(other) for other in others} == others

    def widen(self) -> None:
        talk = self.talk()
        line = self.forest.line(self.forest.talks[talk].root)
        if len(line) > 1:
            parent = self.draw.choice(line[:-1])
            way = line[line.index(parent) :]
            self.store.widen(talk, parent, dict(itertools.pairwise(way)))
            self.forest.widen(talk, parent)

    def choose(self) -> None:
        talk = self.talk()
        below = self.forest.below(self.forest.talks[talk].root) - {self.forest.talks[talk].root}
        if below:
            node = self.draw.choice(sorted(below))
            parent = self.forest.nodes[node].parent
            assert parent is not None
            self.store.choose(talk, {parent: node})
            self.forest.choose(talk, node)

    def grow(self) -> None:
        growing = [number for number, node in self.forest.nodes.items() if node.is_growing]
        texts = {number: self.text() for number in growing if self.draw.random() < 0.7}
        self.store.append_texts(texts)
        for number, text in texts.items():
            self.forest.nodes[number].text += text

    def rewrite(self) -> None:
        """An answer ends, or goes on."""
        number = self.draw.choice(sorted(self.forest.nodes))
        node = self.forest.nodes[number]
        node.text, node.is_growing = node.text + self.text(), not node.is_growing
        message = Message(id=number, parent_id=node.parent, role="user", text=node.text, record=Record(seed=number))
        self.store.update(msgspec.structs.replace(message, state="streaming" if node.is_growing else "complete"))

    def replace(self) -> None:
        number = self.draw.choice(sorted(self.forest.nodes))
        text = self.text()
        assert self.store.set_text(number, text).text == text
        self.forest.nodes[number].text = text

    def prune(self) -> None:
        nodes = self.draw.sample(sorted(self.forest.nodes), k=min(2, len(self.forest.nodes)))
        self.store.prune(nodes)
        for node in nodes:
            self.forest.nodes[node].is_pruned = True

    def unprune(self) -> None:
        nodes = [number for number in self.forest.nodes if self.draw.random() < 0.5]
        self.store.prune(nodes, is_pruned=False)
        for node in nodes:
            self.forest.nodes[node].is_pruned = False

    def trash(self) -> None:
        talk = self.talk()
        self.store.trash(talk)
        self.forest.talks[talk].is_trashed = True

    def restore(self) -> None:
        talk = self.draw.choice(sorted(self.forest.talks))
        self.store.restore(talk)
        self.forest.talks[talk].is_trashed = False

    def empty(self) -> None:
        assert self.store.empty_trash() == self.forest.empty_trash()

    def rename(self) -> None:
        talk, name = self.talk(), self.text()
        self.store.rename(talk, name)
        self.forest.talks[talk].name = name

    def interrupt(self) -> None:
        growing = [node for node in self.forest.nodes.values() if node.is_growing]
        self.erase()
        assert self.store.interrupt_streaming("It ended.") == len(growing)
        for node in growing:
            node.is_growing = False

    def reopen(self) -> None:
        self.store.close()
        self.store = Store(self.path)

    def compare(self) -> None:
        store, forest = self.store, self.forest
        found = {conversation.id: conversation for conversation in store.conversations()}
        assert sorted(found) == sorted(forest.kept_talks)
        for talk in forest.kept_talks:
            assert found[talk].name == forest.talks[talk].name
            assert found[talk].root_id == forest.talks[talk].root
            messages = {message.id: message for message in store.messages(talk)}
            assert list(messages) == sorted(forest.reached(talk))
            for number, message in messages.items():
                node = forest.nodes[number]
                assert (message.parent_id, message.text) == (node.parent, node.text)
                assert (message.state == "streaming") == node.is_growing
            assert [message.id for message in _shown(store, talk)] == forest.path(talk)

    def erase(self) -> None:
        with _sql(self.path) as database:
            set_up(database)
            delete_marked(database)

    def compare_search(self) -> None:
        self.erase()
        with _sql(self.path) as database:
            database.execute(_INTEGRITY_CHECK)
            (num_stored,) = database.execute("SELECT count(*) FROM message").fetchone()
            assert num_stored == len(self.forest.nodes)
            for word in ("leaf", "twig", "ast", "börse", "木", "שלום", "rot", "ten", "a", "b"):
                query = "SELECT rowid FROM message_text WHERE message_text MATCH ? ORDER BY rowid"
                found = [row[0] for row in database.execute(query, (f'"{word}"',))]
                assert found == [
                    number
                    for number, node in sorted(self.forest.nodes.items())
                    if not node.is_growing and word in re.findall(r"木|[^\W木]+", node.text.lower())
                ]


@pytest.mark.parametrize("seed", range(6))
def test_a_random_walk_leaves_the_store_as_plain_dictionaries_say(
    path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of the others all that is thrown away is deleted behind.
    monkeypatch.setattr("app.model.trash._MOST_AT_ONCE", 1000 if seed % 2 else 0)
    walk = _Walk(path, seed)
    for number in range(400):
        walk.step()
        walk.compare()
        if number % 25 == 0:
            walk.compare_search()
    walk.compare_search()
    walk.store.close()


# --- what conversations share ----------------------------------------------------------------------------------


def test_a_fork_copies_nothing_and_a_message_goes_with_the_last_conversation_that_reaches_it(
    store: Store, path: Path
) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    fork = store.fork_conversation("fork", planted.ids["a1"])
    assert [message.id for message in _shown(store, fork.id)][-1] == planted.ids["a1"]
    with _sql(path) as database:
        assert database.execute("SELECT count(*) FROM message").fetchone() == (2 + 5,)

    store.trash(planted.conversation_id)
    assert store.empty_trash() == 1
    assert drawn(store.messages(fork.id)) == "u1-a1-u2-a2"
    store.trash(fork.id)
    assert store.empty_trash() == 6
    with _sql(path) as database:
        assert database.execute("SELECT count(*) FROM message").fetchone() == (0,)


def test_asking_on_in_a_fork_leaves_the_branch_that_it_came_from_as_it_was(store: Store) -> None:
    planted = plant(store, "u1-a1")
    fork = store.fork_conversation("fork", planted.ids["a1"])
    store.add(fork.id, planted.ids["a1"], "user", "u2")
    assert labels(_shown(store, planted.conversation_id)) == "u1-a1"
    assert labels(_shown(store, fork.id)) == "u1-a1-u2"
    store.add(planted.conversation_id, planted.ids["a1"], "user", "u3")
    assert labels(_shown(store, planted.conversation_id)) == "u1-a1-u3"
    assert labels(_shown(store, fork.id)) == "u1-a1-u2"


def test_a_conversation_that_is_written_in_is_no_trash(store: Store) -> None:
    planted = plant(store, "u1-a1")
    store.trash(planted.conversation_id)
    store.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
    assert store.empty_trash() == 0
    assert store.conversation(planted.conversation_id).name == "planted"


def test_the_last_used_conversation_is_the_first(store: Store, path: Path) -> None:
    older, newer = plant(store, "u1-a1"), plant(store, "u2-a2")
    with _sql(path) as database:
        database.execute("UPDATE conversation SET updated_ms = id")
    assert [conversation.id for conversation in store.conversations()] == [newer.conversation_id, older.conversation_id]
    store.add(older.conversation_id, older.ids["a1"], "user", "u3")
    assert [conversation.id for conversation in store.conversations()] == [older.conversation_id, newer.conversation_id]


def test_pinned_conversations_come_before_those_used_last(store: Store) -> None:
    older, newer = plant(store, "u1-a1"), plant(store, "u2-a2")
    store.pin(older.conversation_id)
    assert [conversation.id for conversation in store.conversations()] == [older.conversation_id, newer.conversation_id]
    assert store.conversation(older.conversation_id).pinned_ms is not None
    store.pin(older.conversation_id, is_pinned=False)
    assert store.conversation(older.conversation_id).pinned_ms is None
    store.trash(newer.conversation_id)
    assert [conversation.id for conversation in store.trashed_conversations()] == [newer.conversation_id]


def test_a_long_answer_is_not_written_again_with_each_word(store: Store, path: Path) -> None:
    planted = plant(store, "u1")
    answer = store.add(planted.conversation_id, planted.ids["u1"], "assistant", "long " * 100_000, state="streaming")
    with _sql(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for _ in range(10):
        store.append_texts({answer.id: "word "})
    # Each write is a page or two of the log.
    assert path.with_name("store.sqlite3-wal").stat().st_size < 10 * 5 * 4096
    (whole,) = [message for message in store.messages(planted.conversation_id) if message.id == answer.id]
    assert whole.text == "long " * 100_000 + "word " * 10
    store.update(whole)
    with _sql(path) as database:
        assert database.execute("SELECT count(*) FROM piece").fetchone() == (0,)


def test_what_a_person_wrote_has_reached_the_disk_when_it_is_stored(store: Store) -> None:
    said: list[str] = []
    _connection(store).set_trace_callback(said.append)
    conversation, question = store.create_conversation("name", "", "u1")
    assert said[0] == "PRAGMA synchronous = FULL"
    assert said[-2:] == ["COMMIT", "PRAGMA synchronous = NORMAL"]
    said.clear()
    store.add(conversation.id, question.id, "assistant", "a1")
    assert said[0] == "PRAGMA synchronous = FULL"
    assert said[-2:] == ["COMMIT", "PRAGMA synchronous = NORMAL"]


# --- broken trees and records ----------------------------------------------------------------------------------


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
def test_every_walk_is_total_over_orphans_and_cycles(store: Store, path: Path, damage: str) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u2-a3")
    fork = store.fork_conversation("fork", planted.ids["u2"])
    with _sql(path) as database:
        database.execute(damage.format(**planted.ids))
    for conversation_id in (planted.conversation_id, fork.id):
        messages = store.messages(conversation_id)
        tree = Tree(messages, store.conversation(conversation_id).root_id)
        shown = tree.path(store.choices(conversation_id))
        assert len({message.id for message in shown}) == len(shown)
        for message in messages:
            assert message.id in tree.siblings(message.id)
            assert tree.lineage(message.id)[-1] == message
        store.trash(conversation_id)
    store.interrupt_streaming("It ended.")
    store.empty_trash()
    assert store.conversations() == []


@pytest.mark.parametrize(
    "record", [b"", b"\xff\xfe", b"{", b"[]", b'{"seed": "x"}', b'{"sampling": {"top_p": 7}}', b'{"a":' * 5000]
)
def test_a_damaged_record_takes_nothing_else_with_it(store: Store, path: Path, record: bytes) -> None:
    planted = plant(store, "u1-a1")
    with _sql(path) as database:
        database.execute("UPDATE message SET record = ? WHERE id = ?", (record, planted.ids["a1"]))
    answer = store.messages(planted.conversation_id)[-1]
    assert (answer.text, answer.record) == ("a1", None)


def test_bytes_that_are_no_text_are_read_as_far_as_they_are(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1")
    with _sql(path) as database:
        database.execute("UPDATE message SET text = CAST(x'61ff62' AS TEXT) WHERE id = ?", (planted.ids["a1"],))
    assert store.messages(planted.conversation_id)[-1].text == "a\ufffdb"


# --- files that can't be used ----------------------------------------------------------------------------------


def _refusal(path: Path) -> str:
    with pytest.raises(StoreError) as refused:
        Store(path, patience_ms=50)
    return str(refused.value)


def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(store: Store, path: Path) -> None:
    plant(store, "u1-a1")
    store.close()
    with _sql(path) as database:
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        database.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    assert _refusal(path) == (
        f"The conversations in {path} were written by a newer Bough. Nothing was changed; open them with that version."
    )
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    with _sql(path) as database:
        database.execute("CREATE TABLE message (id INTEGER)")
    before = path.read_bytes()
    assert "belongs to another program" in _refusal(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["no database", "zeros", "cut short", "a broken page"])
def test_a_damaged_file_is_refused_and_left_as_it_is(store: Store, path: Path, kind: str) -> None:
    plant(store, "u1-a1")
    store.close()
    data = path.read_bytes()
    damaged = {
        "no database": b"once upon a time " * 500,
        "zeros": bytes(len(data)),
        "cut short": data[: len(data) // 2],
        "a broken page": data[:100] + b"\xa5" * 4000 + data[4100:],
    }[kind]
    path.write_bytes(damaged)
    said = _refusal(path)
    assert said.startswith(f"The conversations in {path} are damaged (")
    assert said.endswith("Put a backup in the file's place, or move it away to begin with an empty one.")
    assert path.read_bytes() == damaged


def test_an_empty_file_is_a_new_store(path: Path) -> None:
    path.touch()
    store = Store(path)
    assert store.conversations() == []
    store.close()


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder that may be read and not written, by whoever this is in the test."""
    folder = Path(tempfile.mkdtemp())
    with contextlib.closing(Store(folder / "store.sqlite3")) as store:
        plant(store, "u1-a1")
    folder.chmod(0o555)
    (folder / "store.sqlite3").chmod(0o444)
    (folder / "store.lock").chmod(0o444)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_folder_is_refused_and_left_as_it_is(read_only_folder: Path) -> None:
    path = read_only_folder / "store.sqlite3"
    before = path.read_bytes()
    for refused in (path, read_only_folder / "new.sqlite3", read_only_folder / "new" / "store.sqlite3"):
        said = _refusal(refused)
        assert str(read_only_folder) in said
        assert "Nothing was changed. See that you may write to" in said
    assert path.read_bytes() == before


def test_a_file_where_the_folder_should_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    assert "can't be opened or written" in _refusal(tmp_path / "data" / "store.sqlite3")


def test_a_store_that_another_program_is_writing_to_says_so_and_works_afterwards(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1")
    with _sql(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"Another program is writing to .* Close it, or try again in a moment"):
            store.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
        assert labels(_shown(store, planted.conversation_id)) == "u1-a1"
        other.execute("ROLLBACK")
    store.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
    assert labels(_shown(store, planted.conversation_id)) == "u1-a1-u2"


def test_a_database_that_is_locked_while_it_is_opened_says_so(path: Path) -> None:
    with _sql(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "Another program is writing to" in _refusal(path)
        other.execute("ROLLBACK")


def test_a_full_disk_is_told_and_leaves_no_half_change(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1")
    connection = _connection(store)
    (num_pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {num_pages}")
    with pytest.raises(StoreError, match=r"The disk is full, so .* Free some space, then try again"):
        store.add(planted.conversation_id, planted.ids["a1"], "user", "long " * 10_000)
    assert labels(_shown(store, planted.conversation_id)) == "u1-a1"
    with pytest.raises(StoreError, match="The disk is full"):
        store.append_texts({planted.ids["a1"]: "long " * 10_000, planted.ids["u1"]: " and short"})
    assert labels(_shown(store, planted.conversation_id)) == "u1-a1"
    connection.execute(f"PRAGMA max_page_count = {num_pages + 1000}")
    store.add(planted.conversation_id, planted.ids["a1"], "user", "long " * 10_000)
    with _sql(path) as database:
        database.execute(_INTEGRITY_CHECK)


def test_a_broken_migration_leaves_the_store_as_it_was(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(store, "u1-a1")
    store.close()
    steps = (*MIGRATIONS, "CREATE TABLE half (id);\nCREATE TABLE message (id);\n")
    monkeypatch.setattr("app.model.migrations.MIGRATIONS", steps)
    monkeypatch.setattr("app.model.database.MIGRATIONS", steps)
    assert "can't be used" in _refusal(path)
    monkeypatch.undo()
    with contextlib.closing(Store(path)) as again, _sql(path) as database:
        assert len(again.conversations()) == 1
        assert database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)


def test_a_store_of_an_older_version_is_brought_up_to_date_with_everything_in_it(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = plant(store, "u1-a1")
    store.close()
    steps = (*MIGRATIONS, "ALTER TABLE message ADD COLUMN colour TEXT;\n")
    monkeypatch.setattr("app.model.migrations.MIGRATIONS", steps)
    monkeypatch.setattr("app.model.database.MIGRATIONS", steps)
    with contextlib.closing(Store(path)) as newer, _sql(path) as database:
        assert drawn(newer.messages(planted.conversation_id)) == "u1-a1"
        assert database.execute("PRAGMA user_version").fetchone() == (len(steps),)
        assert database.execute("SELECT colour FROM message").fetchone() == (None,)


def test_programs_that_make_the_same_store_at_once_all_open_it(path: Path) -> None:
    num = 6
    together = threading.Barrier(num)
    opened: list[list[object]] = []

    def open_it() -> None:
        together.wait()
        with contextlib.closing(Store(path, patience_ms=20_000)) as store:
            opened.append([*store.conversations()])

    threads = [threading.Thread(target=open_it) for _ in range(num)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opened == [[]] * num


# --- what is pruned --------------------------------------------------------------------------------------------


def test_a_pruned_branch_is_out_of_sight_and_search_and_comes_back_as_it_was(store: Store) -> None:
    planted = plant(store, "u1-a1-u2 | u1-a2-u3")
    talk = planted.conversation_id
    before = (store.messages(talk), store.choices(talk), labels(_shown(store, talk)))
    store.prune([planted.ids["a2"]])
    assert drawn(store.messages(talk)) == "u1-a1-u2"
    assert labels(_shown(store, talk)) == "u1-a1-u2"
    assert store.search("u3") == store.search("a2") == []
    assert [hit.message.text for hit in store.search("u2")] == ["u2"]
    store.prune([planted.ids["a2"]], is_pruned=False)
    assert (store.messages(talk), store.choices(talk), labels(_shown(store, talk))) == before
    assert [hit.message.text for hit in store.search("u3")] == ["u3"]


def test_what_was_pruned_goes_for_good_with_the_trash_but_for_what_another_conversation_shows(
    store: Store, path: Path
) -> None:
    planted = plant(store, "u1-a1-u2-a2-u3 | u1-a3")
    fork = store.fork_conversation("fork", planted.ids["u2"])
    store.prune([planted.ids["a1"]])
    assert drawn(store.messages(planted.conversation_id)) == "u1-a3"
    assert drawn(store.messages(fork.id)) == "u1-a1-u2-a2-u3"
    assert [hit.conversation.id for hit in store.search("u3")] == [fork.id]
    # What the fork grows by is its own; the branch stays pruned where it was.
    store.add(fork.id, planted.ids["a2"], "user", "u4")
    assert drawn(store.messages(planted.conversation_id)) == "u1-a3"
    store.prune([planted.ids["a2"]])
    assert store.empty_trash() == 3
    assert drawn(store.messages(fork.id)) == "u1-a1-u2"
    assert store.search("u3") == []
    with _sql(path) as database:
        assert database.execute("SELECT count(*) FROM message").fetchone() == (2 + 4,)


def test_what_was_pruned_long_ago_goes_when_the_program_starts(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    store.prune([planted.ids["u2"]])
    with _sql(path) as database:
        database.execute("UPDATE message SET pruned_ms = pruned_ms - ?", (TRASH_KEPT_MS + 1000,))
    # What is above it was pruned just now.
    store.prune([planted.ids["a1"]])
    assert store.clean_up("It ended.")
    store.prune([planted.ids["a1"]], is_pruned=False)
    assert drawn(store.messages(planted.conversation_id)) == "u1-a1 | u1-a3"


def test_writing_below_what_another_program_pruned_brings_it_back(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1-u2")
    other = Store(path)
    other.prune([planted.ids["a1"]])
    other.close()
    store.add(planted.conversation_id, planted.ids["u2"], "assistant", "a2")
    assert drawn(store.messages(planted.conversation_id)) == "u1-a1-u2-a2"


def test_another_text_in_an_answers_place_has_none_of_its_tokens(store: Store) -> None:
    planted = plant(store, "u1")
    record = Record(model="guide", token_ids=(1, 2), token_chars=(1, 2), origins="ss", logprobs=(-1.0, None), seed=7)
    answer = store.add(planted.conversation_id, planted.ids["u1"], "assistant", "old", record=record)
    changed = store.set_text(answer.id, "new and searchable")
    assert changed.record == Record(model="guide", seed=7)
    assert store.messages(planted.conversation_id)[-1] == changed
    assert [hit.message.id for hit in store.search("searchable")] == [answer.id]
    assert store.search("old") == []
    with pytest.raises(KeyError):
        store.set_text(99, "nobody's")


def test_folders_hold_conversations_and_those_put_away_come_last(store: Store) -> None:
    first, second, third = (plant(store, "u1-a1").conversation_id for _ in range(3))
    store.put_into_folder(first, "Work/Trips")
    store.put_into_folder(second, "Home")
    store.archive(third)
    assert store.folders() == ["Home", "Work/Trips"]
    assert [(talk.id, talk.folder, talk.archived_ms is not None) for talk in store.conversations()] == [
        (second, "Home", False),
        (first, "Work/Trips", False),
        (third, "", True),
    ]
    store.put_into_folder(second, "")
    store.trash(first)
    store.archive(third, is_archived=False)
    assert store.folders() == []
    assert store.conversation(third).archived_ms is None


# --- several programs ------------------------------------------------------------------------------------------


def test_only_a_program_that_is_alone_ends_streams_and_empties_the_trash(store: Store, path: Path) -> None:
    planted = plant(store, "u1")
    thrown = plant(store, "u2-a2")
    store.add(planted.conversation_id, planted.ids["u1"], "assistant", "a1", state="streaming")
    store.trash(thrown.conversation_id)

    second = Store(path)
    assert not second.clean_up("It ended.")
    assert second.messages(planted.conversation_id)[-1].state == "streaming"
    store.close()
    third = Store(path)
    assert not third.clean_up("It ended.")
    third.close()
    with _sql(path) as database:
        database.execute("UPDATE conversation SET trashed_ms = trashed_ms - ?", (TRASH_KEPT_MS + 1000,))
    assert second.clean_up("It ended.")
    ended = second.messages(planted.conversation_id)[-1]
    assert ended.state == "stopped"
    assert ended.record == Record(error="It ended.")
    assert second.messages(thrown.conversation_id) == []
    second.close()


def test_an_interrupted_answer_keeps_its_text_and_forgets_ids_that_may_not_be_all_of_it(store: Store) -> None:
    planted = plant(store, "u1")
    record = Record(model="guide", token_ids=(1, 2), seed=7)
    answer = store.add(
        planted.conversation_id, planted.ids["u1"], "assistant", "two ids", state="streaming", record=record
    )
    store.append_texts({answer.id: " and more"})
    assert store.interrupt_streaming("It ended.") == 1
    ended = store.messages(planted.conversation_id)[-1]
    assert (ended.text, ended.state) == ("two ids and more", "stopped")
    assert ended.record == Record(model="guide", seed=7, error="It ended.")
    assert store.interrupt_streaming("It ended.") == 0
