"""The tree as a person works it: mouse and keys walk it, pan and zoom it; what is done with messages is asked for."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QGuiApplication, QKeyEvent, QMouseEvent, QWheelEvent
from typing_extensions import override

from app.costs.prompt_cost import Cost
from app.model.message import Message, MessageId
from app.model.tree_layout import Spot, TreeLayout
from app.ui.theme import Theme
from app.ui.tree import tree_accessible
from app.ui.tree.tree_canvas import TreeCanvas

_WHEEL_STEP = 120
"""One click of a mouse's wheel; a touchpad sends smaller ones."""


class TreeView(TreeCanvas):
    """One tree; it changes nothing of it."""

    gone_to = Signal(int)
    """Go to this message: by Enter or by a double click."""
    pointed = Signal(int)
    """The mouse is over another spot; 0: over none."""
    key_pressed = Signal(int, str)
    """A letter, or `Del`, was pressed on a message."""
    comparison_asked = Signal(int, int)
    """The message that the keys work on is to be compared with another."""
    left = Signal()
    """Keys are to work elsewhere again."""
    menu_asked = Signal(int, QPoint)
    """A message's menu, and where it is to open."""

    def __init__(
        self, theme: Theme, message: Callable[[MessageId], Message], cost: Callable[[MessageId], Cost | None]
    ) -> None:
        super().__init__(theme, message, cost)
        tree_accessible.install()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Tree of the conversation"))
        self.viewport().setMouseTracking(True)
        self._wheel = 0
        self._grabbed: QPoint | None = None
        """Where the mouse took hold of the page."""
        self._is_panning = False
        self.laid_out.connect(lambda: tree_accessible.tell_of_change(self))
        self.current_changed.connect(lambda: tree_accessible.tell_of_focus(self))

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

    def spot_at(self, place: QPointF) -> Spot | None:
        """Return the spot at a place of the viewport."""
        self._know_right_edge()
        return self.picture.spot_at(place + QPointF(self._offset()))

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() in {Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton}:
            self._grabbed, self._is_panning = event.position().toPoint(), False

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position().toPoint()
        if self._grabbed is None:
            self._point_at(event.position())
            return
        if not self._is_panning:
            reach = QGuiApplication.styleHints().startDragDistance()
            self._is_panning = (place - self._grabbed).manhattanLength() >= reach
            if self._is_panning:
                self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
                self._point_at(None)
        if self._is_panning:
            moved, self._grabbed = place - self._grabbed, place
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
                    self.comparison_asked.emit(current.id, spot.id)
            else:
                self._let_be_current(spot)

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        spot = self.spot_at(event.position())
        if spot is not None and not spot.num_folded and event.button() == Qt.MouseButton.LeftButton:
            self._let_be_current(spot)
            self.gone_to.emit(spot.id)

    @override
    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._point_at(None)
        return super().viewportEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            spot, place = self.spot_at(QPointF(event.pos())), event.globalPos()
        else:
            spot = self.current
            place = QPoint() if spot is None else self.viewport().mapToGlobal(self.rect_of(spot).bottomRight())
        if spot is not None and not spot.num_folded:
            self._let_be_current(spot)
            self.menu_asked.emit(spot.id, place)

    def _point_at(self, place: QPointF | None) -> None:
        spot = None if place is None else self.spot_at(place)
        pointed_id = 0 if spot is None else spot.id
        if pointed_id != self.picture.pointed_id:
            self.picture.pointed_id = pointed_id
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if pointed_id else Qt.CursorShape.ArrowCursor)
            self.viewport().update()
            self.pointed.emit(pointed_id)

    # --- keys ----------------------------------------------------------------------------------------------

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        layout, spot = self.layout_shown, self.current
        modifiers = event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        if layout is None or spot is None or modifiers:
            super().keyPressEvent(event)
            return
        found = _walked(layout, spot, event.key())
        if found is not None:
            self.set_current(found.id)
            event.accept()
            return
        match event.key():
            case Qt.Key.Key_Up | Qt.Key.Key_Down | Qt.Key.Key_Left | Qt.Key.Key_Right:
                # Nothing is there, and nothing behind the tree is meant.
                pass
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if spot.num_folded:
                self.unfold(spot)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.gone_to.emit(spot.id)
            case Qt.Key.Key_Escape:
                self.left.emit()
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
            tree_accessible.tell_of_focus(self)


def _walked(layout: TreeLayout, spot: Spot, key: int) -> Spot | None:
    """Return where a key leads from a spot; None: nowhere, or it is no key that leads."""
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
