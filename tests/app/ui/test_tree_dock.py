"""The tree in the window, with the real worker: shown by key, menu and button, used to switch branches, with costs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec import structs
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.model.message import Message, MessageId, Sampling
from app.ui.comparing.compare_window import CompareWindow
from app.ui.theme import icon, system_scheme, theme
from app.ui.tree.tree_card import TreeCard
from app.ui.tree.tree_dock import TreeDock
from app.ui.tree.tree_text import going_cost_text
from tests.app.sampling import set_sampling
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS


@pytest.fixture
def dock(user: User) -> Iterator[TreeDock]:
    """The visible dock with the tree of a question that has two answers and a follow-up question."""
    set_sampling(user.controller.program, Sampling(temperature=0.0, max_tokens=24))
    user.ask("What is a branch?")
    user.press(user.controller.shown.path[-1].id, "r")
    user.answer()
    user.ask("How do I fork a message?")
    dock = user.window.tree_dock
    _show(user)
    yield dock
    if dock.isVisible():
        user.window.action("tree").trigger()


def _show(user: User) -> None:
    dock = user.window.tree_dock
    if dock.isHidden():
        user.window.action("tree").trigger()
    user.bot.waitUntil(lambda: dock.isVisible() and dock.view.layout_shown is not None, timeout=PATIENCE_MS)


def _place(dock: TreeDock, message_id: MessageId) -> QPoint:
    layout = dock.view.layout_shown
    assert layout is not None
    return dock.view.rect_of(layout[message_id]).center()


def _texts(dock: TreeDock) -> str:
    return "\n".join(part.accessibleName() or part.property("text") or "" for part in dock.card.findChildren(QWidget))


def test_the_tree_is_shown_and_hidden_by_key_menu_and_buttons(user: User):
    dock, window = user.window.tree_dock, user.window
    window.composer.text.setFocus()
    user.bot.keyClick(window.composer.text, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    assert dock.isVisible()
    assert window.action("tree").isChecked()
    assert user.controller.program.settings.tree_visible
    user.bot.mouseClick(user.button(dock, "Close the tree"), Qt.MouseButton.LeftButton)
    assert dock.isHidden()
    assert not window.action("tree").isChecked()
    user.bot.mouseClick(user.button(window.header, "Show the tree"), Qt.MouseButton.LeftButton)
    assert dock.isVisible()
    window.action("tree").trigger()
    assert dock.isHidden()
    assert not user.controller.program.settings.tree_visible


def test_an_empty_conversation_shows_an_explanation_of_the_tree(user: User):
    window = user.window
    window.action("tree").trigger()
    words = [label.text() for label in window.tree_dock.findChildren(QLabel) if label.isVisible()]
    assert any("Every message is a dot" in text for text in words)
    user.ask("What is a branch?")
    user.bot.waitUntil(lambda: window.tree_dock.view.isVisible(), timeout=PATIENCE_MS)
    layout = window.tree_dock.view.layout_shown
    assert layout is not None
    assert layout.path == [message.id for message in user.controller.shown.path]
    window.action("tree").trigger()


def test_a_double_click_and_enter_show_the_branch_and_the_message(user: User, dock: TreeDock):
    tree = user.controller.shown.opened
    assert tree is not None
    second = user.controller.shown.path[2].id
    first = next(sibling for sibling in user.controller.shown.siblings(second) if sibling != second)
    user.bot.mouseDClick(dock.view.viewport(), Qt.MouseButton.LeftButton, pos=_place(dock, first))
    assert user.controller.shown.path[-1].id == first
    layout = dock.view.layout_shown
    assert layout is not None
    user.bot.waitUntil(
        lambda: dock.view.layout_shown is not None and dock.view.layout_shown.path[-1] == first, timeout=PATIENCE_MS
    )
    user.bot.waitUntil(lambda: user.window.transcript.view(first) is not None, timeout=PATIENCE_MS)
    # The keyboard continues from the current message of the tree.
    dock.view.setFocus()
    user.bot.keyClick(dock.view, Qt.Key.Key_Right)
    user.bot.keyClick(dock.view, Qt.Key.Key_Return)
    assert user.controller.shown.path[2].id == second
    assert len(user.controller.shown.path) == 5


def test_the_cost_of_a_message_is_shown_before_it_is_clicked(user: User, dock: TreeDock):
    question, leaf = user.controller.shown.path[3].id, user.controller.shown.path[-1].id
    costs = user.controller.costs
    user.bot.waitUntil(lambda: costs.get(question) is not None and costs.get(leaf) is not None, timeout=PATIENCE_MS)
    cost = costs.get(question)
    assert cost is not None
    # Its answer has just been written, so all of it is kept.
    assert (cost.tier, cost.num_read) == ("warm", 1)
    user.bot.mouseMove(dock.view.viewport(), _place(dock, question) + QPoint(1, 1))
    user.bot.waitUntil(lambda: "Kept in memory" in _texts(dock), timeout=PATIENCE_MS)
    assert f"{cost.num_kept:,} kept" in _texts(dock)
    assert "You" in _texts(dock)


def test_letter_keys_and_the_menu_apply_to_the_current_message_of_the_tree(user: User, dock: TreeDock):
    leaf = user.controller.shown.path[-1].id
    dock.view.set_current(leaf)
    dock.view.setFocus()
    user.bot.keyClick(dock.view, Qt.Key.Key_S)
    assert user.controller.shown.message(leaf).starred_ms is not None
    dock.view.menu_requested.emit(leaf, dock.mapToGlobal(QPoint(20, 100)))
    menu = next(menu for menu in dock.findChildren(QMenu) if menu.isVisible())
    entries = {action.text().partition("\t")[0].replace("&", ""): action for action in menu.actions()}
    assert {"Go there", "Edit", "Regenerate", "Fork", "Copy message", "Star"} <= set(entries)
    (prune,) = (text for text in entries if text.startswith("Prune (1 "))
    assert not any(entries[name].icon().isNull() for name in ("Edit", "Star", prune))
    # A checked entry has a check mark as its icon, because Qt shows no check box beside an icon.
    assert entries["Star"].isChecked()
    assert entries["Star"].icon().cacheKey() == icon("check", theme(system_scheme()).accent).cacheKey()
    menu.close()
    user.bot.keyClick(dock.view, Qt.Key.Key_R)
    answer = user.answer()
    assert answer.id in user.controller.shown.siblings(leaf)
    assert len(user.controller.shown.siblings(leaf)) == 2


def test_a_key_enters_and_leaves_the_tree(user: User):
    window, dock = user.window, user.window.tree_dock
    user.ask("What is a branch?")
    assert dock.isHidden()
    window.composer.text.setFocus()
    user.bot.keyClick(window.composer.text, Qt.Key.Key_F6)
    assert dock.isVisible()
    assert dock.view.hasFocus()
    user.bot.keyClick(dock.view, Qt.Key.Key_F6)
    assert window.composer.text.hasFocus()
    assert dock.isVisible()
    window.action("walk_tree").trigger()
    user.bot.keyClick(dock.view, Qt.Key.Key_Escape)
    assert window.composer.text.hasFocus()
    window.action("tree").trigger()


def test_find_highlights_hits_on_any_branch_of_the_tree(user: User, dock: TreeDock):
    user.window.action("find").trigger()
    user.window.find_bar.field.setText("what is a branch")
    assert set(dock.view.picture.hits) == {user.controller.shown.path[1].id}
    user.window.find_bar.field.setText("branch")
    assert len(dock.view.picture.hits) > 1
    user.bot.keyClick(user.window.find_bar.field, Qt.Key.Key_Escape)
    assert not dock.view.picture.hits


def test_versions_messages_and_branches_can_be_compared(user: User, dock: TreeDock):
    path = user.controller.shown.path
    second = path[2].id
    first = next(sibling for sibling in user.controller.shown.siblings(second) if sibling != second)
    dock.view.set_current(second)
    dock.view.setFocus()
    user.bot.keyClick(dock.view, Qt.Key.Key_D)
    assert isinstance(user.window.findChild(CompareWindow), CompareWindow)
    user.press(second, "d")
    window = user.window.findChild(CompareWindow)
    assert isinstance(window, CompareWindow)
    assert window.left_choice.currentText().startswith("Version 1 of 2")
    assert window.panes.left.toPlainText() == user.controller.shown.message(first).text
    assert window.panes.right.toPlainText() == user.controller.shown.message(second).text
    ctrl = Qt.KeyboardModifier.ControlModifier
    user.bot.mouseClick(dock.view.viewport(), Qt.MouseButton.LeftButton, ctrl, _place(dock, path[1].id))
    assert window.panes.left.toPlainText() == user.controller.shown.message(second).text
    assert window.panes.right.toPlainText() == path[1].text
    dock.view.menu_requested.emit(first, dock.mapToGlobal(QPoint(20, 100)))
    menu = next(menu for menu in dock.findChildren(QMenu) if menu.isVisible())
    next(action for action in menu.actions() if action.text() == "Compare with the visible branch").trigger()
    menu.close()
    branch = "\n\n".join(f"{'You' if message.role == 'user' else 'Answer'}\n{message.text}" for message in path[2:])
    other = f"Answer\n{user.controller.shown.message(first).text}"
    assert window.panes.left.toPlainText() == branch
    assert window.panes.right.toPlainText() == other
    # For a message without siblings on another branch, the two branches are compared.
    user.controller.shown.go_to(first)
    dock.show_now()
    dock.view.set_current(path[-1].id)
    dock.view.setFocus()
    user.bot.keyClick(dock.view, Qt.Key.Key_D)
    assert window.panes.left.toPlainText() == other
    assert window.panes.right.toPlainText() == branch
    window.close()


def test_in_a_narrow_window_the_tree_overlays_the_page_and_closes_after_use(user: User, dock: TreeDock):
    window = user.window
    window.resize(820, 640)
    user.bot.waitUntil(lambda: dock.isHidden() and window.transcript.width() == 820, timeout=PATIENCE_MS)
    window.action("tree").trigger()
    assert dock.isVisible()
    QApplication.processEvents()
    assert window.transcript.width() == 820
    leaf = user.controller.shown.path[-1].id
    user.bot.waitUntil(lambda: dock.view.layout_shown is not None, timeout=PATIENCE_MS)
    dock.view.set_current(leaf)
    user.bot.keyClick(dock.view, Qt.Key.Key_Return)
    assert dock.isHidden()
    # The setting still says that the tree is visible.
    assert user.controller.program.settings.tree_visible
    window.resize(1100, 760)
    user.bot.waitUntil(dock.isVisible, timeout=PATIENCE_MS)
    assert window.transcript.width() < 1100 - dock.width()


def test_controls_of_the_dock_have_names_take_the_focus_and_are_large_enough(user: User, dock: TreeDock):
    buttons = [button for button in dock.findChildren(QToolButton) if button.isVisible()]
    assert len(buttons) == 2
    assert all(button.accessibleName() and button.toolTip() for button in buttons)
    assert all(min(button.width(), button.height()) >= 28 for button in buttons)
    assert dock.view.accessibleName()
    reached: set[object] = set()
    dock.view.setFocus()
    for _ in range(4):
        reached.add(user.window.focusWidget())
        user.bot.keyClick(user.window.focusWidget(), Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is not dock.view
    assert {dock.view} <= reached


def test_an_empty_root_costs_nothing_to_read() -> None:
    empty = Message(id=1, parent_id=None, role="system", text="")
    assert going_cost_text(empty, None) == "Nothing to read"
    assert going_cost_text(structs.replace(empty, text="Be kind."), None) == "…"


def test_a_card_never_shows_a_partial_line(qtbot: QtBot) -> None:
    card = TreeCard(theme("light"))
    qtbot.addWidget(card)
    card.show_message(Message(id=1, parent_id=None, role="assistant", text="many words " * 40), (1,), None)
    words = next(part for part in card.findChildren(QWidget) if part.accessibleName().startswith("many words"))
    # There is room for all three lines, then for two and a half.
    line_px = words.sizeHint().height() / 3
    for height_px, num_lines in ((round(3.2 * line_px), 3), (round(2.5 * line_px), 2)):
        words.setFixedSize(200, height_px)
        picture = words.grab().toImage()
        rows = {y for y in range(picture.height()) for x in range(200) if picture.pixelColor(x, y).lightnessF() < 0.5}
        assert (num_lines - 1) * line_px < max(rows) / picture.devicePixelRatio() < num_lines * line_px
