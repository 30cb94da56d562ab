"""A model's identity: equal for models that compute the same bit for bit, and different for all others."""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest

from tests.driver import StdioWorker
from tests.long import in_long_runs
from worker.weights import Weights

CONFIG = {"model_type": "llama", "hidden_size": 64}


def weights(rng: Random) -> list[tuple[str, mx.array]]:
    random_numbers = mx.random.normal((3_000_000,), key=mx.random.key(rng.randrange(1000)))
    return [
        ("embed", random_numbers.reshape(3_000, 1_000)),
        ("norm", mx.ones((64,), mx.bfloat16)),
        ("quantized", mx.arange(512, dtype=mx.uint32).reshape(4, 128)),
        ("swapped", random_numbers[:600].reshape(20, 30).T),
        ("nothing", mx.zeros((0, 4))),
    ]


def identity_of(config: Mapping[str, Any], arrays: Sequence[tuple[str, mx.array]]) -> str:
    """Return the identity of a model with these weights, once they are read."""
    model = nn.Module()
    for name, array in arrays:
        model[name] = array
    read = Weights(model, on_cpu=False)
    list(read.read())
    return read.identity(config)


def test_a_copy_has_the_same_identity():
    assert identity_of(CONFIG, weights(Random(1))) == identity_of(dict(CONFIG), weights(Random(1)))


@pytest.mark.parametrize("seed", [*range(3), *in_long_runs(range(3, 10))])
def test_a_single_changed_bit_changes_the_identity(seed: int):
    rng = Random(seed)
    before = weights(Random(1))
    after = list(before)
    number = rng.randrange(4)
    name, array = before[number]
    bits = array.reshape(-1).view(mx.uint8)
    index = rng.randrange(bits.size)
    changed = mx.where(mx.arange(bits.size) == index, bits ^ (1 << rng.randrange(8)), bits).astype(mx.uint8)
    after[number] = (name, changed.view(array.dtype).reshape(array.shape))
    assert identity_of(CONFIG, before) != identity_of(CONFIG, after)


def test_two_swapped_rows_of_weights_change_the_identity():
    before = weights(Random(1))
    embed = before[0][1]
    swapped = mx.concatenate([embed[1:2], embed[:1], embed[2:]])
    assert identity_of(CONFIG, before) != identity_of(CONFIG, [("embed", swapped), *before[1:]])


def test_another_name_shape_type_or_configuration_changes_the_identity():
    before = weights(Random(1))
    name, array = before[0]
    others = [("another", array), (name, array.reshape(1_000, 3_000)), (name, array.view(mx.uint32))]
    known = {identity_of(CONFIG, before), identity_of({**CONFIG, "rope_theta": 5.0}, before)}
    known |= {identity_of(CONFIG, [other, *before[1:]]) for other in others}
    assert len(known) == 5


def test_a_loaded_model_reports_its_identity_and_the_versions_of_libraries(
    shared_worker: StdioWorker, random_llama: Path, tmp_path: Path
):
    copy = tmp_path / "copy"
    shutil.copytree(random_llama, copy)
    loaded = shared_worker.result("load_model", model=str(random_llama))
    again = shared_worker.result("load_model", model=str(copy))
    other = shared_worker.result("load_model", model="guide")
    assert len(loaded["identity"]) == 64
    assert loaded["identity"] == again["identity"] != other["identity"]
    assert loaded["versions"]["mlx"] == importlib.metadata.version("mlx")
    assert loaded["versions"]["mlx_lm"] == importlib.metadata.version("mlx-lm")
    assert loaded["versions"]["tokenizers"] == importlib.metadata.version("tokenizers")
