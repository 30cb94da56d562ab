"""The tree view: keys, mouse, painting, and its accessibility interface."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from msgspec import structs
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface, QContextMenuEvent, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.costs.worker_queries import Cost, Tier
from app.model.message import Message
from app.model.tree import Tree
from app.ui.theme import theme
from app.ui.tree.tree_geometry import MARGIN_PX, NORMAL, SCALES
from app.ui.tree.tree_text import first_words
from app.ui.tree.tree_view import TreeView
from tests.app.ui.wheel import turn_wheel
from tests.waiting import PATIENCE_MS

_LIGHT = theme("light")
_COSTS = {2: Cost(1, 10, "warm", 0.0), 3: Cost(1, 20, "disk", 0.1), 4: Cost(84, 3796, "cold", 0.31)}


def _tree(num_versions: int = 3) -> Tree:
    """Return a question with this many answers; the first answer is followed by a question and its answer."""
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


def _tier(message_id: int) -> Tier | None:
    cost = _COSTS.get(message_id)
    return None if cost is None else cost.tier


class _Harness:
    """A visible tree view that records its requests."""

    def __init__(self, bot: QtBot, tree: Tree) -> None:
        self.bot = bot
        self.tree = tree
        self.view = TreeView(_LIGHT, lambda message_id: self.tree[message_id], _COSTS.get, _tier)
        self.requests: list[object] = []
        self.view.go_to_requested.connect(partial(self._on_request, "go"))
        self.view.menu_requested.connect(partial(self._on_request, "menu"))
        self.view.key_pressed.connect(self._on_key)
        self.view.resize(300, 500)
        self.view.show_tree(tree, {3: 4})
        self.view.show()
        self.view.activateWindow()
        self.view.setFocus()
        bot.waitUntil(self.view.hasFocus, timeout=PATIENCE_MS)

    def _on_request(self, kind: str, message_id: int, _place: QPoint | None = None) -> None:
        self.requests.append((kind, message_id))

    def _on_key(self, message_id: int, key: str) -> None:
        self.requests.append((key, message_id))

    def press(self, *keys: Qt.Key) -> int:
        """Press keys and return the id of the current message."""
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
def harness(qapp: QApplication, qtbot: QtBot) -> Iterator[_Harness]:
    qapp.setStyle("Fusion")
    harness = _Harness(qtbot, _tree())
    yield harness
    harness.close()


def test_arrow_keys_move_to_parents_children_and_siblings(harness: _Harness):
    assert harness.press(Qt.Key.Key_Home) == 2
    assert harness.press(Qt.Key.Key_Down) == 3
    assert harness.press(Qt.Key.Key_Down) == 4
    assert harness.press(Qt.Key.Key_Right) == 7
    assert harness.press(Qt.Key.Key_Right) == 8
    assert harness.press(Qt.Key.Key_Right) == 8
    assert harness.press(Qt.Key.Key_Up) == 3
    assert harness.press(Qt.Key.Key_End) == 6
    assert harness.press(Qt.Key.Key_Down) == 6
    assert harness.requests == []


def test_the_current_message_stays_visible_when_the_view_gets_lower(harness: _Harness):
    harness.press(Qt.Key.Key_End)
    current = harness.view.current
    assert current is not None
    assert harness.view.is_in_sight(current)
    harness.view.resize(300, 90)
    assert harness.view.is_in_sight(current)
    # The marks below its dot are visible too.
    assert harness.view.rect_of(current).center().y() + 2 * MARGIN_PX <= harness.view.viewport().height()
    # This also holds if the view is resized while it is hidden.
    harness.view.hide()
    harness.view.resize(300, 500)
    harness.view.verticalScrollBar().setValue(0)
    harness.view.resize(300, 90)
    harness.view.show()
    harness.bot.waitUntil(lambda: harness.view.viewport().height() < 100, timeout=PATIENCE_MS)
    harness.bot.waitUntil(lambda: harness.view.is_in_sight(current), timeout=PATIENCE_MS)


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
def test_the_label_of_an_answer_is_its_first_words_after_the_thought(text: str, words: str):
    assert first_words(Message(id=1, parent_id=0, role="assistant", text=text)) == words
    # Questions have no thoughts.
    assert first_words(Message(id=1, parent_id=0, role="user", text="<think> is a mark")) == "<think> is a mark"


def test_enter_and_letter_keys_request_actions_on_the_current_message(harness: _Harness):
    harness.press(Qt.Key.Key_Home, Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_E, Qt.Key.Key_N, Qt.Key.Key_Delete)
    assert harness.requests == [("go", 3), ("E", 3), ("N", 3), ("Del", 3)]


def test_a_click_selects_a_double_click_opens_and_the_menu_opens_by_mouse_and_key(harness: _Harness):
    viewport = harness.view.viewport()
    harness.bot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=harness.place(7))
    assert harness.view.current is not None
    assert harness.view.current.id == 7
    assert harness.requests == []
    harness.bot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=harness.place(8))
    assert harness.requests == [("go", 8)]
    # The text beside a row of dots belongs to the visible branch.
    harness.bot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(250, harness.place(4).y()))
    assert harness.view.current.id == 4
    for reason, place in (
        (QContextMenuEvent.Reason.Mouse, harness.place(5)),
        (QContextMenuEvent.Reason.Keyboard, QPoint()),
    ):
        event = QContextMenuEvent(reason, place, viewport.mapToGlobal(place))
        QApplication.sendEvent(viewport, event)
    assert harness.requests == [("go", 8), ("menu", 5), ("menu", 5)]
    # A double click on empty space does nothing.
    harness.bot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=QPoint(250, 480))
    assert len(harness.requests) == 3


def test_folded_siblings_unfold_by_a_key_or_a_click(qapp: QApplication, qtbot: QtBot):
    harness = _Harness(qtbot, _tree(num_versions=11))
    layout = harness.view.layout_shown
    assert layout is not None
    assert layout[-3].num_folded == 4
    harness.press(Qt.Key.Key_Home, Qt.Key.Key_Down, Qt.Key.Key_Down)
    assert harness.press(*[Qt.Key.Key_Right] * 7) == -3
    # The current message is the oldest of the folded ones.
    assert harness.press(Qt.Key.Key_Return) == 7
    layout = harness.view.layout_shown
    assert layout is not None
    assert layout.get(-3) is None
    assert harness.requests == []
    harness.view.show_tree(harness.tree, {3: 7})
    assert harness.view.layout_shown is not None
    assert len(harness.view.layout_shown) == len(harness.tree) - 1
    harness.close()


def test_a_search_hit_is_not_folded(qapp: QApplication, qtbot: QtBot):
    harness = _Harness(qtbot, _tree(num_versions=11))
    layout = harness.view.layout_shown
    assert layout is not None
    assert 7 not in layout
    harness.view.set_hits({7})
    layout = harness.view.layout_shown
    assert layout is not None
    assert 7 in layout
    harness.close()


def test_zooming_keeps_the_point_under_the_mouse_and_has_limits(harness: _Harness):
    view = harness.view
    at = harness.place(5)
    turn_wheel(view, at, notches=QPoint(0, 120), modifiers=Qt.KeyboardModifier.ControlModifier)
    assert view.picture.scale == SCALES[NORMAL + 1]
    turn_wheel(view, at, notches=QPoint(0, -60), modifiers=Qt.KeyboardModifier.ControlModifier)
    assert view.picture.scale == SCALES[NORMAL + 1]
    turn_wheel(view, at, notches=QPoint(0, -60), modifiers=Qt.KeyboardModifier.ControlModifier)
    assert view.picture.scale == SCALES[NORMAL]
    harness.press(*[Qt.Key.Key_Plus] * 12)
    assert view.picture.scale == SCALES[-1]
    layout = view.layout_shown
    assert layout is not None
    assert view.current is not None
    assert view.is_in_sight(view.current)
    harness.press(*[Qt.Key.Key_Minus] * 12)
    assert view.picture.scale == SCALES[0]
    harness.press(Qt.Key.Key_0)
    # At normal scale the whole tree fits.
    assert view.picture.scale == SCALES[NORMAL]


def test_dragging_pans_and_selects_nothing(qapp: QApplication, qtbot: QtBot):
    chain = [Message(id=1, parent_id=None, role="root", text="")]
    chain += [Message(id=number, parent_id=number - 1, role="user", text=f"{number}") for number in range(2, 202)]
    harness = _Harness(qtbot, Tree(chain, 1))
    view, bar = harness.view, harness.view.verticalScrollBar()
    # The view starts at the end of the visible branch.
    assert bar.value() == bar.maximum() > 0
    before = view.current
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 100))
    for y in range(110, 310, 20):
        qtbot.mouseMove(view.viewport(), QPoint(20, y))
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(20, 290))
    assert bar.value() == bar.maximum() - 190
    assert view.current == before
    harness.close()


@pytest.mark.parametrize("zoom", [-5, 0, 1, 2])
def test_a_panned_picture_equals_a_repainted_one(qapp: QApplication, qtbot: QtBot, zoom: int):
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number in range(2, 1202):
        # Branches of eight messages, which leave the first one at many rows.
        parent_id = number - 1 if number % 8 or number < 80 else 2 + number // 8 % 75
        messages.append(Message(id=number, parent_id=parent_id, role="user", text=f"Question {number}"))
    harness = _Harness(qtbot, Tree(messages, 1))
    view = harness.view
    view.zoom(zoom)
    qtbot.waitUntil(lambda: view.picture.progress >= 1, timeout=PATIENCE_MS)
    down, across = view.verticalScrollBar(), view.horizontalScrollBar()
    for step in (-30, -7, 12, -200, 3):
        down.setValue(down.value() + step)
        across.setValue(across.value() - step)
        QApplication.processEvents()
    assert across.value() > 0
    panned = _pixels(view)
    view.viewport().update()
    QApplication.processEvents()
    repainted = _pixels(view)
    assert len(set(repainted)) > 20
    # Antialiased edges of overlapping dots are blended in another order.
    assert max(abs(one - other) for one, other in zip(panned, repainted, strict=True)) < 20
    harness.close()


def _pixels(view: TreeView) -> bytes:
    image = view.screen().grabWindow(view.winId()).toImage().convertToFormat(QImage.Format.Format_RGB32)
    return bytes(image.constBits())


def test_a_screen_reader_reads_the_messages_and_their_costs(harness: _Harness):
    QAccessible.setActive(True)
    tree = QAccessible.queryAccessibleInterface(harness.view)
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
        "Cost not known yet",
    ]
    assert [node.state().selected for node in nodes] == [True, True, True, False, False, True, True]
    harness.press(Qt.Key.Key_Home, Qt.Key.Key_Down)
    focus = tree.focusChild()
    assert focus is not None
    assert focus.text(QAccessible.Text.Name) == "You: How do I *fork*?"
    assert focus.state().focused
    assert harness.view.rect().translated(harness.view.mapToGlobal(QPoint())).contains(focus.rect())
    assert tree.indexOfChild(focus) == 1


def test_accessible_nodes_can_outlive_the_tree(qapp: QApplication, qtbot: QtBot):
    QAccessible.setActive(True)
    harness = _Harness(qtbot, _tree())
    nodes = _children(QAccessible.queryAccessibleInterface(harness.view))
    harness.view.show_tree(None, {})
    assert [node.isValid() for node in nodes] == [False] * 7
    assert nodes[0].text(QAccessible.Text.Name) == ""
    harness.close()


def _children(tree: QAccessibleInterface) -> list[QAccessibleInterface]:
    return [child for number in range(tree.childCount()) for child in (tree.child(number),) if child is not None]


def test_a_new_message_is_scrolled_into_view_if_the_end_was_visible(qapp: QApplication, qtbot: QtBot):
    tree = _tree()
    harness = _Harness(qtbot, tree)
    view = harness.view
    for number in range(20, 60):
        leaf = tree.path({3: 4})[-1]
        tree.put(Message(id=number, parent_id=leaf.id, role="user", text=f"Question {number}"))
        view.show_tree(tree, {3: 4})
        layout = view.layout_shown
        assert layout is not None
        assert layout.leaf is not None
        assert view.is_in_sight(layout.leaf)
        # If the last message was the current one, the new one becomes current.
        assert view.current == layout.leaf
    view.verticalScrollBar().setValue(0)
    tree.put(Message(id=60, parent_id=59, role="user", text="One more"))
    view.show_tree(tree, {3: 4})
    assert view.verticalScrollBar().value() == 0
    harness.close()


def test_a_change_is_animated_unless_reduced_motion_is_set(harness: _Harness):
    view = harness.view
    harness.bot.waitUntil(lambda: view.picture.progress >= 1, timeout=PATIENCE_MS)
    view.show_tree(harness.tree, {3: 7})
    assert view.picture.progress < 1
    harness.bot.waitUntil(lambda: view.picture.progress >= 1, timeout=PATIENCE_MS)
    assert not view.picture.lanes_before
    view.setStyleSheet("QWidget { widget-animation-duration: 0; }")
    view.show_tree(harness.tree, {3: 8})
    assert view.picture.progress >= 1


def test_larger_text_makes_rows_higher_at_readable_scales_only(harness: _Harness):
    view = harness.view
    row_px = view.picture.scale.row_px
    view.set_theme(structs.replace(_LIGHT, text_scale=1.5))
    assert view.picture.scale.row_px == round(1.5 * row_px)
    view.zoom(-len(SCALES))
    assert view.picture.scale == SCALES[0]
