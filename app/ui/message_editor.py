"""Another version of a message, as it is written in the message's place."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.model.message import Message

_LINE_PX = 24
_HEIGHTS_PX = (72, 320)


class MessageEditor(QWidget):
    """A field with the old text. Enter takes the new one, Shift+Enter breaks the line, Esc gives up."""

    ended = Signal(object)
    """The new text, None where there is to be none."""

    def __init__(self, message: Message) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.setSpacing(8)
        self.text = QPlainTextEdit(message.text)
        self.text.setObjectName("editor")
        self.text.setAccessibleName("New version")
        self.text.setTabChangesFocus(True)
        self.text.installEventFilter(self)
        lines = self.text.document().blockCount() + 1
        self.text.setFixedHeight(min(max(lines * _LINE_PX, _HEIGHTS_PX[0]), _HEIGHTS_PX[1]))
        layout.addWidget(self.text)
        row = QHBoxLayout()
        row.setSpacing(8)
        hint = QLabel("The old version stays beside it.")
        hint.setObjectName("quiet")
        row.addWidget(hint)
        row.addStretch(1)
        cancel = QPushButton("Cancel")
        cancel.clicked.connect(lambda: self.ended.emit(None))
        save = QPushButton("Ask again" if message.role == "user" else "Save as new version")
        save.setObjectName("primary")
        save.clicked.connect(self._save)
        row.addWidget(cancel)
        row.addWidget(save)
        layout.addLayout(row)

    def _save(self) -> None:
        self.ended.emit(self.text.toPlainText())

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape:
                self.ended.emit(None)
                return True
            is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
            if is_enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._save()
                return True
        return super().eventFilter(watched, event)
