"""Writes parsed Markdown into a text document, block by block.

HTML is shown as text and images as their descriptions: nothing is downloaded, nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QTextBlockFormat, QTextCursor, QTextLength, QTextTable

from app.model import markdown_parser
from app.ui.text.block_writer import BLOCK_GAP_PX, TIGHT_GAP_PX, BlockWriter
from app.ui.text.code_blocks import CodeSpan, insert_code
from app.ui.text.formulas import PlacedFormula
from app.ui.text.highlight import highlighted
from app.ui.text.inline_writer import InlineWriter
from app.ui.text.tables import is_too_wide, write_table
from app.ui.text.text_formats import BULLET_LEVEL, CONTINUES_LINE, TextFormats
from app.ui.theme import TEXT_PX, Theme

_HEADING_PX = {"h1": 20, "h2": 17, "h3": 15}
SHORT_CODE = 1_500
"""Code of up to this many characters is highlighted at once."""

_BOX = re.compile(r"\[([ xX])\]\s")
_UNCHECKED, _CHECKED = "☐", "☑"


class Lines(NamedTuple):
    """The source lines that the `map` of tokens refers to."""

    lines: Sequence[str] = ()
    before: str = ""
    """The line before the first line."""

    def is_after_blank(self, token: Token) -> bool:
        """Return whether there is an empty line above a token."""
        number = token.map[0] if token.map else 0
        above = self.lines[number - 1] if 0 < number <= len(self.lines) else self.before
        return not above.strip(" \t>")


class MarkdownWriter:
    """Writes parsed blocks at a cursor, and collects the code, tables and formulas in them."""

    def __init__(
        self,
        cursor: QTextCursor,
        theme: Theme,
        *,
        in_empty_block: bool,
        source: Lines | None = None,
        next_numbers: Sequence[int] = (),
    ) -> None:
        """`in_empty_block` means that the cursor is in an empty block that the next block may use.

        `next_numbers` are the numbers of the next items of the lists to continue, the outermost list first.
        """
        self._source = source or Lines()
        self.joint: str | None = None
        """If the first paragraph is the rest of the paragraph above, what stands in between: a space or nothing."""
        self._cursor = cursor
        self._theme = theme
        self._formats = TextFormats(theme)
        self._blocks = BlockWriter(cursor, self._formats, in_empty_block=in_empty_block, next_numbers=next_numbers)
        self._inline = InlineWriter(cursor, self._formats)
        self._pending_note = ""
        self.spans: list[CodeSpan] = []
        self.tables: list[QTextTable] = []
        self.long_spans: list[CodeSpan] = []
        """The code in `spans` that is too long to be highlighted at once."""

    @property
    def in_empty_block(self) -> bool:
        return self._blocks.in_empty_block

    @property
    def next_numbers(self) -> tuple[int, ...]:
        """The numbers of the next items of the open lists, the outermost list first."""
        return self._blocks.next_numbers

    @property
    def formulas(self) -> list[PlacedFormula]:
        return self._inline.formulas

    @property
    def cursor(self) -> QTextCursor:
        return self._cursor

    def write(self, tokens: list[Token]) -> None:
        index = 0
        while index < len(tokens):
            index = self._write_block(tokens, index)

    def end(self) -> None:
        """Finish writing: shrink the empty line below a table at the end."""
        if self._cursor.position() > 0:
            self._blocks.shrink_empty_block()

    def begin_plain(self) -> None:
        """Begin plain text below Markdown."""
        self._blocks.begin(top_px=BLOCK_GAP_PX)

    def continue_line(self) -> None:
        """Begin a block that continues the line above."""
        self._blocks.begin(top_px=0)
        self._blocks.continue_line()

    def write_plain(self, text: str) -> None:
        """Write plain text, one block for each line; the first line continues at the cursor."""
        format_ = self._formats.text(is_quoted=False)
        if self.in_empty_block:
            self._blocks.begin(top_px=0)
        block = self._cursor.blockFormat()
        if block.hasProperty(CONTINUES_LINE) and "\n" in text:
            rest, _, text = text.partition("\n")
            self._inline.insert_more(rest, format_)
            block.clearProperty(CONTINUES_LINE)
            self._cursor.insertBlock(block)
        # At each line break Qt begins a block with the format of the current one.
        self._inline.insert_more(text, format_)

    def begin_code(self, language: str) -> CodeSpan:
        """Begin a code frame with an empty first line."""
        span = CodeSpan(self._blocks.begin_code(), language, "")
        self.spans.append(span)
        return span

    def _write_block(self, tokens: list[Token], index: int) -> int:
        """Write the block that begins at `index`; return the index of the next block."""
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
                if is_too_wide(tokens[index : end + 1]):
                    self._lines(token)
                    return end + 1
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
            case markdown_parser.DISPLAY:
                self._display(token)
            case _:
                pass
        return index + 1

    def _heading(self, tag: str, inline: Token) -> None:
        px = _HEADING_PX.get(tag, TEXT_PX)
        self._blocks.begin(top_px=BLOCK_GAP_PX + 6, line_px=round(px * 1.4))
        self._inline.write(inline, self._formats.heading(px, is_quoted=bool(self._blocks.quote_depth)))
        self._blocks.mirror_margins()

    def _paragraph(self, inline: Token) -> None:
        blocks = self._blocks
        box = _box(inline) if blocks.begins_item else ""
        if self.joint is not None:
            blocks.begin(top_px=0)
            blocks.continue_line(self.joint)
            self.joint = None
        else:
            blocks.begin_paragraph(is_after_blank=self._source.is_after_blank(inline))
        text_format = blocks.text_format
        if box:
            # The box replaces the bullet.
            format_ = self._cursor.blockFormat()
            format_.clearProperty(BULLET_LEVEL)
            format_.setTextIndent(-QFontMetricsF(text_format.font()).horizontalAdvance(box))
            self._cursor.setBlockFormat(format_)
            self._inline.insert(box, text_format)
        if self._pending_note:
            self._inline.insert(self._pending_note, self._formats.note_mark(text_format))
            self._inline.insert("\u2002", text_format)
            self._pending_note = ""
        self._inline.write(inline, text_format)
        blocks.mirror_margins()

    def _rule(self) -> None:
        self._blocks.begin(top_px=TIGHT_GAP_PX)
        format_ = self._cursor.blockFormat()
        format_.setProperty(
            QTextBlockFormat.Property.BlockTrailingHorizontalRulerWidth,
            QTextLength(QTextLength.Type.PercentageLength, 100),
        )
        # Qt draws the rule itself in the background colour.
        format_.setBackground(QBrush(QColor(self._theme.line)))
        self._cursor.setBlockFormat(format_)

    def _display(self, token: Token) -> None:
        """Write a formula on a line of its own."""
        self._blocks.begin(top_px=BLOCK_GAP_PX)
        text_format = self._blocks.text_format
        if self._inline.formula(token, text_format):
            format_ = self._cursor.blockFormat()
            format_.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            self._cursor.setBlockFormat(format_)
        if token.info:
            self._inline.insert(token.info, text_format)

    def _code(self, code: str, language: str) -> None:
        span = self.begin_code(language)
        span.code = code.rstrip("\n")
        span.num_lines = span.code.count("\n") + 1
        if len(span.code) <= SHORT_CODE:
            for piece in highlighted(span.code, language, self._theme.code_style, self._theme.sunken):
                insert_code(self._cursor, piece.text, self._formats.piece(piece))
        else:
            insert_code(self._cursor, span.code, self._formats.code())
            self.long_spans.append(span)

    def _lines(self, token: Token) -> None:
        """Write the source of a block as plain text."""
        first, last = token.map or (0, 0)
        self._blocks.begin(top_px=BLOCK_GAP_PX)
        self._inline.insert("\n".join(self._source.lines[first:last]), self._blocks.text_format)

    def _table(self, tokens: list[Token]) -> None:
        if not any(token.type == "tr_open" for token in tokens):
            return
        blocks = self._blocks
        blocks.shrink_empty_block()
        table, placed = write_table(
            self._cursor,
            tokens,
            self._theme,
            inset_px=blocks.inset_px,
            top_px=blocks.gap_px(BLOCK_GAP_PX),
            quote_depth=blocks.quote_depth,
        )
        self.tables.append(table)
        self._inline.formulas += placed
        blocks.in_empty_block = True


def _box(inline: Token) -> str:
    """Remove the check box from a task list item. Return a character for the box that screen readers can read."""
    first = inline.children[0] if inline.children else None
    found = _BOX.match(first.content) if first is not None and first.type == "text" else None
    if first is None or found is None:
        return ""
    first.content = first.content[found.end() :]
    return f"{_UNCHECKED if found[1] == ' ' else _CHECKED}\u2002"


def language_of(fence: Token) -> str:
    """Return the language of a code fence, or an empty text."""
    return next(iter(fence.info.split()), "")


def _end_of(tokens: list[Token], start: int, kind: str) -> int:
    level = tokens[start].level
    ends = (i for i in range(start, len(tokens)) if tokens[i].type == kind and tokens[i].level == level)
    return next(ends, len(tokens) - 1)
