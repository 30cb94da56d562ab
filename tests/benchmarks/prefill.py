"""Prompts that are read layer by layer, so that a stop is obeyed after each layer, against chunks read at once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache

from tests.architectures import build_random_model, small_llama
from tests.benchmarks.measure import Row, compared, in_turn
from worker.cache.branch_in_use import BranchInUse
from worker.cache.prompt_cache import PromptCache
from worker.decoding import chunk
from worker.decoding.chunk import CHUNK, ChunkReader

_AREA = "prefill"
_ROUNDS = 9
_NUM_LAYERS = 8
_VOCABULARY = 300
_AT_ONCE_S = 1e9


def rows() -> Iterator[Row]:
    """Yield the speed with a model of 100 million weights, each of whose layers takes longer than a step may."""
    sizes = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": _NUM_LAYERS, "head_dim": 64}
    heads = {"num_attention_heads": 16, "num_key_value_heads": 16}
    model: Any = build_random_model(small_llama(_VOCABULARY) | sizes | heads, vocab_size=_VOCABULARY)
    mx.eval(model.parameters())

    def forward(token_ids: Sequence[int], branch: BranchInUse) -> mx.array:
        logits: mx.array = model(mx.array([list(token_ids)]), cache=branch.layers)
        return logits[:, -1]

    reader = ChunkReader(forward)
    token_ids = [number * 7 % _VOCABULARY for number in range(CHUNK)]
    num_steps: set[int] = set()

    def tokens_per_s() -> float:
        cache = PromptCache(lambda: make_prompt_cache(model), 1 << 30)
        began = time.perf_counter()
        num_steps.add(1 + sum(1 for _ in reader.read(token_ids, cache.branch)))
        return CHUNK / (time.perf_counter() - began)

    def at_once() -> float:
        usual_s = chunk._STEP_S  # pyright: ignore[reportPrivateUsage]
        chunk._STEP_S = _AT_ONCE_S  # pyright: ignore[reportPrivateUsage]
        try:
            return tokens_per_s()
        finally:
            chunk._STEP_S = usual_s  # pyright: ignore[reportPrivateUsage]

    ours, theirs = in_turn(_ROUNDS, tokens_per_s, at_once)
    assert max(num_steps) > 1, num_steps
    name = f"prompt tokens/s, up to {max(num_steps)} steps a chunk"
    yield compared(_AREA, name, ours, "the chunk at once", theirs, ">= 0.97")
