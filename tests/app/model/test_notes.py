"""Notes: the fence around a text is longer than any in it."""

from __future__ import annotations

from random import Random

import pytest

from app.model.notes import fenced, fenced_text, note


@pytest.mark.parametrize("seed", range(40))
def test_a_text_comes_back_from_its_fence_which_is_no_longer_than_it_must_be(seed: int) -> None:
    draw = Random(seed)
    text = "".join(draw.choices("``a\n", k=draw.randrange(40)))
    made = fenced(text, "json")
    fence = made.partition("json")[0]
    assert fence not in text
    assert len(fence) == 3 or fence[1:] in text
    assert fenced_text(note("Result", made)) == text


def test_a_fence_around_a_million_backticks_is_found_at_once() -> None:
    """Longer fences tried one after another would take minutes."""
    assert len(fenced("`" * 1_000_000)) == 3_000_004
