"""Checks the numbers in a model's config.json: too many layers, unusual numbers, and numbers that break the model."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from worker.errors import ModelInvalidError
from worker.models.weight_file import WeightFile
from worker.sentence import Sentence

_LAYERS = re.compile(r"(?:\w+_)?(?:num|n)_(?:\w+_)?layers?")
_EXPERTS = re.compile(r"(?:\w+_)?(?:num|n)_(?:\w+_)?experts")
_PATTERN = re.compile(r"\w*pattern")
"""Keys of texts that have a letter for each layer."""
_FEW_LAYERS = 512
"""Up to this number, layers are not compared with the tensors: some models use the same weights several times."""
_MAX_LAYERS = 4096

_POSITIVE = re.compile(r"\w*(?:theta|base|factor|scal|multiplier|eps|softcap|freq|temp)\w*")
"""Keys of numbers that a model divides by, raises to powers, or takes roots or logarithms of."""
_NUM_NAMED = 3
_NUM_SHOWN = 40

_SMALL = 512
"""Numbers up to this one can't make a model large."""
_ORDINARY = re.compile(
    r"\w*(?:size|dim|rank|width|embd|embed|inner|model|channels|hidden|ffn|mlp|head|heads|vocab"
    r"|embeddings|ff|input|position|positions|length|len|ctx|context|window|chunk|theta|base|token_id|token|id|ids|index|topk|top_k|seed"
    r"|layers|layer_types|experts|scalar|scaling|factor|floor_scale)"
)
"""Keys of numbers that are often large. Tests try them in all architectures: the weights' shapes limit them."""
_COUNT = re.compile(r"(?:num|n)_\w+|\w*(?:size|dim|rank|width|heads)")
"""Keys of numbers that are multiplied. A text or a list in their place would be repeated as often as the other says."""


def check_config(path: Path, config: Mapping[str, Any], files: Sequence[WeightFile]) -> None:
    """Refuse a configuration with far more layers or experts than the weight files hold.

    mlx-lm builds all of them before it looks at the weights, which might take hours and all memory.
    """
    num_tensors = sum(file.num_tensors for file in files)
    longest = max(file.longest_dimension for file in files)
    for key, number in _lengths(config):
        if number > max(num_tensors, _MAX_LAYERS):
            raise _too_many(path, f"len({key})", number, num_tensors)
    for key, number in _integers(config):
        if _LAYERS.fullmatch(key):
            limit = min(max(num_tensors, _FEW_LAYERS), _MAX_LAYERS)
        elif _EXPERTS.fullmatch(key):
            limit = max(num_tensors, longest, _FEW_LAYERS)
        else:
            continue
        if number > limit:
            raise _too_many(path, key, number, num_tensors)


def _too_many(path: Path, key: str, number: int, num_tensors: int) -> ModelInvalidError:
    return ModelInvalidError(
        Sentence(
            "config.json in {path} says `{key}`: {number}, but the weight files hold {num_tensors} tensors. "
            "Download the model again, or choose another one.",
            path=path,
            key=key,
            number=number if number < 10**15 else _short(number),
            num_tensors=num_tensors,
        )
    )


def impossible_numbers(config: Mapping[str, Any], *, are_all: bool = True) -> str:
    """Return the values of a configuration that may make a model compute NaN, as text; empty if there are none.

    `are_all`: also include values that only some models can't use, not just infinities and NaN.
    """
    found = (
        f"`{key}`: {value:g}"
        for key, value in _values(config)
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and (not math.isfinite(value) or (are_all and value <= 0 and _POSITIVE.fullmatch(key)))
    )
    return ", ".join(itertools.islice(found, _NUM_NAMED))


def unusual_numbers(config: Mapping[str, Any]) -> str:
    """Return large integers that most configurations do not have, and counts that are no numbers, as text.

    mlx-lm may build that many objects, or repeat work or values that often. Empty if there are none.
    """
    large = (
        f"`{key}`: {_short(value)}"
        for key, value in _flat(config)
        if isinstance(value, int) and abs(value) > _SMALL and _ORDINARY.fullmatch(key) is None
    )
    no_numbers = (
        f"`{key}`: {repr(value[:_NUM_NAMED])[:_NUM_SHOWN]}"
        for key, value in _values(config)
        if isinstance(value, str | list) and _COUNT.fullmatch(key)
    )
    return ", ".join(itertools.islice(itertools.chain(large, no_numbers), _NUM_NAMED))


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**15 else f"{str(number)[:16]}…"


def _flat(config: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Like `_values`, but with the values of lists one by one, under the key of their list."""
    waiting: list[tuple[str, object]] = list(_values(config))
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, list):
            waiting += ((key, each) for each in cast("list[object]", value))
        elif isinstance(value, dict):
            waiting += _values(cast("dict[str, Any]", value))
        else:
            yield key, value


def _integers(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the integers of a configuration and of nested configurations, with their keys."""
    return ((key, value) for key, value in _values(config) if isinstance(value, int))


def _lengths(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the lengths of values that may describe each layer: patterns, and lists except those of numbers."""
    for key, value in _values(config):
        if isinstance(value, list):
            yield key, sum(not isinstance(item, int | float) for item in cast("list[object]", value))
        elif isinstance(value, str) and _PATTERN.fullmatch(key):
            yield key, len(value)


def _values(config: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the values of a configuration and of nested configurations, with their keys."""
    waiting: list[Mapping[str, Any]] = [config]
    while waiting:
        for key, value in waiting.pop().items():
            if isinstance(value, dict):
                waiting.append(cast("dict[str, Any]", value))
            else:
                yield key, value
