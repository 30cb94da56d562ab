"""Exports conversations as DOCX, for word processors. Qt draws formulas and decodes pictures."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Generator

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSizeF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from app.export.paper_document import TEXT_PX, picture_of
from app.model.exports.captions import language, title
from app.model.exports.docx_file import TEXT_MM, About, DocxFile
from app.model.exports.docx_inline import Picture
from app.model.exports.docx_text import DocxText
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Progress
from app.model.exports.formula import Formula, formula

_SHARPNESS = 4
"""Pixels of a formula's picture per pixel of its size."""
_MM_PER_PX = 25.4 / 96
_MAX_HEIGHT_MM = 230
_SUFFIXES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif"}
"""The first bytes of files in picture formats that every word processor can read."""


def docx(excerpt: Excerpt, options: Options) -> Generator[Progress, None, bytes]:
    """Return a DOCX file and yield the progress. Needs a `QGuiApplication`."""
    document = DocxFile()
    text = DocxText(document, _Pictures(document), options)
    total = len(excerpt.messages)
    for done in text.write(excerpt):
        yield Progress(done, total)
    conversation = excerpt.conversation
    about = About(title(excerpt), language(excerpt, options), conversation.created_ms, conversation.updated_ms)
    file = io.BytesIO()
    document.write(file, about, text.xml)
    yield Progress(total, total)
    return file.getvalue()


class _Pictures:
    def __init__(self, document: DocxFile) -> None:
        self._document = document
        self._formulas: dict[tuple[str, bool], Picture | None] = {}

    def formula(self, latex: str, *, is_inline: bool) -> Picture | None:
        key = (latex, is_inline)
        if key not in self._formulas:
            self._formulas[key] = self._formula(latex, is_inline=is_inline)
        return self._formulas[key]

    def _formula(self, latex: str, *, is_inline: bool) -> Picture | None:
        found = formula(latex, TEXT_PX + 1, "black", is_inline=is_inline)
        if found is None:
            return None
        size_mm = QSizeF(found.width_px, found.height_px) * _MM_PER_PX
        # Wider formulas are shrunk to the width of the text.
        scale = min(1.0, TEXT_MM / size_mm.width())
        return Picture(
            self._add(_png(_drawn(found)), "png"),
            size_mm.width() * scale,
            size_mm.height() * scale,
            found.below_px * _MM_PER_PX * scale,
        )

    def picture(self, address: str) -> Picture | None:
        found = picture_of(address)
        if found is None:
            return None
        size_mm = QSizeF(found.size()) * _MM_PER_PX
        if size_mm.width() > TEXT_MM or size_mm.height() > _MAX_HEIGHT_MM:
            size_mm.scale(TEXT_MM, _MAX_HEIGHT_MM, Qt.AspectRatioMode.KeepAspectRatio)
        data = b""
        head, _, encoded = address.partition(",")
        if head.endswith(";base64"):
            data = base64.b64decode(encoded)
        suffix = next((suffix for start, suffix in _SUFFIXES.items() if data.startswith(start)), "")
        path = self._add(data, suffix) if suffix else self._add(_png(found), "png")
        return Picture(path, size_mm.width(), size_mm.height())

    def _add(self, data: bytes, suffix: str) -> str:
        return self._document.picture(f"{hashlib.sha256(data).hexdigest()[:24]}.{suffix}", data)


def _drawn(found: Formula) -> QImage:
    size = (QSizeF(found.width_px, found.height_px) * _SHARPNESS).toSize()
    picture = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(QByteArray(found.svg.encode())).render(painter)
    painter.end()
    return picture


def _png(picture: QImage) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")  # pyright: ignore[reportCallIssue, reportArgumentType]
    return bytes(buffer.data().data())
