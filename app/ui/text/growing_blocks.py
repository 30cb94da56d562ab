"""The end of a Markdown text that streams in: which part of it may still change, and open code and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markdown_it.token import Token
from PySide6.QtCore import QTextBoundaryFinder
from PySide6.QtGui import QTextCursor, QTextTable

from app.model.markdown_parser import DISPLAY, INLINE
from app.ui.text.code_blocks import CodeSpan, apply_pieces, insert_code
from app.ui.text.document_text import num_units
from app.ui.text.formulas import PlacedFormula
from app.ui.text.highlight import Piece, highlighted
from app.ui.text.slices import MAX_CELLS_AT_ONCE, MAX_TURNS, MIN_ROWS_AT_ONCE, num_marks, num_turns
from app.ui.text.tables import Cell, clear_row, continued, is_too_wide, rows_of, write_row
from app.ui.text.text_formats import TextFormats
from app.ui.theme import Theme

_JOINER = "\u200d"
_REGIONAL = range(0x1F1E6, 0x1F200)
_UNDECIDED = re.compile(r" {0,3}(\d{1,9}[.)]?|[-*+]+|[-*+] +|=+|#+|>|\|.*)?")
"""Matches a last line whose meaning may still change, so that the block above may continue."""
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])[ \t]+\S")
_ITEMS = frozenset({"list_item_open", "list_item_continued"})
_BETWEEN_WORDS = re.compile(r"(?<=[^\W_]) (?=[^\W_])")
_LONG_PARAGRAPH = 16_000
"""A last paragraph with more characters is divided, so that only its end is written again for new text."""
_LONG_BLOCK = 40_000
_MANY_PARTS = 1_000
_FORMULA_WEIGHT = 5
_OPENING = re.compile(r"(?P<marker>`{3,}(?!`)|~{3,}(?!~))[^\n]*\n")
_WINDOW = 300
"""The number of characters at the end of code that are highlighted again. The code above keeps its colours."""


def split_open_cluster(text: str) -> tuple[str, str]:
    """Split off the grapheme cluster at the end of `text` if it is certainly incomplete.

    Some characters arrive in several code points. A joiner (emoji families, conjuncts) and the first half of a flag
    show that more must follow, and are better shown together with it. Combining marks can't be foreseen.
    """
    if not text or (text[-1] != _JOINER and ord(text[-1]) not in _REGIONAL):
        return text, ""
    # Clusters do not extend over spaces and line breaks.
    start = max(text.rfind(" "), text.rfind("\n")) + 1
    tail = text[start:]
    finder = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Grapheme, tail)
    finder.toEnd()
    units_before = finder.toPreviousBoundary()
    # Qt counts UTF-16 units.
    first = len(tail.encode("utf-16-le")[: 2 * units_before].decode("utf-16-le"))
    cluster = tail[first:]
    if cluster[-1] == _JOINER or len(cluster) == 1:
        return text[: start + first], cluster
    return text, ""


class LastBlock(NamedTuple):
    """The last block of a text (or the last item if that block is a list), and everything above it."""

    above: list[Token]
    above_source: str
    tokens: list[Token]
    source: str
    is_above_final: bool
    """Whether no text that follows can change what is above."""

    @property
    def is_paragraph(self) -> bool:
        return bool(self.tokens) and self.tokens[0].type == "paragraph_open"

    @property
    def is_long(self) -> bool:
        """Whether the text is a single block that is too long to be written again with each token.

        Code and tables never are, because only their end is written again.
        """
        if self.above or not self.tokens or self.tokens[0].type == "fence" or open_table(self) is not None:
            return False
        if len(self.source) > (_LONG_PARAGRAPH if self.is_paragraph else _LONG_BLOCK):
            return True
        num_parts = sum(1 + sum(map(_weight, token.children or ())) for token in self.tokens)
        return num_parts > _MANY_PARTS or (
            self.is_paragraph and (num_marks(self.source) > _MANY_PARTS or num_turns(self.source) > MAX_TURNS)
        )


def _weight(part: Token) -> int:
    """Return the cost of laying out a part of a paragraph: 1 for text, more for a formula."""
    return _FORMULA_WEIGHT if part.type in {INLINE, DISPLAY} else 1


class OpenTable(NamedTuple):
    """A table that may get more rows."""

    head: str
    unfinished: str
    """The source of the last row if that row has no line end yet."""


def last_block(source: str, tokens: list[Token]) -> LastBlock:
    """Return the last block of a text; `tokens` are the tokens of the whole text."""
    starts = [max(0, token.map[0]) for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
    if not starts:
        return LastBlock([], "", tokens, source, is_above_final=False)
    lines = source.split("\n")
    line = starts[-1]
    split = next(
        at for at, token in enumerate(tokens) if token.level == 0 and token.map and max(0, token.map[0]) == line
    )
    if (item := _last_item(tokens[split:], lines)) is not None:
        # The items above the last item are final, too.
        split += item
        line = (tokens[split].map or [0])[0]
    above_source = "".join(f"{each}\n" for each in lines[:line])
    is_decided = line < len(lines) - 1 or _UNDECIDED.fullmatch(lines[-1]) is None
    has_above = len(starts) > 1 or item is not None
    return LastBlock(
        tokens[:split],
        above_source,
        tokens[split:],
        source[len(above_source) :],
        is_above_final=has_above and is_decided,
    )


def paragraph_split(paragraph: str) -> int:
    """Return the position at which to divide a very long paragraph: after a space near its end."""
    split = len(paragraph) - min(_LONG_PARAGRAPH, len(paragraph)) // 4
    return next((found.end() for found in _BETWEEN_WORDS.finditer(paragraph, max(0, split - 1_000), split)), split)


def block_split(block: str) -> int:
    """Return the position at which to divide a very long list item or quote: the beginning of its last line."""
    return block.rstrip("\n").rfind("\n") + 1 or len(block)


def open_table(block: LastBlock) -> OpenTable | None:
    """Return the table of a block if it has a complete row and may get more rows; else None."""
    tokens, source = block.tokens, block.source
    if len(tokens) < 2 or tokens[0].type != "table_open" or tokens[-1].type != "table_close":
        return None
    lines = source.split("\n")
    if len(lines) < 4 or source[:1].isspace() or not lines[2].strip():
        return None
    num_rows = sum(token.type == "tr_open" for token in tokens)
    # Only rows follow the header, not even an empty line.
    is_open = not is_too_wide(tokens) and num_rows + 1 == len(lines) - (0 if lines[-1] else 1)
    return OpenTable(f"{lines[0]}\n{lines[1]}\n", lines[-1]) if is_open else None


def _last_item(tokens: list[Token], lines: list[str]) -> int | None:
    """Return the index of the token that opens the last of several list items; None if it is not certain yet."""
    if not tokens[0].type.endswith("_list_open"):
        return None
    items = [index for index, token in enumerate(tokens) if token.type in _ITEMS and token.level == 1]
    line = (tokens[items[-1]].map or [0])[0]
    return items[-1] if len(items) > 1 and _ITEM.match(lines[line]) else None


class GrowingCode:
    """Code in an unindented fence that is still open. `span` is its frame in the document, which is empty at first.

    Text is appended line by line; the code above is not written again.
    """

    def __init__(self, span: CodeSpan, theme: Theme, marker: str) -> None:
        self.span = span
        self._theme = theme
        self._formats = TextFormats(theme)
        self._closing = re.compile(rf" {{0,3}}{re.escape(marker[0])}{{{len(marker)},}}[ \t]*")
        self._stable_end = span.start.position()
        """The document position after the code that can't change any more."""
        self._pending = ""
        """The source of the code after `_stable_end`."""
        self._shown = ""
        """The part of `_pending` that the document shows."""
        self._window_start = self._stable_end
        self._window_text = ""
        self._pieces: list[Piece] = []

    def append(self, text: str) -> str | None:
        """Append source text; return the text after the fence once it is closed, else None."""
        before = self._pending.count("\n")
        self._pending += text
        complete, _, unfinished = self._pending.rpartition("\n")
        lines = self._pending.split("\n")[:-1]
        for index in range(before, len(lines)):
            if self._closing.fullmatch(lines[index]):
                self._show("\n".join(lines[:index]).rstrip("\n"))
                self.span.code += self._shown
                return "\n".join((*lines[index + 1 :], unfinished))
        # The last line may be the closing fence, or its beginning.
        is_end = self._closing.fullmatch(unfinished) is not None
        self._show((complete if is_end else self._pending).rstrip("\n"))
        self._settle(complete.rstrip("\n"))
        return None

    @property
    def num_unfinished(self) -> int:
        """The length of the last line in characters."""
        return len(self._pending) - self._pending.rfind("\n") - 1

    def move(self, num_units: int) -> None:
        """Move the stored positions, because the text above grew by this many UTF-16 units."""
        self._stable_end += num_units
        self._window_start += num_units

    def _show(self, text: str) -> None:
        cursor = QTextCursor(self.span.start.document())
        cursor.beginEditBlock()
        common = len(self._shown) if text.startswith(self._shown) else 0
        cursor.setPosition(self._stable_end + num_units(text[:common]))
        format_ = cursor.blockFormat()
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        if cursor.hasSelection():
            cursor.removeSelectedText()
            # Removing text leaves an empty block with the format of the removed block.
            cursor.setBlockFormat(format_)
        insert_code(cursor, text[common:], self._formats.code())
        self.span.num_lines += text.count("\n") - self._shown.count("\n")
        self._shown = text
        self._highlight(cursor)
        cursor.endEditBlock()

    def _settle(self, certain: str) -> None:
        """Mark complete lines, up to the last one that is not empty, as unchangeable."""
        self.span.code += certain
        self._window_text += certain
        self._stable_end += num_units(certain)
        self._pending = self._pending[len(certain) :]
        self._shown = self._shown[len(certain) :]
        if len(self._window_text) > 2 * _WINDOW:
            cut = self._window_text.find("\n", len(self._window_text) - _WINDOW) + 1
            self._window_start += num_units(self._window_text[:cut])
            self._window_text = self._window_text[cut:]
            self._pieces.clear()

    def _highlight(self, cursor: QTextCursor) -> None:
        code = self._window_text + self._shown
        if not self.span.language or len(code) > 4 * _WINDOW:
            return
        found = highlighted(code, self.span.language, self._theme.code_style, self._theme.sunken)
        num_same = next((i for i, (a, b) in enumerate(zip(found, self._pieces, strict=False)) if a != b), None)
        if num_same is None:
            num_same = min(len(found), len(self._pieces))
        position = self._window_start + sum(num_units(piece.text) for piece in found[:num_same])
        apply_pieces(cursor, position, found[num_same:], self._formats)
        self._pieces = found


