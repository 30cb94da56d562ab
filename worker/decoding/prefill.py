"""Prefill: processes sequences in the prompt cache's working layers, chunk by chunk.

It also keeps copies of the layers' states at positions from which later requests may continue.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise

import mlx.core as mx

from worker.cache.branch_in_use import BranchInUse
from worker.cache.prompt_cache import PromptCache
from worker.decoding.chunk import CHUNK, ChunkReader, Pace
from worker.language_model import LanguageModel

_HEADER = 8
"""Control tokens at most this far apart belong to the same message boundary."""

_STRIDE = 1024
"""In long messages, states are kept every `_STRIDE` tokens."""


class Prefill:
    """Processes sequences with one model, and enters them into one cache."""

    def __init__(self, model: LanguageModel, cache: PromptCache) -> None:
        self._model = model
        self._cache = cache
        self._chunks = ChunkReader(self._forward)

    @property
    def pace(self) -> Pace:
        return self._chunks.pace

    @property
    def num_partly(self) -> int:
        """The finished part of the chunk that is being processed, in tokens."""
        return self._chunks.num_partly

    def read(self, sequence: Sequence[int]) -> Generator[int]:
        """Process all tokens but the last one, except cached ones. Yield how many are processed or cached so far.

        The first number yielded is that of the cached tokens. A slow chunk yields several times. If the generator is
        closed, all whole chunks are kept. Raises `NotFiniteError`.
        """
        cache = self._cache
        positions = self._positions_to_keep(sequence)
        done = cache.rewind_to(sequence)
        yield done
        while done < len(sequence) - 1:
            end = min(done + CHUNK, len(sequence) - 1)
            end = next((position for position in positions if done < position < end), end)
            for _ in self._chunks.read(sequence[done:end], cache.branch):
                yield done
            done = end
            if done in positions:
                cache.keep()
            yield done
        cache.keep()

    def forward(self, token_ids: Sequence[int]) -> mx.array:
        """Process tokens after those that the layers hold. Return the logits, lazily."""
        branch = self._cache.branch
        branch.make_room(len(token_ids))
        logits = self._forward(token_ids, branch)
        branch.extend(token_ids)
        return logits

    def _forward(self, token_ids: Sequence[int], branch: BranchInUse) -> mx.array:
        return self._model.forward(mx.array([list(token_ids)]), branch.layers)

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
