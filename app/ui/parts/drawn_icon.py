"""An icon that is drawn when it is first painted, in the size in which it is; it knows no theme and no file."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from typing_extensions import override

_DISABLED_OPACITY = 0.45


class DrawnIcon(QIconEngine):
    """Draws an SVG, fainter where its control can't be used. Most icons of a window are never seen in most sizes."""

    def __init__(self, svg: str) -> None:
        super().__init__()
        self._svg = svg
        self._drawn: dict[tuple[int, int, float, QIcon.Mode], QPixmap] = {}
        self._copies: list[DrawnIcon] = []
        """What `clone` made is Qt's; Python is to keep it, too."""

    @override
    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        key = (size.width(), size.height(), scale, mode)
        if key not in self._drawn:
            drawn = self._drawn[key] = QPixmap((size.toSizeF() * scale).toSize())
            drawn.fill(Qt.GlobalColor.transparent)
            painter = QPainter(drawn)
            painter.setOpacity(_DISABLED_OPACITY if mode == QIcon.Mode.Disabled else 1.0)
            QSvgRenderer(QByteArray(self._svg.encode())).render(painter, QRectF(drawn.rect()))
            painter.end()
            drawn.setDevicePixelRatio(scale)
        return self._drawn[key]

    @override
    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    @override
    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        scale = painter.device().devicePixelRatioF()
        painter.drawPixmap(rect, self.scaledPixmap(rect.size(), mode, state, scale))

    @override
    def clone(self) -> QIconEngine:
        copy = DrawnIcon(self._svg)
        self._copies.append(copy)
        return copy
