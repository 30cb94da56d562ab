"""Conversations as ODT, for word processors; formulas are pictures there."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSizeF, Qt, QUrl
from PySide6.QtGui import QImage, QPainter, QTextDocument, QTextDocumentWriter
from PySide6.QtSvg import QSvgRenderer

from app.export.document import PaperDocument, filled
from app.model.exports.formula import Formula
from app.model.exports.part import Options, Part
from app.model.exports.writing import Progress, whole_file

_SHARPNESS = 3
"""Pixels of a formula's picture for each that it takes up."""


def odt(part: Part, options: Options, path: Path) -> Generator[Progress]:
    """Write an ODT file; yield how far it is. Raises `OSError`. A `QGuiApplication` must be there."""
    document = PaperDocument()
    total = len(part.messages)
    for done in filled(document, part, options):
        yield Progress(done, total)
    for name, found in document.formulas.items():
        document.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(name), _picture(found))
    # In memory first: Qt does not say where a disk is full.
    whole = QBuffer()
    whole.open(QIODevice.OpenModeFlag.WriteOnly)
    if not QTextDocumentWriter(whole, b"ODF").write(document):
        raise OSError(None, "The ODT could not be made", str(path))
    with whole_file(path) as file:
        file.write(whole.data().data())
    yield Progress(total, total)


def _picture(found: Formula) -> QImage:
    size = (QSizeF(found.width_px, found.height_px) * _SHARPNESS).toSize()
    picture = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(QByteArray(found.svg.encode())).render(painter)
    painter.end()
    return picture
