"""Turning the wheel of a mouse, or moving two fingers on a touchpad, over a scroll area."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication

_NONE = QPoint(0, 0)


def turn_wheel(
    area: QAbstractScrollArea,
    place: QPoint,
    *,
    pixels: QPoint = _NONE,
    notches: QPoint = _NONE,
    modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    """Send a wheel event at `place` in the viewport. `notches` is in eighths of a degree, as in Qt's angleDelta."""
    event = QWheelEvent(
        QPointF(place),
        QPointF(area.viewport().mapToGlobal(place)),
        pixels,
        notches,
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(area.viewport(), event)
