"""The character formats of an answer's text, and the properties of its blocks."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QBrush, QColor, QFont, QTextCharFormat, QTextFormat

from app.ui.parts.labels import as_tool_tip
from app.ui.text.highlight import Piece
from app.ui.theme import Theme, code_font, text_font

QUOTE_DEPTH = QTextFormat.Property.UserProperty.value + 1
"""Block property: the number of quotes around the block. TextOrnaments paints their bars."""
BULLET_LEVEL = QUOTE_DEPTH + 1
"""Block property: the number of lists around a block that begins with a bullet. TextOrnaments paints it."""

CONTINUES_LINE = QUOTE_DEPTH + 4
"""Block property: the block is the rest of the line above, which was too long for one block. Its value is the text that
stands in between: a space or nothing."""


class TextFormats:
    """Creates character formats in a theme's colours and with the text's present size."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        # Asking the system for its fonts takes longer than everything else here.
        self._text: dict[bool, QTextCharFormat] = {}
        self._code: dict[tuple[str | None, bool, bool], QTextCharFormat] = {}

    def text(self, *, is_quoted: bool) -> QTextCharFormat:
        if is_quoted not in self._text:
            format_ = self._text[is_quoted] = QTextCharFormat()
            format_.setFont(text_font())
            format_.setForeground(QColor(self._theme.quiet_text if is_quoted else self._theme.text))
        return QTextCharFormat(self._text[is_quoted])

    def heading(self, px: int, *, is_quoted: bool) -> QTextCharFormat:
        format_ = self.text(is_quoted=is_quoted)
        font = text_font(px)
        font.setWeight(QFont.Weight.DemiBold)
        format_.setFont(font)
        return format_

    def code(self) -> QTextCharFormat:
        key = None, False, False
        if key not in self._code:
            format_ = self._code[key] = QTextCharFormat()
            format_.setFont(code_font())
            format_.setForeground(QColor(self._theme.text))
        return QTextCharFormat(self._code[key])

    def piece(self, piece: Piece) -> QTextCharFormat:
        """Return the format of a highlighted piece of code."""
        key = piece.colour or "", piece.is_bold, piece.is_italic
        if key not in self._code:
            format_ = self._code[key] = self.code()
            if piece.colour is not None:
                format_.setForeground(QColor(piece.colour))
            if piece.is_bold:
                format_.setFontWeight(QFont.Weight.Bold)
            format_.setFontItalic(piece.is_italic)
        return QTextCharFormat(self._code[key])

    def code_inline(self, base: QTextCharFormat) -> QTextCharFormat:
        format_ = QTextCharFormat(base)
        format_.setFont(code_font(), QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesSpecifiedOnly)
        format_.setBackground(QBrush(QColor(self._theme.sunken)))
        return format_

    def note_mark(self, base: QTextCharFormat) -> QTextCharFormat:
        """Return the format of a footnote's number."""
        format_ = QTextCharFormat(base)
        format_.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignSuperScript)
        format_.setForeground(QColor(self._theme.accent))
        return format_

    def link(self, base: QTextCharFormat, href: str) -> QTextCharFormat:
        format_ = QTextCharFormat(base)
        format_.setAnchor(True)
        format_.setAnchorHref(href)
        format_.setToolTip(as_tool_tip(href))
        format_.setForeground(QColor(self._theme.accent))
        format_.setFontUnderline(True)
        return format_


def changed(format_: QTextCharFormat, change: Callable[[QTextCharFormat], None]) -> QTextCharFormat:
    copy = QTextCharFormat(format_)
    change(copy)
    return copy
