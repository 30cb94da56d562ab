"""The trash: its contents, what is deleted with each entry, and what other conversations keep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.model.cache_folder import CacheFolder
from app.model.database import set_up
from app.model.store import Store
from app.model.trash import TrashItem, delete_marked
from tests.app.model.stores import bytes_below, sql, trashed_ids
from tests.app.model.watched_upkeep import WatchedUpkeep
from tests.app.trees import drawn, plant


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "conversations.sqlite3")
    yield store
    store.close()


def _listed(store: Store) -> list[TrashItem]:
    steps = store.trash.listed()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_conversations_and_pruned_branches_are_listed_with_all_that_belongs_to_them(store: Store) -> None:
    first = plant(store, "u1-a1-u2-a2 | a1-u3")
    second = plant(store, "u4-a4")
    fork = store.fork_conversation("fork", first.ids["a1"])
    store.add(first.conversation_id, first.ids["u1"], "assistant", "a3")
    store.messages.prune([first.ids["u2"]])
    store.conversations.trash(second.conversation_id)
    listed = {(one.conversation_id, one.message_id): one for one in _listed(store)}
    assert listed.keys() == {(second.conversation_id, None), (first.conversation_id, first.ids["u2"])}
    assert listed[second.conversation_id, None].num_messages == 4
    branch = listed[first.conversation_id, first.ids["u2"]]
    assert (branch.text, branch.num_messages) == ("u2", 2)
    # If a conversation shares its beginning with others, only the rest is deleted.
    store.conversations.trash(first.conversation_id)
    listed = {(one.conversation_id, one.message_id): one for one in _listed(store)}
    assert listed[first.conversation_id, None].num_messages == 1
    assert listed[fork.id, first.ids["u2"]].num_messages == 2


def test_one_conversation_is_permanently_deleted_and_the_others_stay(store: Store) -> None:
    first, second, third = (plant(store, "u1-a1") for _ in range(3))
    store.conversations.trash(first.conversation_id)
    store.conversations.trash(second.conversation_id)
    assert store.delete_permanently([first.conversation_id]) == 4
    assert trashed_ids(store) == [second.conversation_id]
    assert [one.id for one in store.conversations.all()] == [third.conversation_id]
    assert store.messages.shown_by(first.conversation_id) == []
    # A conversation that is not in the trash is never deleted.
    assert store.delete_permanently([third.conversation_id]) == 0
    assert drawn(store.messages.shown_by(third.conversation_id)) == "u1-a1"


def test_a_branch_is_permanently_deleted_except_for_messages_that_a_fork_shows(store: Store) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u2-a3 | a1-u4")
    fork = store.fork_conversation("fork", planted.ids["a2"])
    store.messages.prune([planted.ids["u2"]])
    assert store.delete_permanently([], [planted.ids["u2"], planted.ids["u4"]]) == 1
    assert drawn(store.messages.shown_by(fork.id)) == "u1-a1-u2-a2"
    assert drawn(store.messages.shown_by(planted.conversation_id)) == "u1-a1-u4"


def test_two_forks_of_a_deleted_conversation_are_deleted_one_after_the_other(store: Store) -> None:
    planted = plant(store, "u1-a1-u2-a2 | a1-u3-a3")
    one = store.fork_conversation("one", planted.ids["a2"])
    other = store.fork_conversation("other", planted.ids["a3"])
    store.conversations.trash(planted.conversation_id)
    assert store.empty_trash() == 0
    store.conversations.trash(one.id)
    assert store.empty_trash() == 2
    assert drawn(store.messages.shown_by(other.id)) == "u1-a1-u3-a3"
    store.conversations.trash(other.id)
    assert store.empty_trash() == 6


# --- large trash ---------------------------------------------------------------------------------------------


def _num_stored(store: Store) -> int:
    with sql(store.path) as database:
        return database.execute("SELECT count(*) FROM message").fetchone()[0]


def _grown(store: Store, num_messages: int) -> int:
    """Return a conversation with this many messages and four more."""
    planted = plant(store, "u1-a1")
    parent = planted.ids["a1"]
    for number in range(num_messages):
        parent = store.add(planted.conversation_id, parent, "user", f"turn {number} geheim").id
    return planted.conversation_id


def test_a_large_trash_is_hidden_at_once_and_deleted_everywhere_in_the_background(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.model.trash._MAX_AT_ONCE", 10)
    monkeypatch.setattr("app.model.trash._SLICE", 7)
    kept = plant(store, "u1-a1-u2")
    trashed = _grown(store, 40)
    store.messages.prune([kept.ids["u2"]])
    store.conversations.trash(trashed)
    assert store.empty_trash() == 44 + 1
    assert store.messages.shown_by(trashed) == trashed_ids(store) == _listed(store) == []
    assert store.search.find("turn 39") == []
    assert store.empty_trash() == 0
    # Nothing that is being deleted can be restored.
    store.messages.prune([kept.ids["u2"]], is_pruned=False)
    assert drawn(store.messages.shown_by(kept.conversation_id)) == "u1-a1"
    # The program ends in the middle of it.
    answers = iter([False, False, True])
    with sql(store.path) as database:
        set_up(database)
        assert delete_marked(database, lambda: next(answers)) == 14
    assert _num_stored(store) == 4 + 1 + 44 - 14
    upkeep = WatchedUpkeep(store.path, CacheFolder(store.path.parent / "kept"))
    assert upkeep.wait_for_round(60)
    upkeep.close()
    assert _num_stored(store) == 4
    store.close()
    assert b"turn 39 geheim" not in bytes_below(store.path.parent)


def test_circular_links_are_deleted_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.model.trash._MAX_AT_ONCE", 0)
    monkeypatch.setattr("app.model.trash._SLICE", 1)
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    ids = planted.ids
    store.messages.prune([ids["a1"]])
    with sql(store.path) as database:
        database.execute("UPDATE message SET parent_id = ? WHERE id = ?", (ids["a2"], ids["a1"]))
    assert store.empty_trash() == 3
    with sql(store.path) as database:
        set_up(database)
        delete_marked(database)
    assert drawn(store.messages.shown_by(planted.conversation_id)) == "u1-a3"


def test_a_conversation_that_another_program_started_there_meanwhile_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.model.trash._MAX_AT_ONCE", 0)
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    store.messages.prune([planted.ids["a1"]])
    assert store.empty_trash() == 3
    fork = store.fork_conversation("fork", planted.ids["u2"])
    with sql(store.path) as database:
        set_up(database)
        assert delete_marked(database) == 0
    assert drawn(store.messages.shown_by(fork.id)) == "u1-a1-u2-a2"


def test_an_import_is_removed_again_except_for_the_past_that_another_fork_shares(store: Store) -> None:
    planted = plant(store, "u1-a1-u2-a2 | a1-u3-a3")
    one = store.fork_conversation("one", planted.ids["a2"])
    other = store.fork_conversation("other", planted.ids["a3"])
    store.conversations.trash(planted.conversation_id)
    assert store.empty_trash() == 0
    store.grafts.take_out([one.id])
    assert [conversation.id for conversation in store.conversations.all()] == [other.id]
    assert drawn(store.messages.shown_by(other.id)) == "u1-a1-u3-a3"
