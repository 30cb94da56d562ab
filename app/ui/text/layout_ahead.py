"""Lays out a long text for a new width in short steps. Meanwhile the page shows a picture of the text."""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QObject, QPoint, QSizeF
from PySide6.QtGui import QPainter, QPixmap, QTextDocument
from typing_extensions import override

_STEP_S = 0.010
NUM_BLOCKS, NUM_CHARS = 20, 1_000
"""The time is checked again after this many blocks or characters."""


class LayoutAhead(QObject):
    """Lays out one document for the width that its page will have."""

    def __init__(self, document: QTextDocument, width_px: int, picture: QPixmap, place: QPoint) -> None:
        """`picture` shows the visible part of the text in the present width, at `place` on the page."""
        super().__init__(document)
        self.width_px = width_px
        self._document = document
        self._picture = picture
        self._place = place
        self._has_begun = False
        self.num_done = 0
        """The number of blocks that have been laid out."""

    @property
    def is_complete(self) -> bool:
        return self.num_done >= self._document.blockCount()

    def step(self) -> None:
        """Lay out some more blocks."""
        end = time.monotonic() + _STEP_S
        layout = self._document.documentLayout()
        if not self._has_begun:
            # Qt lays out the beginning now, which may take a whole step. It lays out the rest when it is asked for its
            # geometry.
            self._has_begun = True
            self._document.setPageSize(QSizeF(self.width_px, -1))
            layout.installEventFilter(self)
            return
        while not self.is_complete:
            block = self._document.findBlockByNumber(self.num_done)
            num_blocks, num_chars = 1, block.length()
            while num_blocks < NUM_BLOCKS and num_chars < NUM_CHARS and block.next().isValid():
                block = block.next()
                num_blocks, num_chars = num_blocks + 1, num_chars + block.length()
            layout.blockBoundingRect(block)
            self.num_done += num_blocks
            if time.monotonic() >= end:
                return

    def end(self) -> None:
        """Stop, and let Qt lay out the rest."""
        self._document.documentLayout().removeEventFilter(self)
        self.deleteLater()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Suppress Qt's own steps, because each is twice as long as the one before.
        return event.type() == QEvent.Type.Timer

    def paint(self, painter: QPainter) -> None:
        """Paint the picture of the text in its old width."""
        painter.drawPixmap(self._place, self._picture)
