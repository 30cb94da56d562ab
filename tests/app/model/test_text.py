"""Typed or pasted text: nothing is lost on its way into the store."""

from __future__ import annotations

import pytest

from app.model.text import clean
from app.model.titles import name_from


@pytest.mark.parametrize("text", ["", "a", "a\0b", "😀👩‍👩‍👧", "שלום עולם", "\u202ea", "\r\n\t", "e\u0301"])
def test_text_is_stored_unchanged(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("pasted", "cleaned"),
    [("a\ud83db", "a\ufffdb"), ("\ude00", "\ufffd"), ("\ud83d\ude00", "😀"), ("\ud83d\ud83d\ude00", "\ufffd😀")],
)
def test_half_a_character_is_marked_and_two_halves_become_one(pasted: str, cleaned: str) -> None:
    assert clean(pasted) == cleaned
    cleaned.encode()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Why?", "Why?"),
        ("  Why\n\nnot?  ", "Why not?"),
        ("x" * 48, "x" * 48),
        ("x" * 49, "x" * 47 + "…"),
        ("word " * 1_000_000, "word " * 9 + "wo…"),
    ],
)
def test_a_name_is_the_beginning_of_the_question_on_one_line(text: str, name: str) -> None:
    assert name_from(text) == name
