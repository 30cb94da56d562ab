"""The prompt cache with a disk: evicted tokens and those of an earlier process come back bit for bit."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.models.cache import make_prompt_cache

from tests.architectures import ARCHITECTURES, build_random_model
from tests.long import every_third, in_long_runs
from tests.worker.cache.test_disk_cache import DAMAGES, replace_by_a_folder, replace_by_a_link
from tests.worker.cache.test_prompt_cache import (
    KINDS,
    VOCAB_SIZE,
    Turn,
    is_same,
    new_turn,
    read,
    read_alone,
    read_on,
)
from worker.cache.disk_cache import DiskCache
from worker.cache.prompt_cache import PromptCache
from worker.cache.token_tree import as_ids
from worker.language_model import release
from worker.layers import num_bytes_in, stacks_of


@pytest.fixture(scope="module", params=[*KINDS[1::2], *in_long_runs(KINDS[::2])])
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


@pytest.mark.parametrize(("seed", "num_steps"), [(0, 8), *in_long_runs((seed, 40) for seed in range(3))])
def test_evicted_tokens_and_those_of_an_earlier_cache_come_back_unchanged(
    model: nn.Module, tmp_path: Path, seed: int, num_steps: int
):
    walk(model, tmp_path, seed, num_steps)


@pytest.mark.parametrize("name", every_third(ARCHITECTURES, first=1))
def test_tokens_come_back_unchanged_for_every_architecture(name: str, tmp_path: Path):
    walk(build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE), tmp_path, seed=len(name), num_steps=5)


def walk(model: nn.Module, folder: Path, seed: int, num_steps: int) -> None:
    """Grow a random tree of turns with hardly any memory, and replace the cache now and then on the same folder."""
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


# --- what is on disk -------------------------------------------------------------------------------------------


def stored_tokens(folder: Path) -> Counter[tuple[int, tuple[int, ...]]]:
    """Count the files that hold each token, by stack and with all the tokens before it."""
    disk = DiskCache(folder, "a model", 1 << 40)
    ids_of: dict[str, list[int]] = {}
    found: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for file, stretch in disk.find():
        before = ids_of[stretch.after][: stretch.start] if stretch.after is not None else []
        assert len(before) == stretch.start
        ids = ids_of[file.name] = [*before, *stretch.ids]
        num_own, stacks = stretch.about["num_own"], stretch.about["stacks"]
        assert isinstance(num_own, int)
        assert isinstance(stacks, list)
        for length in range(len(ids) - num_own + 1, len(ids) + 1):
            found.update((index, tuple(ids[:length])) for index, is_there in enumerate(stacks) if is_there)
    return found


@pytest.mark.parametrize(("seed", "num_rounds"), [(0, 10), *in_long_runs((seed, 40) for seed in range(2))])
def test_nothing_is_written_twice(model: nn.Module, tmp_path: Path, seed: int, num_rounds: int):
    rng = Random(seed)
    cache = new_cache(model, tmp_path, limit_bytes=1)
    ids = [rng.randrange(10, VOCAB_SIZE) for _ in range(80)]
    seen: set[tuple[Path, int]] = set()
    for _ in range(num_rounds):
        # Branches fork anywhere, within runs and at their ends.
        prompt = [*ids[: rng.randrange(1, 80)], *(rng.randrange(10, 14) for _ in range(rng.randrange(1, 6)))]
        read_on(model, cache, prompt[cache.rewind_to(prompt) :])
        if rng.random() < 0.5:
            save_all(cache)
        if rng.random() < 0.2:
            cache = new_cache(model, tmp_path, limit_bytes=1)
        now = {(path, path.stat().st_mtime_ns) for path in files_in(tmp_path)}
        assert {path for path, _ in seen} <= {path for path, _ in now}
        seen = now
    save_all(cache)
    assert set(stored_tokens(tmp_path).values()) <= {1}
    assert not cache.save_some()


def test_a_long_run_is_written_as_several_files_that_are_found_as_one(llama: nn.Module, tmp_path: Path):
    rng = Random(1)
    ids = [rng.randrange(10, VOCAB_SIZE) for _ in range(2_500)]
    cache = new_cache(llama, tmp_path)
    for start in range(0, len(ids), 250):
        read_on(llama, cache, ids[start : start + 250])
    save_all(cache)
    assert len(files_in(tmp_path)) == 2
    again = new_cache(llama, tmp_path)
    assert again.num_kept([*ids, 1]) == 2_500
    assert again.rewind_to([*ids[:2_100], 1]) == 2_100
    assert is_same(read_on(llama, again, [7]), after(llama, cache, ids[:2_100]))
    assert is_same(after(llama, again, ids), after(llama, cache, ids))


def after(model: nn.Module, cache: PromptCache, ids: list[int]) -> mx.array:
    assert cache.rewind_to([*ids, 7]) == len(ids)
    return read_on(model, cache, [7])


def _lies_in_memory(cache: PromptCache, prompt: list[int]) -> bool:
    return cache.lies_in_memory(prompt, cache.num_kept(prompt))


def test_the_cache_knows_whether_tokens_must_be_read_from_disk(model: nn.Module, tmp_path: Path):
    cache = new_cache(model, tmp_path)
    one, other = list(range(50, 90)), list(range(150, 190))
    for ids in (one, other):
        cache.rewind_to([*ids, 1])
        read_on(model, cache, ids)
    assert _lies_in_memory(cache, [*one, 1])
    cache.limit_bytes = 1
    cache.keep()
    assert not _lies_in_memory(cache, [*one, 1])
    assert _lies_in_memory(cache, [*other, 1])
    assert cache.num_kept([*one, 1]) == 40
    cache.rewind_to([*one, 1])
    assert _lies_in_memory(cache, [*one, 1])
    assert not _lies_in_memory(cache, [*other, 1])


@pytest.mark.parametrize(("seed", "num_rounds"), [(0, 10), *in_long_runs((seed, 40) for seed in range(2))])
def test_reported_sizes_are_those_of_the_arrays_and_files(model: nn.Module, tmp_path: Path, seed: int, num_rounds: int):
    rng = Random(seed)
    cache = new_cache(model, tmp_path)
    ids = [rng.randrange(10, VOCAB_SIZE) for _ in range(80)]
    for _ in range(num_rounds):
        cache.limit_bytes = rng.choice([1, 200_000, 1 << 40])
        prompt = [*ids[: rng.randrange(1, 80)], *(rng.randrange(10, 14) for _ in range(rng.randrange(1, 6)))]
        read_on(model, cache, prompt[cache.rewind_to(prompt) :])
        if rng.random() < 0.3:
            cache.save_some()
        runs = list(cache._tree.runs())  # pyright: ignore[reportPrivateUsage]
        kept = [[run.kept.parts, run.kept.states] for run in runs]
        assert cache.num_bytes == num_bytes_in([[stack.arrays for stack in stacks_of(cache.branch.layers)], kept])
        assert [run.kept.num_bytes for run in runs] == [num_bytes_in(each) for each in kept]
        assert cache.num_disk_bytes == sum(path.stat().st_size for path in files_in(tmp_path))


def test_a_dropped_cache_releases_its_memory(llama: nn.Module, tmp_path: Path):
    cache = new_cache(llama, tmp_path)
    for branch in range(5):
        ids = [10 + branch, *range(100, 400)]
        read_on(llama, cache, ids[cache.rewind_to([*ids, 1]) :])
    mx.clear_cache()
    held, num_bytes = mx.get_active_memory(), cache.num_bytes
    del cache
    release()
    assert mx.get_active_memory() <= held - num_bytes


# --- without a disk, or with little space --------------------------------------------------------------------


@pytest.mark.parametrize("num_rounds", [8, *in_long_runs([40])])
def test_a_small_disk_limit_holds_and_the_logits_stay_right(model: nn.Module, tmp_path: Path, num_rounds: int):
    rng = Random(2)
    cache = new_cache(model, tmp_path, limit_bytes=1, disk_limit_bytes=150_000)
    ids = [rng.randrange(50, VOCAB_SIZE) for _ in range(60)]
    for branch in range(num_rounds):
        prompt = [*ids[: rng.randrange(1, 61)], 10 + branch, *ids[:40]]
        num_kept = cache.rewind_to(prompt)
        logits = read_on(model, cache, prompt[num_kept:])
        if branch % 3 == 0:
            save_all(cache)
        assert sum(path.stat().st_size for path in files_in(tmp_path)) <= 150_000
        assert mx.allclose(logits, read_alone(model, [prompt]), rtol=1e-3, atol=1e-3)


def test_evicted_tokens_may_replace_those_on_disk_that_are_requested_now(llama: nn.Module, tmp_path: Path):
    """There is no room for both: the requested tokens are read again, and nothing else happens."""
    one, other = [20, *range(30, 70)], [21, *range(80, 120)]
    cache = new_cache(llama, tmp_path)
    cache.rewind_to([*one, 1])
    expected = read_on(llama, cache, one)
    save_all(cache)
    for path in files_in(tmp_path):
        os.utime(path, (0, 0))
    num_bytes = cache.num_disk_bytes
    cache = new_cache(llama, tmp_path, disk_limit_bytes=num_bytes + num_bytes // 2)
    for ids in (other, [22, 23]):
        assert cache.rewind_to([*ids, 1]) == 0
        read_on(llama, cache, ids)
    cache.limit_bytes = 1
    assert cache.num_kept([*one, 1]) == len(one)
    assert cache.rewind_to([*one, 1]) == 0
    assert is_same(read_on(llama, cache, one), expected)


def test_the_cache_works_when_nothing_can_be_written(model: nn.Module, tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    cache = new_cache(model, tmp_path / "file", limit_bytes=1)
    one, other = list(range(50, 90)), list(range(150, 190))
    for ids in (one, other, one):
        assert cache.rewind_to([*ids, 1]) == 0
        assert is_same(read_on(model, cache, ids), read_alone(model, [ids]))
    assert not cache.save_some()
    assert (cache.num_disk_tokens, cache.num_disk_bytes) == (0, 0)


# --- damage ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "num_rounds"), [(0, 8), *in_long_runs((seed, 40) for seed in range(3))])
def test_damaged_files_never_cause_wrong_logits(model: nn.Module, tmp_path: Path, seed: int, num_rounds: int):
    rng = Random(seed)
    cache = new_cache(model, tmp_path, limit_bytes=1)
    ids = [rng.randrange(50, VOCAB_SIZE) for _ in range(60)]
    num_kept_in_all = 0
    for branch in range(num_rounds):
        prompt = [*ids[: rng.randrange(1, 61)], 10 + branch % 12, *ids[: rng.randrange(1, 40)]]
        fork = cache.fork(prompt)
        num_kept = cache.rewind_to(prompt)
        num_kept_in_all += num_kept
        if num_kept < fork:
            read_on(model, cache, prompt[num_kept:fork])
        logits = read_on(model, cache, prompt[len(cache.branch.token_ids) :])
        assert mx.allclose(logits, read_alone(model, [prompt]), rtol=1e-3, atol=1e-3)
        save_all(cache)
        files = files_in(tmp_path)
        for _ in range(rng.choice([0, 0, 1, 3])):
            path = rng.choice(files)
            if path.is_file():
                rng.choice([each for each in DAMAGES if each not in {replace_by_a_folder, replace_by_a_link}])(
                    path, rng
                )
        if rng.random() < 0.2:
            cache = new_cache(model, tmp_path, limit_bytes=1)
    assert num_kept_in_all > 0


@pytest.mark.parametrize(("seed", "num_rounds"), [(0, 8), *in_long_runs((seed, 40) for seed in range(2))])
def test_two_caches_on_one_folder_both_give_right_logits(model: nn.Module, tmp_path: Path, seed: int, num_rounds: int):
    rng = Random(seed)
    caches = [new_cache(model, tmp_path, limit_bytes=1, disk_limit_bytes=400_000) for _ in range(2)]
    ids = [rng.randrange(50, VOCAB_SIZE) for _ in range(60)]
    for branch in range(num_rounds):
        number = rng.randrange(2)
        if rng.random() < 0.1:
            caches[number] = new_cache(model, tmp_path, limit_bytes=1, disk_limit_bytes=400_000)
        prompt = [*ids[: rng.randrange(1, 61)], 10 + branch % 12, *ids[: rng.randrange(1, 40)]]
        num_kept = caches[number].rewind_to(prompt)
        logits = read_on(model, caches[number], prompt[num_kept:])
        assert mx.allclose(logits, read_alone(model, [prompt]), rtol=1e-3, atol=1e-3)
        save_all(caches[number])


# --- exactness when tokens are read again --------------------------------------------------------------------


@pytest.mark.parametrize("limit_bytes", [1, 1 << 40])
@pytest.mark.parametrize("name", ["lfm2", "gemma3_text", "llama4", "falcon_h1"])
def test_a_branch_stays_exact_when_its_beginning_is_read_again_for_another(name: str, limit_bytes: int, tmp_path: Path):
    """Like the engine, it reads up to the fork in a chunk of its own where no state is kept."""
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    rng = Random(7)
    ids = [rng.randrange(50, VOCAB_SIZE) for _ in range(60)]
    cache, stayed = new_cache(model, tmp_path / "one", limit_bytes), new_cache(model, tmp_path / "other")
    read_on(model, cache, ids)
    read_on(model, stayed, ids)
    prompt = [*ids[:37], 10, 11, 12]
    num_kept = cache.rewind_to(prompt)
    assert num_kept < 37
    read_on(model, cache, prompt[num_kept:37])
    assert is_same(read_on(model, cache, prompt[37:]), read_on_alone(model, cache, prompt))
    assert is_same(after(model, cache, ids), after(model, stayed, ids))


def read_on_alone(model: nn.Module, cache: PromptCache, prompt: list[int]) -> mx.array:
    """Read the same last tokens again, from the same fork."""
    assert cache.rewind_to(prompt[:38]) == 37
    return read_on(model, cache, prompt[37:])


# --- layers computed elsewhere -------------------------------------------------------------------------------


def test_a_branch_computed_elsewhere_is_entered_once(model: nn.Module, tmp_path: Path):
    cache = new_cache(model, tmp_path, limit_bytes=1)
    shared, one, other = list(range(50, 60)), list(range(100, 130)), list(range(200, 230))
    read_on(model, cache, shared)
    read_on(model, cache, one)
    layers = make_prompt_cache(model)
    for ids in (shared, other):
        read(model, layers, ids)
    cache.enter([*shared, *other], layers)
    save_all(cache)
    assert set(stored_tokens(tmp_path).values()) <= {1}
    assert is_same(after(model, cache, [*shared, *one]), read_alone(model, [shared, one, [7]]))
    assert is_same(after(model, cache, [*shared, *other]), read_alone(model, [shared, other, [7]]))


@pytest.mark.parametrize("num_layers", [0, 1, 2])
def test_tokens_read_before_a_failed_step_are_kept(llama: nn.Module, tmp_path: Path, num_layers: int):
    cache = new_cache(llama, tmp_path)
    ids = list(range(50, 90))
    read_on(llama, cache, ids)
    for layer in cache.branch.layers[:num_layers]:
        layer.update_and_fetch(*(mx.full((1, 2, 5, 16), float("nan")) for _ in range(2)))
    cache.give_up_path()
    assert cache.branch.token_ids == as_ids([])
    assert is_same(after(llama, cache, ids), read_alone(llama, [ids, [7]]))


def test_a_deleted_cache_folder_is_filled_again(llama: nn.Module, tmp_path: Path):
    cache = new_cache(llama, tmp_path / "cache", limit_bytes=1)
    one, other = list(range(50, 90)), list(range(150, 190))

    def use(ids: list[int]) -> int:
        num_kept = cache.rewind_to([*ids, 1])
        if num_kept < len(ids):
            read_on(llama, cache, ids[num_kept:])
        save_all(cache)
        return num_kept

    assert [use(ids) for ids in (one, other, one)] == [0, 0, 40]
    shutil.rmtree(tmp_path / "cache")
    assert use(other) == 0
    assert [use(ids) for ids in (one, other, one, other)][-2:] == [40, 40]
    assert is_same(after(llama, cache, one), read_alone(llama, [one, [7]]))
    assert is_same(after(llama, cache, other), read_alone(llama, [other, [7]]))
    assert cache.num_disk_bytes == sum(path.stat().st_size for path in files_in(tmp_path)) > 0


TWINS = (
    "llama",
    "gemma3_text",
    "llama4",
    "lfm2",
    "mamba",
    "falcon_h1",
    "recurrent_gemma",
    "deepseek_v41",
    "qwen3_next",
)


@pytest.mark.parametrize(
    ("name", "num_rounds"), [*((name, 6) for name in TWINS), *in_long_runs((name, 25) for name in TWINS)]
)
def test_hardly_any_memory_gives_the_same_logits_as_plenty(name: str, num_rounds: int, tmp_path: Path):
    """Branches fork anywhere and are read as the engine does; the number of kept tokens is the same, too."""
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    rng = Random(len(name))
    cache, twin = new_cache(model, tmp_path, limit_bytes=1), PromptCache(partial(make_prompt_cache, model), 1 << 60)
    known: list[list[int]] = [[rng.randrange(10, VOCAB_SIZE) for _ in range(70)]]
    for _ in range(num_rounds):
        base = rng.choice(known)
        prompt = [*base[: rng.randrange(len(base) + 1)], *(rng.randrange(10, 16) for _ in range(rng.randrange(1, 9)))]
        results: list[tuple[int, int]] = []
        logits: list[mx.array] = []
        for each in (cache, twin):
            fork, num_kept = each.fork(prompt), each.rewind_to(prompt)
            results.append((fork, num_kept))
            if num_kept < fork:
                read_on(model, each, prompt[num_kept:fork])
            logits.append(read_on(model, each, prompt[len(each.branch.token_ids) :]))
        assert results[0] == results[1]
        assert is_same(logits[0], logits[1])
        known.append(prompt)
        if rng.random() < 0.3:
            save_all(cache)
            if rng.random() < 0.5:
                cache = new_cache(model, tmp_path, limit_bytes=1)
