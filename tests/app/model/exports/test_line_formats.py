"""JSON Lines for fine-tuning: one record for each branch, or for each rejected answer."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.attachment import text_read
from app.model.exports.excerpt import Excerpt, Options, branch, whole_tree
from app.model.exports.files import LINES
from app.model.exports.losses import Losses
from app.model.exports.training_records import RecordFormat, training_records
from app.model.message import Conversation, Message, Record, Role, Sent, Tool, ToolCall
from app.model.notes import fenced, note
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


def _records(format_: RecordFormat, excerpt: Excerpt, options: Options | None = None) -> list[Any]:
    pieces = training_records(excerpt, format_, options or Options(), Losses())
    return [json.loads(line) for line in "".join(piece.text for piece in pieces).splitlines()]


def test_each_branch_becomes_a_record_up_to_its_last_answer(store: Store, planted: Planted) -> None:
    records = _records("openai-jsonl", whole_tree(store, planted.conversation_id))
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
    assert _records("sharegpt-jsonl", excerpt) == [
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
    records = _records("preference-jsonl", whole_tree(store, planted.conversation_id))
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
    (record,) = _records("openai-jsonl", whole_tree(store, conversation.id), Options(reasoning=False))
    assert [(turn["role"], turn["content"]) for turn in record["messages"]] == [
        ("system", "Be brief."),
        ("user", "q"),
        ("assistant", "whole ✓"),
    ]
    assert _records("preference-jsonl", whole_tree(store, conversation.id)) == []


def _expected_turns(excerpt: Excerpt, options: Options) -> list[list[tuple[str, str]]]:
    """Return the turns of each exported branch, computed plainly from each leaf. No message has tools or thoughts."""
    found: dict[int, list[tuple[str, str]]] = {}
    for leaf in excerpt.leaves:
        turns: list[tuple[str, list[str]]] = []
        answer_id, num_to_answer = 0, 0
        for message in excerpt.tree.lineage(leaf):
            role = {"user": "human", "file": "human", "assistant": "gpt"}.get(message.role, message.role)
            last = turns[-1][0] if turns else ""
            is_allowed = {
                "system": options.system_prompts and last in {"", "system"},
                "human": True,
                "gpt": message.state == "complete" and last in {"human", "gpt"},
            }
            if not is_allowed.get(role) or not text_read(message).strip():
                continue
            if last == role:
                turns[-1][1].append(text_read(message))
            else:
                turns.append((role, [text_read(message)]))
            if role == "gpt":
                answer_id, num_to_answer = message.id, len(turns)
        if answer_id:
            found.setdefault(answer_id, [(role, "\n\n".join(texts)) for role, texts in turns[:num_to_answer]])
    return list(found.values())


@given(excerpt=excerpts(), system_prompts=st.booleans())
@settings(max_examples=60)
def test_the_turns_of_any_tree_are_those_of_its_branches(excerpt: Excerpt, system_prompts: bool) -> None:
    options = Options(system_prompts=system_prompts)
    expected = _expected_turns(excerpt, options)
    ours = {"system": "system", "human": "user", "gpt": "assistant"}
    records = _records("openai-jsonl", excerpt, options)
    assert [[(turn["role"], turn["content"]) for turn in record["messages"]] for record in records] == [
        [(ours[role], text) for role, text in line] for line in expected
    ]
    records = _records("sharegpt-jsonl", excerpt, options)
    assert [[(turn["from"], turn["value"]) for turn in record["conversations"]] for record in records] == expected
    for format_ in LINES:
        pieces = training_records(excerpt, format_, options, Losses())
        assert sum(piece.num_messages for piece in pieces) == len(excerpt.messages)


_CALL = ToolCall(name="weather", arguments={"city": "Köln"})
_SENT: dict[str, tuple[Role, Sent | None]] = {
    "question": ("user", None),
    "file": ("file", None),
    "answer": ("assistant", None),
    "caller": ("assistant", Sent(num_calls=1, content="")),
    "caller of two": ("assistant", Sent(num_calls=2, reasoning="hm")),
    "call": ("note", Sent(call=_CALL)),
    "result": ("note", Sent(role="tool")),
    "late system": ("note", Sent(role="system")),
    "note": ("note", None),
}


@st.composite
def _trees_with_tools(draw: st.DrawFn) -> Excerpt:
    """Generate trees in which calls and results stand anywhere."""
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number in range(2, draw(st.integers(3, 24))):
        # Most messages are below the one before.
        parent_id = number - 1 if draw(st.integers(0, 3)) else draw(st.integers(1, number - 1))
        role, sent = _SENT[draw(st.sampled_from([*_SENT, "call", "call", "result", "result"]))]
        is_failed = role == "assistant" and draw(st.integers(0, 3)) == 0
        record = None if sent is None else Record(sent=sent)
        messages.append(
            Message(
                id=number,
                parent_id=parent_id,
                role=role,
                text=f"{role}\n\n{number}",
                state="failed" if is_failed else "complete",
                record=record,
            )
        )
    return _excerpt(messages)


def _excerpt(messages: list[Message]) -> Excerpt:
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    return Excerpt(conversation, messages, {}, messages[:1])


@given(excerpt=_trees_with_tools())
@settings(max_examples=100)
def test_a_tree_with_tools_is_written_as_if_each_branch_were_exported_alone(excerpt: Excerpt) -> None:
    for format_ in ("openai-jsonl", "sharegpt-jsonl", "trl"):
        alone: list[Any] = []
        for leaf in excerpt.leaves:
            alone += [
                record
                for record in _records(format_, _excerpt(list(excerpt.tree.lineage(leaf))))
                if record not in alone
            ]
        assert _records(format_, excerpt) == alone
    for record in _records("openai-jsonl", excerpt):
        _check_order(record["messages"])


def _check_order(turns: list[Any]) -> None:
    """Check that results follow their calls, and that each call but the last turn's has its result."""
    waiting: list[str] = []
    before = ""
    for turn in turns:
        if turn["role"] == "tool":
            waiting.remove(turn["tool_call_id"])
        else:
            assert not waiting
            assert turn["role"] != before
            waiting = [call["id"] for call in turn.get("tool_calls", ())]
            assert turn["content"] or waiting
        before = turn["role"]
    assert before == "assistant"


