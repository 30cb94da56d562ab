"""The foldable parts of a message: the model's thought before its answer, and the content of a note."""

from __future__ import annotations

import base64
import binascii
import time
from pathlib import Path
from urllib.parse import unquote_to_bytes

import msgspec
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QFileDialog, QFrame, QLabel, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.export.paper_document import picture_of
from app.model.exports.captions import is_folded, split_note
from app.model.message import Message, MessageId
from app.model.settings import write_atomically
from app.model.thoughts import Thought, thought_seconds
from app.numbers import counted, sized
from app.ui.message.shown_message import DisplayModes, ShownMessage
from app.ui.parts.buttons import FoldButton
from app.ui.parts.labels import beginning
from app.ui.parts.layouts import tab_stops
from app.ui.text.message_text import MessageText
from app.ui.theme import COLUMN_PX, Theme

_THOUGHT_INDENT_PX = 8
"""Aligns the frame with the label of the button, whose icon starts at the text's edge."""
_MAX_PICTURE_PX = (COLUMN_PX - 48, 480)
"""The maximum width and height of a picture."""
_MAX_NAME_CHARS = 200


class FoldablePart(QWidget):
    """A button above a frame. The frame is built when it is first opened."""

    toggled = Signal(bool)
    """The user opened or folded it."""
    built = Signal()
    """The frame was built."""

    def __init__(self, theme: Theme, *, indent_px: int = 0) -> None:
        super().__init__()
        self._theme = theme
        self._frame: QFrame | None = None
        self.text: MessageText | None = None
        self.button = FoldButton(theme)
        # Screen readers toggle it without a click.
        self.button.toggled.connect(self._on_toggled)
        self._is_open = False
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 6)
        column.setSpacing(2)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        self._body = QVBoxLayout()
        self._body.setContentsMargins(indent_px, 0, 0, 0)
        column.addLayout(self._body)

    @property
    def is_open(self) -> bool:
        return self._is_open

    def set_open(self, is_open: bool) -> None:
        self._is_open = is_open
        self.button.setChecked(is_open)
        if is_open and self._frame is None:
            self._frame = QFrame()
            self._frame.setObjectName("thought")
            column = QVBoxLayout(self._frame)
            column.setContentsMargins(14, 2, 0, 4)
            self._build(column)
            self._body.addWidget(self._frame)
            self.built.emit()
        if self._frame is not None:
            self._frame.setVisible(is_open)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.button.set_theme(theme)
        if self.text is not None:
            self.text.set_theme(theme)

    @property
    def tab_stops(self) -> list[QWidget]:
        """The button, and the widgets in the frame."""
        return [self.button, *(tab_stops(self._frame) if self._frame is not None else ())]

    def _build(self, column: QVBoxLayout) -> None:
        """Add the widgets of the frame to its layout."""
        raise NotImplementedError

    def _on_toggled(self, is_open: bool) -> None:
        if is_open != self._is_open:
            self.set_open(is_open)
            self.toggled.emit(is_open)


