"""Applies the decisions of hooks to one choice. Independent of the model.

Before a token is sampled, hooks may limit the choice, change the temperature or change the tokens so far. After a token
was sampled, they may reject or replace it. Each step costs a visit, and the number of visits is limited, so every
answer ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from worker.answers.choice_events import ChoiceEvents
from worker.answers.hook_chain import HookChain
from worker.answers.next_draw import NextDraw
from worker.answers.writing import Writing
from worker.decision import Decision, Splice
from worker.decoding.sampled_token import SampledToken
from worker.decoding.sampler import Seeds
from worker.errors import ConstraintInvalidError, HookFailedError
from worker.protocol import Event, RequestId
from worker.sentence import Sentence
from worker.step import Draw, Phase, Step
from worker.text.vocabulary import Vocabulary

_VISITS_PER_TOKEN = 8
_MIN_VISITS = 64
"""An answer is limited to `_MIN_VISITS` visits, plus `_VISITS_PER_TOKEN` for each token that it may have."""


class Sampled(Protocol):
    """The logits and the mask from which the last token was sampled."""

    def drawn_logits(self) -> npt.NDArray[np.float32]:
        """Return the logits, shape [vocabulary]."""
        ...

    @property
    def drawn_mask(self) -> npt.NDArray[np.bool_] | None:
        """Which tokens could be sampled, shape [vocabulary]; None means all tokens."""
        ...


@dataclass
class Taken:
    """The result of one step of an answer."""

    events: list[Event] = field(default_factory=list[Event])
    is_moved: bool = False
    """Whether the tokens changed in any other way than by appending the sampled one."""
    forks: list[Steering] = field(default_factory=list["Steering"])


class Steering:
    """One choice, its hooks, and the state of their decisions. Also the `Mask` of the next token."""

    is_active = True
    """A hook may return a mask at any step (see `masks.Mask`)."""

    def __init__(
        self,
        request_id: RequestId,
        choice: int,
        seed: int,
        writing: Writing,
        hooks: HookChain,
        vocabulary: Vocabulary,
        new_choice: Callable[[str], int],
        max_resamples: int,
    ) -> None:
        """`new_choice` is called with the name of the hook that forks, and returns the number of the new choice.

        `max_resamples` limits how often one position is sampled again.
        """
        self.choice = choice
        self.seeds = Seeds(seed)
        self.writing = writing
        self.hooks = hooks
        self._events = ChoiceEvents(request_id, choice, writing)
        self._vocabulary = vocabulary
        self._new_choice = new_choice
        self._max_resamples = max_resamples
        self._num_visits_left = _VISITS_PER_TOKEN * writing.num_left_in_all + _MIN_VISITS
        self._visits: dict[int, int] = {}
        """How often each position was sampled."""
        self._visits_before: dict[int, int] = {}
        """The visits of each position before the fork, with the parent's seed."""
        self._next = NextDraw(len(vocabulary))
        self._logits: Callable[[], npt.NDArray[np.float32]] = lambda: np.zeros(0, dtype=np.float32)
        """Returns the logits from which the last token was sampled."""
        self._backtracked = 0
        self._appended: list[int] = []

    def _forked(self, choice: int) -> Steering:
        other = object.__new__(Steering)
        other.__dict__.update(self.__dict__)
        other.choice = choice
        other.writing = self.writing.copy()
        other.hooks = self.hooks.copy()
        other.seeds = self.seeds.fork()
        other._events = self._events.fork(choice, other.writing)
        other._next = self._next.copy()
        other._visits, other._appended = dict(self._visits), list(self._appended)
        other._visits_before = dict(self._visits)
        return other

    # --- settings of the next token ------------------------------------------------------------------------

    @property
    def visit(self) -> int:
        """How many times this position has already been sampled with the current seed."""
        position = self.writing.sampling_position
        return self._visits.get(position, 0) - self._visits_before.get(position, 0)

    @property
    def temperature(self) -> float | None:
        """The temperature of the next token; None means the request's."""
        return self._next.temperature

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Return which tokens may be sampled, shape [vocabulary]; None means all tokens."""
        return self._next.mask()

    # --- steps ---------------------------------------------------------------------------------------------

    def take(self, drawn: SampledToken | None, branch: Sampled) -> Taken:
        """Take the sampled token, if any, and decide how the next one is sampled. Raises `HookFailedError`."""
        taken = Taken()
        try:
            if drawn is not None:
                self._look_at(drawn, branch, taken)
            self._decide(taken)
        except HookFailedError as error:
            # The text so far is kept.
            self._events.add(self.writing.end("hook"))
            taken.events += self._events.pending()
            error.events = taken.events
            raise
        taken.events += self._events.pending()
        return taken

    def _look_at(self, drawn: SampledToken, branch: Sampled, taken: Taken) -> None:
        position = self.writing.sampling_position
        visit = self._visits.get(position, 0)
        self._visits[position] = visit + 1
        if self._spends_last_visit():
            return
        if self.writing.answer.spells_given_alone(drawn.token_id):
            # It adds no new text, so there is nothing to decide.
            self._accept(drawn, taken)
            return
        self._logits = branch.drawn_logits
        draw = Draw(drawn.token_id, drawn.logprob, branch.drawn_logits, branch.drawn_mask)
        decisions = self.hooks.ask(self._step("after", draw, visit))
        if decisions is None:
            self._accept(drawn, taken)
        else:
            self._apply_all(decisions, drawn, taken)

    def _decide(self, taken: Taken) -> None:
        """Call the hooks before the next token is sampled, and again after each change that they make."""
        while not self._next.is_decided and not self._has_ended and not self.writing.answer.is_healing:
            step = self._step("before", None, self._visits.get(self.writing.sampling_position, 0))
            self._backtracked, self._appended = 0, []
            decisions = self.hooks.ask(step)
            self._next.is_decided = True
            if decisions is not None:
                self._apply_all(decisions, None, taken)
            if not self._next.is_decided:
                self._spends_last_visit()

    def _step(self, phase: Phase, draw: Draw | None, visit: int) -> Step:
        writing = self.writing
        return Step(
            phase,
            self.choice,
            writing.new_ids,
            writing.raw_text,
            self._vocabulary,
            given=writing.given_ids,
            position=writing.position,
            backtracked=self._backtracked,
            appended=self._appended,
            draw=draw,
            visit=visit,
        )

    @property
    def _has_ended(self) -> bool:
        return self.writing.is_over or self.writing.answer.reason is not None

    def _spends_last_visit(self) -> bool:
        """Count a visit. End the answer and return True if none is left."""
        self._num_visits_left -= 1
        if self._num_visits_left < 0 and not self._has_ended:
            self._events.add(self.writing.end("hook"))
        return self._num_visits_left < 0

    # --- applying decisions --------------------------------------------------------------------------------

    def _apply_all(self, decisions: Sequence[Decision], drawn: SampledToken | None, taken: Taken) -> None:
        if not decisions:
            self._events.add(self.writing.end("hook"))
            return
        for decision in decisions:
            if decision.mask is not None and decision.mask.shape != (len(self._vocabulary),):
                size = len(self._vocabulary)
                raise self._failed(
                    Sentence("Its mask must have the shape of the vocabulary, ({size},).", size=str(size))
                )
        first, *others = decisions
        for decision in others:
            self._fork(decision, drawn, taken)
        self._apply(first, drawn, taken)

    def _fork(self, decision: Decision, drawn: SampledToken | None, taken: Taken) -> None:
        taken.events += self._events.pending()
        fork = self._forked(self._new_choice(self.hooks.last))
        taken.events.append(self._events.forked(fork.choice))
        taken.events += fork.start_with(decision, drawn)
        taken.forks.append(fork)

    def start_with(self, decision: Decision, drawn: SampledToken | None) -> list[Event]:
        """Apply the decision for which this fork was made. Return its events."""
        taken = Taken()
        self._apply(decision, drawn, taken)
        # All tokens so far were sampled by the parent, or were not sampled.
        self.seeds.keep(len(self.writing.new_ids))
        taken.events += self._events.pending()
        return taken.events

    def _apply(self, decision: Decision, drawn: SampledToken | None, taken: Taken) -> None:
        if drawn is not None and (done := self._spliced(decision, drawn)) is not None:
            # The sampled token is the first of those that the splice takes back.
            if done.backtrack == 0:
                self._accept(drawn, taken, [])
            self._replace(max(0, done.backtrack - 1), done.ff_tokens, taken)
        elif not decision.is_structural:
            if drawn is not None:
                self._accept(drawn, taken, [])
            else:
                self._decide_next(decision)
        elif decision.token is not None or decision.immediate or decision.backtrack:
            self._replace(decision.backtrack, [], taken)
            if decision.token is not None:
                self._put([decision.token], feed_constraint=decision.feed_constraint)
            for splice in decision.immediate:
                self._replace(splice.backtrack, splice.ff_tokens, taken)
            if decision.token is None and not decision.immediate:
                self._decide_next(decision)
                self._next.is_decided = True
        elif drawn is not None:
            self._resample(decision, drawn, taken)

    def _spliced(self, decision: Decision, drawn: SampledToken) -> Splice | None:
        """Return the splice that the sampled token triggers, or one that needs no trigger; None if there is none."""
        if decision.backtrack or decision.token is not None or decision.resample:
            return None
        splices = [*self._next.splices, *decision.splices]
        return next((each for each in splices if not each.when_sampled or drawn.token_id in each.when_sampled), None)

    def _accept(self, drawn: SampledToken, taken: Taken, splices: Sequence[Splice] | None = None) -> None:
        """Accept a sampled token, unless it triggers a splice."""
        if splices is None and self._next.splices and self._spliced(Decision(), drawn) is not None:
            self._apply(Decision(), drawn, taken)
            return
        text, forced = self.writing.take(drawn)
        self._events.add(text)
        self._appended += [drawn.token_id, *forced]
        taken.is_moved = taken.is_moved or bool(forced)
        self._begin_position()

    def _resample(self, decision: Decision, drawn: SampledToken, taken: Taken) -> None:
        taken.is_moved = True
        num_tried = self._next.take_away(drawn, float(self._logits()[drawn.token_id]))
        if num_tried <= self._max_resamples:
            self._next.decide_again(decision)
            if self._leaves_any():
                return
        self._accept(self._next.best, taken, [])

    def _replace(self, num_back: int, token_ids: Sequence[int], taken: Taken) -> None:
        """Take back tokens and append others."""
        taken.is_moved = True
        num_back = min(num_back, len(self.writing.given_ids) + len(self.writing.new_ids))
        if num_back:
            back = self.writing.rewind(num_back)
            self.seeds.keep(len(self.writing.new_ids))
            taken.events += self._events.retracted(back)
            self._events.add(back.text)
            self._backtracked += num_back
        self._begin_position()
        self._put(token_ids)

    def _put(self, token_ids: Sequence[int], *, feed_constraint: bool = True) -> None:
        """Append tokens that were not sampled, until the answer ends."""
        for token_id in token_ids:
            if self._has_ended:
                return
            if not 0 <= token_id < len(self._vocabulary):
                why = Sentence(
                    "It set token ID {token}, but the vocabulary has only {num_tokens} tokens.",
                    token=str(token_id),
                    num_tokens=len(self._vocabulary),
                )
                raise self._failed(why)
            # Finish spelling the given text before anything is appended to it.
            for given in self.writing.answer.spelled_again(token_id):
                self._events.add(self.writing.put(given))
                self._appended.append(given)
                if self._has_ended:
                    return
            try:
                self._events.add(self.writing.put(token_id, feed_constraint=feed_constraint))
            except ConstraintInvalidError:
                why = Sentence(
                    "It set {token}, which the answer format forbids here. To allow it, use `feed_constraint=False`.",
                    token=repr(self._vocabulary.text_of([token_id])),
                )
                raise self._failed(why) from None
            self._appended.append(token_id)
        self._begin_position()

    def _decide_next(self, decision: Decision) -> None:
        self._next.decide(decision)
        if decision.mask is not None and not self._leaves_any():
            raise self._failed(Sentence("Its mask allows no token that can follow here."))

    def _leaves_any(self) -> bool:
        return self._next.leaves_any(self.writing.answer.mask.mask())

    def _begin_position(self) -> None:
        self._next = NextDraw(len(self._vocabulary))

    def _failed(self, why: Sentence) -> HookFailedError:
        return HookFailedError(self.hooks.last, why)
