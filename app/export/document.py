"""Conversations as text documents for paper: light colours, sizes in pixels of 1/96 inch; it paints nothing.

Nothing is fetched: a picture is there where its data are in the message.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Generator, Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from PySide6.QtCore import QUrl
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QImage,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from typing_extensions import override

from app.model.exports.captions import (
    Note,
    branch_title,
    first_words,
    heading,
    split_note,
    split_reasoning,
    statistics,
    title,
    told_sections,
)
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.formula import Formula, formula
from app.model.exports.highlighting import code_looks, stretches, theme
from app.model.exports.rendering import rendered
from app.model.message import Message
from app.model.text import is_right_to_left

TEXT_PX = 14
_FORMULA = "formula:"
_MOST_COLUMNS = 6
"""Of a table that has letters as large as the text's."""
_STAND_IN = "\u200b"
_LONG_RUN = re.compile(r"\S{5000}(?=\S)")
"""Characters without a space that Qt lays out in one go."""
_BAD = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "�")
"""Characters that XML, and so ODT, can't have."""


class Mark(NamedTuple):
    """Where a message, or a branch (level 0), begins: for an outline."""

    title: str
    level: int
    position: int


class PaperDocument(QTextDocument):
    """A document with the formulas that it shows, and where its messages begin."""

    def __init__(self) -> None:
        super().__init__()
        self.formulas: dict[str, Formula] = {}
        self.marks: list[Mark] = []
        self.written: Callable[[int], None] = lambda _start: None
        """Called with the position from which on something was written."""
        self.setUndoRedoEnabled(False)
        self.setDocumentMargin(0)
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        font.setPixelSize(TEXT_PX)
        self.setDefaultFont(font)
        self.setUseDesignMetrics(True)
        colours = theme("light")
        mono = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
        # Where there is none Qt draws each letter twice, and it is copied twice.
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


def picture_of(url: str) -> QImage | None:
    """Return the picture that a `data:` address holds."""
    head, _, data = url.partition(",")
    if not head.startswith("data:image/"):
        return None
    try:
        decoded = base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
    except (binascii.Error, ValueError):
        return None
    picture = QImage.fromData(decoded)
    return None if picture.isNull() else picture


def filled(document: PaperDocument, excerpt: Excerpt, options: Options) -> Generator[int]:
    """Write a conversation into an empty document; yield the number of messages that are there."""
    writer = _Writer(document, options)
    writer.heading(title(excerpt), 0, px=22)
    done = 0
    for number, section in enumerate(told_sections(excerpt, options), 1):
        if number > 1:
            writer.heading(branch_title(excerpt, section, number), 0, px=17)
        for message in section.messages:
            writer.message(message)
            done += 1
            yield done


