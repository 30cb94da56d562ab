"""The tree with mouse and keys, which move the current spot, pan and zoom. Signals request everything else."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QGuiApplication, QKeyEvent, QMouseEvent, QWheelEvent
from typing_extensions import override

from app.costs.worker_queries import Cost, Tier
from app.model.message import Message, MessageId
from app.model.tree_layout import Spot, TreeLayout
from app.ui.theme import Theme
from app.ui.tree import tree_accessible
from app.ui.tree.tree_canvas import TreeCanvas

_WHEEL_STEP = 120
"""One notch of a mouse wheel, in eighths of a degree. Touchpads send smaller steps."""


class TreeView(TreeCanvas):
    """Shows a tree in which the user can move around. It never changes the tree."""

    go_to_requested = Signal(int)
    """Enter was pressed on a message, or it was double-clicked: the message's id."""
    hovered = Signal(int)
    """The mouse is over another spot; 0 for none."""
    key_pressed = Signal(int, str)
    """A letter, or `Del`, was pressed on a message."""
    comparison_requested = Signal(int, int)
    """The user wants to compare the current message with another."""
    escaped = Signal()
    """Esc was pressed."""
    menu_requested = Signal(int, QPoint)
    """The user wants the menu of a message at a point of the screen."""

    def __init__(
        self,
        theme: Theme,
        message: Callable[[MessageId], Message],
        cost: Callable[[MessageId], Cost | None],
        tier: Callable[[MessageId], Tier | None],
    ) -> None:
        super().__init__(theme, message, cost, tier)
        tree_accessible.install()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Tree of the conversation"))
        self.viewport().setMouseTracking(True)
        self._wheel = 0
        self._grabbed: QPoint | None = None
        """The point at which the mouse was pressed."""
        self._is_panning = False
        self.laid_out.connect(lambda: tree_accessible.announce_change(self))
        self.current_changed.connect(lambda: tree_accessible.announce_focus(self))

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        if not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
            return
        self._wheel += event.angleDelta().y()
        steps = int(self._wheel / _WHEEL_STEP)
        self._wheel -= steps * _WHEEL_STEP
        if steps:
            self.zoom(steps, event.position())
        event.accept()

    # --- mouse ---------------------------------------------------------------------------------------------

    def spot_at(self, point: QPointF) -> Spot | None:
        """Return the spot at a point of the viewport."""
        self._update_right_edge()
        return self.picture.spot_at(point + QPointF(self._offset()))

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() in {Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton}:
            self._grabbed, self._is_panning = event.position().toPoint(), False

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._grabbed is None:
            self._hover(event.position())
            return
        if not self._is_panning:
            distance = QGuiApplication.styleHints().startDragDistance()
            self._is_panning = (point - self._grabbed).manhattanLength() >= distance
            if self._is_panning:
                self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
                self._hover(None)
        if self._is_panning:
            moved, self._grabbed = point - self._grabbed, point
            self.horizontalScrollBar().setValue(self.horizontalScrollBar().value() - moved.x())
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() - moved.y())

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_panning, self._grabbed, self._is_panning = self._is_panning, None, False
        self.viewport().unsetCursor()
        spot = self.spot_at(event.position())
        if not was_panning and spot is not None and event.button() == Qt.MouseButton.LeftButton:
            current = self.current
            if spot.num_folded:
                self.unfold(spot)
            elif event.modifiers() & Qt.KeyboardModifier.ControlModifier and current is not None:
                if current != spot and not current.num_folded:
                    self.comparison_requested.emit(current.id, spot.id)
            else:
                self._set_current_spot(spot)

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        spot = self.spot_at(event.position())
        if spot is not None and not spot.num_folded and event.button() == Qt.MouseButton.LeftButton:
            self._set_current_spot(spot)
            self.go_to_requested.emit(spot.id)

    @override
    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(None)
        return super().viewportEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            spot, point = self.spot_at(QPointF(event.pos())), event.globalPos()
        else:
            spot = self.current
            point = QPoint() if spot is None else self.viewport().mapToGlobal(self.rect_of(spot).bottomRight())
        if spot is not None and not spot.num_folded:
            self._set_current_spot(spot)
            self.menu_requested.emit(spot.id, point)

    def _hover(self, point: QPointF | None) -> None:
        spot = None if point is None else self.spot_at(point)
        hovered_id = 0 if spot is None else spot.id
        if hovered_id != self.picture.hovered_id:
            self.picture.hovered_id = hovered_id
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if hovered_id else Qt.CursorShape.ArrowCursor)
            self.viewport().update()
            self.hovered.emit(hovered_id)

    # --- keys ----------------------------------------------------------------------------------------------

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        layout, spot = self.layout_shown, self.current
        modifiers = event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        if layout is None or spot is None or modifiers:
            super().keyPressEvent(event)
            return
        neighbour = _neighbour(layout, spot, event.key())
        if neighbour is not None:
            self.set_current(neighbour.id)
            event.accept()
            return
        match event.key():
            case Qt.Key.Key_Up | Qt.Key.Key_Down | Qt.Key.Key_Left | Qt.Key.Key_Right:
                # There is no neighbour, and the key must not reach the parent widget.
                pass
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if spot.num_folded:
                self.unfold(spot)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.go_to_requested.emit(spot.id)
            case Qt.Key.Key_Escape:
                self.escaped.emit()
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.zoom(1)
            case Qt.Key.Key_Minus:
                self.zoom(-1)
            case Qt.Key.Key_0:
                self.fit()
            case Qt.Key.Key_Delete if not spot.num_folded:
                self.key_pressed.emit(spot.id, "Del")
            case _ if event.text().isalpha() and not spot.num_folded:
                self.key_pressed.emit(spot.id, event.text().upper())
            case _:
                super().keyPressEvent(event)
                return
        event.accept()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_focus()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show_focus()

    def _show_focus(self) -> None:
        self.picture.has_focus = self.hasFocus()
        self.viewport().update()
        if self.hasFocus():
            tree_accessible.announce_focus(self)


def _neighbour(layout: TreeLayout, spot: Spot, key: int) -> Spot | None:
    """Return the spot that a key moves to; None for other keys, or if there is no spot."""
    match key:
        case Qt.Key.Key_Up:
            return layout.above(spot)
        case Qt.Key.Key_Down:
            return layout.below(spot)
        case Qt.Key.Key_Left:
            return layout.beside(spot, -1)
        case Qt.Key.Key_Right:
            return layout.beside(spot, 1)
        case Qt.Key.Key_Home:
            return layout.top
        case Qt.Key.Key_End:
            return layout.leaf
        case _:
            return None
