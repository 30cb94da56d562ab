"""The tree for screen readers: a list of its messages, because a painted widget has no child widgets."""

from __future__ import annotations

from functools import cache

import shiboken6
from PySide6.QtCore import QObject, QRect
from PySide6.QtGui import QAccessible, QAccessibleEvent, QAccessibleInterface, QWindow
from PySide6.QtWidgets import QAccessibleWidget
from typing_extensions import override

from app.model.tree_layout import Spot, TreeLayout
from app.ui.parts.cost_text import cost_text, tier_text
from app.ui.tree.tree_canvas import TreeCanvas


@cache
def install() -> None:
    """Register the accessible interface of trees with Qt."""
    QAccessible.installFactory(_interface_of)


def announce_focus(canvas: TreeCanvas) -> None:
    """Report the current message to screen readers."""
    if not QAccessible.isActive() or not canvas.hasFocus():
        return
    tree = QAccessible.queryAccessibleInterface(canvas)
    node = tree.focusChild() if isinstance(tree, _Tree) else None
    if node is not None:
        QAccessible.updateAccessibility(QAccessibleEvent(node, QAccessible.Event.Focus))


def announce_change(canvas: TreeCanvas) -> None:
    """Report a new layout to screen readers."""
    if QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleEvent(canvas, QAccessible.Event.ObjectReorder))


def _interface_of(_class_name: str, found: QObject) -> QAccessibleInterface | None:
    # Qt deletes the interface together with its widget.
    return _Tree(found) if isinstance(found, TreeCanvas) else None


@cache
def _registered() -> list[QAccessibleInterface]:
    """Return the list that keeps interfaces without a widget alive, because Qt keeps pointers to them."""
    return []


class _Tree(QAccessibleWidget):
    """The list of all messages, row by row from the top."""

    def __init__(self, canvas: TreeCanvas) -> None:
        super().__init__(canvas, QAccessible.Role.List, canvas.accessibleName())
        self._canvas = canvas
        self._nodes: dict[int, _Node] = {}
        self._spots: list[Spot] = []
        self._spots_layout: TreeLayout | None = None

    def spots(self) -> list[Spot]:
        layout = self._canvas.layout_shown if shiboken6.isValid(self._canvas) else None
        if layout is None:
            return []
        if self._spots_layout is not layout or len(self._spots) != len(layout):
            self._spots_layout, self._spots = layout, [spot for row in layout.rows for spot in row]
        return self._spots

    def node(self, spot_id: int) -> _Node:
        if spot_id not in self._nodes:
            self._nodes[spot_id] = _Node(self, self._canvas, spot_id)
            QAccessible.registerAccessibleInterface(self._nodes[spot_id])
            _registered().append(self._nodes[spot_id])
        return self._nodes[spot_id]

    @override
    def childCount(self) -> int:
        return len(self.spots())

    @override
    def child(self, index: int) -> QAccessibleInterface | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        spots = self.spots()
        return self.node(spots[index].id) if 0 <= index < len(spots) else None

    @override
    def indexOfChild(self, arg__1: QAccessibleInterface) -> int:
        ids = [spot.id for spot in self.spots()]
        return ids.index(arg__1.spot_id) if isinstance(arg__1, _Node) and arg__1.spot_id in ids else -1

    @override
    def focusChild(self) -> QAccessibleInterface | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        canvas = self._canvas
        current = canvas.current if shiboken6.isValid(canvas) and canvas.hasFocus() else None
        return None if current is None else self.node(current.id)

    @override
    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return next((node for node in self._nodes.values() if node.rect().contains(x, y)), None)


class _Node(QAccessibleInterface):
    """One message or fold. The interface may outlive its spot and the canvas."""

    def __init__(self, tree: _Tree, canvas: TreeCanvas, spot_id: int) -> None:
        super().__init__()
        self._tree = tree
        self._canvas = canvas
        self.spot_id = spot_id

    @property
    def _spot(self) -> Spot | None:
        layout = self._canvas.layout_shown if shiboken6.isValid(self._canvas) else None
        return None if layout is None else layout.get(self.spot_id)

    @override
    def isValid(self) -> bool:
        return self._spot is not None

    @override
    def object(self) -> QObject | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None

    @override
    def window(self) -> QWindow | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._tree.window() if self.isValid() else None

    @override
    def parent(self) -> QAccessibleInterface | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._tree if shiboken6.isValid(self._tree) else None

    @override
    def child(self, index: int) -> QAccessibleInterface | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None

    @override
    def childCount(self) -> int:
        return 0

    @override
    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None

    @override
    def indexOfChild(self, arg__1: QAccessibleInterface) -> int:
        return -1

    @override
    def rect(self) -> QRect:
        spot = self._spot
        if spot is None:
            return QRect()
        rect = self._canvas.rect_of(spot)
        return QRect(self._canvas.viewport().mapToGlobal(rect.topLeft()), rect.size())

    @override
    def role(self) -> QAccessible.Role:
        return QAccessible.Role.ListItem

    @override
    def state(self) -> QAccessible.State:
        state = QAccessible.State()
        spot, layout = self._spot, self._canvas.layout_shown if shiboken6.isValid(self._canvas) else None
        if spot is None or layout is None:
            state.invalid = True
            return state
        state.focusable = state.selectable = True
        state.focused = self._canvas.hasFocus() and self._canvas.current == spot
        state.selected = layout.is_on_path(spot)
        state.offscreen = not self._canvas.is_in_sight(spot)
        return state

    @override
    def text(self, t: QAccessible.Text) -> str:
        spot = self._spot
        if spot is None:
            return ""
        if t == QAccessible.Text.Name:
            return self._canvas.name_of(spot)
        if t == QAccessible.Text.Description and not spot.num_folded:
            cost = self._canvas.cost(spot.id)
            return ", ".join(text for text in (tier_text(cost), cost_text(cost)) if text)
        return ""

    @override
    def setText(self, t: QAccessible.Text, text: str) -> None:
        pass
