"""List rows of two lines: a name, and a detail below it in a quiet colour."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from typing_extensions import override

from app.ui.parts.labels import beginning
from app.ui.theme import SMALL_PX, TEXT_PX, icon, scaled, text_font

DETAIL = Qt.ItemDataRole.UserRole + 1
"""The item data role of the lower line."""
MARK = Qt.ItemDataRole.UserRole + 2
"""The item data role of an icon's name. The icon is shown before the upper line."""

_ROW_PX = 52
_MARGIN_PX = 12
_MARK_PX = 16


class TwoLineDelegate(QStyledItemDelegate):
    """Paints rows of two lines; text that does not fit is elided."""

    @override
    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        paint_row(painter, option)
        room = option.rect.adjusted(_MARGIN_PX, 7, -_MARGIN_PX, -7)  # pyright: ignore[reportAttributeAccessIssue]
        palette: QPalette = option.palette  # pyright: ignore[reportAttributeAccessIssue]
        mark = index.data(MARK)
        upper = QRect(room.left(), room.top(), room.width(), room.height() // 2)
        if mark:
            drawn = icon(mark, palette.placeholderText().color().name()).pixmap(scaled(_MARK_PX), scaled(_MARK_PX))
            painter.drawPixmap(upper.left(), upper.center().y() - scaled(_MARK_PX) // 2, drawn)
            upper.setLeft(upper.left() + scaled(_MARK_PX) + 6)
        lower = QRect(room.left(), room.center().y() + 1, room.width(), room.height() // 2)
        draw_elided(painter, upper, str(index.data()), text_font(TEXT_PX), palette.text().color().name())
        quiet = palette.placeholderText().color().name()
        draw_elided(painter, lower, str(index.data(DETAIL) or ""), text_font(SMALL_PX), quiet)

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, scaled(_ROW_PX))


def paint_row(painter: QPainter, option: QStyleOptionViewItem) -> None:
    """Paint the background of a row in the current style: selected, hovered, focused."""
    widget: QWidget = option.widget  # pyright: ignore[reportAttributeAccessIssue]
    widget.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, widget)


def draw_elided(
    painter: QPainter,
    room: QRect,
    text: str,
    font: QFont,
    colour: str,
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
) -> None:
    """Draw one line of text, vertically centred and elided if it is too long."""
    painter.setFont(font)
    painter.setPen(colour)
    shown = QFontMetrics(font).elidedText(" ".join(beginning(text).split()), Qt.TextElideMode.ElideRight, room.width())
    painter.drawText(room, align | Qt.AlignmentFlag.AlignVCenter, shown)


def two_line_list(name: str) -> QListWidget:
    """Return an empty list whose rows have two lines."""
    rows = QListWidget()
    rows.setObjectName("rows")
    rows.setAccessibleName(name)
    rows.setItemDelegate(TwoLineDelegate(rows))
    rows.setUniformItemSizes(True)
    rows.setMouseTracking(True)
    rows.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return rows


def two_line_item(text: str, detail: str, key: object, mark: str = "") -> QListWidgetItem:
    """Return a row; `key` is stored as its `UserRole`, `mark` is the name of an icon."""
    item = QListWidgetItem(text)
    item.setData(DETAIL, detail)
    item.setData(MARK, mark)
    item.setData(Qt.ItemDataRole.UserRole, key)
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{text}, {detail}")
    return item
