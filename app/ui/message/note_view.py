"""What a note holds (a tool's call, a picture, a file that came with a question), folded until somebody wants it."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from urllib.parse import unquote_to_bytes

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QImage, QPixmap
from PySide6.QtWidgets import QFileDialog, QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from app.export.document import picture_of
from app.model.exports.captions import Note, split_note
from app.model.message import Message
from app.model.settings import write_atomically
from app.numbers import sized
from app.ui.message.fold_button import FoldButton
from app.ui.text.message_text import MessageText
from app.ui.theme import COLUMN_PX, Theme

_MOST_PX = (COLUMN_PX - 48, 480)


class NoteView(QWidget):
    """One note's content under a button; it is made when it is opened first."""

    toggled = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._message: Message | None = None
        self._frame: QFrame | None = None
        self.text: MessageText | None = None
        self.button = FoldButton(self.tr("Show or fold what this note holds"), theme)
        self.button.setText(self.tr("What it holds"))
        self.button.clicked.connect(self._on_clicked)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 6)
        self._column.setSpacing(2)
        self._column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def is_open(self) -> bool:
        return self.button.isChecked()

    def show_note(self, message: Message, *, is_open: bool) -> None:
        """Show another note, or the same one open or folded."""
        if message is not self._message:
            self._message = message
            self._forget()
        self.button.setChecked(is_open)
        if is_open and self._frame is None:
            self._make(split_note(message))
        if self._frame is not None:
            self._frame.setVisible(is_open)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.button.set_theme(theme)
        if self.text is not None:
            self.text.set_theme(theme)

    def _forget(self) -> None:
        if self._frame is not None:
            self._frame.deleteLater()
        self._frame = self.text = None

    def _make(self, note: Note) -> None:
        self._frame = QFrame()
        self._frame.setObjectName("thought")
        column = QVBoxLayout(self._frame)
        column.setContentsMargins(14, 2, 0, 4)
        column.setSpacing(8)
        picture = picture_of(note.file_address) if note.is_picture else None
        if picture is not None:
            column.addWidget(_picture(picture, note.file_name, self.devicePixelRatioF()))
        if note.file_address:
            data = data_of(note.file_address)
            save = QPushButton(self.tr("Save “{name}” ({size})…").format(name=note.file_name, size=sized(len(data))))
            save.clicked.connect(self._save)
            column.addWidget(save, 0, Qt.AlignmentFlag.AlignLeft)
        if note.text:
            self.text = MessageText(self._theme, is_markdown=True)
            self.text.setAccessibleName(note.label)
            self.text.set_text(note.text)
            column.addWidget(self.text)
        self._column.addWidget(self._frame)

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

    def _on_clicked(self) -> None:
        if self._message is not None:
            self.show_note(self._message, is_open=self.button.isChecked())
        self.toggled.emit(self.button.isChecked())


def data_of(address: str) -> bytes:
    """Return the bytes that a `data:` address holds."""
    head, _, data = address.partition(",")
    try:
        return base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
    except (binascii.Error, ValueError):
        return b""


def _picture(picture: QImage, name: str, ratio: float) -> QLabel:
    label = QLabel()
    label.setAccessibleName(name)
    size = picture.size() / ratio
    most = size.boundedTo(size.scaled(*_MOST_PX, Qt.AspectRatioMode.KeepAspectRatio))
    shown = QPixmap.fromImage(
        picture.scaled(most * ratio, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
    )
    shown.setDevicePixelRatio(ratio)
    label.setPixmap(shown)
    return label
