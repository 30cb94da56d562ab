"""JSON Lines for fine-tuning: one record for each branch, or for each rejected answer."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.attachment import text_read
from app.model.exports.captions import is_shown, text_of
from app.model.exports.excerpt import Excerpt, Options, branch, whole_tree
from app.model.exports.fine_tuning import openai_records, preference_records, sharegpt_records
from app.model.message import Conversation, Message
from app.model.store import Store
from tests.app.model.exports.excerpts import excerpts
from tests.app.trees import Planted, plant


@pytest.fixture
def store(tmp_path: Path) -> Any:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


@pytest.fixture
def planted(store: Store) -> Planted:
    return plant(store, "u1-a1-u2-a2 | u1-a3 | u1-a1-u2-a4 | u1-a1-u5")


def _records(kind: Any, excerpt: Excerpt, options: Options | None = None) -> list[Any]:
    lines = "".join(piece.text for piece in kind(excerpt, options or Options())).splitlines()
    return [json.loads(line) for line in lines]


def test_each_branch_becomes_a_record_up_to_its_last_answer(store: Store, planted: Planted) -> None:
    records = _records(openai_records, whole_tree(store, planted.conversation_id))
    # A branch that ends in a question is cut after its last answer.
    assert ["-".join(turn["content"] for turn in record["messages"]) for record in records] == [
        "u1-a1-u2-a2",
        "u1-a3",
        "u1-a1-u2-a4",
        "u1-a1",
    ]
    assert [turn["role"] for turn in records[0]["messages"]] == ["user", "assistant", "user", "assistant"]


def test_exporting_one_branch_gives_one_record(store: Store, planted: Planted) -> None:
    excerpt = branch(store, planted.conversation_id, planted.ids["a2"])
    assert _records(sharegpt_records, excerpt) == [
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


def test_the_shown_sibling_is_the_chosen_answer(store: Store, planted: Planted) -> None:
    store.conversations.choose(planted.conversation_id, {planted.ids["u1"]: planted.ids["a1"]})
    records = _records(preference_records, whole_tree(store, planted.conversation_id))
    lines = [
        tuple("-".join(turn["content"] for turn in record[side]) for side in ("prompt", "chosen", "rejected"))
        for record in records
    ]
    assert lines == [("u1", "a1", "a3"), ("u1-a1-u2", "a4", "a2")]


def test_failed_answers_and_notes_are_left_out(store: Store) -> None:
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


def _expected_turns(excerpt: Excerpt, options: Options) -> list[list[tuple[str, str]]]:
    """Return the turns of each exported branch, computed separately from each leaf."""
    lines: list[list[Message]] = []
    for leaf in excerpt.leaves:
        line = [
            message for message in excerpt.tree.lineage(leaf) if message.role != "note" and is_shown(message, options)
        ]
        while line and not (line[-1].role == "assistant" and _is_trained_on(line[-1])):
            line.pop()
        if line and all(other[-1] is not line[-1] for other in lines):
            lines.append(line)
    return [
        [
            ("user", text_read(turn)) if turn.role == "file" else (turn.role, text_of(turn, options))
            for turn in line
            if turn.role != "assistant" or _is_trained_on(turn)
        ]
        for line in lines
    ]


def _is_trained_on(message: Message) -> bool:
    return bool(message.text.strip()) and message.state not in {"failed", "streaming"}


@given(excerpt=excerpts(), reasoning=st.booleans(), system_prompts=st.booleans())
@settings(max_examples=60)
def test_any_tree_is_written_as_if_each_branch_were_exported_alone(
    excerpt: Excerpt, reasoning: bool, system_prompts: bool
) -> None:
    options = Options(reasoning=reasoning, system_prompts=system_prompts)
    expected = _expected_turns(excerpt, options)
    records = _records(openai_records, excerpt, options)
    assert [[(turn["role"], turn["content"]) for turn in record["messages"]] for record in records] == expected
    records = _records(sharegpt_records, excerpt, options)
    assert [[turn["value"] for turn in record["conversations"]] for record in records] == [
        [text for _, text in line] for line in expected
    ]
    for kind in (openai_records, sharegpt_records, preference_records):
        assert sum(piece.num_messages for piece in kind(excerpt, options)) == len(excerpt.messages)


def test_a_deep_tree_is_written_line_by_line() -> None:
    """The tree is a chain of answers with one sibling each, so it has as many branches as levels."""
    depth = 1500
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number in range(depth):
        above = messages[-2 if number else -1].id
        for _ in range(2):
            messages.append(Message(id=len(messages) + 1, parent_id=above, role="assistant", text=f"{number} " * 20))
    excerpt = Excerpt(Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0), messages, {}, messages[:1])
    tracemalloc.start()
    num_lines = sum(bool(piece.text) for piece in openai_records(excerpt, Options()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert num_lines == depth + 1
    # All lines together are a hundred times as large.
    assert peak < 5_000_000


def test_characters_are_not_escaped(store: Store) -> None:
    conversation, question = store.create_conversation("n", "", "Grüße <&> 漢字")
    store.add(conversation.id, question.id, "assistant", "שלום")
    text = "".join(piece.text for piece in openai_records(whole_tree(store, conversation.id), Options()))
    assert "Grüße <&> 漢字" in text
    assert "שלום" in text
