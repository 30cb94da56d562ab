"""Another version of a message while it is written, in the place of the message's text."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QVBoxLayout

from app.model.message import Message
from app.ui.message.message_editor import MessageEditor


class EditInPlace(QObject):
    """Makes the editor and takes it away again; the text around it is somebody else's."""

    begun = Signal(object)
    """The `MessageEditor`."""
    ended = Signal()
    """There is no editor any more. What was written is told of after this."""
    saved = Signal(str)
    replaced = Signal(str)
    """The text that is to stand in the old one's place."""
    given_up = Signal(str)
    """What had been written in an edit that was to come to nothing."""
    refused = Signal(str)
    """Why a text was not taken into the editor."""

    def __init__(self, card: QVBoxLayout) -> None:
        """`card`: what the editor is to stand in."""
        super().__init__()
        self._card = card
        self._editor: MessageEditor | None = None

    @property
    def is_open(self) -> bool:
        return self._editor is not None

    @property
    def draft(self) -> str | None:
        """What has been written, None where nothing has."""
        return None if self._editor is None else self._editor.draft

    def begin(self, message: Message, draft: str | None, given_up: str | None = None) -> None:
        """Let a person write another version, or go on with a draft of it; once it is open, nothing changes.

        `given_up`: what was written here before, which undo takes away again.
        """
        if self._editor is not None:
            return
        editor = self._editor = MessageEditor(message, draft)
        if given_up is not None:
            editor.put_back(given_up)
        editor.ended.connect(self._on_ended)
        editor.replaced.connect(self._on_replaced)
        editor.refused.connect(self.refused)
        self._card.addWidget(editor)
        self.begun.emit(editor)
        if draft is None:
            editor.text.setFocus()

    def _on_ended(self, text: str | None) -> None:
        draft, is_given_up = self.draft, self._editor is not None and text is None
        if self._close() and text is not None:
            self.saved.emit(text)
        elif is_given_up and draft is not None:
            self.given_up.emit(draft)

    def _on_replaced(self, text: str) -> None:
        if self._close():
            self.replaced.emit(text)

    def _close(self) -> bool:
        editor, self._editor = self._editor, None
        if editor is None:
            return False
        editor.setParent(None)
        editor.deleteLater()
        self.ended.emit()
        return True
