"""The row below a message: its marks, the version switch ‹ 2/3 ›, and the action buttons."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget
from typing_extensions import override

from app.model.message import Message
from app.ui.message.message_action import LETTERS, ROW_ACTIONS, MessageAction, OpenMenu, ShowSibling
from app.ui.parts.labels import as_tool_tip, beginning
from app.ui.theme import Theme, around_line, icon, scaled

_COPY_KEY = "Ctrl+C"
_HEIGHT_PX = 28
_MARK_PX = 16
_MARK_MARGIN_PX = 6
_MAX_NAME_PX = 160
"""The maximum width of a branch's name."""


class ActionRow(QWidget):
    """Has a fixed height, so that showing and hiding the buttons moves nothing.

    The buttons are created when they are first shown, because the pointer never reaches most messages.
    """

    requested = Signal(object)
    """A `MessageRequest`."""

    def __init__(self, theme: Theme, after: QWidget) -> None:
        """`after` is the widget before this row in the tab order."""
        super().__init__()
        self._are_shown = False
        """Whether the buttons are shown that fit."""
        self._fit_height()
        self._after = after
        self._theme = theme
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self._layout.addStretch(1)
        self._switch: VersionSwitch | None = None
        self._buttons: dict[MessageAction, QToolButton] = {}
        self._actions: Sequence[MessageAction] = ()
        self._regenerate_label = self._edit_label = ""
        self._continue_label = _label_of(MessageAction.CONTINUE)
        self._more: QToolButton | None = None
        self._marks: MessageMarks | None = None

    def _fit_height(self) -> None:
        self.setFixedHeight(around_line(_HEIGHT_PX))

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._fit_height()
        for action, button in self._buttons.items():
            button.setIcon(icon(action.value, theme.quiet_text))
        if self._more is not None:
            self._more.setIcon(icon("more", theme.quiet_text))
        if self._marks is not None:
            self._marks.set_theme(theme)
        if self._switch is not None:
            self._switch.set_theme(theme)

    def show_siblings(self, siblings: Sequence[int], message_id: int) -> None:
        """Show the version switch if there are several versions."""
        if self._switch is None and len(siblings) > 1:
            self._switch = VersionSwitch(self._theme)
            self._switch.requested.connect(self.requested)
            self._layout.insertWidget(0 if self._marks is None else 1, self._switch)
            self.order_tabs()
        if self._switch is not None:
            self._switch.show_siblings(siblings, message_id)
            self._fit()

    def show_marks(self, message: Message) -> None:
        """Show whether a message is starred or pinned, and the name of its branch."""
        if self._marks is None and _is_marked(message):
            self._marks = MessageMarks(self._theme)
            self._layout.insertWidget(0, self._marks)
        if self._marks is not None:
            self._marks.show_message(message)
            self._fit()

    def show_actions(self, actions: Sequence[MessageAction], message: Message) -> None:
        """Set the possible actions. Call `show_buttons` to show their buttons."""
        self._actions = actions
        self._regenerate_label = _regenerate_label(message)
        self._edit_label = _edit_label(message)
        if MessageAction.EDIT in self._buttons:
            self._buttons[MessageAction.EDIT].setText(self._edit_label)
            self._buttons[MessageAction.EDIT].setToolTip(_tip(MessageAction.EDIT, self._edit_label))
        if MessageAction.REGENERATE in self._buttons:
            self._buttons[MessageAction.REGENERATE].setText(self._regenerate_label)
            self._buttons[MessageAction.REGENERATE].setToolTip(_tip(MessageAction.REGENERATE, self._regenerate_label))

    def show_place_to_continue(self, *, is_inside: bool) -> None:
        """Set whether Continue would start at the cursor inside the answer. If not, it starts at the answer's end."""
        label = continue_label(is_inside=is_inside)
        if label == self._continue_label:
            return
        self._continue_label = label
        if MessageAction.CONTINUE in self._buttons:
            self._buttons[MessageAction.CONTINUE].setText(label)
            self._buttons[MessageAction.CONTINUE].setToolTip(_tip(MessageAction.CONTINUE, label))
            self._fit()

    def show_buttons(self, shown: bool) -> None:
        if shown and not self._buttons:
            self._make_buttons()
        self._are_shown = shown
        if self._more is not None:
            self._more.setVisible(shown and bool(self._actions))
        self._fit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Reduce the last buttons to their icons if the row is too narrow for all labels, then leave them out.

        Their keys remain, and the menu of the last button begins with them.
        """
        shown: list[QToolButton] = []
        for action, button in self._buttons.items():
            is_possible = self._are_shown and action in self._actions
            button.setVisible(is_possible)
            shown += [button] if is_possible else []
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        too_wide = self._layout.sizeHint().width() - self.width() if shown else 0
        for button in reversed(shown):
            if too_wide > 0:
                too_wide -= button.sizeHint().width()
                button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
                too_wide += button.sizeHint().width()
        for button in reversed(shown):
            if too_wide > 0:
                too_wide -= button.sizeHint().width() + self._layout.spacing()
                button.setVisible(False)

    @property
    def tab_stops(self) -> Sequence[QWidget]:
        """The widgets in tab order, starting with the one before the row."""
        arrows = (self._switch.previous, self._switch.next) if self._switch is not None else ()
        more = (self._more,) if self._more is not None else ()
        return (self._after, *arrows, *self._buttons.values(), *more)

    def follow(self, after: QWidget) -> None:
        """Set the widget before this row in the tab order."""
        self._after = after
        self.order_tabs()

    def order_tabs(self) -> None:
        for before, after in itertools.pairwise(self.tab_stops):
            QWidget.setTabOrder(before, after)

    def _make_buttons(self) -> None:
        for action in ROW_ACTIONS:
            button = QToolButton()
            button.setObjectName("action")
            label = _label_of(action)
            if action == MessageAction.CONTINUE:
                label = self._continue_label
            if action == MessageAction.EDIT:
                label = self._edit_label
            if action == MessageAction.REGENERATE:
                label = self._regenerate_label
            button.setText(label)
            button.setToolTip(_tip(action, label))
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(partial(self._request, action))
            button.setIcon(icon(action.value, self._theme.quiet_text))
            self._buttons[action] = button
            # The stretch remains the last item.
            self._layout.insertWidget(self._layout.count() - 1, button)
        more = self._more = QToolButton()
        more.setObjectName("action")
        more.setIcon(icon("more", self._theme.quiet_text))
        more.setToolTip(self.tr("More actions"))
        more.setAccessibleName(self.tr("More actions"))
        more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        more.clicked.connect(self._open_menu)
        self._layout.insertWidget(self._layout.count() - 1, more)
        self.order_tabs()

    def _open_menu(self) -> None:
        if self._more is not None:
            left_out = tuple(action for action in self._actions if self._buttons[action].isHidden())
            self.requested.emit(OpenMenu(self._more.mapToGlobal(self._more.rect().bottomLeft()), left_out))

    def _request(self, action: MessageAction, _checked: bool = False) -> None:
        self.requested.emit(action)


class VersionSwitch(QWidget):
    """Arrow buttons around the number of the shown version, such as ‹ 2/3 ›."""

    requested = Signal(object)
    """A `ShowSibling`."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.previous = self._new_arrow(self.tr("Previous version (Alt+Left)"), -1)
        self.next = self._new_arrow(self.tr("Next version (Alt+Right)"), +1)
        self._count = QLabel()
        self._count.setObjectName("quiet")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        for widget in (self.previous, self._count, self.next):
            row.addWidget(widget)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self.previous.setIcon(icon("left", theme.quiet_text))
        self.next.setIcon(icon("right", theme.quiet_text))

    def show_siblings(self, siblings: Sequence[int], message_id: int) -> None:
        """Show the number of a message among its siblings, or nothing if there is only one."""
        self.setVisible(len(siblings) > 1)
        number = list(siblings).index(message_id) + 1
        self._count.setText(f"{number}/{len(siblings)}")
        self._count.setAccessibleName(self.tr("Version {} of {}").format(number, len(siblings)))
        self.previous.setEnabled(number > 1)
        self.next.setEnabled(number < len(siblings))

    def _new_arrow(self, tip: str, step: int) -> QToolButton:
        button = QToolButton()
        button.setObjectName("action")
        button.setToolTip(tip)
        button.setAccessibleName(tip.split(" (")[0])
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self.requested.emit(ShowSibling(step)))
        return button


