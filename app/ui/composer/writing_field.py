"""The text field for messages, and the history of earlier messages in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit
from typing_extensions import override

from app.numbers import counted
from app.ui.parts.file_drops import files_in

_MAX_CHARS = 2_000_000
_MAX_RUN = 50_000
"""Maximum number of characters without a space.

Qt needs half a second to lay out four times as many, and the time grows quadratically.
"""

_MAX_LINE = 300_000
"""Maximum number of characters in a line. Qt lays out the whole line after each letter that is typed in it."""
_FIRST_CHARS, _FIRST_LINES = 20_000, 500
"""The size of the beginning of a text that is shown at once. The rest follows in slices."""
_CHARS_AT_ONCE, _LINES_AT_ONCE = 10_000, 100
_WORK_S = 0.010


class WritingField(QPlainTextEdit):
    """A plain text field that keeps the text exactly as typed, and refuses pastes too long for Qt's layout.

    A long text that is pasted or set is shown in slices, but `content` is always the whole text.
    """

    refused = Signal(str)
    """Why a text could not be pasted."""
    files_given = Signal(object)
    """Pasted or dropped files, as a list of paths; only if `takes_files`."""

    takes_files = False

    _hints: tuple[str, ...] = ("",)

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._rest = ""
        """The part of a long text that is not shown yet."""
        self._place = QTextCursor(self.document())
        """The position at which the rest will be inserted."""
        self._is_undoable = False
        """Whether Undo removes the text that is being inserted."""
        self._content: str | None = None
        """The content if it is known. It is stored because it is requested several times after each change."""
        self.document().contentsChange.connect(self._forget_content)
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._write_for_a_while)
        self.set_content(text)

    def show_hint(self, text: str, *shorter: str) -> None:
        """Set the placeholder: the first of these texts that fits into one line, or else the last one, elided."""
        self._hints = (text, *shorter)
        # Screen readers do not read placeholders of fields for long texts.
        self.setAccessibleDescription(text)
        self._fit_hint()

    def _fit_hint(self) -> None:
        room = self.viewport().width() - round(2 * self.document().documentMargin()) - 1
        metrics = self.fontMetrics()
        fitting = (hint for hint in self._hints if metrics.horizontalAdvance(hint) <= room)
        elided = metrics.elidedText(self._hints[-1], Qt.TextElideMode.ElideRight, room)
        self.setPlaceholderText(next(fitting, elided))

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
        if self._content is None:
            self._content = self.document().toRawText().replace("\u2029", "\n").replace("\u2028", "\n")
        if not self._rest:
            return self._content
        before = _start_of(self._content, self._place.position())
        return f"{before}{self._rest}{self._content[len(before) :]}"

    def _forget_content(self, _position: int, _removed: int, _added: int) -> None:
        self._content = None

    @property
    def is_writing(self) -> bool:
        """Whether a part of a long text is still to be shown."""
        return bool(self._rest)

    @property
    def is_blank(self) -> bool:
        """Whether the field holds nothing but white space."""
        return not self._rest.strip() and (self.document().isEmpty() or not self.content.strip())

    def set_content(self, text: str) -> None:
        """Replace the whole text. Undo does not bring the old text back."""
        self._rest = ""
        head = _slice_of(text, _FIRST_CHARS, _FIRST_LINES)
        if head == text:
            self._end_writing()
            self.setPlainText(text)
            return
        blocked = self.blockSignals(True)
        self.setPlainText(head)
        self.document().setUndoRedoEnabled(False)
        self.blockSignals(blocked)
        self._begin_writing(text[len(head) :], is_undoable=False)

    def finish_writing(self) -> None:
        """Insert the rest of a long text now, without waiting for the timer."""
        while self._rest:
            self._write_slice()
        self._end_writing()

    def _begin_writing(self, text: str, *, is_undoable: bool) -> None:
        self._place = self.textCursor()
        if not is_undoable:
            self._place.movePosition(QTextCursor.MoveOperation.End)
        self._rest, self._is_undoable = text, is_undoable
        self._timer.start()

    def _write_slice(self) -> None:
        piece = _slice_of(self._rest, _CHARS_AT_ONCE, _LINES_AT_ONCE)
        self._rest = self._rest[len(piece) :]
        # `textChanged` follows the last slice.
        blocked = self.blockSignals(True)
        self._place.joinPreviousEditBlock() if self._is_undoable else self._place.beginEditBlock()
        self._place.insertText(piece)
        self._place.endEditBlock()
        self.blockSignals(blocked)

    def _write_for_a_while(self) -> None:
        end = time.monotonic() + _WORK_S
        while self._rest and time.monotonic() < end:
            self._write_slice()
        if not self._rest:
            self._end_writing()

    def _end_writing(self) -> None:
        if self._timer.isActive():
            self._timer.stop()
            self.document().setUndoRedoEnabled(True)
            self.textChanged.emit()

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
        if why := why_not_editable(whole):
            instead = self.tr("Nothing was pasted; paste a part of it instead.")
            self.refused.emit(f"{why} {instead}")
            return
        self.finish_writing()
        head = _slice_of(pasted, _FIRST_CHARS, _FIRST_LINES)
        if head == pasted:
            super().insertFromMimeData(source)
            return
        cursor = self.textCursor()
        # Qt joins later slices only to an edit of several insertions, so the end of the head is inserted first.
        end = "\r\n" if head.endswith("\r\n") else head[-1]
        start = cursor.selectionStart()
        cursor.beginEditBlock()
        cursor.insertText(end)
        num_units = cursor.position() - start
        cursor.setPosition(start)
        cursor.insertText(head.removesuffix(end))
        cursor.setPosition(cursor.position() + num_units)
        cursor.endEditBlock()
        self.setTextCursor(cursor)
        self._begin_writing(pasted[len(head) :], is_undoable=True)

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


def _slice_of(text: str, num_chars: int, num_lines: int) -> str:
    """Return the beginning of a text with at most this many characters and lines."""
    piece = text[:num_chars]
    lines = piece.split("\n", num_lines)
    return piece if len(lines) <= num_lines else "\n".join(lines[:num_lines])


def why_not_editable(text: str) -> str:
    """Return why a text can't be shown in a field, as a sentence; "" if it can."""
    longest_run = max(map(len, text.split()), default=0)
    longest_line = max(map(len, text.split("\n")))
    if len(text) > _MAX_CHARS or longest_run > _MAX_RUN:
        sentence = QCoreApplication.translate(
            "WritingField",
            "The text is too long: {chars} characters, with up to {run} in a row without a space. A message can have "
            "{most} characters, and {longest} in a row without a space.",
        )
        return sentence.format(
            chars=counted(len(text)), run=counted(longest_run), most=counted(_MAX_CHARS), longest=counted(_MAX_RUN)
        )
    if longest_line > _MAX_LINE:
        sentence = QCoreApplication.translate(
            "WritingField", "The text is too long: a line has {chars} characters, but can have only {most}."
        )
        return sentence.format(chars=counted(longest_line), most=counted(_MAX_LINE))
    return ""


def _start_of(text: str, num_units: int) -> str:
    """Return the beginning of a text that has this many UTF-16 units."""
    start = text[:num_units]
    if start.isascii() or max(start) <= "\uffff":
        return start
    return start.encode("utf-16-le", "surrogatepass")[: 2 * num_units].decode("utf-16-le", "surrogatepass")


class MessageHistory(QObject):
    """Recalls earlier messages: Up in an empty field starts, Up and Down recall others, Esc empties the field.

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
