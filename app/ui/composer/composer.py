"""Where a person writes: Enter sends, Shift+Enter breaks the line; while an answer streams, send is stop."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QFontMetricsF, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.composer.chips import Chips
from app.ui.composer.context_gauge import ContextGauge
from app.ui.composer.writing_field import MessageHistory, WritingField, files_in
from app.ui.parts.buttons import FittingButton
from app.ui.parts.labels import as_tool_tip
from app.ui.theme import COLUMN_PX, LINE_PX, Theme, icon, repolish, text_font

_MAX_LINES = 8
_MIN_LINES_PX = 100
"""Of the window's height, for each line of the field."""
_BUTTON_PX = 32
_LEAST_TARGET_PX = 28
_GAP_PX = 4


class Composer(QWidget):
    """The field, the files that go with it, and a row of what can be set before asking."""

    sent = Signal()
    edited = Signal()
    stop_asked = Signal()
    files_given = Signal(object)
    """Files that were pasted or dropped here, as a list of paths."""
    paged = Signal(QKeyEvent)
    """A key that turns pages, where there is only one of what is written."""
    removed = Signal(int)
    """A file that is not to go with the message, by its number."""
    refused = Signal(str)
    """Why a text was not taken."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page")
        self.setAcceptDrops(True)
        self._is_streaming = False
        self._theme = theme
        self._card = QFrame()
        self._card.setObjectName("composer")
        # Who opens a window writes.
        self._card.setProperty("active", True)
        self.text = WritingField()
        self.text.takes_files = True
        self.text.refused.connect(self.refused)
        self.text.files_given.connect(self.files_given)
        self.text.setObjectName("composer_text")
        self.text.setFont(text_font())
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(self.tr("Message"))
        self.text.setToolTip("")
        self.text.document().setDocumentMargin(2)
        self.text.textChanged.connect(self._on_changed)
        self.text.installEventFilter(self)
        self.history = MessageHistory(self.text)
        self.attachments = Chips(self.tr("Attached files"), theme)
        self.attachments.taken_away.connect(self.removed)

        self.attach_button = QToolButton()
        self._build_row_button(self.attach_button, self.tr("Attach files"), has_words=False)
        self.system_button = QToolButton()
        self._build_row_button(self.system_button, self.tr("System prompt"), has_words=False)
        self.format_button = FittingButton()
        self._build_row_button(self.format_button, self.tr("Answer format"))
        self.sampling_button = FittingButton(is_modest=True)
        self._build_row_button(self.sampling_button, self.tr("Sampling"))
        self.gauge = ContextGauge(theme)
        self.gauge.setMinimumHeight(_LEAST_TARGET_PX)
        self.send_button = QToolButton()
        self.send_button.setObjectName("send")
        self.send_button.setFixedSize(_BUTTON_PX, _BUTTON_PX)
        self.send_button.setIconSize(QSize(20, 20))
        self.send_button.clicked.connect(self._on_button)

        row = QHBoxLayout()
        row.setSpacing(_GAP_PX)
        for button in (self.attach_button, self.system_button, self.format_button):
            row.addWidget(button)
        # It takes what is left; only what it has no words for stays empty.
        row.addWidget(self.sampling_button, 1000)
        row.addStretch(1)
        row.addWidget(self.gauge)
        row.addSpacing(_GAP_PX)
        row.addWidget(self.send_button)
        inner = QVBoxLayout(self._card)
        inner.setContentsMargins(12, 8, 8, 8)
        inner.setSpacing(4)
        inner.addWidget(self.attachments)
        inner.addWidget(self.text)
        inner.addLayout(row)
        self._card.setMaximumWidth(COLUMN_PX + 16)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(16, 4, 16, 16)
        outer.addStretch(1)
        outer.addWidget(self._card, 1000)
        outer.addStretch(1)
        self.set_placeholder("")
        self.set_theme(theme)
        self._on_changed()

    def _build_row_button(self, button: QToolButton, name: str, *, has_words: bool = True) -> None:
        styles = Qt.ToolButtonStyle
        button.setObjectName("action")
        button.setAccessibleName(name)
        button.setToolTip(name)
        button.setToolButtonStyle(styles.ToolButtonTextBesideIcon if has_words else styles.ToolButtonIconOnly)
        button.setMinimumHeight(_LEAST_TARGET_PX)
        if not has_words:
            button.setMinimumWidth(_LEAST_TARGET_PX)
        button.setProperty("set", False)
        button.setProperty("kind", "")

    # --- what is shown -------------------------------------------------------------------------------------

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for button, name in (
            (self.attach_button, "attach"),
            (self.system_button, "system"),
            (self.format_button, "format"),
            (self.sampling_button, "sampling"),
        ):
            button.setIcon(icon(name, theme.accent if button.property("set") else theme.quiet_text))
        self.attachments.set_theme(theme)
        self.gauge.set_theme(theme)
        self._show_button()

    def set_placeholder(self, text: str) -> None:
        self.text.show_hint(text)

    def set_streaming(self, streaming: bool) -> None:
        """Turn send into stop and back."""
        self._is_streaming = streaming
        self._show_button()

    def show_format(self, words: str, tip: str, *, is_set: bool, is_wrong: bool) -> None:
        """Say which form the next answer has."""
        self.format_button.show_texts(words, ending=" ▾")
        self._mark(self.format_button, tip, is_set=is_set, kind="warning" if is_wrong else "")

    def show_asking(self, name: str, more: str, tip: str) -> None:
        """Say what the next answer is drawn with: what matters most, and more where there is room."""
        text = f"{name} · {more}" if more else name
        # What the button is for stands on it where there is room.
        self.sampling_button.show_texts(self.tr("Sampling: {name}").format(name=text), text, name, ending=" ▾")
        self._mark(self.sampling_button, tip, is_set=False)

    def show_system_prompt(self, tip: str, *, is_set: bool) -> None:
        """Say whether there is one."""
        self._mark(self.system_button, tip, is_set=is_set)

    def show_attachments(self, texts: Sequence[str]) -> None:
        """Show the files that go with the message."""
        self.attachments.show_texts(texts)
        self._show_button()

    def show_text(self, text: str) -> None:
        """Show what was written before instead of what is written now."""
        if text != self.text.content:
            self.text.setPlainText(text)
            self.text.moveCursor(QTextCursor.MoveOperation.End)

    def give_back(self, text: str) -> None:
        """Put back a text that could not be sent, before what was written since."""
        self.text.setPlainText("\n".join(part for part in (text, self.text.content) if part))
        self.text.moveCursor(QTextCursor.MoveOperation.End)
        self.text.setFocus()

    def send(self) -> None:
        """Send what is written."""
        if self._has_something:
            self.sent.emit()

    @property
    def _has_something(self) -> bool:
        return bool(self.text.content.strip()) or bool(self.attachments.buttons)

    def _mark(self, button: QToolButton, tip: str, *, is_set: bool, kind: str = "") -> None:
        # What a person wrote may look like markup.
        button.setToolTip(as_tool_tip(tip))
        button.setAccessibleDescription(tip)
        if (button.property("set"), button.property("kind")) != (is_set, kind):
            button.setProperty("set", is_set)
            button.setProperty("kind", kind)
            repolish(button)
            self.set_theme(self._theme)

    def _on_button(self) -> None:
        if self._is_streaming and not self._has_something:
            self.stop_asked.emit()
        else:
            self.send()

    def _show_button(self) -> None:
        has_something = self._has_something
        stops = self._is_streaming and not has_something
        colour = self._theme.on_accent if stops or has_something else self._theme.quiet_text
        self.send_button.setIcon(icon("stop" if stops else "send", colour))
        self.send_button.setEnabled(stops or has_something)
        self.send_button.setAccessibleName(self.tr("Stop") if stops else self.tr("Send"))
        self.send_button.setToolTip(
            self.tr("Stop (Esc)") if stops else self.tr("Send (Enter; Shift+Enter breaks the line)")
        )

    def _on_changed(self) -> None:
        self._fit()
        self._show_button()
        self.edited.emit()

    def _fit(self) -> None:
        """Be as high as what is written, and never higher than leaves room for what it is about."""
        num_lines = self.text.document().documentLayout().documentSize().height()
        most = min(_MAX_LINES, max(self.window().height() // _MIN_LINES_PX, 1))
        # A line begins where the one before ends on a whole pixel.
        line_px = math.ceil(QFontMetricsF(self.text.font()).lineSpacing())
        self.text.setFixedHeight(max(round(min(num_lines, most)) * line_px, LINE_PX) + 8)

    # --- what comes ----------------------------------------------------------------------------------------

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if files_in(event.mimeData()):
            event.acceptProposedAction()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.files_given.emit(files_in(event.mimeData()))

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_active = event.type() == QEvent.Type.FocusIn
        if (is_active or event.type() == QEvent.Type.FocusOut) and self._card.property("active") != is_active:
            self._card.setProperty("active", is_active)
            repolish(self._card)
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
            if is_enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.send()
                return True
            is_paging = event.key() in {Qt.Key.Key_PageUp, Qt.Key.Key_PageDown} and not event.modifiers()
            if is_paging and not self.text.verticalScrollBar().maximum():
                # All that is written is in sight; the conversation is not.
                self.paged.emit(event)
                return True
        return super().eventFilter(watched, event)
