"""A modal card over the window, closed by Escape or by a click outside it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QWidget
from shiboken6 import isValid
from typing_extensions import override

from app.ui.theme import scaled

_MARGIN_PX = 24
_NARROW_PX = 520
_NARROW_MARGIN_PX = 8
_TOP_PX = 88
"""The distance of the card from the window's top, below the menus and the header, if there is enough height."""
_MIN_TOP_PX = 36
"""The distance of the card from the top of a low window, below the menus."""
SHADE = QColor(0, 0, 0, 80)


class Overlay(QWidget):
    """Covers its parent while it is open, and restores the focus when it closes."""

    def __init__(self, parent: QWidget, width_px: int, height_px: int, home: QWidget) -> None:
        """`home` receives the focus if no widget had it before, or the widget that had it no longer exists."""
        super().__init__(parent)
        self._covered = parent
        self._home = home
        self._previous_focus: QWidget | None = None
        self._max_px = (width_px, height_px)
        self._wanted_px: int | None = None
        self.card = QFrame(self)
        self.card.setObjectName("popover")
        parent.installEventFilter(self)
        self.setVisible(False)

    def cover(self, focus: QWidget) -> None:
        """Show the card, and give `focus` the keyboard focus."""
        if not self.isVisible():
            self._previous_focus = QApplication.focusWidget()
        self.setGeometry(self._covered.rect())
        self._place()
        self.setVisible(True)
        self.raise_()
        focus.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def dismiss(self) -> None:
        """Hide the card, and restore the focus."""
        self.setVisible(False)
        previous_focus, self._previous_focus = self._previous_focus, None
        # The widget may have been deleted meanwhile, with the branch it belonged to.
        is_there = previous_focus is not None and isValid(previous_focus) and previous_focus.isVisible()
        focused = previous_focus if previous_focus is not None and is_there else self._home
        focused.setFocus(Qt.FocusReason.OtherFocusReason)

    def fit(self, height_px: int) -> None:
        """Make the card this high, if its greatest height and the window allow it. Its upper edge stays."""
        self._wanted_px = height_px
        self._place()

    def _place(self) -> None:
        margin = _MARGIN_PX if self.width() >= _NARROW_PX else _NARROW_MARGIN_PX
        width = min(scaled(self._max_px[0]), self.width() - 2 * margin)
        highest = min(scaled(self._max_px[1]), self.height() - _MIN_TOP_PX - margin)
        top = max(min(_TOP_PX, self.height() - highest - margin), _MIN_TOP_PX)
        height = highest if self._wanted_px is None else min(highest, self._wanted_px)
        self.card.setGeometry((self.width() - width) // 2, top, width, height)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self._covered:
            self.setGeometry(self._covered.rect())
        return super().eventFilter(watched, event)

    @override
    def event(self, event: QEvent) -> bool:
        # Escape closes the card, although it is also an action's shortcut.
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        # No key may reach the widgets behind the card.
        event.accept()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), SHADE)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.card.geometry().contains(event.position().toPoint()):
            self.dismiss()
