"""What the menu of draft models does: which model guesses for the one that is loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from app.program import Program
from app.ui import dialogs
from app.ui.header import model_label
from app.ui.menus import Menus
from app.ui.parts.plain import as_label, as_tool_tip


class DraftModelCommands(QObject):
    """Works on the model that all windows share."""

    def __init__(self, program: Program, window: QWidget) -> None:
        super().__init__(window)
        self._program = program
        self._window = window

    def slots(self) -> dict[str, Callable[[], object]]:
        """What each action does, by its name in the menus."""
        return {"no_draft_model": partial(self._program.set_draft_model, ""), "open_draft_model": self._open}

    def fill_menu(self, menus: Menus) -> None:
        """List what may guess for the present model; what does is checked."""
        menu = menus.menu("Draft model")
        menu.clear()
        session = self._program.session
        menu.addAction(menus["no_draft_model"])
        menus["no_draft_model"].setChecked(not session.draft)
        for name in self._program.settings.possible_drafts(session.name):
            choose = partial(self._program.set_draft_model, name)
            action = menu.addAction(as_label(model_label(name)), choose)
            action.setToolTip(as_tool_tip(name))
            action.setCheckable(True)
            action.setChecked(name == session.draft)
        menu.addSeparator()
        menu.addAction(menus["open_draft_model"])

    def _open(self) -> None:
        folder = dialogs.ask_draft_model_folder(self._window)
        if folder is not None:
            self._program.set_draft_model(str(folder))
