"""Corrects the text of a PDF, so that copying and searching give the original characters.

Qt's PDF writer maps each glyph to the first character that the font draws with it, although several characters may look
the same: `name_characters` corrects these maps. Qt can't map characters beyond 16 bits, characters that are in no
installed font, nor letters that a font joins, as those of Hindi: `UnmappedCharacters` draws these as shapes over
invisible characters of a blank font, which are then mapped instead.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterator
from typing import cast

from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, EncodedStreamObject, IndirectObject
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

_LOOK_THE_SAME = {"\t": " "}
_PRESENTATION_FORMS = ("\ufb00", "\ufb1d", "\ufefc")
"""The first ligature, the first form of a script written from right to left, and the last."""
_RANGE = re.compile(rb"(<[0-9A-F]{4}> <[0-9A-F]{4}> )(\[[^\]]*\]|<[0-9A-F]{4}>)")
"""A line of a font's ToUnicode table: the first and last glyph of a range, and their characters."""
_CHARACTER = re.compile(rb"<([0-9A-F]{4})>")
_RADICALS = dict(
    zip(
        "⺟⺩⺫⺬⺮⻑⻓⻔⻘⻝⻢⻣⻤⻥⻦⻧⻨⻩⻪⻫⻬⻭⻮⻯⻰⻲⻳",
        "母王目示竹長长门青食马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙亀龟",
        strict=True,
    )
)
"""Radicals that look like characters, and are not normalised to them by Unicode."""

_BLANK_FAMILY = "BoughBlank"
BLANK_FIRST = 0xE000
"""The first character of the blank font, which contains the whole private use area."""
_BLANK_NUM = 6400
_BLANK_PX = 12

_OBJECT = QTextFormat.ObjectTypes.UserObject.value + 1
_TEXT = QTextFormat.Property.UserProperty.value + 1
_OBJECT_REPLACEMENT = "\ufffc"
_MAX_CODE = 0xFFFF
_LOW_SURROGATES = frozenset(bytes([high]) for high in range(0xDC, 0xE0))
_JOINED = re.compile("[\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff]")
"""A letter of India and its neighbours, of Tibet, Myanmar or Cambodia. Their fonts join and reorder the letters of a
word, so a PDF keeps a word of them as a whole."""
_EMOJI_SELECTOR = "\ufe0f"
"""Makes the character before it an emoji."""
_PICTURE_TABLES = ("CBDT", "sbix", "COLR", "SVG ")
"""A font with one of these tables has pictures as glyphs."""
_SHARPNESS = 6
_OVERHANG = 0.3
"""The part of a line's height by which pictures extend above and below it."""


# --- the characters of glyphs ---------------------------------------------------------------------------------


def name_characters(writer: PdfWriter, text: str, meanings: dict[int, str]) -> None:
    """Correct the characters of all glyphs.

    `text` is all text of the document, `meanings` the text of each blank character.
    """
    alike = look_alikes(text)
    seen: set[int] = set()
    for page in writer.pages:
        resources = cast(DictionaryObject, page["/Resources"])
        fonts = cast(DictionaryObject, resources.get("/Font", DictionaryObject()))
        for name in fonts:
            font = cast(DictionaryObject, fonts[name])
            reference = font.raw_get("/ToUnicode")
            if isinstance(reference, IndirectObject) and reference.idnum not in seen:
                seen.add(reference.idnum)
                blanks = meanings if _BLANK_FAMILY in str(font["/BaseFont"]) else {}
                stream = cast(EncodedStreamObject, reference.get_object())
                stream.set_data(renamed(stream.get_data(), frozenset(text), alike, blanks))


def look_alikes(text: str) -> dict[str, str]:
    """Return the characters of a text by their normalised form."""
    return {_normal(letter): letter for letter in sorted(set(text), reverse=True)}


