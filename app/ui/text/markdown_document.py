"""A text document that shows growing Markdown; only its last block is written again. Independent of widgets."""

from __future__ import annotations

import bisect
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any

from markdown_it.token import Token
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCursor, QTextDocument, QTextFormat, QTextTable

from app.model.markdown_parser import definitions, parsed
from app.ui.text.block_writer import LIST_INDENT_PX
from app.ui.text.code_blocks import CODE_LINE, UNSAFE_CHARS, CodeHighlighter, CodeSpan, head_px, highlight_now
from app.ui.text.containers import division, parsed_inside
from app.ui.text.formulas import FORMULA, FormulaObject, PlacedFormula, fit_formula, formulas, text_format_at
from app.ui.text.growing_blocks import (
    GrowingCode,
    GrowingTable,
    LastBlock,
    block_split,
    last_block,
    open_table,
    opening_fence,
    paragraph_split,
)
from app.ui.text.inline_writer import breakable
from app.ui.text.markdown_writer import SHORT_CODE, Lines, MarkdownWriter, language_of
from app.ui.text.slices import (
    FIRST_LIMITS,
    FIRST_SLICE,
    MAX_BLOCK_CHARS,
    MAX_CELLS,
    MAX_FORMATTED_COST,
    MAX_FORMULAS,
    MAX_FRAMES,
    MAX_FRAMES_AT_ONCE,
    MAX_LINE_CHARS,
    MAX_TURNS,
    next_slice,
    num_turns,
)
from app.ui.text.text_formats import TextFormats
from app.ui.theme import Theme, text_font

_WORK_S = 0.010
"""The time for writing in one turn of the event loop, in seconds."""
_FIRST_S = 0.015
"""The processor time for writing the beginning of a text at once, in seconds. Ordinary texts take less."""
_REST = 4
"""Work that may be repeated on the same blocks pauses for this many times as long as it took."""
_SHORT_S = 0.012
"""The last block is written again with each token if writing it takes less time than this, in seconds."""


class _Spent(QObject):
    """The time that was spent on long texts in this turn of the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self._spent_s = 0.0
        self._next_turn = QTimer(self, interval=0, singleShot=True)
        self._next_turn.timeout.connect(self._begin_turn)

    @property
    def is_next_free(self) -> bool:
        """Whether there is time for another text in this turn."""
        return self._spent_s < _WORK_S

    def spend(self, seconds: float) -> None:
        self._spent_s += seconds
        if not self._next_turn.isActive():
            self._next_turn.start()

    def _begin_turn(self) -> None:
        self._spent_s = 0.0


@lru_cache(maxsize=1)
def _spent() -> _Spent:
    """Return the `_Spent` that all messages of the program share."""
    return _Spent()


@dataclass(frozen=True)
class _FinalPart:
    """The part at the beginning of the text and of the document that further text can't change."""

    source: int = 0
    """The end of the final part in the source."""
    position: int = 0
    """The end of the final part in the document."""
    in_empty_block: bool = True
    """Whether the final part ends with an empty block that the next block may use."""
    joint: str | None = None
    """If the final part ends inside a paragraph, what stands between it and the rest: a space or nothing."""
    next_numbers: tuple[int, ...] = ()
    """The numbers of the next items of the lists that are open at its end, the outermost list first."""
    containers: str = ""
    """Lines that open the lists and quotes around its end; "" if a new block or list item begins there."""
    last_line: str = ""
    block_format: QTextBlockFormat = field(default_factory=QTextBlockFormat)
    num_spans: int = 0
    num_tables: int = 0


