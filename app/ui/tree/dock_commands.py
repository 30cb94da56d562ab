"""The tree's dock: where the dock is shown, and the commands that its tree offers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QMenu, QWidget
from typing_extensions import override

from app.conversation.controller import Controller
from app.lazy import Lazy
from app.model.message import MessageId
from app.ui.comparing.compare_commands import CompareCommands
from app.ui.menus import Menus
from app.ui.message.message_action import MessageAction, action_of_letter
from app.ui.message.message_commands import MessageCommands
from app.ui.parts.overlay import SHADE

if TYPE_CHECKING:
    from app.ui.tree.tree_dock import TreeDock


class DockCommands(QObject):
    """Shows and hides the dock, and runs commands on the messages of its tree."""

    def __init__(
        self,
        controller: Controller,
        *,
        dock: Lazy[TreeDock],
        placement: DockPlacement,
        menus: Menus,
        message_commands: MessageCommands,
        compare_commands: CompareCommands,
    ) -> None:
        super().__init__(placement)
        self._controller = controller
        self._dock = dock
        self._placement = placement
        self._menus = menus
        self._message_commands = message_commands
        self._compare_commands = compare_commands
        placement.changed.connect(self._on_shown)

    def connect_dock(self, dock: TreeDock) -> None:
        """Connect the signals of the dock, which was just created."""
        dock.close_requested.connect(self._toggle)
        dock.view.go_to_requested.connect(self._go_to)
        dock.view.comparison_requested.connect(self._compare_commands.compare_messages)
        dock.key_pressed.connect(self._on_key)
        dock.view.escaped.connect(self._placement.leave)
        dock.menu_requested.connect(self._show_menu)
        dock.pinned.unpin_requested.connect(self._unpin)

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the functions of the actions by their names in the menus."""
        return {"tree": self._toggle, "walk_tree": self._walk}

    def _act(self, message_id: MessageId, action: MessageAction) -> None:
        if action == MessageAction.EDIT:
            # The editor opens in the transcript, which the dock may cover.
            self._go_to(message_id)
        self._message_commands.act(message_id, action)

    def _go_to(self, message_id: MessageId) -> None:
        if not self._controller.shown.has(message_id):
            # Another conversation was just opened.
            return
        self._controller.shown.go_to(message_id)
        if self._placement.is_overlay:
            self._placement.leave()

    def _unpin(self, message_id: MessageId) -> None:
        if self._controller.shown.has(message_id) and self._controller.shown.message(message_id).pinned_ms is not None:
            self._controller.pin_branch(message_id)

    def _on_key(self, message_id: MessageId, key: str) -> None:
        action = action_of_letter(key)
        if not isinstance(action, MessageAction) or not self._controller.shown.has(message_id):
            return
        if action in self._message_commands.possible(message_id):
            self._act(message_id, action)
        elif action == MessageAction.COMPARE and not self._is_visible(message_id):
            # The message has no other version, so compare its whole branch.
            self._compare_commands.compare_with_branch(message_id)

    def _show_menu(self, message_id: MessageId, point: QPoint) -> None:
        if not self._controller.shown.has(message_id):
            return
        menu = QMenu(self._dock.get())
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Go there") + "\t" + self.tr("Enter"), partial(self._go_to, message_id))
        if not self._is_visible(message_id):
            compare = partial(self._compare_commands.compare_with_branch, message_id)
            menu.addAction(self.tr("Compare with the visible branch"), compare)
        menu.addSeparator()
        for action in self._message_commands.possible(message_id):
            text = self._message_commands.label(message_id, action)
            _, tab, letter = self._menus[action.value].text().partition("\t")
            entry = menu.addAction(f"{text}{tab}{letter}", partial(self._act, message_id, action))
            if (is_marked := self._message_commands.is_marked(message_id, action)) is not None:
                entry.setCheckable(True)
                entry.setChecked(is_marked)
            self._menus.draw_icon(entry, self._menus.icon_name(action.value))
        menu.popup(point)

    def _is_visible(self, message_id: MessageId) -> bool:
        """Return whether a message of the tree is on the visible branch."""
        layout = self._dock.get().view.layout_shown
        return layout is None or layout.is_on_path(layout[message_id])

    def _walk(self) -> None:
        """Show the tree and give it the focus. If the tree has the focus already, give the focus to the composer."""
        view = self._dock.get().view
        if view.hasFocus():
            self._placement.leave()
            return
        if not self._placement.is_shown:
            self._toggle()
        view.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _toggle(self) -> None:
        self._controller.program.set_tree_visible(self._placement.toggle())
        if self._placement.is_overlay:
            self._dock.get().view.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _on_shown(self, shown: bool) -> None:
        self._menus["tree"].setChecked(shown)