def renamed(table: bytes, used: frozenset[str], alike: dict[str, str], blanks: dict[int, str]) -> bytes:
    """Return a font's map from glyphs to characters, corrected."""

    def name(found: re.Match[bytes]) -> bytes:
        meant = _meant(int(found[1], 16), used, alike, blanks)
        return found[0] if meant is None else b"<%s>" % meant.encode("utf-16-be").hex().upper().encode()

    return _RANGE.sub(lambda glyphs: glyphs[1] + _CHARACTER.sub(name, glyphs[2]), table)


def _meant(code: int, used: frozenset[str], alike: dict[str, str], blanks: dict[int, str]) -> str | None:
    letter = chr(code)
    if (meant := blanks.get(code) or _LOOK_THE_SAME.get(letter)) is not None:
        return meant
    if _PRESENTATION_FORMS[0] <= letter <= _PRESENTATION_FORMS[-1]:
        # PDF readers reverse the letters of right-to-left ligatures, so these stay as they are.
        letters = unicodedata.normalize("NFKC", letter)
        return letters if len(letters) == 1 or (letters and letter < _PRESENTATION_FORMS[1]) else None
    return None if letter.isascii() or letter in used else alike.get(_normal(letter))


def _normal(letter: str) -> str:
    return _RADICALS.get(letter) or unicodedata.normalize("NFKC", letter)


# --- characters without a mapping -----------------------------------------------------------------------------


