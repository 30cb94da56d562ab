"""The local API, as OpenAI's own client uses it."""

from __future__ import annotations

import json
from typing import Any

import openai
import psutil
import pytest
from openai.types.chat import ChatCompletionMessageParam

from tests.app.serving.running import Bough

_QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "How do I fork a conversation?"}]


def test_a_stream_says_the_same_as_a_whole_answer(client: openai.OpenAI) -> None:
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


def test_completions_go_on_from_several_prompts(client: openai.OpenAI) -> None:
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
