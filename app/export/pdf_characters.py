"""What the letters of a PDF stand for, so that who copies or searches text gets what was written; it paints nothing.

Qt names one character for each glyph, the first that its font draws so; but several characters may look the same.
"""

from __future__ import annotations

import re
import unicodedata
from typing import cast

from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, EncodedStreamObject, IndirectObject

from app.export.blank_font import FAMILY

_MEANT = {"\t": " "}
"""Blanks and tabs look alike."""
_FORMS = ("\ufb00", "\ufb1d", "\ufefc")
_RANGE = re.compile(rb"(<[0-9A-F]{4}> <[0-9A-F]{4}> )(\[[^\]]*\]|<[0-9A-F]{4}>)")
"""A line of a font's ToUnicode table: the first and last glyph of a range, and the characters that they stand for."""
_NAMED = re.compile(rb"<([0-9A-F]{4})>")
_RADICALS = dict(
    zip(
        "⺟⺩⺫⺬⺮⻑⻓⻔⻘⻝⻢⻣⻤⻥⻦⻧⻨⻩⻪⻫⻬⻭⻮⻯⻰⻲⻳",
        "母王目示竹長长门青食马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙亀龟",
        strict=True,
    )
)
"""Parts of characters that look like whole ones; Unicode says so of others."""


def name_characters(writer: PdfWriter, said: str, meanings: dict[int, str]) -> None:
    """Name the characters of a document's glyphs: `said` is what it says, `meanings` what its blanks stand for."""
    alike = look_alikes(said)
    seen: set[int] = set()
    for page in writer.pages:
        resources = cast(DictionaryObject, page["/Resources"])
        fonts = cast(DictionaryObject, resources.get("/Font", DictionaryObject()))
        for name in fonts:
            font = cast(DictionaryObject, fonts[name])
            reference = font.raw_get("/ToUnicode")
            if isinstance(reference, IndirectObject) and reference.idnum not in seen:
                seen.add(reference.idnum)
                blanks = meanings if FAMILY in str(font["/BaseFont"]) else {}
                stream = cast(EncodedStreamObject, reference.get_object())
                stream.set_data(renamed(stream.get_data(), frozenset(said), alike, blanks))


def look_alikes(said: str) -> dict[str, str]:
    """Return the characters of a text by what they look like."""
    return {_plainest(letter): letter for letter in sorted(set(said), reverse=True)}


def renamed(table: bytes, said: frozenset[str], alike: dict[str, str], blanks: dict[int, str]) -> bytes:
    """Return a font's table with the characters that are meant."""

    def name(found: re.Match[bytes]) -> bytes:
        meant = _meant(int(found[1], 16), said, alike, blanks)
        return found[0] if meant is None else b"<%s>" % meant.encode("utf-16-be").hex().upper().encode()

    return _RANGE.sub(lambda glyphs: glyphs[1] + _NAMED.sub(name, glyphs[2]), table)


def _meant(code: int, said: frozenset[str], alike: dict[str, str], blanks: dict[int, str]) -> str | None:
    letter = chr(code)
    if (meant := blanks.get(code) or _MEANT.get(letter)) is not None:
        return meant
    if _FORMS[0] <= letter <= _FORMS[-1]:
        # Letters as they look at their place in a word, and ligatures; of those that are written from right to left,
        # readers turn the letters about.
        letters = unicodedata.normalize("NFKC", letter)
        return letters if len(letters) == 1 or (letters and letter < _FORMS[1]) else None
    return None if letter.isascii() or letter in said else alike.get(_plainest(letter))


def _plainest(letter: str) -> str:
    return _RADICALS.get(letter) or unicodedata.normalize("NFKC", letter)