class UnmappedCharacters(QPyTextObject):
    """Draws the characters of a document that its PDF could not map."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._document = document
        self._codes: dict[str, int] = {}
        self._lost: dict[str, bool] = {}
        self._picture_fonts: dict[str, bool] = {}
        self._metrics = QFontMetricsF(document.defaultFont())
        self._is_possible = _BLANK_FAMILY in QFontDatabase.families() or (
            QFontDatabase.addApplicationFontFromData(QByteArray(_blank_font())) >= 0
        )
        document.documentLayout().registerHandler(_OBJECT, self)

    @property
    def meanings(self) -> dict[int, str]:
        """The text of each blank character."""
        return {code: text for text, code in self._codes.items()}

    def replace_in(self, start: int) -> None:
        """Replace unmapped characters by text objects in the document from `start` on."""
        # One edit block, so that the document is laid out only once.
        edit = QTextCursor(self._document)
        edit.beginEditBlock()
        block = self._document.findBlock(start)
        while self._is_possible and block.isValid():
            for place, length, text in self._unmapped_in(block):
                self._replace(block.position() + place, length, text)
            block = block.next()
        edit.endEditBlock()

    def _unmapped_in(self, block: QTextBlock) -> Iterator[tuple[int, int, str]]:
        """Yield each grapheme with an unmapped character, from the last to the first: start, length, text.

        Adjacent graphemes whose letters a font joins come as one. Start and length count UTF-16 code units, as Qt does.
        """
        text = block.text()
        if text.isascii() or not any(map(self._is_lost, set(text))):
            return
        units = text.encode("utf-16-le", "surrogatepass")
        finder = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Grapheme, text)
        finder.toEnd()
        end = finder.position()
        while (start := finder.toPreviousBoundary()) >= 0:
            if units[2 * start + 1 : 2 * start + 2] in _LOW_SURROGATES:
                # Qt splits characters that are newer than its Unicode tables into surrogates.
                continue
            grapheme = units[2 * start : 2 * end].decode("utf-16-le", "replace")
            if _JOINED.match(grapheme) and start > 0 and _JOINED.match(_before(units, start)):
                continue
            if any(map(self._is_lost, grapheme)):
                yield start, end - start, grapheme
            end = start

    def _is_lost(self, character: str) -> bool:
        """Return whether a PDF would lose a character."""
        found = self._lost.get(character)
        if found is None:
            is_visible = unicodedata.category(character)[0] in "LNPS" and character != _OBJECT_REPLACEMENT
            found = (
                ord(character) > _MAX_CODE
                or character == _EMOJI_SELECTOR
                or _JOINED.match(character) is not None
                or (
                    is_visible
                    and (
                        not self._metrics.inFontUcs4(ord(character))
                        or self._is_picture(character, self._document.defaultFont())
                    )
                )
            )
            self._lost[character] = found
        return found

    def _is_picture(self, text: str, font: QFont) -> bool:
        """Return whether a font with pictures draws any of the text.

        Asking such a font for a path would change its size.
        """
        layout = QTextLayout(text, font)
        layout.beginLayout()
        layout.createLine()
        layout.endLayout()
        return any(self._has_pictures(run.rawFont()) for run in layout.glyphRuns())

    def _has_pictures(self, font: QRawFont) -> bool:
        if font.pixelSize() <= 0:
            # The font of the boxes for missing glyphs; Qt crashes when asked for its tables.
            return False
        name = font.familyName()
        if name not in self._picture_fonts:
            self._picture_fonts[name] = any(not font.fontTable(table).isEmpty() for table in _PICTURE_TABLES)
        return self._picture_fonts[name]

    def _replace(self, position: int, length: int, text: str) -> None:
        if len(self._codes) >= _BLANK_NUM and text not in self._codes:
            return
        self._codes.setdefault(text, BLANK_FIRST + len(self._codes))
        cursor = QTextCursor(self._document)
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        look = cursor.charFormat()
        look.setObjectType(_OBJECT)
        look.setProperty(_TEXT, text)
        cursor.insertText(_OBJECT_REPLACEMENT, look)

    def _font(self, look: QTextFormat) -> QFont:
        return look.toCharFormat().font().resolve(self._document.defaultFont())

    @override
    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:
        metrics = QFontMetricsF(self._font(format))
        return QSizeF(metrics.horizontalAdvance(replaced_text(format)), metrics.ascent())

    @override
    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, doc: QTextDocument, posInDocument: int, format: QTextFormat
    ) -> None:
        text, font, area = replaced_text(format), self._font(format), QRectF(rect)
        brush = format.foreground()
        colour = QColor(Qt.GlobalColor.black) if brush.style() == Qt.BrushStyle.NoBrush else brush.color()
        base = QPointF(area.left(), area.bottom())
        painter.save()
        if self._is_picture(text, font):
            # In a PDF the glyph would have the size that the picture has in the font.
            overhang = _OVERHANG * area.height()
            painter.drawImage(area.adjusted(0, -overhang, 0, overhang), _drawn(text, font, area.size()))
        else:
            shape = QPainterPath()
            shape.addText(base, font, text)
            painter.fillPath(shape, QBrush(colour))
        # As wide as the shape and not higher than the line: PDF readers join text by its position and size.
        blank = QFont(_BLANK_FAMILY)
        blank.setPixelSize(_BLANK_PX)
        painter.setFont(blank)
        painter.setPen(QColor(0, 0, 0, 0))
        painter.translate(base)
        painter.scale(max(area.width(), 1) / _BLANK_PX, 1)
        painter.drawText(QPointF(0, 0), chr(self._codes[text]))
        painter.restore()


def _before(units: bytes, place: int) -> str:
    """Return the UTF-16 code unit before a place in UTF-16 text, as a character."""
    return units[2 * place - 2 : 2 * place].decode("utf-16-le", "replace")


def _drawn(text: str, font: QFont, size: QSizeF) -> QImage:
    """Return the text as the screen shows it, with an overhang above and below."""
    overhang = _OVERHANG * size.height()
    picture = QImage(
        (QSizeF(size.width(), size.height() + 2 * overhang) * _SHARPNESS).toSize().expandedTo(QSize(1, 1)),
        QImage.Format.Format_ARGB32_Premultiplied,
    )
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.scale(_SHARPNESS, _SHARPNESS)
    painter.setFont(font)
    painter.drawText(QPointF(0, size.height() + overhang), text)
    painter.end()
    return picture


def replaced_text(look: QTextFormat) -> str:
    """Return the text that a text object replaces."""
    return str(look.property(_TEXT))


# --- the blank font -------------------------------------------------------------------------------------------
# Written by hand, because no dependency of Bough can make fonts.

_EM = 1000
_ASCENT = 800


def _blank_font() -> bytes:
    """Return a TrueType font whose characters are blank and an em wide."""
    num_glyphs = _BLANK_NUM + 1
    last = BLANK_FIRST + _BLANK_NUM - 1
    head = struct.pack(
        ">IIIIHHqqhhhhHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0b11, _EM, 0, 0, 0, 0, _EM, _ASCENT, 0, 8, 2, 0, 0
    )
    hhea = struct.pack(">IhhhHhhhhhhhhhhhH", 0x10000, _ASCENT, _ASCENT - _EM, 0, _EM, 0, 0, _EM, 1, *[0] * 7, 1)
    maxp = struct.pack(">IH13H", 0x10000, num_glyphs, *[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    os2 = struct.pack(
        ">HhHHHhhhhhhhhhhh10sIIII4sHHHhhhHHIIhhHHH",
        *(4, _EM, 400, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        *(bytes(10), 0, 1 << 28, 0, 0, b"BOUG", 64, BLANK_FIRST, last),
        *(_ASCENT, _ASCENT - _EM, 0, _ASCENT, _EM - _ASCENT, 1, 0, 500, 700, 0, 32, 1),
    )
    # Format 4: one range of characters to the glyphs from 1 on.
    ranges = struct.pack(">HHHH", 4, 4, 1, 0) + struct.pack(">HHH", last, 0xFFFF, 0)
    ranges += struct.pack(">HHHHHH", BLANK_FIRST, 0xFFFF, (1 - BLANK_FIRST) & 0xFFFF, 1, 0, 0)
    cmap = struct.pack(">HHHHI", 0, 1, 3, 1, 12) + struct.pack(">HHH", 4, len(ranges) + 6, 0) + ranges
    return _font_file(
        {
            b"OS/2": os2,
            b"cmap": cmap,
            b"glyf": bytes(4),
            b"head": head,
            b"hhea": hhea,
            b"hmtx": struct.pack(">Hh", _EM, 0) + bytes(2 * (num_glyphs - 1)),
            b"loca": bytes(2 * (num_glyphs + 1)),
            b"maxp": maxp,
            b"name": _name_table(),
            b"post": struct.pack(">IIhhIIIII", 0x30000, 0, 0, 0, 0, 0, 0, 0, 0),
        }
    )


def _name_table() -> bytes:
    texts = dict.fromkeys((1, 3, 4, 6), _BLANK_FAMILY) | {2: "Regular", 5: "Version 1.0"}
    records, data = b"", b""
    for number, text in sorted(texts.items()):
        encoded = text.encode("utf-16-be")
        records += struct.pack(">HHHHHH", 3, 1, 0x409, number, len(encoded), len(data))
        data += encoded
    return struct.pack(">HHH", 0, len(texts), 6 + len(records)) + records + data


def _font_file(tables: dict[bytes, bytes]) -> bytes:
    """Return a font file with these tables and their checksums."""
    power = 1 << (len(tables).bit_length() - 1)
    head = struct.pack(">IHHHH", 0x10000, len(tables), 16 * power, power.bit_length() - 1, 16 * (len(tables) - power))
    start = len(head) + 16 * len(tables)
    records, data, head_at = b"", b"", 0
    for tag, table in sorted(tables.items()):
        if tag == b"head":
            head_at = start + len(data)
        records += struct.pack(">4sIII", tag, _checksum(table), start + len(data), len(table))
        data += table + bytes(-len(table) % 4)
    whole = bytearray(head + records + data)
    struct.pack_into(">I", whole, head_at + 8, (0xB1B0AFBA - _checksum(bytes(whole))) & 0xFFFFFFFF)
    return bytes(whole)


def _checksum(data: bytes) -> int:
    data += bytes(-len(data) % 4)
    return sum(struct.unpack(f">{len(data) // 4}I", data)) & 0xFFFFFFFF
