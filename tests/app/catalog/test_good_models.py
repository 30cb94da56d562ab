"""The list of good first models can be read, and its recommendations suit the memory."""

from __future__ import annotations

import re

import pytest

from app.catalog.entry import Memory
from app.catalog.facts import is_supported
from app.catalog.fit import need, shape_of_model
from app.catalog.good_models import best_that_fits, good_models

GB = 10**9


def test_each_entry_is_complete():
    models = good_models()
    assert len({model.repo for model in models}) == len(models) >= 5
    for model in models:
        assert re.fullmatch(r"mlx-community/[\w.-]+", model.repo)
        assert model.note.endswith(".")
        assert is_supported(model.architecture)
        assert (model.format, model.quantization) == ("mlx", "4 bits")
        # Weights in 4 bits with their scales, and a tokenizer of 11 MB.
        assert model.num_bytes is not None
        assert model.num_parameters is not None
        assert model.num_bytes == pytest.approx(model.num_parameters * 4.5 / 8 + 12e6, rel=0.03)
        assert model.licence
        assert (model.context_length or 0) >= 32_768
    assert [model.num_bytes for model in models] == sorted(model.num_bytes or 0 for model in models)


@pytest.mark.parametrize(
    ("memory_gb", "on_gpu", "on_cpu"),
    [
        (1, "", ""),
        (4, "Qwen3-1.7B-4bit", "Qwen3-0.6B-4bit"),
        (8, "Qwen3-4B-Instruct-2507-4bit", "Qwen3-1.7B-4bit"),
        (16, "Qwen3-8B-4bit", "Qwen3-1.7B-4bit"),
        (24, "Qwen3-14B-4bit", "Qwen3-1.7B-4bit"),
        (64, "Qwen3-30B-A3B-Instruct-2507-4bit", "Qwen3-1.7B-4bit"),
        (96, "Qwen3-Next-80B-A3B-Instruct-4bit", "Qwen3-1.7B-4bit"),
    ],
)
def test_the_best_model_for_a_memory(memory_gb: int, on_gpu: str, on_cpu: str):
    # macOS lets the GPU keep two thirds or three quarters, and other programs run.
    free = int(memory_gb * GB * 0.65)
    unified = Memory(total_bytes=memory_gb * GB * 3 // 4, available_bytes=free, kind="unified", on_cpu=False)
    plain = Memory(total_bytes=memory_gb * GB, available_bytes=free)
    found = [best_that_fits(memory) for memory in (unified, plain)]
    assert [model.repo.rpartition("/")[2] if model else "" for model in found] == [on_gpu, on_cpu]
    for memory, model in zip((unified, plain), found, strict=True):
        shape = None if model is None else shape_of_model(model)
        assert shape is None or need(shape, memory, context_length=4096).total_bytes <= free


def test_a_model_that_is_gone_is_not_recommended():
    memory = Memory(total_bytes=16 * GB, available_bytes=10 * GB, on_cpu=False)
    first = best_that_fits(memory)
    assert first is not None
    second = best_that_fits(memory, {first.repo})
    assert second is not None
    assert second.repo != first.repo
