"""Says of visible answers that have not begun what they wait for: the model, or an answer in another conversation."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from app.conversation.controller import Controller
from app.model.message import MessageId
from app.ui.transcript.transcript import Transcript

_AFTER_MS = 400
"""Who waits no longer than that has nothing to be told."""


class WaitingAnswers(QObject):
    """Looks again now and then, as long as one waits."""

    def __init__(self, controller: Controller, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._controller = controller
        self._transcript = transcript
        self._timer = QTimer(self, singleShot=True, interval=_AFTER_MS)
        self._timer.timeout.connect(self._look)
        controller.branch_changed.connect(self._timer.start)

    def _look(self) -> None:
        waiting = self._controller.streaming_message
        if waiting is None or waiting.text:
            return
        view = self._transcript.view(waiting.id)
        words = self._words(waiting.id)
        if words and view is not None:
            view.show_waiting(words)
        self._timer.start()

    def _words(self, message_id: MessageId) -> str:
        name = self._controller.waits_for(message_id)
        if self._controller.program.session.state == "loading":
            return self.tr("waits for the model to be loaded")
        if name is None:
            return ""
        return self.tr("waits for the answer in “{name}”").format(name=name)
