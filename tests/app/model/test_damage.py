"""Files damaged by a broken disk: readable parts are read, and only errors with a sentence are raised."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.backups import Backups
from app.model.database import StoreError
from app.model.message import Record
from app.model.open_conversation import OpenConversation
from app.model.store import Store
from app.model.tree import Tree
from tests.app.model.stores import sql, trashed_ids
from tests.app.trees import drawn, labels, plant
from worker.sentence import verbatim

_PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with some hundred messages."""
    path = tmp_path_factory.mktemp("sound") / "store.sqlite3"
    draw = random.Random(1)
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


def _as_the_program_starts(path: Path) -> Store:
    try:
        return Store(path, patience_ms=0)
    except StoreError as error:
        return Store(path, read_only_because=error.sentence)


def _use(store: Store) -> None:
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
        store.search.rebuild,
    ]
    for use in uses:
        with contextlib.suppress(StoreError):
            use()


_Damage = tuple[str, int, int]
_damages = st.lists(
    st.tuples(st.sampled_from(["bits", "zeros", "noise", "page", "end"]), st.integers(0, 2**20), st.integers(0, 2**20)),
    min_size=1,
    max_size=6,
)


def _harm(data: bytearray, damage: _Damage) -> None:
    kind, place, other = damage
    place %= len(data)
    rest = len(data) - place
    if kind == "bits":
        data[place] ^= 1 << other % 8
    elif kind == "zeros":
        data[place : place + 512] = bytes(min(512, rest))
    elif kind == "noise":
        data[place : place + 64] = random.Random(other).randbytes(min(64, rest))
    elif kind == "page":
        page, there = place // _PAGE * _PAGE, other % len(data) // _PAGE * _PAGE
        data[page : page + _PAGE] = data[there : there + _PAGE]
    else:
        del data[max(place, 1) :]


@settings(max_examples=100)
@given(damages=_damages)
def test_the_program_starts_and_raises_only_sentences_whatever_is_damaged(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, damages: list[_Damage]
) -> None:
    broken = bytearray(sound.read_bytes())
    for damage in damages:
        _harm(broken, damage)
    path = tmp_path_factory.mktemp("broken") / "store.sqlite3"
    path.write_bytes(broken)
    with contextlib.closing(_as_the_program_starts(path)) as store:
        _use(store)
        if store.why_read_only:
            assert path.read_bytes() == bytes(broken)


def test_a_message_on_a_damaged_page_is_set_aside_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with contextlib.closing(Store(path)) as store:
        planted = plant(store, "u1-a1-u2-a2 | a1-u3")
        long = store.add(planted.conversation_id, planted.ids["u3"], "assistant", "long " * 10_000)
        below = store.add(planted.conversation_id, long.id, "user", "u4")
        other = plant(store, "u5-a5")
    with sql(path) as database:
        # The first of the pages that continue the long text.
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = database.execute(
            "SELECT pageno FROM dbstat WHERE name = 'message' AND pagetype = 'overflow' ORDER BY path LIMIT 1"
        ).fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * _PAGE)
        file.write(b"\xff" * 4)
    before = path.read_bytes()
    with contextlib.closing(Store(path)) as store:
        messages = store.messages.shown_by(planted.conversation_id)
        by_id = {message.id: message for message in messages}
        assert (by_id[long.id].text, by_id[long.id].state) == ("", "failed")
        assert by_id[long.id].parent_id == planted.ids["u3"]
        (trouble,) = store.messages.take_problems()
        assert trouble == (
            f"Message {long.id} can't be read because this part of the file is damaged. The other messages are intact."
        )
        tree = Tree(messages, store.conversations.get(planted.conversation_id).root_id)
        assert labels(tree.path(store.conversations.choices(planted.conversation_id))) == "u1-a1-u3-u4"
        assert below.id in tree
        assert drawn(store.messages.shown_by(other.conversation_id)) == "u5-a5"
        assert store.messages.take_problems() == []
    assert path.read_bytes() == before
    assert Backups(path).files() == []


@pytest.mark.parametrize(("column", "value"), [("role", "oracle"), ("state", "asleep")])
def test_a_message_of_an_unknown_kind_is_reported_and_its_text_is_shown(
    tmp_path: Path, column: str, value: str
) -> None:
    path = tmp_path / "store.sqlite3"
    with contextlib.closing(Store(path)) as store:
        planted = plant(store, "u1-a1")
        with sql(path) as database:
            database.execute(f"UPDATE message SET {column} = ? WHERE id = ?", (value, planted.ids["a1"]))
        assert drawn(store.messages.shown_by(planted.conversation_id)) == "u1-a1"
        (trouble,) = store.messages.take_problems()
        assert trouble.startswith(f"Message {planted.ids['a1']} has an unknown type (")
        assert value in trouble
