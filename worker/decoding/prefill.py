"""Sequences read into the prompt cache's working layers, a chunk a step; it knows no request and no other branch.

On the way it keeps the places that one may come back to, where it takes a copy of the layers' states to do so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import mlx.core as mx

from worker.cache.prompt_cache import PromptCache
from worker.decoding.pace import Pace
from worker.language_model import LanguageModel

_CHUNK = 512
"""Tokens read between two looks for commands."""

_SMALL_CHUNK = 32
_PAUSE_S = 0.05
"""While answers stream, a chunk is as large as can be read in this time, between these sizes."""

_HEADER = 8
"""Control tokens that are no further apart belong to one place between two messages."""

_STRIDE = 1024
"""Tokens after which a place is one to come back to, wherever it is."""


class Prefill:
    """Reads with one model into one cache."""

    def __init__(self, model: LanguageModel, cache: PromptCache) -> None:
        self._model = model
        self._cache = cache
        self.pace = Pace()

    def read(self, sequence: Sequence[int], in_company: Callable[[], bool]) -> Iterator[int]:
        """Read what is not kept of all but the last token; yield how many are there, first those that were kept.

        `in_company`: whether others wait for the step to end.
        """
        cache = self._cache
        places = self._places_to_keep(sequence)
        done = cache.rewind_to(sequence)
        yield done
        while done < len(sequence) - 1:
            began = time.perf_counter()
            end = min(done + self._chunk(in_company=in_company()), len(sequence) - 1)
            end = next((place for place in places if done < place < end), end)
            self.forward(sequence[done:end])
            mx.eval([layer.state for layer in cache.layers])
            mx.clear_cache()
            self.pace.note(end - done, time.perf_counter() - began)
            done = end
            if done in places:
                cache.keep()
            yield done
        cache.keep()

    def forward(self, token_ids: Sequence[int]) -> mx.array:
        """Read tokens, whatever the layers hold; return the logits after them, not yet computed."""
        self._cache.make_room(len(token_ids))
        logits = self._model.forward(mx.array([list(token_ids)]), self._cache.layers)
        self._cache.extend(token_ids)
        return logits

    def _chunk(self, *, in_company: bool) -> int:
        """How many tokens to read at once."""
        if not in_company:
            return _CHUNK
        return min(max(int(self.pace.last_tokens_per_s * _PAUSE_S), _SMALL_CHUNK), _CHUNK)

    def _places_to_keep(self, sequence: Sequence[int]) -> list[int]:
        """Where a sequence may be forked later, as far as it takes a copy of the layers' states to come back there.

        Templates put control tokens between messages; behind the last of several is where two messages may differ.
        """
        if not self._cache.needs_keeping(len(sequence)):
            return []
        controls = self._model.vocabulary.control_ids
        after = [place + 1 for place, token_id in enumerate(sequence) if token_id in controls]
        ends = [
            place for place, following in pairwise([*after, len(sequence) + _HEADER]) if following - place > _HEADER
        ]
        # A long message, or a prompt without any: one may come back to its middle.
        return sorted({*ends, *range(_STRIDE, len(sequence), _STRIDE), self._cache.fork(sequence)})
