"""The Responses API, as OpenAI's own client uses it."""

from __future__ import annotations

from typing import Any

import openai
import pytest

_IMAGE = {"type": "input_image", "image_url": "data:,"}
_ASKED: dict[str, Any] = {"model": "guide", "input": "How do I fork a conversation?", "temperature": 0}


def test_a_stream_says_the_same_as_a_whole_response(client: openai.OpenAI) -> None:
    whole = client.responses.create(**_ASKED)
    assert (whole.status, whole.output[0].type) == ("completed", "message")
    assert len(whole.output_text) > 20
    with client.responses.stream(**_ASKED) as stream:
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


def test_a_response_goes_on_from_an_earlier_one(client: openai.OpenAI) -> None:
    first = client.responses.create(**_ASKED)
    second = client.responses.create(
        model="guide", input="And how do I undo that?", previous_response_id=first.id, temperature=0
    )
    asked: Any = [
        {"role": "user", "content": _ASKED["input"]},
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
    unkept = client.responses.create(**_ASKED, store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(unkept.id)


def test_a_response_that_is_cut_says_so(client: openai.OpenAI) -> None:
    whole = client.responses.create(**_ASKED, max_output_tokens=3, instructions="Be short.")
    assert whole.status == "incomplete"
    assert whole.incomplete_details is not None
    assert whole.incomplete_details.reason == "max_output_tokens"


def test_a_response_has_log_probabilities(client: openai.OpenAI) -> None:
    whole = client.responses.create(**_ASKED, include=["message.output_text.logprobs"], top_logprobs=2)
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
def test_what_would_change_the_answer_is_refused_by_name(
    client: openai.OpenAI, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as found:
        client.responses.create(**{**_ASKED, **fields})
    assert found.value.param == param
