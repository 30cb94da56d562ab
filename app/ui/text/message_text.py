"""The widget for the text of one message: as tall as its content, selectable, accessible. It loads no resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, QSize, QSizeF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
    QTextCursor,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QTextBrowser, QWidget
from typing_extensions import override

from app.model.json_text import may_become_json
from app.model.message import ThoughtMarks
from app.model.thoughts import Thought, may_become_thought, may_end_thought, split_thought
from app.model.token_pieces import TokenPiece
from app.numbers import counted
from app.ui.parts.buttons import LinesButton
from app.ui.parts.labels import beginning, quiet_label
from app.ui.text.code_frames import Frames
from app.ui.text.document_text import copied_text, raw_position, source_position
from app.ui.text.layout_ahead import LayoutAhead
from app.ui.text.link_popover import TextLinks
from app.ui.text.markdown_document import MarkdownDocument
from app.ui.text.shown_json import ShownJson, shown_json
from app.ui.text.text_painting import TextOrnaments, paint_caret, paint_cursor, paint_document, part_to_paint
from app.ui.text.token_reader import TokenReader
from app.ui.theme import COLUMN_PX, LINE_PX, Theme, scaled

_MORE_GAP_PX = 6
_MANY_BLOCKS, _MANY_FRAMES, _MANY_CHARS = 200, 20, 20_000
"""A text is long if it has more blocks (paragraphs, lines of code and the like), frames or characters than this."""
_MAX_DESCRIBED = 200
"""The maximum number of formulas in the description of a message for screen readers."""
_LEAVING_REASONS = {
    Qt.FocusReason.MouseFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
    Qt.FocusReason.OtherFocusReason,
}
"""Reasons for a focus change that really leaves the message, not for its buttons, a menu or another window."""
_MAX_HEIGHT_PX = 10_000_000
"""The maximum height of the widget. Qt's limit for widgets is 16,777,215 pixels."""


@dataclass(frozen=True)
class VisibleText:
    """The part of a message's text that is shown, without the thought before the answer."""

    text: str = ""
    thought: Thought | None = None
    """The model's thought before the answer."""
    can_append: bool = False
    """Whether further text can be appended without another look at the whole text."""
    marks: ThoughtMarks | None = None
    """The marks that the model puts around a thought; None means the usual ones."""

    @property
    def start(self) -> int:
        """The position of the visible part in the whole text."""
        return 0 if self.thought is None else self.thought.answer_start

    def may_end_thought(self, whole: str, num_new: int) -> bool:
        """Return whether the last `num_new` characters may turn the text before them into a thought."""
        return self.thought is None and may_end_thought(whole, num_new, self.marks)


def _visible_source(whole: str) -> VisibleText:
    """Return the visible part of a text that is shown as plain text."""
    return VisibleText(whole, can_append=True)


def _visible_answer(whole: str, marks: ThoughtMarks | None, *, grows: bool) -> VisibleText:
    """Return the visible part of an answer; an empty one if the answer `grows` and may turn out to be a thought."""
    thought = split_thought(whole, marks)
    may_be_mark = may_become_thought(whole, marks)
    start = VisibleText(thought=thought).start
    shown = "" if may_be_mark and grows else whole[start:]
    return VisibleText(shown, thought, can_append=not may_be_mark and (thought is None or bool(shown)), marks=marks)


