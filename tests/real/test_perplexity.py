"""The perplexity of a text is mlx-lm's, and its tokens are the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.perplexity import eval_ppl

from tests.driver import StdioWorker
from tests.real.conftest import LONGEST_S, Reference
from tests.real.weights import TEXT
from worker.decoding.chunk import CHUNK
from worker.language_model import LanguageModel

_WINDOW = 640


def _windows(ids: list[int]) -> list[list[int]]:
    return [ids[start : start + _WINDOW + 1] for start in range(0, len(ids) - _WINDOW, _WINDOW)]


def _perplexity(windows: list[list[int]], logits_of: Callable[[list[int]], mx.array]) -> float:
    losses: list[mx.array] = []
    for ids in windows:
        losses.append(nn.losses.cross_entropy(logits_of(ids[:-1]), mx.array(ids[1:])))
        # The logits of one window take 126 MB.
        mx.eval(losses)
    return math.exp(cast("float", mx.concatenate(losses).mean().item()))


def test_a_long_text_has_the_same_tokens(worker: StdioWorker, reference: Reference):
    assert len(TEXT) == 20_000
    ids = worker.result("tokenize", text=TEXT)["token_ids"]
    assert ids == reference.tokenizer.encode(TEXT, add_special_tokens=False)


@pytest.mark.parametrize(
    "num_chars",
    [5_000, pytest.param(20_000, marks=[pytest.mark.long, pytest.mark.timeout(LONGEST_S)])],
    ids=["a quarter", "the whole text"],
)
def test_the_perplexity_is_mlx_lms(language_model: LanguageModel, reference: Reference, num_chars: int):
    """mlx-lm reads each window at once and without a cache, Bough in its chunks and into one."""

    def logits_of(ids: list[int]) -> mx.array:
        layers = language_model.new_layers()
        read: list[mx.array] = []
        for start in range(0, len(ids), CHUNK):
            read.append(language_model.logits_of_all(mx.array([ids[start : start + CHUNK]]), layers)[0])
            mx.eval(read)
        return mx.concatenate(read)

    ids = reference.tokenizer.encode(TEXT[:num_chars], add_special_tokens=False)
    windows = _windows(ids)
    ours = _perplexity(windows, logits_of)
    theirs: float = cast("Any", eval_ppl)(reference.model, mx.array(windows), batch_size=1)[0]
    print(f"perplexity of {_WINDOW * len(windows)} tokens: {ours:.6f}, mlx-lm {theirs:.6f}")
    assert 5 < ours < 60
    assert abs(ours - theirs) <= 1e-4
