"""No repeats: when an answer repeats itself, goes back to the start of the repetition, and continues differently.

A repetition is a sequence of tokens that occurs `times` times in a row and has at least `fewest` tokens in all. The
hook keeps its first occurrence and bans the token that began the second one there. Options: `times`, `fewest`,
`longest` (tokens of one occurrence).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worker.decision import Decision
from worker.step import Step


class Hook:
    """Looks for repetitions at the end of the answer."""

    def __init__(self, times: int = 3, fewest: int = 12, longest: int = 100) -> None:
        if times < 2 or fewest < times or longest < 1:
            raise ValueError("`times` is 2 or more, `fewest` at least as many, `longest` 1 or more")
        self._times = times
        self._fewest = fewest
        self._longest = longest
        self._banned: dict[int, set[int]] = {}
        """The tokens that began a repetition, by position."""

    def __call__(self, step: Step) -> Decision | None:
        if step.phase == "after":
            if step.token in self._banned.get(step.position, ()):
                return Decision(resample=True)
            return None
        self._banned = {position: ids for position, ids in self._banned.items() if position <= step.position}
        period = self._period(step.tokens)
        if period is None:
            return None
        back = period * (self._times - 1)
        self._banned.setdefault(step.position - back, set()).add(step.tokens[-back])
        return Decision(backtrack=back)

    def _period(self, tokens: Sequence[int]) -> int | None:
        """Return the length in tokens of the shortest repeated sequence at the end; None if nothing is repeated."""
        end = np.array(tokens[-self._longest * self._times :], dtype=np.int64)
        # Each occurrence ends with the last token, so only distances to equal tokens can be periods.
        for period in (len(end) - 1 - np.flatnonzero(end[:-1] == end[-1]))[::-1].tolist() if len(end) else ():
            length = period * self._times
            if length > len(end):
                break
            if length >= self._fewest and bool((end[-length + period :] == end[-length:-period]).all()):
                return period
        return None
