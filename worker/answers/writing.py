"""One choice of a request as it is written, segment after segment; it knows no model that computes.

Most choices are a single segment. Each segment is an `Answer` that goes on from all before it, with stop strings and
a form of its own; where one was cut, the next goes on from the cut.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from worker.answers.answer import Answer
from worker.answers.lineage import Lineage
from worker.cache.token_tree import num_common
from worker.decoding.drawn import Drawn
from worker.errors import ConstraintInvalidError
from worker.protocol import Choice, Chunk, FinishReason, RequestId, WrittenSegment
from worker.text.characters import split_characters
from worker.text.constraint import Constraint
from worker.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class SegmentPlan:
    """What one segment shall be."""

    stops: Sequence[str]
    constraint: Constraint | None
    """At its beginning; of the first one it has taken what is given."""
    max_tokens: int | None = None
    bare: Constraint | None = None
    """Where the form stands behind what is given: the form alone, whatever may stand in front of `constraint`."""


class TakenBack(NamedTuple):
    """What of an answer does not stand any more."""

    num_chars: int
    """Of what was safe to show."""
    num_told: int
    """Tokens that were told of."""
    num_given_chars: int = 0
    """Of what was given."""
    text: str = ""
    """What of those characters stands again, in other tokens: safe to show."""


class Writing:
    """One choice."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        plans: Sequence[SegmentPlan],
        given_ids: Sequence[int],
        given_text: str | None,
        max_tokens: int,
        room: int = sys.maxsize,
    ) -> None:
        """`given_ids`: what it goes on from; where they are `given_text`, its seam may lie anywhere.

        `room`: how many tokens the context has room for behind those that the model reads first.
        """
        self._vocabulary = vocabulary
        self._plans = plans
        self._max_tokens = max_tokens
        self._room = room
        self._ended: list[Answer] = []
        self._given_ids = list(given_ids)
        self._given_text = given_text
        self._answer = self._begun(plans[0], given_ids, given_text)
        self._is_over = False
        self._num_kept = len(self._answer.kept_ids)
        self._num_given_back = self._num_given_chars_back = 0
        """How much of what was given is taken back: tokens, and characters."""
        self._lineage = Lineage()

    def _begun(
        self, plan: SegmentPlan, given_ids: Sequence[int], given_text: str | None = None, *, is_told: bool = False
    ) -> Answer:
        constraint = None if plan.constraint is None else plan.constraint.copy()
        return Answer(self._vocabulary, plan.stops, given_ids, given_text, constraint, is_told=is_told)

    @property
    def answer(self) -> Answer:
        """The segment that is being written."""
        return self._answer

    @property
    def is_over(self) -> bool:
        """Whether all of it is written, or nothing more is wanted of it."""
        return self._is_over

    @property
    def num_tokens(self) -> int:
        """Tokens drawn or forced so far."""
        return sum(len(answer.token_ids) for answer in (*self._ended, self._answer))

    @property
    def num_own(self) -> int:
        """How many of its tokens are not those of one that it is a fork of."""
        return self.num_tokens - self._lineage.num_shared

    @property
    def num_own_forced(self) -> int:
        """Of those, the ones that nobody drew."""
        origins = [origin for answer in (*self._ended, self._answer) for origin in answer.origins]
        return origins[self._lineage.num_shared :].count("forced")

    @property
    def _first(self) -> Answer:
        return (self._ended or [self._answer])[0]

    @property
    def given_ids(self) -> Sequence[int]:
        """What is left of the tokens that it goes on from, as the model reads them, those spelled again included."""
        first = self._first
        if self._ended and not first.text:
            return first.turn_ids
        return first.kept_ids + first.token_ids[: first.num_spelled_again]

    @property
    def new_ids(self) -> Sequence[int]:
        """The tokens behind those; not to be changed. Of segments that have ended, those that are kept."""
        answer = self._answer
        if not self._ended:
            number = answer.num_spelled_again
            return answer.token_ids[number:] if number else answer.token_ids
        return (answer.kept_ids + answer.token_ids)[len(self.given_ids) :]

    @property
    def position(self) -> int:
        """How many tokens there are of it; fewer than none where given ones are taken back."""
        return len(self.new_ids) - self._num_given_back

    @property
    def place(self) -> int:
        """The same counted from the first token that was drawn, be it one that spells given text again."""
        return len(self._first.kept_ids) - self._num_kept + self.num_tokens

    @property
    def num_left(self) -> int:
        """How many tokens its segment may still have."""
        most = self._plans[len(self._ended)].max_tokens
        left = self.num_left_in_all
        return left if most is None else min(left, most - len(self._answer.token_ids))

    @property
    def num_left_in_all(self) -> int:
        """How many tokens it may still have, whatever its segments may have."""
        answer = self._answer
        return self._num_left_behind(len(answer.kept_ids) + len(answer.token_ids))

    def _num_left_behind(self, num_read: int) -> int:
        """The same once the model has read so many tokens of the turn: what was cut may be more than was drawn."""
        return min(self._max_tokens - self.num_tokens, self._room + self._num_kept - num_read)

    def raw_text(self) -> str:
        """Return their text, with what is held back; of segments that have ended, what is kept."""
        return "".join([*(answer.text for answer in self._ended), self._answer.raw_text()])

    @property
    def num_shown(self) -> int:
        """Characters that are safe to show."""
        return sum(len(answer.text) for answer in (*self._ended, self._answer))

    @property
    def num_told(self) -> int:
        """Tokens that were told of."""
        return sum(answer.num_told for answer in (*self._ended, self._answer))

    def take(self, drawn: Drawn | None) -> tuple[str, list[int]]:
        """Take the next token, if there is one, and those that must follow it; each may end the segment.

        Returns the text that is now safe, and what had to follow.
        """
        answer = self._answer
        text = "" if drawn is None else answer.take(drawn)
        forced = answer.forced()[: self.num_left]
        for token_id in forced:
            text += answer.take(Drawn(token_id), is_forced=True)
            if answer.reason is not None:
                break
        return text + self._looked_at_end(), forced

    def put(self, token_id: int, *, feed_constraint: bool = True) -> str:
        """Let a token follow that nobody drew; return the text that is now safe. It may end the segment."""
        text = self._answer.take(Drawn(token_id), is_forced=True, feed_constraint=feed_constraint)
        return text + self._looked_at_end()

    def _looked_at_end(self) -> str:
        """End it where it is as long as it may be; return the text that was held back."""
        answer = self._answer
        text = answer.end("length") if answer.reason is None and self.num_left <= 0 else ""
        if answer.reason is not None:
            is_last = len(self._ended) + 1 == len(self._plans)
            self._is_over = is_last or self._num_left_behind(len(answer.turn_ids)) <= 0
        return text

    def rewind(self, num_tokens: int) -> TakenBack:
        """Forget the last of `new_ids`, of segments before this one, too, and given ones where it has no more.

        Returns what is taken back.
        """
        num_given = max(0, num_tokens - len(self.new_ids))
        left = self.given_ids[: max(0, len(self.given_ids) - num_given)]
        num_left = len(self._answer.kept_ids) + len(self._answer.token_ids) - num_tokens
        num_chars = num_told = 0
        text = ""
        is_reopened = False
        while self._ended and (num_given or num_left < len(self._answer.kept_ids)):
            num_chars += len(self._answer.text)
            num_told += self._answer.num_told
            self._answer = self._ended.pop()
            is_reopened = not num_given
        if is_reopened:
            chars, told, text = self._answer.reopen(num_left)
        else:
            chars, told = self._answer.rewind(len(self._answer.token_ids) if num_given else num_tokens)
        self._is_over = False
        num_given_chars = self._go_on_from(left, num_given) if num_given else 0
        self._lineage.go_back(self.num_tokens)
        # What was cut anew may be more tokens than were drawn.
        text += self._looked_at_end()
        return TakenBack(num_chars + chars, num_told + told, num_given_chars, text)

    def _go_on_from(self, left: Sequence[int], num_back: int) -> int:
        """Go on from fewer of the given tokens; return how many characters that takes back of their text."""
        plan = self._plans[0]
        self._num_given_back += num_back
        constraint = None if plan.constraint is None else plan.constraint.copy()
        if plan.bare is not None:
            constraint = plan.bare.copy()
        elif constraint is not None and not self._refit(constraint, left):
            raise ConstraintInvalidError("What is left of the beginning does not fit the constraint.")
        self._answer = Answer(self._vocabulary, plan.stops, left, None, constraint, is_cut=True)
        num_before = self._num_given_chars_back
        given = self._given_text
        num_given_chars = self._num_chars_of(self._given_ids) if given is None else len(given)
        self._num_given_chars_back = max(num_before, num_given_chars - self._num_chars_of(left))
        return self._num_given_chars_back - num_before

    def _refit(self, constraint: Constraint, left: Sequence[int]) -> bool:
        """Have a form take `left`, which has taken the beginning that the model was first given."""
        num_same = num_common(self._given_ids[: self._num_kept], list(left))
        constraint.rewind(self._num_kept - num_same)
        return constraint.consume(left[num_same:])

    def _num_chars_of(self, token_ids: Sequence[int]) -> int:
        return len(split_characters(self._vocabulary.bytes_of(token_ids))[0])

    def copy(self) -> Writing:
        """Return an independent one in the same state, a fork of this one."""
        other = object.__new__(Writing)
        other.__dict__.update(self.__dict__)
        other._ended = [answer.copy() for answer in self._ended]
        other._answer = self._answer.copy()
        other._lineage = self._lineage.fork(self.num_tokens)
        return other

    def end(self, reason: FinishReason) -> str:
        """End it for a reason of its own; return the text that was held back."""
        self._is_over = True
        return "" if self._answer.reason is not None else self._answer.end(reason)

    def go_on(self) -> None:
        """Begin the next segment, behind what is kept of those before it."""
        ended = self._answer
        self._ended.append(ended)
        self._answer = self._begun(self._plans[len(self._ended)], ended.turn_ids, is_told=ended.is_told)

    def chunk(self, request_id: RequestId, choice: int, text: str) -> Chunk | None:
        """Return the event that shows `text`; None where nothing is to be told."""
        return self._answer.chunk(request_id, choice, text)

    @property
    def reason(self) -> FinishReason | None:
        """Why it ended, if it has."""
        return self._answer.reason if self._is_over else None

    def choice(self, seed: int) -> Choice:
        """Return all of it, finished."""
        if len(self._plans) == 1:
            return replace(self._answer.choice(seed), num_given_chars=self._num_given_chars_back)
        parts = [answer.choice(seed) for answer in (*self._ended, self._answer)]
        last = parts[-1]
        return Choice(
            text="".join(part.text for part in parts),
            token_ids=[token_id for part in parts for token_id in part.token_ids],
            num_recut=last.num_recut,
            seed=seed,
            reason=last.reason,
            stop=last.stop,
            turn_token_ids=last.turn_token_ids,
            turn_token_chars=last.turn_token_chars,
            num_given_chars=self._num_given_chars_back,
            segments=[
                WrittenSegment(text=part.text, token_ids=part.token_ids, reason=part.reason, stop=part.stop)
                for part in parts
            ],
        )
