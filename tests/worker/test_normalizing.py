"""Normalization in slices, against the library's own."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from typing import Literal

import pytest

from worker.normalizing import normalized, slices

# Letters and marks of several scripts, parts of Hangul syllables, and forms that become other characters.
_CHARACTERS = (
    "ab é漢かが\u3099\uff76\uff9e가\u1100\u1161\u11a8\u3131\uffa1\uffc2ﬁ①\u0301\u0316\u0345\u09c7\u09be\u0e01\u0e38"
)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_slices_are_normalized_as_the_whole(form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> None:
    dice = random.Random(3)
    for length in (0, 1, 199, 200, 201, *(dice.randrange(8_000) for _ in range(30))):
        text = "".join(dice.choices(_CHARACTERS, k=length))
        assert normalized(form, text) == unicodedata.normalize(form, text)


def test_no_slice_begins_with_a_character_that_combines_with_the_letter_before() -> None:
    joining = {
        chr(int(parts[1], 16))
        for code in range(0x30000)
        if len(parts := unicodedata.decomposition(chr(code)).split()) == 2 and not parts[0].startswith("<")
    }
    assert len(joining) > 60
    for mark in (*joining, "\u1161", "\u11a8", "\uff9e", "\uffc2"):
        first, rest = slices("x" * 140 + "a" + mark * 80 + "x")
        assert (first, rest[0]) == ("x" * 140, "a")


def test_a_very_long_row_of_marks_is_cut() -> None:
    # Normalized as a whole it would take a minute.
    text = "a" + "\u0301\u0316" * 150_000
    parts = list(slices(text))
    assert "".join(parts) == text
    assert max(map(len, parts)) <= 200
    assert Counter(normalized("NFC", text)) == Counter("á" + text[2:])
