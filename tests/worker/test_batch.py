"""Rows of a batch against the same sequences alone: equal within rounding, for every architecture with batches."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.models.cache import make_prompt_cache

from tests.architectures import ARCHITECTURES, build_random_model
from tests.long import every_third, in_long_runs
from worker.batch import Batch, can_batch, can_share
from worker.cache.prompt_cache import PromptCache
from worker.layers import Layers, arrays_in, num_bytes_in, stacks_of

VOCAB_SIZE = 500
NOT_BATCHED = {
    "gemma2",  # its attention takes only one form of mask
    "gpt_bigcode",  # has one count of positions for all rows
    "afm7",  # likewise
    "llama4",  # `ChunkedKVCache` has no batched form
    "minimax_m3_vl",  # attends to blocks, which padding would move
    "deepseek_v41",  # its own kind of cache has no batched form
}

NOT_SHARED = NOT_BATCHED | {
    *("stablelm", "plamo", "plamo2", "gemma4", "gemma4_text", "iquestloopcoder"),  # their own attention
    "gemma3n",  # some layers use the keys of others
    "gpt_oss",  # sinks
    # compressed keys
    *("deepseek_v3", "glm4_moe_lite", "mistral4", "kimi_vl", "kimi_k25", "kimi_linear", "kimi_k3", "bailing_hybrid"),
    "bailing_moe_v3",
    # no layer with plain attention
    *("longcat_flash", "longcat_flash_ngram", "deepseek_v32", "glm_moe_dsa", "mamba", "mamba2", "rwkv7"),
    *("recurrent_gemma", "baichuan_m1", "falcon_h1"),
}

_BATCHED = [name for name in ARCHITECTURES if name not in NOT_BATCHED]


def forward(model: nn.Module, tokens: mx.array, layers: Layers) -> mx.array:
    return cast("Any", model)(tokens, cache=layers)[:, -1, :]


def read(model: nn.Module, layers: Layers, ids: list[int]) -> mx.array:
    logits = forward(model, mx.array([ids]), layers)
    mx.eval(logits, [arrays_in(stack.arrays) for stack in stacks_of(layers)])
    return logits


def assert_agree(one: mx.array, other: mx.array) -> None:
    """Check that the logits are equal within rounding.

    A wrong position or mask changes them a hundred times as much.
    """
    assert mx.all(mx.abs(one - other) <= 2e-2 * mx.std(one))


@pytest.mark.parametrize(
    "name",
    [*every_third(_BATCHED, 2), *every_third(sorted(NOT_BATCHED))],
)
def test_can_batch_knows_which_architectures_can_be_batched(name: str):
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    assert can_batch(partial(forward, model), partial(make_prompt_cache, model), ARCHITECTURES[name]) == (
        name not in NOT_BATCHED
    )


@pytest.mark.parametrize("name", [*every_third(_BATCHED[::2]), *in_long_runs(_BATCHED[1::2])])
def test_rows_that_join_and_leave_equal_single_sequences_and_continue_in_the_cache(name: str):
    """Every few steps a row joins or leaves, beyond the length of windows. The rows that left are continued alone."""
    rng = Random(len(name))
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    cache = PromptCache(partial(make_prompt_cache, model))
    batch = Batch()
    rows: list[tuple[list[int], Layers]] = []
    left: list[tuple[list[int], Layers]] = []
    for step in range(18):
        if step % 6 == 0:
            ids = [10 + step, *(rng.randrange(10, VOCAB_SIZE) for _ in range(rng.choice([2, 9, 25])))]
            alone = make_prompt_cache(model)
            read(model, alone, ids)
            batch.add(alone, 1)
            rows.append((ids, alone))
        if step % 9 == 8:
            row = rng.randrange(len(rows))
            cache.enter(rows[row][0], batch.row(row, len(rows[row][0])))
            batch.remove(row, len(rows))
            left.append(rows.pop(row))
        tokens = [rng.randrange(10, VOCAB_SIZE) for _ in rows]
        together = forward(model, mx.array(tokens)[:, None], batch.layers)
        for row, (ids, alone) in enumerate(rows):
            ids.append(tokens[row])
            assert_agree(read(model, alone, tokens[row : row + 1]), together[row : row + 1])
    for ids, alone in left:
        assert cache.rewind_to([*ids, 7]) == len(ids)
        assert_agree(read(model, alone, [7]), read(model, cache.branch.layers, [7]))
        cache.branch.extend([7])
    ids, alone = rows[-1]
    cache.take(ids, batch.row(len(rows) - 1, len(ids)))
    assert cache.num_kept([*ids, 7]) == len(ids)
    assert_agree(read(model, alone, [7]), read(model, cache.branch.layers, [7]))


_SHARING = ["llama", "qwen3_moe", "gemma3_text", "phi3", "lfm2", "deepseek_v3", "gpt_oss", "mamba"]
"""Architectures of many kinds. The others are tried in the long tests."""


@pytest.mark.parametrize("name", [*_SHARING, *in_long_runs(name for name in ARCHITECTURES if name not in _SHARING)])
def test_can_share_knows_which_architectures_can_share_a_prefix(name: str):
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    layers = partial(make_prompt_cache, model)
    can = can_batch(partial(forward, model), layers, ARCHITECTURES[name]) and can_share(partial(forward, model), layers)
    assert can == (name not in NOT_SHARED)


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in _SHARING if name not in NOT_SHARED),
        *in_long_runs(name for name in ARCHITECTURES if name not in NOT_SHARED and name not in _SHARING),
    ],
)
def test_rows_that_share_prefixes_equal_single_sequences_and_continue_in_the_cache(name: str):
    """Groups and single rows join and leave in random order; rows that left are continued in the cache."""
    rng = Random(len(name))
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    cache = PromptCache(partial(make_prompt_cache, model))
    batch = Batch()
    rows: list[tuple[list[int], Layers]] = []
    for step in range(16):
        if step % 5 == 0:
            ids = [10 + step, *(rng.randrange(10, VOCAB_SIZE) for _ in range(rng.choice([1, 8, 20])))]
            number = [3, 1, 2, 1][step // 5]
            alone = [make_prompt_cache(model) for _ in range(number)]
            for layers in alone:
                read(model, layers, ids)
            # The first of them continues to change the arrays that the rows share.
            batch.add(alone[0], number, is_shared=number > 1)
            rows += [(list(ids), layers) for layers in alone]
        if step % 4 == 3:
            row = rng.randrange(len(rows))
            ids, alone_layers = rows.pop(row)
            cache.enter(ids, batch.row(row, len(ids)))
            batch.remove(row, len(rows) + 1)
            assert cache.rewind_to([*ids, 7]) == len(ids)
            assert_agree(read(model, alone_layers, [7]), read(model, cache.branch.layers, [7]))
            cache.branch.extend([7])
        tokens = [rng.randrange(10, VOCAB_SIZE) for _ in rows]
        together = forward(model, mx.array(tokens)[:, None], batch.layers)
        for row, (ids, layers) in enumerate(rows):
            ids.append(tokens[row])
            assert_agree(read(model, layers, tokens[row : row + 1]), together[row : row + 1])
    ids, layers = rows[1]
    cache.take(ids, batch.whole_row(1, len(ids)))
    assert_agree(read(model, layers, [7]), read(model, cache.branch.layers, [7]))


@pytest.mark.parametrize("name", ["llama", "gemma3_text", "lfm2", "mamba", "falcon_h1"])
def test_a_row_enters_the_cache_bit_for_bit(name: str):
    """Continuing the rows twice, in different orders, gives the same logits."""
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    cache = PromptCache(partial(make_prompt_cache, model))
    prompt = list(range(50, 80))
    cache.rewind_to([*prompt, 1])
    read(model, cache.branch.layers, prompt)
    cache.branch.extend(prompt)
    cache.keep()
    batch = Batch()
    batch.add(cache.branch.layers, 3)
    rows = [list(prompt) for _ in range(3)]
    for step in range(12):
        tokens = [100 + 20 * row + step for row in range(3)]
        mx.eval(forward(model, mx.array(tokens)[:, None], batch.layers))
        for row, token_id in zip(rows, tokens, strict=True):
            row.append(token_id)
    for row in range(3):
        cache.enter(rows[row], batch.row(row, len(rows[row])))
    after: list[list[mx.array]] = []
    for order in ([0, 1, 2], [2, 0, 1]):
        logits: dict[int, mx.array] = {}
        for row in order:
            assert cache.rewind_to([*rows[row], 7]) == len(rows[row])
            logits[row] = read(model, cache.branch.layers, [7])
            cache.branch.extend([7])
        after.append([logits[row] for row in range(3)])
    assert all(mx.array_equal(one, other, equal_nan=True) for one, other in zip(*after, strict=True))


def test_tokens_shared_by_rows_and_cache_are_kept_once():
    model = build_random_model(ARCHITECTURES["llama"], vocab_size=VOCAB_SIZE)
    cache = PromptCache(partial(make_prompt_cache, model))
    prompt = [token_id % 400 + 50 for token_id in range(512)]
    cache.rewind_to([*prompt, 1])
    read(model, cache.branch.layers, prompt)
    cache.branch.extend(prompt)
    before = cache.num_bytes
    bytes_per_token = before // 512
    batch = Batch()
    batch.add(cache.branch.layers, 4)
    for step in range(10):
        mx.eval(forward(model, mx.array([[60 + row + 7 * step] for row in range(4)]), batch.layers))
    held = num_bytes_in([list(layer.__dict__.values()) for layer in batch.layers])
    assert batch.num_bytes == held > 4 * before
    for row in range(4):
        cache.enter([*prompt, *(60 + row + 7 * step for step in range(10))], batch.row(row, 522))
    assert cache.num_bytes == before + 4 * 10 * bytes_per_token


def test_a_shared_prefix_is_held_once():
    model = build_random_model(ARCHITECTURES["llama"], vocab_size=VOCAB_SIZE)
    layers = make_prompt_cache(model)
    read(model, layers, [token_id % 400 + 50 for token_id in range(512)])
    before = num_bytes_in([stack.arrays for stack in stacks_of(layers)])
    mx.clear_cache()
    active = mx.get_active_memory()
    batch = Batch()
    batch.add(layers, 8, is_shared=True)
    mx.eval([forward(model, mx.array([[60 + row] for row in range(8)]), batch.layers) for _ in range(2)])
    # Each row has room for 256 tokens of its own.
    assert batch.num_bytes < 8 * before // 2 + 4096
    assert mx.get_active_memory() - active < batch.num_bytes + before // 8
    # Changing the layers in place leaves the prefix as it was.
    shared = batch.layers[0].prefixes[0].keys
    kept = mx.array(shared)
    layers[0].keys[..., 5:9, :] = mx.zeros_like(layers[0].keys[..., 5:9, :])
    mx.eval(layers[0].keys)
    assert mx.array_equal(shared, kept)


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("name", ["llama", "gemma3_text", "lfm2", "mamba", "falcon_h1", "deepseek_v3"])
def test_rows_taken_in_any_order_and_several_times_equal_single_sequences(name: str, *, is_shared: bool):
    if is_shared and name in NOT_SHARED:
        pytest.skip("It can't share a prefix.")
    rng = Random(len(name))
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    layers = make_prompt_cache(model)
    prompt = [rng.randrange(10, VOCAB_SIZE) for _ in range(9)]
    read(model, layers, prompt)
    batch = Batch()
    batch.add(layers, 3, is_shared=is_shared)
    rows = [list(prompt) for _ in range(3)]
    together = logits = mx.zeros((3, VOCAB_SIZE))
    for _ in range(20):
        tokens = [rng.randrange(10, VOCAB_SIZE) for _ in rows]
        together = forward(model, mx.array(tokens)[:, None], batch.layers)
        rows = [[*row, token_id] for row, token_id in zip(rows, tokens, strict=True)]
        taken = [rng.randrange(len(rows)) for _ in range(rng.choice([len(rows), rng.randint(1, 4)]))]
        num_same = next((at for at, each in enumerate(zip(*rows, strict=True)) if len(set(each)) > 1), len(rows[0]))
        batch.take(taken, rng.choice([None, len(rows[0]) - num_same, len(rows[0])]))
        rows, together = [rows[row] for row in taken], together[mx.array(taken)]
    for row, ids in enumerate(rows):
        alone = make_prompt_cache(model)
        read(model, alone, prompt)
        for token_id in ids[len(prompt) :]:
            logits = read(model, alone, [token_id])
        assert_agree(logits, together[row : row + 1])
        assert_agree(read(model, alone, [7]), read(model, batch.whole_row(row, len(ids)), [7]))
