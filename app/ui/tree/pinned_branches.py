"""The pinned branches of a conversation as a short list above its tree."""

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

from app.costs.prompt_cost import Cost
from app.model.message import Message, MessageId
from app.ui.parts.cost_text import cost_text, tier_text
from app.ui.parts.labels import as_tool_tip
from app.ui.parts.list_rows import draw_elided, paint_row
from app.ui.theme import Theme, icon, scaled, text_font
from app.ui.tree.tree_words import called, name_in_words, shortened

_MOST_ROWS = 4
"""So many are in sight, and the rest is scrolled to."""
_AROUND_PX = 4
_LINE_PX = 1
ID = Qt.ItemDataRole.UserRole
_ROW_PX = 28
_ICON_PX = 16
_GAP_PX = 8
_WORDS_PX = 13

Index = QModelIndex | QPersistentModelIndex


class PinnedBranches(QListView):
    """Rows in the order in which they were pinned. Letters do with a row's message what they do in the tree."""

    gone_to = Signal(int)
    unpin_asked = Signal(int)
    menu_asked = Signal(int, QPoint)
    """A message's menu, and where it is to open."""
    key_pressed = Signal(int, str)
    """A letter was pressed on a message."""
    pointed = Signal()
    """Another row is pointed at, by the mouse or by the keys."""
    left = Signal()
    """Keys are to work elsewhere again."""

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
        self.rows = PinnedRows(self, message, siblings, cost)
        self.setModel(self.rows)
        self._painter = RowPainter(self, theme)
        self.setItemDelegate(self._painter)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._pressed = QPersistentModelIndex()
        self.selectionModel().currentChanged.connect(self._on_current)
        self.hide()

    def show_ids(self, message_ids: Sequence[MessageId]) -> None:
        """Show these messages, and nothing where there are none."""
        row, had_focus = self.currentIndex().row(), self.hasFocus()
        if not self.rows.show_ids(message_ids):
            return
        self._painter.hovered = QPersistentModelIndex()
        self.setVisible(bool(message_ids))
        self.updateGeometry()
        if had_focus and message_ids:
            # Whoever takes pins away by keys goes on with the next one.
            self.setCurrentIndex(self.rows.index(min(max(row, 0), len(message_ids) - 1), 0))
        self.pointed.emit()

    def set_theme(self, theme: Theme) -> None:
        self._painter.theme = theme
        # Its text may be of another size.
        self.scheduleDelayedItemsLayout()
        self.updateGeometry()
        self.viewport().update()

    @property
    def pointed_id(self) -> MessageId:
        """The message of the row under the mouse, else of the one that the keys work on; 0: there is none."""
        hovered = self._painter.hovered
        index = hovered if hovered.isValid() or not self.hasFocus() else self.currentIndex()
        return index.data(ID) if index.isValid() else 0

    def in_sight(self) -> list[MessageId]:
        """The messages whose rows are in sight."""
        if not self.isVisible():
            return []
        first = self.indexAt(self.viewport().rect().topLeft() + QPoint(1, 1)).row()
        return self.rows.ids[max(first, 0) : max(first, 0) + _MOST_ROWS]

    @override
    def sizeHint(self) -> QSize:
        rows = min(max(len(self.rows.ids), 1), _MOST_ROWS)
        return QSize(0, rows * row_px() + 2 * _AROUND_PX + _LINE_PX)

    @override
    def minimumSizeHint(self) -> QSize:
        # A list that scrolls would want more than one row.
        return self.sizeHint()

    # --- mouse ---------------------------------------------------------------------------------------------

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = QPersistentModelIndex(self.indexAt(event.position().toPoint()))
        super().mousePressEvent(event)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        place = event.position().toPoint()
        index = self.indexAt(place)
        if event.button() != Qt.MouseButton.LeftButton or not index.isValid() or self._pressed != index:
            return
        is_cross = cross_of(self.visualRect(index)).contains(place)
        (self.unpin_asked if is_cross else self.gone_to).emit(index.data(ID))

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self._hover(event.position().toPoint())

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event)
        # Another row came under the mouse.
        self._hover(event.position().toPoint())

    @override
    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(QPoint(-1, -1))
        elif isinstance(event, QHelpEvent) and self._hover(event.pos()) and self._painter.is_on_cross:
            QToolTip.showText(event.globalPos(), self.tr("Unpin (Delete)"), self)
            return True
        return super().viewportEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            index, place = self.indexAt(event.pos()), event.globalPos()
        else:
            index = self.currentIndex()
            place = self.viewport().mapToGlobal(self.visualRect(index).bottomLeft())
        if index.isValid():
            self.menu_asked.emit(index.data(ID), place)

    def _hover(self, place: QPoint) -> bool:
        """Light what is at a place of the viewport; return whether anything is there."""
        painter, index = self._painter, self.indexAt(place)
        is_on_cross = index.isValid() and cross_of(self.visualRect(index)).contains(place)
        is_other = painter.hovered != index
        if is_other or is_on_cross != painter.is_on_cross:
            painter.hovered, painter.is_on_cross = QPersistentModelIndex(index), is_on_cross
            shape = Qt.CursorShape.PointingHandCursor if index.isValid() else Qt.CursorShape.ArrowCursor
            self.viewport().setCursor(shape)
            self.viewport().update()
        if is_other:
            self.pointed.emit()
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
                self.gone_to.emit(index.data(ID))
            case Qt.Key.Key_Delete | Qt.Key.Key_Backspace:
                self.unpin_asked.emit(index.data(ID))
            case Qt.Key.Key_Escape:
                self.left.emit()
            case _ if event.text().isalpha():
                self.key_pressed.emit(index.data(ID), event.text().upper())
            case _:
                super().keyPressEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        # A row is marked while the keys work here.
        self.setCurrentIndex(self.currentIndex() if self.currentIndex().isValid() else self.rows.index(0, 0))
        self.pointed.emit()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.clearSelection()
        self.pointed.emit()

    def _on_current(self) -> None:
        if self.hasFocus():
            self.pointed.emit()


