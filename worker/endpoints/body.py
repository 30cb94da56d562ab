"""Converts a `generate` command to the body of a request.

Equal commands give equal bytes, so the server's prompt cache is used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from worker.errors import UnsupportedError
from worker.protocol import Generate, Message, Sampling, ServerFacts
from worker.sentence import Sentence
from worker.values import ContinuedBy

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


_GO_ON = {"continue_final_message": True, "add_generation_prompt": False}


def body_of(command: Generate, model: str, seed: int, facts: ServerFacts) -> dict[str, Any]:
    """Return the body of the request for one answer. `facts` say what the server can do.

    Stop strings are not sent. Bough finds them itself, because servers cut at different places and do not say which
    stop string they found. Log-probabilities are left out if the server gives none. Raises `UnsupportedError`.
    """
    _refuse(command, facts)
    assert isinstance(command.messages, list)
    body: dict[str, Any] = {
        "model": model,
        "messages": turns_of(command.messages)[0],
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
    if command.top_logprobs and facts.has_logprobs:
        body |= {"logprobs": True, "top_logprobs": command.top_logprobs}
    if command.constraint is not None:
        schema = {"name": "answer", "schema": command.constraint.value, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if command.template_options:
        body["chat_template_kwargs"] = command.template_options
    given = given_text(command)
    return with_given(body, given, facts.continued_by) if given else body


def with_given(body: dict[str, Any], given: str, way: ContinuedBy) -> dict[str, Any]:
    """Return a request whose answer begins with a given text, in one of the ways in which servers take it."""
    turn: dict[str, Any] = {"role": "assistant", "content": given}
    if way == "prefix":
        turn["prefix"] = True
    body = {**body, "messages": [*body["messages"], turn]}
    if way.startswith("fields"):
        body |= _GO_ON
    if way == "fields_without_thinking":
        body["chat_template_kwargs"] = {
            **body.get("chat_template_kwargs", {}),
            "enable_thinking": False,
        }
    return body


def given_text(command: Generate) -> str:
    """Return the beginning of the answer to continue; empty if there is none, or if it is not given as text."""
    given = command.continuation
    return "" if given is None or given.text is UNSET else given.text


def _refuse(command: Generate, facts: ServerFacts) -> None:
    """Raise `UnsupportedError` if a command asks for more than a server can do."""
    if not isinstance(command.messages, list):
        raise UnsupportedError(
            Sentence(
                "Models of servers can only answer conversations. Choose a model on this computer to continue a text."
            )
        )
    given = given_text(command)
    if command.continuation is not None and not facts.continued_by:
        raise UnsupportedError(
            Sentence(
                "This server can't continue the beginning of an answer. The text is kept. Ask again for a new "
                "answer, or choose a model on this computer to continue it."
            )
        )
    if command.continuation is not None and (not given or given.startswith(THINK)):
        raise UnsupportedError(
            Sentence(
                "A server can continue only the text of an answer, not tokens or reasoning. The text is kept. "
                "Continue it from another place, or choose a model on this computer."
            )
        )
    if given != given.rstrip() and not facts.keeps_end:
        raise UnsupportedError(
            Sentence(
                "This server leaves out spaces and line ends at the end of a given text, so the answer would not go on "
                "exactly there. The text is kept. Continue it from the word before, or choose another token."
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


def turns_of(messages: Sequence[Message]) -> tuple[list[dict[str, Any]], bool]:
    """Return the messages of a request, and whether tool calls among them are sent as text.

    Servers refuse calls without a result, results without a call, and ids that occur twice. Then all calls of the
    conversation and their results become text, so that nothing is left out.
    """
    if not any(message.tool_calls or message.role == "tool" for message in messages):
        return [_turn(message) for message in messages], False
    if _are_calls_whole(messages):
        return [_turn(message) for message in messages], False
    return [_as_text(message) for message in messages], True


def _are_calls_whole(messages: Sequence[Message]) -> bool:
    """Return whether each tool call has an id of its own, and its result follows before any other turn."""
    seen: set[str] = set()
    awaited: set[str] = set()
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id not in awaited:
                return False
            awaited.discard(message.tool_call_id)
            continue
        if awaited:
            return False
        ids = [call.id for call in message.tool_calls]
        if "" in ids or len({*ids}) < len(ids) or not seen.isdisjoint(ids):
            return False
        seen.update(ids)
        awaited.update(ids)
    return not awaited


def _turn(message: Message) -> dict[str, Any]:
    match message.role:
        case "assistant":
            turn: dict[str, Any] = {"role": "assistant", "content": without_thought(message.content)}
            if message.tool_calls:
                turn["tool_calls"] = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": _json(call.arguments)},
                    }
                    for call in message.tool_calls
                ]
            return turn
        case "tool":
            return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
        case "system" | "user":
            return {"role": message.role, "content": message.content}


def _as_text(message: Message) -> dict[str, Any]:
    """Return a turn in which tool calls and results are text."""
    if message.role == "tool":
        return {"role": "user", "content": f"[{message.name or 'tool'} → {message.content}]"}
    calls = [f"[{call.name}({_json(call.arguments)})]" for call in message.tool_calls]
    turn = _turn(msgspec.structs.replace(message, tool_calls=[]))
    return {**turn, "content": "\n".join(part for part in (turn["content"], *calls) if part)}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def without_thought(content: str) -> str:
    """Return an answer without the reasoning before it, as chat templates leave it out of later prompts."""
    begin, end = THINK.strip(), THINK_END.strip()
    if not content.startswith(begin) or end not in content:
        return content
    return content.partition(end)[2].lstrip()
