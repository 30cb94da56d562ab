"""The line that opens and closes what is folded under it, with an arrow that says which; it knows not what that is."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QToolButton
from typing_extensions import override

from app.ui.theme import Theme, icon

_HEIGHT_PX = 28


class FoldButton(QToolButton):
    """Checked while what it stands over is open; a click, Space or Enter turns it."""

    def __init__(self, tip: str, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setObjectName("action")
        self.setCheckable(True)
        self.setMinimumHeight(_HEIGHT_PX)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setToolTip(tip)
        self.toggled.connect(self._draw_arrow)
        self._draw_arrow()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._draw_arrow()

    def _draw_arrow(self) -> None:
        self.setIcon(icon("down" if self.isChecked() else "right", self._theme.quiet_text))

    @override
    def keyPressEvent(self, e: QKeyEvent) -> None:
        if e.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.click()
        else:
            super().keyPressEvent(e)
