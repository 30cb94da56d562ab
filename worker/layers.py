"""What a model's layers keep of the tokens they have read, taken apart and put together again; it knows no tree.

Attention keeps a key and a value for each position: any stretch of positions can be taken out, and be put back later.
A recurrent layer keeps one state for all it has read: there is only the state after the last token. A rotating layer,
which sees a window of the latest positions, is the first until its window is full, and the second after that.
Everything comes back as it was, bit for bit.
"""

from __future__ import annotations

import copy
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

import mlx.core as mx
from mlx.utils import tree_flatten, tree_map
from mlx_lm.models.cache import CacheList, ChunkedKVCache, KVCache, QuantizedKVCache, RotatingKVCache

Layers: TypeAlias = list[Any]
"""What a model keeps of the tokens it has read, a cache a layer, as mlx-lm's models make them."""

Arrays: TypeAlias = Any
"""Arrays in any nesting of lists and tuples; of positions, the next to last axis counts them."""

_STEP = 256  # keys and values grow by so many positions at once, as in mlx-lm


class Stack(ABC):
    """The layers of one kind: what can be done with one of them can be done with all."""

    most_positions: int
    """Up to how many tokens such a layer is nothing but its positions; after that it has a state."""

    def __init__(self, caches: list[Any]) -> None:
        self._caches = caches

    @property
    @abstractmethod
    def num_positions(self) -> int:
        """How many positions can be taken out now, counted from the first; 0 where that is gone."""

    def positions(self, start: int, stop: int) -> Arrays:
        """Copy a stretch of positions, lazily."""
        return [stretch_of((cache.keys, cache.values), start, stop) for cache in self._caches]

    @abstractmethod
    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        """Hold the first `num_own` of the positions held now, then `parts`, and nothing else."""

    def state(self, *, copied: bool = True) -> Arrays:
        """Return all there is, lazily; copied, or for as long as it costs nothing: until it is changed in place."""
        take = own if copied else _shared
        return [take(held) for held in self._held()]

    def _held(self) -> list[dict[str, Any]]:
        return [dict(cache.__dict__) for cache in self._caches]

    def set_state(self, state: Arrays) -> None:
        """Be as when `state` was taken."""
        for cache, held in zip(self._caches, state, strict=True):
            cache.__dict__.update(own(held))

    @property
    def arrays(self) -> Arrays:
        """All arrays held, with what room there is behind them."""
        return [list(cache.__dict__.values()) for cache in self._caches]


class _Attention(Stack):
    """All positions, each at its place."""

    most_positions = sys.maxsize

    @property
    def num_positions(self) -> int:
        return self._caches[0].offset

    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        for index, cache in enumerate(self._caches):
            pieces = [part[index] for part in parts]
            num_all = num_own + sum(num_positions_in(piece) for piece in pieces)
            if not num_all:
                cache.keys = cache.values = None
            else:
                held = (cache.keys, cache.values) if num_own else None
                cache.keys, cache.values = _joined(held, num_own, pieces, num_all)
            cache.offset = num_all


class _Chunks(_Attention):
    """The positions of the latest chunk; earlier ones are dropped when a next token comes."""

    def __init__(self, caches: list[Any]) -> None:
        super().__init__(caches)
        self.most_positions = caches[0].chunk_size

    @property
    def num_positions(self) -> int:
        return 0 if self._caches[0].start_position else self._caches[0].offset

    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        for cache in self._caches:
            cache.start_position = 0
        super().set_positions(num_own, parts)

    def _held(self) -> list[dict[str, Any]]:
        all_held = super()._held()
        for held in all_held:
            if held["keys"] is not None:
                length = held["offset"] - held["start_position"]
                held["keys"], held["values"] = (held[name][..., :length, :] for name in ("keys", "values"))
        return all_held


class _Windows(Stack):
    """The positions of the latest tokens, as a ring once the window is full."""

    def __init__(self, caches: list[Any]) -> None:
        super().__init__(caches)
        self.most_positions = caches[0].max_size

    @property
    def num_positions(self) -> int:
        cache = self._caches[0]
        return cache.offset if cache.offset <= cache.max_size and cache._idx == cache.offset else 0  # noqa: SLF001

    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        for index, cache in enumerate(self._caches):
            pieces: list[Arrays] = [stretch_of((cache.keys, cache.values), 0, num_own)] if num_own else []
            pieces += [part[index] for part in parts]
            cache.keys = cache.values = None
            if pieces:
                cache.keys, cache.values = tree_map(_concatenate, tuple(pieces[0]), *map(tuple, pieces[1:]))
            cache.offset = cache._idx = num_own + sum(num_positions_in(part[index]) for part in parts)  # noqa: SLF001

    def _held(self) -> list[dict[str, Any]]:
        all_held = super()._held()
        for cache, held in zip(self._caches, all_held, strict=True):
            # What a chunk of the prompt brought beyond the window goes with the next token anyhow.
            beyond = 0 if cache.keys is None else cache.keys.shape[2] - cache.max_size
            if beyond > 0:
                held["keys"], held["values"] = (cache._trim(beyond, each) for each in (cache.keys, cache.values))  # noqa: SLF001
                held["_idx"] = cache.max_size
        return all_held


class _Recurrent(Stack):
    """One state for all that was read, of whatever form."""

    most_positions = 0

    @property
    def num_positions(self) -> int:
        return 0

    def positions(self, start: int, stop: int) -> Arrays:
        raise NotImplementedError

    def set_positions(self, num_own: int, parts: Sequence[Arrays]) -> None:
        raise NotImplementedError


