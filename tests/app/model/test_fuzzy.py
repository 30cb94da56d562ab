"""Fuzzy search: beginnings rank before middles, and those before letters in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.fuzzy import fit, folded


def _best(typed: str, *texts: str) -> list[str]:
    found = [(how_well, text) for text in texts if (how_well := fit(folded(typed), folded(text))) is not None]
    return [text for _, text in sorted(found, key=lambda one: -one[0])]


@pytest.mark.parametrize(
    ("typed", "texts", "best"),
    [
        ("new", ("Renew", "Brand new", "New conversation"), ["New conversation", "Brand new", "Renew"]),
        ("nc", ("New conversation", "Quit"), ["New conversation"]),
        ("rgn", ("Regenerate", "Rows of long names"), ["Regenerate"]),
        ("expo br", ("Export branch…", "Export everything"), ["Export branch…"]),
        ("br expo", ("Export branch…",), ["Export branch…"]),
        ("cafe", ("Le Café",), ["Le Café"]),
        ("GRÖSSE", ("Große Größe",), ["Große Größe"]),
        ("xyz", ("New conversation",), []),
        ("", ("A", "Bcd"), ["A", "Bcd"]),
    ],
)
def test_the_closest_match_comes_first(typed: str, texts: tuple[str, ...], best: list[str]) -> None:
    assert _best(typed, *texts) == best


@given(st.text(min_size=1), st.text())
def test_a_match_contains_all_letters_in_order(typed: str, text: str) -> None:
    text = folded(text)
    if fit(folded(typed), text) is None:
        return
    for word in folded(typed).split():
        letters = iter(text)
        in_order = all(letter in letters for letter in word)
        initials = "".join(part[0] for part in text.split())
        assert in_order or word in initials


@given(st.text(), st.text(), st.text())
def test_every_substring_matches(before: str, word: str, after: str) -> None:
    assert fit(folded(word), folded(before) + folded(word) + folded(after)) is not None
