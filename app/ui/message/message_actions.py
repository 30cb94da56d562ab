"""The row under a message: ‹ 2/3 › and what can be done with it; it decides nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtCore import QCoreApplication, QPoint, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget
from typing_extensions import override

from app.model.message import Message
from app.ui.message.message_marks import MessageMarks, is_marked
from app.ui.theme import Theme, icon

ActionName: TypeAlias = Literal["edit", "regenerate", "fork", "continue", "copy"]
"""Those that have a button."""

ACTION_KEYS: dict[str, ActionName] = {"e": "edit", "r": "regenerate", "f": "fork", "c": "continue"}
"""What a letter does on the message that has the focus."""

MORE_KEYS = {"w": "regenerate_with", "s": "star", "p": "pin_branch", "n": "name", "v": "side_by_side", "d": "compare"}
"""The same for actions that are in the menu alone."""

_KEYS: dict[ActionName, str] = {
    "edit": "E",
    "regenerate": "R",
    "fork": "F",
    "continue": "C",
    "copy": "Ctrl+C",
}
_HEIGHT_PX = 28


class MessageActions(QWidget):
    """‹ 2/3 › and the actions; its height is always there, so that showing them moves nothing.

    Its buttons are made when they are first shown: most of a thousand messages are never pointed at.
    """

    asked = Signal(str)
    """The name of an action."""
    sibling_asked = Signal(int)
    """The step to another version."""
    more_asked = Signal(QPoint)
    """The menu of all actions is to open at this place on the screen."""

    def __init__(self, theme: Theme, after: QWidget) -> None:
        """`after`: the widget from which Tab comes here."""
        super().__init__()
        self.setFixedHeight(_HEIGHT_PX)
        self._after = after
        self._theme = theme
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self._layout.addStretch(1)
        self._switch: tuple[QToolButton, QLabel, QToolButton] | None = None
        self._buttons: dict[ActionName, QToolButton] = {}
        self._actions: Sequence[ActionName] = ()
        self._ask_label = ""
        self._more: QToolButton | None = None
        self._marks: MessageMarks | None = None
        """For what is marked or named."""

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for name, button in self._buttons.items():
            button.setIcon(icon(name, theme.quiet_text))
        if self._more is not None:
            self._more.setIcon(icon("more", theme.quiet_text))
        if self._marks is not None:
            self._marks.set_theme(theme)
        if self._switch is not None:
            for arrow in (self._switch[0], self._switch[2]):
                arrow.setIcon(icon(arrow.property("icon_name"), theme.quiet_text))

    def show_siblings(self, siblings: Sequence[int], message_id: int) -> None:
        has_others = len(siblings) > 1
        if self._switch is None and has_others:
            self._switch = self._new_switch()
            self.order_tabs()
        if self._switch is None:
            return
        previous, count, following = self._switch
        for widget in self._switch:
            widget.setVisible(has_others)
        if has_others:
            number = list(siblings).index(message_id) + 1
            count.setText(f"{number}/{len(siblings)}")
            count.setAccessibleName(self.tr("Version {} of {}").format(number, len(siblings)))
            previous.setEnabled(number > 1)
            following.setEnabled(number < len(siblings))
        self._fit()

    def show_marks(self, message: Message) -> None:
        """Show whether a message is starred or pinned, and what the branch that begins here is called."""
        if self._marks is None and is_marked(message):
            self._marks = MessageMarks(self._theme)
            self._layout.insertWidget(0, self._marks)
        if self._marks is not None:
            self._marks.show_message(message)
            self._fit()

    def show_actions(self, actions: Sequence[ActionName], message: Message) -> None:
        """Say what can be done with `message`; the buttons appear with `show_buttons`."""
        self._actions = actions
        self._ask_label = _ask_label(message)
        if "regenerate" in self._buttons:
            self._buttons["regenerate"].setText(self._ask_label)

    def show_buttons(self, shown: bool) -> None:
        if shown and not self._buttons:
            self._make_buttons()
        for name, button in self._buttons.items():
            button.setVisible(shown and name in self._actions)
        if self._more is not None:
            self._more.setVisible(shown and bool(self._actions))
        self._fit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Where there is no room for all words, the last buttons show their icons alone."""
        shown = [button for button in self._buttons.values() if not button.isHidden()]
        for button in shown:
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        too_wide = self._layout.sizeHint().width() - self.width() if shown else 0
        for button in reversed(shown):
            if too_wide > 0:
                too_wide -= button.sizeHint().width()
                button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
                too_wide += button.sizeHint().width()

    @property
    def tab_stops(self) -> Sequence[QWidget]:
        """Where Tab stops, in turn, the message's text first."""
        arrows = (self._switch[0], self._switch[2]) if self._switch is not None else ()
        more = (self._more,) if self._more is not None else ()
        return (self._after, *arrows, *self._buttons.values(), *more)

    def stand_after(self, after: QWidget) -> None:
        """Let Tab come here from another widget."""
        self._after = after
        self.order_tabs()

    def order_tabs(self) -> None:
        for before, after in itertools.pairwise(self.tab_stops):
            QWidget.setTabOrder(before, after)

    def _make_buttons(self) -> None:
        for name, key in _KEYS.items():
            button = QToolButton()
            button.setObjectName("action")
            label = label_of(name)
            button.setText(self._ask_label if name == "regenerate" else label)
            button.setToolTip(f"{label} ({key})")
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(partial(self._ask, name))
            button.setIcon(icon(name, self._theme.quiet_text))
            self._buttons[name] = button
            # The stretch stays last.
            self._layout.insertWidget(self._layout.count() - 1, button)
        more = self._more = QToolButton()
        more.setObjectName("action")
        more.setIcon(icon("more", self._theme.quiet_text))
        more.setToolTip(self.tr("More actions"))
        more.setAccessibleName(self.tr("More actions"))
        more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        more.clicked.connect(self._ask_more)
        self._layout.insertWidget(self._layout.count() - 1, more)
        self.order_tabs()

    def _new_switch(self) -> tuple[QToolButton, QLabel, QToolButton]:
        count = QLabel()
        count.setObjectName("quiet")
        switch = (
            self._arrow("left", self.tr("Previous version (Alt+Left)"), -1),
            count,
            self._arrow("right", self.tr("Next version (Alt+Right)"), +1),
        )
        first = 0 if self._marks is None else 1
        for place, widget in enumerate(switch, first):
            self._layout.insertWidget(place, widget)
        return switch

    def _arrow(self, icon_name: str, tip: str, step: int) -> QToolButton:
        button = QToolButton()
        button.setObjectName("action")
        button.setProperty("icon_name", icon_name)
        button.setIcon(icon(icon_name, self._theme.quiet_text))
        button.setToolTip(tip)
        button.setAccessibleName(tip.split(" (")[0])
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self.sibling_asked.emit(step))
        return button

    def _ask_more(self) -> None:
        if self._more is not None:
            self.more_asked.emit(self._more.mapToGlobal(self._more.rect().bottomLeft()))

    def _ask(self, name: ActionName, _checked: bool = False) -> None:
        self.asked.emit(name)


def label_of(name: ActionName) -> str:
    """What a button of the row says."""
    match name:
        case "edit":
            return QCoreApplication.translate("MessageActions", "Edit")
        case "regenerate":
            return QCoreApplication.translate("MessageActions", "Regenerate")
        case "fork":
            return QCoreApplication.translate("MessageActions", "Fork")
        case "continue":
            return QCoreApplication.translate("MessageActions", "Continue")
        case "copy":
            return QCoreApplication.translate("MessageActions", "Copy")


def _ask_label(message: Message) -> str:
    """What asking the model is called here."""
    if message.role == "user":
        return QCoreApplication.translate("MessageActions", "Answer")
    is_failed = message.state == "failed"
    return QCoreApplication.translate("MessageActions", "Try again") if is_failed else label_of("regenerate")
