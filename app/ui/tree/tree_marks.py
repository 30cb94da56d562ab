"""Draws the marks of a tree: dots, stars, pins, chips, text and lines. Independent of trees."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QTextLayout,
    QTextOption,
)

from app.costs.worker_queries import Tier
from app.ui.parts.labels import beginning
from app.ui.theme import SMALL_PX, Theme, scaled, text_font

_CHIP_PX = 18
_CHIP_PADDING_PX = 6
_DOT_LINE_PX = 2.0
_PIN = ((-0.4, -1), (0.4, -1), (0.3, -0.3), (0.72, 0.25), (-0.72, 0.25), (-0.3, -0.3))
"""The head of a pin and its collar, within a square from -1 to 1."""


def draw_dot(painter: QPainter, centre: QPointF, px: float, tier: Tier | None, colour: str, background: str) -> None:
    """Draw a dot: full if cached in memory, half if on disk, hollow if not cached, small if `tier` is None."""
    if tier is None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(centre, px * 0.28, px * 0.28)
        return
    radius = (px - _DOT_LINE_PX) / 2
    painter.setPen(QPen(QColor(colour), _DOT_LINE_PX))
    painter.setBrush(QColor(colour if tier == "warm" else background))
    painter.drawEllipse(centre, radius, radius)
    if tier == "disk":
        box = QRectF(centre.x() - radius, centre.y() - radius, 2 * radius, 2 * radius)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawChord(box, 90 * 16, 180 * 16)


def draw_halo(painter: QPainter, centre: QPointF, px: float, theme: Theme) -> None:
    """Highlight the dot of a search hit with a ring and a background."""
    painter.setPen(QPen(QColor(theme.warning), 2))
    background = QColor(theme.warning)
    background.setAlphaF(0.2)
    painter.setBrush(background)
    painter.drawEllipse(centre, px / 2 + 4, px / 2 + 4)


def draw_ring(painter: QPainter, centre: QPointF, px: float, colour: str) -> None:
    """Draw the ring around the dot that the keys work on."""
    painter.setPen(QPen(QColor(colour), 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    box = QRectF(0, 0, px + 10, px + 10)
    box.moveCenter(centre)
    painter.drawRoundedRect(box, 6, 6)


def draw_star(painter: QPainter, centre: QPointF, px: float, colour: str, background: str) -> None:
    """Draw a star with a thin outline in the background colour."""
    points: list[QPointF] = []
    for number in range(10):
        angle, reach = number * math.pi / 5, px / 2 if number % 2 == 0 else px / 4.6
        points.append(centre + QPointF(reach * math.sin(angle), -reach * math.cos(angle)))
    painter.setPen(QPen(QColor(background), 1))
    painter.setBrush(QColor(colour))
    painter.drawPolygon(QPolygonF(points))


def draw_pin(painter: QPainter, centre: QPointF, px: float, colour: str, background: str) -> None:
    """Draw a pin with an outline in the background colour, so that no line runs through it."""
    unit = px / 2
    painter.setPen(QPen(QColor(background), 2.5))
    painter.setBrush(QColor(background))
    outline = QPolygonF([centre + QPointF(x * unit, y * unit) for x, y in _PIN])
    painter.drawPolygon(outline)
    painter.drawLine(centre + QPointF(0, unit * 0.2), centre + QPointF(0, unit))
    painter.setPen(QPen(QColor(colour), 1.25))
    painter.drawLine(centre + QPointF(0, unit * 0.2), centre + QPointF(0, unit))
    painter.setBrush(QColor(colour))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawPolygon(outline)


def chip_width(text: str) -> float:
    return QFontMetricsF(text_font(SMALL_PX)).horizontalAdvance(text) + 2 * _CHIP_PADDING_PX


def draw_chip(painter: QPainter, left: QPointF, text: str, max_px: float, colours: tuple[str, str, str]) -> float:
    """Draw a short text on a rounded background, at most `max_px` wide; return its width.

    `left` is the middle of the left edge. `colours` are the colours of the background, the edge and the text.
    """
    background, edge, ink = colours
    font = text_font(SMALL_PX)
    metrics = QFontMetricsF(font)
    shown = metrics.elidedText(beginning(text), Qt.TextElideMode.ElideRight, max_px - 2 * _CHIP_PADDING_PX)
    height = scaled(_CHIP_PX)
    box = QRectF(left.x(), left.y() - height / 2, metrics.horizontalAdvance(shown) + 2 * _CHIP_PADDING_PX, height)
    painter.setPen(QPen(QColor(edge), 1))
    painter.setBrush(QColor(background))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
    painter.setPen(QColor(ink))
    painter.setFont(font)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine, shown)
    return box.width()


def draw_text(painter: QPainter, box: QRectF, text: str, font: QFont, colour: str, num_lines: int = 1) -> None:
    """Draw the beginning of a text in up to `num_lines` lines, elided at the end.

    One line is centred vertically in the box, several lines begin at its top.
    """
    text = beginning(text)
    painter.setPen(QColor(colour))
    painter.setFont(font)
    metrics = QFontMetricsF(font)
    if num_lines == 1:
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, box.width())
        flags = Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(box, flags | Qt.TextFlag.TextSingleLine, shown)
        return
    laid_out = QTextLayout(text, font)
    laid_out.setTextOption(QTextOption(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute))
    laid_out.beginLayout()
    top = box.top()
    for number in range(1, num_lines + 1):
        line = laid_out.createLine()
        if not line.isValid():
            break
        line.setLineWidth(box.width())
        begin, length = line.textStart(), line.textLength()
        is_last = number == num_lines
        shown = text[begin:] if is_last else text[begin : begin + length].rstrip()
        shown = metrics.elidedText(shown, Qt.TextElideMode.ElideRight, box.width())
        painter.drawText(QPointF(box.left(), top + metrics.ascent()), shown)
        top += metrics.lineSpacing()
    laid_out.endLayout()


def elbow(path: QPainterPath, begin: QPointF, end: QPointF, bend_y: float) -> None:
    """Add a line from `begin` down to `bend_y`, across and down to `end`, with a rounded corner."""
    if begin.x() == end.x():
        path.moveTo(begin)
        path.lineTo(end)
        return
    radius = min(6.0, end.y() - bend_y, abs(end.x() - begin.x()))
    side = math.copysign(radius, end.x() - begin.x())
    path.moveTo(begin.x(), bend_y)
    path.lineTo(end.x() - side, bend_y)
    path.quadTo(end.x(), bend_y, end.x(), bend_y + radius)
    path.lineTo(end)
