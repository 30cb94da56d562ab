"""The list of search results: role, time, conversation, and an excerpt with the matches highlighted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import structs
from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPalette, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget
from typing_extensions import override

from app.model.message import Role
from app.model.search import Hit
from app.ui.header import model_label
from app.ui.parts.list_rows import draw_elided, paint_row
from app.ui.parts.times import when
from app.ui.theme import SMALL_PX, TEXT_PX, icon, scaled, text_font

_HIT = Qt.ItemDataRole.UserRole
_ROW_PX = 78
_MARGIN_PX = 12
_HEAD_PX = 18
_LINE_PX = 20
_NUM_LINES = 2
_MARK_PX = 14
_HIGHLIGHT_ALPHA = 0.22
_NAME_SHARE = 0.45
"""The largest fraction of a row's first line for the conversation's name. The rest is for role and time."""

_MARKED = re.compile(r"(?<![\w*`])(?P<begin>\*\*|`)(?=\S)[^*`\n]*[^*`\s](?P<end>(?P=begin))(?![\w*`])")
"""Bold text and code in a line."""

_Index = QModelIndex | QPersistentModelIndex


class _Hits(QAbstractListModel):
    """The results of one search, the best first."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._hits: Sequence[Hit] = ()

    def show_hits(self, hits: Sequence[Hit]) -> None:
        self.beginResetModel()
        self._hits = [_without_marks(hit) for hit in hits]
        self.endResetModel()

    @override
    def rowCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._hits)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        hit = self._hits[index.row()]
        match role:
            case Qt.ItemDataRole.UserRole:
                return hit
            case Qt.ItemDataRole.DisplayRole:
                return hit.excerpt
            case Qt.ItemDataRole.AccessibleTextRole:
                parts = (source_of(hit), *_marks_of(hit).values(), hit.conversation.name)
                return f"{', '.join(parts)}: {hit.excerpt}"
            case _:
                return None