class PinnedRows(QAbstractListModel):
    """Messages by their ids; what is said of them is asked for when it is wanted."""

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
        """Show these; return whether they are others."""
        if self.ids == list(message_ids):
            if self.ids:
                # A name may be another one.
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
                return called(self._message(message_id))
            case Qt.ItemDataRole.AccessibleTextRole:
                return name_in_words(self._message(message_id), self._siblings(message_id))
            case Qt.ItemDataRole.AccessibleDescriptionRole:
                return self._what_it_costs(message_id)
            case Qt.ItemDataRole.ToolTipRole:
                words = shortened(called(self._message(message_id)))
                return as_tool_tip(f"{words}\n{self._what_it_costs(message_id)}")
            case _:
                return None

    def _what_it_costs(self, message_id: MessageId) -> str:
        cost = self._cost(message_id)
        return " · ".join(words for words in (tier_text(cost), cost_text(cost)) if words)


class RowPainter(QStyledItemDelegate):
    """A pin, the words, and where the row is pointed at a cross."""

    def __init__(self, view: QWidget, theme: Theme) -> None:
        super().__init__(view)
        self.theme = theme
        self.hovered = QPersistentModelIndex()
        """The row under the mouse."""
        self.is_on_cross = False
        """Whether the mouse is where that row is unpinned."""

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        paint_row(painter, option)
        row: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        is_hovered = self.hovered == index
        is_pointed = is_hovered or bool(state & QStyle.StateFlag.State_Selected)
        pin = icon("pin", self.theme.accent).pixmap(_ICON_PX, _ICON_PX)
        painter.drawPixmap(row.left() + _GAP_PX, row.center().y() + 1 - _ICON_PX // 2, pin)
        cross = cross_of(row)
        words = QRect(row)
        words.setLeft(row.left() + 2 * _GAP_PX + _ICON_PX)
        words.setRight(cross.left() if is_pointed else row.right() - _GAP_PX)
        draw_elided(painter, words, str(index.data()), text_font(_WORDS_PX), self.theme.text)
        if is_pointed:
            colour = self.theme.text if is_hovered and self.is_on_cross else self.theme.quiet_text
            drawn = icon("close", colour).pixmap(_ICON_PX, _ICON_PX)
            painter.drawPixmap(cross.center() + QPoint(1 - _ICON_PX // 2, 1 - _ICON_PX // 2), drawn)

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, row_px())


def row_px() -> int:
    """Return how high a row is."""
    return max(scaled(_ROW_PX), _ROW_PX)


def cross_of(row: QRect) -> QRect:
    """Return where in a row it is unpinned by the mouse."""
    return QRect(row.right() + 1 - row.height(), row.top(), row.height(), row.height())
