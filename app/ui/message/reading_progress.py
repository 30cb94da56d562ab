"""What an answer without a word is waiting for: another one, or its prompt being read, with how far that is."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.numbers import counted
from app.ui.parts.cost_text import seconds_text

_WORTH_TELLING = 64
"""Tokens; fewer are read before anybody could look."""


class ReadingProgress(QWidget):
    """Shows itself once there is enough to read, or somebody to wait for."""

    cancelled = Signal()

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds."""
        super().__init__()
        self.setVisible(False)
        self._clock = clock
        self._began: tuple[float, int] | None = None
        """When so many tokens had been read, at the first report of this prompt."""
        self._parts: tuple[QProgressBar, QLabel] | None = None
        """Made when there is something to show."""

    def show_progress(self, done: int, total: int, kept: int) -> None:
        if total - kept <= _WORTH_TELLING:
            self.setVisible(False)
            return
        now = self._clock()
        if self._began is None or done <= self._began[1]:
            self._began = now, done
        bar, label = self._shown_parts()
        bar.setVisible(True)
        bar.setMaximum(total - kept)
        bar.setValue(done - kept)
        began, done_before = self._began
        text = self.tr("reading {done} of {total} · {kept} kept").format(
            done=counted(done), total=counted(total), kept=counted(kept)
        )
        left = _seconds_left(now - began, done - done_before, total - done)
        # Less than a second is not worth telling.
        label.setText(f"{text} · {seconds_text(left, 0)}" if left >= 1 else text)
        self.setVisible(True)

    def show_waiting(self, text: str) -> None:
        """Say what is waited for."""
        bar, label = self._shown_parts()
        bar.setVisible(False)
        label.setText(text)
        self.setVisible(True)

    def _shown_parts(self) -> tuple[QProgressBar, QLabel]:
        if self._parts is None:
            self._parts = self._new_parts()
        return self._parts

    def _new_parts(self) -> tuple[QProgressBar, QLabel]:
        bar, label = QProgressBar(), QLabel()
        bar.setTextVisible(False)
        bar.setAccessibleName(self.tr("Reading"))
        label.setObjectName("quiet")
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        cancel = QPushButton(self.tr("Cancel"))
        cancel.setToolTip(self.tr("Give this answer up; your message stays (Esc)"))
        cancel.clicked.connect(self.cancelled)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(label, 1)
        row.addWidget(cancel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 4)
        layout.setSpacing(4)
        layout.addWidget(bar)
        layout.addLayout(row)
        return bar, label


def _seconds_left(seconds: float, num_read: int, num_left: int) -> float:
    """How long the rest takes at the pace so far; 0 where that can't be told."""
    return seconds * num_left / num_read if num_read else 0.0
