"""A question to the worker, asked anew as somebody types: the latest alone, one at a time; it knows no window."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.model_session import ModelSession
from worker.protocol import Command, Event, RequestId

SETTLED_MS = 150
"""For so long nothing else must be asked: who types on is not interrupted."""

Question: TypeAlias = Callable[[RequestId], Command]
"""Makes a command that ends in one event."""


class Inquiry(QObject):
    """One thing that somebody wants to know of the model that is loaded. What was overtaken is not answered."""

    answered = Signal(object)
    """The event in which the latest question ended."""

    def __init__(self, session: ModelSession, parent: QObject, settled_ms: int = SETTLED_MS) -> None:
        super().__init__(parent)
        self._session = session
        self._question: Question | None = None
        self._request_ids = (f"inquiry-{os.urandom(4).hex()}-{number}" for number in itertools.count(1))
        self._request_id: RequestId = ""
        """Of what is under way; empty: nothing is."""
        self._is_wanted = False
        """Whether what is under way is still the latest."""
        self._timer = QTimer(self, singleShot=True, interval=settled_ms)
        self._timer.timeout.connect(self._send)
        session.link.received.connect(self._on_event)
        session.link.exited.connect(self._on_exit)
        session.changed.connect(self._on_session_changed)

    def ask(self, question: Question) -> None:
        """Ask soon, instead of what was asked before."""
        self._question = question
        self._is_wanted = False
        self._timer.start()

    def forget(self) -> None:
        """Want to know nothing any more."""
        self._question = None
        self._is_wanted = False
        self._timer.stop()

    def _send(self) -> None:
        if self._question is None or self._request_id or self._session.state != "ready":
            return
        request_id = next(self._request_ids)
        question, self._question = self._question, None
        if self._session.link.send(question(request_id)):
            self._request_id, self._is_wanted = request_id, True

    def _on_event(self, event: Event) -> None:
        if not self._request_id or event.request_id != self._request_id:
            return
        self._request_id = ""
        if self._is_wanted:
            self.answered.emit(event)
        if not self._timer.isActive():
            self._send()

    def _on_exit(self) -> None:
        self._request_id = ""

    def _on_session_changed(self) -> None:
        if self._session.state == "ready" and not self._timer.isActive():
            self._send()
