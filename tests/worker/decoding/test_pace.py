"""The rate of reading prompts: recent chunks count most."""

from __future__ import annotations

import pytest

from worker.decoding.chunk import Pace


def test_the_rate_is_unknown_before_the_first_chunk():
    assert Pace().tokens_per_s is None


def test_the_rate_is_that_of_all_tokens_and_not_the_mean_of_the_chunks():
    pace = Pace()
    pace.note(512, 1.0)
    pace.note(8, 0.5)
    assert pace.tokens_per_s == pytest.approx(520 / 1.5)


def test_old_chunks_are_forgotten():
    pace = Pace()
    pace.note(100_000, 1.0)
    for _ in range(1000):
        pace.note(512, 1.0)
    assert pace.tokens_per_s == pytest.approx(512, rel=0.01)
