"""What a model thought before its answer: one line that says how long, and the thought below it, once it is opened."""

from __future__ import annotations

import time

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.model.thoughts import Thought
from app.numbers import counted
from app.ui.message.fold_button import FoldButton
from app.ui.text.message_text import MessageText
from app.ui.theme import Theme

_INSET_PX = 8


class ThoughtView(QWidget):
    """A thought, folded until somebody wants to read it."""

    toggled = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._thought: Thought | None = None
        self._began_s: float | None = None
        self._watched_s: float | None = None
        self.button = FoldButton(self.tr("Show or fold what the model thought (T)"), theme)
        self.button.clicked.connect(self._on_clicked)
        self._frame: QFrame | None = None
        self.text: MessageText | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 6)
        self._column.setSpacing(2)
        self._column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def is_open(self) -> bool:
        return self.button.isChecked()

    def forget(self) -> None:
        """Another message is shown here."""
        self._thought = self._began_s = self._watched_s = None

    def show_thought(self, thought: Thought, *, is_streaming: bool, recorded_s: float | None) -> None:
        """Show a thought as far as it has come; `recorded_s` is how long it took, where that is known."""
        if is_streaming and not thought.is_closed and self._began_s is None:
            self._began_s = time.monotonic()
        if thought.is_closed and self._began_s is not None and self._watched_s is None:
            self._watched_s = time.monotonic() - self._began_s
        self._thought = thought
        self.button.setText(self._line(is_streaming=is_streaming, recorded_s=recorded_s))
        self._fill()

    def set_open(self, is_open: bool) -> None:
        self.button.setChecked(is_open)
        if is_open and self._frame is None:
            self._make_text()
        if self._frame is not None:
            self._frame.setVisible(is_open)
        self._fill()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.button.set_theme(theme)
        if self.text is not None:
            self.text.set_theme(_quiet(theme))

    def _line(self, *, is_streaming: bool, recorded_s: float | None) -> str:
        if is_streaming and self._thought is not None and not self._thought.is_closed:
            return self.tr("Thinking…")
        seconds = self._watched_s if self._watched_s is not None else recorded_s
        if seconds is None:
            return self.tr("Thought")
        minutes, rest = divmod(round(seconds), 60)
        if minutes:
            return self.tr("Thought for {minutes} min {seconds} s").format(minutes=minutes, seconds=rest)
        return self.tr("Thought for {seconds} s").format(seconds=rest or counted(seconds, 1))

    def _fill(self) -> None:
        if self.text is None or not self.is_open or self._thought is None:
            return
        before, now = self.text.content, self._thought.text
        if before and now.startswith(before):
            self.text.append(now[len(before) :])
        elif before != now:
            self.text.set_text(now)

    def _make_text(self) -> None:
        self._frame = QFrame()
        self._frame.setObjectName("thought")
        self.text = MessageText(_quiet(self._theme), is_markdown=True)
        self.text.setAccessibleName(self.tr("Thought"))
        column = QVBoxLayout(self._frame)
        column.setContentsMargins(14, 2, 0, 4)
        column.addWidget(self.text)
        # The line above it has its icon where text begins; so its frame stands a little further in.
        row = QVBoxLayout()
        row.setContentsMargins(_INSET_PX, 0, 0, 0)
        row.addWidget(self._frame)
        self._column.addLayout(row)

    def _on_clicked(self) -> None:
        self.set_open(self.button.isChecked())
        self.toggled.emit(self.button.isChecked())


def _quiet(theme: Theme) -> Theme:
    return msgspec.structs.replace(theme, text=theme.quiet_text)
