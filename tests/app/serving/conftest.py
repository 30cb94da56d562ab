"""A server that the tests of the local API share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tokenizers import AddedToken

from tests.app.serving.owned import Owned
from tests.app.serving.running import Bough
from tests.later import openai
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
    # The grammar of calls forces the text up to this.
    *('"city": "R', 'ome", "days": 2}}', "\n</tool_call>"),
]
LONG_PIECE = "la " * 300


@pytest.fixture(scope="package")
def bough(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bough]:
    """`bough serve` with the guide. Tests leave nothing running."""
    with Bough(tmp_path_factory.mktemp("serving")) as running:
        running.wait_until_ready()
        yield running
        assert running.end() == 0
        assert running.errors == []


@pytest.fixture
def client(bough: Bough) -> Iterator[openai.OpenAI]:
    with bough.openai() as client:
        yield client


@pytest.fixture(scope="session")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reasons and calls a tool in each chat. After a raw text that ends in "a" it writes "baba…".

    After `LONG_PIECE` it repeats that.
    """
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in (*_PIECES, LONG_PIECE)])
    ids = [*tokenizer.encode("\n").ids, *(tokenizer.encode(piece).ids[0] for piece in _PIECES)]
    (a,), (b,) = tokenizer.encode("a").ids, tokenizer.encode("b").ids
    folder = tmp_path_factory.mktemp("models") / "talker"
    (brace,), (long,) = tokenizer.encode("{").ids, tokenizer.encode(LONG_PIECE).ids
    successor = {**dict(itertools.pairwise(ids)), brace: ids[8], a: b, b: a, long: long}
    return write_scripted_model(folder, tokenizer, successor, context_length=1_000_000, chat_template=_TEMPLATE)


@pytest.fixture(scope="package")
def shared_talking(talker: Path) -> Iterator[Owned]:
    with Owned(talker) as owned:
        yield owned.ready()


@pytest.fixture
def talking(shared_talking: Owned) -> Owned:
    """An owner with the talker, without the news of earlier tests."""
    while not shared_talking.news.empty():
        shared_talking.news.get()
    return shared_talking
