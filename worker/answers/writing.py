"""One choice of a request while it is generated, segment after segment. Independent of the model's computation.

Most choices are a single segment. Each segment is an `Answer` that continues all text before it, with its own stop
strings and constraint. If a stop string cut a segment, the next one continues from the cut.
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
from worker.decoding.sampled_token import SampledToken
from worker.errors import ConstraintInvalidError
from worker.protocol import Choice, Chunk, FinishReason, RequestId, WrittenSegment
from worker.sentence import Sentence
from worker.text.characters import split_characters
from worker.text.masks import Rule
from worker.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class SegmentPlan:
    """How to generate one segment."""

    stops: Sequence[str]
    constraint: Rule | None
    """The rule in its state at the start of the segment. The first segment's has consumed given text that it covers."""
    max_tokens: int | None = None
    """The limit of the segment; None means that it has no limit of its own."""
    bare: Rule | None = None
    """For a constraint on new text alone: this constraint, without given text that `constraint` may have before it."""


class TakenBack(NamedTuple):
    """How much of an answer a rewind took back."""

    num_chars: int
    """Characters of the text that could be shown."""
    num_sent: int
    """Tokens that were sent."""
    num_given_chars: int = 0
    """Characters of the given text."""
    text: str = ""
    """Text that can be shown again, in other tokens."""


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
        """`given_ids` are the tokens that the choice continues. With `given_text`, their text, token healing is used.

        `room` is how many more tokens the context can hold after those of the prompt and the given text.
        """
        self._vocabulary = vocabulary
        self._plans = plans
        self._max_tokens = max_tokens
        self._room = room
        self._ended: list[Answer] = []
        self._given_ids = list(given_ids)
        self._given_text = given_text
        self._answer = self._new_answer(plans[0], given_ids, given_text)
        self._is_over = False
        self._num_kept = len(self._answer.kept_ids)
        self._num_given_back = self._num_given_chars_back = 0
        """How much of the given text is taken back, in tokens and in characters."""
        self._lineage = Lineage()

    def _new_answer(
        self, plan: SegmentPlan, given_ids: Sequence[int], given_text: str | None = None, *, was_shown: bool = False
    ) -> Answer:
        constraint = None if plan.constraint is None else plan.constraint.copy()
        return Answer(self._vocabulary, plan.stops, given_ids, given_text, constraint, was_shown=was_shown)

    @property
    def answer(self) -> Answer:
        """The segment that is being written."""
        return self._answer

    @property
    def is_over(self) -> bool:
        """Whether the answer is complete or was ended."""
        return self._is_over

    @property
    def num_tokens(self) -> int:
        """Tokens sampled or forced so far."""
        return sum(len(answer.token_ids) for answer in (*self._ended, self._answer))

    @property
    def num_own(self) -> int:
        """How many tokens this answer does not share with the answer from which it was forked."""
        return self.num_tokens - self._lineage.num_shared

    @property
    def num_own_forced(self) -> int:
        """How many tokens that this answer does not share were forced rather than sampled."""
        origins = [origin for answer in (*self._ended, self._answer) for origin in answer.origins]
        return origins[self._lineage.num_shared :].count("forced")

    @property
    def _first(self) -> Answer:
        return (self._ended or [self._answer])[0]

    @property
    def given_ids(self) -> Sequence[int]:
        """The given tokens that were not taken back, including those spelled again."""
        first = self._first
        if self._ended and not first.text:
            return first.turn_ids
        return first.kept_ids + first.token_ids[: first.num_spelled_again]

    @property
    def new_ids(self) -> Sequence[int]:
        """The tokens after `given_ids`, without those that finished segments dropped. Must not be changed."""
        answer = self._answer
        if not self._ended:
            number = answer.num_spelled_again
            return answer.token_ids[number:] if number else answer.token_ids
        return (answer.kept_ids + answer.token_ids)[len(self.given_ids) :]

    @property
    def position(self) -> int:
        """How many new tokens there are; negative if given tokens were taken back."""
        return len(self.new_ids) - self._num_given_back

    @property
    def sampling_position(self) -> int:
        """The position of the next token, counted from the first sampled one, which may repeat given text."""
        return len(self._first.kept_ids) - self._num_kept + self.num_tokens

    @property
    def num_left(self) -> int:
        """How many more tokens the current segment may have."""
        max_tokens = self._plans[len(self._ended)].max_tokens
        left = self.num_left_in_all
        return left if max_tokens is None else min(left, max_tokens - len(self._answer.token_ids))

    @property
    def num_left_in_all(self) -> int:
        """How many more tokens all segments together may have."""
        answer = self._answer
        return self._num_left_after(len(answer.kept_ids) + len(answer.token_ids))

    def _num_left_after(self, num_read: int) -> int:
        """Return how many more tokens there may be after the model has processed `num_read` tokens of the turn.

        Text that was cut and tokenized again may be more tokens than were sampled.
        """
        return min(self._max_tokens - self.num_tokens, self._room + self._num_kept - num_read)

    def raw_text(self) -> str:
        """Return the text of the new tokens, held back or not. Text that finished segments dropped is left out."""
        return "".join([*(answer.text for answer in self._ended), self._answer.raw_text()])

    @property
    def num_shown(self) -> int:
        """Number of characters that can be shown, because they can't become part of a stop string any more."""
        return sum(len(answer.text) for answer in (*self._ended, self._answer))

    @property
    def num_sent(self) -> int:
        """Number of tokens that were sent in chunks."""
        return sum(answer.num_sent for answer in (*self._ended, self._answer))

    def take(self, drawn: SampledToken | None) -> tuple[str, list[int]]:
        """Take the next token, if any, and the tokens that the constraint forces after it. Each may end the segment.

        Returns the text that can be shown now, and the forced tokens.
        """
        answer = self._answer
        text = "" if drawn is None else answer.take(drawn)
        forced = answer.forced()
        if forced:
            forced = forced[: self.num_left]
        for token_id in forced:
            text += answer.take(SampledToken(token_id), is_forced=True)
            if answer.reason is not None:
                break
        return text + self._end_if_full(), forced

    def put(self, token_id: int, *, feed_constraint: bool = True) -> str:
        """Append a token that was not sampled, which may end the segment. Return the text that can be shown now."""
        text = self._answer.take(SampledToken(token_id), is_forced=True, feed_constraint=feed_constraint)
        return text + self._end_if_full()

    def _end_if_full(self) -> str:
        """End the segment if it has reached its maximum length. Return the text that was held back."""
        answer = self._answer
        text = answer.end("length") if answer.reason is None and self.num_left <= 0 else ""
        if answer.reason is not None:
            is_last = len(self._ended) + 1 == len(self._plans)
            self._is_over = is_last or self._num_left_after(len(answer.turn_ids)) <= 0
        return text

    def rewind(self, num_tokens: int) -> TakenBack:
        """Take back the last of `new_ids`, also across segments, and then given tokens if there are no more."""
        num_given = max(0, num_tokens - len(self.new_ids))
        left = self.given_ids[: max(0, len(self.given_ids) - num_given)]
        num_left = len(self._answer.kept_ids) + len(self._answer.token_ids) - num_tokens
        num_chars = num_sent = 0
        text = ""
        is_reopened = False
        while self._ended and (num_given or num_left < len(self._answer.kept_ids)):
            num_chars += len(self._answer.text)
            num_sent += self._answer.num_sent
            self._answer = self._ended.pop()
            is_reopened = not num_given
        if is_reopened:
            chars, sent, text = self._answer.reopen(num_left)
        else:
            chars, sent = self._answer.rewind(len(self._answer.token_ids) if num_given else num_tokens)
        self._is_over = False
        num_given_chars = self._shorten_given(left, num_given) if num_given else 0
        self._lineage.go_back(self.num_tokens)
        # Text that was tokenized again may be more tokens than were sampled.
        text += self._end_if_full()
        return TakenBack(num_chars + chars, num_sent + sent, num_given_chars, text)

    def _shorten_given(self, left: Sequence[int], num_back: int) -> int:
        """Continue only `left` of the given tokens. Return how many characters of the given text are taken back."""
        plan = self._plans[0]
        self._num_given_back += num_back
        constraint = None if plan.constraint is None else plan.constraint.copy()
        if plan.bare is not None:
            constraint = plan.bare.copy()
        elif constraint is not None and not self._refit(constraint, left):
            raise ConstraintInvalidError(Sentence("The rest of the beginning does not fit the answer format."))
        self._answer = Answer(self._vocabulary, plan.stops, left, None, constraint, is_cut=True)
        num_before = self._num_given_chars_back
        given = self._given_text
        num_given_chars = self._num_chars_of(self._given_ids) if given is None else len(given)
        self._num_given_chars_back = max(num_before, num_given_chars - self._num_chars_of(left))
        return self._num_given_chars_back - num_before

    def _refit(self, constraint: Rule, left: Sequence[int]) -> bool:
        """Let `constraint`, which has consumed the original given tokens, consume `left` instead."""
        num_same = num_common(self._given_ids[: self._num_kept], list(left))
        constraint.rewind(self._num_kept - num_same)
        return constraint.consume(left[num_same:])

    def _num_chars_of(self, token_ids: Sequence[int]) -> int:
        return len(split_characters(self._vocabulary.bytes_of(token_ids))[0])

    def copy(self) -> Writing:
        """Return an independent fork in the same state."""
        other = object.__new__(Writing)
        other.__dict__.update(self.__dict__)
        other._ended = [answer.copy() for answer in self._ended]
        other._answer = self._answer.copy()
        other._lineage = self._lineage.fork(self.num_tokens)
        return other

    def end(self, reason: FinishReason) -> str:
        """End the whole choice. Return the text that was held back."""
        self._is_over = True
        return "" if self._answer.reason is not None else self._answer.end(reason)

    def begin_next_segment(self) -> None:
        """Begin the next segment after the kept tokens of the previous segments."""
        ended = self._answer
        self._ended.append(ended)
        self._answer = self._new_answer(self._plans[len(self._ended)], ended.turn_ids, was_shown=ended.was_shown)

    def chunk(self, request_id: RequestId, choice: int, text: str) -> Chunk | None:
        """Return the event for `text`; None if there is nothing to send."""
        return self._answer.chunk(request_id, choice, text)

    @property
    def reason(self) -> FinishReason | None:
        """Why the choice ended; None while it continues."""
        return self._answer.reason if self._is_over else None

    def choice(self, seed: int) -> Choice:
        """Return the finished choice."""
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
