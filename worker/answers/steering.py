"""One choice under its hooks: each step is shown to them, and what they decide is carried out; it knows no model.

Before a token is drawn hooks may say which and how, or change what stands; after it was drawn they may take it away.
Whatever they do costs a visit, and an answer has only so many: it ends however hooks go round in circles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from worker.answers.hook_chain import HookChain
from worker.answers.next_draw import NextDraw
from worker.answers.telling import Telling
from worker.answers.writing import Writing
from worker.decision import Decision, Splice
from worker.decoding.drawn import Drawn
from worker.decoding.seeds import Seeds
from worker.errors import ConstraintInvalidError, HookFailedError
from worker.protocol import Event, RequestId
from worker.step import Draw, Phase, Step
from worker.text.vocabulary import Vocabulary

_VISITS_A_TOKEN = 8
_FEWEST_VISITS = 64
"""Visits that an answer has: so many for each token that it may have, and these besides."""


class Placed(Protocol):
    """What is known of the token that was drawn last."""

    def drawn_logits(self) -> npt.NDArray[np.float32]:
        """Return the logits of which it was drawn, shape [vocabulary]."""
        ...

    @property
    def drawn_mask(self) -> npt.NDArray[np.bool_] | None:
        """Which tokens could be drawn, shape [vocabulary]; None: all."""
        ...


@dataclass
class Taken:
    """What a step of one answer came to."""

    events: list[Event] = field(default_factory=list[Event])
    is_moved: bool = False
    """Whether its tokens are others than those before and the drawn one behind them."""
    forks: list[Steering] = field(default_factory=list["Steering"])


class Steering:
    """The hooks of one choice and what they have decided."""

    is_active = True
    """A mask may come at any step (`masks.Mask`)."""

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
        """`new_choice` returns the number of an answer that the hook of this name forks.

        `max_resamples`: how often one place is drawn anew.
        """
        self.choice = choice
        self.seeds = Seeds(seed)
        self.writing = writing
        self.hooks = hooks
        self._telling = Telling(request_id, choice, writing)
        self._vocabulary = vocabulary
        self._new_choice = new_choice
        self._max_resamples = max_resamples
        self._num_visits_left = _VISITS_A_TOKEN * writing.num_left_in_all + _FEWEST_VISITS
        self._visits: dict[int, int] = {}
        """How often a token was drawn at each place."""
        self._visits_before: dict[int, int] = {}
        """How often that was before it forked, by the seed of another."""
        self._next = NextDraw(len(vocabulary))
        self._logits: Callable[[], npt.NDArray[np.float32]] = lambda: np.zeros(0, dtype=np.float32)
        """Of what the last token was drawn."""
        self._backtracked = 0
        self._appended: list[int] = []

    def _forked(self, choice: int) -> Steering:
        other = object.__new__(Steering)
        other.__dict__.update(self.__dict__)
        other.choice = choice
        other.writing = self.writing.copy()
        other.hooks = self.hooks.copy()
        other.seeds = self.seeds.fork()
        other._telling = self._telling.fork(choice, other.writing)
        other._next = self._next.copy()
        other._visits, other._appended = dict(self._visits), list(self._appended)
        other._visits_before = dict(self._visits)
        return other

    # --- what a draw asks ----------------------------------------------------------------------------------

    @property
    def visit(self) -> int:
        """How often a token was drawn at this place before, by the seed that draws now."""
        place = self.writing.place
        return self._visits.get(place, 0) - self._visits_before.get(place, 0)

    @property
    def temperature(self) -> float | None:
        """Of the next draw; None: the request's."""
        return self._next.temperature

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Which tokens may be drawn, shape [vocabulary]; None: all."""
        return self._next.mask()

    # --- steps ---------------------------------------------------------------------------------------------

    def take(self, drawn: Drawn | None, branch: Placed) -> Taken:
        """Take the token that was drawn, if one was, and say how the next one is drawn. Raises `HookFailedError`."""
        taken = Taken()
        try:
            if drawn is not None:
                self._look_at(drawn, branch, taken)
            self._decide(taken)
        except HookFailedError as error:
            # What was said so far is kept.
            self._telling.add(self.writing.end("hook"))
            taken.events += self._telling.told()
            error.events = taken.events
            raise
        taken.events += self._telling.told()
        return taken

    def _look_at(self, drawn: Drawn, branch: Placed, taken: Taken) -> None:
        place = self.writing.place
        visit = self._visits.get(place, 0)
        self._visits[place] = visit + 1
        if self._spends_last_visit():
            return
        if self.writing.answer.spells_given_alone(drawn.token_id):
            # Nothing of it is new.
            self._accept(drawn, taken)
            return
        self._logits = branch.drawn_logits
        draw = Draw(drawn.token_id, drawn.logprob, branch.drawn_logits, branch.drawn_mask)
        decisions = self.hooks.ask(self._step("after", draw, visit))
        if decisions is None:
            self._accept(drawn, taken)
        else:
            self._carry_out(decisions, drawn, taken)

    def _decide(self, taken: Taken) -> None:
        """Ask what is to be done before the next draw, until nothing more changes."""
        while not self._next.is_decided and not self._has_ended and not self.writing.answer.is_healing:
            step = self._step("before", None, self._visits.get(self.writing.place, 0))
            self._backtracked, self._appended = 0, []
            decisions = self.hooks.ask(step)
            self._next.is_decided = True
            if decisions is not None:
                self._carry_out(decisions, None, taken)
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
        """Count a visit; end the answer where it has had too many."""
        self._num_visits_left -= 1
        if self._num_visits_left < 0 and not self._has_ended:
            self._telling.add(self.writing.end("hook"))
        return self._num_visits_left < 0

    # --- carrying out --------------------------------------------------------------------------------------

    def _carry_out(self, decisions: Sequence[Decision], drawn: Drawn | None, taken: Taken) -> None:
        if not decisions:
            self._telling.add(self.writing.end("hook"))
            return
        for decision in decisions:
            if decision.mask is not None and decision.mask.shape != (len(self._vocabulary),):
                raise self._failed(f"The shape of its mask is not that of the vocabulary, ({len(self._vocabulary)},).")
        first, *others = decisions
        for decision in others:
            self._fork(decision, drawn, taken)
        self._apply(first, drawn, taken)

    def _fork(self, decision: Decision, drawn: Drawn | None, taken: Taken) -> None:
        taken.events += self._telling.told()
        fork = self._forked(self._new_choice(self.hooks.last))
        taken.events.append(self._telling.forked(fork.choice))
        taken.events += fork.taken_by(decision, drawn)
        taken.forks.append(fork)

    def taken_by(self, decision: Decision, drawn: Drawn | None) -> list[Event]:
        """Begin a fork with what was decided of it; return what is to be told."""
        taken = Taken()
        self._apply(decision, drawn, taken)
        # What stands now nobody drew, or its parent did.
        self.seeds.keep(len(self.writing.new_ids))
        taken.events += self._telling.told()
        return taken.events

    def _apply(self, decision: Decision, drawn: Drawn | None, taken: Taken) -> None:
        if drawn is not None and (done := self._spliced(decision, drawn)) is not None:
            # The drawn token is the first of those that are taken back.
            if done.backtrack == 0:
                self._accept(drawn, taken, [])
            self._replace(max(0, done.backtrack - 1), done.ff_tokens, taken)
        elif not decision.is_structural:
            if drawn is not None:
                self._accept(drawn, taken, [])
            else:
                self._say_how(decision)
        elif decision.token is not None or decision.immediate or decision.backtrack:
            self._replace(decision.backtrack, [], taken)
            if decision.token is not None:
                self._put([decision.token], feed_constraint=decision.feed_constraint)
            for splice in decision.immediate:
                self._replace(splice.backtrack, splice.ff_tokens, taken)
            if decision.token is None and not decision.immediate:
                self._say_how(decision)
                self._next.is_decided = True
        elif drawn is not None:
            self._draw_again(decision, drawn, taken)

    def _spliced(self, decision: Decision, drawn: Drawn) -> Splice | None:
        """The splice that the drawn token sets off, or that waits for none."""
        if decision.backtrack or decision.token is not None or decision.resample:
            return None
        splices = [*self._next.splices, *decision.splices]
        return next((each for each in splices if not each.when_sampled or drawn.token_id in each.when_sampled), None)

    def _accept(self, drawn: Drawn, taken: Taken, splices: Sequence[Splice] | None = None) -> None:
        """Let a drawn token stand, unless it sets off a splice."""
        if splices is None and self._next.splices and self._spliced(Decision(), drawn) is not None:
            self._apply(Decision(), drawn, taken)
            return
        text, forced = self.writing.take(drawn)
        self._telling.add(text)
        self._appended += [drawn.token_id, *forced]
        taken.is_moved = taken.is_moved or bool(forced)
        self._leave_place()

    def _draw_again(self, decision: Decision, drawn: Drawn, taken: Taken) -> None:
        taken.is_moved = True
        num_tried = self._next.take_away(drawn, float(self._logits()[drawn.token_id]))
        if num_tried <= self._max_resamples:
            self._next.decide_again(decision)
            if self._leaves_any():
                return
        self._accept(self._next.best, taken, [])

    def _replace(self, num_back: int, token_ids: Sequence[int], taken: Taken) -> None:
        """Take tokens back, and put others in their place."""
        taken.is_moved = True
        num_back = min(num_back, len(self.writing.given_ids) + len(self.writing.new_ids))
        if num_back:
            back = self.writing.rewind(num_back)
            self.seeds.keep(len(self.writing.new_ids))
            taken.events += self._telling.taken_back(back)
            self._telling.add(back.text)
            self._backtracked += num_back
        self._leave_place()
        self._put(token_ids)

    def _put(self, token_ids: Sequence[int], *, feed_constraint: bool = True) -> None:
        """Let tokens follow that nobody drew, as far as the answer goes on with them."""
        for token_id in token_ids:
            if self._has_ended:
                return
            if not 0 <= token_id < len(self._vocabulary):
                raise self._failed(f"It put the token {token_id}; the vocabulary has {len(self._vocabulary)}.")
            # Given text stands before whatever is put behind it.
            for given in self.writing.answer.spelled_again(token_id):
                self._telling.add(self.writing.put(given))
                self._appended.append(given)
                if self._has_ended:
                    return
            try:
                self._telling.add(self.writing.put(token_id, feed_constraint=feed_constraint))
            except ConstraintInvalidError:
                raise self._failed(
                    f"It put {self._vocabulary.text_of([token_id])!r}, which the constraint forbids here. "
                    "With `feed_constraint=False` it would stand all the same."
                ) from None
            self._appended.append(token_id)
        self._leave_place()

    def _say_how(self, decision: Decision) -> None:
        self._next.decide(decision)
        if decision.mask is not None and not self._leaves_any():
            raise self._failed("Its mask leaves no token that could come here.")

    def _leaves_any(self) -> bool:
        return self._next.leaves_any(self.writing.answer.mask.mask())

    def _leave_place(self) -> None:
        self._next = NextDraw(len(self._vocabulary))

    def _failed(self, why: str) -> HookFailedError:
        return HookFailedError(self.hooks.last, why)
