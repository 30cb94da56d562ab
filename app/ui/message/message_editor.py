"""Editing a message in place: the editor, where it is inserted, and what asking again would cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QBoxLayout, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from app.conversation.controller import Controller
from app.costs.worker_queries import Cost, PromptCosts
from app.model.message import Message
from app.ui.composer.writing_field import WritingField
from app.ui.message.message_action import ReplaceText, SaveAndContinue, SaveVersion
from app.ui.parts.buttons import claim_escape
from app.ui.parts.cost_text import cost_text
from app.ui.parts.labels import ElidedLabel
from app.ui.parts.layouts import FlowLayout, tab_stops
from app.ui.parts.qt_workarounds import discard

if TYPE_CHECKING:
    from app.ui.composer.system_prompt_popover import SystemPromptPopover

_HEIGHTS_PX = (72, 320)
"""Minimum and maximum height of the field."""
_PADDING_PX = 24
_SAMPLE_QUESTION = Message(id=0, parent_id=0, role="user", text="?")
"""Takes the place of the first question while a conversation has none."""


class MessageEditor(QWidget):
    """A text field with the old text, and buttons.

    Enter saves a new version, Ctrl+Enter saves it and asks the model, Shift+Enter breaks the line, Esc cancels.
    """

    finished = Signal(object)
    """A `SaveVersion`, `SaveAndContinue` or `ReplaceText`; None if the edit was cancelled or changed nothing."""
    refused = Signal(str)
    """Why the field did not accept a pasted text."""

    def __init__(self, message: Message, draft: str | None = None) -> None:
        """`draft` is the text to start with; None means the old text."""
        super().__init__()
        self.message = message
        # The field normalises line endings.
        self._old_text = message.text.replace("\r\n", "\n").replace("\r", "\n")
        self.text = WritingField(message.text if draft is None else draft)
        self.text.refused.connect(self.refused)
        self.text.setObjectName("editor")
        self.text.setAccessibleName(self.tr("New version"))
        self.text.setTabChangesFocus(True)
        self.text.installEventFilter(self)
        self.text.textChanged.connect(self._fit)
        self._fit()
        self._hint = ElidedLabel()
        self._hint.setObjectName("quiet")
        self._hint.show_text(self.tr("The old version is kept."))
        self._buttons = self._new_buttons()
        self._footer = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._footer.setSpacing(8)
        self._footer.addWidget(self._hint, 1)
        self._footer.addLayout(self._buttons)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.setSpacing(8)
        layout.addWidget(self.text)
        layout.addLayout(self._footer)

    def _new_buttons(self) -> FlowLayout:
        cancel = QPushButton(self.tr("Cancel"))
        cancel.clicked.connect(self._cancel)
        shown = [cancel]
        if self.message.role == "user":
            save = QPushButton(self.tr("Ask again"))
            save.setToolTip(self.tr("Enter or Ctrl+Enter"))
        else:
            save = QPushButton(self.tr("Save"))
            save.setToolTip(self.tr("Save as a new version (Enter)"))
        save.clicked.connect(self._save)
        shown.append(save)
        if self.message.role == "assistant":
            save_and_continue = QPushButton(self.tr("Save and continue"))
            save_and_continue.setToolTip(self.tr("Save as a new version that the model continues (Ctrl+Enter)"))
            save_and_continue.clicked.connect(self._save_and_ask)
            shown.append(save_and_continue)
        shown[-1].setObjectName("primary")
        buttons = FlowLayout(is_at_end=True)
        buttons.setSpacing(8)
        for button in shown:
            buttons.addWidget(button)
        return buttons

    @property
    def draft(self) -> str | None:
        """The text in the field; None if it equals the old text."""
        text = self.text.content
        return None if text == self._old_text else text

    @property
    def hint(self) -> str:
        """The full text beside the buttons."""
        return self._hint.accessibleName()

    def put_back(self, text: str) -> None:
        """Replace the content of the field by `text` in one step that Undo takes back."""
        self.text.finish_writing()
        cursor = self.text.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.text.setTextCursor(cursor)

    def show_cost(self, cost: Cost) -> None:
        """Show what asking again with the new version would cost."""
        self._hint.show_text(cost_text(cost))
        self._fit_footer()

    def _save(self) -> None:
        self.finished.emit(None if self.draft is None else SaveVersion(self.draft))

    def _save_and_ask(self) -> None:
        """Save a new version, and let the model answer it if it is a question, or continue it if it is an answer."""
        if self.message.role == "assistant":
            self.finished.emit(SaveAndContinue(self._old_text if self.draft is None else self.draft))
        else:
            self._save()

    def replace(self) -> None:
        """Replace the old version by the text in the field."""
        self.finished.emit(None if self.draft is None else ReplaceText(self.draft))

    def _cancel(self) -> None:
        self.finished.emit(None)

    def _fit(self) -> None:
        """Make the field as high as its text, between the minimum and the maximum height."""
        # For plain text, Qt gives the height of the document in lines, wrapped ones included.
        num_lines = self.text.document().documentLayout().documentSize().height()
        line_px = math.ceil(QFontMetricsF(self.text.font()).lineSpacing())
        min_px, max_px = _HEIGHTS_PX
        self.text.setFixedHeight(min(max(round(num_lines) * line_px + _PADDING_PX, min_px), max_px))

    def _fit_footer(self) -> None:
        """Move the hint above the buttons if it does not fit beside them."""
        needed = self._hint.fontMetrics().horizontalAdvance(self.hint) + self._footer.spacing()
        has_room = needed + self._buttons.sizeHint().width() <= self.width()
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._footer.setDirection(across if has_room else down)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
        self._fit_footer()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        # The buttons pass Esc on to their parent.
        if event.key() == Qt.Key.Key_Escape:
            self._cancel()
        else:
            super().keyPressEvent(event)

    @override
    def event(self, event: QEvent) -> bool:
        return claim_escape(event) or super().event(event)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if claim_escape(event):
            return True
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
            if event.key() == Qt.Key.Key_Escape:
                self._cancel()
                return True
            if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                if not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                    self._save_and_ask()
                    return True
                # A shortcut of the window.
                return False
            if is_enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._save()
                return True
        return super().eventFilter(watched, event)


class InPlaceEdit(QObject):
    """Opens and closes the editor of one message view."""

    opened = Signal(object)
    """The `MessageEditor`."""
    closed = Signal()
    """Emitted before `finished` or `cancelled`."""
    finished = Signal(object)
    """`SaveVersion`, `SaveAndContinue` or `ReplaceText`."""
    cancelled = Signal(str)
    """The text of the cancelled edit, if it changed anything."""
    refused = Signal(str)
    """Why the editor did not accept a pasted text."""

    def __init__(self, card: QVBoxLayout) -> None:
        """The editor is appended to `card`."""
        super().__init__()
        self._card = card
        self._editor: MessageEditor | None = None

    @property
    def is_open(self) -> bool:
        return self._editor is not None

    @property
    def draft(self) -> str | None:
        """The changed text in the editor; None if it is closed or unchanged."""
        return None if self._editor is None else self._editor.draft

    @property
    def tab_stops(self) -> list[QWidget]:
        """The field and the buttons of the editor, if it is open."""
        return [] if self._editor is None else tab_stops(self._editor)

    def open(self, message: Message, draft: str | None, cancelled: str | None = None) -> None:
        """Open the editor, unless it is open already.

        `draft` is the text of an edit that was begun in another view. `cancelled` is the text of an earlier edit that
        the user cancelled: it is shown again, and Undo removes it.
        """
        if self._editor is not None:
            return
        editor = self._editor = MessageEditor(message, draft)
        if cancelled is not None:
            editor.put_back(cancelled)
        editor.finished.connect(self._on_finished)
        editor.refused.connect(self.refused)
        self._card.addWidget(editor)
        self.opened.emit(editor)
        # At the end of a long text, what is typed would stand before the part that is not shown yet.
        if not editor.text.is_writing:
            editor.text.moveCursor(QTextCursor.MoveOperation.End)
        if draft is None:
            editor.text.setFocus()

    def replace(self) -> None:
        """Replace the old version by the text in the editor, if it is open."""
        if self._editor is not None:
            self._editor.replace()

    def _on_finished(self, request: SaveVersion | SaveAndContinue | ReplaceText | None) -> None:
        editor, draft = self._editor, self.draft
        if editor is None:
            return
        self._editor = None
        discard(editor)
        self.closed.emit()
        if request is not None:
            self.finished.emit(request)
        elif draft is not None:
            self.cancelled.emit(draft)


class EditCosts(QObject):
    """Shows in open editors what asking again with their text would cost."""

    def __init__(self, controller: Controller, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller

    def show_in_editor(self, editor: MessageEditor) -> None:
        """Show the cost of an edited question or system prompt. An edited answer costs nothing: no answer follows."""
        message = editor.message
        if message.role not in {"user", "system"}:
            return
        costs = PromptCosts(self._controller.model, editor)
        costs.known.connect(editor.show_cost)

        def ask() -> None:
            text = editor.text.content
            is_system = message.role == "system"
            self._ask(costs, self._path_below(text) if is_system else self._path_to(message, text))

        editor.text.textChanged.connect(ask)
        ask()

    def show_in_popover(self, popover: SystemPromptPopover) -> None:
        """Show the cost of the system prompt in its popover."""
        costs = PromptCosts(self._controller.model, popover)
        costs.known.connect(popover.show_cost)

        def ask() -> None:
            self._ask(costs, self._path_below(popover.editor.content))

        popover.editor.textChanged.connect(ask)
        ask()

    def _ask(self, costs: PromptCosts, path: Sequence[Message]) -> None:
        costs.ask(lambda: path, self._controller.preparation.template_options())

    def _path_below(self, system_prompt: str) -> list[Message]:
        """Return the path to the first question below a new system prompt."""
        first = [message for message in self._controller.shown.path if message.role == "user"][:1]
        return [Message(id=0, parent_id=None, role="system", text=system_prompt), *(first or [_SAMPLE_QUESTION])]

    def _path_to(self, message: Message, text: str) -> list[Message]:
        """Return the path to a new version of a question."""
        path = self._controller.shown.path
        index = next((index for index, other in enumerate(path) if other.id == message.id), len(path))
        return [*path[:index], Message(id=0, parent_id=message.parent_id, role="user", text=text)]
