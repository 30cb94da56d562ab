"""A model for the local API's benchmark: its calls of a tool are cut into tokens at every byte, and it reasons."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from tests.models import byte_level_tokenizer, write_scripted_model

TOOL: dict[str, Any] = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
}
TEXT = "I ask for it.\n"
ARGUMENTS: dict[str, Any] = {"city": 'Rome {"a": [1]}\n', "days": 2}
WAYS = "abcdefghi"
"""The ways to cut a call. The last character of a chat chooses one."""

_THOUGHTS = ["<think>", "\nLet me", " see.", "\n</think>", "\n\nIt", " rains."]
_TEMPLATE = """\
{%- if tools %}{{- "<|im_start|>system\\n" }}{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}
{{- "<|im_end|>\\n" }}{%- endif %}
{%- for message in messages %}
    {{- "<|im_start|>" + message.role + "\\n" + (message.content or "") }}
    {%- for tool_call in message.tool_calls or [] %}
        {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
        {{- "\\n<tool_call>\\n" + ({"name": tool_call.name, "arguments": tool_call.arguments} | tojson) }}
        {{- "\\n</tool_call>" }}
    {%- endfor %}
    {{- "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|im_start|>assistant\\n" }}
    {%- if tools %}{{- messages[-1].content[-1] }}{%- endif %}
{%- endif %}
{#- <think> … </think> #}"""


def write_caller(folder: Path) -> Path:
    """Write a model that calls `TOOL` with `ARGUMENTS` behind `TEXT`, and reasons where there are no tools.

    Its template leaves earlier reasoning out.
    """
    arguments = json.dumps(ARGUMENTS)
    whole = f'{TEXT}<tool_call>\n{{"name": "weather", "arguments": {arguments}}}\n</tool_call>'
    ways: list[list[str]] = []
    for number in range(len(WAYS)):
        places = sorted({0, *range(number + 1, len(whole), len(WAYS)), len(whole)})
        ways.append([whole[start:end] for start, end in itertools.pairwise(places)])
    tokenizer = byte_level_tokenizer()
    # Bough writes the parts of a call that its schema determines; the model writes the others.
    rest = arguments[1:-1]
    pieces = {*_THOUGHTS, rest, *(piece for way in ways for piece in way if len(piece) > 1)}
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in sorted(pieces)])
    one = {text: tokenizer.encode(text).ids[0] for text in (*pieces, *WAYS, *"\n{}:2")}
    successor = dict(itertools.pairwise(one[text] for text in ("\n", *_THOUGHTS)))
    successor |= {one["{"]: one[rest], one[rest]: one["}"], one[":"]: one["2"], one["2"]: one["}"]}
    for name, way in zip(WAYS, ways, strict=True):
        ids = [token_id for piece in way for token_id in tokenizer.encode(piece).ids]
        successor |= dict(itertools.pairwise([one[name], *ids]))
    return write_scripted_model(folder, tokenizer, successor, context_length=1_000_000, chat_template=_TEMPLATE)
