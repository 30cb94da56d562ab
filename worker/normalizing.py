"""Unicode normalization in linear time.

`unicodedata.normalize` sorts the marks on a letter in quadratic time: 300,000 marks take a minute, in which no other
thread runs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Literal

_SLICE = 200
"""The greatest number of characters that are normalized at once."""


def normalized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return a text in a normal form. If a letter has hundreds of marks, some of them may keep their order."""
    if text.isascii():
        return text
    return "".join(unicodedata.normalize(form, part) for part in slices(text))


def slices(text: str) -> Iterator[str]:
    """Yield a text in parts of at most 200 characters, each of which can be normalized by itself.

    A very long row of marks may be cut between two marks, too.
    """
    start = 0
    while len(text) - start > _SLICE:
        latest = start + _SLICE
        places = range(latest, latest - _SLICE // 2, -1)
        end = next((place for place in places if _begins_a_letter(text[place])), latest)
        yield text[start:end]
        start = end
    yield text[start:]


def _begins_a_letter(character: str) -> bool:
    """Return whether a character never combines with the characters before it, in any normal form."""
    if character.isascii():
        return True
    # Besides marks, only parts of Hangul syllables combine, and the halfwidth forms of these and of kana's marks.
    return unicodedata.category(character)[0] != "M" and not (
        "\u1160" <= character <= "\u11ff" or "\u3131" <= character <= "\u318e" or "\uff9e" <= character <= "\uffdc"
    )
