"""The local API, as OpenAI's own client uses it."""

from __future__ import annotations

import contextlib
import copy
import http.client
import json
import random
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.app.serving.running import KEY, Bough
from tests.driver import PATIENCE_S
from tests.later import openai

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "How do I fork a conversation?"}]


def test_a_stream_has_the_same_content_as_a_whole_answer(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="guide", messages=_QUESTION, temperature=0)
    text = ""
    reasons: list[str] = []
    usage = None
    for chunk in client.chat.completions.create(
        model="guide",
        messages=_QUESTION,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasons += [choice.finish_reason] if choice.finish_reason else []
    assert len(text) > 20
    assert text == whole.choices[0].message.content
    assert reasons == [whole.choices[0].finish_reason] == ["stop"]
    assert usage is not None
    assert whole.usage is not None
    assert usage.completion_tokens == whole.usage.completion_tokens > 5
    assert usage.prompt_tokens_details is not None
    assert usage.prompt_tokens_details.cached_tokens == usage.prompt_tokens - 1


def test_the_model_is_listed(client: openai.OpenAI) -> None:
    assert "guide" in [model.id for model in client.models.list()]
    assert client.models.retrieve("guide").id == "guide"


def test_another_model_is_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as found:
        client.chat.completions.create(model="gpt-4o", messages=_QUESTION)
    assert found.value.code == "model_not_found"
    assert "“guide” is loaded" in found.value.message


def test_several_answers_and_their_log_probabilities(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "guide", "messages": _QUESTION, "n": 2, "seed": 5, "max_tokens": 6}
    whole = client.chat.completions.create(**asked, logprobs=True, top_logprobs=3)
    assert [choice.finish_reason for choice in whole.choices] == ["length", "length"]
    for choice in whole.choices:
        assert choice.logprobs is not None
        tokens = choice.logprobs.content or []
        assert "".join(token.token for token in tokens) == choice.message.content
        assert len(tokens) == 6
        assert all(len(token.top_logprobs) == 3 and token.logprob <= 0 for token in tokens)
    streamed = ["", ""]
    num_tokens = [0, 0]
    for chunk in client.chat.completions.create(**asked, logprobs=True, stream=True):
        for choice in chunk.choices:
            streamed[choice.index] += choice.delta.content or ""
            found = choice.logprobs.content if choice.logprobs is not None else None
            num_tokens[choice.index] += len(found or [])
    assert streamed == [choice.message.content for choice in whole.choices]
    assert num_tokens == [6, 6]


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_stop_string_is_never_shown(client: openai.OpenAI, is_stream: bool) -> None:
    asked: dict[str, Any] = {"model": "guide", "messages": _QUESTION, "temperature": 0}
    text = client.chat.completions.create(**asked).choices[0].message.content or ""
    stop = text[12:17]
    asked |= {"stop": ["never", stop]}
    if is_stream:
        chunks = list(client.chat.completions.create(**asked, stream=True))
        found = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
        assert chunks[-1].choices[0].finish_reason == "stop"
    else:
        found = client.chat.completions.create(**asked).choices[0].message.content or ""
    assert found == text[: text.index(stop)]


def test_a_biased_token_is_written_or_not(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "guide", "messages": _QUESTION, "temperature": 0, "max_tokens": 3}
    plain = client.chat.completions.create(**asked, logprobs=True)
    biased = client.chat.completions.create(**asked, logit_bias={"300": 100})
    assert len({plain.choices[0].message.content, biased.choices[0].message.content}) == 2
    with pytest.raises(openai.BadRequestError) as found:
        client.chat.completions.create(**asked, logit_bias={"99999999": 1})
    assert "logit_bias" in found.value.message


def test_a_schema_holds(client: openai.OpenAI) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"fork": {"type": "boolean"}}, "required": ["fork"]}
    schema["additionalProperties"] = False
    answer = client.chat.completions.create(
        model="guide",
        messages=_QUESTION,
        response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
        max_tokens=400,
    )
    assert list(json.loads(answer.choices[0].message.content or "")) == ["fork"]


