"""Commands that change the tree: star, pin, name, prune, keep only one version; undo and redo."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QObject, Signal
from PySide6.QtWidgets import QWidget

from app.conversation.controller import Controller
from app.model.message import MessageId
from app.ui.dialogs import questions
from app.ui.menus import Menus

STEPS = (
    QT_TRANSLATE_NOOP("Steps", "Send"),
    QT_TRANSLATE_NOOP("Steps", "Edit"),
    QT_TRANSLATE_NOOP("Steps", "Replace"),
    QT_TRANSLATE_NOOP("Steps", "Regenerate"),
    QT_TRANSLATE_NOOP("Steps", "Continue"),
    QT_TRANSLATE_NOOP("Steps", "Fork at token"),
    QT_TRANSLATE_NOOP("Steps", "Go on from here"),
    QT_TRANSLATE_NOOP("Steps", "Star"),
    QT_TRANSLATE_NOOP("Steps", "Unstar"),
    QT_TRANSLATE_NOOP("Steps", "Pin branch"),
    QT_TRANSLATE_NOOP("Steps", "Unpin branch"),
    QT_TRANSLATE_NOOP("Steps", "Name branch"),
    QT_TRANSLATE_NOOP("Steps", "Prune"),
)
"""The controller's names of the steps that can be undone, marked for translation."""

_MARKS = ("star", "pin_branch")
_PRUNING = ("prune", "keep_only")
_VERSIONS = ("side_by_side", "compare", "keep_only")
ACTIONS = ("star", "pin_branch", "name", "prune", *_VERSIONS)


class TreeCommands(QObject):
    """Runs the commands on the current message of the window, or on any other."""

    versions_requested = Signal(object)
    """The ids of siblings to show side by side."""
    comparison_requested = Signal(int)
    """A message to compare with its version before."""
    refused = Signal(str)
    """The reason why a command was not run."""

    def __init__(self, controller: Controller, current: Callable[[], MessageId | None], window: QWidget) -> None:
        """`current` returns the id of the message that menu commands work on."""
        super().__init__(window)
        self._controller = controller
        self._current = current
        self._window = window

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the functions of the actions by their names in the menus."""
        return {
            **{name: partial(self._on_current, name) for name in ACTIONS},
            "undo": self._controller.undo,
            "redo": self._controller.redo,
        }

    def update(self, menus: Menus) -> None:
        """Enable the actions that are possible now, and name the steps to undo and redo."""
        for name, verb, step in (
            ("undo", self.tr("Undo"), self._controller.to_undo),
            ("redo", self.tr("Redo"), self._controller.to_redo),
        ):
            menus[name].setEnabled(bool(step))
            step_text = QCoreApplication.translate("Steps", step) if step else ""
            menus.call(name, f"{verb}: {step_text}" if step_text else verb)
        message_id = self._current()
        possible = self.possible(message_id) if message_id is not None else ()
        for name in ACTIONS:
            menus[name].setEnabled(name in possible)
            menus.call(name, "")
        marks = self.marks(message_id) if message_id is not None else {}
        for name in _MARKS:
            menus[name].setChecked(marks.get(name, False))

    def show_counts(self, menus: Menus) -> None:
        """Show how many messages pruning would remove; slow in large trees, so only when a menu opens."""
        message_id = self._current()
        for name in _PRUNING:
            if message_id is not None and menus[name].isEnabled():
                menus.call(name, self.label(menus, name, message_id))

    def label(self, menus: Menus, name: str, message_id: MessageId) -> str:
        """Return the label of an action for a message; if it prunes, with the number of messages."""
        match name:
            case "prune":
                return self.tr("Prune (%n message(s))", "", self._controller.shown.subtree_size(message_id))
            case "keep_only":
                others = [other for other in self._controller.shown.siblings(message_id) if other != message_id]
                return self.tr(
                    "Keep only this version (prune %n message(s))", "", self._controller.shown.subtree_size(*others)
                )
            case _:
                return menus.name(name)

    def marks(self, message_id: MessageId) -> dict[str, bool]:
        """Return whether a message is starred and pinned, by the names of the actions."""
        message = self._controller.shown.message(message_id)
        return {"star": message.starred_ms is not None, "pin_branch": message.pinned_ms is not None}

    def possible(self, message_id: MessageId) -> list[str]:
        """Return the names of the actions that are possible for a message."""
        controller = self._controller
        has_others = len(controller.shown.siblings(message_id)) > 1
        return [
            *_MARKS,
            "name",
            *(["prune"] if controller.can_prune(message_id) else []),
            *(_VERSIONS if has_others else ()),
        ]

    def act(self, message_id: MessageId, name: str) -> None:
        """Run an action on a message."""
        if name not in self.possible(message_id):
            if name in _VERSIONS:
                self.refused.emit(self.tr("This message has one version only. Edit or Regenerate makes another."))
            return
        message = self._controller.shown.message(message_id)
        match name:
            case "star":
                self._controller.star(message_id)
            case "pin_branch":
                self._controller.pin_branch(message_id)
            case "name":
                branch_name = questions.ask_branch_name(self._window, message.name)
                if branch_name is not None:
                    self._controller.name_branch(message_id, branch_name)
            case "prune":
                self._controller.prune(message_id)
            case "side_by_side":
                self.versions_requested.emit(list(self._controller.shown.siblings(message_id)))
            case "compare":
                self.comparison_requested.emit(message_id)
            case "keep_only":
                self._controller.keep_only(message_id)
            case _:
                pass

    def _on_current(self, name: str) -> None:
        message_id = self._current()
        if message_id is not None:
            self.act(message_id, name)
