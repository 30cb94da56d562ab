"""The seeds of an answer: its own, and its ancestors' for the tokens that it shares with them.

A fork's seed is derived from its parent's seed and the number of the fork. So it does not depend on other requests, and
is the same when the answer is generated again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from worker.decoding.sampler import key_bits
from worker.protocol import DrawnBefore


class Seeds:
    """The seeds of one answer."""

    def __init__(self, seed: int, before: Sequence[DrawnBefore] = ()) -> None:
        self.seed = seed
        """The seed of the next token."""
        self.before = list(before)
        """The seeds of the first tokens, those of the oldest ancestor first."""
        self._num_forks = 0

    def fork(self) -> Seeds:
        """Return the seeds of a fork. Until its `keep` is called, the fork shares all tokens so far."""
        self._num_forks += 1
        # Keep 32 bits, so that the seed is short enough to write down.
        seed = key_bits(self.seed, self._num_forks, 0) >> 32
        return Seeds(seed, [*self.before, DrawnBefore(num_tokens=sys.maxsize, seed=self.seed)])

    def keep(self, num_tokens: int) -> None:
        """Keep the first `num_tokens` tokens; later ones are sampled with the answer's own seed."""
        self.before = [DrawnBefore(num_tokens=min(part.num_tokens, num_tokens), seed=part.seed) for part in self.before]
