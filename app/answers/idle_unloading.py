"""Unloads the model after a time without answers, so that other programs have its memory."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from app.answers.answers import Answers
from app.answers.model_session import ModelSession

_MINUTE_MS = 60_000


class IdleUnloading(QObject):
    """Measures the time since the last answer or load. While answers run, nothing is unloaded."""

    def __init__(self, session: ModelSession, answers: Answers, minutes: int) -> None:
        """`minutes` is the time after which the model is unloaded; 0 means never."""
        super().__init__()
        self._session = session
        self._answers = answers
        self._minutes = minutes
        self.is_serving: Callable[[], bool] = lambda: False
        """Returns whether other programs' requests are being answered."""
        self.timer = QTimer(self, singleShot=True)
        self.timer.timeout.connect(self._on_time)
        for signal in (session.changed, answers.requested, answers.ended):
            signal.connect(self.begin)

    def set_minutes(self, minutes: int) -> None:
        self._minutes = minutes
        self.begin()

    def begin(self) -> None:
        """Start to measure the time again, from now on."""
        if self._minutes and self._session.state == "ready":
            self.timer.start(self._minutes * _MINUTE_MS)
        else:
            self.timer.stop()

    def _on_time(self) -> None:
        if self._answers.has_pending or self.is_serving():
            self.begin()
        else:
            self._session.unload()