def test_completions_continue_several_prompts(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "guide", "prompt": ["A fork is", "The tree"], "temperature": 0, "max_tokens": 8}
    whole = client.completions.create(**asked, echo=True)
    assert [choice.text[:8] for choice in whole.choices] == ["A fork i", "The tree"]
    texts = ["", ""]
    for chunk in client.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == [whole.choices[0].text.removeprefix("A fork is"), whole.choices[1].text.removeprefix("The tree")]
    alone: dict[str, Any] = {**asked, "prompt": "A fork is", "logprobs": 2}
    found = client.completions.create(**alone).choices[0].logprobs
    assert found is not None
    assert "".join(found.tokens or []) == texts[0]
    assert (found.text_offset or [])[:2] == [0, len((found.tokens or [""])[0])]


def test_a_prompt_that_is_too_long_is_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as found:
        client.chat.completions.create(model="guide", messages=[{"role": "user", "content": "word " * 20000}])
    assert found.value.code == "context_length_exceeded"


def test_an_image_is_refused_by_name(client: openai.OpenAI) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    with pytest.raises(openai.BadRequestError) as found:
        client.chat.completions.create(model="guide", messages=[{"role": "user", "content": parts}])  # pyright: ignore[reportArgumentType]
    assert found.value.param == "messages[0].content[1]"


def test_a_wrong_key_is_refused(bough: Bough) -> None:
    with bough.openai("wrong") as client, pytest.raises(openai.AuthenticationError) as found:
        client.models.list()
    assert found.value.code == "invalid_api_key"


def test_the_server_process_is_small_and_runs_no_model(bough: Bough) -> None:
    children = psutil.Process(bough.process.pid).children()
    sizes = [child.memory_info().rss for child in children if child.memory_info().rss > 25 << 20]
    server = min(sizes)
    assert server < 100 << 20


# --- responses --------------------------------------------------------------------------------------------

_IMAGE = {"type": "input_image", "image_url": "data:,"}
_RESPONSE: dict[str, Any] = {"model": "guide", "input": "How do I fork a conversation?", "temperature": 0}


def test_a_stream_has_the_same_content_as_a_whole_response(client: openai.OpenAI) -> None:
    whole = client.responses.create(**_RESPONSE)
    assert (whole.status, whole.output[0].type) == ("completed", "message")
    assert len(whole.output_text) > 20
    with client.responses.stream(**_RESPONSE) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert final.output_text == whole.output_text
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == whole.output_text
    assert len(deltas) > 5
    kinds = list(dict.fromkeys(event.type for event in events))
    assert kinds == [
        *("response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"),
        *("response.output_text.delta", "response.output_text.done", "response.content_part.done"),
        *("response.output_item.done", "response.completed"),
    ]
    assert final.usage is not None
    assert whole.usage is not None
    assert final.usage.output_tokens == whole.usage.output_tokens
    assert final.usage.input_tokens_details.cached_tokens == final.usage.input_tokens - 1


