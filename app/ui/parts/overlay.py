"""A card over the window that is gone with Escape or a click beside it; what lies behind waits."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QWidget
from shiboken6 import isValid
from typing_extensions import override

from app.ui.theme import scaled

_MARGIN_PX = 24
_TOP_PX = 88
"""Below menus and header, where there is room."""
_LEAST_TOP_PX = 36
"""Below the menus."""
_SHADE = QColor(0, 0, 0, 80)


class Overlay(QWidget):
    """Covers its parent while it is open, and gives the focus back to where it was."""

    def __init__(self, parent: QWidget, width_px: int, height_px: int) -> None:
        super().__init__(parent)
        self._covered = parent
        self._came_from: QWidget | None = None
        self._most_px = (width_px, height_px)
        self.card = QFrame(self)
        self.card.setObjectName("popover")
        parent.installEventFilter(self)
        self.setVisible(False)

    def cover(self, focus: QWidget) -> None:
        """Show the card, and put the focus there."""
        if not self.isVisible():
            self._came_from = QApplication.focusWidget()
        self.setGeometry(self._covered.rect())
        self._place()
        self.setVisible(True)
        self.raise_()
        focus.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def dismiss(self) -> None:
        """Close it, and give the focus back."""
        self.setVisible(False)
        came_from, self._came_from = self._came_from, None
        # It may have gone meanwhile, with the branch that it stood in.
        if came_from is not None and isValid(came_from):
            came_from.setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        width = min(scaled(self._most_px[0]), self.width() - 2 * _MARGIN_PX)
        height = min(scaled(self._most_px[1]), self.height() - _LEAST_TOP_PX - _MARGIN_PX)
        top = max(min(_TOP_PX, self.height() - height - _MARGIN_PX), _LEAST_TOP_PX)
        self.card.setGeometry((self.width() - width) // 2, top, width, height)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._covered:
            self.setGeometry(self._covered.rect())
        return super().eventFilter(watched, event)

    @override
    def event(self, event: QEvent) -> bool:
        # Escape closes the card, though it is also the key of an action.
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        # Nothing that is pressed here is meant for what lies behind.
        event.accept()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), _SHADE)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.card.geometry().contains(event.position().toPoint()):
            self.dismiss()
