"""The settings that hooks have chosen for the next token at one position, and the tokens rejected there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worker.decision import Decision, Splice
from worker.decoding.sampled_token import SampledToken
from worker.text.masks import both


class NextDraw:
    """One position of an answer, until its token is accepted."""

    def __init__(self, num_ids: int) -> None:
        """`num_ids` is the size of the vocabulary."""
        self.temperature: float | None = None
        """The temperature for the next token; None means the request's."""
        self.splices: Sequence[Splice] = ()
        self.is_decided = False
        """Whether the hooks were asked about this position."""
        self._num_ids = num_ids
        self._mask: npt.NDArray[np.bool_] | None = None
        self._tried: dict[int, tuple[float, SampledToken]] = {}
        """The tokens that were sampled here and rejected, by their ids, each with its logit."""

    def copy(self) -> NextDraw:
        """Return the same position for a fork."""
        other = NextDraw(self._num_ids)
        other.__dict__.update(self.__dict__)
        other._tried = dict(self._tried)
        return other

    def mask(self) -> npt.NDArray[np.bool_] | None:
        """Return which tokens may be sampled, shape [vocabulary]; None means all tokens."""
        if not self._tried:
            return self._mask
        left = np.ones(self._num_ids, dtype=np.bool_) if self._mask is None else self._mask.copy()
        left[list(self._tried)] = False
        return left

    def leaves_any(self, allowed: npt.NDArray[np.bool_] | None) -> bool:
        """Return whether any token of `allowed` may be sampled; None means all tokens."""
        mask = both(self.mask(), allowed)
        return mask is None or bool(mask.any())

    def decide(self, decision: Decision) -> None:
        """Apply a decision made before sampling."""
        self._mask, self.splices, self.temperature = decision.mask, decision.splices, decision.temperature

    def take_away(self, drawn: SampledToken, logit: float) -> int:
        """Reject a sampled token. Return how many were rejected at this position."""
        self._tried[drawn.token_id] = (logit, drawn)
        return len(self._tried)

    def decide_again(self, decision: Decision) -> None:
        """Apply a decision for the token that is sampled instead."""
        self._mask = both(self._mask, decision.mask)
        self.temperature = self.temperature if decision.temperature is None else decision.temperature

    @property
    def best(self) -> SampledToken:
        """The most likely of the rejected tokens; among equally likely ones, that with the lowest id."""
        _, best = max(self._tried.values(), key=lambda tried: (tried[0], -tried[1].token_id))
        return best
