"""Formulas as pictures, drawn beside what goes on and kept; they take any colour and are sharp at any scale."""

from __future__ import annotations

import queue
import threading
from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.model.exports.formula import Formula, formula

_MOST_PIXMAPS = 512


class FormulaKey(NamedTuple):
    """What a picture is of."""

    latex: str
    is_inline: bool
    size_px: int


class Formulas(QObject):
    """All formulas that were asked for. Drawing one takes some hundredths of a second, so it happens in a thread."""

    drawn = Signal(object)
    """A `FormulaKey` whose picture is there now, or never will be."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[FormulaKey, Formula | None] = {}
        self._asked: set[FormulaKey] = set()
        self._pixmaps: dict[tuple[FormulaKey, str, int], QPixmap] = {}
        self._queue: queue.SimpleQueue[FormulaKey] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._came.connect(self._keep)

    _came = Signal(object, object)

    @property
    def is_idle(self) -> bool:
        return not self._asked

    def is_refused(self, key: FormulaKey) -> bool:
        """Whether a formula is known to be none that can be drawn."""
        return key in self._known and self._known[key] is None

    def picture(self, key: FormulaKey) -> Formula | None:
        """Return a formula's picture; None where there is none yet. `drawn` tells when."""
        if key not in self._known and key not in self._asked:
            self._asked.add(key)
            self._queue.put(key)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="formulas", daemon=True)
                self._thread.start()
        return self._known.get(key)

    def pixmap(self, key: FormulaKey, colour: QColor, scale: float) -> QPixmap | None:
        """Return the picture in a colour, with `scale` pixels to each of the page's."""
        picture = self.picture(key)
        if picture is None:
            return None
        known = (key, colour.name(), round(scale * 100))
        if known not in self._pixmaps:
            if len(self._pixmaps) >= _MOST_PIXMAPS:
                del self._pixmaps[next(iter(self._pixmaps))]
            self._pixmaps[known] = _drawn(picture, colour, scale)
        return self._pixmaps[known]

    def _work(self) -> None:
        while True:
            key = self._queue.get()
            picture = formula(key.latex, key.size_px, "black", is_inline=key.is_inline)
            try:
                self._came.emit(key, picture)
            except RuntimeError:
                # The program has ended meanwhile.
                return

    def _keep(self, key: FormulaKey, picture: Formula | None) -> None:
        self._known[key] = picture
        self._asked.discard(key)
        self.drawn.emit(key)


@lru_cache(maxsize=1)
def formulas() -> Formulas:
    """Return the formulas of the program; every message draws from them."""
    return Formulas()


def _drawn(picture: Formula, colour: QColor, scale: float) -> QPixmap:
    width, height = max(1, round(picture.width_px * scale)), max(1, round(picture.height_px * scale))
    pixmap = QPixmap(width, height)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(picture.svg.encode())).render(painter, QRectF(0, 0, width, height))
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(0, 0, width, height, colour)
    painter.end()
    pixmap.setDevicePixelRatio(scale)
    return pixmap
