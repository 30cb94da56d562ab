"""Commands that compare a message with another version, or a branch with the visible one."""

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
    pass

_Passage: TypeAlias = tuple[str, bool]
"""A text, and whether it is Markdown."""
_Side: TypeAlias = tuple[str, list[_Passage]]
"""A title, and the parts of a text."""


class CompareCommands(QObject):
    """Opens the compare window, at most one at a time. Its module is imported when it is first opened."""

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
        """Compare a message with the version before it, or the first version with the second.

        If the message has only one version, its branch is compared.
        """
        message_id = self._controller.shown.first_part(message_id)
        siblings = list(self._controller.shown.siblings(message_id))
        if len(siblings) < 2:
            self.compare_with_branch(message_id)
            return
        index = siblings.index(message_id)
        left, right = (index - 1, index) if index else (0, 1)
        sides = [self._version(sibling, number, len(siblings)) for number, sibling in enumerate(siblings, 1)]
        self._open(sides, left, right)

    def compare_messages(self, one: MessageId, other: MessageId) -> None:
        """Compare any two messages."""
        one, other = self._controller.shown.first_part(one), self._controller.shown.first_part(other)
        siblings = list(self._controller.shown.siblings(one))
        if other in siblings:
            sides = [self._version(sibling, number, len(siblings)) for number, sibling in enumerate(siblings, 1)]
            self._open(sides, siblings.index(one), siblings.index(other))
        else:
            self._open([self._message(one), self._message(other)], 0, 1)

    def compare_with_branch(self, message_id: MessageId) -> None:
        """Compare the branch of a message with the visible one, without their common beginning."""
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
            (self.tr("The visible branch"), self._passages(visible[num_common:])),
            (self.tr("The other branch"), self._passages(branch[num_common:])),
        ]
        self._open(sides, 0, 1)

    def _open(self, sides: list[_Side], left: int, right: int) -> None:
        from app.ui.comparing.compare_window import CompareWindow, Passage, Side

        window = self._window.findChild(CompareWindow)
        if not isinstance(window, CompareWindow):
            window = CompareWindow(self._theme, self._window)
            self._theme_changed.connect(window.set_theme)
        shown = [Side(title, [Passage(*passage) for passage in passages]) for title, passages in sides]
        window.compare(shown, left, right)

    def _version(self, message_id: MessageId, number: int, count: int) -> _Side:
        title = self.tr("Version {number} of {count}").format(number=number, count=count)
        return self._titled(title, message_id), [_passage(self._controller.shown.whole(message_id))]

    def _message(self, message_id: MessageId) -> _Side:
        message = self._controller.shown.whole(message_id)
        return self._titled(role_text(message), message_id), [_passage(message)]

    def _titled(self, title: str, message_id: MessageId) -> str:
        message = self._controller.shown.whole(message_id)
        model = message.record.model if message.record is not None else ""
        details = (title, message.name, model_label(model) if model else "", when(message.created_ms))
        return " · ".join(detail for detail in details if detail)

    def _passages(self, messages: list[Message]) -> list[_Passage]:
        passages: list[_Passage] = []
        for number, message in enumerate(self._controller.shown.message(message.id) for message in messages):
            passages.append(("\n\n" * bool(number) + f"{role_text(message)}\n", False))
            passages.append(_passage(message))
        return passages


def _passage(message: Message) -> _Passage:
    return message.text, message.role == "assistant"
