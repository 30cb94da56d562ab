"""Characters that a PDF would lose: drawn as shapes, with their text unseen under them for who copies or searches.

Qt names no character beyond 16 bits in a PDF, and none that no font here can draw. Each is an object in the document:
its shape is drawn as lines, and under it lies a blank character (`blank_font.py`) that the PDF then gives the meaning
of the one that is seen.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from PySide6.QtCore import QByteArray, QPointF, QRect, QRectF, QSize, QSizeF, Qt, QTextBoundaryFinder
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontDatabase,
    QFontMetricsF,
    QImage,
    QPainter,
    QPainterPath,
    QPyTextObject,
    QRawFont,
    QTextBlock,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextLayout,
)
from typing_extensions import override

from app.export.blank_font import FAMILY, FIRST, NUM, blank_font

_OBJECT = QTextFormat.ObjectTypes.UserObject.value + 1
_SAID = QTextFormat.Property.UserProperty.value + 1
_STANDS_FOR_AN_OBJECT = "\ufffc"
_NARROW = 0xFFFF
_SECOND_HALVES = frozenset(bytes([high]) for high in range(0xDC, 0xE0))
_AS_A_PICTURE = "\ufe0f"
"""Says that the character before it is a picture, whatever it is alone."""
_BLANK_PX = 12
_PICTURE_TABLES = ("CBDT", "sbix", "COLR", "SVG ")
"""A font has one of these whose letters are pictures."""
_SHARPNESS = 6
_ROOM = 0.3
"""Of a line's height: pictures reach below the line that letters stand on."""


class WideCharacters(QPyTextObject):
    """Those of one document, which it lets draw them."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._document = document
        self._codes: dict[str, int] = {}
        self._is_lost: dict[str, bool] = {}
        self._picture_fonts: dict[str, bool] = {}
        self._metrics = QFontMetricsF(document.defaultFont())
        self._is_possible = FAMILY in QFontDatabase.families() or (
            QFontDatabase.addApplicationFontFromData(QByteArray(blank_font())) >= 0
        )
        document.documentLayout().registerHandler(_OBJECT, self)

    @property
    def meanings(self) -> dict[int, str]:
        """What each blank character stands for."""
        return {code: said for said, code in self._codes.items()}

    def set_apart(self, start: int) -> None:
        """Make objects of them in the document's text from `start` on."""
        # Laid out once for all of them.
        edit = QTextCursor(self._document)
        edit.beginEditBlock()
        block = self._document.findBlock(start)
        while self._is_possible and block.isValid():
            for place, length, said in self._lost_in(block):
                self._replace(block.position() + place, length, said)
            block = block.next()
        edit.endEditBlock()

    def _lost_in(self, block: QTextBlock) -> Iterator[tuple[int, int, str]]:
        """Yield what a person takes for one character and has a lost one in it, the last first: place, length.

        Both count Qt's units of 16 bits.
        """
        text = block.text()
        if text.isascii() or not any(map(self._loses, set(text))):
            return
        units = text.encode("utf-16-le", "surrogatepass")
        finder = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Grapheme, text)
        finder.toEnd()
        end = finder.position()
        while (start := finder.toPreviousBoundary()) >= 0:
            if units[2 * start + 1 : 2 * start + 2] in _SECOND_HALVES:
                # Of some characters that are younger than its tables Qt takes each half for one.
                continue
            said = units[2 * start : 2 * end].decode("utf-16-le", "replace")
            if any(map(self._loses, said)):
                yield start, end - start, said
            end = start

    def _loses(self, character: str) -> bool:
        """Whether a PDF would lose a character."""
        found = self._is_lost.get(character)
        if found is None:
            is_seen = unicodedata.category(character)[0] in "LNPS" and character != _STANDS_FOR_AN_OBJECT
            found = (
                ord(character) > _NARROW
                or character == _AS_A_PICTURE
                or (
                    is_seen
                    and (
                        not self._metrics.inFontUcs4(ord(character))
                        or self._is_picture(character, self._document.defaultFont())
                    )
                )
            )
            self._is_lost[character] = found
        return found

    def _is_picture(self, said: str, font: QFont) -> bool:
        """Whether any of it comes from a font whose letters are pictures. Asking that for a shape changes its sizes."""
        layout = QTextLayout(said, font)
        layout.beginLayout()
        layout.createLine()
        layout.endLayout()
        return any(self._has_pictures(run.rawFont()) for run in layout.glyphRuns())

    def _has_pictures(self, font: QRawFont) -> bool:
        if font.pixelSize() <= 0:
            # The boxes that stand for what no font has: Qt dies of it if it is asked for more.
            return False
        name = font.familyName()
        if name not in self._picture_fonts:
            self._picture_fonts[name] = any(not font.fontTable(table).isEmpty() for table in _PICTURE_TABLES)
        return self._picture_fonts[name]

    def _replace(self, position: int, length: int, said: str) -> None:
        if len(self._codes) >= NUM and said not in self._codes:
            return
        self._codes.setdefault(said, FIRST + len(self._codes))
        cursor = QTextCursor(self._document)
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        look = cursor.charFormat()
        look.setObjectType(_OBJECT)
        look.setProperty(_SAID, said)
        cursor.insertText(_STANDS_FOR_AN_OBJECT, look)

    def _font(self, look: QTextFormat) -> QFont:
        return look.toCharFormat().font().resolve(self._document.defaultFont())

    @override
    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:
        metrics = QFontMetricsF(self._font(format))
        return QSizeF(metrics.horizontalAdvance(meant(format)), metrics.ascent())

    @override
    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, doc: QTextDocument, posInDocument: int, format: QTextFormat
    ) -> None:
        said, font, place = meant(format), self._font(format), QRectF(rect)
        brush = format.foreground()
        colour = QColor(Qt.GlobalColor.black) if brush.style() == Qt.BrushStyle.NoBrush else brush.color()
        base = QPointF(place.left(), place.bottom())
        painter.save()
        if self._is_picture(said, font):
            # A PDF would have it as large as the font has it.
            room = _ROOM * place.height()
            painter.drawImage(place.adjusted(0, -room, 0, room), _drawn(said, font, place.size()))
        else:
            shape = QPainterPath()
            shape.addText(base, font, said)
            painter.fillPath(shape, QBrush(colour))
        # As wide as what is seen, and no higher than its line: readers tell by that what stands together.
        blank = QFont(FAMILY)
        blank.setPixelSize(_BLANK_PX)
        painter.setFont(blank)
        painter.setPen(QColor(0, 0, 0, 0))
        painter.translate(base)
        painter.scale(max(place.width(), 1) / _BLANK_PX, 1)
        painter.drawText(QPointF(0, 0), chr(self._codes[said]))
        painter.restore()


def _drawn(said: str, font: QFont, size: QSizeF) -> QImage:
    """Return it as the screen shows it, with some room above and below."""
    room = _ROOM * size.height()
    picture = QImage(
        (QSizeF(size.width(), size.height() + 2 * room) * _SHARPNESS).toSize().expandedTo(QSize(1, 1)),
        QImage.Format.Format_ARGB32_Premultiplied,
    )
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.scale(_SHARPNESS, _SHARPNESS)
    painter.setFont(font)
    painter.drawText(QPointF(0, size.height() + room), said)
    painter.end()
    return picture


def meant(look: QTextFormat) -> str:
    """Return what an object stands for that looks so."""
    return str(look.property(_SAID))
