"""The text of one message: as tall as its content, selectable, read by screen readers; it fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRectF, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QCursor,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QWidget
from typing_extensions import override

from app.model.thoughts import Thought, may_become_thought, may_end_thought, split_thought
from app.model.token_pieces import TokenPiece
from app.ui.copied_text import copied_text
from app.ui.frames import Frames
from app.ui.link_popover import LinkPopover, links_in
from app.ui.markdown_document import MarkdownDocument
from app.ui.source_place import raw_place, source_place
from app.ui.text_ornaments import TextOrnaments
from app.ui.theme import COLUMN_PX, LINE_PX, Theme, scaled
from app.ui.token_reader import TokenReader

_CARET_PX = 2
_MOST_SHOWN = 200_000
"""Characters that are laid out; beyond them the layout takes seconds."""


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
        self.setOpenLinks(False)
        # There is a cursor in it, so that one can say where to go on.
        self.setTextInteractionFlags(self.textInteractionFlags() | Qt.TextInteractionFlag.TextSelectableByKeyboard)
        self.anchorClicked.connect(self._ask_about_link)
        self.viewport().setAutoFillBackground(False)
        self._theme = theme
        self._is_markdown = is_markdown
        self._markdown = MarkdownDocument(self.document(), theme)
        self._frames = Frames(self.viewport(), theme)
        self.ornaments = TextOrnaments(self)
        self._content = ""
        self._has_caret = False
        self._is_raw = False
        self._thought: Thought | None = None
        self._begins_certainly = False
        self._is_cut = False
        """Whether only the beginning is shown, and how much more there is."""
        self._is_fitting = False
        self._is_cursor_placed = False
        self._link_number = -1
        self.link_popover: LinkPopover | None = None
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
        return self._thought

    @property
    def shown_start(self) -> int:
        """Where in the content begins what is shown."""
        return 0 if self._thought is None else self._thought.answer_start

    def set_text(self, text: str, *, is_raw: bool = False) -> None:
        """Show another text, as what is meant or as it was written; of a very long one its beginning."""
        self._content = text
        self._is_raw = is_raw
        self._show_content()

    def append(self, text: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Show more text at the end; what stands there is not laid out again."""
        room = _MOST_SHOWN - (len(self._content) - self.shown_start)
        self._content += text
        is_other = self._is_meant and self._thought is None and may_end_thought(self._content, len(text))
        if not self._begins_certainly or is_other:
            self._show_content()
        elif self._is_cut:
            self._markdown.write_last_block(_more(len(text) - room).strip())
        else:
            self._is_cut = len(text) > room
            self._markdown.append(text[:room] + (_more(len(text) - room) if self._is_cut else ""))
        self._fit()

    @property
    def source_place(self) -> int:
        """How many characters of the content stand before the cursor; 0 where nobody has put it anywhere."""
        if not self._is_cursor_placed:
            return 0
        if self._is_meant:
            return source_place(self.textCursor(), self._content, self.shown_start)
        return raw_place(self.textCursor(), self._content)

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
            self._tokens.show(self._content, pieces, can_fork=can_fork)
        elif self._tokens is not None:
            self._tokens.close()
            self._tokens.deleteLater()
            self._tokens = None
            self.viewport().update()

    def show_more_tokens(self, pieces: Sequence[TokenPiece]) -> None:
        """Tint those that have come, too, where tokens are tinted; the first of them are shown already."""
        if self._tokens is not None:
            self._tokens.grow(self._content, pieces)

    @property
    def is_raw(self) -> bool:
        """Whether the text is shown as it was written."""
        return self._is_raw

    @property
    def _is_meant(self) -> bool:
        return self._is_markdown and not self._is_raw

    def _show_content(self) -> None:
        self._is_cursor_placed = False
        self._thought = split_thought(self._content) if self._is_meant else None
        shown = self._content[self.shown_start :]
        may_be_mark = self._is_meant and may_become_thought(self._content)
        self._begins_certainly = not may_be_mark and (self._thought is None or bool(shown))
        if may_be_mark and self._has_caret:
            # It is not shown before it is known.
            shown = ""
        self._is_cut = len(shown) > _MOST_SHOWN
        if self._is_cut:
            shown = f"{shown[:_MOST_SHOWN]}{_more(len(shown) - _MOST_SHOWN)}"
        if self._is_meant:
            self._markdown.set_source(shown)
        else:
            self._markdown.set_plain(shown)
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
            if not shown and self._begins_certainly:
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
        context = QAbstractTextDocumentLayout.PaintContext()
        context.palette = self.palette()
        context.clip = QRectF(visible)
        context.cursorPosition = -1
        selections = [_painted(lit.cursor, lit.format) for lit in self.extraSelections()]  # pyright: ignore[reportAttributeAccessIssue]
        if self.textCursor().hasSelection():
            selections.append(self._selection())
        context.selections = selections
        self.document().documentLayout().draw(painter, context)
        painter.setClipRect(visible)
        self.ornaments.paint(painter, visible, self._theme)
        if self._tokens is not None:
            self._tokens.paint(painter, visible)
        if self.hasFocus() and self._is_cursor_placed and not self.textCursor().hasSelection():
            place = self.cursorRect()
            painter.fillRect(place.left(), place.top() + 2, 1, place.height() - 4, QColor(self._theme.text))
        if self._has_caret:
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            if cursor.block().length() == 1 and cursor.position() > 0:
                # Below a frame; what grows is its end.
                cursor.setPosition(cursor.position() - 1)
            place = self.cursorRect(cursor)
            painter.fillRect(place.left() + 1, place.top() + 3, _CARET_PX, 16, QColor(self._theme.accent))
        painter.end()

    def _selection(self) -> QAbstractTextDocumentLayout.Selection:
        look = QTextCharFormat()
        look.setBackground(self.palette().brush(QPalette.ColorRole.Highlight))
        look.setForeground(self.palette().brush(QPalette.ColorRole.HighlightedText))
        return _painted(self.textCursor(), look)

    @override
    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(copied_text(self.textCursor()))
        return data

    @override
    def keyPressEvent(self, ev: QKeyEvent) -> None:
        if self._tokens is not None and self._tokens.take_key(ev):
            return
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

    def walk_links(self) -> bool:
        """Show where the next link leads, the first one after the last; return whether there is any."""
        links = links_in(self.document())
        if not links:
            return False
        self._link_number = (self._link_number + 1) % len(links)
        link = links[self._link_number]
        cursor = QTextCursor(self.document())
        cursor.setPosition(link.start)
        cursor.setPosition(link.end, QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)
        self._show_link(QUrl(link.address), self.viewport().mapToGlobal(self.cursorRect(cursor).bottomLeft()))
        return True

    def _ask_about_link(self, url: QUrl) -> None:
        self._show_link(url, QCursor.pos() + QPoint(0, 12))

    def _show_link(self, url: QUrl, place: QPoint) -> None:
        self.link_popover = LinkPopover(url, self)
        self.link_popover.show_at(place)

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
    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        super().mouseMoveEvent(ev)
        if self._tokens is not None:
            self._tokens.hover(ev.position().toPoint())

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        if self._tokens is not None:
            self._tokens.leave()

    @override
    def focusOutEvent(self, ev: QFocusEvent) -> None:
        super().focusOutEvent(ev)
        if self._tokens is not None:
            self._tokens.close()

    @override
    def wheelEvent(self, e: QWheelEvent) -> None:
        """Scroll a frame sideways; up and down is the page's."""
        turned = e.pixelDelta() if not e.pixelDelta().isNull() else e.angleDelta() / 3
        frame = self._frames.at(e.position().toPoint())
        if frame is None or frame.bar is None or abs(turned.x()) <= abs(turned.y()):
            e.ignore()
            return
        frame.bar.setValue(frame.bar.value() - turned.x())
        e.accept()

    @override
    def event(self, e: QEvent) -> bool:
        # Tab leaves a message for its actions instead of going from link to link.
        if e.type() == QEvent.Type.ShortcutOverride:
            is_ours = isinstance(e, QKeyEvent) and e.key() == Qt.Key.Key_Escape
            if is_ours and self._tokens is not None and self._tokens.current is not None:
                e.accept()
                return True
            e.ignore()
            return False
        return super().event(e)

    @override
    def loadResource(self, type: int, name: QUrl | str) -> Any:
        """Load nothing, from nowhere: an image in an answer must not read a file or tell a server that it is shown."""
        return None


def _painted(cursor: QTextCursor, look: QTextCharFormat) -> QAbstractTextDocumentLayout.Selection:
    selection = QAbstractTextDocumentLayout.Selection()
    selection.cursor = cursor
    selection.format = look
    return selection


def _more(num_chars: int) -> str:
    return f"\n\n… and {num_chars:,} characters more. Copy and Export have the whole text."