def test_a_response_continues_an_earlier_one(client: openai.OpenAI) -> None:
    first = client.responses.create(**_RESPONSE)
    second = client.responses.create(
        model="guide", input="And how do I undo that?", previous_response_id=first.id, temperature=0
    )
    asked: Any = [
        {"role": "user", "content": _RESPONSE["input"]},
        {"role": "assistant", "content": [{"type": "output_text", "text": first.output_text}]},
        {"role": "user", "content": [{"type": "input_text", "text": "And how do I undo that?"}]},
    ]
    alone = client.responses.create(model="guide", input=asked, temperature=0)
    assert alone.output_text == second.output_text
    assert second.usage is not None
    assert alone.usage is not None
    assert alone.usage.input_tokens == second.usage.input_tokens
    assert client.responses.retrieve(first.id).output_text == first.output_text
    client.responses.delete(first.id)
    with pytest.raises(openai.BadRequestError) as found:
        client.responses.create(model="guide", input="Hi", previous_response_id=first.id)
    assert (found.value.param, found.value.code) == ("previous_response_id", "previous_response_not_found")
    unkept = client.responses.create(**_RESPONSE, store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(unkept.id)


def test_a_response_that_is_cut_says_so(client: openai.OpenAI) -> None:
    whole = client.responses.create(**_RESPONSE, max_output_tokens=3, instructions="Be short.")
    assert whole.status == "incomplete"
    assert whole.incomplete_details is not None
    assert whole.incomplete_details.reason == "max_output_tokens"


def test_a_response_has_log_probabilities(client: openai.OpenAI) -> None:
    whole = client.responses.create(**_RESPONSE, include=["message.output_text.logprobs"], top_logprobs=2)
    message: Any = whole.output[0]
    tokens = message.content[0].logprobs
    assert "".join(token.token for token in tokens) == whole.output_text
    assert all(len(token.top_logprobs) == 2 for token in tokens)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        (
            {"input": [{"role": "user", "content": [_IMAGE]}]},
            "input[0].content[0]",
        ),
        ({"background": True}, "background"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"tools": [{"type": "web_search"}]}, "tools[0]"),
        ({"include": ["file_search_call.results"]}, "include"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0]"),
        ({"input": []}, "input"),
    ],
    ids=str,
)
def test_a_field_that_would_change_the_answer_is_refused_by_name(
    client: openai.OpenAI, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as found:
        client.responses.create(**{**_RESPONSE, **fields})
    assert found.value.param == param


# --- requests that are not as the API describes them --------------------------------------------------------

_SHORT = {"model": "guide", "temperature": 0.5, "top_p": 0.9, "seed": 3}
_TEXT = [{"type": "text", "text": "Hi"}]
_BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        **_SHORT,
        "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": _TEXT}],
        "max_tokens": 1,
        "n": 1,
        "stop": ["a"],
        "logit_bias": {"12": 1},
        "logprobs": True,
        "top_logprobs": 1,
        "presence_penalty": 0.1,
        "response_format": {"type": "text"},
        "stream_options": {"include_usage": True},
        "tool_choice": "none",
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        "metadata": {"a": "b"},
    },
    "/v1/completions": {**_SHORT, "prompt": ["Hi", "You"], "max_tokens": 1, "echo": False, "logprobs": 1, "stop": "a"},
    "/v1/responses": {
        **_SHORT,
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": "1"},
        ],
        "instructions": "Be short.",
        "max_output_tokens": 1,
        "text": {"format": {"type": "text"}},
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
        "tool_choice": "none",
        "truncation": "auto",
    },
}
_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63) - 1, 1e400, 0.5, -0.0, "", "a", "\0", "\ud800", "😀" * 50),
    *([], {}, [[]], [None], {"": None}, ["a"] * 300, [1, "a"], {"type": "image_url"}, {"type": "json_schema"}),
    *([{"role": "user"}], [{"role": "tool", "content": "x"}], {"type": "json_schema", "json_schema": {"schema": {}}}),
]


@pytest.mark.parametrize("path", _BODIES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 40))])
def test_every_request_gets_an_answer_or_a_problem(bough: Bough, path: str, seed: int) -> None:
    dice = random.Random(f"{path} {seed}")
    host, port = bough.url.removeprefix("http://").split(":")
    with contextlib.closing(http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)) as connection:
        for _ in range(50):
            body = copy.deepcopy(_BODIES[path])
            for _ in range(dice.randint(1, 2)):
                _change(body, dice)
            data = json.dumps(body).encode("utf-8", "replace")
            if dice.random() < 0.15:
                place = dice.randrange(len(data))
                data = data[:place] + bytes([dice.randrange(256)]) * dice.randint(0, 2) + data[place + 1 :]
            connection.request(
                "POST", path, data, {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
            )
            reply = connection.getresponse()
            text = reply.read()
            assert reply.status in {200, 400, 404}, (data, text)
            if reply.status != 200:
                error = json.loads(text)["error"]
                assert error["message"], data
                assert set(error) == {"message", "type", "param", "code"}
    assert bough.errors == []


def _change(body: Any, dice: random.Random) -> None:
    """Change or remove a value somewhere in a body."""
    while True:
        keys: list[Any] = list(body) if isinstance(body, dict) else list(range(len(body)))
        if not keys:
            return
        key: Any = dice.choice(keys)
        inner = body[key]
        if isinstance(inner, dict | list) and inner and dice.random() < 0.6:
            body = inner
        elif dice.random() < 0.15:
            del body[key]
            return
        else:
            # Nothing that writes many or long answers.
            usual = [1] if key in {"max_tokens", "max_output_tokens", "n"} else []
            values = [*_VALUES, *usual] if key != "model" else ["guide", "x", 1, None]
            # A later change of this value must not change the other requests.
            body[key] = copy.deepcopy(dice.choice(values))
            if key in {"max_tokens", "max_output_tokens"} and body[key] is None:
                body[key] = 1
            return
