"""A memo returns the last value stored under a key, or nothing, and never exceeds its limit."""

from __future__ import annotations

import random

from worker.templates.memo import Memo


def test_a_memo_returns_the_last_value_and_keeps_its_limit():
    dice = random.Random(5)
    for limit in (0, 1, 7, 40, 1000):
        memo: Memo[int, int] = Memo(limit)
        stored: dict[int, tuple[int, int]] = {}
        num_known = 0
        for step in range(2000):
            key = dice.randrange(30)
            if dice.random() < 0.5:
                stored[key] = (step, dice.randrange(1, 6))
                memo.put(key, *stored[key])
            found = memo.get(key)
            assert found is None or found == stored[key][0]
            num_known += found is not None
            assert len(memo) <= limit  # each value weighs at least one
        assert (num_known > 0) is (limit > 1)


def test_recently_used_values_stay():
    memo: Memo[int, str] = Memo(10)
    memo.put(0, "kept", 1)
    for key in range(1, 100):
        memo.put(key, "passing", 1)
        assert memo.get(0) == "kept"
    assert memo.get(50) is None


def test_a_value_that_is_too_heavy_is_not_kept_and_evicts_nothing():
    memo: Memo[str, int] = Memo(10)
    memo.put("light", 1, 1)
    memo.put("heavy", 2, 6)
    assert memo.get("heavy") is None
    assert memo.get("light") == 1


def test_a_replaced_value_weighs_once():
    memo: Memo[str, int] = Memo(10)
    memo.put("other", 0, 1)
    for number in range(50):
        memo.put("same", number, 3)
        assert memo.get("same") == number
        assert memo.get("other") == 0
