"""What the model has read and keeps, so that it never reads it again; it knows tokens, not messages.

One path of tokens lies in the working layers. A request takes the longest beginning of its prompt that is kept:
layers that can be trimmed are cut back to it, the others go on from a snapshot. What is matched is ids alone.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import trim_prompt_cache

from worker.language_model import Layers

_STRIDE = 512  # tokens compared at once


@dataclass(frozen=True)
class _Snapshot:
    token_ids: tuple[int, ...]
    layers: Layers
    num_bytes: int


class PromptCache:
    """The kept state of one model."""

    def __init__(self, new_layers: Callable[[], Layers], *, trimmable: bool, limit_bytes: int | None = None) -> None:
        self._new_layers = new_layers
        self._trimmable = trimmable
        self.limit_bytes = _default_limit_bytes() if limit_bytes is None else limit_bytes
        self.layers: Layers = new_layers()
        self.token_ids: list[int] = []
        """The tokens that the working layers hold."""
        self._snapshots: list[_Snapshot] = []
        """Of layers that can't be trimmed, the latest used last."""

    def num_kept(self, prompt_ids: Sequence[int]) -> int:
        """Return how many tokens at the beginning of `prompt_ids` need not be read again; always leaves one."""
        return self._best(prompt_ids)[0]

    def rewind_to(self, prompt_ids: Sequence[int]) -> int:
        """Bring the working layers to the longest kept beginning of `prompt_ids`; return its length."""
        num_kept, snapshot = self._best(prompt_ids)
        if snapshot is not None:
            self._snapshots.remove(snapshot)
            self._snapshots.append(snapshot)
            self.layers = copy.deepcopy(snapshot.layers)
        elif num_kept < len(self.token_ids):
            if num_kept:
                trim_prompt_cache(self.layers, len(self.token_ids) - num_kept)
            else:
                self.layers = self._new_layers()
        self.token_ids = list(prompt_ids[:num_kept])
        return num_kept

    def fork(self, prompt_ids: Sequence[int]) -> int:
        """Return where `prompt_ids` leaves everything that is held: a place that was forked once may be so again.

        Where layers can't be trimmed this may lie behind what `num_kept` says, and is worth a snapshot.
        """
        paths = [self.token_ids, *(list(kept.token_ids) for kept in self._snapshots)]
        return min(max(_common_length(path, prompt_ids) for path in paths), len(prompt_ids) - 1)

    def extend(self, token_ids: Sequence[int]) -> None:
        """Note that the working layers have read these tokens, too."""
        self.token_ids += token_ids

    def keep_snapshot(self) -> None:
        """Make this place one to come back to. Costs nothing where layers can be trimmed."""
        if self._trimmable or not self.token_ids:
            return
        token_ids = tuple(self.token_ids)
        self._snapshots = [kept for kept in self._snapshots if kept.token_ids != token_ids]
        # A state that is not computed yet would keep alive all that it is computed from.
        mx.eval([layer.state for layer in self.layers])
        layers = copy.deepcopy(self.layers)
        self._snapshots.append(_Snapshot(token_ids, layers, num_bytes_of(layers)))
        while self._snapshots and self.num_bytes > self.limit_bytes:
            self._snapshots.pop(0)

    def clear(self) -> None:
        """Forget everything."""
        self.layers = self._new_layers()
        self.token_ids = []
        self._snapshots = []

    @property
    def num_tokens(self) -> int:
        """Distinct tokens held."""
        return _num_distinct({tuple(self.token_ids), *(kept.token_ids for kept in self._snapshots)})

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays held."""
        return num_bytes_of(self.layers) + sum(kept.num_bytes for kept in self._snapshots)

    def _best(self, prompt_ids: Sequence[int]) -> tuple[int, _Snapshot | None]:
        """The longest usable beginning, and the snapshot that holds it (None: the working layers)."""
        most = len(prompt_ids) - 1
        common = min(_common_length(self.token_ids, prompt_ids), most)
        if self._trimmable or common == len(self.token_ids):
            return max(common, 0), None
        usable = [
            kept
            for kept in self._snapshots
            if len(kept.token_ids) <= most and kept.token_ids == tuple(prompt_ids[: len(kept.token_ids)])
        ]
        best = max(usable, key=lambda kept: len(kept.token_ids), default=None)
        return (len(best.token_ids), best) if best is not None else (0, None)


def num_bytes_of(layers: Layers) -> int:
    """Return the bytes of the arrays in some layers."""
    return sum(_num_bytes(layer) for layer in layers)


def _num_bytes(layer: Any) -> int:
    return 0 if layer.empty() else int(layer.nbytes)


def _common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two sequences of one type begin with in common."""
    length = min(len(a), len(b))
    # Whole slices are compared in C: a long conversation in microseconds, not in milliseconds.
    start = 0
    while start < length and a[start : start + _STRIDE] == b[start : start + _STRIDE]:
        start += _STRIDE
    while start < length and a[start] == b[start]:
        start += 1
    return min(start, length)


def _num_distinct(paths: set[tuple[int, ...]]) -> int:
    """In sorted order a path shares its longest beginning with the one before it."""
    total = 0
    before: tuple[int, ...] = ()
    for path in sorted(paths):
        total += len(path) - _common_length(path, before)
        before = path
    return total


def _default_limit_bytes() -> int:
    """A quarter of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
