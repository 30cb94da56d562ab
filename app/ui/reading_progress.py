"""How far a prompt is read: a slim bar and a line."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QProgressBar, QVBoxLayout, QWidget

_WORTH_TELLING = 64
"""Tokens; fewer are read before anybody could look."""


class ReadingProgress(QWidget):
    """Shows itself once there is enough to read."""

    def __init__(self) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 4)
        layout.setSpacing(4)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName("Reading")
        self._label = QLabel()
        self._label.setObjectName("quiet")
        layout.addWidget(self._bar)
        layout.addWidget(self._label)
        self.setVisible(False)

    def show_progress(self, done: int, total: int, kept: int) -> None:
        self._bar.setMaximum(max(total - kept, 1))
        self._bar.setValue(done - kept)
        self._label.setText(f"reading {done:,} of {total:,} · {kept:,} kept")
        self.setVisible(total - kept > _WORTH_TELLING)
