"""Prints a conversation with the layout of its PDF, whose pages another process makes."""

from __future__ import annotations

import math
from collections.abc import Generator
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QPageLayout, QPainter, QPicture
from PySide6.QtPrintSupport import QPrinter

from app.export.page_maker import PageMaker
from app.export.pages import DPI
from app.export.pdf import Paper
from app.model.exports.captions import title
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Progress, whole_file
from worker.sentence import Sentence

_MIN_DPI = 600


def paper_of(printer: QPrinter) -> Paper:
    """Return the pages that the user chose."""
    layout = printer.pageLayout()
    size, margins = layout.fullRect(QPageLayout.Unit.Point).size(), layout.margins(QPageLayout.Unit.Point)
    first, end = 0, None
    if printer.printRange() == QPrinter.PrintRange.PageRange:
        first, end = max(printer.fromPage() - 1, 0), printer.toPage() or None
    sides = margins.left(), margins.top(), margins.right(), margins.bottom()
    # A unit is a pixel of the printer, or a part of one.
    units_per_px = printer.resolution() / DPI * math.ceil(_MIN_DPI / printer.resolution())
    return Paper(size.width(), size.height(), sides, first, end, units_per_px)


def print_to_file(
    excerpt: Excerpt, paper: Paper, path: Path, pages: PageMaker, language: str = ""
) -> Generator[Progress]:
    """Write the pages as a PDF, whose text can be selected; call it in any thread.

    `language`: as in `Options`. Raises `OSError` and `PagesError`.
    """
    pieces = yield from pages.make_file(excerpt, "pdf", Options(language=language), paper)
    with whole_file(path) as file:
        file.writelines(pieces)


def print_pages(excerpt: Excerpt, paper: Paper, printer: QPrinter, pages: PageMaker) -> Generator[bool]:
    """Print the pages in short steps; yield whether a step did something. Raises `OSError` and `PagesError`."""
    printer.setDocName(title(excerpt))
    printer.setCreator("Bough")
    painter = QPainter()
    number = paper.first
    try:
        for step in pages.make_pictures(excerpt, paper):
            if step is None:
                yield False
                continue
            if not painter.isActive():
                _begin(painter, printer)
            if step[0] != number:
                number = step[0]
                printer.newPage()
                yield True
            _draw(painter, step[1], paper.units_per_px)
            yield True
    except BaseException:
        if painter.isActive():
            # Otherwise the pages so far would be printed.
            printer.abort()
        raise
    finally:
        if painter.isActive():
            painter.end()


def _begin(painter: QPainter, printer: QPrinter) -> None:
    if not painter.begin(printer):
        raise OSError(None, Sentence("the pages could not be painted"))


def _draw(painter: QPainter, data: bytes, units_per_px: float) -> None:
    """Draw a picture of the recorder in its size."""
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    picture = QPicture()
    picture.load(buffer)
    painter.save()
    # Qt scales pictures from the resolution of the screen to that of the printer.
    scale = picture.logicalDpiX() / (DPI * units_per_px)
    painter.scale(scale, scale)
    painter.drawPicture(0, 0, picture)
    painter.restore()
