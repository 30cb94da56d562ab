"""Sessions of Codex CLI, in their present form and in both older ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.model.store import Store
from tests.app.model.exports.excerpts import import_all
from tests.app.model.imports.drawn import drawn, imported, lines


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


def _rollout(kind: str, payload: dict[str, Any], second: int) -> dict[str, Any]:
    return {"timestamp": f"2026-02-03T18:11:{second:02}.000Z", "type": kind, "payload": payload}


def _codex_said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def test_a_session_of_codex_keeps_the_order_of_its_parts_and_the_rolled_back_turns(
    store: Store, tmp_path: Path
) -> None:
    called = {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c1"}
    patched = {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c2"}
    failed = {"type": "custom_tool_call_output", "call_id": "c2", "output": {"content": "no", "success": False}}
    events: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", {"id": "s", "timestamp": "2026-02-03T18:11:00.000Z", "base_instructions": {"text": "Be."}}),
        ("session_meta", {"id": "the session that it was forked from", "timestamp": "2025-02-03T18:11:00.000Z"}),
        ("response_item", _codex_said("developer", "<permissions instructions>none</permissions instructions>")),
        ("response_item", _codex_said("user", "<environment_context>.</environment_context>")),
        ("response_item", _codex_said("user", "Fix it")),
        ("event_msg", {"type": "user_message", "message": "Fix it"}),
        ("turn_context", {"model": "gpt-5-codex"}),
        ("event_msg", {"type": "agent_reasoning", "text": "**Look**"}),
        ("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "**Look**"}]}),
        ("response_item", called),
        ("response_item", {"type": "function_call_output", "call_id": "c1", "output": "a.py"}),
        ("response_item", patched),
        ("response_item", failed),
        ("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}),
        ("response_item", _codex_said("assistant", "Fixed.")),
        ("event_msg", {"type": "agent_message", "message": "Fixed."}),
        ("event_msg", {"type": "turn_aborted", "reason": "interrupted"}),
        ("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        ("turn_context", {"model": "gpt-5.5"}),
        ("response_item", _codex_said("user", "Fix that")),
        ("event_msg", {"type": "agent_reasoning", "text": "Hm."}),
        ("compacted", {"message": "We fix things.", "replacement_history": []}),
        ("response_item", {"type": "web_search_call", "action": {"type": "search", "query": "q"}}),
        ("response_item", _codex_said("assistant", "Done.")),
        ("event_msg", {"type": "token_count", "info": None}),
    ]  # fmt: skip
    written = [_rollout(kind, payload, second) for second, (kind, payload) in enumerate(events)]
    excerpt = imported(store, tmp_path / "rollout-1.jsonl", lines(written))
    assert drawn(excerpt) == [
        "0<1 system: Be.",
        "1<2 note: Developer\n\n<permissions instructions>none</permissions instructions>",
        "2<3 note: Codex\n\n<environment_context>.</environment_context>",
        "3<4 user: Fix it",
        "4<5 assistant: <think>\n**Look**\n</think>\n\n",
        '5<6 note: Tool call: shell\n\n```\n{"command":["ls"]}\n```',
        "6<7 note: Tool result: shell\n\n```\na.py\n```",
        "7<8 note: Tool call: apply_patch\n\n```\n*** Begin\n```",
        "8<9 note: Tool result: apply_patch\n\n```\nno\n```",
        "9<10 assistant: Fixed.",
        "3<11 user: Fix that",
        "11<12 note: Summary\n\nWe fix things.",
        "12<13 assistant: <think>\nHm.\n</think>\n\n",
        '13<14 note: Tool call: web_search\n\n```json\n{\n  "type": "search",\n  "query": "q"\n}\n```',
        "14<15 assistant: Done.",
    ]
    assert excerpt.path[-1].text == "Done."
    answers = [message for message in excerpt.messages if message.role == "assistant"]
    assert [answer.record and answer.record.model for answer in answers] == ["gpt-5-codex"] * 2 + ["gpt-5.5"] * 2
    assert [answer.state for answer in answers] == ["complete", "stopped", "complete", "complete"]
    assert excerpt.messages[4].created_ms == excerpt.conversation.created_ms + 4_000
    # The session continues.
    more = _rollout("response_item", _codex_said("user", "Thanks"), 59)
    (tmp_path / "rollout-1.jsonl").write_text(lines([*written, more]))
    (update,) = import_all(store, tmp_path / "rollout-1.jsonl").updates
    assert update.num_messages == 1


@pytest.mark.parametrize("is_lines", [True, False])
def test_older_sessions_of_codex(store: Store, tmp_path: Path, *, is_lines: bool) -> None:
    head = {"id": "s", "timestamp": "2025-08-18T01:16:13.522Z", "instructions": None}
    items = [
        _codex_said("user", "hello"),
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Greet."}]},
        _codex_said("assistant", "Hi."),
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
    ]  # fmt: skip
    content = (
        lines([head, {"record_type": "state"}, *items]) if is_lines else json.dumps({"session": head, "items": items})
    )
    excerpt = imported(store, tmp_path / "rollout-1.json", content)
    assert drawn(excerpt) == [
        "1<2 user: hello",
        "2<3 assistant: <think>\nGreet.\n</think>\n\nHi.",
        '3<4 note: Tool call: local_shell\n\n```json\n{\n  "type": "exec",\n  "command": [\n    "ls"\n  ]\n}\n```',
    ]
    assert excerpt.conversation.created_ms == 1_755_479_773_522
