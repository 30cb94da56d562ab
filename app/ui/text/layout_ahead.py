"""Lays a long text out in another width in short steps, while a picture of it stays on the page."""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QObject, QPoint, QSizeF
from PySide6.QtGui import QPainter, QPixmap, QTextDocument
from typing_extensions import override

_STEP_S = 0.010
NUM_BLOCKS = 20
"""The number of blocks that are laid out between two looks at the clock."""


class LayoutAhead(QObject):
    """The layout of one document in the width that its page will have."""

    def __init__(self, document: QTextDocument, width_px: int, picture: QPixmap, place: QPoint) -> None:
        """`picture` shows the visible part in the present width, at `place` on the page."""
        super().__init__(document)
        self.width_px = width_px
        self._document = document
        self._picture = picture
        self._place = place
        self._has_begun = False
        self.num_done = 0
        """The number of blocks that are laid out."""

    @property
    def is_complete(self) -> bool:
        return self.num_done >= self._document.blockCount()

    def step(self) -> None:
        """Lay out some more blocks."""
        end = time.monotonic() + _STEP_S
        layout = self._document.documentLayout()
        if not self._has_begun:
            # Qt lays out the beginning now, which may take a whole step, and what follows when it is asked for it.
            self._has_begun = True
            self._document.setPageSize(QSizeF(self.width_px, -1))
            layout.installEventFilter(self)
            return
        while not self.is_complete:
            self.num_done = min(self.num_done + NUM_BLOCKS, self._document.blockCount())
            layout.blockBoundingRect(self._document.findBlockByNumber(self.num_done - 1))
            if time.monotonic() >= end:
                return

    def end(self) -> None:
        """Leave the rest to Qt."""
        self._document.documentLayout().removeEventFilter(self)
        self.deleteLater()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Qt's own steps are twice as long each time.
        return event.type() == QEvent.Type.Timer

    def paint(self, painter: QPainter) -> None:
        """Paint the picture of the text as it was."""
        painter.drawPixmap(self._place, self._picture)
