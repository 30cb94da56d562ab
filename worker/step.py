"""What a hook is shown of a step: where the answer is, what was drawn and what could have been; it decides nothing.

What costs something is computed when it is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Phase: TypeAlias = Literal["before", "after"]
Logits: TypeAlias = npt.NDArray[np.float32]

_NUM_CANDIDATES = 20


class Candidate(NamedTuple):
    """A token that could stand here."""

    token_id: int
    text: str
    probability: float
    """By the model alone."""
    masked_probability: float
    """Among those that constraint, hooks and what was tried here leave; 0 for those that they do not."""


class Tokens(Protocol):
    """What turns text into tokens and back."""

    def encode(self, text: str) -> list[int]:
        """Return ids for a text; no control token comes of it."""
        ...

    def text_of(self, token_ids: Sequence[int]) -> str:
        """Return the text of ids."""
        ...


class Draw(NamedTuple):
    """What there is to know of a token that was drawn."""

    token_id: int
    logprob: float | None
    """By the model; None where nobody computed it yet."""
    logits: Callable[[], Logits]
    """The model's own, shape [vocabulary]."""
    mask: npt.NDArray[np.bool_] | None
    """Which tokens could be drawn."""


class Step:
    """One place in an answer, before a token is drawn there or after."""

    def __init__(
        self,
        phase: Phase,
        branch: int,
        token_ids: Sequence[int],
        text: Callable[[], str],
        vocabulary: Tokens,
        *,
        given: Sequence[int] = (),
        position: int | None = None,
        backtracked: int = 0,
        appended: Sequence[int] = (),
        draw: Draw | None = None,
        visit: int = 0,
    ) -> None:
        """`text`: returns the answer's text so far. `draw`: after sampling alone. `position`: None: behind them all."""
        self.phase: Phase = phase
        self.branch = branch
        """Which answer of its request this is: the `choice` of its events."""
        self.position = len(token_ids) if position is None else position
        """How many tokens of the answer stand before this place; fewer than none where given ones were taken back."""
        self.tokens = token_ids
        """Those; not to be changed."""
        self.given = given
        """The tokens of the turn that stand before those: what the answer goes on from. They can be taken back, too."""
        self.vocabulary = vocabulary
        self.backtracked = backtracked
        """Before sampling: how many tokens were taken back since hooks were asked so last..."""
        self.appended = appended
        """...and which have come since then, drawn or not."""
        self.visit = visit
        """How often a token was drawn here before."""
        self._text = text
        self._draw = draw

    @cached_property
    def text(self) -> str:
        """The answer's text so far, with what is not shown yet as it may become a stop string."""
        return self._text()

    @property
    def token(self) -> int:
        """The token that was drawn. After sampling alone, as what follows."""
        return self._drawn.token_id

    @property
    def token_text(self) -> str:
        """The text of the drawn token alone; bytes that are no character are U+FFFD."""
        return self.vocabulary.text_of([self.token])

    @cached_property
    def logits(self) -> Logits:
        """The model's logits of which it was drawn, shape [vocabulary], float32, read-only."""
        logits = self._drawn.logits()
        logits.flags.writeable = False
        return logits

    @cached_property
    def probability(self) -> float:
        """The drawn token's probability by the model, before temperature, filters and masks."""
        if self._drawn.logprob is not None:
            return math.exp(self._drawn.logprob)
        return math.exp(float(self.logits[self.token]) - _log_sum_exp(self.logits))

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The likeliest tokens here, the likeliest first, as many as 20."""
        return self.best(_NUM_CANDIDATES)

    def best(self, num: int) -> list[Candidate]:
        """Return the `num` likeliest tokens here."""
        logits, mask = self.logits.astype(np.float64), self._drawn.mask
        num = min(num, len(logits))
        ids = np.argpartition(-logits, num - 1)[:num]
        ids = ids[np.lexsort((ids, -logits[ids]))]
        probabilities = np.exp(logits[ids] - _log_sum_exp(self.logits))
        masked = probabilities
        if mask is not None:
            left = np.where(mask, logits, -np.inf)
            total = _log_sum_exp(left)
            masked = np.exp(left[ids] - total) if np.isfinite(total) else np.zeros(num)
        return [
            Candidate(token_id, self.vocabulary.text_of([token_id]), probability, of_those_left)
            for token_id, probability, of_those_left in zip(
                ids.tolist(), probabilities.tolist(), masked.tolist(), strict=True
            )
        ]

    def with_token(self, token_id: int) -> Step:
        """Return the same step, had this token been drawn."""
        draw = self._drawn._replace(token_id=token_id, logprob=None)
        return Step(
            self.phase,
            self.branch,
            self.tokens,
            self._text,
            self.vocabulary,
            given=self.given,
            position=self.position,
            draw=draw,
            visit=self.visit,
        )

    @property
    def _drawn(self) -> Draw:
        if self._draw is None:
            raise ValueError("There is no token before sampling: look at `step.phase` first")
        return self._draw


def _log_sum_exp(logits: npt.NDArray[np.floating]) -> float:
    # The functions beneath numpy's own: for a few thousand logits the way to them takes as long as they do.
    highest = float(np.maximum.reduce(logits))
    if not math.isfinite(highest):
        return highest
    return highest + math.log(float(np.add.reduce(np.exp(logits - highest), dtype=np.float64)))
