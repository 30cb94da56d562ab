"""A tree of 10,000 messages on screen: its first paint, and the time per frame while panning.

The peer is the plain Qt way: a `QGraphicsScene` with a dot, a line and a text for each message, placed by our layout.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from random import Random

from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QGraphicsScene, QGraphicsView

from app.application import make_qt_application
from app.costs.worker_queries import Cost, Tier
from app.model.message import Message, MessageId
from app.model.tree import Tree
from app.model.tree_layout import TreeLayout
from app.ui.theme import theme
from app.ui.tree.tree_geometry import NORMAL, SCALES
from app.ui.tree.tree_text import first_words
from app.ui.tree.tree_view import TreeView
from tests.benchmarks.measure import Row, alone, compared, in_turn

_AREA = "tree view"
_NUM_MESSAGES = 10_000
_WIDTH, _HEIGHT = 300, 800
_NUM_ROUNDS = 7
_NUM_FRAMES = 200
_STEP_PX = 24
_TIERS: tuple[Tier, ...] = ("warm", "disk", "cold")
_PEER = "QGraphicsScene, an item a mark"


def rows() -> Iterator[Row]:
    application = make_qt_application([])
    tree = _tree()
    ours, theirs = in_turn(
        _NUM_ROUNDS,
        lambda: _first_paint_ms(application, tree, _ours),
        lambda: _first_paint_ms(application, tree, _plain),
    )
    panned, plainly = in_turn(
        _NUM_ROUNDS, lambda: _panning_ms(application, tree, _ours), lambda: _panning_ms(application, tree, _plain)
    )
    smallest = [_panning_ms(application, tree, _smallest) for _ in range(_NUM_ROUNDS)]
    name = f"tree of {_NUM_MESSAGES:,} messages"
    yield from (
        alone(_AREA, f"{name} to its first paint, ms", ours, "<= 200"),
        compared(_AREA, "the same, against the peer", ours, _PEER, theirs),
        alone(_AREA, f"{name} panned, p95 of a frame, ms", panned, "<= 16"),
        compared(_AREA, "the same, against the peer", panned, _PEER, plainly),
        alone(_AREA, f"{name} panned at the smallest scale, p95 of a frame, ms", smallest, "<= 16"),
        alone(_AREA, f"{name} laid out, ms", [_laid_out_ms(tree) for _ in range(_NUM_ROUNDS)]),
    )


def _tree() -> Tree:
    """Return a tree of long branches that fork now and then, like an explored conversation."""
    draw = Random(6)
    words = ("How", "do", "I", "fork", "a", "message", "when", "it", "has", "been", "answered", "already")
    messages = [Message(id=1, parent_id=None, role="root", text=""), Message(id=2, parent_id=1, role="system", text="")]
    for number in range(3, _NUM_MESSAGES + 1):
        is_on = number < 8 or draw.random() < 0.9
        parent = messages[-1] if is_on else messages[draw.randint(max(1, number - 400), number - 3)]
        text = " ".join(draw.choices(words, k=draw.randint(4, 60)))
        role = "assistant" if parent.role == "user" else "user"
        messages.append(Message(id=number, parent_id=parent.id, role=role, text=text))
    return Tree(messages, 1)


def _cost(message_id: MessageId) -> Cost:
    return Cost(message_id % 900, 2 * message_id, _TIERS[message_id % 3], 0.1)


def _ours(tree: Tree) -> QAbstractScrollArea:
    view = TreeView(theme("light"), tree.__getitem__, _cost, lambda message_id: _cost(message_id).tier)
    view.resize(_WIDTH, _HEIGHT)
    view.show_tree(tree, {})
    view.verticalScrollBar().setValue(0)
    return view


def _smallest(tree: Tree) -> QAbstractScrollArea:
    view = _ours(tree)
    assert isinstance(view, TreeView)
    view.zoom(-len(SCALES))
    view.verticalScrollBar().setValue(0)
    return view


def _plain(tree: Tree) -> QAbstractScrollArea:
    scale, colours = SCALES[NORMAL], theme("light")
    scene = QGraphicsScene()
    line, dot = QPen(QColor(colours.control_line), 1.5), QColor(colours.quiet_text)
    for row in TreeLayout(tree, {}).rows:
        for spot in row:
            at = scale.position(spot.lane, spot.row)
            if spot.from_lane >= 0:
                above = scale.position(spot.from_lane, spot.row - 1)
                scene.addLine(above.x(), above.y(), at.x(), at.y(), line)
            scene.addEllipse(at.x() - 5.5, at.y() - 5.5, 11, 11, QPen(dot), dot)
            words = scene.addSimpleText(first_words(tree[spot.id])[:30])
            words.setPos(at.x() + 12, at.y() - 8)
    view = QGraphicsView(scene)
    scene.setParent(view)
    view.resize(_WIDTH, _HEIGHT)
    view.verticalScrollBar().setValue(view.verticalScrollBar().minimum())
    return view


def _first_paint_ms(application: QApplication, tree: Tree, make: Callable[[Tree], QAbstractScrollArea]) -> float:
    begin = time.perf_counter()
    view = make(tree)
    view.show()
    application.processEvents()
    view.viewport().repaint()
    took_ms = (time.perf_counter() - begin) * 1e3
    _close(view)
    return took_ms


def _panning_ms(application: QApplication, tree: Tree, make: Callable[[Tree], QAbstractScrollArea]) -> float:
    """Drag the page down and a little to the side in each frame; return the 95th percentile of the frame times."""
    view = make(tree)
    view.show()
    application.processEvents()
    bar, across = view.verticalScrollBar(), view.horizontalScrollBar()
    frames: list[float] = []
    for _ in range(_NUM_FRAMES):
        begin = time.perf_counter()
        bar.setValue(bar.value() + _STEP_PX)
        across.setValue(across.value() + 1)
        application.processEvents()
        frames.append((time.perf_counter() - begin) * 1e3)
    assert bar.value() > bar.minimum() + _STEP_PX
    _close(view)
    return statistics.quantiles(frames, n=20)[-1]


def _laid_out_ms(tree: Tree) -> float:
    begin = time.perf_counter()
    layout = TreeLayout(tree, {})
    took_ms = (time.perf_counter() - begin) * 1e3
    assert len(layout) > _NUM_MESSAGES * 0.9
    return took_ms


def _close(view: QAbstractScrollArea) -> None:
    view.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    view.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