class _Writer:
    def __init__(self, document: PaperDocument, options: Options) -> None:
        self._document = document
        self._options = options
        self._looks = _PaperLooks(document)
        self._cursor = QTextCursor(document)

    def heading(self, text: str, level: int, *, px: int = 12, mark: str = "") -> None:
        """Write a line of its own, to be found in the outline."""
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
        self._start(block, look)
        self._document.marks.append(Mark((mark or text).translate(_BAD), level, self._cursor.position()))
        start = self._cursor.position()
        self._cursor.insertText(text.translate(_BAD), look)
        self._document.written(start)

    def message(self, message: Message) -> None:
        who = heading(message)
        if message.role == "note":
            self.heading(who, 1)
            self._insert(_note(split_note(message), self._looks))
            return
        said = split_reasoning(message)
        self.heading(who, 1, mark=f"{who}: {first_words(message)}")
        parts: list[str] = []
        if said.reasoning and self._options.reasoning:
            parts.append(f'<p class="quiet"><b>Reasoning</b></p><p class="quiet plain">{_plain(said.reasoning)}</p>')
        if message.role == "assistant":
            parts.append(rendered(said.answer.translate(_BAD), self._looks))
        else:
            parts.append(f'<p class="plain">{_plain(said.answer)}</p>')
        if message.record is not None and message.record.error:
            parts.append(f'<p class="error">{_plain(message.record.error)}</p>')
        if self._options.statistics and (line := statistics(message)):
            parts.append(f'<p class="quiet">{_plain(line)}</p>')
        self._insert("\n".join(parts))

    def _insert(self, html: str) -> None:
        self._start(QTextBlockFormat(), QTextCharFormat())
        # What is inserted takes its first block's look from where it is put: one goes before it, and is taken away.
        start = self._cursor.position()
        self._cursor.insertHtml(f"<p>{_STAND_IN}</p>{html}")
        end = min(start + len(_STAND_IN) + 1, self._cursor.position())
        self._cursor.setPosition(end)
        # A table would go with the line above it: that one is no more than a gap.
        is_table = self._cursor.currentTable() is not None
        self._cursor.setPosition(start)
        self._cursor.setPosition(end - is_table, QTextCursor.MoveMode.KeepAnchor)
        self._cursor.removeSelectedText()
        # It stands close to the line that says whose it is.
        look = self._cursor.blockFormat()
        look.setTopMargin(0)
        if is_table:
            look.setLineHeight(0, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        self._cursor.setBlockFormat(look)
        self._document.written(start)

    def _start(self, block: QTextBlockFormat, look: QTextCharFormat) -> None:
        self._cursor.movePosition(QTextCursor.MoveOperation.End)
        if self._cursor.position():
            self._cursor.insertBlock(block, look)
            if (own := self._cursor.currentList()) is not None:
                own.remove(self._cursor.block())
                self._cursor.setBlockFormat(block)
        else:
            self._cursor.setBlockFormat(block)


def _note(note: Note, looks: _PaperLooks) -> str:
    if note.is_picture:
        return f"<p>{looks.picture(note.file_address, note.file_name)}</p>"
    if note.file_address:
        return f"<p>[file: {_plain(note.file_name)}]</p>"
    return rendered(note.text.translate(_BAD), looks)


class _PaperLooks:
    def __init__(self, document: PaperDocument) -> None:
        self._document = document
        self.table_end = "</table><p></p>"

    def table(self, heads: Sequence[str]) -> str:
        looks = ' class="narrow"' if len(heads) > _MOST_COLUMNS else ""
        looks += ' dir="rtl"' if is_right_to_left("".join(heads)) else ""
        return f'<table border="1" cellspacing="0" cellpadding="4"{looks}>'

    def code(self, code: str, language: str) -> str:
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
        # The first and the last end of a line are none of the code's.
        return f"<pre>\n{''.join(pieces) or ' '}\n</pre>\n"

    def formula(self, latex: str, *, is_inline: bool) -> str:
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

    def picture(self, source: str, words: str) -> str:
        if picture_of(source) is not None:
            return f'<img src="{escape(source)}">'
        return f"[image: {escape(words or source, quote=False)}]"


def source_of(name: str) -> str:
    """Return a formula's LaTeX, from the name that its picture has in a document."""
    return name.removeprefix(_FORMULA)


def _plain(text: str) -> str:
    return escape(text.translate(_BAD), quote=False)


def break_runs(document: QTextDocument, start: int) -> None:
    """Put a zero-width space into each long run without a space from `start` on, where Qt may break it.

    For a document that is laid out: in any other the text is as it is.
    """
    edit = QTextCursor(document)
    edit.beginEditBlock()
    block = document.findBlock(start)
    while block.isValid():
        text = block.text()
        # The last one first: what stands before it keeps its place.
        for run in reversed(list(_LONG_RUN.finditer(text))):
            # Qt counts units of 16 bits.
            edit.setPosition(block.position() + len(text[: run.end()].encode("utf-16-le", "surrogatepass")) // 2)
            edit.insertText("\u200b")
        block = block.next()
    edit.endEditBlock()
