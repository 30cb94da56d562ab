"""The menu of draft models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from app.program import Program
from app.ui.dialogs import questions
from app.ui.header import model_label
from app.ui.menus import Menus
from app.ui.parts.labels import as_label, as_tool_tip

if TYPE_CHECKING:
    from app.draft_models import DraftModels


class DraftModelCommands(QObject):
    """Fills the menu and changes the draft model, which all windows share."""

    def __init__(self, program: Program, window: QWidget) -> None:
        super().__init__(window)
        self._program = program
        self._window = window
        self._offered: dict[str, QAction] = {}
        """Menu actions by the name of their model."""
        self._drafts: DraftModels | None = None
        """None until the menu is opened."""

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slots of the actions, by action name."""
        return {"no_draft_model": partial(self._program.set_draft_model, ""), "open_draft_model": self._open}

    def fill_menu(self, menus: Menus) -> None:
        """List the possible draft models for the loaded model, and mark the present one."""
        menu = menus.menu("Draft model")
        menu.clear()
        session = self._program.session
        menu.addAction(menus["no_draft_model"])
        menus["no_draft_model"].setChecked(not session.draft)
        self._offered = {}
        # The present one may come from the model's own settings.
        present = [session.draft] if session.draft else []
        for name in dict.fromkeys([*self._program.settings.possible_drafts(session.name), *present]):
            choose = partial(self._program.set_draft_model, name)
            action = self._offered[name] = menu.addAction(as_label(model_label(name)), choose)
            action.setToolTip(as_tool_tip(name))
            action.setCheckable(True)
            action.setChecked(name == session.draft)
        self._show_misfits()
        menu.addSeparator()
        menu.addAction(menus["open_draft_model"])

    def check_models(self) -> None:
        """Find out which draft models can be used with the loaded model. Called when the menu is about to open."""
        if self._drafts is None:
            self._drafts = self._program.drafts
            self._drafts.changed.connect(self._show_misfits)
        self._drafts.check()

    def _show_misfits(self) -> None:
        for name, action in self._offered.items():
            problem = "" if self._drafts is None else misfit_text(self._program, name)
            action.setEnabled(not problem)
            label = as_label(model_label(name))
            action.setText(f"{label} ({problem})" if problem else label)

    def _open(self) -> None:
        settings = self._program.settings
        folder = questions.ask_draft_model_folder(self._window, [*settings.recent_drafts, *settings.recent_models])
        if folder is not None:
            self._program.set_draft_model(str(folder))


def misfit_text(program: Program, name: str) -> str:
    """Return why a draft model does not fit the loaded model, in a few words; empty if no problem is known."""
    match program.drafts.misfit(name):
        case "gone":
            return QCoreApplication.translate("DraftModels", "missing")
        case "other_tokens":
            return QCoreApplication.translate("DraftModels", "different vocabulary from {model}").format(
                model=model_label(program.session.name)
            )
        case None:
            return ""
