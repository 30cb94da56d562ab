"""One line that ends in an ellipsis where its room does; it asks for no room of its own."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy
from typing_extensions import override

from app.ui.parts.plain import as_tool_tip


class ElidedLabel(QLabel):
    """A label whose whole text is in its tool tip, where it is cut."""

    def __init__(self) -> None:
        super().__init__()
        self._whole = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        # At the left whatever the script: beside what stands before it.
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignVCenter)

    def show_text(self, text: str) -> None:
        self._whole = text
        self.setAccessibleName(text)
        self._fit()

    def _fit(self) -> None:
        metrics, room = self.fontMetrics(), self.width()
        shown = metrics.elidedText(self._whole, Qt.TextElideMode.ElideRight, room)
        # Of some scripts Qt leaves a pixel or two more than was asked for.
        while room > 0 and metrics.horizontalAdvance(shown) > self.width():
            room -= 1
            shown = metrics.elidedText(self._whole, Qt.TextElideMode.ElideRight, room)
        self.setText(shown)
        self.setToolTip("" if shown == self._whole else as_tool_tip(self._whole))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
