"""Several short texts, each as a chip, and a field that adds one; any character can be in them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QFocusEvent, QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.model.typed_text import meant, spelled
from app.ui.asking.chips import Chips
from app.ui.theme import Theme, icon

_FIELD_INSET_PX = 4


class TextChips(QWidget):
    """A line break is written `\\n`, a tab `\\t`, a backslash `\\\\`."""

    changed = Signal()

    def __init__(self, name: str, texts: Sequence[str], theme: Theme) -> None:
        super().__init__()
        self.texts = tuple(texts)
        self.chips = Chips(name, theme)
        self.chips.taken_away.connect(self._take_away)
        self.field = QLineEdit()
        self.field.setAccessibleName(name)
        self.field.setPlaceholderText(self.tr("Type, then Enter; \\n is a line break"))
        self.field.setTextMargins(_FIELD_INSET_PX, 0, _FIELD_INSET_PX, 0)
        self.field.returnPressed.connect(self.add)
        self.add_button = QToolButton()
        self.add_button.setIcon(icon("plus", theme.quiet_text))
        self.add_button.setMinimumSize(28, 28)
        self.add_button.setAccessibleName(self.tr("Add"))
        self.add_button.setToolTip(self.tr("Add (Enter)"))
        self.add_button.clicked.connect(self.add)
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.field, 1)
        row.addWidget(self.add_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.chips)
        column.addLayout(row)
        self.chips.show_texts([spelled(text) for text in self.texts])

    def add(self) -> None:
        """Take what is in the field."""
        text = meant(self.field.text())
        self.field.clear()
        if text and text not in self.texts:
            self._change((*self.texts, text))

    def show_texts(self, texts: Sequence[str]) -> None:
        """Show these instead."""
        self.texts = tuple(texts)
        self.chips.show_texts([spelled(text) for text in texts])

    def _take_away(self, number: int) -> None:
        self._change((*self.texts[:number], *self.texts[number + 1 :]))
        if not self.texts:
            self.field.setFocus()

    def _change(self, texts: tuple[str, ...]) -> None:
        self.show_texts(texts)
        self.changed.emit()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        # Whoever typed a text and closed the panel meant it.
        self.add()
        super().hideEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.field.setFocus()
