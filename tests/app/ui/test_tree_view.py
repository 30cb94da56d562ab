"""The tree as a person works it by keys and mouse, what it costs to paint, and what a screen reader finds in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from msgspec import structs
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface, QContextMenuEvent, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.costs.prompt_cost import Cost
from app.model.message import Message
from app.model.tree import Tree
from app.ui.theme import theme
from app.ui.tree.tree_geometry import MARGIN_PX, NORMAL, SCALES
from app.ui.tree.tree_text import first_words
from app.ui.tree.tree_view import TreeView
from tests.app.ui.wheel import turn_wheel

_LIGHT = theme("light")
_COSTS = {2: Cost(1, 10, "warm", 0.0), 3: Cost(1, 20, "disk", 0.1), 4: Cost(84, 3796, "cold", 0.31)}
_PATIENCE_MS = 30_000


def _tree(num_versions: int = 3) -> Tree:
    """A question with so many answers, the first one followed by a question and its answer; 5 is the newest there."""
    messages = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="system", text=""),
        Message(id=3, parent_id=2, role="user", text="## How do I *fork*?"),
        Message(id=4, parent_id=3, role="assistant", text="Press F.", starred_ms=1, pinned_ms=1),
        Message(id=5, parent_id=4, role="user", text="And back?"),
        Message(id=6, parent_id=5, role="assistant", text="Press Alt+←.", name="the way back"),
    ]
    messages += [
        Message(id=number, parent_id=3, role="assistant", text=f"Version {number}")
        for number in range(7, 6 + num_versions)
    ]
    return Tree(messages, 1)


class _Looker:
    """A tree on screen, and what it asked for."""

    def __init__(self, bot: QtBot, tree: Tree) -> None:
        self.bot = bot
        self.tree = tree
        self.view = TreeView(_LIGHT, lambda message_id: self.tree[message_id], _COSTS.get)
        self.asked: list[object] = []
        self.view.go_to_requested.connect(partial(self._on_asked, "go"))
        self.view.menu_requested.connect(partial(self._on_asked, "menu"))
        self.view.key_pressed.connect(self._on_key)
        self.view.resize(300, 500)
        self.view.show_tree(tree, {3: 4})
        self.view.show()
        self.view.activateWindow()
        self.view.setFocus()
        bot.waitUntil(self.view.hasFocus, timeout=_PATIENCE_MS)

    def _on_asked(self, what: str, message_id: int, _place: QPoint | None = None) -> None:
        self.asked.append((what, message_id))

    def _on_key(self, message_id: int, key: str) -> None:
        self.asked.append((key, message_id))

    def press(self, *keys: Qt.Key) -> int:
        """Press keys; return the message that they led to."""
        for key in keys:
            self.bot.keyClick(self.view, key)
        current = self.view.current
        assert current is not None
        return current.id

    def place(self, message_id: int) -> QPoint:
        layout = self.view.layout_shown
        assert layout is not None
        return self.view.rect_of(layout[message_id]).center()

    def close(self) -> None:
        self.view.close()
        self.view.deleteLater()


@pytest.fixture
def looker(qapp: QApplication, qtbot: QtBot) -> Iterator[_Looker]:
    qapp.setStyle("Fusion")
    looker = _Looker(qtbot, _tree())
    yield looker
    looker.close()


def test_arrows_walk_to_parents_children_and_along_the_row(looker: _Looker):
    assert looker.press(Qt.Key.Key_Home) == 2
    assert looker.press(Qt.Key.Key_Down) == 3
    assert looker.press(Qt.Key.Key_Down) == 4
    assert looker.press(Qt.Key.Key_Right) == 7
    assert looker.press(Qt.Key.Key_Right) == 8
    assert looker.press(Qt.Key.Key_Right) == 8
    assert looker.press(Qt.Key.Key_Up) == 3
    assert looker.press(Qt.Key.Key_End) == 6
    assert looker.press(Qt.Key.Key_Down) == 6
    assert looker.asked == []


def test_the_message_that_is_seen_stays_in_sight_where_the_tree_gets_lower(looker: _Looker):
    looker.press(Qt.Key.Key_End)
    current = looker.view.current
    assert current is not None
    assert looker.view.is_in_sight(current)
    looker.view.resize(300, 90)
    assert looker.view.is_in_sight(current)
    # What may stand under its dot is in sight, too.
    assert looker.view.rect_of(current).center().y() + 2 * MARGIN_PX <= looker.view.viewport().height()
    # It is another size, too, that it has when it is called again.
    looker.view.hide()
    looker.view.resize(300, 500)
    looker.view.verticalScrollBar().setValue(0)
    looker.view.resize(300, 90)
    looker.view.show()
    looker.bot.waitUntil(lambda: looker.view.viewport().height() < 100, timeout=_PATIENCE_MS)
    looker.bot.waitUntil(lambda: looker.view.is_in_sight(current), timeout=_PATIENCE_MS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<think>\nHm.\n</think>\n\n**Yes**, it is.", "Yes, it is."),
        ("[THINK]Hm.[/THINK]Yes.", "Yes."),
        ("Hm, so\n</think>\n\n# Yes", "Yes"),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.", "Yes."),
        ("<think>\nHm, that", "Hm, that"),
    ],
)
def test_of_an_answer_the_tree_says_the_first_words_behind_what_was_thought(text: str, words: str):
    assert first_words(Message(id=1, parent_id=0, role="assistant", text=text)) == words
    # Of a question nothing was thought.
    assert first_words(Message(id=1, parent_id=0, role="user", text="<think> is a mark")) == "<think> is a mark"


def test_enter_goes_there_and_letters_are_asked_of_the_message(looker: _Looker):
    looker.press(Qt.Key.Key_Home, Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_E, Qt.Key.Key_N, Qt.Key.Key_Delete)
    assert looker.asked == [("go", 3), ("E", 3), ("N", 3), ("Del", 3)]


def test_a_click_marks_a_double_click_goes_there_and_the_menu_opens_by_mouse_and_key(looker: _Looker):
    viewport = looker.view.viewport()
    looker.bot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=looker.place(7))
    assert looker.view.current is not None
    assert looker.view.current.id == 7
    assert looker.asked == []
    looker.bot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=looker.place(8))
    assert looker.asked == [("go", 8)]
    # The words beside a row of dots are of the visible branch.
    looker.bot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(250, looker.place(4).y()))
    assert looker.view.current.id == 4
    for reason, place in (
        (QContextMenuEvent.Reason.Mouse, looker.place(5)),
        (QContextMenuEvent.Reason.Keyboard, QPoint()),
    ):
        event = QContextMenuEvent(reason, place, viewport.mapToGlobal(place))
        QApplication.sendEvent(viewport, event)
    assert looker.asked == [("go", 8), ("menu", 5), ("menu", 5)]
    # Beside everything there is nothing.
    looker.bot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(250, 480))
    assert len(looker.asked) == 3


def test_seven_hidden_siblings_fold_and_unfold_by_a_key_or_a_click(qapp: QApplication, qtbot: QtBot):
    looker = _Looker(qtbot, _tree(num_versions=11))
    layout = looker.view.layout_shown
    assert layout is not None
    assert layout[-3].num_folded == 4
    looker.press(Qt.Key.Key_Home, Qt.Key.Key_Down, Qt.Key.Key_Down)
    assert looker.press(*[Qt.Key.Key_Right] * 7) == -3
    # The oldest of those that were hidden.
    assert looker.press(Qt.Key.Key_Return) == 7
    layout = looker.view.layout_shown
    assert layout is not None
    assert layout.get(-3) is None
    assert looker.asked == []
    looker.view.show_tree(looker.tree, {3: 7})
    assert looker.view.layout_shown is not None
    assert len(looker.view.layout_shown) == len(looker.tree) - 1
    looker.close()


def test_what_was_searched_for_is_not_folded_away(qapp: QApplication, qtbot: QtBot):
    looker = _Looker(qtbot, _tree(num_versions=11))
    layout = looker.view.layout_shown
    assert layout is not None
    assert 7 not in layout
    looker.view.set_hits({7})
    layout = looker.view.layout_shown
    assert layout is not None
    assert 7 in layout
    looker.close()


def test_zooming_keeps_what_is_under_the_mouse_and_ends_at_both_ends(looker: _Looker):
    view = looker.view
    at = looker.place(5)
    turn_wheel(view, at, notches=QPoint(0, 120), modifiers=Qt.KeyboardModifier.ControlModifier)
    assert view.picture.scale == SCALES[NORMAL + 1]
    turn_wheel(view, at, notches=QPoint(0, -60), modifiers=Qt.KeyboardModifier.ControlModifier)
    assert view.picture.scale == SCALES[NORMAL + 1]
    turn_wheel(view, at, notches=QPoint(0, -60), modifiers=Qt.KeyboardModifier.ControlModifier)
    assert view.picture.scale == SCALES[NORMAL]
    looker.press(*[Qt.Key.Key_Plus] * 12)
    assert view.picture.scale == SCALES[-1]
    layout = view.layout_shown
    assert layout is not None
    assert view.current is not None
    assert view.is_in_sight(view.current)
    looker.press(*[Qt.Key.Key_Minus] * 12)
    assert view.picture.scale == SCALES[0]
    looker.press(Qt.Key.Key_0)
    # All of it fits at its usual size.
    assert view.picture.scale == SCALES[NORMAL]


def test_dragging_pans_and_marks_nothing(qapp: QApplication, qtbot: QtBot):
    chain = [Message(id=1, parent_id=None, role="root", text="")]
    chain += [Message(id=number, parent_id=number - 1, role="user", text=f"{number}") for number in range(2, 202)]
    looker = _Looker(qtbot, Tree(chain, 1))
    view, bar = looker.view, looker.view.verticalScrollBar()
    # The end of the visible branch is what one sees first.
    assert bar.value() == bar.maximum() > 0
    before = view.current
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 100))
    for y in range(110, 310, 20):
        qtbot.mouseMove(view.viewport(), QPoint(20, y))
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 290))
    assert bar.value() == bar.maximum() - 190
    assert view.current == before
    looker.close()


@pytest.mark.parametrize("zoom", [-5, 0, 1, 2])
def test_a_panned_picture_is_the_one_painted_anew(qapp: QApplication, qtbot: QtBot, zoom: int):
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number in range(2, 1202):
        parent_id = number - 1 if number % 5 or number < 80 else number - 60
        messages.append(Message(id=number, parent_id=parent_id, role="user", text=f"Question {number}"))
    looker = _Looker(qtbot, Tree(messages, 1))
    view = looker.view
    view.zoom(zoom)
    qtbot.waitUntil(lambda: view.picture.progress >= 1, timeout=_PATIENCE_MS)
    down, across = view.verticalScrollBar(), view.horizontalScrollBar()
    for step in (-30, -7, 12, -200, 3):
        down.setValue(down.value() + step)
        across.setValue(across.value() - step)
        QApplication.processEvents()
    assert across.value() > 0
    panned = _pixels(view)
    view.viewport().update()
    QApplication.processEvents()
    anew = _pixels(view)
    assert len(set(anew)) > 20
    # Edges of dots that lie over each other are blended with them in another order.
    assert max(abs(one - other) for one, other in zip(panned, anew, strict=True)) < 20
    looker.close()


def _pixels(view: TreeView) -> bytes:
    image = view.screen().grabWindow(view.winId()).toImage().convertToFormat(QImage.Format.Format_RGB32)
    return bytes(image.constBits())


def test_a_screen_reader_walks_the_messages_with_what_is_kept_of_them(looker: _Looker):
    QAccessible.setActive(True)
    tree = QAccessible.queryAccessibleInterface(looker.view)
    assert tree.text(QAccessible.Text.Name) == "Tree of the conversation"
    nodes = _children(tree)
    assert [node.text(QAccessible.Text.Name) for node in nodes] == [
        "System prompt: No system prompt",
        "You: How do I *fork*?",
        "Answer, version 1 of 3, starred, pinned: Press F.",
        "Answer, version 2 of 3: Version 7",
        "Answer, version 3 of 3: Version 8",
        "You: And back?",
        "Answer, the way back: Press Alt+←.",
    ]
    assert [node.text(QAccessible.Text.Description) for node in nodes[:4]] == [
        "kept in memory, nothing to read · 10 kept",
        "kept on disk, nothing to read · 20 kept",
        "not kept, would read 84 tokens · about 0.3 s · 3,796 kept",
        "Its cost is not known yet",
    ]
    assert [node.state().selected for node in nodes] == [True, True, True, False, False, True, True]
    looker.press(Qt.Key.Key_Home, Qt.Key.Key_Down)
    focus = tree.focusChild()
    assert focus is not None
    assert focus.text(QAccessible.Text.Name) == "You: How do I *fork*?"
    assert focus.state().focused
    assert looker.view.rect().translated(looker.view.mapToGlobal(QPoint())).contains(focus.rect())
    assert tree.indexOfChild(focus) == 1


def test_what_a_screen_reader_holds_may_outlive_the_tree(qapp: QApplication, qtbot: QtBot):
    QAccessible.setActive(True)
    looker = _Looker(qtbot, _tree())
    nodes = _children(QAccessible.queryAccessibleInterface(looker.view))
    looker.view.show_tree(None, {})
    assert [node.isValid() for node in nodes] == [False] * 7
    assert nodes[0].text(QAccessible.Text.Name) == ""
    looker.close()


def _children(tree: QAccessibleInterface) -> list[QAccessibleInterface]:
    return [child for number in range(tree.childCount()) for child in (tree.child(number),) if child is not None]


def test_what_is_added_at_the_end_is_seen_by_who_sees_the_end(qapp: QApplication, qtbot: QtBot):
    tree = _tree()
    looker = _Looker(qtbot, tree)
    view = looker.view
    for number in range(20, 60):
        leaf = tree.path({3: 4})[-1]
        tree.put(Message(id=number, parent_id=leaf.id, role="user", text=f"Question {number}"))
        view.show_tree(tree, {3: 4})
        layout = view.layout_shown
        assert layout is not None
        assert layout.leaf is not None
        assert view.is_in_sight(layout.leaf)
        # Who works on the end goes along with it.
        assert view.current == layout.leaf
    view.verticalScrollBar().setValue(0)
    tree.put(Message(id=60, parent_id=59, role="user", text="One more"))
    view.show_tree(tree, {3: 4})
    assert view.verticalScrollBar().value() == 0
    looker.close()


def test_a_change_moves_what_stands_elsewhere_unless_less_motion_is_asked_for(looker: _Looker):
    view = looker.view
    looker.bot.waitUntil(lambda: view.picture.progress >= 1, timeout=_PATIENCE_MS)
    view.show_tree(looker.tree, {3: 7})
    assert view.picture.progress < 1
    looker.bot.waitUntil(lambda: view.picture.progress >= 1, timeout=_PATIENCE_MS)
    assert not view.picture.lanes_before
    view.setStyleSheet("QWidget { widget-animation-duration: 0; }")
    view.show_tree(looker.tree, {3: 8})
    assert view.picture.progress >= 1


def test_larger_text_has_more_room_where_it_is_read(looker: _Looker):
    view = looker.view
    row_px = view.picture.scale.row_px
    view.set_theme(structs.replace(_LIGHT, text_scale=1.5))
    assert view.picture.scale.row_px == round(1.5 * row_px)
    view.zoom(-len(SCALES))
    assert view.picture.scale == SCALES[0]
