"""What asking again would cost, said while another version of a message is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.conversation.controller import Controller
from app.costs.questions import PromptCosts
from app.model.message import Message

if TYPE_CHECKING:
    from app.ui.composer.system_prompt_popover import SystemPromptPopover
    from app.ui.message.message_editor import MessageEditor

_ANY_QUESTION = Message(id=0, parent_id=0, role="user", text="?")
"""Stands for the first one, which nobody has asked yet."""


class EditCosts(QObject):
    """Asks for each editor by itself, as long as it is open."""

    def __init__(self, controller: Controller, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller

    def show_in_editor(self, editor: MessageEditor) -> None:
        """Tell of a question, or a system prompt, in its editor; nothing is asked below another answer."""
        message = editor.message
        if message.role not in {"user", "system"}:
            return
        costs = PromptCosts(self._controller.program.session, editor)
        costs.known.connect(editor.show_cost)

        def ask() -> None:
            text = editor.text.content
            self._ask(costs, self._below(text) if message.role == "system" else self._instead_of(message, text))

        editor.text.textChanged.connect(ask)
        ask()

    def show_in_popover(self, popover: SystemPromptPopover) -> None:
        """Tell of a system prompt in its panel."""
        costs = PromptCosts(self._controller.program.session, popover)
        costs.known.connect(popover.show_cost)

        def ask() -> None:
            self._ask(costs, self._below(popover.editor.content))

        popover.editor.textChanged.connect(ask)
        ask()

    def _ask(self, costs: PromptCosts, path: Sequence[Message]) -> None:
        costs.ask(lambda: path, self._controller.preparation.template_options())

    def _below(self, text: str) -> list[Message]:
        """The first question under another system prompt."""
        first = [message for message in self._controller.path if message.role == "user"][:1]
        return [Message(id=0, parent_id=None, role="system", text=text), *(first or [_ANY_QUESTION])]

    def _instead_of(self, message: Message, text: str) -> list[Message]:
        """The branch to a question in another version."""
        path = self._controller.path
        place = next((place for place, other in enumerate(path) if other.id == message.id), len(path))
        return [*path[:place], Message(id=0, parent_id=message.parent_id, role="user", text=text)]
