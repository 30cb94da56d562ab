"""Requests that are not as the API describes them: each gets an answer or a problem, never an error of Bough's."""

from __future__ import annotations

import copy
import http.client
import json
import random
from typing import Any

import pytest

from tests.app.serving.running import KEY, Bough
from tests.driver import PATIENCE_S

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
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
    for _ in range(50):
        body = copy.deepcopy(_BODIES[path])
        for _ in range(dice.randint(1, 2)):
            _change(body, dice)
        data = json.dumps(body).encode("utf-8", "replace")
        if dice.random() < 0.15:
            place = dice.randrange(len(data))
            data = data[:place] + bytes([dice.randrange(256)]) * dice.randint(0, 2) + data[place + 1 :]
        connection.request("POST", path, data, {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        assert reply.status in {200, 400, 404}, (data, text)
        if reply.status != 200:
            error = json.loads(text)["error"]
            assert error["message"], data
            assert set(error) == {"message", "type", "param", "code"}
    connection.close()
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
            body[key] = dice.choice([*_VALUES, *usual]) if key != "model" else dice.choice(["guide", "x", 1, None])
            if key in {"max_tokens", "max_output_tokens"} and body[key] is None:
                body[key] = 1
            return
