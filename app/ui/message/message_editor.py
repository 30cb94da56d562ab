"""Another version of a message, as it is written in the message's place."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.costs.prompt_cost import Cost
from app.model.message import Message
from app.ui.composer.writing_field import WritingField
from app.ui.parts.cost_text import cost_text
from app.ui.parts.labels import ElidedLabel

_HEIGHTS_PX = (72, 320)
_AROUND_PX = 24
"""Of the field around its lines."""


class MessageEditor(QWidget):
    """A field with the old text.

    Enter takes the new one, Ctrl+Enter puts it in the old one's place, Shift+Enter breaks the line, Esc gives up.
    """

    ended = Signal(object)
    """The new text, None where there is to be none."""

    replaced = Signal(str)
    """The text that is to stand in the old one's place."""

    refused = Signal(str)
    """Why a text was not taken."""

    def __init__(self, message: Message, draft: str | None = None) -> None:
        """`draft`: what was written here before, to be gone on with."""
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.setSpacing(8)
        self.message = message
        # As the field has it: line ends of other systems are plain ones there.
        self._old = message.text.replace("\r\n", "\n").replace("\r", "\n")
        self.text = WritingField(message.text if draft is None else draft)
        self.text.refused.connect(self.refused)
        self.text.setObjectName("editor")
        self.text.setAccessibleName(self.tr("New version"))
        self.text.setTabChangesFocus(True)
        self.text.installEventFilter(self)
        self.text.textChanged.connect(self._fit)
        self._fit()
        layout.addWidget(self.text)
        self._hint = ElidedLabel()
        self._hint.setObjectName("quiet")
        self._hint.show_text(self.tr("The old version stays beside it."))
        cancel = QPushButton(self.tr("Cancel"))
        cancel.clicked.connect(lambda: self.ended.emit(None))
        save = QPushButton(self.tr("Ask again") if message.role == "user" else self.tr("Save as new version"))
        save.setObjectName("primary")
        save.clicked.connect(self._save)
        replace = QPushButton(self.tr("Replace"))
        replace.setToolTip(self.tr("Put it in the old version's place (Ctrl+Enter); Undo brings that back"))
        replace.clicked.connect(self._replace)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        self._buttons.addStretch(1)
        for button in (cancel, replace, save):
            self._buttons.addWidget(button)
        self._foot = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._foot.setSpacing(8)
        self._foot.addWidget(self._hint, 1)
        self._foot.addLayout(self._buttons)
        layout.addLayout(self._foot)

    @property
    def draft(self) -> str | None:
        """What is written, None while it is the old text."""
        text = self.text.content
        return None if text == self._old else text

    def put_back(self, text: str) -> None:
        """Let what was written before stand here again; Undo brings the old text instead."""
        cursor = self.text.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.text.setTextCursor(cursor)

    def _replace(self) -> None:
        if self.draft is None:
            self.ended.emit(None)
        else:
            self.replaced.emit(self.draft)

    @property
    def hint(self) -> str:
        """What is said beside the buttons."""
        return self._hint.accessibleName()

    def show_cost(self, cost: Cost) -> None:
        """Say what asking again below the new version would cost."""
        self._hint.show_text(cost_text(cost))
        self._fit_foot()

    def _fit(self) -> None:
        """Be as high as what is written, within limits."""
        # In lines, wrapped ones included: Qt measures plain text so.
        num_lines = self.text.document().documentLayout().documentSize().height()
        line_px = math.ceil(QFontMetricsF(self.text.font()).lineSpacing())
        least_px, most_px = _HEIGHTS_PX
        self.text.setFixedHeight(min(max(round(num_lines) * line_px + _AROUND_PX, least_px), most_px))

    def _fit_foot(self) -> None:
        """What it costs stands over the buttons where there is no room for it beside them."""
        needed = self._hint.fontMetrics().horizontalAdvance(self.hint) + self._foot.spacing()
        has_room = needed + self._buttons.sizeHint().width() <= self.width()
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._foot.setDirection(across if has_room else down)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        self._fit_foot()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        # From its buttons, too.
        if event.key() == Qt.Key.Key_Escape:
            self.ended.emit(None)
        else:
            super().keyPressEvent(event)

    def _save(self) -> None:
        self.ended.emit(self.draft)

    @override
    def event(self, event: QEvent) -> bool:
        # Here Esc gives the edit up, even while an answer streams that it would stop elsewhere.
        is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if is_escape and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return super().event(event)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            # Here Esc gives the edit up, even while an answer streams that it would stop elsewhere.
            if event.key() == Qt.Key.Key_Escape:
                event.accept()
                return True
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape:
                self.ended.emit(None)
                return True
            is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
            if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self._replace()
                return True
            if is_enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._save()
                return True
        return super().eventFilter(watched, event)
