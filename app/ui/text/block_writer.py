"""Begins blocks at a cursor, with the margins and list items that lists and quotes need."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor, QTextListFormat

from app.ui.text.code_blocks import CODE_LINE, CODE_PADDING_PX, FIRST_LINE, line_format
from app.ui.text.text_formats import BULLET_LEVEL, CONTINUES_LINE, QUOTE_DEPTH, TextFormats
from app.ui.theme import LINE_PX, scaled

BLOCK_GAP_PX = 10
TIGHT_GAP_PX = 3
_LIST_GAP_PX = 8
QUOTE_INDENT_PX = 20
LIST_INDENT_PX = 28


class BlockWriter:
    """Begins blocks; the caller writes their content."""

    def __init__(
        self, cursor: QTextCursor, formats: TextFormats, *, in_empty_block: bool, next_numbers: Sequence[int]
    ) -> None:
        """`in_empty_block` means that the cursor is in an empty block that the next block may use.

        `next_numbers` are the numbers of the next items of the lists to continue, the outermost list first.
        """
        self.in_empty_block = in_empty_block
        self.quote_depth = 0
        self._cursor = cursor
        self._formats = formats
        self._next_numbers = list(next_numbers)
        self._lists: list[QTextListFormat] = []
        self._pending_item: QTextListFormat | None = None
        """The list item that begins with the next block; None if none begins."""
        self._opens_list = False

    # --- lists and quotes ----------------------------------------------------------------------------------

    def open_list(self, token: Token) -> None:
        self._opens_list = not self._lists and not self._next_numbers
        self._lists.append(self._list_format(token))

    def close_list(self) -> None:
        self._lists.pop()

    def open_item(self) -> None:
        self._pending_item = self._lists[-1]

    def close_item(self) -> None:
        """End an item. An empty item still gets a block for its bullet or number."""
        if self._pending_item is not None:
            self.begin(_LIST_GAP_PX if self._opens_list else TIGHT_GAP_PX)

    @property
    def begins_item(self) -> bool:
        """Whether the next block is the first one of an item."""
        return self._pending_item is not None

    @property
    def next_numbers(self) -> tuple[int, ...]:
        """The numbers of the next items of the open lists, the outermost list first."""
        return tuple(each.start() for each in self._lists)

    @property
    def inset_px(self) -> int:
        """The indentation of the text at the cursor, in pixels."""
        return QUOTE_INDENT_PX * self.quote_depth + LIST_INDENT_PX * len(self._lists)

    @property
    def text_format(self) -> QTextCharFormat:
        """The format of plain text at the cursor."""
        return self._formats.text(is_quoted=bool(self.quote_depth))

    # --- blocks --------------------------------------------------------------------------------------------

    def begin(self, top_px: int, line_px: int = LINE_PX) -> None:
        """Begin a block of text."""
        block = QTextBlockFormat()
        is_first = self.in_empty_block and self._cursor.position() == 0
        block.setTopMargin(0 if is_first else self.gap_px(top_px))
        block.setLineHeight(scaled(line_px), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        block.setLeftMargin(QUOTE_INDENT_PX * self.quote_depth)
        block.setProperty(QUOTE_DEPTH, self.quote_depth)
        # The list format indents the first block of an item; later blocks of the item need the same indent.
        block.setIndent(0 if self._pending_item is not None else len(self._lists))
        if self._pending_item is not None and self._pending_item.style() != QTextListFormat.Style.ListDecimal:
            block.setProperty(BULLET_LEVEL, len(self._lists))
        self._put(block, self.text_format)
        if self._pending_item is not None:
            item = QTextListFormat(self._pending_item)
            if (current := self._cursor.currentList()) is not None:
                current.remove(self._cursor.block())
            self._add_to_list(item)
            self._pending_item = None
            self._opens_list = False
        else:
            self._leave_inherited_list(block)

    def continue_line(self, joint: str = "") -> None:
        """Mark the block as the rest of the line above, which was too long for one block. `joint` stood in between."""
        format_ = self._cursor.blockFormat()
        format_.setProperty(CONTINUES_LINE, joint)
        self._cursor.setBlockFormat(format_)

    def begin_paragraph(self, *, is_after_blank: bool) -> None:
        """Begin a paragraph; `is_after_blank` says whether the source has an empty line above it."""
        # Whether a list is loose is known only at its end, but the gap above an item must be known now.
        is_tight = bool(self._lists) and not is_after_blank
        tight_px = _LIST_GAP_PX if self._opens_list else TIGHT_GAP_PX
        self.begin(tight_px if is_tight or self._opens_list else BLOCK_GAP_PX)

    def begin_code(self) -> QTextCursor:
        """Begin a code frame; return the position of its first line, which is empty."""
        if self._pending_item is not None:
            # The item's bullet or number gets a line of its own.
            self.begin(TIGHT_GAP_PX)
        top_px = self.gap_px(BLOCK_GAP_PX)
        is_first = self.in_empty_block and self._cursor.position() == 0
        # Qt ignores the top margin of a document's first block; MarkdownDocument makes room above it.
        top_px = 0 if is_first else top_px
        block = line_format(FIRST_LINE, left_px=self.inset_px, top_px=top_px, quote_depth=self.quote_depth)
        self._put(block, self._formats.code())
        self._leave_inherited_list(block)
        start = QTextCursor(self._cursor)
        start.setKeepPositionOnInsert(True)
        return start

    def gap_px(self, px: int) -> int:
        """Return the gap to the block above: `px`, or more below a code frame, which extends below its last line."""
        is_after_code = not self.in_empty_block and self._cursor.blockFormat().hasProperty(CODE_LINE)
        return max(px, BLOCK_GAP_PX) + CODE_PADDING_PX if is_after_code else px

    def mirror_margins(self) -> None:
        """Move the margin for quote bars to the right if the block's text is right-to-left."""
        format_ = self._cursor.blockFormat()
        if self.quote_depth and self._cursor.block().textDirection() == Qt.LayoutDirection.RightToLeft:
            format_.setRightMargin(format_.leftMargin())
            format_.setLeftMargin(0)
            self._cursor.setBlockFormat(format_)

    def shrink_empty_block(self) -> None:
        """Make the empty block one pixel high: Qt needs a block before and after a table."""
        if self.in_empty_block:
            low = QTextBlockFormat()
            low.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            self._cursor.setBlockFormat(low)

    def _put(self, block: QTextBlockFormat, format_: QTextCharFormat) -> None:
        if self.in_empty_block:
            self._cursor.setBlockFormat(block)
            self._cursor.setBlockCharFormat(format_)
            self.in_empty_block = False
        else:
            self._cursor.insertBlock(block, format_)

    def _leave_inherited_list(self, block: QTextBlockFormat) -> None:
        """Remove the new block from the list of the item above, which it inherits."""
        if (inherited := self._cursor.currentList()) is not None:
            inherited.remove(self._cursor.block())
            self._cursor.setBlockFormat(block)

    def _add_to_list(self, format_: QTextListFormat) -> None:
        """Make each item a list of its own, so that its number is the one in the source."""
        self._cursor.createList(format_)
        self._lists[-1].setStart(format_.start() + 1)

    def _list_format(self, token: Token) -> QTextListFormat:
        next_number = self._next_numbers.pop(0) if self._next_numbers else 0
        format_ = QTextListFormat()
        if token.type == "ordered_list_open":
            format_.setStyle(QTextListFormat.Style.ListDecimal)
            format_.setStart(next_number or int(token.attrs.get("start", 1)))
        else:
            # TextOrnaments paints the bullets: Qt's own are too close to the text.
            format_.setStyle(QTextListFormat.Style.ListStyleUndefined)
            format_.setStart(1)
        format_.setIndent(len(self._lists) + 1)
        return format_
