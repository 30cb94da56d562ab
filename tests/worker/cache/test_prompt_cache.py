"""The prompt cache against layers that never left their branch: the same logits, bit for bit, and nothing read twice.

A tree of turns grows at random while the test moves around in it. The oracle reads each branch alone, from its
beginning and in the same chunks; the cache must reach the same logits with the tokens that it kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.models.cache import make_prompt_cache

from tests.architectures import ARCHITECTURES, build_random_model
from tests.long import every_third, in_long_runs
from worker.cache.prompt_cache import PromptCache
from worker.cache.token_tree import Provenance, Written
from worker.layers import Layers, arrays_in, quantized, stacks_of

VOCAB_SIZE = 500
KINDS = ("llama", "gemma3_text", "llama4", "lfm2", "mamba", "falcon_h1")
"""Positions; windows, chunks and states beside them; states only; both in one layer."""


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest) -> nn.Module:
    return build_random_model(ARCHITECTURES[request.param], vocab_size=VOCAB_SIZE)


@pytest.fixture(scope="module")
def llama() -> nn.Module:
    return build_random_model(ARCHITECTURES["llama"], vocab_size=VOCAB_SIZE)


def new_cache(model: nn.Module) -> PromptCache:
    return PromptCache(partial(make_prompt_cache, model))


@dataclass
class Turn:
    """A node of the oracle's tree: the tokens that follow its parent's, read as one chunk."""

    parent: Turn | None
    ids: list[int]
    logits: mx.array
    children: list[Turn] = field(default_factory=list["Turn"])

    @property
    def path(self) -> list[Turn]:
        return [*(self.parent.path if self.parent else []), self]

    @property
    def all_ids(self) -> list[int]:
        return [token_id for turn in self.path for token_id in turn.ids]


def read(model: nn.Module, layers: Layers, ids: list[int]) -> mx.array:
    logits: mx.array = cast("Any", model)(mx.array([ids]), cache=layers)[:, -1]
    mx.eval(logits, [arrays_in(stack.arrays) for stack in stacks_of(layers)])
    return logits


def read_alone(model: nn.Module, turns: list[list[int]], new_layers: Callable[[], Layers] | None = None) -> mx.array:
    """Return the logits after the last of several turns, read with new layers."""
    layers = make_prompt_cache(model) if new_layers is None else new_layers()
    return [read(model, layers, ids) for ids in turns][-1]


def read_on(model: nn.Module, cache: PromptCache, ids: list[int]) -> mx.array:
    cache.branch.make_room(len(ids))
    logits = read(model, cache.branch.layers, ids)
    cache.branch.extend(ids)
    cache.keep()
    return logits


def is_same(one: mx.array, other: mx.array) -> bool:
    return bool(mx.array_equal(one, other, equal_nan=True))


def new_turn(rng: Random, parent: Turn | None) -> list[int]:
    """Return ids whose first one differs from those of the parent's other children."""
    taken = {child.ids[0] for child in parent.children} if parent else set[int]()
    first = rng.choice([token_id for token_id in range(10, 99) if token_id not in taken])
    return [first, *(rng.randrange(10, VOCAB_SIZE) for _ in range(rng.choice([0, 1, 2, 5, 9, 30])))]


@pytest.mark.parametrize(("seed", "num_steps"), [(0, 10), *in_long_runs((seed, 40) for seed in range(4))])
def test_a_branch_is_unchanged_after_leaving_it_and_coming_back(model: nn.Module, seed: int, num_steps: int):
    walk(model, seed, num_steps)


@pytest.mark.long  # All of them go through the disk in test_disk_tier.
@pytest.mark.parametrize("name", every_third(ARCHITECTURES, first=2))
def test_branches_are_unchanged_for_every_architecture(name: str):
    walk(build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE), seed=len(name), num_steps=10)


def walk(model: nn.Module, seed: int, num_steps: int, new_layers: Callable[[], Layers] | None = None) -> None:
    rng = Random(seed)
    cache = new_cache(model) if new_layers is None else PromptCache(new_layers)
    first = new_turn(rng, None)
    turns = [Turn(None, first, read_alone(model, [first], new_layers))]
    assert cache.rewind_to([*first, 1]) == 0
    assert is_same(read_on(model, cache, first), turns[0].logits)
    for _ in range(num_steps):
        turn = rng.choice(turns)
        ids = new_turn(rng, turn)
        prompt = turn.all_ids + ids
        assert cache.num_kept(prompt) == len(turn.all_ids)
        assert cache.rewind_to(prompt) == len(turn.all_ids)
        logits = read_alone(model, [*(each.ids for each in turn.path), ids], new_layers)
        assert is_same(read_on(model, cache, ids), logits)
        child = Turn(turn, ids, logits)
        turn.children.append(child)
        turns.append(child)
    assert cache.num_tokens == sum(len(turn.ids) for turn in turns)


