"""The composer: the message field, its attached files and a row of buttons."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.composer.chips import Chips
from app.ui.composer.context_gauge import ContextGauge
from app.ui.composer.writing_field import MessageHistory, WritingField
from app.ui.parts.buttons import FittingButton
from app.ui.parts.file_drops import FileDrops
from app.ui.parts.labels import as_tool_tip, quiet_label
from app.ui.theme import COLUMN_PX, LINE_PX, Theme, around_line, icon, repolish, text_font

_MAX_LINES = 8
_MIN_LINES_PX = 100
"""The window's height in pixels for each line that the field may have, up to `_MAX_LINES`."""
_BUTTON_PX = 32
_MIN_TARGET_PX = 28
_GAP_PX, _NARROW_GAP_PX = 4, 2
_NARROW_PX = 420
_CARD_MARGINS_PX = (12, 8, 8, 8)
_STOPPING_MS = 100


class Composer(QWidget):
    """Enter sends, Shift+Enter inserts a line break. While an answer streams, the send button stops it."""

    sent = Signal()
    edited = Signal()
    stop_asked = Signal()
    files_given = Signal(object)
    """Pasted or dropped files, as a list of paths."""
    paged = Signal(QKeyEvent)
    """A key event, Page Up or Page Down, if the field itself does not scroll."""
    removed = Signal(int)
    """Index of an attached file that the user removed."""
    refused = Signal(str)
    """Why a text could not be pasted."""
    allowed = Signal()
    """The user wants to send the message although its answer seems too large for the memory."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page")
        FileDrops(self).dropped.connect(self.files_given)
        self._is_streaming = self._is_stopping = False
        self._are_files_read = True
        self._theme = theme
        self._card = QFrame()
        self.text = WritingField()
        self.history = MessageHistory(self.text)
        self.attachments = Chips(self.tr("Attached files"), theme)
        self.attach_button = QToolButton()
        self.system_button = QToolButton()
        self.format_button = FittingButton()
        self.sampling_button = FittingButton(is_modest=True)
        self.gauge = ContextGauge(theme)
        self.send_button = QToolButton()
        self.shortage = QLabel()
        """Says that the answer would not fit into memory, and what to do."""
        self.allow_button = QPushButton(self.tr("Send anyway"))
        self.hosts = quiet_label("")
        """Says to which servers the message goes; hidden if it stays on this machine."""
        self.hosts.setVisible(False)
        self._stopping = QTimer(self)
        """Started when the stop button is pressed. When it fires, the button says that the answer is being stopped."""
        self._build_field()
        self._build_buttons()
        self._lay_out()
        self.set_placeholder("")
        self.set_theme(theme)
        self._on_changed()

    def _build_field(self) -> None:
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
        self.attachments.removed.connect(self.removed)

    def _build_buttons(self) -> None:
        _style(self.attach_button, self.tr("Attach files"), has_text=False)
        _style(self.system_button, self.tr("System prompt"), has_text=False)
        _style(self.format_button, self.tr("Answer format"))
        _style(self.sampling_button, self.tr("Sampling"))
        self.gauge.setMinimumHeight(_MIN_TARGET_PX)
        self.send_button.setObjectName("send")
        self._stopping.setSingleShot(True)
        self._stopping.setInterval(_STOPPING_MS)
        self._stopping.timeout.connect(self._show_stopping)
        self.send_button.clicked.connect(self._on_button)

    def _lay_out(self) -> None:
        self._row = row = QHBoxLayout()
        row.setSpacing(_GAP_PX)
        for button in (self.attach_button, self.system_button, self.format_button):
            row.addWidget(button)
        # The button takes the remaining width, up to what its longest text needs.
        row.addWidget(self.sampling_button, 1000)
        row.addStretch(1)
        row.addWidget(self.gauge)
        row.addSpacing(_GAP_PX)
        row.addWidget(self.send_button)
        self._card.installEventFilter(self)
        self._card.setObjectName("composer")
        # The field has the focus when a window opens.
        self._card.setProperty("active", True)
        self._card.setMaximumWidth(COLUMN_PX + 16)
        inner = QVBoxLayout(self._card)
        inner.setContentsMargins(*_CARD_MARGINS_PX)
        inner.setSpacing(4)
        inner.addWidget(self.attachments)
        inner.addWidget(self.text)
        inner.addLayout(self._new_shortage_row())
        inner.addWidget(self.hosts)
        inner.addLayout(row)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(16, 4, 16, 16)
        outer.addStretch(1)
        outer.addWidget(self._card, 1000)
        outer.addStretch(1)

    def _new_shortage_row(self) -> QHBoxLayout:
        self.shortage.setTextFormat(Qt.TextFormat.PlainText)
        self.shortage.setWordWrap(True)
        self.shortage.setVisible(False)
        self.allow_button.setVisible(False)
        self.allow_button.clicked.connect(self.allowed)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.shortage, 1)
        row.addWidget(self.allow_button, 0, Qt.AlignmentFlag.AlignBottom)
        return row

    # --- contents ------------------------------------------------------------------------------------------

    def show_shortage(self, text: str, *, is_refused: bool = False) -> None:
        """Show why the answer would not fit into memory; an empty text hides the line.

        `is_refused` means that the message is not sent unless the user allows it.
        """
        self.shortage.setText(text)
        self.shortage.setVisible(bool(text))
        self.allow_button.setVisible(bool(text) and is_refused)
        name = "failure" if is_refused else "warning"
        if self.shortage.objectName() != name:
            self.shortage.setObjectName(name)
            repolish(self.shortage)

    def show_hosts(self, text: str) -> None:
        """Show to which servers the message goes; an empty text hides the line."""
        self.hosts.setText(text)
        self.hosts.setVisible(bool(text))

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

    def set_placeholder(self, text: str, *shorter: str) -> None:
        self.text.show_hint(text, *shorter)

    def set_streaming(self, streaming: bool, *, is_stopping: bool = False) -> None:
        """Make the send button a stop button while an answer streams.

        `is_stopping` means that the user has already pressed the stop button.
        """
        self._is_streaming, self._is_stopping = streaming, is_stopping
        self._show_button()

    def show_format(self, text: str, tip: str, *, is_set: bool, is_wrong: bool) -> None:
        """Show the name of the answer format, its tool tip, and whether a format is set and whether it is wrong."""
        self.format_button.show_texts(text, "", ending=" ▾")
        self._mark(self.format_button, tip, is_set=is_set, kind="warning" if is_wrong else "")

    def show_sampling(self, name: str, more: str, tip: str) -> None:
        """Show the sampling settings: `name`, and `more` if there is room."""
        text = f"{name} · {more}" if more else name
        # The longest text also says what the button is for.
        self.sampling_button.show_texts(self.tr("Sampling: {name}").format(name=text), text, name, "", ending=" ▾")
        self._mark(self.sampling_button, tip, is_set=False)

    def show_system_prompt(self, tip: str, *, is_set: bool) -> None:
        """Show whether there is a system prompt."""
        self._mark(self.system_button, tip, is_set=is_set)

    def show_attachments(self, texts: Sequence[str], openable: Collection[int], *, are_read: bool) -> None:
        """Show the attached files. `openable` has the indices of files whose parts can be chosen.

        The message can't be sent until `are_read`: all files have been read.
        """
        self._are_files_read = are_read
        self.attachments.show_texts(texts, openable)
        self._show_button()

    def show_text(self, text: str) -> None:
        """Replace the text in the field."""
        if text != self.text.content:
            self.text.set_content(text)
            self.text.moveCursor(QTextCursor.MoveOperation.End)

    def give_back(self, text: str) -> None:
        """Put a text that could not be sent back into the field, above the text that is there."""
        self.text.set_content("\n".join(filter(None, (text, self.text.content))))
        self.text.moveCursor(QTextCursor.MoveOperation.End)
        self.text.setFocus()

    def send(self) -> None:
        """Send the message, unless it is empty."""
        if self._has_content and self._are_files_read:
            self.sent.emit()

    @property
    def _has_content(self) -> bool:
        return not self.text.is_blank or bool(self.attachments.buttons)

    def _mark(self, button: QToolButton, tip: str, *, is_set: bool, kind: str = "") -> None:
        # The user's text may look like markup.
        button.setToolTip(as_tool_tip(tip))
        button.setAccessibleDescription(tip)
        if (button.property("set"), button.property("kind")) != (is_set, kind):
            button.setProperty("set", is_set)
            button.setProperty("kind", kind)
            repolish(button)
            self.set_theme(self._theme)

    def _on_button(self) -> None:
        if self._is_streaming and not self._has_content:
            self.stop_asked.emit()
        else:
            self.send()

    def _show_button(self) -> None:
        has_content = self._has_content
        stops = self._is_streaming and not has_content
        is_stopping = stops and self._is_stopping
        is_enabled = (has_content and self._are_files_read) or (stops and not is_stopping)
        colour = self._theme.on_accent if is_enabled else self._theme.quiet_text
        self.send_button.setIcon(icon("stop" if stops else "send", colour))
        self.send_button.setEnabled(is_enabled)
        if is_stopping:
            self.send_button.setAccessibleName(self.tr("Stopping…"))
            self.send_button.setToolTip(self.tr("Stopping…"))
            if not self._stopping.isActive():
                self._stopping.start()
            return
        self._stopping.stop()
        self.send_button.setText("")
        self.send_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        self.send_button.setFixedSize(around_line(_BUTTON_PX), around_line(_BUTTON_PX))
        self.send_button.setAccessibleName(self.tr("Stop") if stops else self.tr("Send"))
        self.send_button.setToolTip(
            self.tr("Stop (Esc)") if stops else self.tr("Send (Enter; Shift+Enter for a new line)")
        )

    def _show_stopping(self) -> None:
        """Say on the button that an answer is being stopped. Most answers have stopped before this is called."""
        button = self.send_button
        button.setText(self.tr("Stopping…"))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setFixedWidth(button.sizeHint().width() + 2 * _GAP_PX)

    def _on_changed(self) -> None:
        self._fit()
        self._show_button()
        self.edited.emit()

    def _fit(self) -> None:
        """Make the field as high as its text, but leave enough height for the conversation above it."""
        num_lines = self.text.document().documentLayout().documentSize().height()
        max_lines = min(_MAX_LINES, max(self.window().height() // _MIN_LINES_PX, 1))
        # Qt starts each line at a whole pixel.
        line_px = math.ceil(QFontMetricsF(self.text.font()).lineSpacing())
        self.text.setFixedHeight(max(round(min(num_lines, max_lines)) * line_px, LINE_PX) + 8)

    def _fit_row(self) -> None:
        """Show the name of the answer format where the gauge then still has room for all that it says."""
        is_narrow = self.width() < _NARROW_PX
        self.gauge.shorten(is_short=is_narrow)
        spacing = _NARROW_GAP_PX if is_narrow else _GAP_PX
        if self._row.spacing() != spacing:
            self._row.setSpacing(spacing)
        others = (self.attach_button, self.system_button, self.sampling_button, self.gauge, self.send_button)
        taken = sum(button.sizeHint().width() for button in others) + (len(others) + 1) * spacing + _GAP_PX
        # The row itself gets its new width only after this.
        left_px, _, right_px, _ = _CARD_MARGINS_PX
        self.format_button.limit(self._card.contentsRect().width() - left_px - right_px - taken)

    # --- events --------------------------------------------------------------------------------------------

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._card:
            if event.type() in {QEvent.Type.Resize, QEvent.Type.LayoutRequest}:
                self._fit_row()
            return False
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
                # The whole text is visible, so the conversation scrolls instead.
                self.paged.emit(event)
                return True
        return super().eventFilter(watched, event)


def _style(button: QToolButton, name: str, *, has_text: bool = True) -> None:
    styles = Qt.ToolButtonStyle
    button.setObjectName("action")
    button.setAccessibleName(name)
    button.setToolTip(name)
    button.setToolButtonStyle(styles.ToolButtonTextBesideIcon if has_text else styles.ToolButtonIconOnly)
    button.setMinimumHeight(_MIN_TARGET_PX)
    if not has_text:
        # A narrower button would squeeze its icon.
        button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    button.setProperty("set", False)
    button.setProperty("kind", "")