class ThoughtView(FoldablePart):
    """Shows the model's thought. Its button says how long the model thought."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(_quiet(theme), indent_px=_THOUGHT_INDENT_PX)
        self.button.setToolTip(self.tr("Show or hide the reasoning (T)"))
        self._message_id: MessageId | None = None
        self._thought: Thought | None = None
        self._start_s: float | None = None
        self._measured_s: float | None = None
        """How long the thought took. Only known if this view showed it streaming from start to end."""

    def show_thought(self, shown: ShownMessage, thought: Thought) -> None:
        """Show the thought, or as much of it as has streamed in."""
        if shown.message.id != self._message_id:
            self._message_id = shown.message.id
            self._start_s = self._measured_s = None
        self._thought = thought
        if shown.is_streaming and not thought.is_closed and self._start_s is None:
            self._start_s = time.monotonic()
        if thought.is_closed and self._start_s is not None and self._measured_s is None:
            self._measured_s = time.monotonic() - self._start_s
        self.button.setText(self._label(shown, thought))
        self._update_text()

    @override
    def set_open(self, is_open: bool) -> None:
        super().set_open(is_open)
        self._update_text()

    @override
    def set_theme(self, theme: Theme) -> None:
        super().set_theme(_quiet(theme))

    @override
    def _build(self, column: QVBoxLayout) -> None:
        self.text = MessageText(self._theme, is_markdown=True)
        self.text.setAccessibleName(self.tr("Reasoning"))
        column.addWidget(self.text)

    def _label(self, shown: ShownMessage, thought: Thought) -> str:
        if shown.is_streaming and not thought.is_closed:
            return self.tr("Thinking…")
        recorded_s = None if shown.is_streaming else thought_seconds(shown.message, thought)
        seconds = self._measured_s if self._measured_s is not None else recorded_s
        if seconds is None:
            return self.tr("Reasoning")
        minutes, rest = divmod(round(seconds), 60)
        if minutes:
            return self.tr("Thought for {minutes} min {seconds} s").format(minutes=minutes, seconds=rest)
        return self.tr("Thought for {seconds} s").format(seconds=rest or counted(seconds, 1))

    def _update_text(self) -> None:
        if self.text is None or not self.is_open or self._thought is None:
            return
        before, now = self.text.content, self._thought.text
        if before and now.startswith(before):
            self.text.append(now[len(before) :])
        elif before != now:
            self.text.set_text(now)


class NoteView(FoldablePart):
    """Shows the content of a note, for example a tool call or a picture, or of an attached file."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.button.setToolTip(self.tr("Show or hide this note"))
        self._message: Message | None = None
        self.button.setText(self.tr("Contents"))

    def show_note(self, message: Message) -> None:
        """Show another note or file, folded."""
        if message is not self._message:
            self._message = message
            if self._frame is not None:
                self._frame.deleteLater()
            self._frame = self.text = None

    def show_size(self, num_tokens: int | None) -> None:
        """Show the number of tokens in a file; None means that it is not known."""
        if num_tokens is None:
            text = self.tr("Contents")
        else:
            text = self.tr("1 token") if num_tokens == 1 else self.tr("{num} tokens").format(num=counted(num_tokens))
        self.button.setText(text)
        # The first line is the name of the file, or says what the note is.
        name = "" if self._message is None else beginning(self._message.text[:_MAX_NAME_CHARS].partition("\n")[0])
        self.button.setAccessibleName(f"{name} · {text}" if name else text)

    @override
    def _build(self, column: QVBoxLayout) -> None:
        assert self._message is not None
        note = split_note(self._message)
        column.setSpacing(8)
        picture = picture_of(note.file_address) if note.is_picture else None
        if picture is not None:
            column.addWidget(_picture_label(picture, note.file_name, self.devicePixelRatioF()))
        if note.file_address:
            num_bytes = len(data_of(note.file_address))
            save = QPushButton(self.tr("Save “{name}” ({size})…").format(name=note.file_name, size=sized(num_bytes)))
            save.clicked.connect(self._save)
            column.addWidget(save, 0, Qt.AlignmentFlag.AlignLeft)
        if note.text:
            self.text = MessageText(self._theme, is_markdown=True)
            self.text.setAccessibleName(note.label)
            self.text.set_text(note.text)
            column.addWidget(self.text)

    def _save(self) -> None:
        if self._message is None:
            return
        note = split_note(self._message)
        file, _ = QFileDialog.getSaveFileName(self, self.tr("Save"), Path(note.file_name).name)
        if file:
            try:
                write_atomically(Path(file), data_of(note.file_address))
            except OSError as error:
                self.button.setText(
                    self.tr("{file} could not be written ({why}).").format(file=file, why=error.strerror)
                )


