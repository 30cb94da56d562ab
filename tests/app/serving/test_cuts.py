"""Answers that the limit of tokens cuts in a call of a tool, through each API. About 2 s."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.app.serving.owned import Owned
from tests.app.serving.running import KEY

_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
_ASK = [{"role": "user", "content": "Will it rain in Rome?"}]
_APIS: dict[str, tuple[str, dict[str, Any], str]] = {
    "chat": (
        "/v1/chat/completions",
        {"messages": _ASK, "tools": [{"type": "function", "function": {"name": "weather", "parameters": _SCHEMA}}]},
        "max_tokens",
    ),
    "responses": (
        "/v1/responses",
        {"input": _ASK, "tools": [{"type": "function", "name": "weather", "parameters": _SCHEMA}]},
        "max_output_tokens",
    ),
    "messages": (
        "/v1/messages",
        {
            "messages": _ASK,
            "tools": [{"name": "weather", "input_schema": _SCHEMA}],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        },
        "max_tokens",
    ),
}


class _Seen(NamedTuple):
    """An answer as a client sees it."""

    text: str
    reasoning: str
    calls: list[str]
    """The name of each call; its arguments behind it if it is whole."""
    reason: str


@pytest.mark.parametrize("api", _APIS)
def test_a_cut_call_shows_no_marker_and_says_that_the_limit_cut_it(talking: Owned, api: str) -> None:
    path, fields, limit = _APIS[api]
    asked = {"model": talking.status.model.id, "temperature": 0, **fields}
    whole = _of_whole(api, talking.request("POST", path, asked | {limit: 500})[2])
    assert whole[:2] == ("I ask for it.", "Let me see.")
    (call,) = whole.calls
    assert call == 'weather{"city":"Rome","days":2}'
    cuts: list[_Seen] = []
    # All APIs share what reads the text, so every length is tried with one of them.
    for most in range(1, 60, 1 if api == "chat" else 3):
        body = asked | {limit: most}
        seen = _of_whole(api, talking.request("POST", path, body)[2])
        assert _of_stream(api, _events(talking, path, body)) == seen
        if seen.reason == whole.reason:
            break
        assert seen.reason in {"length", "max_tokens", "max_output_tokens"}
        assert whole.text.startswith(seen.text.rstrip()), seen
        assert whole.reasoning.startswith(seen.reasoning.rstrip()), seen
        assert seen.calls in ([], ["weather"], [call]), seen
        cuts.append(seen)
    # Some were cut between the text's end and the call's name, some in the call.
    texts = [seen.text for seen in cuts if not seen.calls]
    assert texts.count("I ask for it.") > 1
    assert ["weather"] in [seen.calls for seen in cuts]


def _events(owned: Owned, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    connection = owned.connection()
    connection.request("POST", path, json.dumps(body | {"stream": True}), {"Authorization": f"Bearer {KEY}"})
    reply = connection.getresponse()
    while line := reply.readline():
        if line.startswith(b"data: {"):
            yield json.loads(line.removeprefix(b"data: "))
    connection.close()


def _of_whole(api: str, reply: dict[str, Any]) -> _Seen:
    if api == "chat":
        (choice,) = reply["choices"]
        message = choice["message"]
        calls = [
            _call(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())
        ]
        return _Seen(message["content"] or "", message.get("reasoning_content", ""), calls, choice["finish_reason"])
    if api == "responses":
        items = reply["output"]
        texts = [
            "".join(part["text"] for item in items if item["type"] == kind for part in item["content"])
            for kind in ("message", "reasoning")
        ]
        calls = [_call(item["name"], item["arguments"]) for item in items if item["type"] == "function_call"]
        return _Seen(texts[0], texts[1], calls, (reply["incomplete_details"] or {"reason": ""})["reason"])
    blocks = reply["content"]
    texts = ["".join(block[kind] for block in blocks if block["type"] == kind) for kind in ("text", "thinking")]
    calls = [
        _call(block["name"], json.dumps(block["input"]) if block["input"] else "")
        for block in blocks
        if block["type"] == "tool_use"
    ]
    return _Seen(texts[0], texts[1], calls, reply["stop_reason"])


def _of_stream(api: str, events: Iterator[dict[str, Any]]) -> _Seen:
    text = reasoning = reason = ""
    names: list[str] = []
    arguments: list[str] = []
    for event in events:
        match event:
            case {"type": "content_block_start", "content_block": {"type": "tool_use", "name": str(name)}}:
                names.append(name)
                arguments.append("")
            case {"type": "response.output_item.added", "item": {"type": "function_call", "name": str(name)}}:
                names.append(name)
                arguments.append("")
            case {"type": "content_block_delta", "delta": {"type": kind, **delta}}:
                text += delta.get("text", "")
                reasoning += delta.get("thinking", "")
                if kind == "input_json_delta":
                    arguments[-1] += delta["partial_json"]
            case {"type": "response.output_text.delta", "delta": delta}:
                text += delta
            case {"type": "response.reasoning_text.delta", "delta": delta}:
                reasoning += delta
            case {"type": "response.function_call_arguments.delta", "delta": delta}:
                arguments[-1] += delta
            case {"type": "response.incomplete" | "response.completed", "response": response}:
                reason = (response["incomplete_details"] or {"reason": ""})["reason"]
            case {"type": "message_delta", "delta": {"stop_reason": str(reason)}}:
                pass
            case {"choices": [{"delta": delta, "finish_reason": ended}]}:
                text += delta.get("content") or ""
                reasoning += delta.get("reasoning_content", "")
                for call in delta.get("tool_calls", ()):
                    if name := call["function"].get("name"):
                        names.append(name)
                        arguments.append("")
                    arguments[-1] += call["function"]["arguments"]
                reason = ended or reason
            case _:
                pass
    return _Seen(text, reasoning, [_call(*call) for call in zip(names, arguments, strict=True)], reason)


def _call(name: str, arguments: str) -> str:
    """Return a call's name, with its arguments if they are whole."""
    try:
        return name + json.dumps(json.loads(arguments), separators=(",", ":"))
    except ValueError:
        return name
