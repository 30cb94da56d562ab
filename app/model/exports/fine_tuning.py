"""Exports branches as JSON Lines for fine-tuning: OpenAI's chat format, ShareGPT's, and preferences.

A branch ends at its last answer, and is left out if it has none. Shared messages are encoded once, and only one branch
is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from app.model.attachment import text_read
from app.model.exports.captions import is_shown, text_of
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Piece
from app.model.message import Message, MessageId

_LINE_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_SHAREGPT_ROLES = {"system": "system", "user": "human", "file": "human", "assistant": "gpt"}


def openai_records(excerpt: Excerpt, options: Options) -> Iterator[Piece]:
    """Yield a line for each branch: `{"messages": [{"role", "content"}, …]}`."""
    for _, turns, num_new in _branches(excerpt, options, _openai_turn):
        yield Piece(f'{{"messages":[{turns}]}}\n' if turns else "", num_new)


def sharegpt_records(excerpt: Excerpt, options: Options) -> Iterator[Piece]:
    """Yield a line for each branch: `{"id", "conversations": [{"from", "value"}, …]}`."""
    for answer_id, turns, num_new in _branches(excerpt, options, _sharegpt_turn):
        line = f'{{"id":"{excerpt.conversation.id}-{answer_id}","conversations":[{turns}]}}\n'
        yield Piece(line if turns else "", num_new)


def preference_records(excerpt: Excerpt, options: Options) -> Iterator[Piece]:
    """Yield a line for each answer with a sibling that is shown instead: `{"prompt", "chosen", "rejected"}`."""
    line = _Line(excerpt, options, _openai_turn, is_prompt=True)
    for message in excerpt.messages:
        answers = [answer for child in excerpt.tree.children(message.id) if _is_answer(answer := excerpt.tree[child])]
        if len(answers) > 1:
            shown = excerpt.choices.get(message.id)
            chosen = next((answer for answer in answers if answer.id == shown), answers[-1])
            line.go_to(message.id)
            prompt, wanted = line.turns(), _openai_turn(chosen, options)
            for answer in answers:
                if answer is not chosen:
                    other = _openai_turn(answer, options)
                    yield Piece(f'{{"prompt":[{prompt}],"chosen":[{wanted}],"rejected":[{other}]}}\n')
        yield Piece("", 1)


class _Step(NamedTuple):
    message: Message
    turn: str
    """The message as JSON; empty if it is left out."""
    num_to_answer: int
    """The number of steps from the top to the last answer so far."""


class _Line:
    """The path from the top to a message. Moving to another message keeps the common part of both paths."""

    def __init__(
        self, excerpt: Excerpt, options: Options, encode: Callable[[Message, Options], str], *, is_prompt: bool = False
    ) -> None:
        """`is_prompt`: also include answers that failed or are empty, because messages follow them."""
        self._excerpt, self._options, self._encode, self._is_prompt = excerpt, options, encode, is_prompt
        self._steps: list[_Step] = []
        self._indices: dict[MessageId, int] = {}

    @property
    def answer_id(self) -> MessageId | None:
        """The last answer on the path."""
        num_steps = self._steps[-1].num_to_answer if self._steps else 0
        return self._steps[num_steps - 1].message.id if num_steps else None

    def turns(self) -> str:
        """Return the messages on the path as JSON: all for a prompt, those up to the last answer for a branch."""
        num_steps = len(self._steps) if self._is_prompt else self._steps[-1].num_to_answer
        return ",".join([step.turn for step in self._steps[:num_steps] if step.turn])

    def go_to(self, message_id: MessageId) -> None:
        new: list[Message] = []
        seen: set[MessageId] = set()
        current: MessageId | None = message_id
        while (
            current is not None
            and current in self._excerpt.tree
            and current not in self._indices
            and current not in seen
        ):
            seen.add(current)
            new.append(self._excerpt.tree[current])
            current = new[-1].parent_id
        num_shared = 0 if current is None or current not in self._indices else self._indices[current] + 1
        for step in self._steps[num_shared:]:
            del self._indices[step.message.id]
        del self._steps[num_shared:]
        for message in reversed(new):
            self._push(message)

    def _push(self, message: Message) -> None:
        is_turn = message.role != "note" and is_shown(message, self._options)
        is_answer = is_turn and _is_answer(message)
        is_included = is_turn and (self._is_prompt or message.role != "assistant" or is_answer)
        index = len(self._steps)
        num_to_answer = index + 1 if is_answer else self._steps[-1].num_to_answer if self._steps else 0
        self._indices[message.id] = index
        self._steps.append(_Step(message, self._encode(message, self._options) if is_included else "", num_to_answer))


def _branches(
    excerpt: Excerpt, options: Options, encode: Callable[[Message, Options], str]
) -> Iterator[tuple[MessageId | None, str, int]]:
    """Yield for each branch its last answer, its turns, and the progress in messages.

    The turns are empty for a branch without an answer, or with the last answer of an earlier branch.
    """
    line = _Line(excerpt, options, encode)
    done: set[MessageId] = set()
    num_done, num_leaves = 0, len(excerpt.leaves)
    for number, leaf in enumerate(excerpt.leaves, 1):
        line.go_to(leaf)
        num_new = len(excerpt.messages) * number // num_leaves - num_done
        num_done += num_new
        answer_id = line.answer_id
        if answer_id is None or answer_id in done:
            yield None, "", num_new
        else:
            done.add(answer_id)
            yield answer_id, line.turns(), num_new


def _is_answer(message: Message) -> bool:
    """Return whether a message is a complete answer, not an empty, failed or unfinished one."""
    return message.role == "assistant" and bool(message.text.strip()) and message.state not in {"failed", "streaming"}


def _openai_turn(message: Message, options: Options) -> str:
    role = "user" if message.role == "file" else message.role
    return json_line({"role": role, "content": _text(message, options)})


def _sharegpt_turn(message: Message, options: Options) -> str:
    return json_line({"from": _SHAREGPT_ROLES.get(message.role, message.role), "value": _text(message, options)})


def _text(message: Message, options: Options) -> str:
    return text_read(message) if message.role == "file" else text_of(message, options)


def json_line(value: Any) -> str:
    """Return a value as JSON on one line, for every reader."""
    # Some readers treat these characters as line ends.
    return msgspec.json.encode(value).decode().translate(_LINE_BREAKS)
