"""A panel that opens above a button, or below it if there is not enough space above.

The panel scrolls if the screen is too small.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.parts.buttons import EnterKey, claim_escape
from app.ui.parts.layouts import scrolled
from app.ui.theme import scaled

_GAP_PX = 8
_EDGE_PX = 8
_MARGIN_PX = 16
_FRAME_PX = 4
"""The border and padding at both sides of the page, together, in pixels."""


class Popover(QFrame):
    """Closes on Esc or on a click outside it; subclasses fill `column`."""

    def __init__(self, title: str, width_px: int, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("popover")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(title)
        self.setWindowTitle(title)
        EnterKey(self)
        self._width_px = width_px
        self._anchor: QWidget | None = None
        page = QWidget()
        page.setObjectName("popover_page")
        self._page = page
        self.column = QVBoxLayout(page)
        self.column.setContentsMargins(_MARGIN_PX, _MARGIN_PX, _MARGIN_PX, _MARGIN_PX)
        self.column.setSpacing(8)
        label = QLabel(title)
        label.setObjectName("heading")
        label.setWordWrap(True)
        self.column.addWidget(label)
        self._scroll = scrolled(page, "popover_scroll")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 1, 1, 1)
        outer.addWidget(self._scroll)

    def show_above(self, widget: QWidget, focus: QWidget) -> None:
        """Open above `widget`, aligned with its left edge and kept on the screen; `focus` gets the keyboard focus."""
        self._anchor = widget
        self.ensurePolished()
        self.fit()
        self.show()
        self.fit()
        self._page.installEventFilter(self)
        focus.setFocus(Qt.FocusReason.PopupFocusReason)

    def fit(self) -> None:
        """Resize to the contents."""
        widget = self._anchor
        if widget is None:
            return
        room = widget.screen().availableGeometry()
        width = min(scaled(self._width_px), room.width() - 2 * _EDGE_PX)
        max_height = room.height() - 2 * _EDGE_PX
        height = self._height(width)
        if height > max_height:
            # The scroll bar needs width, too.
            self._height(width - self._scroll.verticalScrollBar().sizeHint().width())
            height = max_height
        self.resize(width, height)
        corner = widget.mapToGlobal(QPoint(0, -height - _GAP_PX))
        below = widget.mapToGlobal(QPoint(0, widget.height() + _GAP_PX))
        if corner.y() < room.top() and below.y() + height <= room.bottom():
            corner = below
        # Inside its window, if that is wide enough.
        window = widget.window().frameGeometry()
        right = min(window.right() if width < window.width() else room.right(), room.right()) - _EDGE_PX
        left = max(min(corner.x(), right - width), room.left() + _EDGE_PX)
        top = min(max(corner.y(), room.top() + _EDGE_PX), room.bottom() - _EDGE_PX - height)
        self.move(left, top)

    def _height(self, width: int) -> int:
        """Set the width of the page, at least what its widgets need, and return the panel's height at that width."""
        column = self.column
        inner = max(width - _FRAME_PX, column.totalMinimumSize().width())
        self._page.setFixedWidth(inner)
        column.activate()
        height = column.totalHeightForWidth(inner) if column.hasHeightForWidth() else column.totalSizeHint().height()
        return height + _FRAME_PX

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and self.isVisible():
            self.fit()
        return super().eventFilter(watched, event)

    @override
    def event(self, event: QEvent, /) -> bool:
        return claim_escape(event) or super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    @override
    def focusNextPrevChild(self, next: bool, /) -> bool:
        moved = super().focusNextPrevChild(next)
        focus = self.focusWidget()
        if focus is not None:
            self._scroll.ensureWidgetVisible(focus, 0, _MARGIN_PX)
        return moved
