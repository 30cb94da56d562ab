"""The list of models. Each row has the name, whether the model fits, its size, and a bar during a download."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from PySide6.QtCore import (
    QAbstractListModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QContextMenuEvent, QFontMetrics, QKeyEvent, QPainter, QPalette
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget
from typing_extensions import override

from app.ui.parts.list_rows import draw_elided, paint_row
from app.ui.theme import SMALL_PX, TEXT_PX, Theme, scaled, text_font

_ROW = Qt.ItemDataRole.UserRole
_ROW_PX = 52
_HEADING_PX = 32
_MARGIN_PX = 12
_GAP_PX = 8
_BAR_PX = 4
_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}

_Index = QModelIndex | QPersistentModelIndex
Tone: TypeAlias = Literal["good", "warning", "danger", "quiet"]


@dataclass(frozen=True)
class Row:
    """One row of the list: a model, or the heading of the models below it."""

    key: str
    """The key of the model, valid as long as the window is open; empty for a heading."""
    title: str
    detail: str = ""
    word: str = ""
    """Shown at the right: whether it fits, or that it is loaded."""
    tone: Tone = "quiet"
    """The colour of the word."""
    fraction: float | None = None
    """How much of the model has been downloaded or loaded, from 0 to 1; None means that no bar is shown."""

    @property
    def is_heading(self) -> bool:
        return not self.key

    @property
    def spoken(self) -> str:
        """The text of the row for screen readers."""
        return ", ".join(part for part in (self.title, self.word, self.detail) if part)


class _Rows(QAbstractListModel):
    """The rows as a Qt model. A selected row stays selected when other rows are added or removed."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: Sequence[Row] = ()

    def show_rows(self, rows: Sequence[Row]) -> None:
        if [row.key or row.title for row in rows] == [row.key or row.title for row in self.rows]:
            # Figures change often during a download, so only the rows with changed figures are painted again.
            changed = [number for number, row in enumerate(rows) if row != self.rows[number]]
            self.rows = rows
            for number in changed:
                self.dataChanged.emit(self.index(number), self.index(number))
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    @override
    def rowCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        match role:
            case Qt.ItemDataRole.UserRole:
                return row
            case Qt.ItemDataRole.DisplayRole:
                return row.title
            case Qt.ItemDataRole.AccessibleTextRole:
                return row.spoken
            case _:
                return None

    @override
    def flags(self, index: _Index) -> Qt.ItemFlag:
        is_heading = index.isValid() and self.rows[index.row()].is_heading
        return Qt.ItemFlag.NoItemFlags if is_heading else super().flags(index)


