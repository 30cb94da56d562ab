"""Going through what was asked before, in the field where messages are typed; it knows no conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QTextCursor
from typing_extensions import override

from app.ui.asking.writing_field import WritingField


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
