"""How many answers fit in memory at once.

Each row of a batch is as long as the longest one, and the branch in the working layers needs memory, too. Answers that
begin with the same tokens may share their memory.
"""

from __future__ import annotations

from worker.cache.prompt_cache import PromptCache
from worker.language_model import LanguageModel

_MAX_ROWS = 64
_ROOM = 256
"""A new answer is admitted only if there is memory for this many more tokens."""
LOOK_EVERY = 32
"""Each time the longest answer has grown by this many tokens, the engine checks again whether all answers fit."""


class Admission:
    """Decides how many answers may run at once, before they start and while they grow."""

    def __init__(self, model: LanguageModel, cache: PromptCache) -> None:
        self._model = model
        self._cache = cache
        self.is_one_by_one = False
        """Whether answers run one after another until all are done, because running them at once failed."""

    def admits(self, num_rows: int, longest: int, saved_bytes: int = 0) -> bool:
        """Return whether `num_rows` answers may run at once, the longest of which has `longest` tokens.

        `saved_bytes`: how many bytes they save by sharing.
        """
        if num_rows == 1:
            return True
        if self.is_one_by_one or num_rows > _MAX_ROWS or not self._model.can_batch:
            return False
        return self._fits(num_rows, longest + _ROOM, saved_bytes)

    def holds(self, num_rows: int, longest: int, saved_bytes: int = 0) -> bool:
        """Return whether the running answers fit until the next check. The arguments are those of `admits`."""
        return num_rows == 1 or self._fits(num_rows, longest + LOOK_EVERY, saved_bytes)

    def _fits(self, num_rows: int, longest: int, saved_bytes: int) -> bool:
        return (num_rows + 1) * self._model.num_bytes_at(longest) - saved_bytes <= self._cache.limit_bytes
