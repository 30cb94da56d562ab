"""How far a prompt is read: a slim bar and a line."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtWidgets import QLabel, QProgressBar, QVBoxLayout, QWidget

_WORTH_TELLING = 64
"""Tokens; fewer are read before anybody could look."""


class ReadingProgress(QWidget):
    """Shows itself once there is enough to read."""

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
        if self._parts is None:
            self._parts = self._new_parts()
        bar, label = self._parts
        bar.setMaximum(total - kept)
        bar.setValue(done - kept)
        began, done_before = self._began
        remaining = _remaining(now - began, done - done_before, total - done)
        label.setText(f"reading {done:,} of {total:,} · {kept:,} kept{remaining}")
        self.setVisible(True)

    def _new_parts(self) -> tuple[QProgressBar, QLabel]:
        bar, label = QProgressBar(), QLabel()
        bar.setTextVisible(False)
        bar.setAccessibleName("Reading")
        label.setObjectName("quiet")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 4)
        layout.setSpacing(4)
        layout.addWidget(bar)
        layout.addWidget(label)
        return bar, label


def _remaining(seconds: float, num_read: int, num_left: int) -> str:
    """How long the rest takes at the pace so far, where that can be told and is worth it."""
    left = seconds * num_left / num_read if num_read else 0.0
    return f" · about {left:.0f} s" if left >= 1 else ""
