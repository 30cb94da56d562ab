"""What the actions for reading do: tokens, text as it was written, thoughts, links, going on from the cursor."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.controller import Controller
from app.late import Late
from app.model.message import MessageId
from app.ui.menus import Menus
from app.ui.theme import Theme
from app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from app.ui.message.message_view import MessageView
    from app.ui.text.token_legend import TokenLegend


class ReadingCommands(QObject):
    """Works on the message that the window says is meant, and on all of them where the tokens are shown."""

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
        self._legend = Late(self._make_legend)
        controller.program.settings_changed.connect(self._show_tokens)

    def slots(self) -> dict[str, Callable[[], object]]:
        """What each action does, by its name in the menus."""
        return {
            "tokens": self._toggle_tokens,
            "raw": partial(self._on_current, lambda view: view.toggle_raw()),
            "thought": partial(self._on_current, lambda view: view.toggle_thought()),
            "links": partial(self._on_current, lambda view: view.text.links.walk()),
            "go_on_from_here": partial(self._on_current, lambda view: view.go_on_from_here()),
        }

    def update(self) -> None:
        """Let those be chosen that are possible now."""
        self._show_tokens()
        message_id = self._current()
        is_answer = message_id is not None and self._transcript.shown(message_id).message.role == "assistant"
        for name in ("raw", "thought", "links", "go_on_from_here"):
            self._menus[name].setEnabled(is_answer)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._legend.made is not None:
            self._legend.made.set_theme(theme)

    def _toggle_tokens(self) -> None:
        shown = not self._controller.program.settings.tokens_visible
        self._controller.program.preferences.change(tokens_visible=shown)

    def _show_tokens(self) -> None:
        shown = self._controller.program.settings.tokens_visible
        self._menus["tokens"].setChecked(shown)
        self._transcript.modes.show_tokens(shown)
        if shown or self._legend.made is not None:
            self._legend.get().setVisible(shown)

    def _on_current(self, act: Callable[[MessageView], object]) -> None:
        message_id = self._current()
        view = None if message_id is None else self._transcript.reveal(message_id)
        if view is not None:
            act(view)

    def _make_legend(self) -> TokenLegend:
        from app.ui.text.token_legend import TokenLegend

        return TokenLegend(self._theme, self._transcript)
