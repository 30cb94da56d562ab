"""The commands for the display of messages: tokens, source text, thoughts, links, and the cost of continuing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.conversation.controller import Controller
from app.costs.worker_queries import Cost, PromptCosts
from app.lazy import Lazy
from app.model.message import MessageId
from app.ui.menus import Menus
from app.ui.message.action_row import continue_label
from app.ui.message.message_action import DisplayAction, MessageAction
from app.ui.parts.cost_text import cost_text
from app.ui.theme import Theme
from app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from app.ui.text.token_tint import TokenLegend


_CONTINUE = MessageAction.CONTINUE.value
_LONG_COST = Cost(num_read=10_000, num_kept=10_000, tier="cold", seconds=10.0)
"""A cost with a long text. The menu reserves space for it."""


class DisplayCommands(QObject):
    """The menu's display actions, which work on the current message, and the token display of the whole page."""

    def __init__(
        self,
        controller: Controller,
        transcript: Transcript,
        current: Callable[[], MessageId | None],
        menus: Menus,
        theme: Theme,
    ) -> None:
        super().__init__(transcript)
        self._controller = controller
        self._transcript = transcript
        self._current = current
        self._menus = menus
        self._theme = theme
        self._legend = Lazy(self._make_legend)
        self._label = ""
        self._costs = PromptCosts(controller.model, self)
        self._costs.known.connect(self._show_cost)
        controller.program.settings_changed.connect(self._show_tokens)

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {
            "tokens": self._toggle_tokens,
            **{action.value: partial(self._perform_on_current, action) for action in DisplayAction},
        }

    def update(self) -> None:
        """Enable the possible actions in the menu."""
        self._show_tokens()
        message_id = self._current()
        is_answer = message_id is not None and self._transcript.shown(message_id).message.role == "assistant"
        for action in DisplayAction:
            self._menus[action.value].setEnabled(is_answer)
        self._ask_cost(message_id if is_answer else None)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._legend.made is not None:
            self._legend.made.set_theme(theme)

    # --- continuing ----------------------------------------------------------------------------------------

    def _ask_cost(self, message_id: MessageId | None) -> None:
        """Ask the worker what continuing an answer would cost, and show the cost in the menu when it arrives."""
        menu, forks = self._menus.menu("Message"), self._controller.forks
        view = self._transcript.view(message_id) if message_id is not None else None
        num_chars = None if view is None else view.position_to_continue
        answer = None if view is None else forks.beginning(view.message.id, num_chars)
        self._label = continue_label(is_inside=num_chars is not None)
        self._menus.set_text(_CONTINUE, self._label)
        menu.setMinimumWidth(0)
        if answer is None or answer.record is None:
            self._costs.forget()
            return
        # The open menu keeps its width when the cost arrives.
        self._show_cost(_LONG_COST)
        width, screen = menu.sizeHint().width(), menu.screen().availableGeometry()
        self._menus.set_text(_CONTINUE, self._label)
        if width > screen.width():
            # The tree shows the cost, too.
            self._costs.forget()
            return
        menu.setMinimumWidth(width)
        # Qt adds the room for keys to the minimum width.
        menu.setMinimumWidth(2 * width - menu.sizeHint().width())
        # Otherwise a menu that scrolls would grow beyond the screen when the cost arrives.
        menu.setMaximumHeight(screen.height())
        path, parent_id = self._controller.shown.path, answer.parent_id
        above = path[: next((number for number, message in enumerate(path, 1) if message.id == parent_id), 0)]
        self._costs.ask(lambda: above, answer.record.template_options, answer)

    def _show_cost(self, cost: Cost) -> None:
        self._menus.set_text(_CONTINUE, f"{self._label} ({cost_text(cost)})")

    # --- tokens --------------------------------------------------------------------------------------------

    def _toggle_tokens(self) -> None:
        shown = not self._controller.program.settings.tokens_visible
        self._controller.program.preferences.change(tokens_visible=shown)

    def _show_tokens(self) -> None:
        shown = self._controller.program.settings.tokens_visible
        self._menus["tokens"].setChecked(shown)
        self._transcript.modes.show_tokens(shown)
        self._transcript.modes.show_all_figures(self._controller.program.settings.all_figures)
        if shown or self._legend.made is not None:
            self._legend.get().setVisible(shown)

    def _perform_on_current(self, action: DisplayAction) -> None:
        message_id = self._current()
        view = None if message_id is None else self._transcript.reveal(message_id)
        if view is not None:
            view.perform(action)

    def _make_legend(self) -> TokenLegend:
        from app.ui.text.token_tint import TokenLegend

        return TokenLegend(self._theme, self._transcript)