class MarkdownDocument(QObject):
    """Shows Markdown in a `QTextDocument`.

    The cost of appending text depends only on the length of the last block, or of the last line in an open code fence.
    Long texts are written in slices: the beginning at once, the rest while the event loop is idle.
    """

    grown = Signal()
    """A slice was written."""
    completed = Signal()
    """The last slice was written."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        # The document is the parent, so that the work ends with the document.
        super().__init__(document)
        self.document = document
        document.setUndoRedoEnabled(False)
        document.setDocumentMargin(0)
        document.setIndentWidth(LIST_INDENT_PX)
        document.setDefaultFont(text_font())
        self._theme = theme
        self._source = ""
        self._is_plain = False
        self._references: dict[str, Any] = {}
        self._final = _FinalPart()
        self._growing: GrowingCode | GrowingTable | None = None
        self.highlighter = CodeHighlighter(document, theme)
        self.spans: list[CodeSpan] = []
        """The code frames from top to bottom."""
        self.tables: list[QTextTable] = []
        self._formulas: list[PlacedFormula] = []
        self.is_writing = False
        """Whether a slice is being written. `grown` is emitted afterwards."""
        self._changed_from: int | None = None
        document.contentsChange.connect(self._note_change)
        self._waiting = ""
        """The rest of the text, which has not been written yet."""
        self._limits = FIRST_LIMITS
        self._cost = 0
        """The cost of the text written so far, the sum of the costs from `next_slice`."""
        self._is_as_written = False
        """Whether the rest of the text is shown as its source, because there is too much to format."""
        self._rests_until = 0.0
        """The time until which formulas are not fitted and the last block of a stream is not written again."""
        self._is_paused = False
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._work)
        handler = FormulaObject(document)
        handler.rendered.connect(self._work)
        document.documentLayout().registerHandler(FORMULA, handler)

    @property
    def source(self) -> str:
        return self._source

    @property
    def formulas(self) -> list[str]:
        """The Markdown sources of the formulas in the document."""
        return [placed.source for placed in self._formulas]

    @property
    def placed_formulas(self) -> Sequence[PlacedFormula]:
        """The formulas in the document, in its order."""
        return self._formulas

    def num_formulas(self, start: int, end: int) -> int:
        """Return the number of formulas between two positions in the document."""
        first, last = (bisect.bisect_left(self._formulas, at, key=attrgetter("position")) for at in (start, end))
        return last - first

    @property
    def is_complete(self) -> bool:
        """Whether all of the text that should be shown has been written."""
        return not self._waiting or self._is_full

    @property
    def num_hidden(self) -> int:
        """The number of characters that are hidden; `show_more` shows some or all of them."""
        return len(self._waiting) if self._is_full else 0

    @property
    def is_as_written(self) -> bool:
        """Whether the end of the text is shown as its source, because there is too much to format."""
        return self._is_as_written

    def show_more(self) -> None:
        """Show more of a very long text, as its source."""
        self._limits = self._limits.raised
        self._start_work()

    def set_source(self, source: str, *, at_once: bool = True) -> None:
        """Show a new text.

        Its beginning is shown at once, unless `at_once` is False or the beginnings of other long texts were already
        shown in this turn of the event loop.
        """
        self._begin(is_plain=False)
        self._waiting = source
        if len(source) > FIRST_SLICE:
            # A definition may follow its uses.
            self._references = definitions(source)
        self._show_beginning(at_once=at_once)

    def set_plain(self, text: str, *, at_once: bool = True) -> None:
        """Show a new text as plain text."""
        self._begin(is_plain=True)
        self._waiting = text
        self._show_beginning(at_once=at_once)

    def _show_beginning(self, *, at_once: bool) -> None:
        is_long = len(self._waiting) > FIRST_SLICE
        if is_long and not (at_once and _spent().is_next_free):
            self._start_work()
            return
        began = time.thread_time()
        self._write_first()
        if is_long:
            _spent().spend(time.thread_time() - began)

    def append(self, text: str) -> None:
        """Append source text."""
        is_busy = bool(self._waiting) or self._is_paused
        self._waiting += text
        if is_busy:
            return
        if time.monotonic() < self._rests_until:
            self._timer.start(self._rest_ms)
            return
        began = time.thread_time()
        self._write_first()
        if (took := time.thread_time() - began) > _SHORT_S:
            self._rests_until = time.monotonic() + _REST * took

    def pause(self) -> None:
        """Stop writing appended text, pictures and colours until `resume`."""
        self._is_paused = True
        self._timer.stop()
        self.highlighter.pause()

    def resume(self) -> None:
        self._is_paused = False
        self._start_work()
        self.highlighter.resume()

    def _begin(self, *, is_plain: bool) -> None:
        """Empty the document."""
        self._source = self._waiting = ""
        self._is_plain = is_plain
        self._is_as_written = False
        self._limits = FIRST_LIMITS
        self._cost = 0
        self._references = {}
        self._final = _FinalPart()
        self._growing = None
        self._write_tail()

    def _write_first(self) -> None:
        """Write the beginning of the unwritten text; the rest follows in slices."""
        room = FIRST_SLICE
        most = self._num_frames + MAX_FRAMES_AT_ONCE
        end = time.thread_time() + _FIRST_S
        while not self.is_complete and room > 0 and self._num_frames < most and time.thread_time() < end:
            room -= self._write_slice()
        self._start_work()

    def _write_slice(self) -> int:
        """Write the next slice; return its cost."""
        length, cost = next_slice(self._waiting)
        text, self._waiting = self._waiting[:length], self._waiting[length:]
        self._cost += cost
        begins = not self._is_plain and not self._is_as_written and self._is_too_much
        if begins:
            self._is_as_written = True
            self._growing = None
        if self._is_plain or self._is_as_written:
            self._source += text
            self._append_plain(text, begins=begins)
        else:
            self._append_source(text)
        return cost

    @property
    def _is_full(self) -> bool:
        """Whether the document is so long that the user must ask for more of the text."""
        return len(self._source) >= self._limits.chars or self.document.blockCount() >= self._limits.blocks

    @property
    def _is_too_much(self) -> bool:
        """Whether the document has reached the limits for formatted text."""
        is_too_costly = self._cost > MAX_FORMATTED_COST or self._num_frames > MAX_FRAMES
        if isinstance(self._growing, GrowingCode):
            # More lines of code cost little, but a line is laid out as a whole.
            return self._num_frames > MAX_FRAMES or self._growing.num_unfinished > MAX_LINE_CHARS
        num_cells = sum(table.rows() * table.columns() for table in self.tables)
        return is_too_costly or num_cells > MAX_CELLS or len(self._formulas) > MAX_FORMULAS

    @property
    def _num_frames(self) -> int:
        return len(self.spans) + len(self.tables)

    def take_changed_from(self) -> int:
        """Return the first position that changed since the last call, or the end of the document if nothing changed."""
        changed, self._changed_from = self._changed_from, None
        return self.document.characterCount() if changed is None else changed

    def _note_change(self, position: int, _removed: int, _added: int) -> None:
        self._changed_from = position if self._changed_from is None else min(position, self._changed_from)

    def _start_work(self) -> None:
        if self._timer.isActive() or self._is_paused:
            return
        if not self.is_complete:
            self._timer.start(0)
        elif any(self._is_to_fit(placed) for placed in self._formulas):
            self._timer.start(self._rest_ms)

    @property
    def _rest_ms(self) -> int:
        return max(0, math.ceil((self._rests_until - time.monotonic()) * 1000))

    def _work(self) -> None:
        """Write slices, or reserve the size of rendered formulas, for `_WORK_S`."""
        if self._is_paused:
            return
        if not _spent().is_next_free:
            # Another text is being written in this turn.
            self._timer.start(0)
            return
        began, began_cpu = time.monotonic(), time.thread_time()
        end = began + _WORK_S
        was_complete = self.is_complete
        self.is_writing = True
        most = self._num_frames + MAX_FRAMES_AT_ONCE
        while not self.is_complete and time.monotonic() < end and self._num_frames < most:
            self._write_slice()
        num_fitted = self._fit_formulas(end) if began >= self._rests_until else 0
        self.is_writing = False
        if num_fitted or not was_complete:
            self.grown.emit()
            if self.is_complete and not was_complete:
                self.completed.emit()
        if num_fitted:
            ended = time.monotonic()
            self._rests_until = ended + _REST * (ended - began)
        self._timer.stop()
        self._start_work()
        _spent().spend(time.thread_time() - began_cpu)

    def _append_source(self, text: str) -> None:
        if self._source.endswith("\r"):
            # The CR may be the first half of a CRLF.
            self._source, text = self._source[:-1], f"\r{text}"
        text = _normalized(text, is_whole=False)
        self._source += text
        match self._growing:
            case GrowingCode() as code:
                self._grow_code(code, text)
            case GrowingTable() as table:
                self._grow_table(table, text)
            case None:
                self._write_tail()

    def finish(self) -> None:
        """End the stream. If a code fence is still open, highlight its code as a whole."""
        if isinstance(self._growing, GrowingCode):
            self._highlight(self._growing.span)

    def _append_plain(self, text: str, *, begins: bool = False) -> None:
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        writer = MarkdownWriter(cursor, self._theme, in_empty_block=not cursor.position())
        if begins:
            writer.begin_plain()
        elif _is_long(cursor.block()) and not text.startswith("\n"):
            writer.continue_line()
        writer.write_plain(text)
        cursor.endEditBlock()

    def set_theme(self, theme: Theme) -> None:
        """Use other colours for text that is written from now on."""
        self._theme = theme
        self.document.setDefaultFont(text_font())
        self.highlighter.set_theme(theme)

    # --- writing -------------------------------------------------------------------------------------------

    def _write_tail(self) -> None:
        tail = self._source[self._final.source :]
        # A link definition at the end may still grow, so definitions in the tail apply to the tail only.
        tokens = parsed_inside(self._final.containers, tail, self._parse)
        last = last_block(tail, tokens)
        cursor = self._clear_tail()
        writer = MarkdownWriter(
            cursor,
            self._theme,
            in_empty_block=self._final.in_empty_block,
            source=Lines(tail.split("\n"), self._final.last_line),
            next_numbers=self._final.next_numbers,
        )
        writer.joint = self._final.joint
        writer.write(last.above)
        fence = opening_fence(last.source) if last.tokens and last.tokens[0].type == "fence" else None
        if fence is not None or last.is_above_final:
            parsed(last.above_source, self._references)
            self._set_final(len(self._source) - len(last.source), cursor, writer)
        code = None
        if fence is not None:
            span = writer.begin_code(language_of(last.tokens[0]))
            code = self._growing = GrowingCode(span, self._theme, fence.marker)
        else:
            writer.write(self._write_beginning(writer, last) if last.is_long else last.tokens)
            if (rows := open_table(last)) is not None:
                # The text above the table may define links.
                parsed(last.above_source, self._references)
                self._set_final(len(self._source) - len(rows.unfinished), cursor, writer)
                self._growing = GrowingTable(writer.tables[-1], rows.head, rows.unfinished, self._theme, self._parse)
            writer.end()
        cursor.endEditBlock()
        self._collect(writer)
        if fence is not None and code is not None:
            self._grow_code(code, fence.code)

    def _write_beginning(self, writer: MarkdownWriter, last: LastBlock) -> list[Token]:
        """Write most of a very long last block as final. Return the rest, which continues the block without a gap."""
        if not last.is_paragraph:
            found = division(self._final.containers, last.source, last.tokens, self._parse)
            if found is not None:
                writer.write(last.tokens[: found.token])
                source = len(self._source) - len(last.source) + found.source
                self._set_final(source, writer.cursor, writer, found.containers)
                return last.tokens[found.token :]
        split = paragraph_split(last.source) if last.is_paragraph else block_split(last.source)
        writer.write(self._parse(last.source[:split]))
        self._set_final(len(self._source) - len(last.source) + split, writer.cursor, writer)
        if last.is_paragraph:
            writer.joint = " " if last.source[split - 1].isspace() else ""
        self._final = replace(self._final, joint=writer.joint)
        return self._parse(last.source[split:])

    def _clear_tail(self) -> QTextCursor:
        """Begin an edit block and remove everything after the final part; return a cursor at its end."""
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        cursor.setPosition(self._final.position)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        # Removing text leaves an empty block with the format of the removed block.
        if cursor.blockFormat() != self._final.block_format:
            cursor.setBlockFormat(self._final.block_format)
        del self.spans[self._final.num_spans :]
        del self.tables[self._final.num_tables :]
        self._drop_formulas(self._final.position)
        return cursor

    def _set_final(self, source: int, cursor: QTextCursor, writer: MarkdownWriter | None, containers: str = "") -> None:
        """Make everything before the cursor final; `source` is its end in the source.

        `writer` holds what was written since the last `_collect`; None means nothing.
        """
        self._final = _FinalPart(
            source=source,
            position=cursor.position(),
            in_empty_block=writer is not None and writer.in_empty_block,
            next_numbers=() if writer is None else writer.next_numbers,
            last_line=self._source[:source].removesuffix("\n").rpartition("\n")[2],
            containers=containers,
            block_format=cursor.blockFormat(),
            num_spans=len(self.spans) + (0 if writer is None else len(writer.spans)),
            num_tables=len(self.tables) + (0 if writer is None else len(writer.tables)),
        )

    def _collect(self, writer: MarkdownWriter) -> None:
        self.spans += writer.spans
        self.tables += writer.tables
        self._formulas += writer.formulas
        self.highlighter.keep_only(self.spans)
        for span in writer.long_spans:
            self.highlighter.add(span)
        self._make_room_above()

    def _grow_code(self, growing: GrowingCode, text: str) -> None:
        """Append text to an open fence; once it is closed, write the text after it as Markdown."""
        rest = growing.append(text)
        if rest is None:
            return
        self._growing = None
        self._highlight(growing.span)
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._set_final(len(self._source) - len(rest), cursor, None)
        if rest:
            self._write_tail()

    def _parse(self, text: str) -> list[Token]:
        return parsed(text, dict(self._references))

    def _grow_table(self, growing: GrowingTable, text: str) -> None:
        """Append text to a table; once it has ended, write the text after it as Markdown."""
        cursor = QTextCursor(self.document)
        cursor.beginEditBlock()
        self._drop_formulas(growing.stable_end)
        rest = growing.append(text)
        self._formulas += growing.formulas
        source = len(self._source) - len(growing.pending if rest is None else rest)
        self.tables += growing.continuations
        position, num_tables = growing.table.lastPosition() + 1, len(self.tables)
        self._final = replace(self._final, source=source, position=position, num_tables=num_tables)
        cursor.endEditBlock()
        if rest is not None:
            self._growing = None
            self._write_tail()

    def _highlight(self, span: CodeSpan) -> None:
        """Highlight complete code again: later lines may have changed the meaning of earlier ones."""
        if len(span.code) > SHORT_CODE:
            self.highlighter.add(span)
        else:
            highlight_now(span, self._theme)

    # --- formulas ------------------------------------------------------------------------------------------

    def _drop_formulas(self, position: int) -> None:
        """Remove the formulas from a position on from the list of formulas."""
        del self._formulas[bisect.bisect_left(self._formulas, position, key=attrgetter("position")) :]

    @staticmethod
    def _is_to_fit(placed: PlacedFormula) -> bool:
        return not placed.is_fitted and formulas().is_known(placed.key)

    def _fit_formulas(self, end: float) -> int:
        """Reserve the size of formulas that have been rendered, paragraph by paragraph, until the time `end`.

        Return the number of formulas that were fitted.
        """
        waiting = deque(placed for placed in self._formulas if self._is_to_fit(placed))
        num_waiting = len(waiting)
        while waiting and time.monotonic() < end:
            paragraph = self.document.findBlock(waiting[0].position)
            below = paragraph.position() + paragraph.length()
            cursor = QTextCursor(self.document)
            cursor.beginEditBlock()
            while waiting and waiting[0].position < below:
                placed = waiting.popleft()
                if formulas().is_invalid(placed.key):
                    below += self._show_source(cursor, placed)
                else:
                    fit_formula(cursor, placed)
            cursor.endEditBlock()
        return num_waiting - len(waiting)

    def _show_source(self, cursor: QTextCursor, placed: PlacedFormula) -> int:
        """Replace a formula that can't be rendered by its source. Return the growth of the text in UTF-16 units."""
        format_ = text_format_at(cursor, placed)
        source = placed.source
        cursor.insertText(breakable(source).translate(UNSAFE_CHARS), TextFormats(self._theme).code_inline(format_))
        if cursor.blockFormat().alignment() == Qt.AlignmentFlag.AlignHCenter and cursor.currentTable() is None:
            block = cursor.blockFormat()
            block.clearProperty(QTextFormat.Property.BlockAlignment.value)
            cursor.setBlockFormat(block)
        delta = cursor.position() - placed.position - 1
        index = bisect.bisect_left(self._formulas, placed.position, key=attrgetter("position"))
        del self._formulas[index]
        for below in self._formulas[index:]:
            below.position += delta
        if placed.position < self._final.position:
            self._final = replace(self._final, position=self._final.position + delta)
        if isinstance(self._growing, GrowingCode):
            self._growing.move(delta)
        return delta

    def _make_room_above(self) -> None:
        """Add a margin for the header of a code frame at the top, where Qt ignores the block's own margin."""
        is_code = self.document.begin().blockFormat().hasProperty(CODE_LINE)
        frame = self.document.rootFrame()
        format_ = frame.frameFormat()
        room_px = head_px() if is_code else 0
        if format_.topMargin() != room_px:
            format_.setTopMargin(room_px)
            frame.setFrameFormat(format_)


def _is_long(block: QTextBlock) -> bool:
    """Return whether a line of plain text is to be continued in another block."""
    return block.length() > MAX_BLOCK_CHARS or num_turns(block.text()) > MAX_TURNS


def _normalized(text: str, *, is_whole: bool = True) -> str:
    """Return a text with the line ends that the parser uses.

    Unless `is_whole`, a CR at the end is kept, because an LF may follow.
    """
    if "\r" not in text and "\0" not in text:
        return text
    text = text.replace("\0", "\ufffd").replace("\r\n", "\n")
    if not is_whole and text.endswith("\r"):
        return text[:-1].replace("\r", "\n") + "\r"
    return text.replace("\r", "\n")
