"""A bar that compares the memory that a model would take (weights, context, overhead) with what is free."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from app.catalog.entry import Fit
from app.ui.theme import Theme

_HEIGHT_PX = 12
_RADIUS_PX = 4


class MemoryBar(QWidget):
    """From left to right: memory that other programs use, the model's weights, its context, and what stays free.

    The label beside it says the same in words, so screen readers skip the bar.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._fit: Fit | None = None
        self.setFixedHeight(_HEIGHT_PX)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def show_fit(self, fit: Fit | None) -> None:
        self._fit = fit
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(120, _HEIGHT_PX)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        fit = self._fit
        if fit is None:
            return
        theme, need, memory = self._theme, fit.need, fit.memory
        used = max(memory.total_bytes - memory.available_bytes, 0)
        whole = max(memory.total_bytes, used + need.total_bytes, 1)
        colour = {"fits": theme.accent, "tight": theme.warning, "too_big": theme.danger}[fit.verdict]
        faint = QColor(colour)
        faint.setAlphaF(0.55)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = QRectF(self.rect())
        outline = QPainterPath()
        outline.addRoundedRect(room, _RADIUS_PX, _RADIUS_PX)
        painter.setClipPath(outline)
        painter.fillRect(room, QColor(theme.line))
        left = 0.0
        parts = (
            (used, QColor(theme.control_line)),
            (need.weights_bytes + need.overhead_bytes, QColor(colour)),
            (need.kv_bytes, faint),
        )
        for num_bytes, brush in parts:
            width = room.width() * num_bytes / whole
            painter.fillRect(QRectF(left, 0, width, room.height()), brush)
            left += width
        if whole > memory.total_bytes:
            # Where this machine's memory ends.
            painter.setPen(QPen(QColor(theme.text), 2, Qt.PenStyle.SolidLine))
            end = room.width() * memory.total_bytes / whole
            painter.drawLine(int(end), 0, int(end), self.height())
        painter.end()
