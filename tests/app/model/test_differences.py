"""Differences of random texts: both texts come back whole, and common parts are found."""

from __future__ import annotations

import itertools
import random

import pytest

from app.model.differences import differences, words

_ALPHABETS = (
    "ab ",
    "abcdefg  \n.",
    ["the", "quick", "brown", "fox", ""],
    "東京に行きました。 ",
    "e\u0301a\u200d👩\u200d🚀क्षि ",
    "\t\r\n\u2028\x00 a",
)


def _text(draw: random.Random, alphabet: str | list[str], most: int) -> str:
    return "".join(draw.choices(alphabet, k=draw.randint(0, most)))


def _changed(draw: random.Random, text: str, alphabet: str | list[str]) -> str:
    for _ in range(draw.randint(0, 5)):
        place = draw.randint(0, len(text))
        text = text[:place] + _text(draw, alphabet, 6) + text[place + draw.randint(0, 8) :]
    return text


@pytest.mark.parametrize("alphabet", _ALPHABETS)
def test_the_stretches_add_up_to_both_texts_and_alternate_between_same_and_other(alphabet: str | list[str]):
    draw = random.Random(str(alphabet))
    for _ in range(400):
        left = _text(draw, alphabet, draw.choice([3, 20, 120]))
        right = _changed(draw, left, alphabet) if draw.random() < 0.7 else _text(draw, alphabet, 60)
        found = differences(left, right)
        assert "".join(stretch.left for stretch in found) == left
        assert "".join(stretch.right for stretch in found) == right
        assert all(one.is_same != other.is_same for one, other in itertools.pairwise(found))
        assert all(stretch.left or stretch.right for stretch in found)
        assert "".join(words(left)) == left


def test_equal_texts_have_no_differences_and_unrelated_texts_nothing_in_common():
    for text in ("", "a", "One two.\n\nThree", "東京"):
        assert [stretch.is_same for stretch in differences(text, text)] == ([True] if text else [])
    assert [tuple(stretch) for stretch in differences("apple pear", "nut")] == [("apple pear", "nut")]
    assert [tuple(stretch) for stretch in differences("", "nut")] == [("", "nut")]


@pytest.mark.parametrize(
    ("left", "right", "changed"),
    [
        ("The quick brown fox", "The slow brown fox", [("quick", "slow")]),
        ("The quick brown fox", "The brown fox", [("quick ", "")]),
        ("one two three", "one three", [("two ", "")]),
        ("I like it.", "I like it!", [(".", "!")]),
        # Two changes separated by a single space are read as one.
        ("a quick red fox", "a slow blue fox", [("quick red", "slow blue")]),
        # A single changed character counts as a change.
        ("東京に行きました", "大阪に行きました", [("東京", "大阪")]),
        # A letter and its accent belong together.
        ("cafe\u0301 noir", "cafe noir", [("cafe\u0301", "cafe")]),
        ("👩\u200d🚀 flies", "👩 flies", [("👩\u200d🚀", "👩")]),
        ("first\nsecond\nthird", "first\nthird", [("second\n", "")]),
    ],
)
def test_differences_are_those_that_a_reader_would_see(left: str, right: str, changed: list[tuple[str, str]]):
    assert [tuple(stretch) for stretch in differences(left, right) if not stretch.is_same] == changed


def test_the_equal_parts_are_almost_as_long_as_the_longest_common_subsequence():
    draw = random.Random(1)
    for _ in range(300):
        left = [draw.choice("abcdefgh") for _ in range(draw.randint(0, 12))]
        right = [draw.choice("abcdefgh") for _ in range(draw.randint(0, 12))]
        found = differences(" ".join(left), " ".join(right))
        same = "".join(stretch.left for stretch in found if stretch.is_same).split()
        longest = _longest(left, right)
        # Words that occur once are matched first, even if another match would be one word longer.
        assert len(same) <= longest
        assert len(same) >= longest - 4
        if left == right:
            assert len(same) == len(left)


def _longest(left: list[str], right: list[str]) -> int:
    if not left or not right:
        return 0
    if left[0] == right[0]:
        return 1 + _longest(left[1:], right[1:])
    row = [0] * (len(right) + 1)
    for word in left:
        before = row
        row = [0]
        for at, other in enumerate(right):
            row.append(before[at] + 1 if word == other else max(before[at + 1], row[at]))
    return row[-1]


def test_long_texts_without_unique_words_come_back_whole():
    draw = random.Random(2)
    left = "".join(draw.choices("ab \n", k=30_000))
    right = "".join(draw.choices("ab \n", k=30_000))
    found = differences(left, right)
    assert "".join(stretch.left for stretch in found) == left
    assert "".join(stretch.right for stretch in found) == right
    chapter = " ".join(str(number) for number in range(20_000))
    found = differences(chapter, chapter.replace(" 777 ", " 778b "))
    assert [tuple(stretch) for stretch in found if not stretch.is_same] == [("777", "778b")]
