"""Attention and the sigmoid: the same numbers as by the definition, within rounding. The others: the same bits."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import numpy.typing as npt
import pytest

from worker import cpu_math
from worker.cpu_math import attention, keep_factors_of, rope, sigmoid, transpose_once
from worker.weights import arrays_of

Numbers = npt.NDArray[np.float64]


def as_mask(visible: Any) -> mx.array:
    return mx.array(visible)


def by_definition(queries: Numbers, keys: Numbers, values: Numbers, scale: float, visible: Any) -> Numbers:
    """Return the attention in 64 bits; `visible` has the shape [rows, 1, new, positions]."""
    repeated = queries.shape[1] // keys.shape[1]
    keys, values = (np.repeat(array, repeated, axis=1) for array in (keys, values))
    scores = np.where(visible, scale * queries @ keys.swapaxes(-1, -2), -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ values


@pytest.mark.parametrize("seed", range(12))
def test_attention_is_that_of_the_definition(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cpu_math, "_FEW_SCORES", 0)
    monkeypatch.setattr(cpu_math, "_BLOCK", 16)
    dice = np.random.default_rng(seed)
    rows, kv_heads, repeated, width = (int(dice.integers(1, most)) for most in (4, 4, 4, 20))
    num_new = int(dice.choice([1, 2, 15, 16, 17, 50]))
    num_positions = num_new + int(dice.choice([0, 1, 40]))
    # Large queries: one position gets nearly all the weight.
    queries = dice.normal(size=(rows, kv_heads * repeated, num_new, width)) * dice.choice([1, 30])
    keys = dice.normal(size=(rows, kv_heads, num_positions, width))
    values = dice.normal(size=(rows, kv_heads, num_positions, width + int(dice.integers(3))))
    causal = np.arange(num_positions) <= np.arange(num_positions - num_new, num_positions)[:, None]
    at_random = (dice.random((int(dice.choice([1, rows])), 1, num_new, num_positions)) < 0.5) | np.eye(
        num_new, num_positions, num_positions - num_new, dtype=bool
    )
    arrays = [mx.array(array.astype(np.float32)) for array in (queries, keys, values)]
    masks = ["causal", as_mask(causal), None, as_mask(at_random)]
    for mask, visible in zip(masks, (causal, causal, np.array(True), at_random), strict=True):
        exact = [np.array(array, np.float64) for array in arrays]
        expected = by_definition(exact[0], exact[1], exact[2], 0.3, visible)
        found = np.array(attention(*arrays, scale=0.3, mask=mask))
        assert np.abs(found - expected).max() < 2e-5
        # MLX rounds, too.
        assert np.abs(found - np.array(cpu_math._ATTENTION(*arrays, scale=0.3, mask=mask))).max() < 4e-5  # pyright: ignore[reportPrivateUsage]


def test_rows_with_all_positions_hidden_stay_finite(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cpu_math, "_FEW_SCORES", 0)
    queries = keys = mx.random.normal((1, 1, 3, 8))
    mask = mx.array([[[[True, False, False], [False] * 3, [False] * 3]]])
    assert mx.isfinite(attention(queries, keys, keys, scale=1, mask=mask)).all().item()


@pytest.mark.parametrize("rare", ["16 bits", "sinks", "an added mask"])
def test_rare_forms_of_attention_are_left_to_mlx(rare: str):
    queries, keys = mx.random.normal((1, 2, 100, 8)), mx.random.normal((1, 2, 100, 8))
    options: dict[str, Any] = {"scale": 0.3, "mask": "causal"}
    match rare:
        case "16 bits":
            queries, keys = queries.astype(mx.float16), keys.astype(mx.float16)
        case "sinks":
            options["sinks"] = mx.array([0.5, 1.0])
        case _:
            options["mask"] = mx.random.normal((100, 100))
    found, expected = attention(queries, keys, keys, **options), cpu_math._ATTENTION(queries, keys, keys, **options)  # pyright: ignore[reportPrivateUsage]
    assert mx.array_equal(found, expected)


@pytest.mark.parametrize("few_numbers", [0, 1 << 12])
def test_the_sigmoid_of_all_numbers(few_numbers: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cpu_math, "_FEW_NUMBERS", few_numbers)
    numbers = mx.concatenate([mx.linspace(-200, 200, 4001), mx.array([1e-30, 3e38, -3e38, np.inf, -np.inf])])
    expected = 1 / (1 + np.exp(-np.clip(np.array(numbers, np.float64), -700, None)))
    assert np.allclose(np.array(sigmoid(numbers)), expected, rtol=2e-5, atol=1e-38)
    assert np.isnan(sigmoid(mx.array([np.nan])).item())
    assert sigmoid(mx.array([1.0], mx.float16)).dtype == mx.float16
    assert sigmoid(mx.array([2])).item() == cpu_math._SIGMOID(mx.array([2])).item()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("traditional", [False, True])
@pytest.mark.parametrize("has_own_frequencies", [False, True])
def test_rotary_positions_are_those_of_mlx_to_the_bit(*, traditional: bool, has_own_frequencies: bool):
    dice = np.random.default_rng(7)
    freqs = mx.array(dice.uniform(1, 1000, 16).astype(np.float32)) if has_own_frequencies else None
    kinds: list[dict[str, Any]] = [
        {"traditional": traditional, "base": None if has_own_frequencies else base, "scale": scale, "freqs": freqs}
        for base, scale in [(10_000.0, 1.0), (500_000.0, 0.25)]
    ]
    position = 0
    for num_new in (1, 1, 63, 1, 200, 1, 1, 2, 64, 65, 1):
        # Both kinds, for queries and keys that were made of one array, as in a step of a model with two kinds.
        x = mx.array(dice.normal(size=(2, num_new, 3, 32)).astype(np.float32)).transpose(0, 2, 1, 3)
        arrays = [mx.array(position), mx.array([position, position + 9])]
        for options in [*kinds, *kinds]:
            # One position for all rows, also as an array, and one for each.
            for offset in (position, *arrays):
                if isinstance(offset, mx.array) and dice.random() < 0.8:
                    keep_factors_of(offset)
                found = rope(x, 32, offset=offset, **options)
                assert mx.array_equal(found, cpu_math._ROPE(x, 32, offset=offset, **options))  # pyright: ignore[reportPrivateUsage]
        # Go back at times, as an answer does that is continued at an earlier place.
        position = max(0, position + int(dice.choice([num_new, num_new, -70, 100_000])))


@pytest.mark.parametrize("rare", ["16 bits", "a part of each head", "three dimensions", "far"])
def test_rare_forms_of_rotary_positions_are_left_to_mlx(rare: str):
    x, dims, offset = mx.random.normal((2, 3, 5, 32)), 32, 4
    match rare:
        case "16 bits":
            x = x.astype(mx.float16)
        case "a part of each head":
            dims = 16
        case "three dimensions":
            x = x[0]
        case _:
            offset = (1 << 24) + 1
    options: dict[str, Any] = {"traditional": False, "base": 10_000.0, "scale": 1.0, "offset": offset}
    assert mx.array_equal(rope(x, dims, **options), cpu_math._ROPE(x, dims, **options))  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("bias", [False, True])
def test_linear_layers_with_transposed_matrices_give_the_same_bits(*, bias: bool):
    model = nn.Sequential(nn.Linear(40, 30, bias=bias), nn.Linear(30, 20, bias=bias))
    mx.eval(model.parameters())
    names = [name for name, _ in arrays_of(model)]
    inputs = [mx.random.normal(shape) for shape in [(1, 1, 40), (3, 17, 40)]]
    before = [model(x) for x in inputs]
    transpose_once(model)
    for x, expected in zip(inputs, before, strict=True):
        assert mx.array_equal(model(x), expected)
    assert [name for name, _ in arrays_of(model)] == names