class MessageText(QTextBrowser):
    """Shows Markdown, or plain text such as a message of the user."""

    token_chosen = Signal(int, int)
    """A token's index, and the id of the alternative that the user chose for it."""
    tab_stops_changed = Signal()
    grown = Signal()
    """A further slice of a long text was written."""
    cursor_moved = Signal()
    """The user placed the text cursor, or the cursor was removed."""
    key_pressed = Signal(QKeyEvent)
    """A key was pressed that neither moves the cursor nor copies."""

    def __init__(self, theme: Theme, *, is_markdown: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("message_text")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # The text cursor marks the position for “Continue from here”.
        self.setTextInteractionFlags(self.textInteractionFlags() | Qt.TextInteractionFlag.TextSelectableByKeyboard)
        self.viewport().setAutoFillBackground(False)
        self._theme = theme
        self._is_markdown = is_markdown
        self._markdown = MarkdownDocument(self.document(), theme)
        self._markdown.grown.connect(self._on_grown)
        self._more: LinesButton | None = None
        """The button that shows more of a very long text."""
        self._note: QLabel | None = None
        """The line that says that the end of the text is not formatted."""
        self._frames = Frames(self.viewport(), theme)
        self.ornaments = TextOrnaments(self)
        self._content = ""
        self._has_caret = False
        self._is_raw = False
        self._marks: ThoughtMarks | None = None
        self._is_json_asked = False
        self._json: ShownJson | None = None
        """The visible text if it is JSON; else None."""
        self._visible = VisibleText()
        self._is_fitting = False
        self._ahead: LayoutAhead | None = None
        """The work of laying out the text for another width; None if there is none."""
        self._fitted_px = 0
        """The width for which the frames were placed."""
        self._is_cursor_placed = False
        self._is_unloaded = False
        """Whether a part of a long text was removed from the page."""
        self._held_px = 0
        """The minimum height until the text is complete again, so that the text being read keeps its place."""
        self.links = TextLinks(self)
        self._tokens: TokenReader | None = None
        self._pieces: Sequence[TokenPiece] = ()
        # Begin with the usual width, so that the first height is right in most cases.
        self.document().setTextWidth(COLUMN_PX)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        # Wide content scrolls in its own frame. The whole text never scrolls.
        self.horizontalScrollBar().rangeChanged.connect(self._prevent_scrolling)
        self._fit()

    @property
    def content(self) -> str:
        """The source of the text."""
        return self._content

    @property
    def frames(self) -> Frames:
        """The frames around the code and tables of the text."""
        return self._frames

    @property
    def thought(self) -> Thought | None:
        """The model's thought before the answer, which is not shown here."""
        return self._visible.thought

    def set_text(
        self, text: str, *, is_raw: bool = False, marks: ThoughtMarks | None = None, is_json_asked: bool = False
    ) -> None:
        """Show a new text, or only the beginning of a very long text. `is_raw` shows Markdown as its source.

        `marks` are the marks that the model puts around a thought; None means the usual ones. `is_json_asked` means
        that the answer's format was JSON.
        """
        self._content = text
        self._held_px = 0
        self._is_raw = is_raw
        self._marks = marks
        self._is_json_asked = is_json_asked
        self._show_content()

    @property
    def marks(self) -> ThoughtMarks | None:
        """The marks that the model puts around a thought; None means the usual ones."""
        return self._marks

    def append(self, text: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Append text; the text above is not laid out again."""
        visible = self._visible
        self._content += text
        if not visible.can_append or (self._is_rendered and visible.may_end_thought(self._content, len(text))):
            self._show_content()
            return
        if self._is_rendered and self._json is None and may_become_json(self._content[visible.start :]):
            self._show_content()
            return
        shown = text if self._json is None else self._json.append(text)
        if shown is None:
            self._show_content()
            return
        self._markdown.append(shown)
        self._fit()

    def unload_long(self) -> bool:
        """Remove a part of a long text from the page until the next `set_theme`, so that nothing lays it out again.

        Return whether anything was removed. The widget keeps its height.
        """
        if self.is_long:
            self._is_fitting = True
            self._markdown.set_plain("")
            self._is_fitting = False
            self._is_unloaded = True
        return self._is_unloaded and self._frames.drop_some()

    @property
    def is_long(self) -> bool:
        """Whether the part of the text that is shown takes long to lay out."""
        document = self.document()
        has_much = document.blockCount() > _MANY_BLOCKS or document.characterCount() > _MANY_CHARS
        return has_much or len(self._markdown.spans) > _MANY_FRAMES

    def lay_out_ahead(self, width_px: int) -> bool:
        """Lay out a part of a long text for a width that its page will have. Return whether all of it is laid out.

        Until the page has that width, it shows a picture of the text in its old width.
        """
        if self._ahead is not None and self._ahead.width_px != width_px:
            self.leave_ahead()
        if self._ahead is None:
            if not self.is_long or width_px == self.viewport().width():
                return True
            self._markdown.pause()
            visible = self.viewport().visibleRegion().boundingRect()
            self._ahead = LayoutAhead(self.document(), width_px, self._picture_of(visible), visible.topLeft())
        else:
            self._ahead.step()
        return self._ahead.is_complete

    def leave_ahead(self) -> None:
        """Lay the text out for the present width again, if it was being laid out for another width."""
        if self._ahead is not None:
            self._end_ahead()
            self.document().setPageSize(QSizeF(self.viewport().width(), -1))
            self._fit()
            self.viewport().update()

    def _end_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.end()
            self._ahead = None
            self._markdown.resume()

    def _picture_of(self, visible: QRect) -> QPixmap:
        ratio = self.devicePixelRatioF()
        picture = QPixmap((visible.size().toSizeF() * ratio).toSize())
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        if not picture.isNull():
            painter = QPainter(picture)
            painter.translate(-visible.topLeft())
            self._paint(painter, part_to_paint(self, visible))
            painter.end()
        return picture

    @property
    def source_position(self) -> int:
        """The position of the text cursor in the content; 0 until the user has placed the cursor."""
        return self._position_of(self.textCursor()) if self._is_cursor_placed else 0

    def _position_of(self, cursor: QTextCursor) -> int:
        """Return the position of a cursor in the content."""
        if self._json is not None:
            return self._visible.start + self._json.source_position(cursor)
        if self._is_rendered:
            return source_position(cursor, self._content, self._visible.start)
        return raw_position(cursor, self._content)

    @property
    def is_cursor_inside(self) -> bool:
        """Whether the user placed the cursor after the beginning of the text and before its end."""
        cursor = self.textCursor()
        return self._is_cursor_placed and not cursor.atStart() and not cursor.atEnd()

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
        """The token reader; None while tokens are not shown."""
        return self._tokens

    def show_tokens(self, pieces: Sequence[TokenPiece] | None, *, can_fork: bool = False) -> None:
        """Mark the tokens of the visible text. None removes the marks."""
        if pieces is not None:
            if self._tokens is None:
                self._tokens = TokenReader(self, self._theme)
                self._tokens.chosen.connect(self.token_chosen)
            self._pieces = pieces
            self._tokens.show(self._content, pieces, can_fork=can_fork)
        elif self._tokens is not None:
            self._tokens.end()
            self._tokens = None

    def show_more_tokens(self, pieces: Sequence[TokenPiece]) -> None:
        """Mark the tokens that were added at the end of `pieces`, if tokens are shown."""
        if self._tokens is not None:
            self._pieces = pieces
            self._tokens.grow(self._content, pieces)

    @property
    def is_raw(self) -> bool:
        """Whether Markdown is shown as its source."""
        return self._is_raw

    @property
    def _is_rendered(self) -> bool:
        return self._is_markdown and not self._is_raw

    def _show_content(self) -> None:
        self.leave_ahead()
        self._is_cursor_placed = False
        at_once, self._is_unloaded = not self._is_unloaded, False
        self._json = None
        if self._is_rendered:
            self._visible = _visible_answer(self._content, self._marks, grows=self._has_caret)
            self._json = shown_json(self._visible.text, is_certain=self._is_json_asked)
            source = self._visible.text if self._json is None else self._json.markdown
            self._markdown.set_source(source, at_once=at_once)
        else:
            self._visible = _visible_source(self._content)
            self._markdown.set_plain(self._visible.text, at_once=at_once)
        self._describe_formulas()
        self._fit()

    def _describe_formulas(self) -> None:
        """Tell screen readers the sources of the formulas, which are pictures in the document."""
        formulas = "; ".join(self._markdown.formulas[:_MAX_DESCRIBED])
        self.setAccessibleDescription(
            self.tr("With the formulas {formulas}").format(formulas=beginning(formulas)) if formulas else ""
        )

    def num_formulas(self, start: int, end: int) -> int:
        """Return the number of formulas between two positions in the document."""
        return self._markdown.num_formulas(start, end)

    @property
    def is_complete(self) -> bool:
        """Whether all of the text that should be shown has been written. Long texts are written in slices."""
        return self._markdown.is_complete

    @property
    def num_hidden(self) -> int:
        """The number of characters that are not shown until the user asks for more."""
        return self._markdown.num_hidden

    def _on_grown(self) -> None:
        self._fit()
        if self._tokens is not None:
            self._tokens.grow(self._content, self._pieces)
        if self.is_complete:
            self._describe_formulas()
        self.grown.emit()

    def _show_note(self, below: int) -> int:
        """If the end of the text is not formatted, say so in a line below it. Return the line's height, else 0."""
        if not self._markdown.is_as_written:
            if self._note is not None:
                self._note.hide()
            return 0
        if self._note is None:
            text = self.tr("There is too much to format: the end of this text is shown as it was written.")
            self._note = quiet_label(text)
            self._note.setParent(self.viewport())
            self._note.setWordWrap(True)
            self._note.setCursor(Qt.CursorShape.ArrowCursor)
        width = self.viewport().width()
        height = self._note.heightForWidth(width)
        self._note.setGeometry(0, below + _MORE_GAP_PX, width, height)
        self._note.show()
        return height + _MORE_GAP_PX

    def _show_more_button(self, below: int) -> int:
        """If there is more text, show the button for it below the text. Return the button's height, else 0."""
        num_hidden = self._markdown.num_hidden
        if not num_hidden:
            if self._more is not None:
                self._more.hide()
            return 0
        if self._more is None:
            self._more = LinesButton()
            self._more.setParent(self.viewport())
            self._more.setCursor(Qt.CursorShape.ArrowCursor)
            self._more.clicked.connect(self._markdown.show_more)
        if below < _MAX_HEIGHT_PX:
            self._more.show_text(self.tr("Show more ({count} more characters)").format(count=counted(num_hidden)))
        else:
            text = self.tr("… and {count} more characters. Copy or export the message to get the whole text.")
            self._more.show_text(text.format(count=counted(num_hidden)))
        self._more.setEnabled(below < _MAX_HEIGHT_PX)
        self._more.wrap(self.viewport().width())
        size = self._more.sizeHint()
        self._more.setGeometry(0, below + _MORE_GAP_PX, size.width(), size.height())
        self._more.show()
        return size.height() + 2 * _MORE_GAP_PX

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._markdown.set_theme(theme)
        self._frames.set_theme(theme)
        if self._tokens is not None:
            self._tokens.set_theme(theme)
        self._held_px = self.height() if self._is_unloaded else 0
        self._show_content()

    def set_caret(self, shown: bool) -> None:
        """Show or hide the caret at the end, which marks a streaming answer."""
        if shown != self._has_caret:
            self._has_caret = shown
            if not shown and self._visible.can_append:
                self._markdown.finish()
                self._describe_formulas()
            elif not shown:
                self._show_content()
            self.viewport().update()

    def _fit(self) -> None:
        if self._is_fitting or self._markdown.is_writing or self._ahead is not None:
            return
        self._is_fitting = True
        width_px = self.viewport().width()
        changed_from = self._markdown.take_changed_from() if width_px == self._fitted_px else 0
        self._fitted_px = width_px
        spans, tables = self._markdown.spans, self._markdown.tables
        if spans or tables:
            # Qt lays out a text up to the requested position. One request is faster than a request for each frame.
            self.document().documentLayout().blockBoundingRect(self.document().lastBlock())
        have_stops_changed = self._frames.show(spans, tables, width_px, changed_from=changed_from)
        self._frames.set_source(None if self._json is None else self._content[self._visible.start :])
        # An empty answer is as high as one line.
        height = max(scaled(LINE_PX), round(self.document().size().height() + 0.5), self._frames.bottom)
        height += self._show_note(height)
        height += self._show_more_button(height)
        self._held_px = 0 if self.is_complete else self._held_px
        height = max(height, self._held_px)
        if height != self.height():
            self.setFixedHeight(height)
        self._is_fitting = False
        if have_stops_changed:
            self.tab_stops_changed.emit()

    def _prevent_scrolling(self, _minimum: int, maximum: int) -> None:
        if maximum:
            self.horizontalScrollBar().setRange(0, 0)

    @override
    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.height())

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.height())

    @override
    def changeEvent(self, e: QEvent) -> None:
        # Qt would lay out the text in the widget's font, but each part of the text has its own font, see `set_theme`.
        if e.type() not in {QEvent.Type.FontChange, QEvent.Type.ApplicationFontChange}:
            super().changeEvent(e)

    @override
    def resizeEvent(self, e: QResizeEvent) -> None:
        if self._ahead is not None and self._ahead.width_px == e.size().width():
            # The text is laid out in this width, or nearly.
            self._end_ahead()
        else:
            self.leave_ahead()
            super().resizeEvent(e)
        self._fit()

    @override
    def paintEvent(self, e: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        if self._ahead is not None:
            self._ahead.paint(painter)
        else:
            part = part_to_paint(self, e.rect())
            self._paint(painter, part)
            if part != e.rect():
                # The rest follows in the next turn of the event loop.
                self.viewport().update(e.rect().adjusted(0, part.height(), 0, 0))
        painter.end()

    def _paint(self, painter: QPainter, visible: QRect) -> None:
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

    @override
    def createMimeDataFromSelection(self) -> QMimeData:
        data, cursor = QMimeData(), self.textCursor()
        if self._json is None:
            data.setText(copied_text(cursor, self._markdown.placed_formulas))
            return data
        ends: list[int] = []
        for position in (cursor.selectionStart(), cursor.selectionEnd()):
            cursor.setPosition(position)
            ends.append(self._position_of(cursor))
        data.setText(self._content[ends[0] : ends[1]])
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
        # Keys that scroll are for the transcript: this widget is as tall as its content.
        if ev.key() in {Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End} and is_plain:
            ev.ignore()
            return
        if ev.key() in {Qt.Key.Key_Up, Qt.Key.Key_Down} and not ev.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            ev.ignore()
            return
        self._is_cursor_placed = True
        super().keyPressEvent(ev)
        self._show_cursor()

    @override
    def setTextCursor(self, cursor: QTextCursor) -> None:
        self._is_cursor_placed = True
        super().setTextCursor(cursor)
        self._frames.reveal(cursor)
        self._show_cursor()

    def _show_cursor(self) -> None:
        self.viewport().update()
        self.cursor_moved.emit()

    def forget_cursor(self) -> None:
        """Remove the user's cursor."""
        if self._is_cursor_placed:
            self._is_cursor_placed = False
            self._show_cursor()

    @override
    def focusNextPrevChild(self, next: bool, /) -> bool:
        cursor = self.textCursor()
        moved = super().focusNextPrevChild(next)
        if not self.hasFocus():
            # While Qt looks for a link, it moves the cursor to the beginning. The button continues from the cursor.
            super().setTextCursor(cursor)
        return moved

    @override
    def focusOutEvent(self, e: QFocusEvent) -> None:
        super().focusOutEvent(e)
        if e.reason() in _LEAVING_REASONS:
            self.forget_cursor()

    @override
    def mousePressEvent(self, e: QMouseEvent) -> None:
        self._is_cursor_placed = True
        super().mousePressEvent(e)
        self._show_cursor()

    @override
    def wheelEvent(self, e: QWheelEvent) -> None:
        """Scroll a frame sideways; vertical scrolling is left to the transcript."""
        e.setAccepted(self._frames.scroll_by_wheel(e))

    @override
    def event(self, e: QEvent) -> bool:
        # Tab goes to the message's actions, not from link to link.
        if e.type() == QEvent.Type.ShortcutOverride:
            e.ignore()
            return False
        return super().event(e)

    @override
    def loadResource(self, type: int, name: QUrl | str) -> Any:
        """Load nothing: an image in an answer must not read a file or send a request to a server."""
        return None