class HitList(QListView):
    """Shows the results. One result is always current, so that Enter can open it."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("rows")
        self.setAccessibleName(QCoreApplication.translate("Search", "Search results"))
        self._hits = _Hits(self)
        self.setModel(self._hits)
        self.setItemDelegate(_Rows(self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)

    def show_hits(self, hits: Sequence[Hit]) -> None:
        self._hits.show_hits(hits)
        self.setCurrentIndex(self._hits.index(0))
        self.scrollToTop()

    @property
    def chosen(self) -> Hit | None:
        return self.hit_at(self.currentIndex())

    def hit_at(self, index: _Index) -> Hit | None:
        return index.data(_HIT) if index.isValid() else None


def source_of(hit: Hit) -> str:
    """Return role, model, time and version of a result as text."""
    return " · ".join(_parts_of(hit).values())


def _parts_of(hit: Hit) -> dict[str, str]:
    """Return the parts of the line above a result by what they say."""
    names: dict[Role, str] = {
        "user": QCoreApplication.translate("Search", "You"),
        "assistant": QCoreApplication.translate("Search", "Answer"),
        "system": QCoreApplication.translate("Search", "System prompt"),
        "note": QCoreApplication.translate("Search", "Note"),
        "file": QCoreApplication.translate("Search", "File"),
    }
    parts = {"role": names.get(hit.message.role, hit.message.role)}
    if hit.message.record is not None and hit.message.record.model:
        parts["model"] = model_label(hit.message.record.model)
    parts["time"] = when(hit.message.created_ms)
    if hit.num_versions > 1:
        version = QCoreApplication.translate("Search", "version {number} of {all}")
        parts["version"] = version.format(number=hit.version, all=hit.num_versions)
    if hit.message.name:
        parts["branch"] = QCoreApplication.translate("Search", "branch “{name}”").format(name=hit.message.name)
    return parts


def _fitting_source(hit: Hit, room_px: int) -> str:
    """Return the source of a result without the less important parts that have no room."""
    parts, metrics = _parts_of(hit), QFontMetrics(text_font(SMALL_PX))
    for less in ("branch", "model", "version", "time"):
        text = " · ".join(parts.values())
        if metrics.horizontalAdvance(text) <= room_px:
            break
        parts.pop(less, None)
    return " · ".join(parts.values())


class _Rows(QStyledItemDelegate):
    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        paint_row(painter, option)
        hit: Hit = index.data(_HIT)
        palette: QPalette = option.palette  # pyright: ignore[reportAttributeAccessIssue]
        room = option.rect.adjusted(_MARGIN_PX, 8, -_MARGIN_PX, -8)  # pyright: ignore[reportAttributeAccessIssue]
        quiet = palette.placeholderText().color().name()
        name_px = QFontMetrics(text_font(SMALL_PX)).horizontalAdvance(hit.conversation.name) + 1
        right = QRect(room.left(), room.top(), min(name_px, int(room.width() * _NAME_SHARE)), scaled(_HEAD_PX))
        right.moveRight(room.right())
        left = QRect(room.left(), room.top(), right.left() - room.left() - 8, scaled(_HEAD_PX))
        for mark in _marks_of(hit):
            drawn = icon(mark, palette.highlight().color().name()).pixmap(scaled(_MARK_PX), scaled(_MARK_PX))
            painter.drawPixmap(left.left(), left.center().y() - scaled(_MARK_PX) // 2, drawn)
            left.setLeft(left.left() + scaled(_MARK_PX) + 6)
        draw_elided(painter, left, _fitting_source(hit, left.width()), text_font(SMALL_PX), quiet)
        draw_elided(painter, right, hit.conversation.name, text_font(SMALL_PX), quiet, Qt.AlignmentFlag.AlignRight)
        _draw_excerpt(painter, room.adjusted(0, scaled(_HEAD_PX + 4), 0, 0), hit, palette)

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, scaled(_ROW_PX))


def _without_marks(hit: Hit) -> Hit:
    """Return a result whose excerpt has no marks of Markdown around words, because the page shows none, either."""
    pairs = [found.span(mark) for found in _MARKED.finditer(hit.excerpt) for mark in ("begin", "end")]
    pairs = [(start, end) for start, end in pairs if hit.message.role == "assistant" and end > start]
    if not pairs:
        return hit

    def moved(position: int) -> int:
        return position - sum(min(end, position) - start for start, end in pairs if start < position)

    kept = zip([0, *(end for _, end in pairs)], [*(start for start, _ in pairs), len(hit.excerpt)], strict=True)
    excerpt = "".join(hit.excerpt[start:end] for start, end in kept)
    return structs.replace(hit, excerpt=excerpt, marks=tuple((moved(start), moved(end)) for start, end in hit.marks))


def _marks_of(hit: Hit) -> dict[str, str]:
    """Return the icons of a message's marks, with their accessible texts."""
    marks = (
        ("star", QCoreApplication.translate("Search", "starred"), hit.message.starred_ms),
        ("pin", QCoreApplication.translate("Search", "pinned"), hit.message.pinned_ms),
    )
    return {name: text for name, text, since_ms in marks if since_ms is not None}


def _draw_excerpt(painter: QPainter, room: QRect, hit: Hit, palette: QPalette) -> None:
    layout = QTextLayout(hit.excerpt, text_font(TEXT_PX))
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.setFormats([_highlight(hit.excerpt, start, end, palette) for start, end in hit.marks])
    layout.beginLayout()
    for number in range(_NUM_LINES):
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(room.width())
        line.setPosition(QPointF(0, number * scaled(_LINE_PX)))
    layout.endLayout()
    painter.setPen(palette.text().color())
    layout.draw(painter, QPointF(QPoint(room.left(), room.top())))


def _highlight(text: str, start: int, end: int, palette: QPalette) -> QTextLayout.FormatRange:
    wash = QColor(palette.highlight().color())
    wash.setAlphaF(_HIGHLIGHT_ALPHA)
    format_ = QTextCharFormat()
    format_.setBackground(wash)
    format_.setFontWeight(QFont.Weight.DemiBold)
    result = QTextLayout.FormatRange()
    # Qt counts UTF-16 code units.
    result.start = _num_utf16_units(text[:start])  # pyright: ignore[reportAttributeAccessIssue]
    result.length = _num_utf16_units(text[start:end])  # pyright: ignore[reportAttributeAccessIssue]
    result.format = format_  # pyright: ignore[reportAttributeAccessIssue]
    return result


def _num_utf16_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)
