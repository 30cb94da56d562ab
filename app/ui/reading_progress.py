"""How far a prompt is read: a slim bar and a line."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QProgressBar, QVBoxLayout, QWidget

_WORTH_TELLING = 64
"""Tokens; fewer are read before anybody could look."""


class ReadingProgress(QWidget):
    """Shows itself once there is enough to read."""

    def __init__(self) -> None:
        super().__init__()
        self.setVisible(False)
        self._parts: tuple[QProgressBar, QLabel] | None = None
        """Made when there is something to show."""

    def show_progress(self, done: int, total: int, kept: int) -> None:
        if total - kept <= _WORTH_TELLING:
            self.setVisible(False)
            return
        if self._parts is None:
            self._parts = self._new_parts()
        bar, label = self._parts
        bar.setMaximum(total - kept)
        bar.setValue(done - kept)
        label.setText(f"reading {done:,} of {total:,} · {kept:,} kept")
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
