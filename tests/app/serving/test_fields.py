"""Every field of the APIs, as the official clients send it: honoured, refused by name, or ignored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

import pytest

from tests.app.serving.running import KEY, Bough
from tests.driver import PATIENCE_S
from tests.later import anthropic, openai

_ASK: list[Any] = [{"role": "user", "content": "How do I fork a conversation?"}]
_FUNCTION: dict[str, Any] = {"name": "f", "parameters": {"type": "object", "properties": {}}}
_TOOL: dict[str, Any] = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
_IMAGE = {"type": "image", "source": {"type": "url", "url": "data:,"}}

_USUAL = {"messages": {"temperature": 0}}
"""Fields that an API has, but no longer its client."""

Ask: TypeAlias = Callable[..., Any]


@pytest.fixture(scope="module")
def apis(bough: Bough) -> Iterator[dict[str, Ask]]:
    """Each endpoint by its name. It takes fields, and returns what the official client returns."""
    with (
        bough.openai() as one,
        anthropic.Anthropic(base_url=bough.url, api_key=KEY, max_retries=0, timeout=PATIENCE_S) as other,
    ):
        usual = {
            "chat": (one.chat.completions.create, {"messages": _ASK, "max_tokens": 3, "temperature": 0}),
            "completions": (one.completions.create, {"prompt": "A fork is", "max_tokens": 3, "temperature": 0}),
            "responses": (one.responses.create, {"input": _ASK, "max_output_tokens": 3, "temperature": 0}),
            "input_tokens": (one.responses.input_tokens.count, {"input": _ASK}),
            "messages": (other.messages.create, {"messages": _ASK, "max_tokens": 3}),
            "count_tokens": (other.messages.count_tokens, {"messages": _ASK}),
        }

        def asking(name: str, method: Ask, fields: dict[str, Any]) -> Ask:
            def ask(**more: Any) -> Any:
                # The official clients do not have the fields of other servers.
                return method(model="guide", **fields, extra_body={**_USUAL.get(name, {}), **more})

            return ask

        yield {name: asking(name, method, fields) for name, (method, fields) in usual.items()}


def _written(answer: Any) -> Any:
    """Return the part of a reply that is not different each time."""
    match answer:
        case openai.types.chat.ChatCompletion() | openai.types.Completion():
            return answer.choices
        case openai.types.responses.Response():
            return answer.output_text, answer.status
        case anthropic.types.Message():
            return answer.content, answer.stop_reason
        case _:
            return answer


_REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "chat": [
        ({"audio": {"voice": "a", "format": "mp3"}}, "audio"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"functions": [_FUNCTION]}, "functions"),
        ({"function_call": "auto"}, "function_call"),
        ({"web_search_options": {}}, ""),
        ({"web_search_options": {"search_context_size": "low"}}, "web_search_options"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"tools": [{"type": "custom", "custom": {"name": "f"}}]}, "tools[0]"),
        ({"tools": [{"type": "function", "function": _FUNCTION}] * 2}, "tools"),
        ({"tool_choice": {"type": "allowed_tools"}}, "tool_choice"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
        ({"messages": []}, "messages"),
        ({"continue_final_message": True}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "tool", "content": "a", "tool_call_id": "c"}]}, "messages[0].tool_call_id"),
        ({"grammar": 'root ::= "a"'}, "grammar"),
        ({"n": 0}, "n"),
        ({"logit_bias": {"a": 1}}, "logit_bias"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"model": "other"}, "model"),
    ],
    "completions": [
        ({"suffix": "a"}, "suffix"),
        ({"stream_options": {}}, "stream_options"),
        ({"best_of": 3}, "best_of"),
        ({"echo": True, "logprobs": 1}, "logprobs"),
        ({"prompt": []}, "prompt"),
        ({"guided_regex": "a"}, "guided_regex"),
        ({"stop_token_ids": [1]}, "stop_token_ids"),
        ({"logprobs": 6}, "logprobs"),
    ],
    "responses": [
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"include": ["file_search_call.results"]}, "include"),
        ({"tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"tool_choice": {"type": "mcp", "server_label": "a"}}, "tool_choice"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format.type"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "a"}]}]}, "input[0].content[0]"),
        ({"input": [{"type": "item_reference", "id": "a"}]}, "input[0]"),
    ],
    "messages": [
        ({"mcp_servers": [{"type": "url", "url": "a", "name": "a"}]}, "mcp_servers"),
        ({"container": "a"}, "container"),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "tools[0]"),
        ({"tool_choice": {"type": "tool", "name": "g"}, "tools": [_TOOL]}, "tool_choice"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format"),
        ({"messages": [{"role": "user", "content": [_IMAGE]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "document"}]}]}, "messages[0].content[0]"),
        ({"messages": []}, "messages"),
        ({"max_tokens": 0}, "max_tokens"),
    ],
    "count_tokens": [({"mcp_servers": [{"type": "url", "url": "a", "name": "a"}]}, "mcp_servers")],
    "input_tokens": [({"conversation": "conv_1"}, "conversation")],
}
_IGNORED: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"metadata": {"a": "b"}, "store": True, "user": "a", "safety_identifier": "a", "service_tier": "flex"},
        {"prediction": {"type": "content", "content": "a"}, "verbosity": "low", "prompt_cache_key": "a"},
        {"stop": None, "seed": None, "tools": [], "n": None, "logit_bias": {}, "response_format": {"type": "text"}},
        {"modalities": ["text"], "stream_options": None, "parallel_tool_calls": True, "reasoning_effort": "low"},
        {"tool_choice": "none", "ignore_eos": False, "min_tokens": 0, "add_generation_prompt": True},
    ],
    "completions": [{"user": "a", "best_of": 1, "n": 1, "suffix": None, "echo": False, "use_beam_search": False}],
    "responses": [
        {"metadata": {"a": "b"}, "user": "a", "service_tier": "flex", "prompt_cache_key": "a", "store": False},
        {"reasoning": {"effort": "low", "summary": "auto"}, "max_tool_calls": 1, "truncation": "disabled"},
        {"include": ["reasoning.encrypted_content"], "text": {"format": {"type": "text"}, "verbosity": "low"}},
    ],
    "messages": [
        {"metadata": {"user_id": "a"}, "service_tier": "auto", "thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"system": "", "tools": [], "stop_sequences": [], "cache_control": {"type": "ephemeral"}},
        {"context_management": {"edits": []}, "output_config": {"effort": "low"}, "inference_geo": "us"},
    ],
    "count_tokens": [{"max_tokens": 3, "metadata": {}, "stream": False, "temperature": 0}],
    "input_tokens": [{"parallel_tool_calls": True, "truncation": "disabled"}],
}


@pytest.mark.parametrize("api", _REFUSED)
def test_a_field_that_would_change_the_answer_is_refused_by_name(apis: dict[str, Ask], api: str) -> None:
    assert [_refused(apis[api], fields) for fields, _ in _REFUSED[api]] == [param for _, param in _REFUSED[api]]


def _refused(ask: Ask, fields: dict[str, Any]) -> str:
    """Return the field that is refused; empty if none is."""
    try:
        ask(**fields)
    except openai.APIStatusError as error:
        return cast("dict[str, Any]", error.body)["param"]
    except anthropic.APIStatusError as error:
        # This API names the field in the text.
        return cast("dict[str, Any]", error.body)["error"]["message"].partition(": ")[0]
    return ""


@pytest.mark.parametrize("api", _IGNORED)
def test_other_fields_change_nothing(apis: dict[str, Ask], api: str) -> None:
    alone = _written(apis[api]())
    for fields in _IGNORED[api]:
        assert _written(apis[api](**fields)) == alone, fields


def test_sampling_is_honoured_by_each_api(apis: dict[str, Ask]) -> None:
    """Two seeds write two answers, one seed writes one, and the likeliest token alone leaves no choice."""
    for api in ("chat", "completions", "responses", "messages"):
        ask, limit = apis[api], "max_output_tokens" if api == "responses" else "max_tokens"
        hot = {"temperature": 1.5, "top_p": 1, "top_k": 0, "min_p": 0, limit: 6}
        texts = [_written(ask(**hot, seed=seed)) for seed in (1, 2, 1)]
        assert texts[0] == texts[2] != texts[1], api
        assert _written(ask(**{**hot, "top_k": 1})) == _written(ask(**{limit: 6})), api
        assert _written(ask(**{limit: 6}, repetition_penalty=5)) != _written(ask(**{limit: 6})), api


def test_a_prompt_is_counted_as_it_is_read(apis: dict[str, Ask]) -> None:
    tools = [{"type": "function", **_FUNCTION}]
    more = {"instructions": "Be short.", "tools": tools}
    assert apis["input_tokens"](**more).input_tokens == apis["responses"](**more).usage.input_tokens
    fields = {"system": "Be short.", "tools": [_TOOL], "thinking": {"type": "enabled", "budget_tokens": 1024}}
    usage = apis["messages"](**fields).usage
    num_tokens = usage.input_tokens + usage.cache_read_input_tokens
    assert apis["count_tokens"](**fields).input_tokens == num_tokens


def test_a_token_is_among_the_likeliest_at_its_place(apis: dict[str, Ask]) -> None:
    for num_top in (0, 1):
        found = apis["completions"](logprobs=num_top, temperature=2, seed=1, max_tokens=8).choices[0].logprobs
        for text, logprob, top in zip(found.tokens, found.token_logprobs, found.top_logprobs, strict=True):
            assert top[text] == logprob
            assert len(top) <= num_top + 1


def test_the_first_event_of_a_chat_has_the_role_alone(bough: Bough) -> None:
    with bough.openai() as client:
        stream = client.chat.completions.create(model="guide", messages=_ASK, stream=True, n=2, max_tokens=2)
        deltas = [(choice.index, choice.delta) for chunk in stream for choice in chunk.choices]
    for number in range(2):
        roles = [(delta.role, bool(delta.content)) for index, delta in deltas if index == number]
        assert roles[0] == ("assistant", False)
        assert {role for role, _ in roles[1:]} == {None}


def test_a_message_begins_with_the_tokens_of_its_prompt(bough: Bough) -> None:
    with anthropic.Anthropic(base_url=bough.url, api_key=KEY, max_retries=0) as client:
        client.messages.create(model="guide", messages=_ASK, max_tokens=2)
        with client.messages.stream(model="guide", messages=_ASK, max_tokens=2) as stream:
            begun = [event.message.usage for event in stream if event.type == "message_start"]
            end = stream.get_final_message().usage
        assert [(usage.input_tokens, usage.cache_read_input_tokens) for usage in begun] == [
            (end.input_tokens, end.cache_read_input_tokens)
        ]
        assert end.cache_read_input_tokens


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"n": "a"}, "Expected `integer | null`, got `string` in `n`."),
        ({"messages": [{"role": 1}]}, "Expected `string`, got `integer` in `messages[0].role`."),
        ({"messages": "a"}, "Expected `array`, got `string` in `messages`."),
        ({"logit_bias": {"a": 1}}, "Expected `integer`, got `string` in a key of `logit_bias`."),
        ([], "Expected `object`, got `array`."),
    ],
)
def test_a_refusal_speaks_of_json(bough: Bough, body: Any, message: str) -> None:
    with bough.openai() as client, pytest.raises(openai.BadRequestError) as found:
        client.post("/chat/completions", body=body, cast_to=object)
    assert cast("dict[str, Any]", found.value.body)["message"] == message


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/chat/completions", " Set a base URL that ends with /v1 for this program."),
        ("/v1/v1/messages", " Set a base URL without /v1 for this program."),
        ("/v1/embeddings", ""),
    ],
)
def test_a_wrong_base_url_is_named(bough: Bough, path: str, hint: str) -> None:
    with openai.OpenAI(base_url=bough.url, api_key=KEY, max_retries=0) as client:
        with pytest.raises(openai.NotFoundError) as found:
            client.post(path, body={}, cast_to=object)
        assert cast("dict[str, Any]", found.value.body)["message"] == f"Bough has no POST {path}.{hint}"
