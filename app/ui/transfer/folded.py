"""Lines under a heading that opens and closes them; nothing is shown where there are none."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout

from app.ui.parts.fitting_button import FittingButton
from app.ui.theme import icon

_INSET_PX = 30


class Folded(QFrame):
    """A heading with the number of its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.heading = FittingButton()
        self.heading.setCheckable(True)
        self.heading.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.heading.setObjectName("fold")
        self.heading.toggled.connect(self._on_toggled)
        self.lines = QLabel()
        self.lines.setWordWrap(True)
        self.lines.setTextFormat(Qt.TextFormat.PlainText)
        self.lines.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.lines.setContentsMargins(_INSET_PX, 0, 0, 4)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 6, 16, 6)
        column.setSpacing(4)
        column.addWidget(self.heading)
        column.addWidget(self.lines)
        self._on_toggled(False)

    def show_lines(self, heading: str, lines: Sequence[str], num_lines: int, *, is_open: bool = False) -> None:
        """Show lines, of which there may be more than are given."""
        more = num_lines - len(lines)
        self.heading.show_words(heading)
        self.heading.setAccessibleName(heading)
        told = [f"· {line}" for line in lines]
        if more > 0:
            told.append(self.tr("… and %n more", "", more))
        self.lines.setText("\n".join(told))
        self.heading.setChecked(is_open)
        self.setVisible(num_lines > 0)

    def _on_toggled(self, is_open: bool) -> None:
        self.lines.setVisible(is_open)
        quiet = self.palette().color(QPalette.ColorRole.PlaceholderText).name()
        self.heading.setIcon(icon("down" if is_open else "right", quiet))
        self.heading.setToolTip(self.tr("Fold it away") if is_open else self.tr("Show what that is"))
