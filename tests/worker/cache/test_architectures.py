"""Small models of every architecture: each one works, and together they use every kind of cache that mlx-lm has."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import cache as mlx_lm_cache
from mlx_lm.models.cache import CacheList, make_prompt_cache

from tests.architectures import ARCHITECTURES, build_random_model
from tests.long import every_third

VOCAB_SIZE = 300


@pytest.fixture(autouse=True, scope="module")
def as_the_worker_has_it_on_a_cpu() -> Iterator[None]:
    device = mx.default_device()
    mx.set_default_device(mx.Device(mx.cpu))
    yield
    mx.set_default_device(device)


def built(name: str) -> Any:
    return build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)


def weights(model: nn.Module) -> dict[str, mx.array]:
    return dict(tree_flatten(model.parameters()))


def classes_of(caches: Iterable[Any]) -> set[str]:
    classes: set[str] = set()
    for cache in caches:
        classes.add(type(cache).__name__)
        if isinstance(cache, CacheList):
            classes |= classes_of(cache.caches)
    return classes


def classes_made_by_mlx_lm() -> set[str]:
    """Read the source of all of mlx-lm's models, because some cannot be imported on every machine."""
    made = classes_of(make_prompt_cache(nn.Sequential(nn.Identity())))
    for file in Path(mlx_lm_cache.__file__).parent.glob("*.py"):
        source = file.read_text(encoding="utf-8")
        for function in ast.walk(ast.parse(source)) if "def make_cache" in source else ():
            if isinstance(function, ast.FunctionDef) and function.name == "make_cache":
                calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
                made |= {call.id for call in calls if isinstance(call, ast.Name) and hasattr(mlx_lm_cache, call.id)}
    return made


@pytest.mark.parametrize("name", every_third(ARCHITECTURES))
def test_a_small_model_reads_a_prompt_in_chunks_and_continues_token_by_token(name: str):
    model = built(name)
    caches = make_prompt_cache(model)
    token_ids = np.random.default_rng(1).integers(VOCAB_SIZE, size=73).tolist()
    for start, stop in [(0, 20), (20, 40), (40, 60), (60, 70), (70, 71), (71, 72), (72, 73)]:
        logits = model(mx.array([token_ids[start:stop]]), cache=caches)
        assert logits.shape == (1, stop - start, VOCAB_SIZE)
        assert mx.isfinite(logits).all()
        assert (logits.max(axis=-1) > logits.min(axis=-1)).all()


def test_the_table_covers_every_kind_of_cache_that_models_use():
    kept = set[str]().union(*(classes_of(make_prompt_cache(built(name))) for name in ARCHITECTURES))
    made = classes_made_by_mlx_lm()
    assert {"KVCache", "CacheList"} <= made
    assert made <= kept


# Some layers initialise biases or decay rates themselves.
@pytest.mark.parametrize("name", ["qwen2", "kimi_linear"])
def test_a_seed_determines_all_weights(name: str):
    one, same = weights(built(name)), weights(built(name))
    other = weights(build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE, seed=1))
    assert all(mx.array_equal(one[path], same[path]) for path in one)
    assert not any(
        mx.array_equal(one[path], other[path]) for path in one if path.endswith(("proj.weight", "proj.bias"))
    )
