"""Steps of the tour: two versions compared, the tree, three answers beside each other, undo and redo."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QPushButton, QToolButton

from app.tour.asking import EDITED
from app.tour.visitor import UnexpectedError, Visitor, expect
from app.ui.comparing.compare_window import CompareWindow


def compare(visitor: Visitor) -> dict[str, Any]:
    answer = visitor.controller.path[-1]
    visitor.press(visitor.view_of(answer), "D")
    compared = visitor.opened(CompareWindow)
    shown = (compared.panes.left.toPlainText(), compared.panes.right.toPlainText())
    texts = [visitor.controller.message(version).text for version in visitor.controller.siblings(answer.id)]
    expect(list(shown) == texts[-2:], "the two newest versions are not what is compared")
    while not compared.panes.num_differences and compared.left_choice.currentIndex():
        # The same was said again: go back to a version that says something else.
        QTest.keyClick(compared.left_choice, Qt.Key.Key_Up)
    if compared.panes.num_differences:
        QTest.keySequence(compared, "F7")
        expect(compared.panes.current == 0, "no difference is shown")
    visitor.picture("comparing", compared)
    QTest.keyClick(compared, Qt.Key.Key_Escape)
    return {"differences": compared.panes.num_differences}


def go_by_the_tree(visitor: Visitor) -> dict[str, Any]:
    """See what another branch would cost, then go there."""
    visitor.press_key_of("write")
    visitor.click(visitor.find(QToolButton, "Show or hide the tree"))
    dock = visitor.window.tree_dock
    visitor.wait("the tree", lambda: dock.view.layout_shown is not None)
    visitor.settle()
    layout = dock.view.layout_shown
    opened = visitor.controller.opened
    if layout is None or opened is None:
        raise UnexpectedError("there is no tree")
    question = next(message for message in opened.tree.messages if message.text == EDITED)
    answer = next(message for message in opened.tree.messages if message.parent_id == question.id)
    place = dock.view.rect_of(layout[answer.id]).center()
    QTest.mouseMove(dock.view.viewport(), place)
    visitor.wait("what going there costs", lambda: visitor.controller.costs.get(answer.id) is not None)
    shown = [message.id for message in visitor.controller.path]
    visitor.picture("cost before a click")
    expect(answer.id not in shown, "the branch was switched before a click")
    QTest.mouseDClick(dock.view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    expect(visitor.controller.path[-1].id == answer.id, "the tree did not lead there")
    cost = visitor.controller.costs.get(answer.id)
    return {
        "messages": len(list(opened.tree.messages)),
        "would_read_tokens": cost.num_read if cost is not None else None,
    }


def ask_for_three(visitor: Visitor) -> dict[str, Any]:
    """Ask for three more answers at once, and watch them."""
    visitor.click(visitor.find(QToolButton, "Show or hide the tree"))
    answer = visitor.controller.path[-1]
    visitor.press(visitor.view_of(answer), "W")
    visitor.choose(visitor.opened(QMenu), "3 answers")
    page = visitor.window.side_by_side
    expect(page.isVisible() and len(page.message_ids) == 3, "the answers do not stand side by side")
    controller = visitor.controller
    visitor.wait("their first words", lambda: all(controller.message(one).text for one in page.message_ids))
    visitor.picture("three at once")
    visitor.wait("the answers", lambda: not any(controller.is_streaming(one) for one in page.message_ids))
    return {"answers": len(page.message_ids), "versions": len(controller.siblings(answer.id))}


def keep_one(visitor: Visitor) -> dict[str, Any]:
    second = visitor.window.side_by_side.message_ids[1]
    before = visitor.controller.siblings(second)
    number = list(before).index(second) + 1
    visitor.click(visitor.find(QPushButton, f"Keep only Version {number} of {len(before)}"))
    expect(not visitor.window.side_by_side.isVisible(), "they still stand side by side")
    expect(visitor.controller.path[-1].id == second, "the one that was kept is not shown")
    after = visitor.controller.siblings(second)
    expect(len(after) == len(before) - 2, "the other two are still there")
    return {"versions": len(after)}


def undo_and_redo(visitor: Visitor) -> dict[str, Any]:
    kept = visitor.controller.path[-1].id
    after = list(visitor.controller.siblings(kept))
    visitor.press_key_of("undo")
    expect(len(visitor.controller.siblings(kept)) == len(after) + 2, "undo did not bring the other two back")
    visitor.picture("undone")
    visitor.press_key_of("redo")
    expect(list(visitor.controller.siblings(kept)) == after, "redo did not take them away again")
    return {"versions": len(after)}