class MessageMarks(QWidget):
    """The star, the pin and the branch name of a message."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._star = _new_mark(self.tr("Starred"))
        self._pin = _new_mark(self.tr("Pinned"))
        self._name = QLabel()
        self._name.setObjectName("quiet")
        self._name.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout(self)
        # Aligned with the text above.
        row.setContentsMargins(_MARK_MARGIN_PX, 0, _MARK_MARGIN_PX, 0)
        row.setSpacing(2)
        for label in (self._star, self._pin, self._name):
            row.addWidget(label)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._star.setPixmap(icon("star", theme.accent).pixmap(scaled(_MARK_PX), scaled(_MARK_PX)))
        self._pin.setPixmap(icon("pin", theme.accent).pixmap(scaled(_MARK_PX), scaled(_MARK_PX)))

    def show_message(self, message: Message) -> None:
        self._star.setVisible(message.starred_ms is not None)
        self._pin.setVisible(message.pinned_ms is not None)
        name = beginning(message.name)
        self._name.setVisible(bool(name))
        elided = self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, _MAX_NAME_PX)
        self._name.setText(elided)
        self._name.setToolTip(as_tool_tip(name) if elided != name else "")
        self.setVisible(_is_marked(message))


def _is_marked(message: Message) -> bool:
    return message.starred_ms is not None or message.pinned_ms is not None or bool(message.name)


def _new_mark(name: str) -> QLabel:
    label = QLabel()
    label.setAccessibleName(name)
    label.setToolTip(name)
    return label


def _label_of(action: MessageAction) -> str:
    labels = {
        MessageAction.EDIT: QCoreApplication.translate("ActionRow", "Edit"),
        MessageAction.REGENERATE: QCoreApplication.translate("ActionRow", "Regenerate"),
        MessageAction.FORK: QCoreApplication.translate("ActionRow", "Fork"),
        MessageAction.CONTINUE: QCoreApplication.translate("ActionRow", "Continue"),
        MessageAction.COPY: QCoreApplication.translate("ActionRow", "Copy"),
    }
    return labels[action]


def _tip(action: MessageAction, label: str) -> str:
    return f"{label} ({LETTERS.get(action, _COPY_KEY)})"


def continue_label(*, is_inside: bool) -> str:
    """Return the label of Continue, which says whether it starts at the cursor inside the answer."""
    if is_inside:
        return QCoreApplication.translate("ActionRow", "Continue from here")
    return _label_of(MessageAction.CONTINUE)


def _edit_label(message: Message) -> str:
    if message.role == "system" and not message.text:
        return QCoreApplication.translate("ActionRow", "Add a system prompt")
    return _label_of(MessageAction.EDIT)


def _regenerate_label(message: Message) -> str:
    """Return the label of the button that asks the model, which depends on the message."""
    if message.role == "user":
        return QCoreApplication.translate("ActionRow", "Answer")
    is_failed = message.state == "failed"
    return QCoreApplication.translate("ActionRow", "Try again") if is_failed else _label_of(MessageAction.REGENERATE)
