"""The row under a message: ‹ 2/3 › and what can be done with it; it decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from app.model.message import Message
from app.ui.theme import Theme, icon

ActionName: TypeAlias = Literal["edit", "regenerate", "fork", "continue", "copy"]

ACTION_KEYS: dict[str, ActionName] = {"e": "edit", "r": "regenerate", "f": "fork", "c": "continue"}
"""What a letter does on the message that has the focus."""

_LABELS: dict[ActionName, tuple[str, str]] = {
    "edit": ("Edit", "E"),
    "regenerate": ("Regenerate", "R"),
    "fork": ("Fork", "F"),
    "continue": ("Continue", "C"),
    "copy": ("Copy", "Ctrl+C"),
}
_HEIGHT_PX = 28


class MessageActions(QWidget):
    """‹ 2/3 › and the actions; its height is always there, so that showing them moves nothing."""

    asked = Signal(str)
    """The name of an action."""
    sibling_asked = Signal(int)
    """The step to another version."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setFixedHeight(_HEIGHT_PX)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self._previous = self._arrow("left", "Previous version (Alt+Left)", -1)
        self._count = QLabel()
        self._count.setObjectName("quiet")
        self._next = self._arrow("right", "Next version (Alt+Right)", +1)
        for widget in (self._previous, self._count, self._next):
            layout.addWidget(widget)
        self._buttons: dict[ActionName, QToolButton] = {}
        for name, (label, key) in _LABELS.items():
            button = QToolButton()
            button.setObjectName("action")
            button.setText(label)
            button.setToolTip(f"{label} ({key})")
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(partial(self._ask, name))
            self._buttons[name] = button
            layout.addWidget(button)
        layout.addStretch(1)
        self._actions: Sequence[ActionName] = ()
        self.set_theme(theme)

    def _ask(self, name: ActionName, _checked: bool = False) -> None:
        self.asked.emit(name)

    def _arrow(self, icon_name: str, tip: str, step: int) -> QToolButton:
        button = QToolButton()
        button.setObjectName("action")
        button.setProperty("icon_name", icon_name)
        button.setToolTip(tip)
        button.setAccessibleName(tip.split(" (")[0])
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self.sibling_asked.emit(step))
        return button

    def set_theme(self, theme: Theme) -> None:
        for name, button in self._buttons.items():
            button.setIcon(icon(name, theme.quiet_text))
        for arrow in (self._previous, self._next):
            arrow.setIcon(icon(arrow.property("icon_name"), theme.quiet_text))

    def show_siblings(self, siblings: Sequence[int], message_id: int) -> None:
        has_others = len(siblings) > 1
        for widget in (self._previous, self._count, self._next):
            widget.setVisible(has_others)
        if has_others:
            number = list(siblings).index(message_id) + 1
            self._count.setText(f"{number}/{len(siblings)}")
            self._count.setAccessibleName(f"Version {number} of {len(siblings)}")
            self._previous.setEnabled(number > 1)
            self._next.setEnabled(number < len(siblings))

    def show_actions(self, actions: Sequence[ActionName], message: Message) -> None:
        """Say what can be done with `message`; the buttons appear with `show_buttons`."""
        self._actions = actions
        self._buttons["regenerate"].setText(_ask_label(message))

    def show_buttons(self, shown: bool) -> None:
        for name, button in self._buttons.items():
            button.setVisible(shown and name in self._actions)


def _ask_label(message: Message) -> str:
    """What asking the model is called here."""
    if message.role == "user":
        return "Answer"
    return "Try again" if message.state == "failed" else _LABELS["regenerate"][0]
