"""Branches as JSON Lines that models are tuned with: OpenAI's chat form, ShareGPT's, and preferences of siblings.

A branch is told up to its last answer; one without an answer teaches nothing and is left out. What branches share is
walked and encoded once, and a line is all that is held of them, so a deep tree takes the time that its lines take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from app.model.exports.captions import is_told, text_of
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Piece
from app.model.message import Message, MessageId

_LINE_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_SHAREGPT_ROLES = {"system": "system", "user": "human", "assistant": "gpt"}


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
    """Yield a line for each answer that another one was shown instead of: `{"prompt", "chosen", "rejected"}`."""
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
    """Empty: it is not told."""
    num_told: int
    """How many steps down to here lead to the last answer."""


class _Line:
    """The way from the top down to a message; going to another one keeps what both share."""

    def __init__(
        self, excerpt: Excerpt, options: Options, encode: Callable[[Message, Options], str], *, is_prompt: bool = False
    ) -> None:
        """`is_prompt`: whether answers are told that teach nothing, for something was said after them."""
        self._excerpt, self._options, self._encode, self._is_prompt = excerpt, options, encode, is_prompt
        self._steps: list[_Step] = []
        self._places: dict[MessageId, int] = {}

    @property
    def answer_id(self) -> MessageId | None:
        """The last answer on the way."""
        num_told = self._steps[-1].num_told if self._steps else 0
        return self._steps[num_told - 1].message.id if num_told else None

    def turns(self) -> str:
        """Return what is told on the way; of a branch, down to its last answer."""
        num_told = len(self._steps) if self._is_prompt else self._steps[-1].num_told
        return ",".join([step.turn for step in self._steps[:num_told] if step.turn])

    def go_to(self, message_id: MessageId) -> None:
        new: list[Message] = []
        seen: set[MessageId] = set()
        current: MessageId | None = message_id
        while (
            current is not None
            and current in self._excerpt.tree
            and current not in self._places
            and current not in seen
        ):
            seen.add(current)
            new.append(self._excerpt.tree[current])
            current = new[-1].parent_id
        num_shared = 0 if current is None or current not in self._places else self._places[current] + 1
        for step in self._steps[num_shared:]:
            del self._places[step.message.id]
        del self._steps[num_shared:]
        for message in reversed(new):
            self._push(message)

    def _push(self, message: Message) -> None:
        is_turn = message.role != "note" and is_told(message, self._options)
        is_answer = is_turn and _is_answer(message)
        is_told_here = is_turn and (self._is_prompt or message.role != "assistant" or is_answer)
        place = len(self._steps)
        num_told = place + 1 if is_answer else self._steps[-1].num_told if self._steps else 0
        self._places[message.id] = place
        self._steps.append(_Step(message, self._encode(message, self._options) if is_told_here else "", num_told))


def _branches(
    excerpt: Excerpt, options: Options, encode: Callable[[Message, Options], str]
) -> Iterator[tuple[MessageId | None, str, int]]:
    """Yield each branch up to its last answer, once: that answer, the turns, how many messages are told by now more."""
    line = _Line(excerpt, options, encode)
    told: set[MessageId] = set()
    num_done, num_leaves = 0, len(excerpt.leaves)
    for number, leaf in enumerate(excerpt.leaves, 1):
        line.go_to(leaf)
        num_new = len(excerpt.messages) * number // num_leaves - num_done
        num_done += num_new
        answer_id = line.answer_id
        if answer_id is None or answer_id in told:
            yield None, "", num_new
        else:
            told.add(answer_id)
            yield answer_id, line.turns(), num_new


def _is_answer(message: Message) -> bool:
    """Whether this is an answer that teaches something."""
    return message.role == "assistant" and bool(message.text.strip()) and message.state not in {"failed", "streaming"}


def _openai_turn(message: Message, options: Options) -> str:
    return _encoded({"role": message.role, "content": text_of(message, options)})


def _sharegpt_turn(message: Message, options: Options) -> str:
    return _encoded({"from": _SHAREGPT_ROLES.get(message.role, message.role), "value": text_of(message, options)})


def _encoded(turn: dict[str, str]) -> str:
    # Some readers take these for the end of a line.
    return msgspec.json.encode(turn).decode().translate(_LINE_BREAKS)
