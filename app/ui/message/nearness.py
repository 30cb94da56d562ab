"""Whether somebody is at a widget, with the pointer or the focus; a ring around it where the focus came by a key."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid
from typing_extensions import override

_NOT_BY_KEY = {Qt.FocusReason.MouseFocusReason, Qt.FocusReason.PopupFocusReason}
_COMES_BACK = {
    Qt.FocusReason.ActiveWindowFocusReason,
    Qt.FocusReason.PopupFocusReason,
    Qt.FocusReason.MenuBarFocusReason,
}
"""It was there before: a window, a menu or a panel had it for a while."""
_WATCHED = {QEvent.Type.Enter, QEvent.Type.Leave, QEvent.Type.FocusIn, QEvent.Type.FocusOut}


class Nearness(QObject):
    """Watches a widget and the part of it that takes the focus for it."""

    changed = Signal()
    """Somebody may have come, or gone."""
    focused = Signal()
    """That part has got the focus, not only back."""

    def __init__(self, widget: QWidget, part: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._part = part
        widget.installEventFilter(self)
        part.installEventFilter(self)

    def is_anybody(self) -> bool:
        """Whether the pointer or the focus is in it."""
        widget = self._widget
        focus = widget.window().focusWidget() if widget.isVisible() else None
        return widget.underMouse() or (focus is not None and widget.isAncestorOf(focus))

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        # A widget that is being destroyed is told that its parts lose the focus.
        if kind in _WATCHED and isValid(self._widget):
            focus = event if watched is self._part and isinstance(event, QFocusEvent) else None
            if focus is not None:
                self._draw_ring(has_focus=focus.gotFocus(), by_key=focus.reason() not in _NOT_BY_KEY)
            self.changed.emit()
            if focus is not None and focus.gotFocus() and focus.reason() not in _COMES_BACK:
                self.focused.emit()
        return super().eventFilter(watched, event)

    def _draw_ring(self, *, has_focus: bool, by_key: bool) -> None:
        widget = self._widget
        widget.setProperty("ring", has_focus and by_key)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
