"""What hooks have said of the next draw at one place, and what was tried there; it asks no hook and draws nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worker.decision import Decision, Splice
from worker.decoding.drawn import Drawn
from worker.text.masks import both


class NextDraw:
    """One place of one answer, until what comes there stands."""

    def __init__(self, num_ids: int) -> None:
        """`num_ids`: how many the vocabulary has."""
        self.temperature: float | None = None
        """None: the request's."""
        self.splices: Sequence[Splice] = ()
        self.is_decided = False
        """Whether hooks have said how the token is drawn."""
        self._num_ids = num_ids
        self._mask: npt.NDArray[np.bool_] | None = None
        self._tried: dict[int, tuple[float, Drawn]] = {}
        """What was drawn here and taken away, and how likely each was: its logit."""

    def copy(self) -> NextDraw:
        """Return the same place of a fork."""
        other = NextDraw(self._num_ids)
        other.__dict__.update(self.__dict__)
        other._tried = dict(self._tried)
        return other

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Which tokens may be drawn, shape [vocabulary]; None: all."""
        if not self._tried:
            return self._mask
        left = np.ones(self._num_ids, dtype=np.bool_) if self._mask is None else self._mask.copy()
        left[list(self._tried)] = False
        return left

    def leaves_any(self, form: npt.NDArray[np.bool_] | None) -> bool:
        """Whether there is a token that may be drawn, of those that `form` allows."""
        mask = both(self.mask(), form)
        return mask is None or bool(mask.any())

    def decide(self, decision: Decision) -> None:
        """Take what is said before the draw."""
        self._mask, self.splices, self.temperature = decision.mask, decision.splices, decision.temperature

    def take_away(self, drawn: Drawn, logit: float) -> int:
        """Note that a token was drawn here and is not to stand; return how many were."""
        self._tried[drawn.token_id] = (logit, drawn)
        return len(self._tried)

    def decide_again(self, decision: Decision) -> None:
        """Take what is said of the draw that comes instead."""
        self._mask = both(self._mask, decision.mask)
        self.temperature = self.temperature if decision.temperature is None else decision.temperature

    @property
    def best(self) -> Drawn:
        """The likeliest of what was tried; of equals the first of the vocabulary."""
        _, best = max(self._tried.values(), key=lambda tried: (tried[0], -tried[1].token_id))
        return best
