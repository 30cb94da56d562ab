"""Code in a text document: one block for each line, highlighted a little at a time.

A block for each line keeps the cost of appending a line independent of the code above it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QRectF, Qt, QTimer
from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCharFormat, QTextCursor, QTextDocument, QTextFormat

from app.ui.text.document_text import num_units
from app.ui.text.highlight import Piece, highlighted, pieces
from app.ui.text.text_formats import QUOTE_DEPTH, TextFormats
from app.ui.theme import CODE_LINE_PX, Theme, around_line, scaled

CODE_LINE = QTextFormat.Property.UserProperty.value + 3
"""Block property: the block is a line of code. `FIRST_LINE` begins a new frame."""
FIRST_LINE, NEXT_LINE = 1, 2

CODE_PADDING_PX = 12
_HEAD_PX = 32
"""The height of the frame's header, which has the name of the language, above the first line."""

UNSAFE_CHARS = {0x2029: 0x2028, 0xFDD0: 0xFFFD, 0xFDD1: 0xFFFD, 0xFFFC: 0xFFFD}
"""Characters at which Qt would begin a new block, or that it would take for pictures, with their replacements."""
_SLICE_S = 0.003
_MAX_LINE_CHARS = 2_000
"""Code with a longer line was hardly written by hand, and is not highlighted."""


@dataclass(eq=False)
class CodeSpan:
    """One frame of code in a document. `code` is what the Copy button copies."""

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

    @property
    def position(self) -> int:
        """The position of the code's first line in the document."""
        return self.start.position()

    def rect(self, width_px: int) -> QRectF:
        """Return the rectangle of the frame in a document that is `width_px` wide."""
        layout = self.start.document().documentLayout()
        left = self.first.blockFormat().leftMargin() - CODE_PADDING_PX
        top = layout.blockBoundingRect(self.first).top() - head_px()
        bottom = layout.blockBoundingRect(self.last).bottom() + CODE_PADDING_PX
        return QRectF(left, top, width_px - left, bottom - top)

    def widest_px(self) -> float:
        """Return the width of the longest line in pixels. Only lines that are new or may have grown are measured."""
        block = self.start.document().findBlockByNumber(self.first.blockNumber() + max(0, self._num_measured - 1))
        for _ in range(self.num_lines - max(0, self._num_measured - 1)):
            self._widest_px = max(self._widest_px, block.layout().maximumWidth())
            block = block.next()
        self._num_measured = self.num_lines
        return self._widest_px


def head_px() -> int:
    """Return the height of the head of a frame, with the language and a button."""
    return around_line(_HEAD_PX)


def line_format(kind: int, *, left_px: int, top_px: int, quote_depth: int) -> QTextBlockFormat:
    """Return the block format of a line of code; `kind` is `FIRST_LINE` or `NEXT_LINE`."""
    format_ = QTextBlockFormat()
    format_.setProperty(CODE_LINE, kind)
    format_.setProperty(QUOTE_DEPTH, quote_depth)
    format_.setNonBreakableLines(True)
    format_.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    format_.setLineHeight(scaled(CODE_LINE_PX), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
    format_.setLeftMargin(left_px + CODE_PADDING_PX)
    if kind == FIRST_LINE:
        format_.setTopMargin(top_px + head_px())
    return format_


def insert_code(cursor: QTextCursor, code: str, format_: QTextCharFormat) -> None:
    """Insert code at a cursor in a line of code; each line break begins a block."""
    code = code.translate(UNSAFE_CHARS)
    block = cursor.blockFormat()
    if block.intProperty(CODE_LINE) == FIRST_LINE and "\n" in code:
        head, _, code = code.partition("\n")
        cursor.insertText(head, format_)
        block.setProperty(CODE_LINE, NEXT_LINE)
        block.setTopMargin(0)
        cursor.insertBlock(block, format_)
    # At each line break Qt begins a block with the format of the current one.
    cursor.insertText(code, format_)


@dataclass(eq=False)
class _Job:
    span: CodeSpan
    pieces: Iterator[Piece]
    done: int = 0
    """The number of UTF-16 units that have been highlighted."""


class CodeHighlighter(QObject):
    """Highlights code in the background, in short slices while the event loop is idle."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        # The document is the parent, so that the work ends with the document.
        super().__init__(document)
        self._theme = theme
        self._jobs: deque[_Job] = deque()
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._work)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours for code that is added from now on."""
        self._theme = theme

    def add(self, span: CodeSpan) -> None:
        """Highlight the code of a span. The code must not change after this call."""
        if not span.language or any(len(line) > _MAX_LINE_CHARS for line in span.code.split("\n")):
            return
        self._jobs.append(
            _Job(span, pieces(span.code, span.language, self._theme.code_style, self._theme.sunken)),
        )
        self._timer.start()

    def keep_only(self, spans: Sequence[CodeSpan]) -> None:
        """Drop the jobs of all other spans."""
        kept = {id(span) for span in spans}
        self._jobs = deque(job for job in self._jobs if id(job.span) in kept)

    def pause(self) -> None:
        """Stop changing the document until `resume`."""
        self._timer.stop()

    def resume(self) -> None:
        if self._jobs:
            self._timer.start()

    def _work(self) -> None:
        end = time.monotonic() + _SLICE_S
        while self._jobs and time.monotonic() < end:
            self._continue(self._jobs[0], end)
        if not self._jobs:
            self._timer.stop()

    def _continue(self, job: _Job, end: float) -> None:
        cursor = QTextCursor(job.span.start.document())
        start = job.span.start.position()
        formats = TextFormats(self._theme)
        cursor.beginEditBlock()
        for piece in job.pieces:
            job.done = apply_pieces(cursor, start + job.done, (piece,), formats) - start
            if time.monotonic() >= end:
                break
        else:
            self._jobs.popleft()
        cursor.endEditBlock()


def highlight_now(span: CodeSpan, theme: Theme) -> None:
    """Highlight a short span of code at once."""
    cursor = QTextCursor(span.start.document())
    cursor.beginEditBlock()
    found = highlighted(span.code, span.language, theme.code_style, theme.sunken)
    apply_pieces(cursor, span.start.position(), found, TextFormats(theme))
    cursor.endEditBlock()


def apply_pieces(cursor: QTextCursor, position: int, found: Sequence[Piece], formats: TextFormats) -> int:
    """Apply the formats of the pieces to the text from `position` on; return the position of their end."""
    for piece in found:
        end = position + num_units(piece.text)
        if not piece.text.isspace():
            cursor.setPosition(position)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            cursor.setCharFormat(formats.piece(piece))
        position = end
    return position
