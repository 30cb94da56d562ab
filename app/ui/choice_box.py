"""A list that drops down, with the arrow that a style sheet takes away."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QComboBox
from typing_extensions import override

from app.ui.theme import icon

_ICON_PX = 16
_INSET_PX = 8


class ChoiceBox(QComboBox):
    """One of several texts."""

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        colour = self.palette().color(QPalette.ColorRole.PlaceholderText).name()
        painter = QPainter(self)
        x, y = self.width() - _ICON_PX - _INSET_PX, (self.height() - _ICON_PX) // 2
        painter.drawPixmap(x, y, icon("down", colour).pixmap(_ICON_PX, _ICON_PX))
        painter.end()