def test_the_cache_holds_the_bytes_of_the_distinct_tokens_only(llama: nn.Module):
    cache = new_cache(llama)
    beginning = [rng_id % 400 + 50 for rng_id in range(600)]
    for branch in range(30):
        ids = [*beginning, 10 + branch, *range(100, 150)]
        num_kept = cache.rewind_to([*ids, 1])
        assert num_kept == (0 if branch == 0 else 600)
        read_on(llama, cache, ids[num_kept:])
    assert cache.num_tokens == 600 + 30 * 51
    one = make_prompt_cache(llama)
    read(llama, one, [1] * 256)
    bytes_a_token = sum(layer.nbytes for layer in one) // 256
    max_room = 255 * bytes_a_token  # after the working layers' positions
    distinct = cache.num_tokens * bytes_a_token
    assert distinct <= cache.num_bytes <= distinct + max_room


@pytest.mark.parametrize("num_rounds", [8, *in_long_runs([40])])
def test_the_limit_holds_and_the_branch_in_use_stays(model: nn.Module, num_rounds: int):
    rng = Random(5)
    cache = new_cache(model)
    ids = [rng.randrange(50, VOCAB_SIZE) for _ in range(60)]
    cache.rewind_to([*ids, 1])
    read_on(model, cache, ids)
    cache.limit_bytes = 4 * cache.num_bytes
    for branch in range(num_rounds):
        prompt = [*ids[: rng.randrange(1, 61)], 10 + branch, *ids[:40]]
        num_kept = cache.rewind_to(prompt)
        logits = read_on(model, cache, prompt[num_kept:])
        assert cache.num_bytes <= cache.limit_bytes
        assert cache.num_kept([*prompt, 1]) == len(prompt)
        fresh = read_alone(model, [prompt])
        assert mx.allclose(logits, fresh, rtol=1e-3, atol=1e-3)


def test_the_least_recently_used_branch_is_evicted_first(llama: nn.Module):
    cache = new_cache(llama)
    prompts = [[10 + branch, *range(100, 399)] for branch in range(4)]
    for ids in prompts:
        cache.rewind_to([*ids, 1])
        read_on(llama, cache, ids)
    assert [cache.num_kept([*ids, 1]) for ids in prompts] == [300] * 4
    cache.rewind_to([*prompts[0], 1])
    cache.limit_bytes = cache.num_bytes - 1
    cache.rewind_to([*prompts[2], 1])
    assert [cache.num_kept([*ids, 1]) for ids in prompts] == [300, 0, 300, 300]


@pytest.mark.parametrize("num_branches", [12, *in_long_runs([30])])
def test_no_run_of_evicted_tokens_remains(model: nn.Module, num_branches: int):
    rng = Random(6)
    cache = new_cache(model)
    ids = [rng.randrange(50, VOCAB_SIZE) for _ in range(60)]
    for branch in range(num_branches):
        prompt = [*ids[: rng.randrange(1, 61)], 10 + branch, *ids[:20]]
        read_on(model, cache, prompt[cache.rewind_to([*prompt, 1]) :])
    full = cache.num_bytes
    for share in (0.7, 0.4, 0.1, 0):
        cache.limit_bytes = int(share * full)
        cache.keep()
        runs = list(cache._tree.runs())  # pyright: ignore[reportPrivateUsage]
        in_use = set(cache._tree.path(cache.branch.token_ids)[0])  # pyright: ignore[reportPrivateUsage]
        assert all(run.children or run.kept.num_bytes or run in in_use for run in runs)
    assert set(runs) == in_use


def test_a_failed_branch_is_dropped_and_the_others_are_kept(model: nn.Module):
    cache = new_cache(model)
    one, other = list(range(50, 90)), list(range(150, 190))
    for ids in (one, other):
        cache.rewind_to([*ids, 1])
        read_on(model, cache, ids)
    cache.give_up_path()
    assert cache.num_kept([*one, 1]) == 40
    assert is_same(_after(model, cache, one), read_alone(model, [one, [7]]))


def _after(model: nn.Module, cache: PromptCache, ids: list[int]) -> mx.array:
    assert cache.rewind_to([*ids, 7]) == len(ids)
    return read_on(model, cache, [7])


def test_queries_between_tokens_do_not_split_the_run(llama: nn.Module):
    cache = new_cache(llama)
    cache.rewind_to([1, 2, 3, 4])
    read_on(llama, cache, [1, 2, 3])
    for token_id in range(10, 60):
        read_on(llama, cache, [token_id])
        assert cache.num_tokens == len(cache.branch.token_ids)
        assert cache.num_kept([*cache.branch.token_ids, 7]) == len(cache.branch.token_ids)
    assert sum(1 for _ in cache._tree.runs()) == 1  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("name", ["lfm2", "gemma3_text", "mamba"])
