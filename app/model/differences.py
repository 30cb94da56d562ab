"""Word-by-word differences of two texts. Scripts without spaces are compared character by character.

Words that occur once in each text, in the same order, are matched first (patience diff, after Bram Cohen). Between
these matches the longest common subsequence is found. If that would take too long, the whole stretch counts as changed.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple, TypeVar

_UNSPACED = (
    "\u0e00-\u109f"  # Thai, Lao, Tibetan, Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff"  # kana
    "\u3400-\u4dbf\u4e00-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff"  # Han, Yi
)
_WORD = re.compile(rf"[{_UNSPACED}]|\s+|[^\W{_UNSPACED}]+|.")
_JOINER = "\u200d"
_MAX_CELLS = 60_000
"""The limit for the pairs of words that are compared between two matches."""
_MAX_ALL_CELLS = 600_000
"""The limit for all pairs. Comparing that many takes a tenth of a second."""

_T = TypeVar("_T")
_STEP = 4_000
"""The number of words that are compared in one step."""


class Stretch(NamedTuple):
    """A stretch of both texts, equal or different."""

    left: str
    right: str

    @property
    def is_same(self) -> bool:
        return self.left == self.right


def differences(left: str, right: str) -> list[Stretch]:
    """Return both texts as stretches that are equal and different in turn.

    The left sides add up to the left text, and the right sides to the right text.
    """
    return _result(comparison(left, right))


def comparison(left: str, right: str) -> Generator[None, None, list[Stretch]]:
    """Like `differences`, but in steps of some milliseconds."""
    one = yield from _words(left)
    other = yield from _words(right)
    runs = yield from _runs(one, other)
    found: list[Stretch] = []
    begin, opposite = 0, 0
    for number, (start, at, length) in enumerate((*runs, (len(one), len(other), 0))):
        if number % _STEP == 0:
            yield
        if start > begin or at > opposite:
            found.append(Stretch("".join(one[begin:start]), "".join(other[opposite:at])))
        if length:
            same = "".join(one[start : start + length])
            found.append(Stretch(same, same))
        begin, opposite = start + length, at + length
    yield
    return list(_tidied(found))


def words(text: str) -> list[str]:
    """Split a text into words, white space, punctuation and single characters.

    Combining marks stay with their letter.
    """
    return _result(_words(text))


def _words(text: str) -> Generator[None, None, list[str]]:
    found: list[str] = []
    for number, match in enumerate(_WORD.finditer(text)):
        if number % _STEP == 0:
            yield
        word = match[0]
        is_mark = unicodedata.category(word[0]).startswith("M") or word[0] == _JOINER
        if found and (is_mark or found[-1].endswith(_JOINER)) and not found[-1].isspace():
            found[-1] += word
        else:
            found.append(word)
    return found


def _result(steps: Generator[None, None, _T]) -> _T:
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return ended.value


def _tidied(stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    """Join changes that only white space or punctuation separates, because a reader sees them as one."""
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


def _runs(one: Sequence[str], other: Sequence[str]) -> Generator[None, None, list[tuple[int, int, int]]]:
    """Return the common runs in order: the start in each text, and the length in words."""
    pairs: list[tuple[int, int]] = []
    budget = _MAX_ALL_CELLS
    waiting = [(0, len(one), 0, len(other))]
    while waiting:
        yield
        begin, end, opposite, last = waiting.pop()
        while begin < end and opposite < last and one[begin] == other[opposite]:
            pairs.append((begin, opposite))
            begin, opposite = begin + 1, opposite + 1
            if len(pairs) % _STEP == 0:
                yield
        while begin < end and opposite < last and one[end - 1] == other[last - 1]:
            end, last = end - 1, last - 1
            pairs.append((end, last))
            if len(pairs) % _STEP == 0:
                yield
        if begin == end or opposite == last:
            continue
        anchors = yield from _anchors(one[begin:end], other[opposite:last])
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
    yield
    pairs.sort()
    yield
    return (yield from _joined(pairs))


def _joined(pairs: Sequence[tuple[int, int]]) -> Generator[None, None, list[tuple[int, int, int]]]:
    runs: list[tuple[int, int, int]] = []
    for number, (place, at) in enumerate(pairs):
        if number % _STEP == 0:
            yield
        if runs and (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]) == (place, at):
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((place, at, 1))
    return runs


def _anchors(one: Sequence[str], other: Sequence[str]) -> Generator[None, None, list[tuple[int, int]]]:
    """Return the positions of words, or else of three words in a row, that occur once in each text."""
    for length in (1, 3):
        starts = yield from _unique(one, length)
        starts_there = yield from _unique(other, length)
        common = [(starts[words], starts_there[words]) for words in starts if words in starts_there]
        yield
        if common:
            return _longest_rising(common)
    return []


def _unique(words: Sequence[str], length: int) -> Generator[None, None, dict[tuple[str, ...], int]]:
    """Return the positions of all sequences of `length` words that occur once and do not begin with white space."""
    starts: dict[tuple[str, ...], int] = {}
    twice: set[tuple[str, ...]] = set()
    for start in range(len(words) - length + 1):
        if start % _STEP == 0:
            yield
        some = tuple(words[start : start + length])
        if some in starts:
            twice.add(some)
        elif some[0].strip():
            starts[some] = start
    yield
    return {some: start for some, start in starts.items() if some not in twice}


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of pairs with rising second numbers. The first numbers already rise.

    This is patience sorting: `tops[n]` is the smallest number on which a subsequence of n + 1 pairs can end.
    """
    tops: list[int] = []
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
    """Return the longest common subsequence of two short texts, as pairs of positions."""
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
