"""The pinned branches of a conversation as a short list above its tree. It only emits signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
    QWidget,
)
from typing_extensions import override

from app.costs.worker_queries import Cost
from app.model.message import Message, MessageId
from app.ui.parts.cost_text import cost_text, tier_text
from app.ui.parts.labels import as_tool_tip
from app.ui.parts.list_rows import draw_elided, paint_row
from app.ui.theme import Theme, icon, scaled, text_font
from app.ui.tree.tree_text import accessible_text, branch_text, shortened

_MAX_ROWS = 4
"""The number of visible rows; a longer list scrolls."""
_AROUND_PX = 4
_LINE_PX = 1
ID = Qt.ItemDataRole.UserRole
_ROW_PX = 28
_ICON_PX = 16
_GAP_PX = 8
_TEXT_PX = 13

Index = QModelIndex | QPersistentModelIndex


class PinnedBranches(QListView):
    """A list of messages in the order in which they were pinned."""

    go_to_requested = Signal(int)
    unpin_requested = Signal(int)
    menu_requested = Signal(int, QPoint)
    """The user wants the menu of a message at a point of the screen."""
    key_pressed = Signal(int, str)
    """A letter was pressed on a message."""
    active_changed = Signal()
    """`active_id` may have changed."""
    escaped = Signal()
    """Esc was pressed."""

    def __init__(
        self,
        theme: Theme,
        message: Callable[[MessageId], Message],
        siblings: Callable[[MessageId], Sequence[MessageId]],
        cost: Callable[[MessageId], Cost | None],
    ) -> None:
        super().__init__()
        self.setObjectName("pinned_branches")
        self.setAccessibleName(self.tr("Pinned branches"))
        self.rows = PinnedModel(self, message, siblings, cost)
        self.setModel(self.rows)
        self._delegate = PinnedDelegate(self, theme)
        self.setItemDelegate(self._delegate)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._pressed = QPersistentModelIndex()
        self.selectionModel().currentChanged.connect(self._on_current)
        self.hide()

    def show_ids(self, message_ids: Sequence[MessageId]) -> None:
        """Show these messages; hide the list if there are none."""
        row, had_focus = self.currentIndex().row(), self.hasFocus()
        if not self.rows.show_ids(message_ids):
            return
        self._delegate.hovered = QPersistentModelIndex()
        self.setVisible(bool(message_ids))
        self.updateGeometry()
        if had_focus and message_ids:
            # After unpinning a row by key, the next row is current.
            self.setCurrentIndex(self.rows.index(min(max(row, 0), len(message_ids) - 1), 0))
        self.active_changed.emit()

    def set_theme(self, theme: Theme) -> None:
        self._delegate.theme = theme
        # The text size may be different.
        self.scheduleDelayedItemsLayout()
        self.updateGeometry()
        self.viewport().update()

    @property
    def active_id(self) -> MessageId:
        """The message of the row under the mouse, else of the current row with the focus; 0 for none."""
        hovered = self._delegate.hovered
        index = hovered if hovered.isValid() or not self.hasFocus() else self.currentIndex()
        return index.data(ID) if index.isValid() else 0

    def in_sight(self) -> list[MessageId]:
        """Return the messages whose rows are visible."""
        if not self.isVisible():
            return []
        first = self.indexAt(self.viewport().rect().topLeft() + QPoint(1, 1)).row()
        return self.rows.ids[max(first, 0) : max(first, 0) + _MAX_ROWS]

    @override
    def sizeHint(self) -> QSize:
        rows = min(max(len(self.rows.ids), 1), _MAX_ROWS)
        return QSize(0, rows * row_px() + 2 * _AROUND_PX + _LINE_PX)

    @override
    def minimumSizeHint(self) -> QSize:
        # The default is larger than one row.
        return self.sizeHint()

    # --- mouse ---------------------------------------------------------------------------------------------

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = QPersistentModelIndex(self.indexAt(event.position().toPoint()))
        super().mousePressEvent(event)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        point = event.position().toPoint()
        index = self.indexAt(point)
        if event.button() != Qt.MouseButton.LeftButton or not index.isValid() or self._pressed != index:
            return
        is_cross = cross_of(self.visualRect(index)).contains(point)
        (self.unpin_requested if is_cross else self.go_to_requested).emit(index.data(ID))

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._hover(event.position().toPoint())

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event)
        # Another row may be under the mouse now.
        self._hover(event.position().toPoint())

    @override
    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(QPoint(-1, -1))
        elif isinstance(event, QHelpEvent) and self._hover(event.pos()) and self._delegate.is_on_cross:
            QToolTip.showText(event.globalPos(), self.tr("Unpin (Del)"), self)
            return True
        return super().viewportEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            index, point = self.indexAt(event.pos()), event.globalPos()
        else:
            index = self.currentIndex()
            point = self.viewport().mapToGlobal(self.visualRect(index).bottomLeft())
        if index.isValid():
            self.menu_requested.emit(index.data(ID), point)

    def _hover(self, point: QPoint) -> bool:
        """Highlight the row at a point of the viewport; return whether there is one."""
        delegate, index = self._delegate, self.indexAt(point)
        is_on_cross = index.isValid() and cross_of(self.visualRect(index)).contains(point)
        is_other = delegate.hovered != index
        if is_other or is_on_cross != delegate.is_on_cross:
            delegate.hovered, delegate.is_on_cross = QPersistentModelIndex(index), is_on_cross
            shape = Qt.CursorShape.PointingHandCursor if index.isValid() else Qt.CursorShape.ArrowCursor
            self.viewport().setCursor(shape)
            self.viewport().update()
        if is_other:
            self.active_changed.emit()
        return index.isValid()

    # --- keys ----------------------------------------------------------------------------------------------

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        modifiers = event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        if modifiers or not index.isValid():
            super().keyPressEvent(event)
            return
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.go_to_requested.emit(index.data(ID))
            case Qt.Key.Key_Delete | Qt.Key.Key_Backspace:
                self.unpin_requested.emit(index.data(ID))
            case Qt.Key.Key_Escape:
                self.escaped.emit()
            case _ if event.text().isalpha():
                self.key_pressed.emit(index.data(ID), event.text().upper())
            case _:
                super().keyPressEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        # A row is selected only while the list has the focus.
        self.setCurrentIndex(self.currentIndex() if self.currentIndex().isValid() else self.rows.index(0, 0))
        self.active_changed.emit()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.clearSelection()
        self.active_changed.emit()

    def _on_current(self) -> None:
        if self.hasFocus():
            self.active_changed.emit()


class PinnedModel(QAbstractListModel):
    """The list model: ids of messages, whose texts are computed when a view requests them."""

    def __init__(
        self,
        parent: QWidget,
        message: Callable[[MessageId], Message],
        siblings: Callable[[MessageId], Sequence[MessageId]],
        cost: Callable[[MessageId], Cost | None],
    ) -> None:
        super().__init__(parent)
        self.ids: list[MessageId] = []
        self._message = message
        self._siblings = siblings
        self._cost = cost

    def show_ids(self, message_ids: Sequence[MessageId]) -> bool:
        """Set the messages; return whether they changed."""
        if self.ids == list(message_ids):
            if self.ids:
                # A name may have changed.
                self.dataChanged.emit(self.index(0, 0), self.index(len(self.ids) - 1, 0))
            return False
        self.beginResetModel()
        self.ids = list(message_ids)
        self.endResetModel()
        return True

    @override
    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.ids)

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        message_id = self.ids[index.row()]
        match role:
            case Qt.ItemDataRole.UserRole:
                return message_id
            case Qt.ItemDataRole.DisplayRole:
                return branch_text(self._message(message_id))
            case Qt.ItemDataRole.AccessibleTextRole:
                return accessible_text(self._message(message_id), self._siblings(message_id))
            case Qt.ItemDataRole.AccessibleDescriptionRole:
                return self._cost_text(message_id)
            case Qt.ItemDataRole.ToolTipRole:
                name = shortened(branch_text(self._message(message_id)))
                return as_tool_tip(f"{name}\n{self._cost_text(message_id)}")
            case _:
                return None

    def _cost_text(self, message_id: MessageId) -> str:
        cost = self._cost(message_id)
        return " · ".join(text for text in (tier_text(cost), cost_text(cost)) if text)


class PinnedDelegate(QStyledItemDelegate):
    """Paints a row: a pin, the text, and a cross if the row is hovered or selected."""

    def __init__(self, view: QWidget, theme: Theme) -> None:
        super().__init__(view)
        self.theme = theme
        self.hovered = QPersistentModelIndex()
        """The row under the mouse."""
        self.is_on_cross = False
        """Whether the mouse is over the cross of that row."""

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        paint_row(painter, option)
        row: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        is_hovered = self.hovered == index
        has_cross = is_hovered or bool(state & QStyle.StateFlag.State_Selected)
        pin = icon("pin", self.theme.accent).pixmap(scaled(_ICON_PX), scaled(_ICON_PX))
        painter.drawPixmap(row.left() + _GAP_PX, row.center().y() + 1 - _ICON_PX // 2, pin)
        cross = cross_of(row)
        text_box = QRect(row)
        text_box.setLeft(row.left() + 2 * _GAP_PX + _ICON_PX)
        text_box.setRight(cross.left() if has_cross else row.right() - _GAP_PX)
        draw_elided(painter, text_box, str(index.data()), text_font(_TEXT_PX), self.theme.text)
        if has_cross:
            colour = self.theme.text if is_hovered and self.is_on_cross else self.theme.quiet_text
            cross_icon = icon("close", colour).pixmap(scaled(_ICON_PX), scaled(_ICON_PX))
            painter.drawPixmap(cross.center() + QPoint(1 - _ICON_PX // 2, 1 - _ICON_PX // 2), cross_icon)

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, row_px())


def row_px() -> int:
    """Return the height of a row."""
    return max(scaled(_ROW_PX), _ROW_PX)


def cross_of(row: QRect) -> QRect:
    """Return the rectangle of a row's cross."""
    return QRect(row.right() + 1 - row.height(), row.top(), row.height(), row.height())
