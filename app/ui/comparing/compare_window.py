"""A window that compares two texts word by word."""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QKeySequence,
    QResizeEvent,
    QShortcut,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QBoxLayout, QFrame, QTextEdit, QVBoxLayout, QWidget
from typing_extensions import override

from app.model.differences import Stretch, comparison
from app.model.rendered_words import rendered_words
from app.numbers import counted
from app.ui.parts.buttons import NameBox
from app.ui.parts.sheet import Filling, Sheet
from app.ui.text.slices import MAX_BLOCK_CHARS, MAX_TURNS, num_turns
from app.ui.theme import LINE_PX, TEXT_PX, Theme, scaled, text_font

_WIDTH_PX, _HEIGHT_PX = 1000, 680
_MAX_ANNOUNCED_CHARS = 60
"""Screen readers announce only this many characters of a difference."""
_MARGIN_PX = 12
_STACKED_PX = 480
_MIN_PANE_PX = 120
_FRAME_PX = 4
_NO_LIMIT_PX = 16_777_215
_GAP_PX = 12
_ABOVE = 1 / 3
"""The vertical position of the current difference, as a fraction of its pane's height from the top."""
_LINE_PERCENT = 130
_MAX_CHARS, _MAX_LINES = 200_000, 4_000
"""Only this much of a long text is shown, because Qt lays out the whole text whenever its width changes."""
_SHORT = 20_000
"""Two texts with at most this many characters together are compared at once, longer ones in the background."""
_WORK_S = 0.010
_CHARS_AT_ONCE, _NUM_AT_ONCE = 2_000, 200
"""The number of characters, and of pieces of text, that are written at a time."""
_ALPHA = 0.16
_CURRENT_ALPHA = 0.42


class Passage(NamedTuple):
    """A part of a text."""

    text: str
    is_markdown: bool = False


class Side(NamedTuple):
    """A text that can be compared."""

    title: str
    passages: Sequence[Passage]


