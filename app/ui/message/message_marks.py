"""What stands under a message that a person marked: a star, a pin, the name of its branch; it changes none of them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.model.message import Message
from app.ui.parts.labels import as_tool_tip
from app.ui.theme import Theme, icon

_ICON_PX = 16
_MARGIN_PX = 6
_NAME_PX = 160
"""The most that a branch's name may take."""


def is_marked(message: Message) -> bool:
    return message.starred_ms is not None or message.pinned_ms is not None or bool(message.name)


class MessageMarks(QWidget):
    """One message's."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._star = _mark(self.tr("Starred"))
        self._pin = _mark(self.tr("Pinned"))
        self._name = QLabel()
        self._name.setObjectName("quiet")
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout(self)
        # They begin where the words above them do.
        row.setContentsMargins(_MARGIN_PX, 0, _MARGIN_PX, 0)
        row.setSpacing(2)
        for label in (self._star, self._pin, self._name):
            row.addWidget(label)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._star.setPixmap(icon("star", theme.accent).pixmap(_ICON_PX, _ICON_PX))
        self._pin.setPixmap(icon("pin", theme.accent).pixmap(_ICON_PX, _ICON_PX))

    def show_message(self, message: Message) -> None:
        self._star.setVisible(message.starred_ms is not None)
        self._pin.setVisible(message.pinned_ms is not None)
        name = message.name
        self._name.setVisible(bool(name))
        shown = self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, _NAME_PX)
        self._name.setText(shown)
        self._name.setToolTip(as_tool_tip(name) if shown != name else "")
        self.setVisible(is_marked(message))


def _mark(name: str) -> QLabel:
    label = QLabel()
    label.setAccessibleName(name)
    label.setToolTip(name)
    return label
