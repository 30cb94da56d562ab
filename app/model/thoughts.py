"""Finds a model's reasoning before its answer, by the marks of all common model families."""

from __future__ import annotations

import bisect
import itertools
import re
from typing import NamedTuple

from app.model.message import Message, ThoughtMarks

_MARKS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|channel>thought\n": "<channel|>",
}
"""The marks at the beginning and at the end of a thought."""
_UNOPENED_ENDS = ("</think>", "</seed:think>", "[/THINK]", "◁/think▷")
_UNOPENED = re.compile(rf"(?:\A|\n)[^`\n]*?(?P<mark>{'|'.join(map(re.escape, _UNOPENED_ENDS))})[ \t]*(?=\n|\Z)")
"""The end of a thought that began in the prompt."""
_ANSWER_MARKS = re.compile(
    r"\s*(?:(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>|<\|begin_of_solution\|>|<\|START_RESPONSE\|>)?\s*"
)
_MAX_MARK_CHARS = max(map(len, (*_MARKS, *_MARKS.values())))


class Thought(NamedTuple):
    """A thought, and the position in the message's text where the answer begins."""

    text: str
    answer_start: int
    is_closed: bool


def thought_of(message: Message) -> Thought | None:
    """Return the thought of an answer; None if it has none, and for other messages."""
    record = message.record
    return None if message.role != "assistant" else split_thought(message.text, record and record.thought_marks)


def split_thought(text: str, own: ThoughtMarks | None = None) -> Thought | None:
    """Return the thought at the beginning of a text; None if there is none.

    `own`: the marks that the user set for the model, which are tried first.
    """
    start = len(text) - len(text.lstrip())
    pairs = itertools.chain([own] if own is not None and own[1] else [], _MARKS.items())
    for opening, closing in pairs:
        if text.startswith(opening, start):
            begin = start + len(opening)
            end = text.find(closing, begin)
            if end < 0 and not opening:
                continue
            if end < 0:
                return Thought(text[begin:].strip("\n"), len(text), is_closed=False)
            return Thought(text[begin:end].strip("\n"), _answer_start(text, end + len(closing)), is_closed=True)
    # Most texts have no mark; this quick check avoids a search line by line.
    found = _UNOPENED.search(text) if any(mark in text for mark in _UNOPENED_ENDS) else None
    if found is None:
        return None
    return Thought(text[: found.start("mark")].strip("\n"), _answer_start(text, found.end("mark")), is_closed=True)


def without_marks(message: Message) -> str:
    """Return the text of a message and its thought, without the marks that delimit the thought."""
    text, thought = message.text, thought_of(message)
    return text if thought is None else f"{thought.text.strip()}\n{text[thought.answer_start :]}".strip("\n")


def may_become_thought(text: str, own: ThoughtMarks | None = None) -> bool:
    """Return whether a text may still become the opening mark of a thought."""
    start = text.lstrip()
    if own is not None and own[1] and len(start) < len(own[0]) and own[0].startswith(start):
        return True
    return len(start) < _MAX_MARK_CHARS and any(mark.startswith(start) for mark in _MARKS)


def may_end_thought(text: str, num_new: int, own: ThoughtMarks | None = None) -> bool:
    """Return whether the last `num_new` characters of a text may end a thought that began in the prompt."""
    ends = _UNOPENED_ENDS if own is None or own[0] or not own[1] else (*_UNOPENED_ENDS, own[1])
    tail = text[-(num_new + max(_MAX_MARK_CHARS, *map(len, ends))) :]
    return any(mark in tail for mark in ends)


def thought_seconds(message: Message, thought: Thought) -> float | None:
    """Return the estimated duration of a thought, at the answer's mean speed; None if the record lacks it."""
    record = message.record
    if record is None or record.figures.tokens_per_s <= 0 or not message.text:
        return None
    if record.token_chars:
        ends = list(itertools.accumulate(record.token_chars))
        num_tokens = bisect.bisect_right(ends, thought.answer_start)
    else:
        num_tokens = round(record.figures.new_tokens * thought.answer_start / len(message.text))
    return num_tokens / record.figures.tokens_per_s


def _answer_start(text: str, end: int) -> int:
    found = _ANSWER_MARKS.match(text, end)
    return end if found is None else found.end()
