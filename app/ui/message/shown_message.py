"""A message as it is to be shown, and what it is called; values and words, no widget."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from PySide6.QtCore import QCoreApplication

from app.model.message import Message, Role
from app.ui.message.message_actions import ActionName
from app.ui.message.reading_modes import ReadingModes


class Shown(Struct, frozen=True):
    """A message with what depends on its surroundings."""

    message: Message
    siblings: Sequence[int]
    actions: Sequence[ActionName]
    is_streaming: bool
    is_last: bool
    modes: ReadingModes | None = None
    """How it is read; None: as every message is at first."""

    @property
    def text(self) -> str:
        """What is shown of its text: of a note the first line says what it is, the rest may be megabytes."""
        text = self.message.text
        return text.partition("\n")[0] if self.message.role == "note" else text

    @property
    def name(self) -> str:
        """What a screen reader calls it."""
        role = role_in_words(self.message.role)
        if len(self.siblings) > 1:
            number = list(self.siblings).index(self.message.id) + 1
            words = QCoreApplication.translate("MessageView", "{}, version {} of {}")
            return words.format(role, number, len(self.siblings))
        return role


def role_in_words(role: Role) -> str:
    """Return who has written a message."""
    match role:
        case "system":
            return QCoreApplication.translate("MessageView", "System prompt")
        case "user":
            return QCoreApplication.translate("MessageView", "You")
        case "assistant":
            return QCoreApplication.translate("MessageView", "Answer")
        case "note":
            return QCoreApplication.translate("MessageView", "Note")
        case "root":
            return ""