class DockPlacement(QObject):
    """Places the tree or the sidebar beside the page, or over it in a narrow window until the focus leaves it."""

    changed = Signal(bool)
    """The dock was shown (True) or hidden."""

    def __init__(
        self,
        make_dock: Callable[[], object],
        row: QHBoxLayout,
        whole: QWidget,
        give_focus: Callable[[], None],
        *,
        side: Qt.Edge = Qt.Edge.RightEdge,
    ) -> None:
        """`make_dock` creates the dock when it is first shown, and calls `set_dock`.

        `row` is the layout of `whole`. `give_focus` is called when a dock with the focus is hidden. `side` is the left
        or the right side of the page.
        """
        super().__init__(whole)
        self._is_left = side == Qt.Edge.LeftEdge
        self._shade = Shade(whole)
        self._shade.pressed.connect(self.leave)
        self._dock: QWidget | None = None
        self._make_dock = make_dock
        self._row = row
        self._whole = whole
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus_changed)
        self._give_focus = give_focus
        self._is_narrow = False
        self._is_wanted = False
        """Whether the user wants to see the dock when there is enough width beside the page."""
        whole.installEventFilter(self)

    def set_dock(self, dock: QWidget) -> None:
        """Set the dock, hidden at first."""
        self._dock = dock
        dock.setParent(self._whole)
        dock.hide()
        if not self._is_narrow:
            self._add()

    def _add(self) -> None:
        if self._dock is not None:
            self._row.insertWidget(0 if self._is_left else -1, self._dock)

    @property
    def is_shown(self) -> bool:
        return self._dock is not None and not self._dock.isHidden()

    @property
    def is_overlay(self) -> bool:
        """Whether the dock covers the page."""
        return self._is_narrow and self.is_shown

    def set_wanted(self, wanted: bool) -> None:
        """Show or hide the dock; in a narrow window it stays hidden."""
        self._is_wanted = wanted
        self._show(wanted and not self._is_narrow)

    def toggle(self) -> bool:
        """Show or hide the dock; return whether it is wanted beside the page."""
        shown = not self.is_shown
        if not self._is_narrow:
            self._is_wanted = shown
        self._show(shown)
        return self._is_wanted

    def _on_focus_changed(self, before: QWidget | None, now: QWidget | None) -> None:
        """Hide a dock that covers the page when the focus moves from it to the page."""
        dock = self._dock
        if dock is None or before is None or now is None or not self.is_overlay:
            return
        if _is_within(before, dock) and not _is_within(now, dock) and now.window() is dock.window():
            self._show(False)

    def leave(self) -> None:
        """Return the focus, and hide the dock if it covers the page."""
        if self.is_overlay:
            self._show(False)
        else:
            self._give_focus()

    def set_narrow(self, is_narrow: bool) -> None:
        """Set whether the page is too narrow for the dock beside it; then `toggle` shows it over the page."""
        if is_narrow == self._is_narrow:
            return
        self._show(False)
        self._is_narrow = is_narrow
        if self._dock is not None and is_narrow:
            self._row.removeWidget(self._dock)
        else:
            self._add()
        self._show(self._is_wanted and not is_narrow)

    def _show(self, shown: bool) -> None:
        if shown == self.is_shown:
            return
        if self._dock is None:
            self._make_dock()
        dock = self._dock
        assert dock is not None
        focus = dock.window().focusWidget()
        had_focus = focus is not None and _is_within(focus, dock)
        self._fit_overlay()
        self._shade.setVisible(shown and self._is_narrow)
        self._shade.raise_()
        dock.setVisible(shown)
        if shown:
            dock.raise_()
        elif had_focus:
            self._give_focus()
        self.changed.emit(shown)

    def _fit_overlay(self) -> None:
        if self._dock is not None and self._is_narrow:
            self._shade.setGeometry(self._whole.rect())
            left = 0 if self._is_left else self._whole.width() - self._dock.width()
            self._dock.setGeometry(left, 0, self._dock.width(), self._whole.height())

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._whole and event.type() == QEvent.Type.Resize:
            self._fit_overlay()
        return super().eventFilter(watched, event)


def _is_within(widget: QWidget, root: QWidget) -> bool:
    return widget is root or root.isAncestorOf(widget)


class Shade(QWidget):
    """Darkens the page behind a dock that covers a part of it."""

    pressed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hide()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), SHADE)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.pressed.emit()
