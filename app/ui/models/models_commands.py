"""The menu of models, and the actions that open the Models window or load a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDialog, QWidget

from app.conversation.controller import Controller
from app.ui.dialogs import questions
from app.ui.header import model_label
from app.ui.menus import Menus
from app.ui.models.draft_model_commands import DraftModelCommands
from app.ui.parts.labels import as_label, as_tool_tip
from app.ui.theme import Theme

if TYPE_CHECKING:
    from app.ui.models.models_window import ModelsWindow


class ModelsCommands(QObject):
    """Carries out actions on models, which all windows share."""

    def __init__(self, controller: Controller, menus: Menus, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._program = controller.program
        self._menus = menus
        self._theme = theme
        self._window = window
        self._drafts = DraftModelCommands(self._program, window)
        models = menus.menu("Models")
        models.aboutToShow.connect(self._drafts.check_models)
        models.aboutToShow.connect(self._fill_menu)
        models.aboutToShow.connect(partial(menus.draw_icons, models))
        self._fill_menu()

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {"models": self.show_models, "open_model": self._open_model, **self._drafts.slots()}

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        opened = self._opened
        if opened is not None:
            opened.set_theme(theme)

    @property
    def _opened(self) -> ModelsWindow | None:
        found = self._window.findChild(QDialog, "models")
        if found is None:
            return None
        from app.ui.models.models_window import ModelsWindow

        return found if isinstance(found, ModelsWindow) else None

    def show_models(self) -> ModelsWindow:
        """Open the Models window, or bring it to the front."""
        # Imported here because few starts need it.
        from app.ui.models.models_window import ModelsWindow

        opened = self._opened
        if opened is None:
            opened = ModelsWindow(self._program, self._theme, self._window)
            opened.chat_requested.connect(self._chat)
        opened.show()
        opened.raise_()
        opened.activateWindow()
        return opened

    def _chat(self, name: str) -> None:
        """Begin a conversation with a model, and load the model if necessary."""
        opened = self._opened
        if opened is not None:
            opened.close()
        self._controller.chat_with(name)
        self._window.activateWindow()
        self._menus["write"].trigger()

    def _fill_menu(self) -> None:
        """List the guide, the starter and the recent models, and mark the model that answers in this window."""
        menus = self._menus
        menu = menus.menu("Models")
        # Deletes only the actions that were made for this menu; those that the window owns are added again.
        menu.clear()
        current = self._controller.model.name
        for name in self._program.offered_models:
            action = menu.addAction(as_label(model_label(name)), partial(self._controller.choose_model, name))
            action.setToolTip(as_tool_tip(name))
            action.setCheckable(True)
            action.setChecked(name == current)
        menu.addSeparator()
        menu.addAction(menus["models"])
        menu.addAction(menus["open_model"])
        menu.addMenu(menus.menu("Draft model"))
        self._drafts.fill_menu(menus)

    def _open_model(self) -> None:
        folder = questions.ask_model_folder(self._window, self._program.settings.recent_models)
        if folder is not None and not any(folder.glob("*.gguf")):
            self._controller.choose_model(str(folder))
        elif folder is not None:
            self.open_models([folder])

    def open_models(self, paths: Sequence[Path]) -> None:
        """Show GGUF files and model folders in the Models window, which converts GGUF files."""
        window = self.show_models()
        for path in paths:
            window.open_path(path)
