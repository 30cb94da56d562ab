"""Formulas: rendered in the background, cached, and inserted into a text document as inline objects."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

from PySide6.QtCore import QByteArray, QObject, QPointF, QRect, QRectF, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFont,
    QFontMetrics,
    QPainter,
    QPixmap,
    QPyTextObject,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer
from typing_extensions import override

from app.formula_renderer import FormulaKey, FormulaRenderer
from app.model.exports.formula import Formula
from app.model.markdown_parser import with_marks
from app.ui.parts.labels import as_tool_tip
from app.ui.theme import TEXT_PX, scaled, text_font

_MAX_PIXMAPS = 1_024
FORMULA = QTextFormat.ObjectTypes.UserObject.value + 1
"""The object type of a formula's character in a document."""
_TEXT_FONT = QTextFormat.Property.UserProperty.value + 12
"""The font of the text around the formula."""
_KEY = _TEXT_FONT + 1
"""The number of the formula's `FormulaKey`."""

_SIZE_PX = TEXT_PX + 1
"""The font size of formulas. Their letters look a little smaller than letters of text in the same size."""
_PLACEHOLDER_PX = 20
_LEAST_ROOM_PX = 40.0
_TELL_MS = 30
"""The time between two reports of new pictures, so that a paragraph is not laid out again for each of its formulas."""
_DRAW_S = 0.010
"""The time for drawing pictures in one turn of the event loop. The other pictures follow in the next turns."""
_OBJECT = "\ufffc"


class Formulas(QObject):
    """Renders formulas in the background and caches them: rendering one takes some hundredths of a second."""

    rendered = Signal()
    """More formulas were rendered, or found to be invalid."""
    due = Signal()
    """Pictures that `pixmap` postponed can be drawn now."""

    def __init__(self) -> None:
        super().__init__()
        self._pictures: dict[FormulaKey, Formula | None] = {}
        """The rendered formulas; None means that a formula can't be rendered."""
        self._pending: set[FormulaKey] = set()
        self._keys: list[FormulaKey] = []
        self._numbers: dict[FormulaKey, int] = {}
        self._pixmaps: dict[tuple[FormulaKey, int, int], QPixmap] = {}
        self._renderer = FormulaRenderer()
        self._drawn_s = 0.0
        """The time spent on drawing pictures in this turn of the event loop, in seconds."""
        self._next_turn = QTimer(self, interval=0, singleShot=True)
        self._next_turn.timeout.connect(self._begin_turn)
        self._teller = QTimer(self, interval=_TELL_MS)
        self._teller.timeout.connect(self._keep)

    def is_known(self, key: FormulaKey) -> bool:
        """Return whether a formula has been rendered, or found to be invalid."""
        return key in self._pictures

    def is_invalid(self, key: FormulaKey) -> bool:
        """Return whether a formula has been found to be invalid, so that it can't be rendered."""
        return key in self._pictures and self._pictures[key] is None

    def number(self, key: FormulaKey) -> int:
        """Return a number for a key: Qt asks for the size of each formula often, and numbers are cheap to look up."""
        if key not in self._numbers:
            self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return self._numbers[key]

    def key(self, number: int) -> FormulaKey:
        """Return the key that has this number."""
        return self._keys[number]

    def picture(self, key: FormulaKey) -> Formula | None:
        """Return the picture of a formula. None means that it can't be rendered, or has not been rendered yet.

        Once a formula has been rendered, `rendered` is emitted.
        """
        if key not in self._pictures and key not in self._pending:
            self._pending.add(key)
            self._renderer.render(key)
            if not self._teller.isActive():
                self._teller.start()
        return self._pictures.get(key)

    def pixmap(self, key: FormulaKey, colour: QColor, scale: float, *, may_wait: bool = False) -> QPixmap | None:
        """Return the picture in a colour, at `scale` device pixels for each logical pixel.

        With `may_wait`, return None if many pictures were drawn in this turn of the event loop; `due` follows.
        """
        picture = self.picture(key)
        if picture is None:
            return None
        pixmap_key = (key, colour.rgba(), round(scale * 100))
        if pixmap_key not in self._pixmaps:
            if not self._next_turn.isActive():
                self._next_turn.start()
            if may_wait and self._drawn_s > _DRAW_S:
                return None
            if len(self._pixmaps) >= _MAX_PIXMAPS:
                del self._pixmaps[next(iter(self._pixmaps))]
            began = time.thread_time()
            self._pixmaps[pixmap_key] = _pixmap(picture, colour, scale)
            self._drawn_s += time.thread_time() - began
        return self._pixmaps[pixmap_key]

    def _begin_turn(self) -> None:
        was_full = self._drawn_s > _DRAW_S
        self._drawn_s = 0.0
        if was_full:
            self.due.emit()

    def _keep(self) -> None:
        """Store the formulas that were rendered since the last call."""
        new = dict(self._renderer.take())
        self._pictures.update(new)
        self._pending -= new.keys()
        if not self._pending:
            self._teller.stop()
        if new:
            self.rendered.emit()


