"""Writes conversations into Qt documents for paper: light colours, sizes in pixels of 1/96 inch, formulas, pictures.

Nothing is downloaded: a picture is shown only if its data are in the message.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Generator, Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import shiboken6
from PySide6.QtCore import QByteArray, QRect, QRectF, QSizeF, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetricsF,
    QImage,
    QPainter,
    QPyTextObject,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer
from typing_extensions import override

from app.model.exports.captions import (
    branch_title,
    ending,
    first_words,
    heading,
    is_folded,
    marks,
    shown_sections,
    split_note,
    split_reasoning,
    statistics,
    title,
)
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.formula import Formula, formula
from app.model.exports.highlighting import code_looks, stretches, theme
from app.model.exports.rendering import MarkdownRenderer
from app.model.message import Message, is_part
from app.model.text import is_right_to_left

TEXT_PX = 14
_FORMULA = "formula:"
_MAX_WIDE_COLUMNS = 6
"""A table with more columns has smaller text."""
_PLACEHOLDER = "\u200b"
_LONG_RUN = re.compile(r"\S{5000}(?=\S)")
"""Long sequences of characters without a space, which Qt is slow to lay out."""
_NOT_SHOWN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "�")


class Mark(NamedTuple):
    """The position of a message or of a branch (level 0), for the outline."""

    title: str
    level: int
    position: int


class Fonts(NamedTuple):
    """The families of a document's text and of its code."""

    text: str
    code: str


def system_fonts() -> Fonts:
    """Return the families that the system uses. Needs a `QGuiApplication`, in any thread."""
    fonts = QFontDatabase.SystemFont
    text, code = (QFontDatabase.systemFont(font).family() for font in (fonts.GeneralFont, fonts.FixedFont))
    return Fonts(text, code)


class PaperDocument(QTextDocument):
    """A document, with its formulas and the positions of its messages."""

    def __init__(self, fonts: Fonts | None = None) -> None:
        """`fonts`: None means those of the system."""
        super().__init__()
        fonts = fonts or system_fonts()
        self.formulas: dict[str, Formula] = {}
        self.marks: list[Mark] = []
        self.written: Callable[[int], None] = lambda _start: None
        """Called after a text was written, with its start position."""
        self.setUndoRedoEnabled(False)
        self.setDocumentMargin(0)
        font = QFont(fonts.text)
        font.setPixelSize(TEXT_PX)
        self.setDefaultFont(font)
        self.setUseDesignMetrics(True)
        colours = theme("light")
        mono = fonts.code
        # Without a bold font Qt draws each letter twice, and it is copied twice.
        self.has_bold_code = any(QFontDatabase.bold(mono, style) for style in QFontDatabase.styles(mono))
        self.setDefaultStyleSheet(
            f"pre {{ background-color: {colours['sunken']}; font-family: '{mono}'; white-space: pre-wrap; }}"
            f"code {{ font-family: '{mono}'; background-color: {colours['sunken']}; }}"
            f"blockquote {{ color: {colours['quiet_text']}; }} th {{ background-color: {colours['sunken']}; }}"
            f"a {{ color: {colours['accent']}; }} .quiet {{ color: {colours['quiet_text']}; }}"
            "h3 { font-size: x-large; } h4 { font-size: large; } h5, h6 { font-size: medium; font-weight: bold; }"
            "table { margin-top: 10px; } .narrow th, .narrow td, .narrow code { font-size: 9px; }"
            f".plain {{ white-space: pre-wrap; }} .error {{ color: {colours['danger']}; }}"
        )

    @override
    def loadResource(self, type: int, name: QUrl | str) -> Any:
        url = name.toString() if isinstance(name, QUrl) else name
        return picture_of(url) or QImage()

    def close(self) -> None:
        """Delete the document in this thread: it has timers, and the garbage collector has a thread of its own."""
        shiboken6.delete(self)

    def show_pictures(self) -> None:
        """Draw formulas and pictures. The document's layout must not be replaced afterwards."""
        self.documentLayout().registerHandler(QTextFormat.ObjectTypes.ImageObject.value, _Pictures(self))