class ModelList(QListView):
    """One model is current while there are any. Arrow keys skip headings; Enter acts on the current model."""

    chosen = Signal(str)
    """The key of the row that became current; empty if there is none."""
    entered = Signal()
    """Enter or a double click on the current row."""
    menu_requested = Signal(QPoint)
    """The user wants the menu of the current row: a position on the screen."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("rows")
        self.setAccessibleName(self.tr("Models"))
        self._rows = _Rows(self)
        self._delegate = _RowDelegate(self, theme)
        self._chosen = ""
        self._awaited = ""
        """The key of a row that becomes current as soon as it is in the list; empty if there is none."""
        self.setModel(self._rows)
        self.setItemDelegate(self._delegate)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.selectionModel().currentChanged.connect(self._on_current)
        self.doubleClicked.connect(self.entered)

    def set_theme(self, theme: Theme) -> None:
        self._delegate.theme = theme
        self.viewport().update()

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows.rows

    @property
    def chosen_key(self) -> str:
        """The key of the current row; empty if there is none."""
        return self._chosen

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows. The current row stays current; if it is gone, the row in its place becomes current."""
        position, top = self.currentIndex().row(), self.verticalScrollBar().value()
        wanted = self._chosen
        self._rows.show_rows(rows)
        if self._awaited and self.choose(self._awaited):
            self._awaited = ""
        if self.currentIndex().isValid():
            return
        if not self.choose(wanted) and not self._awaited:
            self._choose_near(max(position, 0))
        self.verticalScrollBar().setValue(top)

    @property
    def is_awaiting(self) -> bool:
        """Whether the list waits for a row that is not there yet and will become current."""
        return bool(self._awaited)

    def give_up(self) -> None:
        """Stop waiting for the row that should become current."""
        self._awaited = ""
        self.show_rows(self.rows)

    def awaits(self, key: str) -> bool:
        """Return whether the row with this key is current, or will be as soon as it is in the list."""
        return bool(key) and key in {self._chosen, self._awaited}

    def choose(self, key: str) -> bool:
        """Make the row with this key current; return False if the list does not have it."""
        number = next((number for number, row in enumerate(self.rows) if row.key == key and key), None)
        if number is None:
            return False
        self._set_current(number)
        return True

    def choose_next(self, key: str) -> None:
        """Make the row with this key current now, or as soon as it is in the list."""
        if not self.choose(key):
            self._awaited = key

    def _choose_near(self, number: int) -> None:
        """Make the first model at or after the row `number` current; if there is none, the last model before it."""
        models = [place for place, row in enumerate(self.rows) if not row.is_heading]
        if models:
            self._set_current(next((place for place in models if place >= number), models[-1]))
        else:
            self._choose("")

    def _set_current(self, number: int) -> None:
        flag = QItemSelectionModel.SelectionFlag.ClearAndSelect
        self.selectionModel().setCurrentIndex(self._rows.index(number), flag)

    def _on_current(self, index: QModelIndex) -> None:
        # While rows are replaced, there is no current one for a moment.
        if index.isValid():
            self._choose(self.rows[index.row()].key)

    def _choose(self, key: str) -> None:
        self._awaited = ""
        if key != self._chosen:
            self._chosen = key
            self.chosen.emit(key)

    @override
    def moveCursor(self, action: QListView.CursorAction, modifiers: Qt.KeyboardModifier, /) -> QModelIndex:
        """Go to the model below if the key leads to a heading, where Qt would not move at all."""
        index = super().moveCursor(action, modifiers)
        while index.isValid() and not index.flags() & Qt.ItemFlag.ItemIsEnabled:
            index = self._rows.index(index.row() + 1)
        return index

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the row that was right-clicked, or of the current row if the menu key was pressed."""
        place = event.globalPos()
        if event.reason() != QContextMenuEvent.Reason.Mouse:
            self.scrollTo(self.currentIndex())
            place = self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).bottomLeft())
        elif self.indexAt(event.pos()) != self.currentIndex():
            return
        if self.currentIndex().isValid():
            self.menu_requested.emit(place)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER and self.currentIndex().isValid():
            self.entered.emit()
        else:
            super().keyPressEvent(event)


class _RowDelegate(QStyledItemDelegate):
    """Paints the rows."""

    def __init__(self, view: QWidget, theme: Theme) -> None:
        super().__init__(view)
        self.theme = theme

    @override
    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row: Row = index.data(_ROW)
        palette: QPalette = option.palette  # pyright: ignore[reportAttributeAccessIssue]
        quiet = palette.placeholderText().color().name()
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        if row.is_heading:
            room = rect.adjusted(_MARGIN_PX, _GAP_PX, -_MARGIN_PX, 0)
            font = text_font(SMALL_PX)
            font.setBold(True)
            draw_elided(painter, room, row.title, font, quiet)
            return
        paint_row(painter, option)
        room = rect.adjusted(_MARGIN_PX, 7, -_MARGIN_PX, -7)
        upper = QRect(room.left(), room.top(), room.width(), room.height() // 2)
        lower = QRect(room.left(), room.center().y() + 1, room.width(), room.height() // 2)
        word_px = self._draw_word(painter, upper, row)
        upper.setRight(upper.right() - word_px)
        draw_elided(painter, upper, row.title, text_font(TEXT_PX), palette.text().color().name())
        if row.fraction is None:
            draw_elided(painter, lower, row.detail, text_font(SMALL_PX), quiet)
        else:
            lower.moveTop(lower.top() - _BAR_PX // 2)
            draw_elided(painter, lower, row.detail, text_font(SMALL_PX), quiet)
            self._draw_bar(painter, QRect(room.left(), rect.bottom() - _BAR_PX - 3, room.width(), _BAR_PX), row)

    def _draw_word(self, painter: QPainter, room: QRect, row: Row) -> int:
        """Draw the word at the right, and return the width in pixels that it takes from the title."""
        if not row.word:
            return 0
        font = text_font(SMALL_PX)
        colour = {
            "good": self.theme.accent,
            "warning": self.theme.warning,
            "danger": self.theme.danger,
            "quiet": self.theme.quiet_text,
        }[row.tone]
        draw_elided(painter, room, row.word, font, colour, Qt.AlignmentFlag.AlignRight)
        return QFontMetrics(font).horizontalAdvance(row.word) + _GAP_PX

    def _draw_bar(self, painter: QPainter, room: QRect, row: Row) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self.theme.line))
        painter.drawRoundedRect(QRectF(room), _BAR_PX / 2, _BAR_PX / 2)
        done = QRectF(room)
        done.setWidth(room.width() * min(max(row.fraction or 0.0, 0.0), 1.0))
        painter.setBrush(QColor(self.theme.accent))
        painter.drawRoundedRect(done, _BAR_PX / 2, _BAR_PX / 2)
        painter.restore()

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        row: Row = index.data(_ROW)
        return QSize(0, scaled(_HEADING_PX if row.is_heading else _ROW_PX))