def test_a_long_conversation_does_not_evict_a_short_one(name: str):
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    rng = Random(3)
    cache = new_cache(model)
    short = [rng.randrange(100, VOCAB_SIZE) for _ in range(60)]
    cache.rewind_to([*short, 1])
    read_on(model, cache, short)
    one_state = cache.num_bytes
    cache.limit_bytes = 30 * one_state
    long = [10]
    cache.rewind_to([*long, 1])
    read_on(model, cache, long)
    for _ in range(60):
        message = [rng.randrange(100, VOCAB_SIZE) for _ in range(12)]
        assert cache.rewind_to([*long, *message]) == len(long)
        read_on(model, cache, message)
        long += message
        assert cache.num_bytes <= cache.limit_bytes
    assert cache.num_kept([*short, 1]) == len(short)
    assert cache.num_kept([*long, 1]) == len(long)
    assert cache.num_kept([*long[:-12], 1]) == len(long) - 12


@pytest.mark.parametrize("name", ["llama", "recurrent_gemma"])
def test_the_cache_holds_no_more_memory_than_it_counts(name: str):
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    mx.eval(model.parameters())
    rng = Random(4)
    mx.clear_cache()
    before = mx.get_active_memory()
    cache = new_cache(model)
    beginning = [rng.randrange(100, VOCAB_SIZE) for _ in range(40)]
    for branch in range(100):
        ids = [*beginning, branch, *beginning[:5]]
        read_on(model, cache, ids[cache.rewind_to([*ids, 1]) :])
    held = mx.get_active_memory() - before
    num_arrays = sum(len(arrays_in([run.kept.parts, run.kept.states])) for run in cache._tree.runs())  # pyright: ignore[reportPrivateUsage]
    # Small arrays take up whole blocks.
    assert held <= cache.num_bytes + 512 * num_arrays + 100_000


# --- notes about tokens --------------------------------------------------------------------------------------

TABLE = [str(token_id).encode() for token_id in range(VOCAB_SIZE)]


def test_notes_about_tokens_are_found_inside_and_outside_the_working_layers(model: nn.Module):
    cache = new_cache(model)
    prompt, answer, other = list(range(50, 60)), [100, 101, 102], [200, 201]
    cache.rewind_to(prompt)
    for ids in (prompt, *([token_id] for token_id in answer[:-1])):
        read_on(model, cache, ids)
    sequence = prompt + answer
    cache.note(sequence, len(prompt), [-1.0, None, -3.0], [Provenance.SAMPLED, Provenance.FORCED, Provenance.SAMPLED])
    written = [
        *(Written(token_id, TABLE[token_id], None, Provenance.PROMPT) for token_id in prompt),
        Written(100, b"100", -1.0, Provenance.SAMPLED),
        Written(101, b"101", None, Provenance.FORCED),
    ]
    # The last token of an answer is only read when another one follows it.
    assert cache.tokens(sequence, TABLE) == written
    for branch in (prompt + other, sequence):
        read_on(model, cache, branch[cache.rewind_to([*branch, 1]) :])
        assert (
            cache.tokens(sequence, TABLE, 5)
            == [*written, Written(102, b"102", None, Provenance.PROMPT)][5 : len(written) + (branch is sequence)]
        )


def test_notes_are_evicted_together_with_their_tokens(llama: nn.Module):
    cache = new_cache(llama)
    one, other = list(range(50, 90)), list(range(150, 190))
    for ids in (one, other):
        cache.rewind_to([*ids, 1])
        read_on(llama, cache, ids)
        cache.note(ids, 0, [-1.0] * 40, [Provenance.SAMPLED] * 40)
    cache.limit_bytes = 1
    cache.keep()
    assert cache.tokens(one, TABLE) == []
    assert [token.logprob for token in cache.tokens(other, TABLE)] == [-1.0] * 40


# --- quantized layers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("name", ["llama", "gemma3_text", "lfm2"])
def test_quantized_keys_and_values_come_back_bit_for_bit(name: str, bits: int):
    """Only layers with positions are quantized; windows and states beside them are not."""
    wide = {"head_dim": 32, "hidden_size": 128, "block_dim": 128}
    model = build_random_model(ARCHITECTURES[name] | wide, vocab_size=VOCAB_SIZE)

    def new_layers() -> Layers:
        layers, num_quantized = quantized(make_prompt_cache(model), bits, 32)
        assert num_quantized > 0
        return layers

    walk(model, seed=bits, num_steps=12, new_layers=new_layers)
