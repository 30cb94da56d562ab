"""Parsed Markdown, block by block, into a text document; it decides how things look and parses nothing.

HTML is shown as text, images by their words: nothing is fetched, nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCursor,
    QTextFormat,
    QTextLength,
    QTextListFormat,
    QTextTable,
)

from app.ui import markdown_math
from app.ui.code_blocks import (
    CODE_LINE,
    CODE_PADDING_PX,
    FIRST_LINE,
    CodeSpan,
    insert_code,
    line_format,
)
from app.ui.highlight import highlighted
from app.ui.inline_writer import InlineWriter
from app.ui.table_writer import write_table
from app.ui.text_formats import TextFormats
from app.ui.theme import LINE_PX, TEXT_PX, Theme, scaled

_HEADING_PX = {"h1": 20, "h2": 17, "h3": 15}
_BLOCK_GAP_PX = 10
_TIGHT_GAP_PX = 3
_LIST_GAP_PX = 8
SHORT_CODE = 1_500
"""Characters of code that are coloured at once."""

QUOTE_DEPTH = QTextFormat.Property.UserProperty.value + 1
"""A block's property: how many quotes it stands in. Who paints the document draws their bars."""
BULLET_LEVEL = QUOTE_DEPTH + 1
"""A block's property: it begins with a bullet, in so many lists. Who paints the document draws it."""
QUOTE_INDENT_PX = 20
LIST_INDENT_PX = 28

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
        self.is_fresh = is_fresh
        self._source = source or Lines()
        self._next_number = next_number
        self.goes_on = False
        """Whether the first paragraph is the rest of the one above."""
        self._cursor = cursor
        self._theme = theme
        self._formats = TextFormats(theme)
        self._words = InlineWriter(cursor, self._formats)
        self._quote_depth = 0
        self._lists: list[QTextListFormat] = []
        self._pending_item: QTextListFormat | None = None
        self._opens_list = False
        self._pending_note = ""
        self.spans: list[CodeSpan] = []
        """The code that was written."""
        self.tables: list[QTextTable] = []
        self.uncoloured: list[CodeSpan] = []
        """Of it, what is too long to be coloured while somebody waits."""

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
            self._leave_fresh_block()

    def write_plain(self, text: str) -> None:
        """Write text as it is, a block a line; the first line goes on where the cursor stands."""
        look = self._formats.text(is_quoted=False)
        if self.is_fresh:
            self._begin_block(top_px=0)
        # What is inserted with a line break in it repeats the format of its block.
        self._words.insert_more(text, look)

    def _write_block(self, tokens: list[Token], index: int) -> int:
        """Write the block that begins at `index`; return where the next one does."""
        token = tokens[index]
        match token.type:
            case "heading_open":
                px = _HEADING_PX.get(token.tag, TEXT_PX)
                self._begin_block(top_px=_BLOCK_GAP_PX + 6, line_px=round(px * 1.4))
                self._words.write(tokens[index + 1], self._formats.heading(px, is_quoted=bool(self._quote_depth)))
                self._mirror_margins()
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
                self._opens_list = not self._lists and not self._next_number
                self._lists.append(self._list_format(token))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._pending_item = self._lists[-1]
            case "list_item_close" if self._pending_item is not None:
                # Nothing stands in it but its mark.
                self._begin_block(top_px=_LIST_GAP_PX if self._opens_list else _TIGHT_GAP_PX)
            case "blockquote_open":
                self._quote_depth += 1
            case "blockquote_close":
                self._quote_depth -= 1
            case "hr":
                self._begin_block(top_px=_TIGHT_GAP_PX)
                format_ = self._cursor.blockFormat()
                format_.setProperty(
                    QTextBlockFormat.Property.BlockTrailingHorizontalRulerWidth,
                    QTextLength(QTextLength.Type.PercentageLength, 100),
                )
                # Of a rule it is the line that has this colour.
                format_.setBackground(QBrush(QColor(self._theme.line)))
                self._cursor.setBlockFormat(format_)
            case markdown_math.DISPLAY:
                self._display(token)
            case _:
                pass
        return index + 1

    def _paragraph(self, inline: Token) -> None:
        box = _box(inline) if self._pending_item is not None else ""
        # Whether a list is a loose one is known at its end; how far an item stands from the one above, at once.
        is_tight = bool(self._lists) and not self._source.is_after_blank(inline)
        tight_px = _LIST_GAP_PX if self._opens_list else _TIGHT_GAP_PX
        gap_px = tight_px if is_tight or self._opens_list else _BLOCK_GAP_PX
        self._begin_block(top_px=0 if self.goes_on else gap_px)
        self.goes_on = False
        look = self._formats.text(is_quoted=bool(self._quote_depth))
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
        self._mirror_margins()

    def _display(self, token: Token) -> None:
        """A formula on a line of its own."""
        self._begin_block(top_px=_BLOCK_GAP_PX)
        if self._words.formula(token, self._formats.text(is_quoted=bool(self._quote_depth))):
            format_ = self._cursor.blockFormat()
            format_.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            self._cursor.setBlockFormat(format_)
        if token.info:
            self._words.insert(token.info, self._formats.text(is_quoted=bool(self._quote_depth)))

    # --- blocks --------------------------------------------------------------------------------------------

    def _begin_block(self, top_px: int, line_px: int = LINE_PX) -> None:
        block = QTextBlockFormat()
        is_first = self.is_fresh and self._cursor.position() == 0
        block.setTopMargin(0 if is_first else self._gap_px(top_px))
        block.setLineHeight(scaled(line_px), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        block.setLeftMargin(QUOTE_INDENT_PX * self._quote_depth)
        block.setProperty(QUOTE_DEPTH, self._quote_depth)
        # A list's own format moves its items in; what follows within an item is moved as far.
        block.setIndent(0 if self._pending_item is not None else len(self._lists))
        text = self._formats.text(is_quoted=bool(self._quote_depth))
        if self._pending_item is not None and self._pending_item.style() != QTextListFormat.Style.ListDecimal:
            block.setProperty(BULLET_LEVEL, len(self._lists))
        if self.is_fresh:
            self._cursor.setBlockFormat(block)
            self._cursor.setBlockCharFormat(text)
            self.is_fresh = False
        else:
            self._cursor.insertBlock(block, text)
        if self._pending_item is not None:
            item = QTextListFormat(self._pending_item)
            if (own := self._cursor.currentList()) is not None:
                own.remove(self._cursor.block())
            self._add_to_list(item)
            self._pending_item = None
            self._opens_list = False
        elif (inherited := self._cursor.currentList()) is not None:
            inherited.remove(self._cursor.block())
            self._cursor.setBlockFormat(block)

    def _add_to_list(self, format_: QTextListFormat) -> None:
        """Each item is a list of its own: Qt numbers it from where the source says."""
        self._cursor.createList(format_)
        start = format_.start()
        self._lists[-1].setStart(start + 1)

    def _list_format(self, token: Token) -> QTextListFormat:
        format_ = QTextListFormat()
        if token.type == "ordered_list_open":
            format_.setStyle(QTextListFormat.Style.ListDecimal)
            format_.setStart(self._next_number or int(token.attrs.get("start", 1)))
        else:
            # Without a style Qt draws nothing: its own bullets stand too close to the text.
            format_.setStyle(QTextListFormat.Style.ListStyleUndefined)
            format_.setStart(1)
        format_.setIndent(len(self._lists) + 1)
        self._next_number = 0
        return format_

    @property
    def next_number(self) -> int:
        """The number of the next item of the outermost list that is open."""
        return self._lists[0].start() if self._lists else 0

    def begin_code(self, language: str) -> CodeSpan:
        """Begin a frame of code; its first line is still empty."""
        if self._pending_item is not None:
            # An item's mark stands on a line of its own.
            self._begin_block(top_px=_TIGHT_GAP_PX)
        top_px = self._gap_px(_BLOCK_GAP_PX)
        is_first = self.is_fresh and self._cursor.position() == 0
        # Above the first line of a document no margin counts; who shows it makes room there.
        block = line_format(
            FIRST_LINE, left_px=self._inset_px, top_px=0 if is_first else top_px, quote=(QUOTE_DEPTH, self._quote_depth)
        )
        look = self._formats.code()
        if self.is_fresh:
            self._cursor.setBlockFormat(block)
            self._cursor.setBlockCharFormat(look)
            self.is_fresh = False
        else:
            self._cursor.insertBlock(block, look)
        if (inherited := self._cursor.currentList()) is not None:
            inherited.remove(self._cursor.block())
            self._cursor.setBlockFormat(block)
        start = QTextCursor(self._cursor)
        start.setKeepPositionOnInsert(True)
        span = CodeSpan(start, language, "")
        self.spans.append(span)
        return span

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

    def _gap_px(self, px: int) -> int:
        """The distance to what stands above: a frame of code reaches below its last line."""
        is_after_code = not self.is_fresh and self._cursor.blockFormat().hasProperty(CODE_LINE)
        return max(px, _BLOCK_GAP_PX) + CODE_PADDING_PX if is_after_code else px

    def _table(self, tokens: list[Token]) -> None:
        if not any(token.type == "tr_open" for token in tokens):
            return
        self._leave_fresh_block()
        table, places = write_table(
            self._cursor,
            tokens,
            self._theme,
            inset_px=self._inset_px,
            top_px=self._gap_px(_BLOCK_GAP_PX),
            quote=(QUOTE_DEPTH, self._quote_depth),
        )
        self.tables.append(table)
        self._words.formula_places += places
        self.is_fresh = True

    @property
    def _inset_px(self) -> int:
        """How far in the text stands here."""
        return QUOTE_INDENT_PX * self._quote_depth + LIST_INDENT_PX * len(self._lists)

    def _mirror_margins(self) -> None:
        """Text from right to left has its quotes' bars at the right."""
        format_ = self._cursor.blockFormat()
        if self._quote_depth and self._cursor.block().textDirection() == Qt.LayoutDirection.RightToLeft:
            format_.setRightMargin(format_.leftMargin())
            format_.setLeftMargin(0)
            self._cursor.setBlockFormat(format_)

    def _leave_fresh_block(self) -> None:
        """A frame needs a block before it; an empty one there is made as low as can be."""
        if self.is_fresh:
            low = QTextBlockFormat()
            low.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            self._cursor.setBlockFormat(low)


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
