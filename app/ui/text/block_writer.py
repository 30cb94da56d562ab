"""Blocks at a cursor: how far in each stands and how far below the last, in lists and quotes; not what is in them."""

from __future__ import annotations

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor, QTextFormat, QTextListFormat

from app.ui.text.code_blocks import CODE_LINE, CODE_PADDING_PX, FIRST_LINE, line_format
from app.ui.text.text_formats import TextFormats
from app.ui.theme import LINE_PX, scaled

BLOCK_GAP_PX = 10
TIGHT_GAP_PX = 3
_LIST_GAP_PX = 8

QUOTE_DEPTH = QTextFormat.Property.UserProperty.value + 1
"""A block's property: how many quotes it stands in. Who paints the document draws their bars."""
BULLET_LEVEL = QUOTE_DEPTH + 1
"""A block's property: it begins with a bullet, in so many lists. Who paints the document draws it."""
QUOTE_INDENT_PX = 20
LIST_INDENT_PX = 28


class BlockWriter:
    """`is_fresh`: the cursor stands in an empty block that the next one may use."""

    def __init__(self, cursor: QTextCursor, formats: TextFormats, *, is_fresh: bool, next_number: int) -> None:
        """`next_number`: that of the first item, where it goes on with a list; 0: it goes on with none."""
        self.is_fresh = is_fresh
        self.quote_depth = 0
        self._cursor = cursor
        self._formats = formats
        self._next_number = next_number
        self._lists: list[QTextListFormat] = []
        self._pending_item: QTextListFormat | None = None
        """The item that the next block begins."""
        self._opens_list = False

    # --- what blocks stand in ------------------------------------------------------------------------------

    def open_list(self, token: Token) -> None:
        self._opens_list = not self._lists and not self._next_number
        self._lists.append(self._list_format(token))

    def close_list(self) -> None:
        self._lists.pop()

    def open_item(self) -> None:
        self._pending_item = self._lists[-1]

    def close_item(self) -> None:
        """Leave an item; where nothing stands in it, its mark does."""
        if self._pending_item is not None:
            self.begin(_LIST_GAP_PX if self._opens_list else TIGHT_GAP_PX)

    @property
    def begins_item(self) -> bool:
        """Whether the next block is the first one of an item."""
        return self._pending_item is not None

    @property
    def next_number(self) -> int:
        """The number of the next item of the outermost list that is open."""
        return self._lists[0].start() if self._lists else 0

    @property
    def inset_px(self) -> int:
        """How far in the text stands here."""
        return QUOTE_INDENT_PX * self.quote_depth + LIST_INDENT_PX * len(self._lists)

    @property
    def quote(self) -> tuple[int, int]:
        """A property that says how deep a block is quoted, and how deep it is here."""
        return QUOTE_DEPTH, self.quote_depth

    @property
    def look(self) -> QTextCharFormat:
        """That of plain words here."""
        return self._formats.text(is_quoted=bool(self.quote_depth))

    # --- blocks --------------------------------------------------------------------------------------------

    def begin(self, top_px: int, line_px: int = LINE_PX) -> None:
        """Begin a block of words."""
        block = QTextBlockFormat()
        is_first = self.is_fresh and self._cursor.position() == 0
        block.setTopMargin(0 if is_first else self.gap_px(top_px))
        block.setLineHeight(scaled(line_px), QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        block.setLeftMargin(QUOTE_INDENT_PX * self.quote_depth)
        block.setProperty(*self.quote)
        # A list's own format moves its items in; what follows within an item is moved as far.
        block.setIndent(0 if self._pending_item is not None else len(self._lists))
        if self._pending_item is not None and self._pending_item.style() != QTextListFormat.Style.ListDecimal:
            block.setProperty(BULLET_LEVEL, len(self._lists))
        self._put(block, self.look)
        if self._pending_item is not None:
            item = QTextListFormat(self._pending_item)
            if (own := self._cursor.currentList()) is not None:
                own.remove(self._cursor.block())
            self._add_to_list(item)
            self._pending_item = None
            self._opens_list = False
        else:
            self._leave_inherited_list(block)

    def begin_paragraph(self, *, is_after_blank: bool) -> None:
        """Begin one; `is_after_blank`: an empty line stands above it."""
        # Whether a list is a loose one is known at its end; how far an item stands from the one above, at once.
        is_tight = bool(self._lists) and not is_after_blank
        tight_px = _LIST_GAP_PX if self._opens_list else TIGHT_GAP_PX
        self.begin(tight_px if is_tight or self._opens_list else BLOCK_GAP_PX)

    def begin_code(self) -> QTextCursor:
        """Begin a frame of code; return where its first line is, which is still empty."""
        if self._pending_item is not None:
            # An item's mark stands on a line of its own.
            self.begin(TIGHT_GAP_PX)
        top_px = self.gap_px(BLOCK_GAP_PX)
        is_first = self.is_fresh and self._cursor.position() == 0
        # Above the first line of a document no margin counts; who shows it makes room there.
        block = line_format(FIRST_LINE, left_px=self.inset_px, top_px=0 if is_first else top_px, quote=self.quote)
        self._put(block, self._formats.code())
        self._leave_inherited_list(block)
        start = QTextCursor(self._cursor)
        start.setKeepPositionOnInsert(True)
        return start

    def gap_px(self, px: int) -> int:
        """The distance to what stands above: a frame of code reaches below its last line."""
        is_after_code = not self.is_fresh and self._cursor.blockFormat().hasProperty(CODE_LINE)
        return max(px, BLOCK_GAP_PX) + CODE_PADDING_PX if is_after_code else px

    def mirror_margins(self) -> None:
        """Text from right to left has its quotes' bars at the right."""
        format_ = self._cursor.blockFormat()
        if self.quote_depth and self._cursor.block().textDirection() == Qt.LayoutDirection.RightToLeft:
            format_.setRightMargin(format_.leftMargin())
            format_.setLeftMargin(0)
            self._cursor.setBlockFormat(format_)

    def leave_fresh_block(self) -> None:
        """A frame needs a block before it; an empty one there is made as low as can be."""
        if self.is_fresh:
            low = QTextBlockFormat()
            low.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            self._cursor.setBlockFormat(low)

    def _put(self, block: QTextBlockFormat, look: QTextCharFormat) -> None:
        if self.is_fresh:
            self._cursor.setBlockFormat(block)
            self._cursor.setBlockCharFormat(look)
            self.is_fresh = False
        else:
            self._cursor.insertBlock(block, look)

    def _leave_inherited_list(self, block: QTextBlockFormat) -> None:
        """A block that follows an item is one, too, unless it is told that it is none."""
        if (inherited := self._cursor.currentList()) is not None:
            inherited.remove(self._cursor.block())
            self._cursor.setBlockFormat(block)

    def _add_to_list(self, format_: QTextListFormat) -> None:
        """Each item is a list of its own: Qt numbers it from where the source says."""
        self._cursor.createList(format_)
        self._lists[-1].setStart(format_.start() + 1)

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
