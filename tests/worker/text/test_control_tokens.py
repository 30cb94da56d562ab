"""Patterns for control tokens find the same positions as a plain alternation, longest first, without its cost."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from worker.text.control_tokens import pattern_of

_texts = st.text(alphabet="ab<|>.*(é😀\n", min_size=1, max_size=5)


def _oracle(texts: set[str]) -> re.Pattern[str]:
    longest_first = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


@given(texts=st.sets(_texts, max_size=12), pieces=st.lists(_texts, max_size=20))
def test_the_longest_control_token_at_a_position_is_found(texts: set[str], pieces: list[str]):
    text = "".join(pieces)
    found = [(match.start(), match[0]) for match in re.finditer(pattern_of(texts), text)]
    assert found == [(match.start(), match[0]) for match in _oracle(texts).finditer(text)]


@given(texts=st.sets(_texts, max_size=12), pieces=st.lists(_texts, max_size=20))
def test_overlapping_control_tokens_are_all_found(texts: set[str], pieces: list[str]):
    text = "".join(pieces)
    found = {match.start() for match in re.finditer(f"(?={pattern_of(texts)})", text)}
    assert found == {place for place in range(len(text)) if text.startswith(tuple(texts), place)}


def test_a_text_of_a_thousand_control_tokens_does_not_nest_deeper():
    long = "<" + "x" * 5_000 + ">"
    assert re.fullmatch(pattern_of([long, "<y>"]), long)


def test_six_thousand_control_tokens_make_one_pattern():
    texts = [f"<unused{number}>" for number in range(6_000)]
    pattern = re.compile(pattern_of(texts))
    assert pattern.findall("".join(texts) * 2) == texts * 2