class CompareWindow(Sheet):
    """Compares two of several texts, which the user chooses."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("", parent)
        self.setWindowTitle(self.tr("Compare"))
        self.panes = ComparePanes(theme)
        self._sides: Sequence[Side] = ()
        self.left_choice = NameBox()
        self.right_choice = NameBox()
        for choice, pane, name in (
            (self.left_choice, self.panes.left, self.tr("Left text")),
            (self.right_choice, self.panes.right, self.tr("Right text")),
        ):
            choice.setAccessibleName(name)
            choice.activated.connect(self._show_chosen)
            pane.setAccessibleName(name)
        self.panes.add_heads(self.left_choice, self.right_choice)
        self.body.addWidget(self.panes, 1)
        self.previous_button = self.add_button(self.tr("Previous difference"), lambda: self.panes.step(-1))
        self.previous_button.setToolTip(self.tr("Previous difference (Shift+F7)"))
        self.next_button = self.add_button(self.tr("Next difference"), lambda: self.panes.step(1), is_primary=True)
        self.next_button.setToolTip(self.tr("Next difference (F7)"))
        self.close_button = self.add_button(self.tr("Close"), self.close)
        for key, step in (("F7", 1), ("Shift+F7", -1), ("Alt+Down", 1), ("Alt+Up", -1)):
            QShortcut(QKeySequence(key), self, partial(self.panes.step, step))
        self.panes.stepped.connect(self._on_stepped)
        self.panes.compared.connect(self._show_count)

    def compare(self, sides: Sequence[Side], left: int, right: int) -> None:
        """Compare the sides with the indexes `left` and `right`; the user can choose the others."""
        self._sides = sides
        for choice, number in ((self.left_choice, left), (self.right_choice, right)):
            choice.clear()
            choice.addItems([side.title for side in sides])
            choice.setCurrentIndex(number)
        self._show_chosen()
        self.open_at(_WIDTH_PX, _HEIGHT_PX, filling=Filling(self.panes, self.panes.height_of_texts))
        # Texts that are still being compared may differ.
        first = self.close_button if self.next_button.isHidden() else self.next_button
        first.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_theme(self, theme: Theme) -> None:
        self.panes.set_theme(theme)

    def _show_chosen(self) -> None:
        left, right = (self._sides[choice.currentIndex()] for choice in (self.left_choice, self.right_choice))
        for pane, side in ((self.panes.left, left), (self.panes.right, right)):
            pane.setAccessibleName(side.title)
        self.show_message(self.tr("Comparing…"))
        self.panes.show_texts(left.passages, right.passages)

    def _show_count(self) -> None:
        has_any = self.panes.num_differences > 0
        self._offer_steps(is_possible=has_any)
        if self.panes.num_differences == 1:
            text = self.tr("1 difference")
        elif has_any:
            text = self.tr("{count} differences", "", self.panes.num_differences).format(count=self._count)
        elif self.panes.is_other_source:
            text = self.tr("The words are identical; only the formatting differs.")
        else:
            text = self.tr("Both texts are identical.")
        if self.panes.is_cut:
            compared = self.tr("Only the beginning of these long texts is shown and compared.")
            text = f"{text} · {compared}" if has_any else compared
        self.show_message(text)

    def _offer_steps(self, *, is_possible: bool) -> None:
        """Show the buttons that lead to the differences, or hide them where there is none."""
        if not is_possible and self.focusWidget() in {self.previous_button, self.next_button}:
            self.close_button.setFocus(Qt.FocusReason.OtherFocusReason)
        for button in (self.previous_button, self.next_button):
            button.setVisible(is_possible)

    @property
    def _count(self) -> str:
        return counted(self.panes.num_differences)

    def _on_stepped(self) -> None:
        where = self.tr("Difference {number} of {count}").format(
            number=counted(self.panes.current + 1), count=self._count
        )
        self.show_message(where)
        stretch = self.panes.current_stretch
        if stretch is not None and QAccessible.isActive():
            left, right = (text[:_MAX_ANNOUNCED_CHARS] or self.tr("nothing") for text in stretch)
            announced = self.tr("{where}: left {left}, right {right}").format(where=where, left=left, right=right)
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, announced))


class _Beginning(NamedTuple):
    """The part of a text that is shown."""

    text: str = ""
    is_cut: bool = False


class ComparePanes(QWidget):
    """Two texts that scroll together; removed text is struck out, added text underlined.

    They are side by side, or one below the other in a narrow window.

    Markdown is compared as the page shows it: only the words, without the marks.
    """

    stepped = Signal()
    """The current difference has changed."""
    compared = Signal()
    """Both texts are shown, with their differences. Long texts take a while."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._stretches: Sequence[Stretch] = ()
        self._edges: tuple[list[int], list[int]] = ([0], [0])
        """For each document, the positions at which its stretches begin, and the end of the last stretch."""
        self._changed: list[int] = []
        """The indexes of the stretches that differ."""
        self._current = -1
        self._passages: tuple[Sequence[Passage], Sequence[Passage]] = (), ()
        self._sides = _Beginning(), _Beginning()
        self._work: Iterator[None] = iter(())
        """The remaining steps of comparing and showing the texts."""
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._continue)
        self._is_following = False
        self.left = _pane()
        self.right = _pane()
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(_GAP_PX)
        self._columns = QVBoxLayout(), QVBoxLayout()
        for column, pane in zip(self._columns, (self.left, self.right), strict=True):
            column.setSpacing(_GAP_PX)
            column.addWidget(pane, 1)
            self._row.addLayout(column, 1)
        for pane, other in ((self.left, self.right), (self.right, self.left)):
            pane.verticalScrollBar().valueChanged.connect(partial(self._follow, pane, other))

    def add_heads(self, left: QWidget, right: QWidget) -> None:
        """Put a widget above each text."""
        for column, head in zip(self._columns, (left, right), strict=True):
            column.insertWidget(0, head)

    def height_of_texts(self, _width_px: int) -> int:
        """Return the height in pixels at which both texts are visible as a whole, at their present width."""
        if self.is_comparing:
            return _NO_LIMIT_PX
        texts = [math.ceil(pane.document().size().height()) + _FRAME_PX for pane in (self.left, self.right)]
        around = self._columns[0].sizeHint().height() - self.left.sizeHint().height()
        heights = [max(text, scaled(_MIN_PANE_PX)) + around for text in texts]
        return sum(heights) + _GAP_PX if self._is_stacked else max(heights)

    @property
    def _is_stacked(self) -> bool:
        return self._row.direction() == QBoxLayout.Direction.TopToBottom

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Where two columns are too narrow to read, one text stands below the other.
        directions = QBoxLayout.Direction
        self._row.setDirection(directions.TopToBottom if self.width() < scaled(_STACKED_PX) else directions.LeftToRight)

    @property
    def num_differences(self) -> int:
        return len(self._changed)

    @property
    def current(self) -> int:
        """The index of the current difference; -1 if there is none."""
        return self._current

    @property
    def current_stretch(self) -> Stretch | None:
        return self._stretches[self._changed[self._current]] if self._current >= 0 else None

    @property
    def is_cut(self) -> bool:
        """Whether the texts are so long that only their beginnings are shown."""
        return any(side.is_cut for side in self._sides)

    @property
    def is_other_source(self) -> bool:
        """Whether the source texts differ, even if only in the marks of their Markdown."""
        left, right = ("".join(passage.text for passage in passages) for passages in self._passages)
        return left != right

    @property
    def is_comparing(self) -> bool:
        """Whether the comparison still runs, so that some of the texts or differences are not shown yet."""
        return self._timer.isActive()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._begin(self._compare() if self.is_comparing else self._fill())

    def show_texts(self, left: Sequence[Passage], right: Sequence[Passage]) -> None:
        """Compare two texts, and show them from their beginnings."""
        self._passages = left, right
        self._stretches, self._changed, self._current = (), [], -1
        self._begin(self._compare())
        if sum(len(passage.text) for passage in (*left, *right)) <= _SHORT:
            while self.is_comparing:
                self._continue()

    def _begin(self, work: Iterator[None]) -> None:
        self._work = work
        self._timer.start()

    def _continue(self) -> None:
        """Continue comparing and showing for `_WORK_S`."""
        end = time.monotonic() + _WORK_S
        for _ in self._work:
            if time.monotonic() >= end:
                return
        self._timer.stop()
        self._show_current()

    def _compare(self) -> Generator[None]:
        left = yield from _beginning(self._passages[0])
        right = yield from _beginning(self._passages[1])
        self._sides = left, right
        self._stretches = yield from comparison(left.text, right.text)
        yield from self._fill()
        self._changed = [index for index, stretch in enumerate(self._stretches) if not stretch.is_same]
        self.compared.emit()

    def step(self, step: int) -> None:
        """Show the next difference (1) or the previous one (-1), with wrap-around."""
        if self._changed and not self.is_comparing:
            begin = -1 if step > 0 else 0
            self._current = ((self._current if self._current >= 0 else begin) + step) % len(self._changed)
            self._show_current()
            self.stepped.emit()

    # --- painting and scrolling ----------------------------------------------------------------------------

    def _fill(self) -> Generator[None]:
        """Write both texts, a little at a time."""
        removed, added = QTextCharFormat(), QTextCharFormat()
        removed.setBackground(_transparent(self._theme.danger, _ALPHA))
        removed.setFontStrikeOut(True)
        added.setBackground(_transparent(self._theme.accent, _ALPHA))
        added.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
        added.setUnderlineColor(QColor(self._theme.accent))
        for pane, side, marked in ((self.left, 0, removed), (self.right, 1, added)):
            pane.clear()
            plain = QTextCharFormat()
            plain.setForeground(QColor(self._theme.text))
            marked.setForeground(QColor(self._theme.text))
            cursor = QTextCursor(pane.document())
            spaced = QTextBlockFormat()
            spaced.setLineHeight(_LINE_PERCENT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            cursor.setBlockFormat(spaced)
            edges = self._edges[side]
            edges[:] = [0]
            turns = num_chars = num_pieces = column = 0
            cursor.beginEditBlock()
            for stretch in self._stretches:
                for piece in _pieces(stretch[side]):
                    if (column >= MAX_BLOCK_CHARS or turns >= MAX_TURNS) and not piece.startswith("\n"):
                        # Qt lays out a block as a whole.
                        cursor.insertBlock()
                        turns = column = 0
                    cursor.insertText(piece, plain if stretch.is_same else marked)
                    column = len(piece) - piece.rfind("\n") - 1 + (0 if "\n" in piece else column)
                    turns = num_turns(piece[-column:] if column else "") + (0 if "\n" in piece else turns)
                    num_chars, num_pieces = num_chars + len(piece), num_pieces + 1
                    if num_chars >= _CHARS_AT_ONCE or num_pieces >= _NUM_AT_ONCE:
                        num_chars = num_pieces = 0
                        cursor.endEditBlock()
                        yield
                        cursor.beginEditBlock()
                edges.append(cursor.position())
            cursor.endEditBlock()
            pane.moveCursor(QTextCursor.MoveOperation.Start)

    def _show_current(self) -> None:
        if self._current < 0:
            for pane in (self.left, self.right):
                pane.setExtraSelections([])
            return
        index = self._changed[self._current]
        self._is_following = True
        for pane, edges, colour in (
            (self.left, self._edges[0], self._theme.danger),
            (self.right, self._edges[1], self._theme.accent),
        ):
            cursor = QTextCursor(pane.document())
            cursor.setPosition(edges[index])
            top = _top(pane, cursor)
            pane.verticalScrollBar().setValue(round(top - pane.viewport().height() * _ABOVE))
            pane.setTextCursor(cursor)
            cursor.setPosition(edges[index + 1], QTextCursor.MoveMode.KeepAnchor)
            selection = QTextEdit.ExtraSelection()
            selection.cursor = cursor  # pyright: ignore[reportAttributeAccessIssue]
            selection.format.setBackground(_transparent(colour, _CURRENT_ALPHA))  # pyright: ignore[reportAttributeAccessIssue]
            pane.setExtraSelections([selection])
        self._is_following = False

    def _follow(self, pane: QTextEdit, other: QTextEdit, _value: int) -> None:
        """Scroll the other pane so that the text in the middle of both panes corresponds."""
        if self._is_following:
            return
        bar, other_bar = pane.verticalScrollBar(), other.verticalScrollBar()
        if bar.value() in {bar.minimum(), bar.maximum()}:
            value = other_bar.minimum() if bar.value() == bar.minimum() else other_bar.maximum()
        else:
            middle = QPoint(_MARGIN_PX, pane.viewport().height() // 2)
            cursor = QTextCursor(other.document())
            cursor.setPosition(self._opposite(pane.cursorForPosition(middle).position(), is_left=pane is self.left))
            value = _top(other, cursor) - middle.y()
        self._is_following = True
        other_bar.setValue(value)
        self._is_following = False

    def _opposite(self, position: int, *, is_left: bool) -> int:
        """Return the position in the other document that corresponds to `position`."""
        own, other = self._edges if is_left else self._edges[::-1]
        # While the texts are written, one document may have more stretches than the other.
        num_stretches = min(len(own), len(other)) - 1
        if not num_stretches:
            return 0
        index = min(max(bisect_right(own, position) - 1, 0), num_stretches - 1)
        share = (position - own[index]) / max(own[index + 1] - own[index], 1)
        return min(other[index] + round(share * (other[index + 1] - other[index])), other[-1])


def _beginning(passages: Sequence[Passage]) -> Generator[None, None, _Beginning]:
    """Return the part of a text that is compared: its words, with line feeds as line ends, up to the limits."""
    words: list[str] = []
    num_left = _MAX_CHARS
    is_cut = False
    for passage in passages:
        text = passage.text[:num_left].replace("\r\n", "\n").replace("\r", "\n")
        is_cut = is_cut or len(passage.text) > num_left
        num_left -= len(text)
        words.append((yield from rendered_words(text)) if passage.is_markdown else text)
    lines = "".join(words).split("\n", _MAX_LINES)
    return _Beginning("\n".join(lines[:_MAX_LINES]), is_cut or len(lines) > _MAX_LINES)


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _CHARS_AT_ONCE):
        piece = text[start : start + _CHARS_AT_ONCE]
        length = len(piece) if num_turns(piece) <= MAX_TURNS else MAX_TURNS
        for begin in range(0, len(piece), length):
            yield piece[begin : begin + length]


def _pane() -> QTextEdit:
    pane = QTextEdit()
    pane.setObjectName("compared")
    pane.setReadOnly(True)
    pane.setFrameShape(QFrame.Shape.NoFrame)
    pane.setTabChangesFocus(True)
    pane.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByKeyboard | Qt.TextInteractionFlag.TextSelectableByMouse
    )
    pane.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    pane.setFont(text_font(TEXT_PX))
    pane.document().setDocumentMargin(_MARGIN_PX)
    pane.verticalScrollBar().setSingleStep(LINE_PX)
    return pane


def _top(pane: QTextEdit, cursor: QTextCursor) -> int:
    """Return the distance of a cursor from the top of the text, in pixels. This lays out the whole text."""
    document = pane.document()
    document.documentLayout().blockBoundingRect(document.lastBlock())
    return pane.cursorRect(cursor).top() + pane.verticalScrollBar().value()


def _transparent(colour: str, alpha: float) -> QColor:
    result = QColor(colour)
    result.setAlphaF(alpha)
    return result
