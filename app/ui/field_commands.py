"""Cut, copy, paste and select all in the focused text field."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QMainWindow, QMenuBar, QPlainTextEdit, QTextEdit, QWidget
from shiboken6 import Shiboken

from app.ui.menus import Menus

_KEYS = {
    "cut": Qt.Key.Key_X,
    "copy_text": Qt.Key.Key_C,
    "paste": Qt.Key.Key_V,
    "select_all": Qt.Key.Key_A,
}
_CHANGING = ("cut", "paste")
COPIES_ALL = "copies_all"
"""The Qt property that is true for fields that copy all of their text when nothing is selected."""


class FieldCommands(QObject):
    """Sends each action's key to the focused field, as if the user had pressed it there."""

    def __init__(self, window: QMainWindow, menus: Menus) -> None:
        super().__init__(window)
        self._window = window
        self._menus = menus
        self._before: QWidget | None = None
        """The widget with the focus; while the menu bar has it for keyboard users, the last widget before."""
        QApplication.instance().focusChanged.connect(self._on_focus)  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue, reportUnknownMemberType]
        menu = menus.menu("Edit")
        menu.aboutToShow.connect(self._update_precisely)
        # While the menu is closed, no signal reports a changed selection, so its keys must work with any selection.
        menu.aboutToHide.connect(self._update)
        self._update()

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {name: partial(self._press, key) for name, key in _KEYS.items()}

    @property
    def _field(self) -> QLineEdit | QPlainTextEdit | QTextEdit | None:
        focus = self._window.focusWidget()
        if isinstance(focus, QMenuBar):
            focus = self._before
        if isinstance(focus, (QLineEdit, QPlainTextEdit, QTextEdit)) and Shiboken.isValid(focus):
            return focus
        return None

    def _on_focus(self) -> None:
        # The signal's arguments are ignored: a widget that loses the focus may be half destroyed, and a Python
        # wrapper of it would outlive it.
        if not Shiboken.isValid(self._window):
            return
        focus = self._window.focusWidget()
        if not isinstance(focus, QMenuBar):
            self._before = focus
        self._update()

    def _update(self) -> None:
        """Enable the actions that the field supports, no matter what is selected in it."""
        field = self._field
        for name in _KEYS:
            is_possible = field is not None and (name not in _CHANGING or not field.isReadOnly())
            self._menus[name].setEnabled(is_possible)

    def _update_precisely(self) -> None:
        """Enable only the actions that would do something now."""
        self._update()
        field = self._field
        if field is not None and not _has_selection(field):
            self._menus["cut"].setEnabled(False)
            self._menus["copy_text"].setEnabled(bool(field.property(COPIES_ALL)))

    def _press(self, key: Qt.Key) -> None:
        if (field := self._field) is not None:
            event = QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.ControlModifier)
            QApplication.sendEvent(field, event)


def _has_selection(field: QLineEdit | QPlainTextEdit | QTextEdit) -> bool:
    return field.hasSelectedText() if isinstance(field, QLineEdit) else field.textCursor().hasSelection()
