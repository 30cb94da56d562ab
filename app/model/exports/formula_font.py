"""The font of formulas, and what stands there for wide characters, which it lacks; any other it lacks can't be set."""

from __future__ import annotations

import unicodedata
import xml.etree.ElementTree as ET

from typing_extensions import override
from ziafont.fonttypes import BBox
from ziafont.glyph import SimpleGlyph
from ziamath.mathfont import MathFont
from ziamath.zmath import fontname

_WIDE = ("W", "F")
_BELOW, _ABOVE = -0.12, 0.88
"""How far a wide character reaches, as parts of its width."""


class UnwritableError(Exception):
    """There is a character in a formula that nobody could read there."""


class FormulaFont(MathFont):
    """Letters of some alphabets, signs, and the wide characters of any script: words stand in formulas, too."""

    def __init__(self) -> None:
        super().__init__(fontname)

    @override
    def glyph(self, char: str) -> SimpleGlyph:
        if self.glyphindex(char) or not char.isprintable() or char.isspace():
            return super().glyph(char)
        if unicodedata.category(char)[0] in {"L", "N", "P"} and unicodedata.east_asian_width(char) in _WIDE:
            return _Wide(char, self)
        raise UnwritableError(char)


class _Wide(SimpleGlyph):
    """A character as wide as it is high, drawn by whoever shows the picture: no font of ours has all of these."""

    def __init__(self, character: str, font: MathFont) -> None:
        em = font.info.layout.unitsperem
        super().__init__(0, [], BBox(0, em, round(_BELOW * em), round(_ABOVE * em)), font)
        self._character = character

    @override
    def advance(self, nextchr: SimpleGlyph | None = None) -> int:
        return self.font.info.layout.unitsperem

    @override
    def place(self, x: float, y: float, point_size: float) -> ET.Element:
        place = {"x": f"{x:.3f}", "y": f"{y:.3f}", "font-size": f"{point_size:.3f}", "font-family": "sans-serif"}
        text = ET.Element("text", place)
        text.text = self._character
        return text
