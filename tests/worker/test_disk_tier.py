"""The prompt cache through the disk: what left memory, or was left by another program, is as it was, bit for bit."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import mlx.nn as nn
import pytest
from mlx_lm.models.cache import make_prompt_cache

from tests.architectures import ARCHITECTURES, build_random_model
from tests.worker.test_prompt_cache import (
    KINDS,
    VOCAB_SIZE,
    Turn,
    is_same,
    new_turn,
    read_alone,
    read_on,
)
from worker.disk_cache import DiskCache
from worker.prompt_cache import PromptCache


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest) -> nn.Module:
    return build_random_model(ARCHITECTURES[request.param], vocab_size=VOCAB_SIZE)


@pytest.fixture(scope="module")
def llama() -> nn.Module:
    return build_random_model(ARCHITECTURES["llama"], vocab_size=VOCAB_SIZE)


def new_cache(
    model: nn.Module, folder: Path, limit_bytes: int = 1 << 40, disk_limit_bytes: int = 1 << 40
) -> PromptCache:
    disk = DiskCache(folder, "a model", disk_limit_bytes)
    return PromptCache(partial(make_prompt_cache, model), limit_bytes, disk)


def save_all(cache: PromptCache) -> None:
    while cache.save_some():
        pass


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("seed", range(4))
def test_what_was_evicted_or_left_by_another_program_is_as_it_was(model: nn.Module, tmp_path: Path, seed: int):
    walk(model, tmp_path, seed, num_steps=40)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_that_holds_for_every_architecture(name: str, tmp_path: Path):
    walk(build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE), tmp_path, seed=len(name), num_steps=8)


def walk(model: nn.Module, folder: Path, seed: int, num_steps: int) -> None:
    """Grow a tree of turns at random, with hardly any memory, and with new caches on the same folder."""
    rng = Random(seed)
    cache = new_cache(model, folder)
    first = new_turn(rng, None)
    turns = [Turn(None, first, read_alone(model, [first]))]
    assert cache.rewind_to([*first, 1]) == 0
    read_on(model, cache, first)
    for _ in range(num_steps):
        cache.limit_bytes = rng.choice([1, 1, 100_000, 1 << 40])
        if rng.random() < 0.3:
            save_all(cache)
            assert not cache.save_some()
            assert cache.num_disk_tokens == sum(len(turn.ids) for turn in turns)
            if rng.random() < 0.5:
                cache = new_cache(model, folder, limit_bytes=cache.limit_bytes)
                assert cache.num_tokens == 0
                assert cache.num_disk_tokens == sum(len(turn.ids) for turn in turns)
        turn = rng.choice(turns)
        ids = new_turn(rng, turn)
        prompt = turn.all_ids + ids
        assert cache.num_kept(prompt) == len(turn.all_ids)
        assert cache.rewind_to(prompt) == len(turn.all_ids)
        logits = read_alone(model, [*(each.ids for each in turn.path), ids])
        assert is_same(read_on(model, cache, ids), logits)
        child = Turn(turn, ids, logits)
        turn.children.append(child)
        turns.append(child)
    assert cache.num_disk_bytes == sum(path.stat().st_size for path in files_in(folder))
