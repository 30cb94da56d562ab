"""Cut, copy, paste and select all in the field that has the focus; what a field does with these is its own affair."""

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
_WRITING = ("cut", "paste")
COPIES_ALL = "copies_all"
"""The property of a field that, where nothing is selected in it, copies all that it shows."""


class FieldCommands(QObject):
    """Does what each key does: a field gets it as if it had been pressed there."""

    def __init__(self, window: QMainWindow, menus: Menus) -> None:
        super().__init__(window)
        self._window = window
        self._menus = menus
        self._before: QWidget | None = None
        """What has the focus, or had it before the menu bar, which takes it where menus are opened by keys."""
        QApplication.instance().focusChanged.connect(self._on_focus)  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue, reportUnknownMemberType]
        menu = menus.menu("Edit")
        menu.aboutToShow.connect(self._update_to_be_seen)
        # Where nobody looks at them they may be chosen by a key, and nobody tells when the selection is another one.
        menu.aboutToHide.connect(self._update)
        self._update()

    def slots(self) -> dict[str, Callable[[], object]]:
        """What each action does, by its name in the menus."""
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
        # It takes no arguments: the widget that loses the focus may be half destroyed, and must not become an object
        # of Python, which would outlive it.
        if not Shiboken.isValid(self._window):  # it is going, and with it the focus
            return
        focus = self._window.focusWidget()
        if not isinstance(focus, QMenuBar):
            self._before = focus
        self._update()

    def _update(self) -> None:
        """Let those be chosen that this field knows, whatever is selected in it."""
        field = self._field
        for name in _KEYS:
            is_possible = field is not None and (name not in _WRITING or not field.isReadOnly())
            self._menus[name].setEnabled(is_possible)

    def _update_to_be_seen(self) -> None:
        """Let those be chosen that do something now."""
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
