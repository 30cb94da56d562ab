"""The font of formulas, with East Asian characters, which ziamath's font lacks. Imported with ziamath on first use."""

from __future__ import annotations

import unicodedata
import xml.etree.ElementTree as ET

from typing_extensions import override
from ziafont.fonttypes import BBox
from ziafont.glyph import SimpleGlyph
from ziamath.mathfont import MathFont
from ziamath.zmath import fontname

_WIDE = ("W", "F")
_BOTTOM, _TOP = -0.12, 0.88
"""The vertical extent of a wide character, as fractions of its width."""


class UnwritableError(Exception):
    """A formula contains a character that the font lacks."""


class FormulaFont(MathFont):
    """ziamath's font, extended by wide characters."""

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
    """A square character, drawn by the program that shows the SVG with a font of the system."""

    def __init__(self, character: str, font: MathFont) -> None:
        em = font.info.layout.unitsperem
        super().__init__(0, [], BBox(0, em, round(_BOTTOM * em), round(_TOP * em)), font)
        self._character = character

    @override
    def advance(self, nextchr: SimpleGlyph | None = None) -> int:
        return self.font.info.layout.unitsperem

    @override
    def place(self, x: float, y: float, point_size: float) -> ET.Element:
        attributes = {"x": f"{x:.3f}", "y": f"{y:.3f}", "font-size": f"{point_size:.3f}", "font-family": "sans-serif"}
        text = ET.Element("text", attributes)
        text.text = self._character
        return text
