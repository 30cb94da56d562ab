"""The wheel of a mouse, or two fingers on a touchpad, over a place of what scrolls."""

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
    """Turn it over `place` in the area's viewport; `notches` in eighths of a degree, as Qt has them."""
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
