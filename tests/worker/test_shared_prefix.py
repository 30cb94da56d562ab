"""Attention over a shared prefix, against a plain softmax over all positions of each row."""

from __future__ import annotations

from random import Random
from typing import Any

import mlx.core as mx
import numpy as np
import numpy.typing as npt
import pytest

from worker import prefix_attention, shared_prefix
from worker.shared_prefix import Prefix


def plain(
    queries: npt.NDArray[np.float64], keys: npt.NDArray[np.float64], values: npt.NDArray[np.float64], scale: float
) -> npt.NDArray[np.float64]:
    """Return the attention of one head to positions: [n, width], [positions, width] twice → [n, width]."""
    scores = queries @ keys.T * scale
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ values


@pytest.fixture(params=["cpu", "as on a GPU"])
def _device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "cpu":
        monkeypatch.setattr(shared_prefix, "_is_on_cpu", lambda: False)


@pytest.mark.usefixtures("_device")
@pytest.mark.parametrize("length", [1, 255, 256, 257, 700, 1024])
def test_rows_over_a_prefix_equal_rows_alone(length: int):
    rng = Random(length)
    num_rows, kv_heads, repeated = rng.randint(2, 5), rng.randint(1, 3), rng.randint(1, 3)
    num_new, num_own, width, scale = rng.randint(1, 2), rng.randint(2, 9), 16, rng.choice([0.25, 30.0])
    numbers = np.random.default_rng(length)

    def random(*shape: int) -> npt.NDArray[np.float32]:
        return numbers.standard_normal(shape).astype(np.float32)

    queries = random(num_rows, kv_heads * repeated, num_new, width)
    keys, values = (random(1, kv_heads, length + 3, width) for _ in range(2))
    own_keys, own_values = (random(num_rows, kv_heads, num_own, width) for _ in range(2))
    padding = [rng.randrange(num_own) for _ in range(num_rows)]
    visible = np.arange(num_own)[None, :] >= np.array(padding)[:, None]
    # The prefix is a part of a larger array, as in a layer that has room for more.
    prefix = Prefix(*(mx.array(each)[:, :, :length] for each in (keys, values)), rows=range(num_rows))
    found = shared_prefix._attend(  # pyright: ignore[reportPrivateUsage]
        mx.array(queries),
        prefix,
        mx.array(own_keys),
        mx.array(own_values),
        scale,
        mx.array(visible[:, None, None].tolist()),
    )
    for row in range(num_rows):
        for head in range(kv_heads * repeated):
            of = head // repeated
            seen = [
                np.concatenate([shared[0, of, :length], own[row, of, padding[row] :]]).astype(np.float64)
                for shared, own in ((keys, own_keys), (values, own_values))
            ]
            expected = plain(queries[row, head].astype(np.float64), seen[0], seen[1], scale)
            np.testing.assert_allclose(np.array(found)[row, head], expected, atol=2e-4)


def test_attention_copies_no_prefix(monkeypatch: pytest.MonkeyPatch):
    whole = mx.zeros((1, 2, 2048, 64))
    prefix = whole[:, :, :1500]
    seen: list[npt.NDArray[np.float32]] = []
    attend = prefix_attention._part  # pyright: ignore[reportPrivateUsage]

    def watched(columns: Any, keys: Any, values: Any) -> Any:
        seen.extend((keys, values))
        return attend(columns, keys, values)

    monkeypatch.setattr(prefix_attention, "_part", watched)
    own = mx.zeros((2, 2, 3, 64))
    prefix_attention.attend(mx.zeros((2, 4, 1, 64)), (prefix, prefix), (own, own), 1.0, None)
    memory: Any = np.array(whole, copy=False)
    assert [each.shape[1:3] for each in seen[::2]] == [(5, 256), (1, 220)]
    assert all(np.shares_memory(each, memory) for each in seen)


@pytest.mark.parametrize(("rows", "width"), [(2, 8), (64, 128), (1, 1 << 19)])
def test_products_of_blocks_stay_with_one_thread(rows: int, width: int):
    size = prefix_attention._block_size(rows * width)  # pyright: ignore[reportPrivateUsage]
    assert size == 1 or size * rows * width <= 1 << 18
    assert 1 <= size <= 256
