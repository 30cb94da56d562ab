"""Prefill: reads sequences into the prompt cache's working layers, one chunk a step.

On the way it keeps copies of the layers' states at the positions that may be continued later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import mlx.core as mx

from worker.cache.prompt_cache import PromptCache
from worker.language_model import LanguageModel

_CHUNK = 512
"""Tokens in a chunk. The server looks for commands after each chunk."""

_MIN_CHUNK = 32
_PAUSE_S = 0.05
"""While answers stream, a chunk takes about this long, but has at least `_MIN_CHUNK` and at most `_CHUNK` tokens."""

_HEADER = 8
"""Control tokens at most this far apart belong to the same message boundary."""

_STRIDE = 1024
"""In long messages, states are kept every `_STRIDE` tokens."""

_RECENT = 1 << 14
"""After this many tokens, older measurements count half."""


class Pace:
    """How fast the model has lately read prompts."""

    def __init__(self) -> None:
        self.last_tokens_per_s = 0.0
        """The speed of the last chunk alone."""
        self._num_tokens = 0.0
        self._took_s = 0.0

    def note(self, num_tokens: int, took_s: float) -> None:
        """Add the measurement of one chunk."""
        self.last_tokens_per_s = num_tokens / took_s
        self._num_tokens += num_tokens
        self._took_s += took_s
        if self._num_tokens > _RECENT:
            self._num_tokens /= 2
            self._took_s /= 2

    @property
    def tokens_per_s(self) -> float | None:
        """The recent speed; None before anything was read."""
        return self._num_tokens / self._took_s if self._took_s else None


class Prefill:
    """Reads sequences with one model into one cache."""

    def __init__(self, model: LanguageModel, cache: PromptCache) -> None:
        self._model = model
        self._cache = cache
        self.pace = Pace()

    def read(self, sequence: Sequence[int], in_company: Callable[[], bool]) -> Iterator[int]:
        """Read all but the last token, except those that are kept. Yield the number of tokens read or kept so far.

        The first number yielded is that of the kept tokens. `in_company` returns whether other answers wait for the
        step.
        """
        cache = self._cache
        positions = self._positions_to_keep(sequence)
        done = cache.rewind_to(sequence)
        yield done
        while done < len(sequence) - 1:
            began = time.perf_counter()
            end = min(done + self._chunk(in_company=in_company()), len(sequence) - 1)
            end = next((position for position in positions if done < position < end), end)
            self.forward(sequence[done:end])
            mx.eval([layer.state for layer in cache.branch.layers])
            mx.clear_cache()
            self.pace.note(end - done, time.perf_counter() - began)
            done = end
            if done in positions:
                cache.keep()
            yield done
        cache.keep()

    def forward(self, token_ids: Sequence[int]) -> mx.array:
        """Read tokens after those that the layers hold. Return the logits, unevaluated."""
        self._cache.branch.make_room(len(token_ids))
        logits = self._model.forward(mx.array([list(token_ids)]), self._cache.branch.layers)
        self._cache.branch.extend(token_ids)
        return logits

    def _chunk(self, *, in_company: bool) -> int:
        """Return how many tokens to read in the next chunk."""
        if not in_company:
            return _CHUNK
        return min(max(int(self.pace.last_tokens_per_s * _PAUSE_S), _MIN_CHUNK), _CHUNK)

    def _positions_to_keep(self, sequence: Sequence[int]) -> list[int]:
        """Return the positions at which to keep copies of the layers' states; empty if the layers can be trimmed.

        Templates put control tokens between messages. Two branches may differ right after the last of them.
        """
        if not self._cache.branch.needs_keeping(len(sequence)):
            return []
        controls = self._model.vocabulary.control_ids
        after = [index + 1 for index, token_id in enumerate(sequence) if token_id in controls]
        ends = [
            position
            for position, following in pairwise([*after, len(sequence) + _HEADER])
            if following - position > _HEADER
        ]
        # The user may fork in the middle of a long message, or of a prompt without messages.
        return sorted({*ends, *range(_STRIDE, len(sequence), _STRIDE), self._cache.fork(sequence)})
