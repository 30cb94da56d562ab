"""Control tokens in text: the same places as an alternation of them, longest first, finds; without its cost."""

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
def test_the_longest_control_token_at_a_place_is_found(texts: set[str], pieces: list[str]):
    text = "".join(pieces)
    found = [(match.start(), match[0]) for match in re.finditer(pattern_of(texts), text)]
    assert found == [(match.start(), match[0]) for match in _oracle(texts).finditer(text)]


@given(texts=st.sets(_texts, max_size=12), pieces=st.lists(_texts, max_size=20))
def test_control_tokens_that_overlap_are_all_found(texts: set[str], pieces: list[str]):
    text = "".join(pieces)
    found = {match.start() for match in re.finditer(f"(?={pattern_of(texts)})", text)}
    assert found == {place for place in range(len(text)) if text.startswith(tuple(texts), place)}


def test_a_text_that_is_a_thousand_control_tokens_long_is_no_deeper_for_it():
    long = "<" + "x" * 5_000 + ">"
    assert re.fullmatch(pattern_of([long, "<y>"]), long)


def test_six_thousand_control_tokens_are_one_pattern():
    texts = [f"<unused{number}>" for number in range(6_000)]
    pattern = re.compile(pattern_of(texts))
    assert pattern.findall("".join(texts) * 2) == texts * 2
