"""Converts a `generate` command to the body of a request.

Equal commands give equal bytes, so the server's prompt cache is used.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import UNSET

from worker.errors import UnsupportedError
from worker.protocol import Generate, Message, Sampling
from worker.sentence import Sentence

THINK, THINK_END = "<think>\n", "\n</think>\n\n"
"""The texts around the reasoning in an answer's text."""

_USUAL = Sampling()
_NAMES = {
    "top_k": "top_k",
    "min_p": "min_p",
    "repetition_penalty": "repetition_penalty",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""Fields of `Sampling` that are sent if they differ from their default values, and their names in the request.

Some servers refuse requests with fields that OpenAI's API does not have."""


GO_ON = {"continue_final_message": True, "add_generation_prompt": False}
"""Fields that let vLLM and SGLang continue an answer at the end of the messages. llama.cpp's server needs none."""


def body_of(command: Generate, model: str, seed: int, *, can_continue: bool) -> dict[str, Any]:
    """Return the body of the request for one answer.

    `can_continue`: whether the server continues the beginning of an answer.

    Stop strings are not sent. Bough finds them itself, because servers cut at different places and do not say which
    stop string they found. Raises `UnsupportedError`.
    """
    _refuse(command, can_continue=can_continue)
    assert isinstance(command.messages, list)
    body: dict[str, Any] = {
        "model": model,
        "messages": [_turn(message) for message in command.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": command.sampling.temperature,
        # These are always sent, because some servers have other defaults, such as those that the model's makers
        # suggest.
        "top_p": command.sampling.top_p,
        "seed": seed,
    }
    for field, name in _NAMES.items():
        if (value := getattr(command.sampling, field)) != getattr(_USUAL, field):
            body[name] = value
    if command.max_tokens is not None:
        body["max_tokens"] = command.max_tokens
    if command.constraint is not None:
        schema = {"name": "answer", "schema": command.constraint.value, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if given := given_text(command):
        body["messages"].append({"role": "assistant", "content": given})
        body |= GO_ON
    if command.template_options:
        body["chat_template_kwargs"] = command.template_options
    return body


def given_text(command: Generate) -> str:
    """Return the beginning of the answer to continue; empty if there is none, or if it is not given as text."""
    given = command.continuation
    return "" if given is None or given.text is UNSET else given.text


def _refuse(command: Generate, *, can_continue: bool) -> None:
    """Raise `UnsupportedError` if a command asks for more than a server can do."""
    if not isinstance(command.messages, list):
        raise UnsupportedError(
            Sentence(
                "Models of servers can only answer conversations. Choose a model on this computer to continue a text."
            )
        )
    if command.continuation is not None and not can_continue:
        raise UnsupportedError(
            Sentence(
                "This server can't continue the beginning of an answer. The text is kept. Ask again for a new "
                "answer, or choose a model on this computer to continue it."
            )
        )
    if command.continuation is not None and (not given_text(command) or given_text(command).startswith(THINK)):
        raise UnsupportedError(
            Sentence(
                "A server can continue only the text of an answer, not a chosen token or reasoning. The text is "
                "kept. Continue it from another place, or choose a model on this computer."
            )
        )
    if command.continuation is not None and command.constraint is not None:
        raise UnsupportedError(
            Sentence(
                "A server can apply an answer format only from the beginning of an answer. The text is kept. Remove "
                "the format to continue this answer, or ask again."
            )
        )
    if command.constraint is not None and command.constraint.kind != "json_schema":
        raise UnsupportedError(
            Sentence(
                "Models of servers support only JSON schemas as answer formats. Choose another format, or a model "
                "on this computer."
            )
        )
    if command.hooks or command.segments:
        raise UnsupportedError(
            Sentence("Hooks need a model on this computer. Turn them off for this answer, or choose another model.")
        )
    if command.tools:
        raise UnsupportedError(
            Sentence(
                "The system prompt of this conversation offers tools, which only models on this computer can call "
                "here. Choose one of them."
            )
        )
    if command.sampling.logit_bias:
        raise UnsupportedError(
            Sentence(
                "The token ids of a server's model are not known, so the probabilities of tokens can't be changed."
            )
        )


def _turn(message: Message) -> dict[str, Any]:
    match message.role:
        case "assistant":
            turn: dict[str, Any] = {"role": "assistant", "content": without_thought(message.content)}
            if message.tool_calls:
                turn["tool_calls"] = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
                    }
                    for call in message.tool_calls
                ]
            return turn
        case "tool":
            return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
        case "system" | "user":
            return {"role": message.role, "content": message.content}


def without_thought(content: str) -> str:
    """Return an answer without the reasoning before it, as chat templates leave it out of later prompts."""
    begin, end = THINK.strip(), THINK_END.strip()
    if not content.startswith(begin) or end not in content:
        return content
    return content.partition(end)[2].lstrip()
