"""Reasoning and calls of tools through OpenAI's API, with a model that writes both."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from tokenizers import AddedToken

from tests.app.serving.owned import Owned
from tests.models import byte_level_tokenizer, write_scripted_model

_TEMPLATE = """\
{%- if tools %}{{- "<|im_start|>system\\nTools:\\n" }}{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}
{{- "\\nWrite <tool_call>\\n{\\"name\\": …, \\"arguments\\": …}\\n</tool_call><|im_end|>\\n" }}{%- endif %}
{%- for message in messages %}
    {{- "<|im_start|>" + message.role + "\\n" + (message.content or "") }}
    {%- for call in message.tool_calls or [] %}
        {{- "\\n<tool_call>\\n" + ({"name": call.function.name, "arguments": call.function.arguments} | tojson) }}
        {{- "\\n</tool_call>" }}
    {%- endfor %}
    {{- "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|im_start|>assistant\\n" }}{%- endif %}
{#- <think> … </think> #}"""
_PIECES = [
    *("<think>", "\nLet me", " see.", "\n</think>", "\n\nI ask", " for it.", "\n<tool_call>"),
    *('\n{"name": "weather", "argu', 'ments": {"city": "R', 'ome", "days": 2}}', "\n</tool_call>"),
]
_TOOL: dict[str, Any] = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
_ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Will it rain in Rome?"}],
    "tools": [{"type": "function", "function": _TOOL}],
    "temperature": 0,
}


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owned]:
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in _PIECES])
    ids = [*tokenizer.encode("\n").ids, *map(tokenizer.token_to_id, _PIECES)]
    folder = tmp_path_factory.mktemp("models") / "caller"
    write_scripted_model(folder, tokenizer, dict(itertools.pairwise(ids)), chat_template=_TEMPLATE)
    with Owned(folder) as owned:
        yield owned.ready()


@pytest.fixture
def client(owned: Owned) -> Iterator[openai.OpenAI]:
    with owned.openai() as client:
        yield client


def test_calls_and_reasoning_stand_apart_from_the_content(owned: Owned, client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model=owned.status.model.id, **_ASKED)
    choice = whole.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "I ask for it."
    assert choice.message.model_extra == {"reasoning_content": "Let me see."}
    assert choice.message.tool_calls is not None
    call: Any = choice.message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Rome", "days": 2})
    streamed = _joined(client.chat.completions.create(model=owned.status.model.id, **_ASKED, stream=True))
    assert streamed == (
        {"content": "I ask for it.", "reasoning_content": "Let me see."},
        [("weather", call.function.arguments)],
        "tool_calls",
    )
    assert whole.usage is not None
    assert whole.usage.completion_tokens_details is not None
    assert 0 < (whole.usage.completion_tokens_details.reasoning_tokens or 0) < whole.usage.completion_tokens


def _joined(stream: Any) -> tuple[dict[str, str], list[tuple[str, str]], str]:
    """Return the texts of a streamed answer by field, its calls, and why it ended."""
    texts: dict[str, str] = {}
    calls: list[tuple[str, str]] = []
    reason = ""
    for chunk in stream:
        delta = chunk.choices[0].delta
        for name in ("content", "reasoning_content"):
            text = getattr(delta, name, None)
            if text:
                texts[name] = texts.get(name, "") + text
        for call in delta.tool_calls or []:
            if call.function.name:
                assert call.id
                calls.append((call.function.name, ""))
            name, arguments = calls[call.index]
            calls[call.index] = (name, arguments + (call.function.arguments or ""))
        reason = chunk.choices[0].finish_reason or reason
    return texts, calls, reason


def test_the_result_of_a_call_goes_back(owned: Owned, client: openai.OpenAI) -> None:
    first = client.chat.completions.create(model=owned.status.model.id, **_ASKED)
    message = first.choices[0].message
    assert message.tool_calls is not None
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Rain."}
    again: dict[str, Any] = {**_ASKED, "messages": [*_ASKED["messages"], message.model_dump(exclude_none=True), result]}
    second = client.chat.completions.create(model=owned.status.model.id, **again)
    assert second.usage is not None
    assert first.usage is not None
    assert second.usage.prompt_tokens > first.usage.prompt_tokens
    again["messages"][-1]["tool_call_id"] = "another"
    with pytest.raises(openai.BadRequestError) as found:
        client.chat.completions.create(model=owned.status.model.id, **again)
    assert found.value.param == "messages[2].tool_call_id"


def test_without_tools_or_with_none_chosen_nothing_is_called(owned: Owned, client: openai.OpenAI) -> None:
    plain = client.chat.completions.create(
        model=owned.status.model.id, messages=_ASKED["messages"], temperature=0, max_tokens=6
    )
    assert plain.choices[0].message.tool_calls is None
    asked: dict[str, Any] = {**_ASKED, "tool_choice": {"type": "function", "function": {"name": "other"}}}
    with pytest.raises(openai.BadRequestError) as found:
        client.chat.completions.create(model=owned.status.model.id, **asked)
    assert found.value.param == "tool_choice"


def test_a_response_has_an_item_for_each(owned: Owned, client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {
        "model": owned.status.model.id,
        "input": "Will it rain in Rome?",
        "tools": [{"type": "function", **_TOOL}],
        "temperature": 0,
    }
    whole = client.responses.create(**asked)
    assert [item.type for item in whole.output] == ["reasoning", "message", "function_call"]
    with client.responses.stream(**asked) as stream:
        events = list(stream)
        final = stream.get_final_response()
    call: Any = final.output[2]
    assert json.loads(call.arguments) == {"city": "Rome", "days": 2}
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(deltas) == call.arguments
    thoughts = [event.delta for event in events if event.type == "response.reasoning_text.delta"]
    assert "".join(thoughts) == "Let me see."
    assert final.output_text == whole.output_text == "I ask for it."
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "Rain."}
    again: dict[str, Any] = {**asked, "input": [result], "previous_response_id": final.id}
    second = client.responses.create(**again)
    assert second.usage is not None
    assert whole.usage is not None
    assert second.usage.input_tokens > whole.usage.input_tokens