def picture_of(url: str) -> QImage | None:
    """Return the picture in a `data:` address; None if there is none."""
    head, _, data = url.partition(",")
    if not head.startswith("data:image/"):
        return None
    try:
        decoded = base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
    except (binascii.Error, ValueError):
        return None
    picture = QImage.fromData(decoded)
    return None if picture.isNull() else picture


# --- writing -------------------------------------------------------------------------------------------------


def fill(
    document: PaperDocument, excerpt: Excerpt, options: Options, max_characters: int | None = None
) -> Generator[int]:
    """Write a conversation into an empty document; yield the number of messages written so far.

    `max_characters` are written of each message, and the rest of their last line, up to twice as many; None for all.
    """
    writer = _Writer(document, options, max_characters)
    writer.heading(title(excerpt), 0, px=22)
    num_done = 0
    for number, section in enumerate(shown_sections(excerpt, options), 1):
        if number > 1:
            writer.heading(branch_title(excerpt, section, number), 0, px=17)
        for message in section.messages:
            writer.message(message)
            num_done += 1
            yield num_done


class _Writer:
    def __init__(self, document: PaperDocument, options: Options, max_characters: int | None) -> None:
        self._document = document
        self._options = options
        self._max_characters = max_characters
        self._renderer = _PaperRenderer(document)
        self._cursor = QTextCursor(document)

    def heading(self, text: str, level: int, *, px: int = 12, mark: str = "") -> None:
        """Write a heading that is also an entry of the outline, with the title `mark` if given."""
        block = QTextBlockFormat()
        block.setTopMargin(20 if self._cursor.position() else 0)
        block.setBottomMargin(4)
        block.setHeadingLevel(level + 1)
        block.setPageBreakPolicy(QTextBlockFormat.PageBreakFlag.PageBreak_Auto)
        look = QTextCharFormat()
        font = QFont(self._document.defaultFont())
        font.setPixelSize(px)
        font.setWeight(QFont.Weight.DemiBold)
        look.setFont(font)
        if level:
            look.setForeground(QColor(theme("light")["quiet_text"]))
        self._start_block(block, look)
        self._document.marks.append(Mark((mark or text).translate(_NOT_SHOWN), level, self._cursor.position()))
        start = self._cursor.position()
        self._cursor.insertText(text.translate(_NOT_SHOWN), look)
        self._document.written(start)

    def message(self, message: Message) -> None:
        caption = heading(message)
        if is_folded(message) and is_part(message):
            self._insert(f'<p class="quiet">{_plain(caption)}</p>{_marks(message)}{self._note(message)}')
            return
        if is_folded(message):
            self.heading(caption, 1)
            self._insert(_marks(message) + self._note(message))
            return
        split = split_reasoning(message)
        if caption:
            self.heading(caption, 1, mark=f"{caption}: {first_words(message)}")
        parts = [_marks(message)]
        if split.reasoning and self._options.reasoning:
            reasoning = _plain(self._beginning(split.reasoning))
            parts.append(f'<p class="quiet"><b>Reasoning</b></p><p class="quiet plain">{reasoning}</p>')
        if message.role == "assistant":
            parts.append(self._renderer.render_markdown(self._beginning(split.answer).translate(_NOT_SHOWN)))
        else:
            parts.append(f'<p class="plain">{_plain(self._beginning(split.answer))}</p>')
        if ended := ending(message):
            parts.append(f'<p class="{"error" if message.state == "failed" else "quiet"}">{_plain(ended)}</p>')
        if self._options.statistics and (line := statistics(message)):
            parts.append(f'<p class="quiet">{_plain(line)}</p>')
        self._insert("\n".join(parts))

    def _note(self, message: Message) -> str:
        note = split_note(message)
        if note.is_picture:
            return f"<p>{self._renderer.render_picture(note.file_address, note.file_name)}</p>"
        if note.file_address:
            return f"<p>[file: {_plain(note.file_name)}]</p>"
        return self._renderer.render_markdown(self._beginning(note.text).translate(_NOT_SHOWN))

    def _beginning(self, text: str) -> str:
        if self._max_characters is None or len(text) <= self._max_characters:
            return text
        most = 2 * self._max_characters
        end = text.find("\n", self._max_characters, most)
        return text[: most if end < 0 else end]

    def _insert(self, html: str) -> None:
        self._start_block(QTextBlockFormat(), QTextCharFormat())
        # The first inserted block takes the format of the block at the cursor; a placeholder block takes it instead,
        # and is removed.
        start = self._cursor.position()
        self._cursor.insertHtml(f"<p>{_PLACEHOLDER}</p>{html}")
        end = min(start + len(_PLACEHOLDER) + 1, self._cursor.position())
        self._cursor.setPosition(end)
        # A table would be removed together with the block before it, so that block stays, without height.
        is_table = self._cursor.currentTable() is not None
        self._cursor.setPosition(start)
        self._cursor.setPosition(end - is_table, QTextCursor.MoveMode.KeepAnchor)
        self._cursor.removeSelectedText()
        # The text is close to its heading.
        look = self._cursor.blockFormat()
        look.setTopMargin(0)
        if is_table:
            look.setLineHeight(0, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        self._cursor.setBlockFormat(look)
        self._document.written(start)

    def _start_block(self, block: QTextBlockFormat, look: QTextCharFormat) -> None:
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        if self._cursor.position():
            self._cursor.insertBlock(block, look)
            if (own := self._cursor.currentList()) is not None:
                own.remove(self._cursor.block())
                self._cursor.setBlockFormat(block)
        else:
            self._cursor.setBlockFormat(block)


class _PaperRenderer(MarkdownRenderer):
    def __init__(self, document: PaperDocument) -> None:
        super().__init__()
        self._document = document

    @override
    def render_table_start(self, headings: Sequence[str]) -> str:
        attributes = ' class="narrow"' if len(headings) > _MAX_WIDE_COLUMNS else ""
        attributes += ' dir="rtl"' if is_right_to_left("".join(headings)) else ""
        return f'<table border="1" cellspacing="0" cellpadding="4"{attributes}>'

    @override
    def render_table_end(self) -> str:
        return "</table><p></p>"

    @override
    def render_code(self, code: str, language: str) -> str:
        looks = code_looks("light")
        pieces: list[str] = []
        for text, kind in stretches(code, language):
            look = looks.get(kind) if kind else None
            shown = escape(text, quote=False)
            if look is not None and (look.colour or look.is_bold or look.is_italic):
                style = f"color: {look.colour};" if look.colour else ""
                style += " font-weight: bold;" if look.is_bold and self._document.has_bold_code else ""
                style += " font-style: italic;" if look.is_italic else ""
                shown = f'<span style="{style}">{shown}</span>'
            pieces.append(shown)
        # Qt ignores the first and the last line break.
        return f"<pre>\n{''.join(pieces) or ' '}\n</pre>\n"

    @override
    def render_formula(self, latex: str, *, is_inline: bool) -> str:
        mark = "$" if is_inline else "$$"
        drawn = formula(latex, TEXT_PX + 1, "black", is_inline=is_inline)
        if drawn is None:
            return f"<code>{escape(f'{mark}{latex}{mark}', quote=False)}</code>"
        name = f"{_FORMULA}{mark}{latex}{mark}"
        self._document.formulas[name] = drawn
        picture = (
            f'<img src="{escape(name)}" width="{drawn.width_px:.2f}" height="{drawn.height_px:.2f}" align="middle">'
        )
        return picture if is_inline else f'<p align="center">{picture}</p>\n'

    @override
    def render_picture(self, source: str, description: str) -> str:
        if picture_of(source) is not None:
            return f'<img src="{escape(source)}">'
        return f"[image: {escape(description or source, quote=False)}]"


def _marks(message: Message) -> str:
    marked = marks(message)
    return f'<p class="quiet">{_plain(marked)}</p>' if marked else ""


def _plain(text: str) -> str:
    return escape(text.translate(_NOT_SHOWN), quote=False)


def break_long_runs(document: QTextDocument, start: int) -> None:
    """Insert zero-width spaces into long sequences without a space after `start`, so that Qt can break the line."""
    edit = QTextCursor(document)
    edit.beginEditBlock()
    block = document.findBlock(start)
    while block.isValid():
        text = block.text()
        # From the last to the first, so that earlier positions stay valid.
        for run in reversed(list(_LONG_RUN.finditer(text))):
            # Qt's positions count UTF-16 code units.
            edit.setPosition(block.position() + len(text[: run.end()].encode("utf-16-le", "surrogatepass")) // 2)
            edit.insertText("\u200b")
        block = block.next()
    edit.endEditBlock()


# --- pictures ------------------------------------------------------------------------------------------------


class _Pictures(QPyTextObject):
    """Draws pictures and formulas.

    Formulas are vector graphics over their source as invisible text, so that they can be selected and searched.
    """

    def __init__(self, document: PaperDocument) -> None:
        super().__init__(document)
        self._document = document
        self._half_x_px = QFontMetricsF(document.defaultFont()).xHeight() / 2

    def _scale(self, found: Formula, block: QTextBlock) -> float:
        """Return the factor by which a formula is shrunk to the width of the page."""
        left = block.blockFormat().leftMargin() + _num_indents(block) * self._document.indentWidth()
        room = self._document.pageSize().width() - left
        return min(1.0, max(room, 1.0) / found.width_px)

    def _blanks_px(self, found: Formula, scale: float) -> tuple[float, float]:
        """Return the space above and below a formula, in pixels.

        Qt centres a picture on the middle of the letters; the space moves the formula to the baseline.
        """
        blank = (2 * found.below_px - found.height_px) * scale + self._half_x_px
        return max(blank, 0.0), max(-blank, 0.0)

    @override
    def intrinsicSize(self, doc: QTextDocument, posInDocument: int, format: QTextFormat) -> QSizeF:
        name = format.toImageFormat().name()
        found = self._document.formulas.get(name)
        if found is not None:
            scale = self._scale(found, doc.findBlock(posInDocument))
            return QSizeF(found.width_px, found.height_px) * scale + QSizeF(0, sum(self._blanks_px(found, scale)))
        picture = picture_of(name)
        if picture is None:
            return QSizeF(0, 0)
        size, most = QSizeF(picture.size()), self._document.pageSize() * 0.9
        is_larger = size.width() > most.width() or size.height() > most.height()
        return size.scaled(most, Qt.AspectRatioMode.KeepAspectRatio) if is_larger else size

    @override
    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        doc: QTextDocument,
        posInDocument: int,
        format: QTextFormat,
    ) -> None:
        name = format.toImageFormat().name()
        found = self._document.formulas.get(name)
        if found is None:
            picture = picture_of(name)
            if picture is not None:
                painter.drawImage(QRectF(rect), picture)
            return
        above, below = self._blanks_px(found, self._scale(found, doc.findBlock(posInDocument)))
        area = QRectF(rect).adjusted(0, above, 0, -below)
        painter.save()
        painter.setPen(QColor(0, 0, 0, 0))
        font = QFont(self._document.defaultFont())
        font.setPixelSize(4)
        painter.setFont(font)
        painter.drawText(area.bottomLeft(), " ".join(name.removeprefix(_FORMULA).split()))
        painter.restore()
        # In a PDF Qt would also draw the letters' outlines, which makes them bold.
        svg = found.svg.replace("<svg ", '<svg stroke-width="0" ', 1)
        QSvgRenderer(QByteArray(svg.encode())).render(painter, area)


def _num_indents(block: QTextBlock) -> int:
    own = block.textList()
    return block.blockFormat().indent() + (own.format().indent() if own is not None else 0)
