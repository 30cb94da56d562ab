"""The trash: what lies there, what goes with each of it, and that nothing goes which something else reaches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.model.store import Store
from app.model.trash import Thrown
from tests.app.trees import drawn, plant


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "conversations.sqlite3")
    yield store
    store.close()


def _listed(store: Store) -> list[Thrown]:
    steps = store.thrown.listed()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_conversations_and_pruned_branches_lie_there_with_what_goes_with_them(store: Store) -> None:
    first = plant(store, "u1-a1-u2-a2 | a1-u3")
    second = plant(store, "u4-a4")
    fork = store.fork_conversation("fork", first.ids["a1"])
    store.add(first.conversation_id, first.ids["u1"], "assistant", "a3")
    store.prune([first.ids["u2"]])
    store.trash(second.conversation_id)
    listed = {(one.conversation_id, one.message_id): one for one in _listed(store)}
    assert listed.keys() == {(second.conversation_id, None), (first.conversation_id, first.ids["u2"])}
    assert listed[second.conversation_id, None].num_messages == 4
    branch = listed[first.conversation_id, first.ids["u2"]]
    assert (branch.text, branch.num_messages) == ("u2", 2)
    # Of a conversation that others share a beginning with only the rest goes.
    store.trash(first.conversation_id)
    listed = {(one.conversation_id, one.message_id): one for one in _listed(store)}
    assert listed[first.conversation_id, None].num_messages == 1
    assert listed[fork.id, first.ids["u2"]].num_messages == 2


def test_one_conversation_is_deleted_for_good_and_the_others_stay_where_they_are(store: Store) -> None:
    first, second, third = (plant(store, "u1-a1") for _ in range(3))
    store.trash(first.conversation_id)
    store.trash(second.conversation_id)
    assert store.delete_for_good([first.conversation_id]) == 4
    assert [one.id for one in store.trashed_conversations()] == [second.conversation_id]
    assert [one.id for one in store.conversations()] == [third.conversation_id]
    assert store.messages(first.conversation_id) == []
    # What is not in the trash is not deleted, whoever asks.
    assert store.delete_for_good([third.conversation_id]) == 0
    assert drawn(store.messages(third.conversation_id)) == "u1-a1"


def test_a_branch_is_deleted_for_good_but_for_what_a_fork_of_it_shows(store: Store) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u2-a3 | a1-u4")
    fork = store.fork_conversation("fork", planted.ids["a2"])
    store.prune([planted.ids["u2"]])
    assert store.delete_for_good([], [planted.ids["u2"], planted.ids["u4"]]) == 1
    assert drawn(store.messages(fork.id)) == "u1-a1-u2-a2"
    assert drawn(store.messages(planted.conversation_id)) == "u1-a1-u4"


def test_two_forks_of_a_conversation_that_is_gone_are_deleted_one_after_the_other(store: Store) -> None:
    planted = plant(store, "u1-a1-u2-a2 | a1-u3-a3")
    one = store.fork_conversation("one", planted.ids["a2"])
    other = store.fork_conversation("other", planted.ids["a3"])
    store.trash(planted.conversation_id)
    assert store.empty_trash() == 0
    store.trash(one.id)
    assert store.empty_trash() == 2
    assert drawn(store.messages(other.id)) == "u1-a1-u3-a3"
    store.trash(other.id)
    assert store.empty_trash() == 6
