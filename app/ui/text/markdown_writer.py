"""Parsed Markdown, block by block, into a text document; it decides how things look and parses nothing.

HTML is shown as text, images by their words: nothing is fetched, nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QTextBlockFormat, QTextCursor, QTextLength, QTextTable

from app.model import markdown_math
from app.ui.text.block_writer import BLOCK_GAP_PX, BULLET_LEVEL, TIGHT_GAP_PX, BlockWriter
from app.ui.text.code_blocks import CodeSpan, insert_code
from app.ui.text.highlight import highlighted
from app.ui.text.inline_writer import InlineWriter
from app.ui.text.tables import write_table
from app.ui.text.text_formats import TextFormats
from app.ui.theme import TEXT_PX, Theme

_HEADING_PX = {"h1": 20, "h2": 17, "h3": 15}
SHORT_CODE = 1_500
"""Characters of code that are coloured at once."""

_BOX = re.compile(r"\[([ xX])\]\s")
_UNCHECKED, _CHECKED = "☐", "☑"


class Lines(NamedTuple):
    """The source that tokens tell the lines of."""

    lines: Sequence[str] = ()
    before: str = ""
    """The line before the first of them."""

    def is_after_blank(self, token: Token) -> bool:
        """Whether what a token begins with has an empty line above it."""
        number = token.map[0] if token.map else 0
        above = self.lines[number - 1] if 0 < number <= len(self.lines) else self.before
        return not above.strip(" \t>")


class MarkdownWriter:
    """Writes parsed blocks at a cursor. `is_fresh`: the cursor stands in an empty block that the next one may use."""

    def __init__(
        self, cursor: QTextCursor, theme: Theme, *, is_fresh: bool, source: Lines | None = None, next_number: int = 0
    ) -> None:
        """`next_number`: that of the first item, where it goes on with a list; 0: it goes on with none."""
        self._source = source or Lines()
        self.goes_on = False
        """Whether the first paragraph is the rest of the one above."""
        self._cursor = cursor
        self._theme = theme
        self._formats = TextFormats(theme)
        self._blocks = BlockWriter(cursor, self._formats, is_fresh=is_fresh, next_number=next_number)
        self._words = InlineWriter(cursor, self._formats)
        self._pending_note = ""
        self.spans: list[CodeSpan] = []
        """The code that was written."""
        self.tables: list[QTextTable] = []
        self.uncoloured: list[CodeSpan] = []
        """Of it, what is too long to be coloured while somebody waits."""

    @property
    def is_fresh(self) -> bool:
        return self._blocks.is_fresh

    @property
    def next_number(self) -> int:
        """The number of the next item of the outermost list that is open."""
        return self._blocks.next_number

    @property
    def formula_places(self) -> list[int]:
        """Where formulas stand."""
        return self._words.formula_places

    @property
    def cursor(self) -> QTextCursor:
        return self._cursor

    def write(self, tokens: list[Token]) -> None:
        index = 0
        while index < len(tokens):
            index = self._write_block(tokens, index)

    def end(self) -> None:
        """Leave no empty line below what ends in a frame."""
        if self._cursor.position() > 0:
            self._blocks.leave_fresh_block()

    def write_plain(self, text: str) -> None:
        """Write text as it is, a block a line; the first line goes on where the cursor stands."""
        look = self._formats.text(is_quoted=False)
        if self.is_fresh:
            self._blocks.begin(top_px=0)
        # What is inserted with a line break in it repeats the format of its block.
        self._words.insert_more(text, look)

    def begin_code(self, language: str) -> CodeSpan:
        """Begin a frame of code; its first line is still empty."""
        span = CodeSpan(self._blocks.begin_code(), language, "")
        self.spans.append(span)
        return span

    def _write_block(self, tokens: list[Token], index: int) -> int:
        """Write the block that begins at `index`; return where the next one does."""
        token, blocks = tokens[index], self._blocks
        match token.type:
            case "heading_open":
                self._heading(token.tag, tokens[index + 1])
                return index + 3
            case "paragraph_open":
                self._paragraph(tokens[index + 1])
                return index + 3
            case "footnote_reference_open":
                self._pending_note = str(token.meta["label"])
            case "fence" | "code_block":
                self._code(token.content, language_of(token))
            case "table_open":
                end = _end_of(tokens, index, "table_close")
                self._table(tokens[index : end + 1])
                return end + 1
            case "bullet_list_open" | "ordered_list_open":
                blocks.open_list(token)
            case "bullet_list_close" | "ordered_list_close":
                blocks.close_list()
            case "list_item_open":
                blocks.open_item()
            case "list_item_close":
                blocks.close_item()
            case "blockquote_open":
                blocks.quote_depth += 1
            case "blockquote_close":
                blocks.quote_depth -= 1
            case "hr":
                self._rule()
            case markdown_math.DISPLAY:
                self._display(token)
            case _:
                pass
        return index + 1

    def _heading(self, tag: str, inline: Token) -> None:
        px = _HEADING_PX.get(tag, TEXT_PX)
        self._blocks.begin(top_px=BLOCK_GAP_PX + 6, line_px=round(px * 1.4))
        self._words.write(inline, self._formats.heading(px, is_quoted=bool(self._blocks.quote_depth)))
        self._blocks.mirror_margins()

    def _paragraph(self, inline: Token) -> None:
        blocks = self._blocks
        box = _box(inline) if blocks.begins_item else ""
        if self.goes_on:
            blocks.begin(top_px=0)
            self.goes_on = False
        else:
            blocks.begin_paragraph(is_after_blank=self._source.is_after_blank(inline))
        look = blocks.look
        if box:
            # The box stands where a bullet would.
            format_ = self._cursor.blockFormat()
            format_.clearProperty(BULLET_LEVEL)
            format_.setTextIndent(-QFontMetricsF(look.font()).horizontalAdvance(box))
            self._cursor.setBlockFormat(format_)
            self._words.insert(box, look)
        if self._pending_note:
            self._words.insert(self._pending_note, self._formats.note_mark(look))
            self._words.insert("\u2002", look)
            self._pending_note = ""
        self._words.write(inline, look)
        blocks.mirror_margins()

    def _rule(self) -> None:
        self._blocks.begin(top_px=TIGHT_GAP_PX)
        format_ = self._cursor.blockFormat()
        format_.setProperty(
            QTextBlockFormat.Property.BlockTrailingHorizontalRulerWidth,
            QTextLength(QTextLength.Type.PercentageLength, 100),
        )
        # Of a rule it is the line that has this colour.
        format_.setBackground(QBrush(QColor(self._theme.line)))
        self._cursor.setBlockFormat(format_)

    def _display(self, token: Token) -> None:
        """A formula on a line of its own."""
        self._blocks.begin(top_px=BLOCK_GAP_PX)
        look = self._blocks.look
        if self._words.formula(token, look):
            format_ = self._cursor.blockFormat()
            format_.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            self._cursor.setBlockFormat(format_)
        if token.info:
            self._words.insert(token.info, look)

    def _code(self, code: str, language: str) -> None:
        span = self.begin_code(language)
        span.code = code.rstrip("\n")
        span.num_lines = span.code.count("\n") + 1
        if len(span.code) <= SHORT_CODE:
            for piece in highlighted(span.code, language, self._theme.code_style, self._theme.sunken):
                insert_code(self._cursor, piece.text, self._formats.piece(piece))
        else:
            insert_code(self._cursor, span.code, self._formats.code())
            self.uncoloured.append(span)

    def _table(self, tokens: list[Token]) -> None:
        if not any(token.type == "tr_open" for token in tokens):
            return
        blocks = self._blocks
        blocks.leave_fresh_block()
        table, places = write_table(
            self._cursor,
            tokens,
            self._theme,
            inset_px=blocks.inset_px,
            top_px=blocks.gap_px(BLOCK_GAP_PX),
            quote=blocks.quote,
        )
        self.tables.append(table)
        self._words.formula_places += places
        blocks.is_fresh = True


def _box(inline: Token) -> str:
    """Take the box away with which an item of a task list begins; return it as a character that is read out."""
    first = inline.children[0] if inline.children else None
    found = _BOX.match(first.content) if first is not None and first.type == "text" else None
    if first is None or found is None:
        return ""
    first.content = first.content[found.end() :]
    return f"{_UNCHECKED if found[1] == ' ' else _CHECKED}\u2002"


def language_of(fence: Token) -> str:
    """Return the language that is named where code begins."""
    return next(iter(fence.info.split()), "")


def _end_of(tokens: list[Token], start: int, kind: str) -> int:
    level = tokens[start].level
    ends = (i for i in range(start, len(tokens)) if tokens[i].type == kind and tokens[i].level == level)
    return next(ends, len(tokens) - 1)
