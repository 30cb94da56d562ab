"""Writes the inline content of a block into a text document: HTML as text, images as their descriptions."""

from __future__ import annotations

import re
import unicodedata

from markdown_it.token import Token
from PySide6.QtGui import QFont, QTextCharFormat, QTextCursor

from app.model import markdown_parser
from app.ui.text.code_blocks import UNSAFE_CHARS
from app.ui.text.formulas import PlacedFormula, insert_formula
from app.ui.text.text_formats import TextFormats, changed

_LONG_RUN = re.compile(r"\S{1000}(?=\S)")
"""Matches long text without a space. Qt would lay out tens of thousands of such characters in seconds."""
_LAST_RUN = re.compile(r"[^\s\u200b]+\Z")
_TAG = re.compile(r"\s*</?[A-Za-z][^<>]*>")
_TAG_AT_END = re.compile(r"</?[A-Za-z][^<>]*>\s*\Z")
_LINE_SEPARATOR = "\u2028"


class InlineWriter:
    """Writes inline content at a cursor, and collects the formulas in it."""

    def __init__(self, cursor: QTextCursor, formats: TextFormats) -> None:
        self._cursor = cursor
        self._formats = formats
        self.formulas: list[PlacedFormula] = []

    def write(self, token: Token, base: QTextCharFormat) -> None:
        """Write the content of an inline token; `base` is the format of its plain text."""
        formats = [base]
        for number, child in enumerate(token.children or []):
            match child.type:
                case "text":
                    self.insert(child.content, formats[-1])
                case "code_inline":
                    self.insert(child.content, self._formats.code_inline(formats[-1]))
                case markdown_parser.INLINE | markdown_parser.DISPLAY:
                    self.formula(child, formats[-1])
                case markdown_parser.NOTE_MARK:
                    self.insert(child.content, self._formats.note_mark(formats[-1]))
                case "softbreak" if _is_beside_tag(token, number):
                    self.insert(_LINE_SEPARATOR, formats[-1])
                case "softbreak":
                    if not self._is_between_wide(token, number):
                        self.insert(" ", formats[-1])
                case "hardbreak":
                    self.insert(_LINE_SEPARATOR, formats[-1])
                case "image":
                    self.insert(f"[image: {child.content or child.attrs.get('src', '')}]", formats[-1])
                case "strong_open":
                    formats.append(changed(formats[-1], lambda f: f.setFontWeight(QFont.Weight.Bold)))
                case "em_open":
                    formats.append(changed(formats[-1], lambda f: f.setFontItalic(True)))
                case "s_open":
                    formats.append(changed(formats[-1], lambda f: f.setFontStrikeOut(True)))
                case "link_open":
                    formats.append(self._formats.link(formats[-1], str(child.attrs.get("href", ""))))
                case "strong_close" | "em_close" | "s_close" | "link_close":
                    formats.pop()
                case _:
                    pass

    def formula(self, token: Token, format_: QTextCharFormat) -> bool:
        """Write a formula; return False if it is not valid LaTeX and was written as code."""
        is_inline = token.type == markdown_parser.INLINE
        placed = insert_formula(self._cursor, token.content, format_, markup=token.markup, is_inline=is_inline)
        if placed is not None:
            self.formulas.append(placed)
            return True
        self.insert(markdown_parser.as_written(token), self._formats.code_inline(format_))
        return False

    def insert(self, text: str, format_: QTextCharFormat) -> None:
        """Write text in one format."""
        self._cursor.insertText(breakable(text).translate(UNSAFE_CHARS), format_)

    def insert_more(self, text: str, format_: QTextCharFormat) -> None:
        """Write text that continues the text before the cursor, even in the middle of a long word."""
        run = _LAST_RUN.search(self._cursor.block().text()[-1_000:])
        before = "" if run is None else run[0]
        self._cursor.insertText(breakable(before + text)[len(before) :].translate(UNSAFE_CHARS), format_)

    def _is_between_wide(self, token: Token, number: int) -> bool:
        """Return whether a line end is between two characters of a script that has no spaces, such as Chinese."""
        following = (token.children or [])[number + 1 : number + 2]
        after = following[0].content[:1] if following else ""
        before = self._cursor.block().text()[-1:]
        return all(side and unicodedata.east_asian_width(side) in {"W", "F"} for side in (before, after))


def _is_beside_tag(token: Token, number: int) -> bool:
    """Return whether a line end is next to an HTML tag. Such line breaks are kept, so that HTML stays readable."""
    before, after = (
        each[0].content if each and each[0].type == "text" else ""
        for each in ((token.children or [])[max(number - 1, 0) : number], (token.children or [])[number + 1 :])
    )
    return _TAG_AT_END.search(before) is not None or _TAG.match(after) is not None


def breakable(text: str) -> str:
    """Insert a zero-width space after every thousand characters without a space, where Qt can break the line."""
    return text if len(text) <= 1_000 else _LONG_RUN.sub("\\g<0>\u200b", text)