def _with_tools(store: Store) -> Excerpt:
    offered = Record(tools=(Tool(name="weather", description="d", parameters={"type": "object"}),))
    conversation, question = store.create_conversation("n", "Be brief.", "q")
    system = store.messages.get(question.parent_id or 0)
    store.update(msgspec.structs.replace(system, record=offered))
    below = question.id
    turns: list[tuple[Role, str, Sent | None]] = [
        ("assistant", "Let me look.", Sent(num_calls=2, content="Let me look.", reasoning="hm")),
        ("note", note("Tool call: weather", fenced("{}")), Sent(call=_CALL)),
        ("note", note("Tool call: weather", fenced("{}")), Sent(call=msgspec.structs.replace(_CALL, id="c2"))),
        ("note", note("Tool result", fenced("12 °C")), Sent(role="tool")),
        ("note", note("Tool result", fenced("dry")), Sent(role="tool", call_id="c2")),
        ("assistant", "It is 12 °C.", None),
    ]
    for role, text, sent in turns:
        record = None if sent is None else Record(sent=sent)
        below = store.add(conversation.id, below, role, text, record=record).id
    return whole_tree(store, conversation.id)


def test_tools_have_the_shape_of_each_format(store: Store) -> None:
    excerpt = _with_tools(store)
    (record,) = _records("openai-jsonl", excerpt)
    *_, caller, first, second, answer = record["messages"]
    assert caller["content"] == "<think>\nhm\n</think>\n\nLet me look."
    called = {"name": "weather", "arguments": '{"city":"Köln"}'}
    assert [call["function"] for call in caller["tool_calls"]] == [called, called]
    ids = [call["id"] for call in caller["tool_calls"]]
    assert first == {"role": "tool", "tool_call_id": ids[0], "content": "12 °C"}
    assert second == {"role": "tool", "tool_call_id": "c2", "content": "dry"}
    assert answer == {"role": "assistant", "content": "It is 12 °C."}
    assert record["tools"][0]["function"]["name"] == "weather"
    losses = Losses()
    (line,) = [piece.text for piece in training_records(excerpt, "sharegpt-jsonl", Options(), losses) if piece.text]
    record = json.loads(line)
    call = {"name": "weather", "arguments": {"city": "Köln"}}
    assert [(turn["from"], turn["value"]) for turn in record["conversations"]] == [
        ("system", "Be brief."),
        ("human", "q"),
        ("function_call", json.dumps([call, call], ensure_ascii=False, separators=(",", ":"))),
        ("observation", "12 °C\n\ndry"),
        ("gpt", "It is 12 °C."),
    ]
    assert [tool["name"] for tool in json.loads(record["tools"])] == ["weather"]
    assert [str(said) for said in losses.sentences()] == [
        "Answers exported without their reasoning, because lines of this kind have no field for it: 1.",
        "Answers exported without their text beside a tool call, because lines of this kind have no field for both: 1.",
    ]


def test_a_deep_tree_is_written_line_by_line() -> None:
    """The tree is a chain of answers with one sibling each, so it has as many branches as levels."""
    depth = 1500
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number in range(depth):
        above = messages[-2 if number else -1].id
        messages.append(Message(id=len(messages) + 1, parent_id=above, role="user", text=f"{number} " * 20))
        above = messages[-1].id
        for _ in range(2):
            messages.append(Message(id=len(messages) + 1, parent_id=above, role="assistant", text=f"{number} " * 20))
    excerpt = _excerpt(messages)
    tracemalloc.start()
    num_lines = sum(bool(piece.text) for piece in training_records(excerpt, "openai-jsonl", Options(), Losses()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert num_lines == depth + 1
    # All lines together are a hundred times as large.
    assert peak < 5_000_000


def test_characters_are_not_escaped(store: Store) -> None:
    conversation, question = store.create_conversation("n", "", "Grüße <&> 漢字")
    store.add(conversation.id, question.id, "assistant", "שלום")
    excerpt = whole_tree(store, conversation.id)
    text = "".join(piece.text for piece in training_records(excerpt, "openai-jsonl", Options(), Losses()))
    assert "Grüße <&> 漢字" in text
    assert "שלום" in text
