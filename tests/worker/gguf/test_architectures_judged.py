"""Models made of GGUF files compute the logits that llama.cpp computes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import numpy.typing as npt
import pytest
from gguf import GGMLQuantizationType as Type
from mlx_lm.utils import load_model

from tests.worker.gguf.judge import Judge
from tests.worker.gguf.random_models import RANDOM_MODELS, write_random_gguf
from worker.gguf.architectures import ARCHITECTURES
from worker.gguf.conversion import convert

LENGTHS = (1, 2, 7, 31, 64, 130, 200)
NUM_POSITIONS = 512
"""Greater than the original context of the models with long or scaled positions, which llama.cpp goes by."""

LIMITS = {Type.F32: 2e-4, Type.BF16: 2e-2, Type.F16: 5e-3, Type.Q8_0: 5e-2, Type.Q4_0: 8e-2}
"""The largest difference, as a part of the logits' standard deviation.

llama.cpp rounds what it multiplies with a matrix to the matrix's type, or to 8 bits; MLX does not.
"""
ROUNDED = {"gemma2": 5e-3, "gemma3": 5e-3}
"""llama.cpp looks up gelu in a table of 16-bit numbers."""


@pytest.mark.parametrize("name", RANDOM_MODELS)
@pytest.mark.parametrize("weight_type", [Type.F32])
def test_logits_are_those_of_llama_cpp(name: str, weight_type: Type, tmp_path: Path, judge: Judge) -> None:
    model = RANDOM_MODELS[name]
    file = tmp_path / "model.gguf"
    write_random_gguf(file, model, weight_type)
    for _ in convert(file, tmp_path / "model"):
        pass
    limit = json.loads((tmp_path / "model" / "config.json").read_text())["max_position_embeddings"]
    inputs = [each for each in prompts() if len(each) <= limit]
    ours = _logits(tmp_path / "model", inputs)
    theirs = judge.logits(file, [each.tolist() for each in inputs], NUM_POSITIONS)
    worst = max(difference(mine, other) for mine, other in zip(ours, theirs, strict=True))
    print(f"{name} {weight_type.name}: {worst:.2e}")
    assert worst < max(LIMITS[weight_type], ROUNDED.get(model.architecture, 0))


def test_every_architecture_is_judged() -> None:
    assert {model.architecture for model in RANDOM_MODELS.values()} == set(ARCHITECTURES)


def prompts() -> list[npt.NDArray[np.int64]]:
    draw = np.random.default_rng(0)
    return [draw.integers(0, 300, length) for length in LENGTHS]


def difference(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> float:
    """Return the largest difference of two arrays of logits, as a part of their standard deviation."""
    return float(np.abs(ours - theirs).max() / theirs.std())


def _logits(folder: Path, inputs: Sequence[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.float32]]:
    model, _ = load_model(folder, lazy=True)
    return [np.array(model(mx.array(ids[None]))[0].astype(mx.float32)) for ids in inputs]