@lru_cache(maxsize=1)
def formulas() -> Formulas:
    """Return the cache of rendered formulas that all messages of the program share."""
    return Formulas()


def _pixmap(picture: Formula, colour: QColor, scale: float) -> QPixmap:
    width, height = max(1, round(picture.width_px * scale)), max(1, round(picture.height_px * scale))
    pixmap = QPixmap(width, height)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(picture.svg.encode())).render(painter, QRectF(0, 0, width, height))
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(0, 0, width, height, colour)
    painter.end()
    pixmap.setDevicePixelRatio(scale)
    return pixmap


@dataclass
class PlacedFormula:
    """A formula in a document."""

    position: int
    key: FormulaKey
    markup: str
    """The mark before the formula in the source, such as `$`."""
    is_fitted: bool
    """Whether the document has reserved the size of the formula's picture."""

    @property
    def source(self) -> str:
        """The formula with its marks, as in the source."""
        return with_marks(self.key.latex, self.markup)


def insert_formula(
    cursor: QTextCursor, latex: str, base: QTextCharFormat, *, markup: str, is_inline: bool
) -> PlacedFormula | None:
    """Insert a formula as a picture. Return None, and insert nothing, if the formula is known to be invalid."""
    key = FormulaKey(latex, is_inline, scaled(_SIZE_PX))
    if formulas().is_invalid(key):
        return None
    placed = PlacedFormula(cursor.position(), key, markup, formulas().is_known(key))
    format_ = QTextCharFormat(base)
    format_.setProperty(_TEXT_FONT, base.font())
    format_.setObjectType(FORMULA)
    format_.setProperty(_KEY, formulas().number(key))
    format_.setToolTip(as_tool_tip(latex))
    _align_baseline(format_, key)
    cursor.insertText(_OBJECT, format_)
    return placed


def key_of(format_: QTextFormat) -> FormulaKey:
    return formulas().key(format_.intProperty(_KEY))


def key_source(key: FormulaKey) -> str:
    """Return the Markdown source of a formula, with dollar signs."""
    mark = "$" if key.is_inline else "$$"
    return f"{mark}{key.latex}{mark}"


def fit_formula(cursor: QTextCursor, placed: PlacedFormula) -> None:
    """Lay out a formula again, after its picture was rendered. An edit block of the cursor must be open."""
    format_ = _select(cursor, placed)
    _align_baseline(format_, placed.key)
    cursor.setCharFormat(format_)
    placed.is_fitted = True


def text_format_at(cursor: QTextCursor, placed: PlacedFormula) -> QTextCharFormat:
    """Select a formula, and return the format of the text around it. An edit block of the cursor must be open."""
    format_ = _select(cursor, placed)
    font = format_.property(_TEXT_FONT)
    for property_ in (_TEXT_FONT, _KEY, QTextFormat.Property.TextToolTip.value):
        format_.clearProperty(property_)
    format_.setObjectType(QTextFormat.ObjectTypes.NoObject.value)
    format_.setFont(font)
    return format_


def _select(cursor: QTextCursor, placed: PlacedFormula) -> QTextCharFormat:
    """Select a formula and return its format. Within an edit block this lays out nothing."""
    cursor.setPosition(placed.position)
    cursor.setPosition(placed.position + 1, QTextCursor.MoveMode.KeepAnchor)
    return cursor.charFormat()


