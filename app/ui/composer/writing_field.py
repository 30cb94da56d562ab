"""A field for a message: it keeps what is written to the letter, and takes no more than it can lay out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit
from typing_extensions import override

from app.numbers import counted

_MOST_CHARS = 2_000_000
_LONGEST_RUN = 50_000
"""Characters without a space; Qt takes half a second to lay out four times as many, and grows with their square."""

_LINE_ENDS = str.maketrans("\u2028\u2029", "\n\n")


class WritingField(QPlainTextEdit):
    """Plain text, typed, pasted or dropped."""

    refused = Signal(str)
    """Why a text was not taken."""
    files_given = Signal(object)
    """Files that were pasted or dropped, as a list of paths, where they are taken."""

    takes_files = False

    _hint = ""
    """What it says while it is empty."""

    def show_hint(self, text: str) -> None:
        """Say something while it is empty, on one line."""
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
        """The text as it was written. (Qt's `toPlainText` makes plain spaces of no-break ones.)"""
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
        if len(whole) > _MOST_CHARS or longest_run > _LONGEST_RUN:
            self.refused.emit(
                self.tr(
                    "The text would have {chars} characters, the longest stretch without a space {run}. A message "
                    "takes {most} and {longest}. Nothing was pasted; paste a part of it."
                ).format(
                    chars=counted(len(whole)),
                    run=counted(longest_run),
                    most=counted(_MOST_CHARS),
                    longest=counted(_LONGEST_RUN),
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
                # Nothing was written that could be taken back: what was done to the tree is meant.
                event.ignore()
                return False
        return super().event(event)


def files_in(source: QMimeData) -> list[Path]:
    """Return the files of this computer among what is pasted or dropped."""
    return [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]


class MessageHistory(QObject):
    """Up in an empty field brings the last question, Up and Down go on from it, Esc empties the field again.

    What is brought is one's own as soon as it is changed.
    """

    def __init__(self, field: WritingField) -> None:
        super().__init__(field)
        self._field = field
        self.questions: Callable[[], Sequence[str]] = tuple
        """Gives what was asked, the oldest first."""
        self._shown: str | None = None
        """What was brought, as long as it is as it was."""
        self._place = 0
        field.installEventFilter(self)

    @property
    def is_walking(self) -> bool:
        """Whether what is in the field was brought there."""
        return self._shown is not None and self._field.content == self._shown

    def _step(self, step: int) -> bool:
        questions = self.questions()
        if not self.is_walking:
            if self._field.content or step > 0:
                return False
            self._place = len(questions)
        place = self._place + step
        if place < 0 or not questions:
            # The first one stays.
            return self.is_walking
        if place >= len(questions):
            self._end()
            return True
        self._place = place
        self._show(questions[place])
        return True

    def _show(self, text: str) -> None:
        self._field.selectAll()
        self._field.textCursor().insertText(text)
        self._field.moveCursor(QTextCursor.MoveOperation.End)
        self._shown = self._field.content

    def _end(self) -> None:
        self._shown = None
        self._field.clear()

    def _is_at_edge(self, step: int) -> bool:
        """Whether the cursor can go no further that way: within a message that was brought, lines come first."""
        cursor = self._field.textCursor()
        move = QTextCursor.MoveOperation.Up if step < 0 else QTextCursor.MoveOperation.Down
        return not cursor.movePosition(move)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            is_escape = event.key() == Qt.Key.Key_Escape and self.is_walking
            if event.type() == QEvent.Type.ShortcutOverride and is_escape:
                # Here Esc ends the walk, even while an answer streams that it would stop elsewhere.
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
