"""Stores written by older versions, damaged stores, and the text left in their files."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable, Generator
from pathlib import Path

from app.model.database import StoreError
from app.model.message import Message, Record
from app.model.migrations import MIGRATIONS, migrate
from app.model.open_conversation import OpenConversation
from app.model.store import Store
from app.model.tree import Tree
from tests.app.trees import plant
from worker.sentence import verbatim

# With rank 1 the index is also compared with the messages.
INTEGRITY_CHECK = "INSERT INTO message_text (message_text, rank) VALUES ('integrity-check', 1)"
OLD_RECORD = b'{"model":"guide","token_ids":[4,5],"sampling":{"temperature":0.5},"seed":7,"reason":"eos"}'


@contextlib.contextmanager
def sql(path: Path) -> Generator[sqlite3.Connection]:
    """Open a separate connection to a store."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        yield connection
    finally:
        connection.close()


def write_index_again(store: Store) -> None:
    """Write the whole search index again."""
    store.search.begin_again()
    while not store.search.renew_slice():
        pass


def write_first_version(path: Path) -> None:
    """Write a store of the first version: a question, its answer, and one that was streaming."""
    with sql(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
        migrate(database, MIGRATIONS[:1])
        database.executemany(
            "INSERT INTO message (parent_id, role, text, state, created_ms, record) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (None, "root", "", "complete", 1, None),
                (1, "system", "", "complete", 1, None),
                (2, "user", "Was ist ein Ast?", "complete", 2, None),
                (3, "assistant", "枝は木の一部です。", "complete", 3, OLD_RECORD),
                (3, "assistant", "Ein Teil", "streaming", 4, None),
            ],
        )
        database.execute("INSERT INTO conversation VALUES (1, 'old', 1, 1, 4, NULL)")
        database.execute("INSERT INTO choice VALUES (1, 3, 4)")


def bytes_below(folder: Path) -> bytes:
    """Return all bytes of the files in a folder."""
    return b"\n".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def shown(store: Store, conversation_id: int) -> list[Message]:
    tree = Tree(store.messages.shown_by(conversation_id), store.conversations.get(conversation_id).root_id)
    return tree.path(store.conversations.choices(conversation_id))


def trashed_ids(store: Store) -> list[int]:
    """Return the conversations in the trash."""
    return store.trash.conversations_before(2**63 - 1)


def connection_of(store: Store) -> sqlite3.Connection:
    """Return the store's own connection."""
    return store._database._connection  # pyright: ignore[reportPrivateUsage]


def write_large_store(path: Path, *, seed: int) -> Path:
    """Write a store with some hundred messages."""
    draw = random.Random(seed)
    with contextlib.closing(Store(path)) as store:
        for number in range(12):
            planted = plant(store, "u1-a1-u2-a2 | a1-u3")
            parent = planted.ids["a2"]
            for _ in range(15):
                text = "word " * draw.choice([1, 30, 3000])
                record = Record(model="guide", token_ids=tuple(range(draw.randrange(200))))
                parent = store.add(planted.conversation_id, parent, "assistant", text, record=record).id
            if number % 3 == 0:
                store.conversations.trash(planted.conversation_id)
    return path


def as_the_program_starts(path: Path) -> Store:
    """Open a store, read-only if it can't be written."""
    try:
        return Store(path, patience_ms=0)
    except StoreError as error:
        return Store(path, read_only_because=error.sentence)


def use(store: Store) -> None:
    """Do everything that a user could do."""

    def each_conversation() -> None:
        for conversation in store.conversations.all():
            with contextlib.suppress(StoreError):
                opened = OpenConversation(store, conversation)
                # A conversation whose root is lost shows nothing.
                if opened.path:
                    opened.add(opened.leaf.id, "user", "more")

    uses: list[Callable[[], object]] = [
        each_conversation,
        lambda: trashed_ids(store),
        lambda: store.search.find("word"),
        lambda: store.search.find("->"),
        lambda: store.clean_up(verbatim("It ended.")),
        lambda: store.create_conversation("name", "", "u1"),
        store.empty_trash,
        store.search.begin_again,
    ]
    for use in uses:
        with contextlib.suppress(StoreError):
            use()