def _align_baseline(format_: QTextCharFormat, key: FormulaKey) -> None:
    """Set a font with at least the descent of the formula, because Qt extends objects below the line by the descent."""
    picture = formulas().picture(key)
    font_px, _ = _font_with_descent(0 if picture is None else picture.below_px)
    format_.setFont(_font(font_px), QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesSpecifiedOnly)
    format_.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignBaseline)


@lru_cache(maxsize=256)
def _font_with_descent(below_px: float) -> tuple[int, int]:
    """Return the smallest font size with at least this descent, and its descent."""
    sizes = ((px, QFontMetrics(_font(px)).descent()) for px in range(4, 1000))
    return next(((px, descent) for px, descent in sizes if descent >= below_px), (1000, round(below_px)))


def _font(px: int) -> QFont:
    font = text_font()
    font.setPixelSize(px)
    return font


_WIDGET = 1
"""The device type of widgets (`QInternal::Widget`)."""


class FormulaObject(QPyTextObject):
    """Qt's handler for formulas in a document: measures and paints them."""

    rendered = Signal()
    """See `Formulas.rendered`."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._sizes: dict[int, QSizeF] = {}
        """The sizes of narrow formulas by the numbers of their keys."""
        self._missing: QAbstractTextDocumentLayout | None = None
        """The layout of the document if some of its pictures must still be drawn."""
        formulas().rendered.connect(self.rendered)
        formulas().due.connect(self._draw_missing)

    @override
    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:
        # Qt asks for each formula of a paragraph several times whenever it paints a part of it.
        number = format.intProperty(_KEY)
        if (known := self._sizes.get(number)) is not None:
            return known
        key = formulas().key(number)
        picture = formulas().picture(key)
        if picture is None:
            return QSizeF(min(_room_px(doc, posInDocument), 0.5 * TEXT_PX * len(key.latex)), _PLACEHOLDER_PX)
        _, below = _font_with_descent(picture.below_px)
        is_narrow = picture.width_px <= _LEAST_ROOM_PX
        shrunk = 1.0 if is_narrow else min(1.0, _room_px(doc, posInDocument) / picture.width_px)
        above = picture.height_px - picture.below_px
        size = QSizeF(picture.width_px * shrunk, above * shrunk + below)
        if is_narrow:
            # A narrow formula fits even if the page's width changes.
            self._sizes[number] = size
        return size

    @override
    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, doc: QTextDocument, posInDocument: int, format: QTextFormat
    ) -> None:
        # Qt asks for each formula in sight, for each highlight in its paragraph.
        key = key_of(format)
        picture = formulas().picture(key)
        rect = QRectF(rect)
        colour = format.foreground().color()
        if picture is None:
            painter.setPen(colour)
            painter.setFont(text_font(12))
            painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter, key_source(key))
            return
        shrunk = min(1.0, rect.width() / picture.width_px)
        device = painter.device()
        ratio = device.devicePixelRatioF()
        pixmap = formulas().pixmap(key, colour, ratio * shrunk, may_wait=device.devType() == _WIDGET)
        if pixmap is None:
            self._missing = doc.documentLayout()
            return
        if pixmap.devicePixelRatioF() != ratio:
            pixmap.setDevicePixelRatio(ratio)
        # The nearest corner of a device pixel, so that the picture stays sharp.
        transform = painter.transform()
        left, top = transform.dx(), transform.dy()
        x, y = round((rect.x() + left) * ratio) / ratio - left, round((rect.y() + top) * ratio) / ratio - top
        painter.drawPixmap(QPointF(x, y), pixmap)

    def _draw_missing(self) -> None:
        if (layout := self._missing) is not None:
            self._missing = None
            layout.update.emit()


def _room_px(document: QTextDocument, position: int) -> float:
    block = document.findBlock(position).blockFormat()
    taken = block.leftMargin() + block.rightMargin() + document.indentWidth() * block.indent()
    return max(_LEAST_ROOM_PX, document.textWidth() - taken)
