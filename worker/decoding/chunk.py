"""Reads a chunk of a prompt layer by layer, so that commands are noticed meanwhile. Undoes an unfinished chunk."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence

import mlx.core as mx

from worker.cache.branch_in_use import BranchInUse
from worker.errors import NotFiniteError
from worker.layers import Undo, arrays_of, has_finite_end

CHUNK = 512
"""Tokens in a chunk. The number is fixed, because a model rounds differently in chunks of other sizes."""

_STEP_S = 0.05
"""Layers that together take about this long are evaluated at once, but always at least one."""

_RECENT = 1 << 14
"""After this many tokens, older measurements count half."""


class Pace:
    """How fast the model has lately read prompts."""

    def __init__(self) -> None:
        self._num_tokens = 0.0
        self._took_s = 0.0

    def note(self, num_tokens: int, took_s: float) -> None:
        """Add the measurement of one chunk."""
        self._num_tokens += num_tokens
        self._took_s += took_s
        if self._num_tokens > _RECENT:
            self._num_tokens /= 2
            self._took_s /= 2

    @property
    def tokens_per_s(self) -> float | None:
        """The recent speed; None before anything was read."""
        return self._num_tokens / self._took_s if self._took_s else None


class ChunkReader:
    """Reads chunks into the layers of the branch in use."""

    def __init__(self, forward: Callable[[Sequence[int], BranchInUse], mx.array]) -> None:
        """`forward` reads tokens into the layers of a branch, lazily."""
        self._forward = forward
        self.pace = Pace()

    def read(self, token_ids: Sequence[int], branch: BranchInUse) -> Generator[None]:
        """Read tokens after those that the layers hold; yield between two steps.

        If this generator is closed, or a step fails, the layers hold what they held before. Raises `NotFiniteError`.
        """
        branch.settle()
        branch.make_room(len(token_ids))
        undo = Undo(branch.layers)
        try:
            yield from self._read(token_ids, branch, undo)
        except BaseException:
            undo.restore()
            raise
        branch.extend(token_ids)
        mx.clear_cache()

    def _read(self, token_ids: Sequence[int], branch: BranchInUse, undo: Undo) -> Generator[None]:
        """Read a chunk as one lazy computation, whose parts are evaluated in the order of the layers.

        Each operation is then the same as if all were evaluated at once, and its result has the same bits.
        """
        layers = branch.layers
        began = time.perf_counter()
        self._forward(token_ids, branch)
        is_finite = has_finite_end(layers, len(token_ids))
        took_s = time.perf_counter() - began
        pace = self.pace.tokens_per_s
        # Begin with a single layer if the time of a layer is not known.
        layer_s = len(token_ids) / pace / len(layers) if pace else _STEP_S
        done = 0
        while done < len(layers):
            if done:
                yield
            began = time.perf_counter()
            coming = layers[done : done + max(1, int(_STEP_S / layer_s))]
            done += len(coming)
            undo.release(coming)
            mx.eval([arrays_of(layer) for layer in coming], [is_finite] if done == len(layers) else [])
            step_s = time.perf_counter() - began
            layer_s = max(step_s, 1e-9) / len(coming)
            took_s += step_s
        if not is_finite.item():
            raise NotFiniteError
        self.pace.note(len(token_ids), took_s)
