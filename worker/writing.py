"""One choice of a request as it is written, segment after segment; it knows no model that computes.

Most choices are a single segment. Each segment is an `Answer` that goes on from all before it, with stop strings and
a form of its own; where one was cut, the next goes on from the cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.answer import Answer
from worker.branch import Drawn
from worker.constraint import Constraint
from worker.protocol import Choice, Chunk, FinishReason, RequestId, WrittenSegment
from worker.vocabulary import Vocabulary


@dataclass(frozen=True)
class Plan:
    """What one segment shall be."""

    stops: Sequence[str]
    constraint: Constraint | None
    """At its beginning; of the first one it has taken what is given."""
    max_tokens: int | None = None


class Writing:
    """One choice."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        plans: Sequence[Plan],
        given_ids: Sequence[int],
        given_text: str | None,
        max_tokens: int,
    ) -> None:
        """`given_ids`: what it goes on from; where they are `given_text`, its seam may lie anywhere."""
        self._vocabulary = vocabulary
        self._plans = plans
        self._max_tokens = max_tokens
        self._ended: list[Answer] = []
        self._given_ids = list(given_ids)
        self._answer = self._begun(plans[0], given_ids, given_text)
        self._is_over = False

    def _begun(self, plan: Plan, given_ids: Sequence[int], given_text: str | None = None) -> Answer:
        constraint = None if plan.constraint is None else plan.constraint.copy()
        return Answer(self._vocabulary, plan.stops, given_ids, given_text, constraint)

    @property
    def answer(self) -> Answer:
        """The segment that is being written."""
        return self._answer

    @property
    def may_be_cut(self) -> bool:
        """Whether one may want to go on from before its last token: a stop string cuts it, or a form ends with it."""
        plan = self._plans[len(self._ended)]
        return bool(plan.stops) or plan.constraint is not None

    @property
    def is_over(self) -> bool:
        """Whether all of it is written, or nothing more is wanted of it."""
        return self._is_over

    @property
    def num_tokens(self) -> int:
        """Tokens drawn or forced so far."""
        return sum(len(answer.token_ids) for answer in (*self._ended, self._answer))

    @property
    def num_forced(self) -> int:
        """Of those, the ones that nobody drew."""
        return sum(answer.num_forced for answer in (*self._ended, self._answer))

    @property
    def num_left(self) -> int:
        """How many tokens its segment may still have."""
        most = self._plans[len(self._ended)].max_tokens
        left = self.num_left_in_all
        return left if most is None else min(left, most - len(self._answer.token_ids))

    @property
    def num_left_in_all(self) -> int:
        """How many tokens it may still have, whatever its segments may have."""
        return self._max_tokens - self.num_tokens

    @property
    def token_ids(self) -> Sequence[int]:
        """Those tokens; not to be changed."""
        if not self._ended:
            return self._answer.token_ids
        return [token_id for answer in (*self._ended, self._answer) for token_id in answer.token_ids]

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
        text = answer.end("length") if answer.reason is None and self.num_left == 0 else ""
        if answer.reason is not None:
            is_last = len(self._ended) + 1 == len(self._plans)
            self._is_over = is_last or self.num_tokens >= self._max_tokens
        return text

    def rewind(self, num_tokens: int) -> tuple[int, int]:
        """Forget the last tokens, of segments before this one, too.

        Returns how many characters that takes back of what was safe to show, and how many tokens that were told of.
        """
        num_chars = num_told = 0
        while num_tokens > len(self._answer.token_ids) and self._ended:
            num_tokens -= len(self._answer.token_ids)
            num_chars += len(self._answer.text)
            num_told += self._answer.num_told
            self._answer = self._ended.pop()
        chars, told = self._answer.rewind(num_tokens)
        self._is_over = False
        return num_chars + chars, num_told + told

    def copy(self) -> Writing:
        """Return an independent one in the same state."""
        other = object.__new__(Writing)
        other.__dict__.update(self.__dict__)
        other._ended = [answer.copy() for answer in self._ended]
        other._answer = self._answer.copy()
        return other

    def end(self, reason: FinishReason) -> str:
        """End it for a reason of its own; return the text that was held back."""
        self._is_over = True
        return "" if self._answer.reason is not None else self._answer.end(reason)

    def go_on(self) -> None:
        """Begin the next segment, behind what is kept of those before it."""
        self._ended.append(self._answer)
        self._answer = self._begun(self._plans[len(self._ended)], self._turn_ids())

    def _turn_ids(self) -> list[int]:
        return self._ended[-1].turn_ids if self._ended else self._given_ids

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
            return self._answer.choice(seed)
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
            segments=[
                WrittenSegment(text=part.text, token_ids=part.token_ids, reason=part.reason, stop=part.stop)
                for part in parts
            ],
        )
