"""Anthropic's API, as its own client uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.serving.owned import Owned
from tests.app.serving.running import KEY, Bough
from tests.driver import PATIENCE_S
from tests.later import anthropic

_ASKED: dict[str, Any] = {
    "model": "guide",
    "max_tokens": 60,
    "messages": [{"role": "user", "content": "How do I fork a conversation?"}],
    # The client has no argument for it any more; the API still has.
    "extra_body": {"temperature": 0},
}
_TOOL = {
    "name": "weather",
    "description": "The weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}


def _client(url: str, key: str = KEY) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key=key, max_retries=0, timeout=float(PATIENCE_S))


def _asked(changed: dict[str, Any]) -> dict[str, Any]:
    return {**_ASKED, **changed}


def _text_of(message: Any) -> str:
    return "".join(block.text for block in message.content)


@pytest.fixture
def claude(bough: Bough) -> Iterator[anthropic.Anthropic]:
    with _client(bough.url) as client:
        yield client


def test_a_stream_has_the_same_content_as_a_whole_message(claude: anthropic.Anthropic) -> None:
    whole = claude.messages.create(**_ASKED)
    assert (whole.role, whole.stop_reason, [block.type for block in whole.content]) == (
        "assistant",
        "end_turn",
        ["text"],
    )
    with claude.messages.stream(**_ASKED) as stream:
        kinds = list(dict.fromkeys(event.type for event in stream))
        final = stream.get_final_message()
    assert _text_of(final) == _text_of(whole)
    assert kinds == [
        *("message_start", "content_block_start", "content_block_delta", "text", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    usage = final.usage
    assert usage.output_tokens == whole.usage.output_tokens > 5
    # The tokens that were read and those that were kept are the prompt together.
    assert (usage.input_tokens, usage.cache_creation_input_tokens) == (1, 0)
    counted = claude.messages.count_tokens(model="guide", messages=_ASKED["messages"])
    assert counted.input_tokens == 1 + (usage.cache_read_input_tokens or 0)


def test_stop_sequences_and_limits_are_named(claude: anthropic.Anthropic) -> None:
    text = _text_of(claude.messages.create(**_ASKED))
    stop = text.split()[3]
    stopped = claude.messages.create(**_ASKED, stop_sequences=["never seen", stop])
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", stop)
    assert _text_of(stopped) == text[: text.index(stop)]
    assert claude.messages.create(**_asked({"max_tokens": 2})).stop_reason == "max_tokens"
    # The guide's context has 2,048 tokens.
    full: dict[str, Any] = {"messages": [{"role": "user", "content": "fork " * 1_900}], "max_tokens": 5_000}
    assert claude.messages.create(**_asked(full)).stop_reason in {"end_turn", "model_context_window_exceeded"}


def test_a_message_continues_the_last_words(claude: anthropic.Anthropic) -> None:
    text = _text_of(claude.messages.create(**_ASKED))
    begun = {"role": "assistant", "content": text[:20]}
    rest = claude.messages.create(**_asked({"messages": [*_ASKED["messages"], begun]}))
    assert text[:20] + _text_of(rest) == text


def test_a_system_text_and_blocks_are_read(claude: anthropic.Anthropic) -> None:
    system: Any = [{"type": "text", "text": "Be short.", "cache_control": {"type": "ephemeral"}}]
    content: Any = [{"type": "text", "text": "How do I fork"}, {"type": "text", "text": "a conversation?"}]
    messages: Any = [{"role": "user", "content": content}]
    alone = claude.messages.count_tokens(model="guide", messages=messages).input_tokens
    assert claude.messages.count_tokens(model="guide", messages=messages, system=system).input_tokens > alone
    schema: Any = {"enum": ["fork", "edit"]}
    formatted = claude.messages.create(
        **_asked({"system": system, "messages": messages}),
        output_config={"format": {"type": "json_schema", "schema": schema}},
    )
    assert json.loads(_text_of(formatted)) in {"fork", "edit"}


def test_calls_and_thinking_are_blocks(talking: Owned) -> None:
    host, port = talking.address
    with _client(f"http://{host}:{port}") as client:
        asked: dict[str, Any] = {
            "model": talking.status.model.id,
            "max_tokens": 200,
            "messages": [{"role": "user", "content": "Will it rain in Rome?"}],
            "tools": [_TOOL],
            "extra_body": {"temperature": 0},
        }
        with client.messages.stream(**asked) as stream:
            final = stream.get_final_message()
        assert final.stop_reason == "tool_use"
        thinking, text, call = (block.model_dump() for block in final.content)
        assert (thinking["type"], thinking["thinking"]) == ("thinking", "Let me see.")
        assert (text["type"], text["text"]) == ("text", "I ask for it.")
        assert (call["type"], call["name"], call["input"]) == ("tool_use", "weather", {"city": "Rome", "days": 2})
        whole = client.messages.create(**asked)
        assert [block.type for block in whole.content] == ["thinking", "text", "tool_use"]
        # The client returns all of it, with the result.
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "Rain."}]}
        asked["messages"] += [
            {"role": "assistant", "content": [block.model_dump() for block in final.content]},
            {"role": "user", "content": [result, {"type": "text", "text": "So?"}]},
        ]
        again = client.messages.create(**asked)
        exchanges = [talking.exchange() for _ in range(3)]
        roles = [(message.role, message.content) for message in exchanges[-1].generate.messages or []]
        assert roles[-2:] == [("tool", "Rain."), ("user", "So?")]
        assert again.usage.input_tokens < (again.usage.cache_read_input_tokens or 0)
        result["tool_use_id"] = "another"
        with pytest.raises(anthropic.BadRequestError, match="There is no call “another”"):
            client.messages.create(**asked)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param({"messages": []}, "The request has no messages", id="no messages"),
        pytest.param({"max_tokens": 0}, "max_tokens", id="no tokens"),
        pytest.param({"extra_body": {"mcp_servers": [{"url": "x"}]}}, "mcp_servers", id="servers"),
        pytest.param(
            {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_20250305", id="their tools"
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]}]},
            r"messages\[0\].content\[0\]: .*`image`",
            id="an image",
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": "fork " * 3_000}]}, "^.*prompt is too long: ", id="too long"
        ),
    ],
)
def test_an_impossible_field_is_refused_by_name(
    claude: anthropic.Anthropic, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=message) as found:
        claude.messages.create(**_asked(changed))
    body: Any = found.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")


def test_problems_have_the_original_types(bough: Bough, claude: anthropic.Anthropic) -> None:
    with _client(bough.url, "wrong") as stranger, pytest.raises(anthropic.AuthenticationError):
        stranger.messages.create(**_ASKED)
    with pytest.raises(anthropic.NotFoundError, match="“guide” is loaded"):
        claude.messages.create(**_asked({"model": "claude-sonnet"}))
    with pytest.raises(anthropic.NotFoundError):
        claude.post("/v1/messages/other", body={}, cast_to=object)


def test_the_models_are_listed_in_its_shape(claude: anthropic.Anthropic) -> None:
    assert "guide" in [model.id for model in claude.models.list()]
    assert claude.models.retrieve("guide").type == "model"


def test_another_name_may_mean_the_loaded_model(tmp_path: Path) -> None:
    with Bough(tmp_path, "--port", "0", "--alias", "claude-*") as bough:
        bough.wait_until_ready()
        with _client(bough.url) as client:
            reply = client.messages.create(**_asked({"model": "claude-sonnet-4", "max_tokens": 1}))
        assert reply.model == "guide"
