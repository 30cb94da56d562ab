"""A non-modal window for one task, with a footer for messages, progress and buttons.

While work is running, the footer shows its progress, and Escape and the Cancel button cancel the work; otherwise they
close the window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.archive.archive import Task
from app.sentences import translated
from app.ui.parts.labels import quiet_label
from app.ui.theme import repolish, scaled

_OF_SCREEN = 0.9
_STEPS = 1000


class Sheet(QDialog):
    """A window with a footer; subclasses or callers fill `body`."""

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("sheet")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.body = QVBoxLayout()
        self.body.setContentsMargins(16, 16, 16, 16)
        self.body.setSpacing(12)
        self.note = quiet_label("")
        self.progress_text = quiet_label("")
        self.progress_bar = QProgressBar()
        self.progress_bar.setRange(0, _STEPS)
        self.progress_bar.setTextVisible(False)
        self.progress_bar.setAccessibleName(self.tr("Progress"))
        progress = QWidget()
        lines = QVBoxLayout(progress)
        lines.setContentsMargins(0, 0, 8, 0)
        lines.setSpacing(4)
        lines.addStretch(1)
        lines.addWidget(self.progress_text)
        lines.addWidget(self.progress_bar)
        lines.addStretch(1)
        self._status = QStackedWidget()
        self._status.addWidget(self.note)
        self._status.addWidget(progress)
        self._status.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._footer = QFrame()
        self._footer.setObjectName("settings_foot")
        self._buttons = QHBoxLayout(self._footer)
        self._buttons.setContentsMargins(16, 12, 16, 12)
        self._buttons.setSpacing(8)
        self._buttons.addWidget(self._status, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self.body, 1)
        column.addWidget(self._footer)
        self._task: Task | None = None

    def add_button(
        self, text: str, act: Callable[[], object], *, key: str = "", is_primary: bool = False
    ) -> QPushButton:
        """Add a button to the footer. Enter presses the primary one; `key` is only mentioned in the tool tip."""
        button = QPushButton(text)
        button.setAutoDefault(False)
        key = self.tr("Enter") if is_primary else key
        button.setToolTip(f"{text.removesuffix('…')} ({key})" if key else text)
        if is_primary:
            button.setObjectName("primary")
            button.setDefault(True)
        button.clicked.connect(lambda: act())
        self._buttons.addWidget(button)
        return button

    def open_at(self, width_px: int, height_px: int) -> None:
        """Show the window in this size, scaled with the text size and limited by the screen."""
        room = self.screen().availableGeometry()
        width, height = int(room.width() * _OF_SCREEN), int(room.height() * _OF_SCREEN)
        self.resize(min(scaled(width_px), width), min(scaled(height_px), height))
        # Some systems read the minimum size only once, when the window appears.
        self.ensurePolished()
        layout = self.layout()
        if layout is not None:
            layout.activate()
        self.show()
        self.activateWindow()

    def show_message(self, text: str, kind: Literal["quiet", "warning", "failure"] = "quiet") -> None:
        """Show a message next to the buttons."""
        self.note.setObjectName(kind)
        repolish(self.note)
        self.note.setText(text)

    def fail(self, why: str) -> None:
        """Show why something went wrong."""
        self.show_message(translated(why), "failure")

    # --- the task ----------------------------------------------------------------------------------------------

    @property
    def is_working(self) -> bool:
        return self._task is not None

    def follow(self, task: Task, text: str) -> None:
        """Show the progress of `task`, of which there is at most one at a time."""
        self._task = task
        self.show_progress(text, 0, 0)
        task.ended.connect(self._on_ended)

    def show_progress(self, text: str, done: int, total: int) -> None:
        """Show how much is done, in place of the message; `total` is 0 if unknown."""
        self._status.setCurrentIndex(1)
        self.progress_text.setText(text)
        self.progress_bar.setRange(0, _STEPS if total else 0)
        self.progress_bar.setValue(round(_STEPS * min(done / total, 1.0)) if total else 0)

    def hide_progress(self) -> None:
        """Show the message again."""
        self._status.setCurrentIndex(0)

    def _on_ended(self) -> None:
        self._task = None
        self.hide_progress()

    @override
    def reject(self) -> None:
        if self._task is None:
            super().reject()
        else:
            self.progress_text.setText(self.tr("Cancelling…"))
            self._task.cancel()
