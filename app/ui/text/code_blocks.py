"""Code in a text document, a block for each line, so that one line more costs one line; it paints nothing."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCharFormat, QTextCursor, QTextFormat

from app.ui.theme import CODE_LINE_PX, scaled

CODE_LINE = QTextFormat.Property.UserProperty.value + 3
"""A block's property: it is a line of code; `FIRST_LINE` begins another frame."""
FIRST_LINE, NEXT_LINE = 1, 2

CODE_PADDING_PX = 12
HEAD_PX = 32
"""The frame's upper edge with the name of the language, above the first line."""

PARAGRAPH_ENDS = {0x2029: 0x2028, 0xFDD0: 0xFFFD, 0xFDD1: 0xFFFD}
"""Characters at which Qt would begin another block."""


@dataclass(eq=False)
class CodeSpan:
    """One frame of code in a document. `code` is what Copy gives."""

    start: QTextCursor
    language: str
    code: str
    num_lines: int = 1
    scroll_px: int = 0
    _widest_px: float = 0.0
    _num_measured: int = 0

    @property
    def first(self) -> QTextBlock:
        return self.start.block()

    @property
    def last(self) -> QTextBlock:
        return self.start.document().findBlockByNumber(self.first.blockNumber() + self.num_lines - 1)

    def rect(self, width_px: int) -> QRectF:
        """Where the frame is, in a document that is shown `width_px` wide."""
        layout = self.start.document().documentLayout()
        left = self.first.blockFormat().leftMargin() - CODE_PADDING_PX
        top = layout.blockBoundingRect(self.first).top() - HEAD_PX
        bottom = layout.blockBoundingRect(self.last).bottom() + CODE_PADDING_PX
        return QRectF(left, top, width_px - left, bottom - top)

    def widest_px(self) -> float:
        """How wide the longest line is; only lines that are new, or may have grown, are looked at."""
        block = self.start.document().findBlockByNumber(self.first.blockNumber() + max(0, self._num_measured - 1))
        for _ in range(self.num_lines - max(0, self._num_measured - 1)):
            self._widest_px = max(self._widest_px, block.layout().maximumWidth())
            block = block.next()
        self._num_measured = self.num_lines
        return self._widest_px


def line_format(kind: int, *, left_px: int, top_px: int, quote: tuple[int, int]) -> QTextBlockFormat:
    """Return the format of a line of code; `quote` is a property that says how deep it is quoted, and how deep."""
    format_ = QTextBlockFormat()
    format_.setProperty(CODE_LINE, kind)
    format_.setProperty(*quote)
    format_.setNonBreakableLines(True)
    format_.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    format_.setLineHeight(scaled(CODE_LINE_PX), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
    format_.setLeftMargin(left_px + CODE_PADDING_PX)
    if kind == FIRST_LINE:
        format_.setTopMargin(top_px + HEAD_PX)
    return format_


def insert_code(cursor: QTextCursor, code: str, look: QTextCharFormat) -> None:
    """Write code at a cursor in a line of code; each line break begins a block."""
    code = code.translate(PARAGRAPH_ENDS)
    format_ = cursor.blockFormat()
    if format_.intProperty(CODE_LINE) == FIRST_LINE and "\n" in code:
        head, _, code = code.partition("\n")
        cursor.insertText(head, look)
        format_.setProperty(CODE_LINE, NEXT_LINE)
        format_.setTopMargin(0)
        cursor.insertBlock(format_, look)
    # What is inserted with a line break in it repeats the format of its block.
    cursor.insertText(code, look)


def num_units(text: str) -> int:
    """Return how long Qt takes a text to be: it counts UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
