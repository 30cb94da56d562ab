"""Where two texts differ, word by word; scripts that write no spaces are compared by the character.

Words that stand once in each text, in the same order, are what the two have in common for certain (patience diff, after
Bram Cohen); between them the longest common subsequence is sought. Where that would take long, because nothing stands
there but what is everywhere, the whole stretch counts as changed.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_UNSPACED = (
    "\u0e00-\u109f"  # Thai, Lao, Tibetan, Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # kana
    "\u3400-\u4dbf\u4e00-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff"  # Han, Yi
)
_WORD = re.compile(rf"[{_UNSPACED}]|\s+|[^\W{_UNSPACED}]+|.")
_JOINER = "\u200d"
_MAX_CELLS = 60_000
"""How much is compared with how much between two words that are known to be the same: so many pairs at most."""
_MAX_ALL_CELLS = 600_000
"""And in all; that takes a tenth of a second."""


class Stretch(NamedTuple):
    """A stretch of both texts: the same in both, or what stands in the one where the other has something else."""

    left: str
    right: str

    @property
    def is_same(self) -> bool:
        return self.left == self.right


def differences(left: str, right: str) -> list[Stretch]:
    """Return both texts in stretches, those that are the same and those that differ in turn.

    The left sides of all stretches are the left text, the right sides the right one.
    """
    one, other = words(left), words(right)
    found: list[Stretch] = []
    begin, opposite = 0, 0
    for place, at, length in (*_runs(one, other), (len(one), len(other), 0)):
        if place > begin or at > opposite:
            found.append(Stretch("".join(one[begin:place]), "".join(other[opposite:at])))
        if length:
            same = "".join(one[place : place + length])
            found.append(Stretch(same, same))
        begin, opposite = place + length, at + length
    return list(_tidied(found))


def words(text: str) -> list[str]:
    """Cut a text into words, blanks, signs and characters; marks stay with what they belong to."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        word = match[0]
        is_mark = unicodedata.category(word[0]).startswith("M") or word[0] == _JOINER
        if found and (is_mark or found[-1].endswith(_JOINER)) and not found[-1].isspace():
            found[-1] += word
        else:
            found.append(word)
    return found


def _tidied(stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    """Join changes that only blanks or signs part: nobody reads them as two."""
    pending: Stretch | None = None
    joint = ""
    for stretch in stretches:
        if not stretch.is_same:
            if pending is not None:
                stretch = Stretch(pending.left + joint + stretch.left, pending.right + joint + stretch.right)
            pending, joint = stretch, ""
        elif pending is not None and not joint and not any(character.isalnum() for character in stretch.left):
            joint = stretch.left
        else:
            if pending is not None:
                yield pending
            same = joint + stretch.left
            yield Stretch(same, same)
            pending, joint = None, ""
    if pending is not None:
        yield pending
    if joint:
        yield Stretch(joint, joint)


def _runs(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int]]:
    """Return what both have in common, in order: where it begins in each, and how long it is."""
    pairs: list[tuple[int, int]] = []
    budget = _MAX_ALL_CELLS
    waiting = [(0, len(one), 0, len(other))]
    while waiting:
        begin, end, opposite, last = waiting.pop()
        while begin < end and opposite < last and one[begin] == other[opposite]:
            pairs.append((begin, opposite))
            begin, opposite = begin + 1, opposite + 1
        while begin < end and opposite < last and one[end - 1] == other[last - 1]:
            end, last = end - 1, last - 1
            pairs.append((end, last))
        if begin == end or opposite == last:
            continue
        anchors = _anchors(one[begin:end], other[opposite:last])
        num_cells = (end - begin) * (last - opposite)
        if anchors:
            edges = [(begin + place, opposite + at) for place, at in anchors]
            pairs += edges
            for (a, b), (c, d) in zip([(begin - 1, opposite - 1), *edges], [*edges, (end, last)], strict=True):
                waiting.append((a + 1, c, b + 1, d))
        elif num_cells <= min(_MAX_CELLS, budget):
            budget -= num_cells
            longest = _longest_common(one[begin:end], other[opposite:last])
            pairs += [(begin + place, opposite + at) for place, at in longest]
    return _joined(sorted(pairs))


def _joined(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    runs: list[tuple[int, int, int]] = []
    for place, at in pairs:
        if runs and (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]) == (place, at):
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((place, at, 1))
    return runs


def _anchors(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return places at which both surely have the same: of words, else of three words, that stand once in each."""
    for length in (1, 3):
        places, places_there = _unique(one, length), _unique(other, length)
        common = [(places[words], places_there[words]) for words in places if words in places_there]
        if common:
            return _longest_rising(common)
    return []


def _unique(words: Sequence[str], length: int) -> dict[tuple[str, ...], int]:
    """Where so many words stand that do so once, in order; blanks alone are not counted."""
    places: dict[tuple[str, ...], int] = {}
    twice: set[tuple[str, ...]] = set()
    for place in range(len(words) - length + 1):
        some = tuple(words[place : place + length])
        if some in places:
            twice.add(some)
        elif some[0].strip():
            places[some] = place
    return {some: place for some, place in places.items() if some not in twice}


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the most pairs whose second numbers rise; their first ones do (patience sorting)."""
    tops: list[int] = []
    """The least number on which so many can end."""
    indexes: list[int] = []
    before: list[int] = []
    for index, (_, at) in enumerate(pairs):
        length = bisect_left(tops, at)
        before.append(indexes[length - 1] if length else -1)
        if length == len(tops):
            tops.append(at)
            indexes.append(index)
        else:
            tops[length], indexes[length] = at, index
    found: list[tuple[int, int]] = []
    index = indexes[-1] if indexes else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def _longest_common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest common subsequence of two short texts, as pairs of places."""
    lengths = [[0] * (len(other) + 1)]
    for word in reversed(one):
        below, row = lengths[-1], [0]
        for at in range(len(other) - 1, -1, -1):
            row.append(below[at + 1] + 1 if word == other[at] else max(below[at], row[-1]))
        lengths.append(row[::-1])
    lengths.reverse()
    found: list[tuple[int, int]] = []
    place = at = 0
    while place < len(one) and at < len(other):
        if one[place] == other[at]:
            found.append((place, at))
            place, at = place + 1, at + 1
        elif lengths[place + 1][at] >= lengths[place][at + 1]:
            place += 1
        else:
            at += 1
    return found
