"""Branches as JSON Lines that models are tuned with: OpenAI's chat form, ShareGPT's, and preferences of siblings.

A branch is told up to its last answer; one without an answer teaches nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from app.model.exports.part import Options, Part
from app.model.exports.wording import is_told, text_of
from app.model.exports.writing import Piece
from app.model.message import Message, MessageId

_SHAREGPT_ROLES = {"system": "system", "user": "human", "assistant": "gpt"}


def openai_records(part: Part, options: Options) -> Iterator[Piece]:
    """Yield a line for each branch: `{"messages": [{"role", "content"}, …]}`."""
    for branch in _branches(part, options):
        yield _line({"messages": _turns(branch, options)}, len(branch))


def sharegpt_records(part: Part, options: Options) -> Iterator[Piece]:
    """Yield a line for each branch: `{"id", "conversations": [{"from", "value"}, …]}`."""
    for branch in _branches(part, options):
        said = [
            {"from": _SHAREGPT_ROLES.get(message.role, message.role), "value": text_of(message, options)}
            for message in branch
        ]
        yield _line({"id": f"{part.conversation.id}-{branch[-1].id}", "conversations": said}, len(branch))


def preference_records(part: Part, options: Options) -> Iterator[Piece]:
    """Yield a line for each answer that another one was shown instead of: `{"prompt", "chosen", "rejected"}`."""
    for message in part.messages:
        answers = [
            part.tree[child]
            for child in part.tree.children(message.id)
            if _teaches(part.tree[child]) and part.tree[child].role == "assistant"
        ]
        if len(answers) < 2:
            continue
        shown = part.choices.get(message.id)
        chosen = next((answer for answer in answers if answer.id == shown), answers[-1])
        prompt = [above for above in part.tree.lineage(message.id) if _is_turn(above, options)]
        for answer in answers:
            if answer is not chosen:
                record = {
                    "prompt": _turns(prompt, options),
                    "chosen": _turns([chosen], options),
                    "rejected": _turns([answer], options),
                }
                yield _line(record, 1)


def _branches(part: Part, options: Options) -> Iterator[list[Message]]:
    """Yield each branch up to its last answer, once."""
    told: set[MessageId] = set()
    for leaf in part.leaves:
        line = [message for message in part.tree.lineage(leaf) if _is_turn(message, options)]
        while line and not (line[-1].role == "assistant" and _teaches(line[-1])):
            line.pop()
        if line and line[-1].id not in told:
            told.add(line[-1].id)
            yield [message for message in line if message.role != "assistant" or _teaches(message)]


def _is_turn(message: Message, options: Options) -> bool:
    return message.role != "note" and is_told(message, options)


def _teaches(message: Message) -> bool:
    return bool(message.text.strip()) and message.state not in {"failed", "streaming"}


def _turns(messages: list[Message], options: Options) -> list[dict[str, str]]:
    return [{"role": message.role, "content": text_of(message, options)} for message in messages]


def _line(record: dict[str, Any], num_messages: int) -> Piece:
    return Piece(msgspec.json.encode(record).decode() + "\n", num_messages)
