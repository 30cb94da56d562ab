"""Steps: the values that hooks are called with.

A `Step` describes one position in an answer: the tokens so far, and after sampling also the sampled token, its
probability and the alternatives. Expensive properties are computed when they are read. This hook forks the answer when
the model is undecided between two tokens:

>>> from worker.decision import Decision
>>> def hook(step):
...     if step.phase == "after":
...         first, second = step.best(2)
...         if second.probability > 0.3:
...             return [Decision(token=first.token_id), Decision(token=second.token_id)]

To try a hook without a model, make the step yourself:

>>> class Letters:
...     def text_of(self, token_ids):
...         return "".join("abc"[token_id] for token_id in token_ids)
>>> draw = Draw(token_id=1, logprob=None, logits=lambda: np.log(np.float32([0.1, 0.5, 0.4])), mask=None)
>>> step = Step("after", 0, [0], lambda: "a", Letters(), draw=draw)
>>> step.position, step.text, step.token_text, round(step.probability, 2)
(1, 'a', 'b', 0.5)
>>> [(candidate.text, round(candidate.probability, 2)) for candidate in step.best(2)]
[('b', 0.5), ('c', 0.4)]
>>> [decision.token for decision in hook(step)]
[1, 2]
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
    """A token that could be at this position."""

    token_id: int
    text: str
    probability: float
    """The model's probability."""
    masked_probability: float
    """The probability among the allowed tokens. 0 if the constraint, hooks or earlier samples exclude the token."""


class Tokens(Protocol):
    """Converts between text and tokens."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text. Control tokens in it become plain text."""
        ...

    def text_of(self, token_ids: Sequence[int]) -> str:
        """Return the text of ids."""
        ...


class Draw(NamedTuple):
    """A sampled token and how it was sampled."""

    token_id: int
    logprob: float | None
    """The model's log-probability; None if it was not computed yet."""
    logits: Callable[[], Logits]
    """Returns the model's logits, shape [vocabulary]."""
    mask: npt.NDArray[np.bool_] | None
    """Which tokens could be sampled, shape [vocabulary]. None means all tokens."""


class Step:
    """One position in an answer, before or after a token is sampled there."""

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
        """`text` returns the answer's text so far. `draw` is for the phase "after". `position`: None means the end."""
        self.phase: Phase = phase
        self.branch = branch
        """The number of this answer in its request: the `choice` of its events."""
        self.position = len(token_ids) if position is None else position
        """How many tokens of the answer are before this position; negative after given tokens were taken back."""
        self.tokens = token_ids
        """The tokens of the answer before this position. They must not be changed."""
        self.given = given
        """The tokens of the turn that the answer continues. They can be taken back, too."""
        self.vocabulary = vocabulary
        self.backtracked = backtracked
        """Before sampling: how many tokens were taken back since the hook was last called before sampling..."""
        self.appended = appended
        """...and which tokens were appended since then."""
        self.visit = visit
        """How often a token was sampled at this position before."""
        self._text = text
        self._draw = draw

    @cached_property
    def text(self) -> str:
        """The answer's text so far, including text that is held back because it may become a stop string."""
        return self._text()

    @property
    def token(self) -> int:
        """The sampled token. This property and the following ones raise `ValueError` before sampling."""
        return self._sampled.token_id

    @property
    def token_text(self) -> str:
        """The text of the sampled token alone. Bytes that are not a whole character are U+FFFD."""
        return self.vocabulary.text_of([self.token])

    @cached_property
    def logits(self) -> Logits:
        """The model's logits at this position, shape [vocabulary], float32, read-only."""
        logits = self._sampled.logits()
        logits.flags.writeable = False
        return logits

    @cached_property
    def probability(self) -> float:
        """The model's probability of the sampled token, before temperature, filters and masks."""
        if self._sampled.logprob is not None:
            return math.exp(self._sampled.logprob)
        return math.exp(float(self.logits[self.token]) - _log_sum_exp(self.logits))

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The 20 most likely tokens at this position, best first."""
        return self.best(_NUM_CANDIDATES)

    def best(self, num: int) -> list[Candidate]:
        """Return the `num` most likely tokens at this position, best first."""
        logits, mask = self.logits.astype(np.float64), self._sampled.mask
        num = min(num, len(logits))
        ids = np.argpartition(-logits, num - 1)[:num]
        ids = ids[np.lexsort((ids, -logits[ids]))]
        probabilities = np.exp(logits[ids] - _log_sum_exp(self.logits))
        masked = probabilities
        if mask is not None:
            allowed = np.where(mask, logits, -np.inf)
            total = _log_sum_exp(allowed)
            masked = np.exp(allowed[ids] - total) if np.isfinite(total) else np.zeros(num)
        return [
            Candidate(token_id, self.vocabulary.text_of([token_id]), probability, masked_probability)
            for token_id, probability, masked_probability in zip(
                ids.tolist(), probabilities.tolist(), masked.tolist(), strict=True
            )
        ]

    def with_token(self, token_id: int) -> Step:
        """Return this step as if `token_id` had been sampled."""
        draw = self._sampled._replace(token_id=token_id, logprob=None)
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
    def _sampled(self) -> Draw:
        if self._draw is None:
            raise ValueError("There is no token before sampling: look at `step.phase` first")
        return self._draw


def _log_sum_exp(logits: npt.NDArray[np.floating]) -> float:
    # These ufuncs avoid the overhead of `max` and `sum`, which is as large as their work for a few thousand logits.
    highest = float(np.maximum.reduce(logits))
    if not math.isfinite(highest):
        return highest
    return highest + math.log(float(np.add.reduce(np.exp(logits - highest), dtype=np.float64)))
