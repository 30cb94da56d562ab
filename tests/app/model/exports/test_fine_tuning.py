"""JSON Lines for tuning: one record a branch, and one for each answer that another was shown instead of."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.exports.captions import is_told, text_of
from app.model.exports.excerpt import Excerpt, Options, branch, whole_tree
from app.model.exports.fine_tuning import openai_records, preference_records, sharegpt_records
from app.model.message import Conversation, Message
from app.model.store import Store
from tests.app.model.exports.parts import parts
from tests.app.trees import Planted, plant


@pytest.fixture
def store(tmp_path: Path) -> Any:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


@pytest.fixture
def planted(store: Store) -> Planted:
    return plant(store, "u1-a1-u2-a2 | u1-a3 | u1-a1-u2-a4 | u1-a1-u5")


def _records(kind: Any, part: Excerpt, options: Options | None = None) -> list[Any]:
    lines = "".join(piece.text for piece in kind(part, options or Options())).splitlines()
    return [json.loads(line) for line in lines]


def test_each_branch_is_a_record_up_to_its_last_answer(store: Store, planted: Planted) -> None:
    records = _records(openai_records, whole_tree(store, planted.conversation_id))
    # What ends in a question is told as far as it was answered.
    assert ["-".join(turn["content"] for turn in record["messages"]) for record in records] == [
        "u1-a1-u2-a2",
        "u1-a3",
        "u1-a1-u2-a4",
        "u1-a1",
    ]
    assert [turn["role"] for turn in records[0]["messages"]] == ["user", "assistant", "user", "assistant"]


def test_one_branch_is_one_record(store: Store, planted: Planted) -> None:
    part = branch(store, planted.conversation_id, planted.ids["a2"])
    assert _records(sharegpt_records, part) == [
        {
            "id": f"{planted.conversation_id}-{planted.ids['a2']}",
            "conversations": [
                {"from": "human", "value": "u1"},
                {"from": "gpt", "value": "a1"},
                {"from": "human", "value": "u2"},
                {"from": "gpt", "value": "a2"},
            ],
        }
    ]


def test_of_siblings_the_one_that_is_shown_was_chosen(store: Store, planted: Planted) -> None:
    store.conversations.choose(planted.conversation_id, {planted.ids["u1"]: planted.ids["a1"]})
    records = _records(preference_records, whole_tree(store, planted.conversation_id))
    told = [
        tuple("-".join(turn["content"] for turn in record[side]) for side in ("prompt", "chosen", "rejected"))
        for record in records
    ]
    assert told == [("u1", "a1", "a3"), ("u1-a1-u2", "a4", "a2")]


def test_answers_that_failed_and_notes_teach_nothing(store: Store) -> None:
    conversation, question = store.create_conversation("n", "Be brief.", "q")
    note = store.add(conversation.id, question.id, "note", "Tool result\n\n1")
    store.add(conversation.id, note.id, "assistant", "half", state="failed")
    store.add(conversation.id, note.id, "assistant", "<think>\nhm\n</think>\n\nwhole ✓")
    (record,) = _records(openai_records, whole_tree(store, conversation.id), Options(reasoning=False))
    assert [(turn["role"], turn["content"]) for turn in record["messages"]] == [
        ("system", "Be brief."),
        ("user", "q"),
        ("assistant", "whole ✓"),
    ]
    assert _records(preference_records, whole_tree(store, conversation.id)) == []


def _plainly(part: Excerpt, options: Options) -> list[list[tuple[str, str]]]:
    """The branches that are told, each walked from its leaf."""
    told: list[list[Message]] = []
    for leaf in part.leaves:
        line = [message for message in part.tree.lineage(leaf) if message.role != "note" and is_told(message, options)]
        while line and not (line[-1].role == "assistant" and _teaches(line[-1])):
            line.pop()
        if line and all(other[-1] is not line[-1] for other in told):
            told.append(line)
    return [
        [(turn.role, text_of(turn, options)) for turn in line if turn.role != "assistant" or _teaches(turn)]
        for line in told
    ]


def _teaches(message: Message) -> bool:
    return bool(message.text.strip()) and message.state not in {"failed", "streaming"}


@given(part=parts(), reasoning=st.booleans(), system_prompts=st.booleans())
@settings(max_examples=60)
def test_any_tree_is_told_as_if_each_branch_were_alone(part: Excerpt, reasoning: bool, system_prompts: bool) -> None:
    options = Options(reasoning=reasoning, system_prompts=system_prompts)
    expected = _plainly(part, options)
    records = _records(openai_records, part, options)
    assert [[(turn["role"], turn["content"]) for turn in record["messages"]] for record in records] == expected
    records = _records(sharegpt_records, part, options)
    assert [[turn["value"] for turn in record["conversations"]] for record in records] == [
        [text for _, text in line] for line in expected
    ]
    for kind in (openai_records, sharegpt_records, preference_records):
        assert sum(piece.num_messages for piece in kind(part, options)) == len(part.messages)


def test_a_deep_tree_is_written_a_line_at_a_time() -> None:
    """A chain of answers, each with a version beside it: as many branches as it is deep."""
    depth = 1500
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number in range(depth):
        above = messages[-2 if number else -1].id
        for _ in range(2):
            messages.append(Message(id=len(messages) + 1, parent_id=above, role="assistant", text=f"{number} " * 20))
    part = Excerpt(Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0), messages, {}, messages[:1])
    tracemalloc.start()
    num_lines = sum(bool(piece.text) for piece in openai_records(part, Options()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert num_lines == depth + 1
    # All lines together are a hundred times this.
    assert peak < 5_000_000


def test_characters_are_not_escaped(store: Store) -> None:
    conversation, question = store.create_conversation("n", "", "Grüße <&> 漢字")
    store.add(conversation.id, question.id, "assistant", "שלום")
    text = "".join(piece.text for piece in openai_records(whole_tree(store, conversation.id), Options()))
    assert "Grüße <&> 漢字" in text
    assert "שלום" in text
