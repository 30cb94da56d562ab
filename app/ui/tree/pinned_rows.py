"""The rows of pinned branches: what is said of each, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget
from typing_extensions import override

from app.costs.prompt_cost import Cost
from app.model.message import Message, MessageId
from app.ui.asking.cost_words import cost_in_words, tier_in_words
from app.ui.parts.plain import as_tool_tip
from app.ui.parts.two_lines import draw_elided, paint_row
from app.ui.theme import Theme, icon, scaled, text_font
from app.ui.tree.tree_words import called, name_in_words, shortened

ID = Qt.ItemDataRole.UserRole
_ROW_PX = 28
_ICON_PX = 16
_GAP_PX = 8
_WORDS_PX = 13

Index = QModelIndex | QPersistentModelIndex


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
        return " · ".join(words for words in (tier_in_words(cost), cost_in_words(cost)) if words)


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
