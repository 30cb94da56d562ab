"""What a screen reader says by itself: that an answer has ended, and how; what a notice tells. It shows nothing."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from app.conversation.controller import Controller
from app.model.message import Message
from app.notices import Notice
from app.sentences import worded


class Announcements(QObject):
    """Of one window; of answers those in the conversation that it shows."""

    announced = Signal(str)

    def __init__(self, controller: Controller, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._window = window
        controller.program.answers.ended.connect(self._on_ended)
        controller.program.notices.noticed.connect(self._on_notice)

    def _on_ended(self, message: Message) -> None:
        if self._controller.opened is None or not self._controller.has(message.id):
            return
        error = worded(message.record.error or "") if message.record is not None else ""
        match message.state:
            case "complete":
                text = self.tr("Answer finished")
            case "stopped":
                text = error or self.tr("Answer stopped")
            case "cut":
                text = self.tr("Answer cut at the maximum of tokens")
            case _:
                text = self.tr("The answer failed. {}").format(error).strip()
        self._say(text)

    def _on_notice(self, notice: Notice) -> None:
        conversation = self._controller.conversation
        if notice.is_for(None if conversation is None else conversation.id):
            self._say(notice.text, is_urgent=notice.kind == "danger")

    def _say(self, text: str, *, is_urgent: bool = False) -> None:
        event = QAccessibleAnnouncementEvent(self._window, text)
        politeness = QAccessible.AnnouncementPoliteness
        event.setPoliteness(politeness.Assertive if is_urgent else politeness.Polite)
        QAccessible.updateAccessibility(event)
        self.announced.emit(text)