def stacks_of(layers: Layers) -> list[Stack]:
    """Sort a model's layers by what can be done with them."""
    found: dict[object, tuple[Callable[[list[Any]], Stack], list[Any]]] = {}
    for cache in _single(layers):
        match cache:
            case ChunkedKVCache():
                kind, make = (_Chunks, cache.chunk_size), _Chunks
            case KVCache() | QuantizedKVCache():
                kind, make = _Attention, _Attention
            case RotatingKVCache():
                kind, make = (_Windows, cache.max_size, cache.keep), _Windows
            case _:
                kind, make = _Recurrent, _Recurrent
        found.setdefault(kind, (make, []))[1].append(cache)
    return [make(caches) for make, caches in found.values()]


def quantized(layers: Layers, bits: int, group_size: int) -> tuple[Layers, int]:
    """Replace what can keep its keys and values in fewer bits; return the layers and how many could.

    Windows and recurrent states have no such form.
    """
    num_quantized = 0

    def replaced(layer: Any) -> Any:
        nonlocal num_quantized
        if isinstance(layer, CacheList):
            return CacheList(*(replaced(part) for part in cast("Iterable[Any]", layer.caches)))
        if type(layer) is not KVCache:
            return layer
        num_quantized += 1
        return QuantizedKVCache(group_size=group_size, bits=bits)

    return [replaced(layer) for layer in layers], num_quantized


def _single(layers: Iterable[Any]) -> Iterable[Any]:
    for layer in layers:
        if isinstance(layer, CacheList):
            yield from _single(layer.caches)
        elif layer is not None:
            yield layer


def cut(arrays: Arrays, num_positions: int) -> tuple[Arrays, Arrays]:
    """Cut a stretch of positions in two, each with memory of its own."""
    first, rest = stretch_of(arrays, 0, num_positions), stretch_of(arrays, num_positions, None)
    mx.eval(arrays_in(first), arrays_in(rest))
    return first, rest


def arrays_in(value: Arrays) -> list[mx.array]:
    """Return all arrays, at whatever depth."""
    match value:
        case mx.array():
            return [value]
        case dict():
            return arrays_in(list(cast("dict[str, Any]", value).values()))
        case list() | tuple():
            return [array for each in cast("Iterable[Any]", value) for array in arrays_in(each)]
        case _:
            return []


def held_by(layer: Any) -> list[mx.array]:
    """Return all arrays that one layer's cache holds, those of nested ones, too."""
    nested = getattr(layer, "caches", None)
    if nested is not None:
        return [array for each in nested for array in held_by(each)]
    return arrays_in(layer and list(layer.__dict__.values()))


def num_bytes_in(value: Arrays) -> int:
    """Return the bytes of all arrays."""
    return sum(array.nbytes for array in arrays_in(value))


def own(value: Any) -> Any:
    """Copy what a cache holds: new arrays (they are changed in place), with memory of their own."""
    return _each_array(value, lambda array: mx.where(True, array, array))  # `mx.contiguous` may share


def _shared(value: Any) -> Any:
    """Hold the same arrays: an array that is changed in place is copied then, if another one holds what it was."""
    return _each_array(value, lambda array: mx.reshape(array, array.shape))


def _each_array(value: Any, take: Callable[[mx.array], mx.array]) -> Any:
    match value:
        case mx.array():
            return take(value)
        case dict():
            return {name: _each_array(each, take) for name, each in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            taken = [_each_array(each, take) for each in cast("Iterable[Any]", value)]
            return tuple(taken) if isinstance(value, tuple) else taken
        case _:
            return copy.copy(value)


def stretch_of(arrays: Arrays, start: int, stop: int | None) -> Arrays:
    """Copy a stretch of positions, lazily."""

    def part(array: mx.array) -> mx.array:
        if array.size == array.shape[-2] * array.shape[-1]:
            # A stretch of a single head is a view that keeps up to 16 KB more alive than it counts; this copies.
            return mx.take(array, mx.arange(array.shape[-2])[start:stop], axis=-2)
        return mx.contiguous(array[..., start:stop, :])

    return tree_map(part, arrays)


def _joined(held: Arrays | None, num_own: int, pieces: Sequence[Arrays], num_all: int) -> Arrays:
    """Put `pieces` behind the first `num_own` positions of `held`: in place where there is room, but not too much."""
    if held is not None and num_all <= _room(held) <= num_all + num_all // 16 + _STEP:
        place = num_own
        for piece in pieces:
            end = place + num_positions_in(piece)
            for array, part in zip(arrays_in(held), arrays_in(piece), strict=True):
                array[..., place:end, :] = part
            place = end
        return held
    own = [] if held is None else [stretch_of(held, 0, num_own)]
    room = -num_all % _STEP

    def join(*arrays: mx.array) -> mx.array:
        *outer, _, width = arrays[0].shape
        return _concatenate(*arrays, mx.zeros((*outer, room, width), arrays[0].dtype))

    first, *others = [*own, *pieces]
    return tree_map(join, first, *others)


def _concatenate(*arrays: mx.array) -> mx.array:
    return mx.concatenate(list(arrays), axis=-2)


def num_positions_in(arrays: Arrays) -> int:
    """Return how many positions these are."""
    return cast("list[tuple[str, mx.array]]", tree_flatten(arrays))[0][1].shape[-2]


_room = num_positions_in
