"""Where a person writes: Enter sends, Shift+Enter breaks the line; while an answer streams, send is stop."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.model.message import Sampling
from app.ui.theme import COLUMN_PX, LINE_PX, Theme, icon, text_font
from app.ui.writing_field import WritingField

_MAX_LINES = 8
_MIN_LINES_PX = 100
"""Of the window's height, for each line of the field."""
_BUTTON_PX = 32


class Composer(QWidget):
    """The field, its send button and the way to the sampling."""

    sent = Signal(str)
    edited = Signal()
    stop_asked = Signal()
    sampling_asked = Signal()
    refused = Signal(str)
    """Why a text was not taken."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page")
        self._is_streaming = False
        self._theme = theme
        self._card = QFrame()
        self._card.setObjectName("composer")
        self.text = WritingField()
        self.text.refused.connect(self.refused)
        self.text.setObjectName("composer_text")
        self.text.setFont(text_font())
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("Message")
        self.text.document().setDocumentMargin(2)
        self.text.textChanged.connect(self._on_changed)
        self.text.installEventFilter(self)

        self.sampling_button = QToolButton()
        self.sampling_button.setObjectName("action")
        self.sampling_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.sampling_button.setToolTip("Sampling: temperature, length, stop strings, seed")
        self.sampling_button.clicked.connect(self.sampling_asked)
        self._hint = QLabel("Enter sends · Shift+Enter breaks the line")
        self._hint.setObjectName("quiet")
        self.send_button = QToolButton()
        self.send_button.setObjectName("send")
        self.send_button.setFixedSize(_BUTTON_PX, _BUTTON_PX)
        self.send_button.setIconSize(QSize(20, 20))
        self.send_button.clicked.connect(self._on_button)

        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.sampling_button)
        row.addStretch(1)
        row.addWidget(self._hint)
        row.addWidget(self.send_button)
        inner = QVBoxLayout(self._card)
        inner.setContentsMargins(12, 8, 8, 8)
        inner.setSpacing(4)
        inner.addWidget(self.text)
        inner.addLayout(row)
        self._card.setMaximumWidth(COLUMN_PX + 16)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(16, 4, 16, 16)
        outer.addStretch(1)
        outer.addWidget(self._card, 1000)
        outer.addStretch(1)
        self.set_placeholder("Ask anything about Bough")
        self.set_theme(theme)
        self._on_changed()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.sampling_button.setIcon(icon("sampling", theme.quiet_text))
        self._show_button()

    def set_placeholder(self, text: str) -> None:
        self.text.setPlaceholderText(text)

    def set_streaming(self, streaming: bool) -> None:
        """Turn send into stop and back."""
        self._is_streaming = streaming
        self._show_button()

    def set_sampling(self, sampling: Sampling) -> None:
        """Show what the next answer is drawn with."""
        parts = [f"T {sampling.temperature:g}"]
        if sampling.stop:
            parts.append(f"{len(sampling.stop)} stop" if len(sampling.stop) == 1 else f"{len(sampling.stop)} stops")
        if sampling.seed is not None:
            parts.append(f"seed {sampling.seed}")
        self.sampling_button.setText("Sampling · " + " · ".join(parts))

    def send(self) -> None:
        """Send what is written."""
        text = self.text.content
        if text.strip():
            self.text.clear()
            self.sent.emit(text)

    def show_unsent(self, text: str) -> None:
        """Show what was written before instead of what is written now."""
        if text != self.text.content:
            self.text.setPlainText(text)
            self.text.moveCursor(QTextCursor.MoveOperation.End)

    def give_back(self, text: str) -> None:
        """Put back a text that could not be sent, before what was written since."""
        self.text.setPlainText("\n".join(part for part in (text, self.text.content) if part))
        self.text.moveCursor(QTextCursor.MoveOperation.End)
        self.text.setFocus()

    def _on_button(self) -> None:
        if self._is_streaming and not self.text.content.strip():
            self.stop_asked.emit()
        else:
            self.send()

    def _show_button(self) -> None:
        has_text = bool(self.text.content.strip())
        stops = self._is_streaming and not has_text
        self.send_button.setIcon(
            icon("stop" if stops else "send", self._theme.on_accent if stops or has_text else self._theme.quiet_text)
        )
        self.send_button.setEnabled(stops or has_text)
        self.send_button.setAccessibleName("Stop" if stops else "Send")
        self.send_button.setToolTip("Stop (Esc)" if stops else "Send (Enter)")

    def _on_changed(self) -> None:
        self._fit()
        self._show_button()
        self.edited.emit()

    def _fit(self) -> None:
        """Be as high as what is written, and never higher than leaves room for what it is about."""
        num_lines = self.text.document().documentLayout().documentSize().height()
        most = min(_MAX_LINES, max(self.window().height() // _MIN_LINES_PX, 1))
        line_px = self.text.fontMetrics().lineSpacing()
        self.text.setFixedHeight(max(round(min(num_lines, most)) * line_px, LINE_PX) + 8)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
            self._card.setProperty("active", event.type() == QEvent.Type.FocusIn)
            self._card.style().unpolish(self._card)
            self._card.style().polish(self._card)
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
            if is_enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.send()
                return True
        return super().eventFilter(watched, event)