class Fence(NamedTuple):
    """The marker of an opening fence, and the code after its first line."""

    marker: str
    code: str


def opening_fence(source: str) -> Fence | None:
    """Return the unindented fence at the beginning of `source`, or None."""
    found = _OPENING.match(source)
    return None if found is None else Fence(found["marker"], source[found.end() :])


class GrowingTable:
    """An unindented table at the end of the text; only its last row is written again.

    Qt lays out the whole table for each new row, so a long table is written as several tables, one below another.
    """

    def __init__(
        self, table: QTextTable, head: str, unfinished: str, theme: Theme, parse: Callable[[str], list[Token]]
    ) -> None:
        """`head` is the source of the table's first two lines, `unfinished` the source of the incomplete last row."""
        self.table = table
        self.pending = unfinished
        """The source of the incomplete last row."""
        self.formulas: list[PlacedFormula] = []
        """The formulas in the rows that the last call of `append` wrote."""
        self.continuations: list[QTextTable] = []
        """The tables that the last call of `append` began."""
        self._head = head
        self._theme = theme
        self._parse = parse

    @property
    def stable_end(self) -> int:
        """The position of the row that will be written again; the end of the table if there is none."""
        if not self.pending:
            return self.table.lastPosition() + 1
        return self.table.cellAt(self.table.rows() - 1, 0).firstPosition()

    def append(self, text: str) -> str | None:
        """Append source text; return the text after the table once it has ended, else None."""
        is_row_empty = bool(self.pending) and self.table.rows() == 1
        if is_row_empty:
            # Qt would delete a table without rows.
            clear_row(self.table, 0)
        elif self.pending:
            self.table.removeRows(self.table.rows() - 1, 1)
        source, self.pending, self.formulas = self.pending + text, "", []
        self.continuations = []
        while source:
            line, end, rest = source.partition("\n")
            cells = self._cells(line)
            if cells is None:
                return source
            if is_row_empty:
                is_row_empty = False
            elif self._is_full:
                self.table = continued(self.table)
                self.continuations.append(self.table)
            else:
                self.table.appendRows(1)
            self.formulas += write_row(self.table, self.table.rows() - 1, cells, self._theme, quote_depth=0)
            if not end:
                self.pending = line
            source = rest
        return None

    @property
    def _is_full(self) -> bool:
        num_rows = self.table.rows()
        return num_rows >= MIN_ROWS_AT_ONCE and num_rows * self.table.columns() >= MAX_CELLS_AT_ONCE

    def _cells(self, line: str) -> Sequence[Cell] | None:
        """Return the cells of a line, or None if it is not a row of the table."""
        tokens = self._parse(f"{self._head}{line}")
        if not tokens or tokens[0].type != "table_open" or tokens[-1].type != "table_close":
            return None
        rows = rows_of(tokens)
        return rows[1] if len(rows) == 2 else None
