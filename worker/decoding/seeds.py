"""Which seed draws an answer's tokens: its own, and those that it shares with what it forked from by that one's.

A fork's seed is made of its parent's and of how often that has forked. So it is the same whatever else is under way,
and the same whenever the answer is drawn again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from worker.decoding.sampler import key_bits
from worker.protocol import DrawnBefore


class Seeds:
    """Those of one answer; it is told how many new tokens stand."""

    def __init__(self, seed: int, before: Sequence[DrawnBefore] = ()) -> None:
        self.seed = seed
        """Of the next draw."""
        self.before = list(before)
        """By what its first tokens were drawn, those of the oldest fork first."""
        self._num_forks = 0

    def fork(self) -> Seeds:
        """Return those of a fork; all that stands was drawn before it, until it is told otherwise."""
        self._num_forks += 1
        # As long as a seed that a person would write down.
        seed = key_bits(self.seed, self._num_forks, 0) >> 32
        return Seeds(seed, [*self.before, DrawnBefore(num_tokens=sys.maxsize, seed=self.seed)])

    def keep(self, num_tokens: int) -> None:
        """Note that so many tokens stand: what comes after them is drawn by its own seed."""
        self.before = [DrawnBefore(num_tokens=min(part.num_tokens, num_tokens), seed=part.seed) for part in self.before]
