"""Colours code that stands in a document already, a little at a time: nobody waits for the colours of a long file."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextCursor, QTextDocument

from app.ui.text.code_blocks import CodeSpan, num_units
from app.ui.text.highlight import Piece, highlighted, pieces
from app.ui.text.text_formats import TextFormats
from app.ui.theme import Theme

_SLICE_S = 0.003
_LONGEST_LINE = 2_000
"""Code with a longer line is no text that somebody wrote; it stays as it is."""


@dataclass(eq=False)
class _Job:
    span: CodeSpan
    found: Iterator[Piece]
    done: int = 0
    """Characters, as Qt counts, that have their colours."""


class CodeColours(QObject):
    """Takes code and colours it whenever there is nothing else to do."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        # With the document it goes, and its work with it.
        super().__init__(document)
        self._theme = theme
        self._jobs: deque[_Job] = deque()
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._work)

    @property
    def is_idle(self) -> bool:
        return not self._jobs

    def set_theme(self, theme: Theme) -> None:
        """Use other colours from now on."""
        self._theme = theme

    def add(self, span: CodeSpan) -> None:
        """Colour the code of a span, which stays as it is."""
        if not span.language or any(len(line) > _LONGEST_LINE for line in span.code.split("\n")):
            return
        self._jobs.append(
            _Job(span, pieces(span.code, span.language, self._theme.code_style, self._theme.sunken)),
        )
        self._timer.start()

    def keep(self, spans: Sequence[CodeSpan]) -> None:
        """Forget all code but this."""
        kept = {id(span) for span in spans}
        self._jobs = deque(job for job in self._jobs if id(job.span) in kept)

    def _work(self) -> None:
        end = time.monotonic() + _SLICE_S
        while self._jobs and time.monotonic() < end:
            self._go_on(self._jobs[0], end)
        if not self._jobs:
            self._timer.stop()

    def _go_on(self, job: _Job, end: float) -> None:
        cursor = QTextCursor(job.span.start.document())
        start = job.span.start.position()
        cursor.beginEditBlock()
        for piece in job.found:
            job.done = coloured(cursor, start + job.done, (piece,), TextFormats(self._theme)) - start
            if time.monotonic() >= end:
                break
        else:
            self._jobs.popleft()
        cursor.endEditBlock()


def colour_now(span: CodeSpan, theme: Theme) -> None:
    """Colour the code of a span while somebody waits; it is short."""
    cursor = QTextCursor(span.start.document())
    cursor.beginEditBlock()
    found = highlighted(span.code, span.language, theme.code_style, theme.sunken)
    coloured(cursor, span.start.position(), found, TextFormats(theme))
    cursor.endEditBlock()


def coloured(cursor: QTextCursor, position: int, found: Sequence[Piece], formats: TextFormats) -> int:
    """Give what stands from `position` on the looks of these pieces; return where they end."""
    for piece in found:
        end = position + num_units(piece.text)
        if not piece.text.isspace():
            cursor.setPosition(position)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            cursor.setCharFormat(formats.piece(piece))
        position = end
    return position
