"""Estimates how many tokens a prompt has, without asking the worker."""

from __future__ import annotations

from collections.abc import Sequence

from app.model.message import Message

_CHARS_PER_TOKEN = 5
"""Characters per token. Most texts have fewer."""


def question(text: str) -> Message:
    """Return a question that is not stored yet."""
    return Message(id=0, parent_id=None, role="user", text=text)


def fewest_tokens(prompt: Sequence[Message], model: str) -> int:
    """Return an estimate of the tokens in a prompt for a model, rather too low than too high.

    The record of the last answer by this model has the exact number up to there.
    """
    known, rest = 0, prompt
    for number, message in reversed(list(enumerate(prompt))):
        record = message.record
        if record is not None and record.model == model and record.figures.prompt_tokens:
            known, rest = record.figures.prompt_tokens + record.figures.new_tokens, prompt[number + 1 :]
            break
    num_chars = sum(len(message.text) for message in rest if message.role not in {"root", "note"} or _is_turn(message))
    return known + num_chars // _CHARS_PER_TOKEN


def _is_turn(note: Message) -> bool:
    return note.record is not None and note.record.sent is not None
