"""How many answers there is memory for at once; it knows none of them and holds nothing.

Each row of a batch is as long as the longest, and the branch in the working layers is there besides.
"""

from __future__ import annotations

from worker.cache.prompt_cache import PromptCache
from worker.language_model import LanguageModel

_MOST_ROWS = 64
_ROOM = 256
"""Tokens that a branch is expected to grow by at least, where it is asked whether there is memory for it."""
LOOK_EVERY = 32
"""Tokens after which it is asked again whether there is memory for all."""


class Admission:
    """Asked beforehand, and again as answers grow."""

    def __init__(self, model: LanguageModel, cache: PromptCache) -> None:
        self._model = model
        self._cache = cache
        self.is_one_by_one = False
        """Several at once broke: one after another until all are answered."""

    def admits(self, num_rows: int, longest: int) -> bool:
        """Whether so many answers can be begun or be continued at once, of which the longest has so many tokens."""
        if num_rows == 1:
            return True
        if self.is_one_by_one or num_rows > _MOST_ROWS or not self._model.can_batch:
            return False
        return self._fits(num_rows, longest + _ROOM)

    def holds(self, num_rows: int, longest: int) -> bool:
        """Whether answers that were admitted can go on all together until they are looked at again."""
        return num_rows == 1 or self._fits(num_rows, longest + LOOK_EVERY)

    def _fits(self, num_rows: int, longest: int) -> bool:
        return (num_rows + 1) * self._model.num_bytes_at(longest) <= self._cache.limit_bytes
