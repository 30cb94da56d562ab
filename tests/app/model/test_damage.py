"""Files damaged by a broken disk: readable parts are read, and only errors with a sentence are raised."""

from __future__ import annotations

import contextlib
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.backups import Backups
from app.model.store import Store
from app.model.tree import Tree
from tests.app.model.stores import as_the_program_starts, sql, use, write_large_store
from tests.app.trees import drawn, labels, plant

_PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with some hundred messages."""
    return write_large_store(tmp_path_factory.mktemp("sound") / "store.sqlite3", seed=1)


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
def test_after_any_damage_the_program_starts_and_raises_only_sentences(
    tmp_path_factory: pytest.TempPathFactory, sound: Path, damages: list[_Damage]
) -> None:
    broken = bytearray(sound.read_bytes())
    for damage in damages:
        _harm(broken, damage)
    path = tmp_path_factory.mktemp("broken") / "store.sqlite3"
    path.write_bytes(broken)
    with contextlib.closing(as_the_program_starts(path)) as store:
        use(store)
        if store.why_read_only:
            assert path.read_bytes() == bytes(broken)


def test_a_damaged_log_is_not_copied_into_the_file(tmp_path: Path, sound: Path) -> None:
    other, path = tmp_path / "other.sqlite3", tmp_path / "store.sqlite3"
    shutil.copyfile(sound, other)
    with sql(other) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = 'damaged' WHERE name = 'message'")
        for end in ("", "-wal"):
            shutil.copyfile(f"{other}{end}", f"{path}{end}")
    before = path.read_bytes()
    assert before == sound.read_bytes()
    with contextlib.closing(as_the_program_starts(path)) as store:
        assert store.why_read_only
        use(store)
    assert path.read_bytes() == before


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
