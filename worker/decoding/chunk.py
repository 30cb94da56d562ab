"""Processes a chunk of a prompt layer by layer, and reads commands in between. Undoes an unfinished chunk."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence

import mlx.core as mx

from worker.cache.branch_in_use import BranchInUse
from worker.errors import NotFiniteError
from worker.layers import Undo, arrays_of, has_finite_end

CHUNK = 512
"""Tokens in a chunk. The size is fixed, because a model rounds differently with other sizes."""

_STEP_S = 0.05
"""Layers that together take about this long are evaluated at once, but always at least one."""

_RECENT = 1 << 14
"""After this many tokens, older measurements count half."""


class Pace:
    """How fast the model has recently processed prompts."""

    def __init__(self) -> None:
        self._num_tokens = 0.0
        self._took_s = 0.0

    def note(self, num_tokens: int, took_s: float) -> None:
        """Add the measurement of one chunk: its tokens, and its time in seconds."""
        self._num_tokens += num_tokens
        self._took_s += took_s
        if self._num_tokens > _RECENT:
            self._num_tokens /= 2
            self._took_s /= 2

    @property
    def tokens_per_s(self) -> float | None:
        """The recent speed in tokens per second; None before the first measurement."""
        return self._num_tokens / self._took_s if self._took_s else None


class Portions:
    """Decides how many layers of a chunk are evaluated at once, so that this takes about `_STEP_S`.

    Evaluating a layer's keys computes all earlier layers completely, but only a part of the layer itself. So the time
    for the first layer does not predict the time for the others. Layers may also differ, so a portion is at most twice
    as long as the one before it.
    """

    def __init__(self, num_layers: int, usual_s: float | None) -> None:
        """`usual_s`: the time that a layer of this chunk usually takes; None if it is not known."""
        self._num_layers = num_layers
        self._usual_s = usual_s or 0.0
        self._layer_s = usual_s or _STEP_S
        self._start = self.end = 0
        """The layers of the present portion, from the first up to `end`."""

    @property
    def is_last(self) -> bool:
        return self.end >= self._num_layers

    def begin_next(self) -> slice:
        """Return the layers of the next portion, at least one."""
        length = max(1, int(_STEP_S / max(self._layer_s, self._usual_s)))
        if self.end:
            length = min(length, 2 * (self.end - self._start))
        self._start, self.end = self.end, min(self.end + length, self._num_layers)
        return slice(self._start, self.end)

    def note(self, took_s: float) -> None:
        """Add the time that the present portion took."""
        num_whole = self.end - max(1, self._start)
        if num_whole:
            self._layer_s = max(took_s, 1e-9) / num_whole


class ChunkReader:
    """Processes chunks of a prompt, and adds them to the layers of the branch in use."""

    def __init__(self, forward: Callable[[Sequence[int], BranchInUse], mx.array]) -> None:
        """`forward` processes tokens and adds them to the layers of a branch, lazily."""
        self._forward = forward
        self.pace = Pace()
        self.num_partly = 0
        """The finished part of the present chunk, in tokens; 0 between two chunks."""

    def read(self, token_ids: Sequence[int], branch: BranchInUse) -> Generator[None]:
        """Process tokens after those that the layers hold; yield between two steps.

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
        finally:
            self.num_partly = 0
        branch.extend(token_ids)
        mx.clear_cache()

    def _read(self, token_ids: Sequence[int], branch: BranchInUse, undo: Undo) -> Generator[None]:
        """Process a chunk as one lazy computation, whose parts are evaluated in the order of the layers.

        Each operation is then the same as if all were evaluated at once, and its result has the same bits.
        """
        layers = branch.layers
        began = time.perf_counter()
        self._forward(token_ids, branch)
        is_finite = has_finite_end(layers, len(token_ids))
        took_s = time.perf_counter() - began
        pace = self.pace.tokens_per_s
        portions = Portions(len(layers), len(token_ids) / pace / len(layers) if pace else None)
        while not portions.is_last:
            if portions.end:
                self.num_partly = len(token_ids) * portions.end // len(layers)
                yield
            began = time.perf_counter()
            coming = layers[portions.begin_next()]
            undo.release(coming)
            mx.eval([arrays_of(layer) for layer in coming], [is_finite] if portions.is_last else [])
            step_s = time.perf_counter() - began
            portions.note(step_s)
            took_s += step_s
        if not is_finite.item():
            raise NotFiniteError
        self.pace.note(len(token_ids), took_s)
