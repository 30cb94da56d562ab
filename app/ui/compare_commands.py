"""What is compared with what: a message with its version before, a branch with the visible one."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.controller import Controller
from app.model.message import Message, MessageId
from app.ui.compare_window import CompareWindow, Side
from app.ui.header import model_label
from app.ui.theme import Theme
from app.ui.times import when
from app.ui.tree_words import role_in_words


class CompareCommands(QObject):
    """Opens the window that compares; there is one at a time."""

    def __init__(self, controller: Controller, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._theme = theme
        self._window = window

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        opened = self._window.findChild(CompareWindow)
        if isinstance(opened, CompareWindow):
            opened.set_theme(theme)

    def compare(self, message_id: MessageId) -> None:
        """Compare a message with the version before it, the first with the next; a branch where there is none."""
        siblings = list(self._controller.siblings(message_id))
        if len(siblings) < 2:
            self.compare_with_branch(message_id)
            return
        place = siblings.index(message_id)
        left, right = (place - 1, place) if place else (0, 1)
        sides = [self._version(sibling, number, len(siblings)) for number, sibling in enumerate(siblings, 1)]
        self._open(sides, left, right)

    def compare_messages(self, one: MessageId, other: MessageId) -> None:
        """Compare two messages, wherever they stand."""
        siblings = list(self._controller.siblings(one))
        if other in siblings:
            sides = [self._version(sibling, number, len(siblings)) for number, sibling in enumerate(siblings, 1)]
            self._open(sides, siblings.index(one), siblings.index(other))
        else:
            self._open([self._message(one), self._message(other)], 0, 1)

    def compare_with_branch(self, message_id: MessageId) -> None:
        """Compare the branch that a message lies on with the visible one, from where they part."""
        opened = self._controller.opened
        if opened is None:
            return
        branch, visible = opened.branch_through(message_id), opened.path
        num_common = 0
        for one, other in zip(branch, visible, strict=False):
            if one.id != other.id:
                break
            num_common += 1
        sides = [
            Side(self.tr("The visible branch"), self._text(visible[num_common:])),
            Side(self.tr("The other branch"), self._text(branch[num_common:])),
        ]
        self._open(sides, 0, 1)

    def _open(self, sides: list[Side], left: int, right: int) -> None:
        opened = self._window.findChild(CompareWindow)
        compared = opened if isinstance(opened, CompareWindow) else CompareWindow(self._theme, self._window)
        compared.compare(sides, left, right)

    def _version(self, message_id: MessageId, number: int, count: int) -> Side:
        title = self.tr("Version {number} of {count}").format(number=number, count=count)
        return Side(self._titled(title, message_id), self._controller.message(message_id).text)

    def _message(self, message_id: MessageId) -> Side:
        message = self._controller.message(message_id)
        return Side(self._titled(role_in_words(message), message_id), message.text)

    def _titled(self, title: str, message_id: MessageId) -> str:
        message = self._controller.message(message_id)
        model = message.record.model if message.record is not None else ""
        parts = (title, message.name, model_label(model) if model else "", when(message.created_ms))
        return " · ".join(part for part in parts if part)

    def _text(self, messages: list[Message]) -> str:
        said = [self._controller.message(message.id) for message in messages]
        return "\n\n".join(f"{role_in_words(message)}\n{message.text}" for message in said)
