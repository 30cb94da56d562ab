"""Tokens shared by forks are counted once, compared with a plain count token by token."""

from __future__ import annotations

import itertools
from random import Random

from worker.answers.lineage import Lineage


def test_each_token_belongs_to_one_answer() -> None:
    for seed in range(500):
        rng = Random(seed)
        fresh = itertools.count()
        answers: list[tuple[Lineage, list[int]]] = [(Lineage(), [])]
        for _ in range(rng.randint(1, 60)):
            lineage, tokens = rng.choice(answers)
            chosen = rng.random()
            if chosen < 0.6:
                tokens.append(next(fresh))
            elif chosen < 0.8:
                del tokens[rng.randint(0, len(tokens)) :]
                lineage.go_back(len(tokens))
            else:
                answers.append((lineage.fork(len(tokens)), list(tokens)))
            distinct = {token for _, tokens in answers for token in tokens}
            assert sum(len(tokens) - lineage.num_shared for lineage, tokens in answers) == len(distinct), seed
