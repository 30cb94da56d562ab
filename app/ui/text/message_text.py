"""The text of one message: as tall as its content, selectable, read by screen readers; it fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QWidget
from typing_extensions import override

from app.model.thoughts import Thought, may_become_thought, may_end_thought, split_thought
from app.model.token_pieces import TokenPiece
from app.numbers import counted
from app.ui.text.code_frames import Frames
from app.ui.text.document_text import copied_text, raw_place, source_place
from app.ui.text.link_popover import TextLinks
from app.ui.text.markdown_document import MarkdownDocument
from app.ui.text.text_painting import TextOrnaments, paint_caret, paint_cursor, paint_document
from app.ui.text.token_reader import TokenReader
from app.ui.theme import COLUMN_PX, LINE_PX, Theme, scaled

_MOST_CHARS = 200_000
"""Beyond them the layout takes seconds."""


@dataclass(frozen=True)
class ShownPart:
    """What is laid out of a text, and what must be known to lay out more of it."""

    text: str = ""
    """With a line below it that tells of the rest, where it is cut."""
    thought: Thought | None = None
    """What the model thought before it; it is no part of it."""
    is_cut: bool = False
    goes_on: bool = False
    """Whether what follows is appended to it, whatever it may be."""

    @property
    def start(self) -> int:
        """Where in the whole text it begins."""
        return 0 if self.thought is None else self.thought.answer_start

    @property
    def end(self) -> int:
        """Where it ends at the latest."""
        return self.start + _MOST_CHARS

    def appended(self, before: str, text: str) -> tuple[str, bool]:
        """Return what is laid out of `text`, which follows `before`, and whether it is cut.

        Where the part was cut already, that is the line below it that takes the last one's place.
        """
        room = self.end - len(before)
        if self.is_cut:
            return _rest(len(text) - room), True
        is_cut = len(text) > room
        return (f"{text[:room]}\n\n{_rest(len(text) - room)}" if is_cut else text), is_cut

    def may_be_other(self, whole: str, num_new: int) -> bool:
        """Whether the last characters may have made a thought of what stands before them."""
        return self.thought is None and may_end_thought(whole, num_new)


def part_as_written(whole: str) -> ShownPart:
    """Return what is laid out of a text that is shown as it was written."""
    text, is_cut = ShownPart().appended("", whole)
    return ShownPart(text, None, is_cut, goes_on=True)


def part_as_meant(whole: str, *, grows: bool) -> ShownPart:
    """Return what is laid out of an answer: not what was thought before it, nor what may yet become a thought."""
    thought = split_thought(whole)
    may_be_mark = may_become_thought(whole)
    part = ShownPart(thought=thought)
    shown = "" if may_be_mark and grows else whole[part.start :]
    text, is_cut = ShownPart().appended("", shown)
    return ShownPart(text, thought, is_cut, goes_on=not may_be_mark and (thought is None or bool(shown)))


def _rest(num_chars: int) -> str:
    words = QCoreApplication.translate(
        "MessageText", "… and {count} characters more. Copy and Export have the whole text."
    )
    return words.format(count=counted(num_chars))


class MessageText(QTextBrowser):
    """Shows Markdown, or plain text for what a person wrote."""

    token_chosen = Signal(int, int)
    """A token's index, and the id of the one that is to stand there."""
    tab_stops_changed = Signal()
    """There are more frames in it, or fewer."""
    key_pressed = Signal(QKeyEvent)
    """A key that is not for moving in or copying from the text."""

    def __init__(self, theme: Theme, *, is_markdown: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("message_text")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # There is a cursor in it, so that one can say where to go on.
        self.setTextInteractionFlags(self.textInteractionFlags() | Qt.TextInteractionFlag.TextSelectableByKeyboard)
        self.viewport().setAutoFillBackground(False)
        self._theme = theme
        self._is_markdown = is_markdown
        self._markdown = MarkdownDocument(self.document(), theme)
        self._frames = Frames(self.viewport(), theme)
        self.ornaments = TextOrnaments(self)
        self._content = ""
        self._has_caret = False
        self._is_raw = False
        self._part = ShownPart()
        self._is_fitting = False
        self._is_cursor_placed = False
        self.links = TextLinks(self)
        self._tokens: TokenReader | None = None
        # As wide as it will be in most windows, so that it is as high from the start as it will be.
        self.document().setTextWidth(COLUMN_PX)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        # What is wider than the page scrolls in its frame; the page never does.
        self.horizontalScrollBar().rangeChanged.connect(self._hold_still)
        self._fit()

    @property
    def content(self) -> str:
        """The text as it was written."""
        return self._content

    @property
    def frames(self) -> Frames:
        """What stands around its code and its tables."""
        return self._frames

    @property
    def thought(self) -> Thought | None:
        """What the model thought before the answer; it is no part of what is shown here."""
        return self._part.thought

    @property
    def shown_start(self) -> int:
        """Where in the content begins what is shown."""
        return self._part.start

    def set_text(self, text: str, *, is_raw: bool = False) -> None:
        """Show another text, as what is meant or as it was written; of a very long one its beginning."""
        self._content = text
        self._is_raw = is_raw
        self._show_content()

    def append(self, text: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Show more text at the end; what stands there is not laid out again."""
        part, before = self._part, self._content
        self._content += text
        if not part.goes_on or (self._is_meant and part.may_be_other(self._content, len(text))):
            self._show_content()
            return
        more, is_cut = part.appended(before, text)
        if part.is_cut:
            self._markdown.write_last_block(more)
        else:
            self._markdown.append(more)
        self._part = replace(part, is_cut=is_cut)
        self._fit()

    @property
    def source_place(self) -> int:
        """How many characters of the content stand before the cursor; 0 where nobody has put it anywhere."""
        if not self._is_cursor_placed:
            return 0
        if self._is_meant:
            return source_place(self.textCursor(), self._content, self.shown_start)
        return raw_place(self.textCursor(), self._content)

    def position_at(self, y: int, ancestor: QWidget) -> int:
        """Return the position in the document of the line `y` pixels below the top of an ancestor widget."""
        return self.cursorForPosition(self.viewport().mapFrom(ancestor, QPoint(1, y))).position()

    def y_of(self, position: int, ancestor: QWidget) -> int:
        """Return how far below the top of an ancestor widget the line with this position begins."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(position)
        return self.viewport().mapTo(ancestor, self.cursorRect(cursor).topLeft()).y()

    @property
    def tokens(self) -> TokenReader | None:
        """What shows the tokens; None while they are not shown."""
        return self._tokens

    def show_tokens(self, pieces: Sequence[TokenPiece] | None, *, can_fork: bool = False) -> None:
        """Tint these tokens, which are what is shown; None: tint none."""
        if pieces is not None:
            if self._tokens is None:
                self._tokens = TokenReader(self, self._theme)
                self._tokens.chosen.connect(self.token_chosen)
            self._tokens.show(self._content[: self._part.end], pieces, can_fork=can_fork)
        elif self._tokens is not None:
            self._tokens.end()
            self._tokens = None

    def show_more_tokens(self, pieces: Sequence[TokenPiece]) -> None:
        """Tint those that have come, too, where tokens are tinted; the first of them are shown already."""
        if self._tokens is not None:
            self._tokens.grow(self._content[: self._part.end], pieces)

    @property
    def is_raw(self) -> bool:
        """Whether the text is shown as it was written."""
        return self._is_raw

    @property
    def _is_meant(self) -> bool:
        return self._is_markdown and not self._is_raw

    def _show_content(self) -> None:
        self._is_cursor_placed = False
        whole = self._content
        part = self._part = part_as_meant(whole, grows=self._has_caret) if self._is_meant else part_as_written(whole)
        if self._is_meant:
            self._markdown.set_source(part.text)
        else:
            self._markdown.set_plain(part.text)
        self._describe()
        self._fit()

    def _describe(self) -> None:
        """Tell who reads the text aloud what the formulas are, which are pictures in it."""
        formulas = "; ".join(self._markdown.formulas)
        self.setAccessibleDescription(
            self.tr("With the formulas {formulas}").format(formulas=formulas) if formulas else ""
        )

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._markdown.set_theme(theme)
        self._frames.set_theme(theme)
        if self._tokens is not None:
            self._tokens.set_theme(theme)
        self._show_content()

    def set_caret(self, shown: bool) -> None:
        """Show a thin caret at the end: more is to come."""
        if shown != self._has_caret:
            self._has_caret = shown
            if not shown and self._part.goes_on:
                self._markdown.finish()
                self._describe()
            elif not shown:
                self._show_content()
            self.viewport().update()

    def _fit(self) -> None:
        if self._is_fitting:
            return
        self._is_fitting = True
        is_other = self._frames.show(self._markdown.spans, self._markdown.tables, self.viewport().width())
        # An answer that has no word yet is as high as its first line will be.
        height = max(scaled(LINE_PX), round(self.document().size().height() + 0.5), self._frames.bottom)
        if height != self.height():
            self.setFixedHeight(height)
        self._is_fitting = False
        if is_other:
            self.tab_stops_changed.emit()

    def _hold_still(self, _minimum: int, maximum: int) -> None:
        if maximum:
            self.horizontalScrollBar().setRange(0, 0)

    @override
    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.height())

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.height())

    @override
    def resizeEvent(self, e: QResizeEvent) -> None:
        super().resizeEvent(e)
        self._fit()

    @override
    def paintEvent(self, e: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        visible = e.rect()
        painter.setClipRegion(self._frames.paint(painter, visible))
        paint_document(painter, self, visible)
        painter.setClipRect(visible)
        self.ornaments.paint(painter, visible, self._theme)
        if self._tokens is not None:
            self._tokens.paint(painter, visible)
        if self.hasFocus() and self._is_cursor_placed and not self.textCursor().hasSelection():
            paint_cursor(painter, self, self._theme)
        if self._has_caret:
            paint_caret(painter, self, self._theme)
        painter.end()

    @override
    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(copied_text(self.textCursor()))
        return data

    @override
    def keyPressEvent(self, ev: QKeyEvent) -> None:
        is_plain = not ev.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
        if (is_plain and (ev.text().isprintable() and ev.text())) or ev.key() in {Qt.Key.Key_Escape, Qt.Key.Key_Delete}:
            self.key_pressed.emit(ev)
            return
        if ev.matches(QKeySequence.StandardKey.Copy) and not self.textCursor().hasSelection():
            self.key_pressed.emit(ev)
            return
        # Keys that would scroll belong to the page around: this text is never taller than itself.
        if ev.key() in {Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End} and is_plain:
            ev.ignore()
            return
        if ev.key() in {Qt.Key.Key_Up, Qt.Key.Key_Down} and not ev.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            ev.ignore()
            return
        self._is_cursor_placed = True
        super().keyPressEvent(ev)
        self.viewport().update()

    @override
    def setTextCursor(self, cursor: QTextCursor) -> None:
        self._is_cursor_placed = True
        super().setTextCursor(cursor)
        self._frames.reveal(cursor)

    @override
    def mousePressEvent(self, e: QMouseEvent) -> None:
        self._is_cursor_placed = True
        super().mousePressEvent(e)
        self.viewport().update()

    @override
    def wheelEvent(self, e: QWheelEvent) -> None:
        """Scroll a frame sideways; up and down is the page's."""
        e.setAccepted(self._frames.turn(e))

    @override
    def event(self, e: QEvent) -> bool:
        # Tab leaves a message for its actions instead of going from link to link.
        if e.type() == QEvent.Type.ShortcutOverride:
            e.ignore()
            return False
        return super().event(e)

    @override
    def loadResource(self, type: int, name: QUrl | str) -> Any:
        """Load nothing, from nowhere: an image in an answer must not read a file or tell a server that it is shown."""
        return None
