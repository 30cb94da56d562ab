"""The text field for messages, and the history of earlier messages in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit
from typing_extensions import override

from app.numbers import counted

_MAX_CHARS = 2_000_000
_MAX_RUN = 50_000
"""Characters without a space. Qt needs half a second to lay out four times as many, and the time is quadratic."""

_LINE_ENDS = str.maketrans("\u2028\u2029", "\n\n")


class WritingField(QPlainTextEdit):
    """A plain text field that keeps the text exactly as typed, and refuses pastes too long for Qt's layout."""

    refused = Signal(str)
    """Why a text could not be pasted."""
    files_given = Signal(object)
    """Pasted or dropped files, as a list of paths; only if `takes_files`."""

    takes_files = False

    _hint = ""

    def show_hint(self, text: str) -> None:
        """Set the placeholder, elided to one line."""
        self._hint = text
        self._fit_hint()

    def _fit_hint(self) -> None:
        room = self.viewport().width() - round(2 * self.document().documentMargin()) - 1
        self.setPlaceholderText(self.fontMetrics().elidedText(self._hint, Qt.TextElideMode.ElideRight, room))

    @override
    def resizeEvent(self, e: QResizeEvent, /) -> None:
        super().resizeEvent(e)
        self._fit_hint()

    @override
    def changeEvent(self, e: QEvent, /) -> None:
        super().changeEvent(e)
        if e.type() == QEvent.Type.FontChange:
            self._fit_hint()

    @property
    def content(self) -> str:
        """The exact text. (Qt's `toPlainText` replaces no-break spaces by plain ones.)"""
        return self.document().toRawText().translate(_LINE_ENDS)

    @override
    def canInsertFromMimeData(self, source: QMimeData, /) -> bool:
        return super().canInsertFromMimeData(source) or (self.takes_files and bool(files_in(source)))

    @override
    def insertFromMimeData(self, source: QMimeData) -> None:
        files = files_in(source) if self.takes_files else []
        if files:
            self.files_given.emit(files)
            return
        pasted = source.text()
        whole = self.content + pasted
        longest_run = max(map(len, whole.split()), default=0)
        if len(whole) > _MAX_CHARS or longest_run > _MAX_RUN:
            self.refused.emit(
                self.tr(
                    "The text is too long: {chars} characters, with up to {run} in a row without a space. A "
                    "message can have {most} and {longest}. Nothing was pasted; paste a part of it instead."
                ).format(
                    chars=counted(len(whole)),
                    run=counted(longest_run),
                    most=counted(_MAX_CHARS),
                    longest=counted(_MAX_RUN),
                )
            )
            return
        super().insertFromMimeData(source)

    @override
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            standard = QKeySequence.StandardKey
            has_none = (event.matches(standard.Undo) and not self.document().isUndoAvailable()) or (
                event.matches(standard.Redo) and not self.document().isRedoAvailable()
            )
            if has_none:
                # Without a change in the field, Undo and Redo apply to the tree.
                event.ignore()
                return False
        return super().event(event)


def files_in(source: QMimeData) -> list[Path]:
    """Return the local files in pasted or dropped data."""
    return [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]


class MessageHistory(QObject):
    """Recalls earlier messages: Up in an empty field starts, Up and Down go on, Esc empties the field.

    A recalled message that was changed is a new message.
    """

    def __init__(self, field: WritingField) -> None:
        super().__init__(field)
        self._field = field
        self.messages: Callable[[], Sequence[str]] = tuple
        """Returns the earlier messages, oldest first."""
        self._recalled: str | None = None
        """The recalled message."""
        self._index = 0
        field.installEventFilter(self)

    @property
    def is_recalling(self) -> bool:
        """Whether the field holds an unchanged recalled message."""
        return self._recalled is not None and self._field.content == self._recalled

    def _step(self, step: int) -> bool:
        messages = self.messages()
        if not self.is_recalling:
            if self._field.content or step > 0:
                return False
            self._index = len(messages)
        index = self._index + step
        if index < 0 or not messages:
            # At the oldest message, Up does nothing.
            return self.is_recalling
        if index >= len(messages):
            self._end()
            return True
        self._index = index
        self._show(messages[index])
        return True

    def _show(self, text: str) -> None:
        self._field.selectAll()
        self._field.textCursor().insertText(text)
        self._field.moveCursor(QTextCursor.MoveOperation.End)
        self._recalled = self._field.content

    def _end(self) -> None:
        self._recalled = None
        self._field.clear()

    def _is_at_edge(self, step: int) -> bool:
        """Whether the cursor is on the first or last line: within a message, Up and Down move the cursor first."""
        cursor = self._field.textCursor()
        move = QTextCursor.MoveOperation.Up if step < 0 else QTextCursor.MoveOperation.Down
        return not cursor.movePosition(move)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            is_escape = event.key() == Qt.Key.Key_Escape and self.is_recalling
            if event.type() == QEvent.Type.ShortcutOverride and is_escape:
                # Esc empties the field here, although it is also the shortcut that stops an answer.
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                if is_escape:
                    self._end()
                    return True
                step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: +1}.get(Qt.Key(event.key()), 0)
                if step and self._is_at_edge(step):
                    return self._step(step)
        return super().eventFilter(watched, event)
