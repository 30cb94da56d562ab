"""A window beside the main one for one piece of business: what there is to say, and a foot with its buttons.

It never keeps anybody from the main window. While work is under way, its foot tells how far that is; Escape and the
Cancel button then give the work up, and close the sheet only when there is none.
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
from app.sentences import worded
from app.ui.parts.labels import quiet_label
from app.ui.theme import scaled

_OF_SCREEN = 0.9
_STEPS = 1000


class Sheet(QDialog):
    """A title, a body that is filled by whoever makes it, a foot."""

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
        far = QWidget()
        lines = QVBoxLayout(far)
        lines.setContentsMargins(0, 0, 8, 0)
        lines.setSpacing(4)
        lines.addStretch(1)
        lines.addWidget(self.progress_text)
        lines.addWidget(self.progress_bar)
        lines.addStretch(1)
        self._left = QStackedWidget()
        self._left.addWidget(self.note)
        self._left.addWidget(far)
        self._left.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._foot = QFrame()
        self._foot.setObjectName("settings_foot")
        self._buttons = QHBoxLayout(self._foot)
        self._buttons.setContentsMargins(16, 12, 16, 12)
        self._buttons.setSpacing(8)
        self._buttons.addWidget(self._left, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self.body, 1)
        column.addWidget(self._foot)
        self._work: Task | None = None

    def add_button(
        self, text: str, act: Callable[[], object], *, key: str = "", is_primary: bool = False
    ) -> QPushButton:
        """Add a button to the foot; Enter presses the primary one, and `key` is said to press this one."""
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
        """Show it in this size, larger where text is, or as large as the screen lets it be."""
        room = self.screen().availableGeometry()
        width, height = int(room.width() * _OF_SCREEN), int(room.height() * _OF_SCREEN)
        self.resize(min(scaled(width_px), width), min(scaled(height_px), height))
        # How small it may be is known before there is a window: some systems are told of it only then.
        self.ensurePolished()
        layout = self.layout()
        if layout is not None:
            layout.activate()
        self.show()
        self.activateWindow()

    def say(self, text: str, kind: Literal["quiet", "warning", "failure"] = "quiet") -> None:
        """Say something beside the buttons."""
        self.note.setObjectName(kind)
        self.note.style().unpolish(self.note)
        self.note.style().polish(self.note)
        self.note.setText(text)

    def fail(self, why: str) -> None:
        """Say why something went wrong."""
        self.say(worded(why), "failure")

    # --- work ----------------------------------------------------------------------------------------------

    @property
    def is_working(self) -> bool:
        return self._work is not None

    def follow(self, work: Task, text: str) -> None:
        """Tell how far a piece of work is; one at a time."""
        self._work = work
        self.show_far(text, 0, 0)
        self.show_progress(is_shown=True)
        work.ended.connect(self._on_ended)

    def show_far(self, text: str, done: int, total: int) -> None:
        """Say how much is done; a `total` of 0 is one that nobody knows."""
        self.progress_text.setText(text)
        self.progress_bar.setRange(0, _STEPS if total else 0)
        self.progress_bar.setValue(round(_STEPS * min(done / total, 1.0)) if total else 0)

    def show_progress(self, *, is_shown: bool) -> None:
        """Show how far it is, or what there is to say."""
        self._left.setCurrentIndex(1 if is_shown else 0)

    def _on_ended(self) -> None:
        self._work = None
        self.show_progress(is_shown=False)

    @override
    def reject(self) -> None:
        if self._work is None:
            super().reject()
        else:
            self.progress_text.setText(self.tr("Cancelling …"))
            self._work.cancel()
