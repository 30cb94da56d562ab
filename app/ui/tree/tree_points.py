"""A tree of dots too small to show more than where they are: thousands may be in sight, each kind drawn at once."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from app.ui.theme import Theme


class Points:
    """Dots and lines, gathered to be drawn together."""

    def __init__(self) -> None:
        self._lines: list[QLineF] = []
        self._trunk: list[QLineF] = []
        self._dots = QPolygonF()
        self._path = QPolygonF()
        self._hits = QPolygonF()

    def add_line(self, at: QPointF, from_x: float, row_px: int, *, is_path: bool) -> None:
        """Let a dot hang from the one above, which stands at `from_x`."""
        if at.x() == from_x:
            (self._trunk if is_path else self._lines).append(QLineF(at.x(), at.y() - row_px, at.x(), at.y()))
        else:
            bend_y = at.y() - row_px / 2
            self._lines += (QLineF(at.x(), bend_y, at.x(), at.y()), QLineF(from_x, bend_y, at.x(), bend_y))

    def add_dot(self, at: QPointF, *, is_path: bool, is_hit: bool) -> None:
        (self._path if is_path else self._dots).append(at)
        if is_hit:
            self._hits.append(at)

    def paint(self, painter: QPainter, theme: Theme, dot_px: int) -> None:
        # Siblings hang from one line: drawn for each of them, it must not become thicker.
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(QColor(theme.control_line), 1))
        painter.drawLines(self._lines)
        painter.setPen(QPen(QColor(theme.accent), 2))
        painter.drawLines(self._trunk)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for dots, colour, px in (
            (self._dots, theme.quiet_text, dot_px),
            (self._hits, theme.warning, dot_px + 5),
            (self._path, theme.accent, dot_px + 1),
        ):
            painter.setPen(QPen(QColor(colour), px, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawPoints(dots)