class FoldableParts(QObject):
    """Creates the foldable parts of one message view on demand, and records in the display modes which are open."""

    tab_stops_changed = Signal()

    def __init__(self, page: QVBoxLayout, card: QVBoxLayout, theme: Theme) -> None:
        """Thoughts are inserted at the top of `page`, and the content of notes is appended to `card`."""
        super().__init__()
        self._page = page
        self._card = card
        self._theme = theme
        self._message_id: MessageId | None = None
        self._modes = DisplayModes()
        self.thought: ThoughtView | None = None
        self.note: NoteView | None = None

    def show_message(self, shown: ShownMessage, modes: DisplayModes, thought: Thought | None) -> None:
        """Show the foldable parts of a message. `thought` is the thought in its text, None if there is none."""
        self._message_id, self._modes = shown.message.id, modes
        is_open = shown.message.id in modes.unfolded
        self._show_thought(shown, thought, is_open=is_open)
        self._show_note(shown.message, shown.num_tokens, is_open=is_open)

    @property
    def tab_stops(self) -> list[QWidget]:
        """The widgets that Tab reaches, in tab order."""
        return [stop for part in (self.thought, self.note) if part is not None for stop in part.tab_stops]

    def toggle_thought(self) -> None:
        if self.thought is not None and self.thought.isVisible():
            self.thought.button.click()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for part in (self.thought, self.note):
            if part is not None:
                part.set_theme(theme)

    def _show_thought(self, shown: ShownMessage, thought: Thought | None, *, is_open: bool) -> None:
        if thought is not None and not thought.text and thought.is_closed:
            # A model writes an empty thought when thinking is switched off.
            thought = None
        if self.thought is None and thought is not None:
            self.thought = ThoughtView(self._theme)
            self.thought.toggled.connect(self._remember)
            self.thought.built.connect(self.tab_stops_changed)
            self._page.insertWidget(0, self.thought)
            self.tab_stops_changed.emit()
        if self.thought is None:
            return
        self.thought.setVisible(thought is not None)
        if thought is not None:
            self.thought.show_thought(shown, thought)
            if is_open != self.thought.is_open:
                self.thought.set_open(is_open)

    def _show_note(self, message: Message, num_tokens: int | None, *, is_open: bool) -> None:
        is_note = is_folded(message)
        if self.note is None and is_note:
            self.note = NoteView(self._theme)
            self.note.toggled.connect(self._remember)
            self.note.built.connect(self.tab_stops_changed)
            self._card.addWidget(self.note)
            self.tab_stops_changed.emit()
        if self.note is not None:
            self.note.setVisible(is_note)
            if is_note:
                self.note.show_note(message)
                self.note.show_size(num_tokens)
                self.note.set_open(is_open)

    def _remember(self, is_open: bool) -> None:
        if self._message_id is not None:
            unfolded = self._modes.unfolded
            (unfolded.add if is_open else unfolded.discard)(self._message_id)


def data_of(address: str) -> bytes:
    """Return the bytes in a `data:` address; empty if it is malformed."""
    head, _, data = address.partition(",")
    try:
        return base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
    except (binascii.Error, ValueError):
        return b""


def _quiet(theme: Theme) -> Theme:
    return msgspec.structs.replace(theme, text=theme.quiet_text)


def _picture_label(picture: QImage, name: str, device_pixel_ratio: float) -> QLabel:
    """Return a label with the picture, scaled down to the maximum size."""
    label = QLabel()
    label.setAccessibleName(name)
    size = picture.size() / device_pixel_ratio
    size = size.boundedTo(size.scaled(*_MAX_PICTURE_PX, Qt.AspectRatioMode.KeepAspectRatio))
    pixmap = QPixmap.fromImage(
        picture.scaled(
            size * device_pixel_ratio, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
    )
    pixmap.setDevicePixelRatio(device_pixel_ratio)
    label.setPixmap(pixmap)
    return label
