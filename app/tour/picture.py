"""Pictures of windows as they are seen: with the panels, popovers and menus that float over them."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

_FLOATING = frozenset({Qt.WindowType.Popup, Qt.WindowType.ToolTip})


def photograph(window: QWidget) -> QPixmap:
    """Return a window, and what floats over it as far as it lies within it."""
    picture = window.grab()
    painter = QPainter(picture)
    for widget in QApplication.topLevelWidgets():
        if widget.isVisible() and widget.windowType() in _FLOATING:
            painter.drawPixmap(window.mapFromGlobal(widget.mapToGlobal(QPoint())), widget.grab())
    painter.end()
    return picture
