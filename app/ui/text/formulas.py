"""Formulas as pictures, and as characters of a text document."""

from __future__ import annotations

import queue
import threading
from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QByteArray, QObject, QPointF, QRect, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import (
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

from app.model.exports.formula import Formula, formula
from app.ui.parts.labels import as_tool_tip
from app.ui.theme import TEXT_PX, scaled, text_font

_MOST_PIXMAPS = 512
FORMULA = QTextFormat.ObjectTypes.UserObject.value + 1
"""The type of the character in a document."""
_LATEX = QTextFormat.Property.UserProperty.value + 10
_IS_INLINE = _LATEX + 1

_SIZE_PX = TEXT_PX + 1
"""Its letters are a little smaller than those of text."""
_PLACEHOLDER_PX = 20
_OBJECT = "\ufffc"


class FormulaKey(NamedTuple):
    """What a picture is of."""

    latex: str
    is_inline: bool
    size_px: int


class Formulas(QObject):
    """All formulas that were asked for. Drawing one takes some hundredths of a second, so it happens in a thread."""

    drawn = Signal(object)
    """A `FormulaKey` whose picture is there now, or never will be."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[FormulaKey, Formula | None] = {}
        self._asked: set[FormulaKey] = set()
        self._pixmaps: dict[tuple[FormulaKey, str, int], QPixmap] = {}
        self._queue: queue.SimpleQueue[FormulaKey] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._came.connect(self._keep)

    _came = Signal(object, object)

    @property
    def is_idle(self) -> bool:
        return not self._asked

    def is_refused(self, key: FormulaKey) -> bool:
        """Whether a formula is known to be none that can be drawn."""
        return key in self._known and self._known[key] is None

    def picture(self, key: FormulaKey) -> Formula | None:
        """Return a formula's picture; None where there is none yet. `drawn` tells when."""
        if key not in self._known and key not in self._asked:
            self._asked.add(key)
            self._queue.put(key)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="formulas", daemon=True)
                self._thread.start()
        return self._known.get(key)

    def pixmap(self, key: FormulaKey, colour: QColor, scale: float) -> QPixmap | None:
        """Return the picture in a colour, with `scale` pixels to each of the page's."""
        picture = self.picture(key)
        if picture is None:
            return None
        known = (key, colour.name(), round(scale * 100))
        if known not in self._pixmaps:
            if len(self._pixmaps) >= _MOST_PIXMAPS:
                del self._pixmaps[next(iter(self._pixmaps))]
            self._pixmaps[known] = _drawn(picture, colour, scale)
        return self._pixmaps[known]

    def _work(self) -> None:
        while True:
            key = self._queue.get()
            picture = formula(key.latex, key.size_px, "black", is_inline=key.is_inline)
            try:
                self._came.emit(key, picture)
            except RuntimeError:
                # The program has ended meanwhile.
                return

    def _keep(self, key: FormulaKey, picture: Formula | None) -> None:
        self._known[key] = picture
        self._asked.discard(key)
        self.drawn.emit(key)


@lru_cache(maxsize=1)
def formulas() -> Formulas:
    """Return the formulas of the program; every message draws from them."""
    return Formulas()


def _drawn(picture: Formula, colour: QColor, scale: float) -> QPixmap:
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


def insert_formula(cursor: QTextCursor, latex: str, base: QTextCharFormat, *, is_inline: bool) -> bool:
    """Write a formula as a picture; return whether it is one that can be drawn, as far as is known."""
    key = FormulaKey(latex, is_inline, scaled(_SIZE_PX))
    if formulas().is_refused(key):
        return False
    look = QTextCharFormat(base)
    look.setObjectType(FORMULA)
    look.setProperty(_LATEX, latex)
    look.setProperty(_IS_INLINE, is_inline)
    look.setToolTip(as_tool_tip(latex))
    _stand_on_line(look, key)
    cursor.insertText(_OBJECT, look)
    return True


def formula_key(look: QTextCharFormat) -> FormulaKey:
    return FormulaKey(str(look.property(_LATEX)), bool(look.property(_IS_INLINE)), scaled(_SIZE_PX))


