"""A memo returns what was put there or nothing, and holds no more than its limit."""

from __future__ import annotations

import random

from worker.templates.memo import Memo


def test_what_is_known_is_what_was_put_there_last_and_no_more_than_the_limit_lets():
    dice = random.Random(5)
    for limit in (0, 1, 7, 40, 1000):
        memo: Memo[int, int] = Memo(limit)
        told: dict[int, tuple[int, int]] = {}
        num_known = 0
        for step in range(2000):
            key = dice.randrange(30)
            if dice.random() < 0.5:
                told[key] = (step, dice.randrange(1, 6))
                memo.put(key, *told[key])
            found = memo.get(key)
            assert found is None or found == told[key][0]
            num_known += found is not None
            assert len(memo) <= limit  # each weighs one at least
        assert (num_known > 0) is (limit > 1)


def test_what_is_asked_for_stays_while_others_come_and_go():
    memo: Memo[int, str] = Memo(10)
    memo.put(0, "kept", 1)
    for key in range(1, 100):
        memo.put(key, "passing", 1)
        assert memo.get(0) == "kept"
    assert memo.get(50) is None


def test_what_is_too_heavy_is_not_kept_and_takes_nothing_else_with_it():
    memo: Memo[str, int] = Memo(10)
    memo.put("light", 1, 1)
    memo.put("heavy", 2, 6)
    assert memo.get("heavy") is None
    assert memo.get("light") == 1


def test_what_is_put_again_weighs_once():
    memo: Memo[str, int] = Memo(10)
    memo.put("other", 0, 1)
    for number in range(50):
        memo.put("same", number, 3)
        assert memo.get("same") == number
        assert memo.get("other") == 0
