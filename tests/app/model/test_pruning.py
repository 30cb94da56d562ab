"""Pruned branches and folders: they are hidden, and come back whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.model.message import Record
from app.model.store import TRASH_KEPT_MS, Store
from tests.app.model.stores import shown, sql
from tests.app.trees import drawn, labels, plant
from worker.sentence import verbatim


def test_a_pruned_branch_is_hidden_also_from_search_and_comes_back_unchanged(store: Store) -> None:
    planted = plant(store, "u1-a1-u2 | u1-a2-u3")
    talk = planted.conversation_id
    before = (store.messages.shown_by(talk), store.conversations.choices(talk), labels(shown(store, talk)))
    store.messages.prune([planted.ids["a2"]])
    assert drawn(store.messages.shown_by(talk)) == "u1-a1-u2"
    assert labels(shown(store, talk)) == "u1-a1-u2"
    assert store.search.find("u3") == store.search.find("a2") == []
    assert [hit.message.text for hit in store.search.find("u2")] == ["u2"]
    store.messages.prune([planted.ids["a2"]], is_pruned=False)
    assert (store.messages.shown_by(talk), store.conversations.choices(talk), labels(shown(store, talk))) == before
    assert [hit.message.text for hit in store.search.find("u3")] == ["u3"]


def test_pruned_messages_are_deleted_with_the_trash_unless_another_conversation_shows_them(
    store: Store, path: Path
) -> None:
    planted = plant(store, "u1-a1-u2-a2-u3 | u1-a3")
    fork = store.fork_conversation("fork", planted.ids["u2"])
    store.messages.prune([planted.ids["a1"]])
    assert drawn(store.messages.shown_by(planted.conversation_id)) == "u1-a3"
    assert drawn(store.messages.shown_by(fork.id)) == "u1-a1-u2-a2-u3"
    assert [hit.conversation.id for hit in store.search.find("u3")] == [fork.id]
    # Messages added in the fork are its own; the branch stays pruned in its conversation.
    store.add(fork.id, planted.ids["a2"], "user", "u4")
    assert drawn(store.messages.shown_by(planted.conversation_id)) == "u1-a3"
    store.messages.prune([planted.ids["a2"]])
    assert store.empty_trash() == 3
    assert drawn(store.messages.shown_by(fork.id)) == "u1-a1-u2"
    assert store.search.find("u3") == []
    with sql(path) as database:
        assert database.execute("SELECT count(*) FROM message").fetchone() == (2 + 4,)


def test_branches_pruned_long_ago_are_deleted_when_the_program_starts(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1-u2-a2 | u1-a3")
    store.messages.prune([planted.ids["u2"]])
    with sql(path) as database:
        database.execute("UPDATE message SET pruned_ms = pruned_ms - ?", (TRASH_KEPT_MS + 1000,))
    # The branch above it was pruned just now.
    store.messages.prune([planted.ids["a1"]])
    assert store.clean_up(verbatim("It ended."))
    store.messages.prune([planted.ids["a1"]], is_pruned=False)
    assert drawn(store.messages.shown_by(planted.conversation_id)) == "u1-a1 | u1-a3"


def test_writing_below_a_message_that_another_program_pruned_brings_it_back(store: Store, path: Path) -> None:
    planted = plant(store, "u1-a1-u2")
    other = Store(path)
    other.messages.prune([planted.ids["a1"]])
    other.close()
    store.add(planted.conversation_id, planted.ids["u2"], "assistant", "a2")
    assert drawn(store.messages.shown_by(planted.conversation_id)) == "u1-a1-u2-a2"


def test_replacing_the_text_of_an_answer_removes_its_tokens(store: Store) -> None:
    planted = plant(store, "u1")
    record = Record(model="guide", token_ids=(1, 2), token_chars=(1, 2), origins="ss", logprobs=(-1.0, None), seed=7)
    answer = store.add(planted.conversation_id, planted.ids["u1"], "assistant", "old", record=record)
    changed = store.set_text(answer.id, "new and searchable")
    assert changed.record == Record(model="guide", seed=7)
    assert store.messages.shown_by(planted.conversation_id)[-1] == changed
    assert [hit.message.id for hit in store.search.find("searchable")] == [answer.id]
    assert store.search.find("old") == []
    with pytest.raises(KeyError):
        store.set_text(99, "nobody's")


def test_folders_hold_conversations_and_archived_ones_come_last(store: Store) -> None:
    first, second, third = (plant(store, "u1-a1").conversation_id for _ in range(3))
    store.conversations.put_into_folder(first, "Work/Trips")
    store.conversations.put_into_folder(second, "Home")
    store.conversations.archive(third)
    assert store.conversations.folders() == ["Home", "Work/Trips"]
    assert [(talk.id, talk.folder, talk.archived_ms is not None) for talk in store.conversations.all()] == [
        (second, "Home", False),
        (first, "Work/Trips", False),
        (third, "", True),
    ]
    store.conversations.put_into_folder(second, "")
    store.conversations.trash(first)
    store.conversations.archive(third, is_archived=False)
    assert store.conversations.folders() == []
    assert store.conversations.get(third).archived_ms is None