def source_of(look: QTextCharFormat) -> str:
    """Return how a formula is written in Markdown."""
    mark = "$" if look.property(_IS_INLINE) else "$$"
    return f"{mark}{look.property(_LATEX)}{mark}"


def is_formula(document: QTextDocument, position: int, key: FormulaKey) -> bool:
    """Whether this formula stands at a place."""
    look = _character(document, position).charFormat()
    return look.objectType() == FORMULA and formula_key(look) == key


def formula_at(document: QTextDocument, position: int) -> str:
    """Return how the formula at a place is written."""
    return source_of(_character(document, position).charFormat())


def fit_formula(document: QTextDocument, position: int, key: FormulaKey) -> None:
    """Give the formula at a place the room of its picture, which is there now."""
    cursor = _character(document, position)
    look = cursor.charFormat()
    _stand_on_line(look, key)
    cursor.setCharFormat(look)


def _character(document: QTextDocument, position: int) -> QTextCursor:
    cursor = QTextCursor(document)
    cursor.setPosition(position)
    cursor.movePosition(QTextCursor.MoveOperation.NextCharacter, QTextCursor.MoveMode.KeepAnchor)
    return cursor


def _stand_on_line(look: QTextCharFormat, key: FormulaKey) -> None:
    """Qt lets an object reach as far below the line as its font does; so it gets a font that reaches far enough."""
    picture = formulas().picture(key)
    font_px, _ = _font_reaching(0 if picture is None else picture.below_px)
    look.setFont(_font(font_px), QTextCharFormat.FontPropertiesInheritanceBehavior.FontPropertiesSpecifiedOnly)
    look.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignBaseline)


@lru_cache(maxsize=256)
def _font_reaching(below_px: float) -> tuple[int, int]:
    """Return a font's size, and how far it reaches below the line."""
    sizes = ((px, QFontMetrics(_font(px)).descent()) for px in range(4, 1000))
    return next(((px, descent) for px, descent in sizes if descent >= below_px), (1000, round(below_px)))


def _font(px: int) -> QFont:
    font = text_font()
    font.setPixelSize(px)
    return font


class FormulaObject(QPyTextObject):
    """Tells the layout how large formulas are, and paints them."""

    drawn = Signal(object)
    """A `FormulaKey`: see `Formulas`."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        formulas().drawn.connect(self.drawn)

    @override
    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:
        look = format.toCharFormat()
        key = formula_key(look)
        picture = formulas().picture(key)
        if picture is None:
            return QSizeF(min(_room_px(doc, posInDocument), 0.5 * TEXT_PX * len(key.latex)), _PLACEHOLDER_PX)
        _, below = _font_reaching(picture.below_px)
        shrunk = min(1.0, _room_px(doc, posInDocument) / picture.width_px)
        above = picture.height_px - picture.below_px
        return QSizeF(picture.width_px * shrunk, above * shrunk + below)

    @override
    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, doc: QTextDocument, posInDocument: int, format: QTextFormat
    ) -> None:
        look = format.toCharFormat()
        key = formula_key(look)
        picture = formulas().picture(key)
        rect = QRectF(rect)
        if picture is None:
            painter.setPen(look.foreground().color())
            painter.setFont(text_font(12))
            painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter, source_of(look))
            return
        shrunk = min(1.0, rect.width() / picture.width_px)
        scale = painter.device().devicePixelRatioF() * shrunk
        pixmap = formulas().pixmap(key, look.foreground().color(), scale)
        if pixmap is not None:
            ratio = painter.device().devicePixelRatioF()
            pixmap.setDevicePixelRatio(ratio)
            painter.drawPixmap(_sharp(rect.topLeft(), painter, ratio), pixmap)


def _sharp(place: QPointF, painter: QPainter, ratio: float) -> QPointF:
    """Return the nearest place that is a pixel's corner."""
    offset = QPointF(painter.transform().dx(), painter.transform().dy())
    on_device = (place + offset) * ratio
    return QPointF(round(on_device.x()), round(on_device.y())) / ratio - offset


def _room_px(document: QTextDocument, position: int) -> float:
    block = document.findBlock(position).blockFormat()
    taken = block.leftMargin() + block.rightMargin() + document.indentWidth() * block.indent()
    return max(40.0, document.textWidth() - taken)
