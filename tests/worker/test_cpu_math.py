"""Attention and the sigmoid by powers of two: the same numbers as by the definition, within rounding."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import numpy.typing as npt
import pytest

from worker import cpu_math
from worker.cpu_math import attention, sigmoid

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
        assert np.abs(found - np.array(cpu_math._ATTENTION(*arrays, scale=0.3, mask=mask))).max() < 2e-5  # pyright: ignore[reportPrivateUsage]


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
