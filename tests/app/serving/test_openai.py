"""The local API, as OpenAI's own client uses it."""

from __future__ import annotations

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
