"""Pinned branches above the tree, in the window with the real worker: opened and unpinned by mouse, keys and menu."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.model.message import MessageId
from app.ui.palette import Palette
from app.ui.parts.cost_text import cost_text, tier_text
from app.ui.tree.pinned_branches import PinnedBranches
from app.ui.tree.tree_dock import TreeDock
from tests.app.trees import plant
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS


@pytest.fixture
def dock(user: User) -> Iterator[TreeDock]:
    """The visible dock with the tree of a question that has two answers and a follow-up question."""
    planted = plant(user.application.store, "u1-a1 | u1-a2-u2-a3")
    user.controller.shown.open_conversation(planted.conversation_id)
    # Another file's test may have left the tree open.
    if not user.window.action("tree").isChecked():
        user.window.action("tree").trigger()
    dock = user.window.tree_dock
    user.bot.waitUntil(lambda: dock.isVisible() and dock.view.layout_shown is not None, timeout=PATIENCE_MS)
    yield dock
    user.window.resize(1280, 800)
    if dock.isVisible():
        user.window.action("tree").trigger()


def _pin(user: User, dock: TreeDock, *message_ids: MessageId) -> PinnedBranches:
    """Pin the branches at these messages, each in a millisecond of its own, and return the list in that order."""
    for message_id in message_ids:
        user.controller.pin_branch(message_id)
        _wait_for_the_next_millisecond(user)
    pinned, num = dock.pinned, len(message_ids)
    user.bot.waitUntil(lambda: pinned.rows.ids[-num:] == list(message_ids), timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: pinned.height() == pinned.sizeHint().height(), timeout=PATIENCE_MS)
    return pinned


def _wait_for_the_next_millisecond(user: User) -> None:
    now_ms = time.time_ns() // 1_000_000
    user.bot.waitUntil(lambda: time.time_ns() // 1_000_000 > now_ms, timeout=PATIENCE_MS)


def _others(user: User) -> tuple[MessageId, MessageId]:
    """Return the first answer, which is not visible, and the visible one beside it."""
    second = user.controller.shown.path[2].id
    return next(one for one in user.controller.shown.siblings(second) if one != second), second


def _middle(pinned: PinnedBranches, row: int) -> QPoint:
    return pinned.visualRect(pinned.rows.index(row, 0)).center()


def _cross(pinned: PinnedBranches, row: int) -> QPoint:
    return pinned.visualRect(pinned.rows.index(row, 0)).center() + QPoint(pinned.viewport().width() // 2 - 14, 0)


def _card_text(dock: TreeDock) -> str:
    return "\n".join(part.accessibleName() or part.property("text") or "" for part in dock.card.findChildren(QWidget))


def test_the_list_is_hidden_without_pins_and_otherwise_in_the_order_of_pinning(user: User, dock: TreeDock) -> None:
    assert not dock.pinned.isVisible()
    first, second = _others(user)
    question = user.controller.shown.path[1].id
    pinned = _pin(user, dock, second, question, first)
    assert pinned.isVisible()
    user.controller.name_branch(question, "The good way")
    rows = pinned.rows
    user.bot.waitUntil(lambda: rows.index(1, 0).data() == "The good way", timeout=PATIENCE_MS)
    # A branch without a name is shown by its first words.
    assert [rows.index(row, 0).data() for row in (0, 2)] == ["a2", "a1"]
    for _ in range(2):
        user.window.action("undo").trigger()
    user.bot.waitUntil(lambda: rows.ids == [second, question], timeout=PATIENCE_MS)
    # Pruning a branch hides its pins, and undo restores them.
    user.controller.prune(second)
    user.bot.waitUntil(lambda: rows.ids == [question], timeout=PATIENCE_MS)
    user.window.action("undo").trigger()
    user.bot.waitUntil(lambda: rows.ids == [second, question], timeout=PATIENCE_MS)
    # Pins belong to one conversation.
    opened = user.controller.shown.conversation
    assert opened is not None
    user.window.action("new").trigger()
    user.bot.waitUntil(lambda: not pinned.isVisible(), timeout=PATIENCE_MS)
    user.controller.shown.open_conversation(opened.id)
    user.bot.waitUntil(lambda: pinned.isVisible() and rows.ids == [second, question], timeout=PATIENCE_MS)


def test_at_most_four_rows_are_visible_and_the_others_are_reached_by_scrolling(user: User, dock: TreeDock) -> None:
    pinned = _pin(user, dock, user.controller.shown.path[1].id)
    one_row = pinned.height()
    _pin(user, dock, *(message.id for message in user.controller.shown.path[2:5]))
    high = pinned.height()
    assert high > 3 * one_row
    assert pinned.verticalScrollBar().maximum() == 0
    _pin(user, dock, _others(user)[0])
    user.bot.waitUntil(lambda: pinned.verticalScrollBar().maximum() > 0, timeout=PATIENCE_MS)
    assert pinned.height() == high
    assert pinned.visualRect(pinned.rows.index(0, 0)).height() >= 28
    pinned.setFocus()
    user.bot.keyClick(pinned, Qt.Key.Key_End)
    assert pinned.in_sight() == pinned.rows.ids[-4:]


def test_a_click_and_enter_open_the_branch_and_the_tree_follows(user: User, dock: TreeDock) -> None:
    first, second = _others(user)
    pinned = _pin(user, dock, first, second)
    user.bot.mouseClick(pinned.viewport(), Qt.MouseButton.LeftButton, pos=_middle(pinned, 0))
    assert user.controller.shown.path[-1].id == first
    assert dock.view.current is not None
    assert dock.view.current.id == first
    user.bot.waitUntil(lambda: user.window.transcript.view(first) is not None, timeout=PATIENCE_MS)
    pinned.setFocus()
    user.bot.keyClick(pinned, Qt.Key.Key_Down)
    user.bot.keyClick(pinned, Qt.Key.Key_Return)
    assert user.controller.shown.path[2].id == second
    assert dock.view.current.id == second


def test_in_a_narrow_window_the_tree_closes_after_a_pin_was_opened(user: User, dock: TreeDock) -> None:
    first, _ = _others(user)
    _pin(user, dock, first)
    user.window.resize(820, 700)
    user.bot.waitUntil(dock.isHidden, timeout=PATIENCE_MS)
    user.window.action("tree").trigger()
    pinned = dock.pinned
    user.bot.waitUntil(pinned.isVisible, timeout=PATIENCE_MS)
    user.bot.mouseClick(pinned.viewport(), Qt.MouseButton.LeftButton, pos=_middle(pinned, 0))
    assert user.controller.shown.path[-1].id == first
    assert dock.isHidden()


def test_the_cost_of_opening_a_pinned_branch_is_shown_first(user: User, dock: TreeDock) -> None:
    first, _ = _others(user)
    pinned = _pin(user, dock, first)
    costs = user.controller.costs
    user.bot.waitUntil(lambda: costs.get(first) is not None, timeout=PATIENCE_MS)
    index = pinned.rows.index(0, 0)
    cost = f"{tier_text(costs.get(first))} · {cost_text(costs.get(first))}"
    assert "would read" in cost
    assert str(index.data(Qt.ItemDataRole.ToolTipRole)).endswith(f"\n{cost}")
    assert index.data(Qt.ItemDataRole.AccessibleDescriptionRole) == cost
    # The card also describes the row under the pointer.
    assert "version 1 of 2" not in _card_text(dock)
    user.bot.mouseMove(pinned.viewport(), _middle(pinned, 0))
    user.bot.waitUntil(lambda: "version 1 of 2" in _card_text(dock), timeout=PATIENCE_MS)
    assert cost_text(costs.get(first)) in _card_text(dock)
    user.bot.mouseMove(dock.view.viewport(), QPoint(dock.view.viewport().width() - 2, 2))
    user.bot.waitUntil(lambda: "version 1 of 2" not in _card_text(dock), timeout=PATIENCE_MS)


def test_the_cross_the_delete_key_and_the_letter_p_unpin_and_keep_the_focus(user: User, dock: TreeDock) -> None:
    first, second = _others(user)
    question = user.controller.shown.path[1].id
    pinned = _pin(user, dock, first, second, question, user.controller.shown.path[-1].id)
    leaf = user.controller.shown.path[-1].id
    user.bot.mouseClick(pinned.viewport(), Qt.MouseButton.LeftButton, pos=_cross(pinned, 1))
    assert user.controller.shown.message(second).pinned_ms is None
    user.bot.waitUntil(lambda: pinned.rows.ids == [first, question, leaf], timeout=PATIENCE_MS)
    # Unpinning does not switch branches.
    assert user.controller.shown.path[-1].id == leaf
    pinned.setFocus()
    pinned.setCurrentIndex(pinned.rows.index(1, 0))
    user.bot.keyClick(pinned, Qt.Key.Key_Delete)
    user.bot.waitUntil(lambda: pinned.rows.ids == [first, leaf], timeout=PATIENCE_MS)
    assert user.controller.shown.has(question)
    assert pinned.hasFocus()
    assert pinned.currentIndex().row() == 1
    user.bot.keyClick(pinned, Qt.Key.Key_P)
    user.bot.waitUntil(lambda: pinned.rows.ids == [first], timeout=PATIENCE_MS)
    user.bot.keyClick(pinned, Qt.Key.Key_Delete)
    user.bot.waitUntil(lambda: not pinned.isVisible(), timeout=PATIENCE_MS)
    assert QApplication.focusWidget() is dock.view
    user.window.action("undo").trigger()
    user.bot.waitUntil(lambda: pinned.rows.ids == [first], timeout=PATIENCE_MS)


def test_a_row_opens_its_messages_menu_by_mouse_and_by_key(user: User, dock: TreeDock) -> None:
    first, second = _others(user)
    pinned = _pin(user, dock, first, second)
    pinned.setFocus()
    pinned.setCurrentIndex(pinned.rows.index(0, 0))
    for reason, place in (
        (QContextMenuEvent.Reason.Mouse, _middle(pinned, 1)),
        (QContextMenuEvent.Reason.Keyboard, QPoint()),
    ):
        where = pinned.viewport().mapToGlobal(place)
        QApplication.sendEvent(pinned.viewport(), QContextMenuEvent(reason, place, where))
        menu = next(menu for menu in dock.findChildren(QMenu) if menu.isVisible())
        pin = next(action for action in menu.actions() if action.text() == "Pin branch\tP")
        assert pin.isChecked()
        if reason is QContextMenuEvent.Reason.Mouse:
            menu.close()
        else:
            pin.trigger()
            menu.close()
    user.bot.waitUntil(lambda: pinned.rows.ids == [second], timeout=PATIENCE_MS)


def test_tab_moves_from_the_header_to_the_pins_to_the_tree_and_escape_leaves(user: User, dock: TreeDock) -> None:
    pinned = _pin(user, dock, _others(user)[0])
    close = user.button(dock, "Close the tree")
    close.setFocus(Qt.FocusReason.TabFocusReason)
    user.bot.keyClick(close, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is pinned
    assert pinned.selectionModel().hasSelection()
    user.bot.keyClick(pinned, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is dock.view
    assert not pinned.selectionModel().hasSelection()
    pinned.setFocus()
    user.bot.keyClick(pinned, Qt.Key.Key_Escape)
    assert QApplication.focusWidget() is user.window.composer.text


def test_a_screen_reader_announces_the_pinned_branches(user: User, dock: TreeDock) -> None:
    first, _ = _others(user)
    pinned = _pin(user, dock, first)
    QAccessible.setActive(True)
    rows = QAccessible.queryAccessibleInterface(pinned)
    assert rows.text(QAccessible.Text.Name) == "Pinned branches"
    assert rows.role() == QAccessible.Role.List
    row = rows.child(0)
    assert row is not None
    name = row.text(QAccessible.Text.Name)
    assert name.startswith("Answer, version 1 of 2, pinned: ")
    layout = dock.view.layout_shown
    assert layout is not None
    assert dock.view.name_of(layout[first]) == name


def test_the_palette_opens_a_pinned_branch(user: User, dock: TreeDock) -> None:
    first, _ = _others(user)
    _pin(user, dock, first)
    user.controller.name_branch(first, "Zebra way")
    user.window.composer.text.setFocus()
    user.bot.keyClick(user.window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = user.window.findChild(Palette)
    assert isinstance(palette, Palette)
    user.bot.keyClicks(palette.field, "zebra")
    assert [(choice.text, choice.aside) for choice in palette.shown][:1] == [("Zebra way", "Pinned branch")]
    user.bot.keyClick(palette.field, Qt.Key.Key_Return)
    assert user.controller.shown.path[-1].id == first
