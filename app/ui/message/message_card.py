"""What a message's text stands in: a card for what somebody wrote, the bare page for an answer."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from app.model.message import Role
from app.ui.message.shown_message import Shown, role_in_words


class MessageCard(QFrame):
    """The role above the text; who has more to show in it adds it to `column`."""

    def __init__(self, role: Role, text: QWidget) -> None:
        super().__init__()
        self._text = text
        is_answer = role == "assistant"
        self.setObjectName("answer" if is_answer else "card")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(*((0, 0, 0, 0) if is_answer else (16, 10, 16, 10)))
        self.column.setSpacing(4)
        if not is_answer:
            label = QLabel(role_in_words(role))
            label.setObjectName("role")
            self.column.addWidget(label)
        self.column.addWidget(text)

    def show_text(self, shown: Shown, *, is_edited: bool) -> None:
        """Show the text where there is any, or what takes its place while it is edited."""
        message = shown.message
        has_text = bool(message.text) or message.role != "assistant" or shown.is_streaming
        self._text.setVisible(has_text and not is_edited)
        # An empty system prompt is a quiet line, not an empty card.
        self.setVisible(message.role != "system" or bool(message.text) or is_edited)
