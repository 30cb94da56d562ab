"""What is compared with what: a message with its version before, a branch with the visible one.

The window that compares is imported when it opens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.conversation.controller import Controller
from app.model.message import Message, MessageId
from app.ui.header import model_label
from app.ui.parts.times import when
from app.ui.theme import Theme
from app.ui.tree.tree_text import role_text

if TYPE_CHECKING:
    from app.ui.comparing.compare_window import CompareWindow

_Side: TypeAlias = tuple[str, str]
"""What it is called, and its text."""


class CompareCommands(QObject):
    """Opens the window that compares; there is one at a time."""

    _theme_changed = Signal(object)

    def __init__(self, controller: Controller, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._theme = theme
        self._window = window

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._theme_changed.emit(theme)

    def compare(self, message_id: MessageId) -> None:
        """Compare a message with the version before it, the first with the next; a branch where there is none."""
        siblings = list(self._controller.shown.siblings(message_id))
        if len(siblings) < 2:
            self.compare_with_branch(message_id)
            return
        place = siblings.index(message_id)
        left, right = (place - 1, place) if place else (0, 1)
        sides = [self._version(sibling, number, len(siblings)) for number, sibling in enumerate(siblings, 1)]
        self._open(sides, left, right)

    def compare_messages(self, one: MessageId, other: MessageId) -> None:
        """Compare two messages, wherever they stand."""
        siblings = list(self._controller.shown.siblings(one))
        if other in siblings:
            sides = [self._version(sibling, number, len(siblings)) for number, sibling in enumerate(siblings, 1)]
            self._open(sides, siblings.index(one), siblings.index(other))
        else:
            self._open([self._message(one), self._message(other)], 0, 1)

    def compare_with_branch(self, message_id: MessageId) -> None:
        """Compare the branch that a message lies on with the visible one, from where they part."""
        opened = self._controller.shown.opened
        if opened is None:
            return
        branch, visible = opened.branch_through(message_id), opened.path
        num_common = 0
        for one, other in zip(branch, visible, strict=False):
            if one.id != other.id:
                break
            num_common += 1
        sides = [
            (self.tr("The visible branch"), self._text(visible[num_common:])),
            (self.tr("The other branch"), self._text(branch[num_common:])),
        ]
        self._open(sides, 0, 1)

    def _open(self, sides: list[_Side], left: int, right: int) -> None:
        from app.ui.comparing.compare_window import CompareWindow, Side

        opened = self._window.findChild(CompareWindow)
        compared = opened if isinstance(opened, CompareWindow) else self._new(CompareWindow(self._theme, self._window))
        compared.compare([Side(*side) for side in sides], left, right)

    def _new(self, compared: CompareWindow) -> CompareWindow:
        self._theme_changed.connect(compared.set_theme)
        return compared

    def _version(self, message_id: MessageId, number: int, count: int) -> _Side:
        title = self.tr("Version {number} of {count}").format(number=number, count=count)
        return self._titled(title, message_id), self._controller.shown.message(message_id).text

    def _message(self, message_id: MessageId) -> _Side:
        message = self._controller.shown.message(message_id)
        return self._titled(role_text(message), message_id), message.text

    def _titled(self, title: str, message_id: MessageId) -> str:
        message = self._controller.shown.message(message_id)
        model = message.record.model if message.record is not None else ""
        parts = (title, message.name, model_label(model) if model else "", when(message.created_ms))
        return " · ".join(part for part in parts if part)

    def _text(self, messages: list[Message]) -> str:
        said = [self._controller.shown.message(message.id) for message in messages]
        return "\n\n".join(f"{role_text(message)}\n{message.text}" for message in said)
