"""The work of the process that makes pages. Each function yields plain data, and returns plain data."""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterator, Sequence
from functools import cache

from PySide6.QtGui import QGuiApplication, QImage

from app.export.pages import FirstPage, first_page
from app.export.paper_document import Fonts
from app.export.pdf import Paper, pdf, pictures
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Format, Progress
from app.model.message import Message

_PIECE_BYTES = 1 << 20


def made_file(
    excerpt: Excerpt, format_: Format, options: Options, fonts: Fonts | None = None, paper: Paper | None = None
) -> Generator[Progress, None, bytes]:
    """Return a PDF or a DOCX, and yield the progress. Needs a `QGuiApplication`.

    `paper` is for a PDF; None means A4.
    """
    if format_ == "pdf":
        return (yield from pdf(excerpt, options, fonts, paper))
    from app.export.docx import docx

    return (yield from docx(excerpt, options))


def make_file(
    packed: Sequence[bytes], fonts: Fonts, format_: Format, options: Options, paper: Paper | None
) -> Generator[tuple[int, int] | bytes]:
    """Yield the progress of a PDF or a DOCX, then the file in pieces."""
    _make_application()
    steps = made_file(_excerpt(packed), format_, options, fonts, paper)
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            yield from _pieces(end.value)
            return
        yield step.done, step.total


def make_pictures(packed: Sequence[bytes], fonts: Fonts, paper: Paper) -> Generator[tuple[int, int | bytes]]:
    """Yield the progress, and the pages as `pictures` does."""
    _make_application()
    # A `Progress` is no plain data.
    for first, second in pictures(_excerpt(packed), Options(), fonts, paper):  # noqa: UP028
        yield first, second


def make_first_page(
    packed: Sequence[bytes], fonts: Fonts, options: Options, pixels_per_px: float, has_footer: bool
) -> Generator[bytes | None, None, tuple[int, int, bool]]:
    """Yield the pixels of the first page in pieces; return its width, its height, and whether it is the only page."""
    _make_application()
    page = yield from first_page(_excerpt(packed), options, pixels_per_px, fonts, has_footer=has_footer)
    picture = page.picture
    yield from _pieces(bytes(picture.constBits()))
    return picture.width(), picture.height(), page.is_all


def read_first_page(pixels: bytes, width: int, height: int, is_all: bool) -> FirstPage:
    """Return the page that `make_first_page` sent."""
    return FirstPage(QImage(pixels, width, height, QImage.Format.Format_RGB32).copy(), is_all)


@cache
def _make_application() -> QGuiApplication:
    # No window is opened, so no display is needed.
    return QGuiApplication(["pages", "-platform", "offscreen"])


def _excerpt(packed: Sequence[bytes]) -> Excerpt:
    """Return the excerpt that `PageMaker` packed."""
    conversation, choices, path, project = pickle.loads(packed[0])  # noqa: S301 (from the window's process)
    messages: list[Message] = []
    for pickled in packed[1:]:
        messages += pickle.loads(pickled)  # noqa: S301
    by_id = {message.id: message for message in messages}
    return Excerpt(conversation, messages, choices, [by_id[one] for one in path], project)


def _pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _PIECE_BYTES):
        yield data[start : start + _PIECE_BYTES]
