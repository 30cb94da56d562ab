"""Random decisions of hooks: each token is sampled as by a model that has read nothing else.

`BOUGH_FUZZ_HOOKS` is the number of random seeds of `make test-long`.
"""

from __future__ import annotations

import os
from functools import cache

import mlx.core as mx
import pytest

from tests.long import in_long_runs
from tests.worker.answers.chance import Chance, Draws
from tests.worker.answers.hooked import PROMPT, ask_once, finished
from worker.decoding.sampler import Sampler
from worker.language_model import LanguageModel
from worker.protocol import Continuation, Sampling

NUM_SEEDS = int(os.environ.get("BOUGH_FUZZ_HOOKS", "4"))


@pytest.mark.parametrize("n", [2, *in_long_runs([1, 3])])
@pytest.mark.parametrize("seed", [1, *in_long_runs(seed for seed in range(NUM_SEEDS) if seed != 1)])
def test_each_token_is_sampled_as_if_nothing_else_was_read(model: LanguageModel, seed: int, n: int) -> None:
    # Every second request has given text, which hooks may take back, too.
    given = list(range(60, 60 + 9 * (seed % 2)))
    sampling = Sampling(temperature=1.0, seed=seed * 100)

    @cache
    def after(sequence: tuple[int, ...]) -> mx.array:
        return model.forward(mx.array([list(sequence)]), model.new_layers())

    for looks_ahead in (False, True):
        draws = Draws()
        made = iter(range(seed, seed + n))
        hooks = {"chance": lambda: Chance(next(made), draws, len(model.vocabulary))}  # noqa: B023 (made at once)
        continuation = Continuation(token_ids=given) if given else None
        events = ask_once(
            model, hooks, looks_ahead=looks_ahead, n=n, sampling=sampling, max_tokens=24, continuation=continuation
        )
        seeds = [choice.seed for choice in finished(events).choices]
        assert seeds[:n] == [seed * 100 + choice for choice in range(n)]
        assert len(set(seeds)) == len(seeds)
        assert len(draws.made) > 10
        num_close = 0
        for tokens, choice, visit, mask, temperature, token in draws.made:
            sequence = PROMPT + tokens
            logits = after(tuple(sequence))
            sampler = Sampler(sampling, seeds[choice])
            again = sampler.draw(logits, None, len(sequence), visit, mx.array(mask), temperature)
            num_close += again.item() != token
        # Two tokens so close that rounding decides are rare.
        assert num_close <= len(draws.made) * 0.02
