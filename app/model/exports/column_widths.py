"""How wide a table's columns are on paper, by the words in them; it knows no document."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_LONGEST_WORDS = (16, 12, 9, 7, 5)
"""Characters of a word that each column has room for; the more columns there are, the fewer."""
_LONGEST_LINE = 80


def column_widths(cells: Sequence[Sequence[str]], room: float, *, a_character: float, a_cell: float) -> list[float]:
    """Return each column's width: what its lines need where there is room, else a share of it.

    `a_character`: how wide one is; `a_cell`: what stands in a cell beside its text.
    """
    columns = list(zip(*cells, strict=True))
    words = [max((width(word) for cell in column for word in cell.split()), default=1) for column in columns]
    lines = [max(map(width, column), default=1) for column in columns]
    least: list[float] = []
    for longest in _LONGEST_WORDS:
        least = [a_cell + a_character * min(longest, word) for word in words]
        if sum(least) <= room:
            break
    wanted = [a_cell + a_character * min(_LONGEST_LINE, line) for line in lines]
    if sum(wanted) <= room:
        return wanted
    if sum(least) >= room:
        return [narrow * room / sum(least) for narrow in least]
    share = (room - sum(least)) / (sum(wanted) - sum(least))
    return [narrow + (wide - narrow) * share for narrow, wide in zip(least, wanted, strict=True)]


def width(text: str) -> int:
    """Return how wide a text is, in letters."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
