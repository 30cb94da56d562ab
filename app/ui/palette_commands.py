"""What the command palette offers: the menus' actions, pinned branches, conversations, models, presets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMainWindow

from app.conversation.controller import Controller
from app.model.presets import OURS, Preset
from app.ui.asking.asking_words import preset_name
from app.ui.header import model_label
from app.ui.menus import Menus, key_of, label
from app.ui.palette import Choice, Palette
from app.ui.tree.tree_words import called

_BEHIND_ACTIONS = 5.0


class PaletteCommands(QObject):
    """Opens the palette over a window."""

    def __init__(self, controller: Controller, menus: Menus, window: QMainWindow) -> None:
        super().__init__(window)
        self._controller = controller
        self._menus = menus
        self._window = window
        self._palette: Palette | None = None

    def slots(self) -> dict[str, Callable[[], object]]:
        """What each action does, by its name in the menus."""
        return {"palette": self.show}

    def show(self) -> None:
        """Open the palette with what is possible now."""
        if self._palette is None:
            self._palette = Palette(self._window)
        # Each menu finds out what is possible when it opens; so it does here, before the focus is in the palette.
        self._menus.look_again()
        self._palette.open(
            [*self._actions(), *self._pinned(), *self._conversations(), *self._models(), *self._presets()]
        )

    def _actions(self) -> Iterator[Choice]:
        for name, action in self._menus:
            if name != "palette" and action.isEnabled() and action.isVisible():
                mark = self._menus.icon_name(name)
                yield Choice(label(action), key_of(action), mark, action.trigger, is_checked=action.isChecked())

    def _pinned(self) -> Iterator[Choice]:
        opened = self._controller.opened
        for message in () if opened is None else opened.pinned:
            go = partial(self._controller.go_to, message.id)
            yield Choice(called(message), self.tr("Pinned branch"), "pin", go, _BEHIND_ACTIONS)

    def _conversations(self) -> Iterator[Choice]:
        kind, open_it = self.tr("Conversation"), self._controller.open_conversation
        for one in self._controller.program.conversations.all:
            yield Choice(one.name, one.folder or kind, "leaf", partial(open_it, one.id), _BEHIND_ACTIONS)

    def _models(self) -> Iterator[Choice]:
        program = self._controller.program
        for name in ("guide", *program.settings.recent_models):
            load = partial(program.load_model, name)
            yield Choice(model_label(name), self.tr("Model"), "model", load, _BEHIND_ACTIONS)

    def _presets(self) -> Iterator[Choice]:
        for preset in (*OURS, *self._controller.program.settings.presets):
            use = partial(self._use, preset)
            yield Choice(preset_name(preset), self.tr("Preset"), "sampling", use, _BEHIND_ACTIONS)

    def _use(self, preset: Preset) -> None:
        preparation = self._controller.preparation
        preparation.ask_so(preset.onto(preparation.asking))
