"""The frames around code in a message, and the list of all frames of a message, including those of its tables."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF, Qt, QTimer
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QGuiApplication,
    QPainter,
    QPen,
    QRegion,
    QShowEvent,
    QTextBlock,
    QTextCursor,
    QTextTable,
    QWheelEvent,
)
from PySide6.QtWidgets import QScrollBar, QToolButton, QWidget
from typing_extensions import override

from app.ui.parts.qt_workarounds import discard
from app.ui.text.code_blocks import CODE_PADDING_PX, CodeSpan, head_px
from app.ui.text.document_text import cursor_x
from app.ui.text.tables import SideScroll, TableFrame
from app.ui.theme import SMALL_PX, Theme, around_line, icon, text_font

_CORNER_PX = 10
_BUTTON_PX = 28
_COPIED_MS = 2_000
_DROPPED_AT_ONCE = 60
_REMOVING_MS, _REMOVED_AT_ONCE = 100, 10
"""How often hidden frames are removed, and how many at a time."""
_MIN_NAME_PX = 40
"""The minimum width for the name of the language. In a narrower frame it is hidden."""


class CodeFrame:
    """The frame of one `CodeSpan`, with a Copy button and a scroll bar."""

    def __init__(self, viewport: QWidget, theme: Theme) -> None:
        self.rect = QRect()
        self.span: CodeSpan | None = None
        self._viewport = viewport
        self._theme = theme
        self.button = CopyButton(viewport, theme)
        name = QCoreApplication.translate("CodeFrame", "Scroll code horizontally")
        self._scroll = SideScroll(viewport, name, self._scroll_to)

    @property
    def inner(self) -> QRect:
        """The rectangle in which code is visible."""
        return self.rect.adjusted(CODE_PADDING_PX - 2, head_px(), 1 - CODE_PADDING_PX, -2)

    @property
    def bar(self) -> QScrollBar | None:
        """The scroll bar; None if all of the code is visible."""
        return self._scroll.bar

    def show(self, span: CodeSpan, width_px: int) -> None:
        """Place the frame around a span on a page that is `width_px` wide."""
        self.span = span
        self.rect = span.rect(width_px).toAlignedRect()
        self.button.show_for(span)
        top = self.rect.top() + (head_px() - self.button.height()) // 2
        self.button.move(self.rect.right() - self.button.width() - 2, top)
        room_px = self.rect.width() - 2 * CODE_PADDING_PX
        self._scroll.show(self.rect, round(span.widest_px()) - room_px, room_px)

    def _scroll_to(self, value: int) -> None:
        if self.span is not None and self.span.scroll_px != value:
            self.span.scroll_px = value
            self._viewport.update(self.rect)

    def reveal(self, block: QTextBlock, position: int) -> None:
        """Scroll the code sideways until a position in one of its lines is visible."""
        bar = self.bar
        number = block.blockNumber() - self.span.first.blockNumber() if self.span is not None else -1
        if bar is None or self.span is None or not 0 <= number < self.span.num_lines:
            return
        line = block.layout().lineForTextPosition(position)
        # Qt clips x at the line's beginning, so measure the line before it is scrolled.
        line.setPosition(QPointF(0, line.y()))
        x = round(cursor_x(line, position))
        margin = self.inner.width() // 4
        if not bar.value() + 8 <= x <= bar.value() + self.inner.width() - 8:
            bar.setValue(x - margin)
        self._viewport.update(self.rect)

    def hide(self) -> None:
        """Hide the frame, so that it can be used for another span."""
        self.span = None
        self._scroll.hide()
        self.button.hide_until_shown()

    def remove(self) -> None:
        self._scroll.remove()
        discard(self.button)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.button.set_theme(theme)

    def paint(self, painter: QPainter, visible: QRect) -> None:
        """Draw the frame without its code, and shift the visible lines of code by the scroll position."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.line), 1))
        painter.setBrush(QColor(self._theme.sunken))
        painter.drawRoundedRect(QRectF(self.rect).adjusted(0.5, 0.5, -0.5, -0.5), _CORNER_PX, _CORNER_PX)
        room = self.rect.adjusted(CODE_PADDING_PX, 0, -self.button.width() - CODE_PADDING_PX, 0)
        if self.span is not None and room.width() >= _MIN_NAME_PX:
            room.setHeight(head_px())
            font = text_font(SMALL_PX)
            painter.setFont(font)
            painter.setPen(QColor(self._theme.quiet_text))
            name = QFontMetrics(font).elidedText(self.span.language, Qt.TextElideMode.ElideRight, room.width())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, name)
        self._shift_lines(visible)

    def _shift_lines(self, visible: QRect) -> None:
        if self.span is None:
            return
        for block in _visible_lines(self.span, visible):
            left = block.blockFormat().leftMargin() - self.span.scroll_px
            layout = block.layout()
            for number in range(layout.lineCount()):
                line = layout.lineAt(number)
                if line.x() != left:
                    line.setPosition(QPointF(left, line.y()))


class CopyButton(QToolButton):
    """Copies a frame's code, and shows “Copied” for a moment."""

    def __init__(self, parent: QWidget, theme: Theme) -> None:
        super().__init__(parent)
        self.setObjectName("action")
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.clicked.connect(self._copy)
        self._span: CodeSpan | None = None
        self.source: str | None = None
        """The text to copy where the frame shows the code in another layout; None means the code itself."""
        self._reset = QTimer(self, singleShot=True, interval=_COPIED_MS)
        self._reset.timeout.connect(partial(self._show_state, is_copied=False))
        self._theme = theme
        self._is_copied = False
        self._show_state(is_copied=False)

    def show_for(self, span: CodeSpan) -> None:
        if span is not self._span:
            self._span = span
            name = self.tr("Copy code in {language}").format(language=span.language) if span.language else ""
            self.setAccessibleName(name or self.tr("Copy code"))
            self.setToolTip(self.tr("Copy this code"))
        self.show()

    def hide_until_shown(self) -> None:
        """Hide, and forget the span."""
        self._span = self.source = None
        if self._is_copied:
            self._reset.stop()
            self._show_state(is_copied=False)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._show_state(is_copied=self._is_copied)

    def _copy(self) -> None:
        if self._span is not None:
            QGuiApplication.clipboard().setText(self._span.code if self.source is None else self.source)
            self._show_state(is_copied=True)
            self._reset.start()

    def _show_state(self, *, is_copied: bool) -> None:
        self._is_copied = is_copied
        right = self.x() + self.width()
        self.setText(self.tr("Copied") if is_copied else self.tr("Copy"))
        self.setIcon(icon("check" if is_copied else "copy", self._theme.quiet_text))
        self.setFixedSize(self.sizeHint().width(), around_line(_BUTTON_PX))
        self.move(right - self.width(), self.y())

    @override
    def showEvent(self, event: QShowEvent) -> None:
        # The style of the button's window, and with it the width of the text, is known only now.
        self._show_state(is_copied=self._is_copied)
        super().showEvent(event)


def _visible_lines(span: CodeSpan, visible: QRect) -> list[QTextBlock]:
    """Return the lines of code that intersect `visible`."""
    layout = span.start.document().documentLayout()
    block, num_left = span.first, span.num_lines
    line_px = max(1.0, layout.blockBoundingRect(block).height())
    # All lines except the first have the same height, so the lines above need not be measured one by one.
    num_above = int((visible.top() - layout.blockBoundingRect(block).top()) / line_px) - 1
    if num_above > 0:
        num_above = min(num_above, num_left - 1)
        block, num_left = block.document().findBlockByNumber(block.blockNumber() + num_above), num_left - num_above
    blocks: list[QTextBlock] = []
    while num_left > 0 and block.isValid() and layout.blockBoundingRect(block).top() <= visible.bottom():
        blocks.append(block)
        block, num_left = block.next(), num_left - 1
    return blocks


_Frame = TypeVar("_Frame", CodeFrame, TableFrame)


class Frames:
    """All frames of one message."""

    def __init__(self, viewport: QWidget, theme: Theme) -> None:
        self._viewport = viewport
        self._theme = theme
        self.code: list[CodeFrame] = []
        self.tables: list[TableFrame] = []
        self._spare_code: list[CodeFrame] = []
        """Hidden frames: the next text may need as many. Otherwise they are removed a few at a time."""
        self._spare_tables: list[TableFrame] = []
        self._removing = QTimer(viewport, interval=_REMOVING_MS)
        self._removing.timeout.connect(self._remove_some)
        self._stops: list[QWidget] = []

    @property
    def bottom(self) -> int:
        """The lower edge of the lowest frame."""
        return max((frame.rect.bottom() + 1 for frame in (*self.code[-1:], *self.tables[-1:])), default=0)

    @property
    def tab_stops(self) -> list[QWidget]:
        """The widgets in the frames that take the focus by Tab, from top to bottom."""
        stops: list[tuple[int, QWidget | None]] = []
        for frame in self.code:
            stops += [(frame.rect.top(), frame.button), (frame.rect.bottom(), frame.bar)]
        stops += [(frame.rect.bottom(), frame.bar) for frame in self.tables]
        return [widget for _, widget in sorted(stops, key=itemgetter(0)) if widget is not None]

    def show(
        self, spans: Sequence[CodeSpan], tables: Sequence[QTextTable], width_px: int, *, changed_from: int = 0
    ) -> bool:
        """Place frames around these spans and tables; return whether `tab_stops` changed.

        Nothing changed in the document before the position `changed_from`.
        """
        before = self._stops
        # Frames that come now have no place yet.
        num_code, num_tables = len(self.code), len(self.tables)
        self._resize(self.code, self._spare_code, len(spans), CodeFrame)
        self._resize(self.tables, self._spare_tables, len(tables), TableFrame)
        first_table = max(0, bisect.bisect(tables, changed_from, key=QTextTable.firstPosition) - 1)
        first_table = min(first_table, num_tables)
        for number in range(first_table, len(tables)):
            self.tables[number].show(tables[number], width_px, self.tables[number - 1] if number else None)
        first_code = max(0, bisect.bisect(spans, changed_from, key=attrgetter("position")) - 1)
        first_code = min(first_code, num_code)
        for frame, span in zip(self.code[first_code:], spans[first_code:], strict=True):
            frame.show(span, width_px)
        self._stops = self.tab_stops
        return self._stops != before

    def set_source(self, source: str | None) -> None:
        """Set the text that the first Copy button copies; None means the code in its frame."""
        if self.code:
            self.code[0].button.source = source

    def drop_some(self) -> bool:
        """Remove some frames of a text that is no longer shown; return False if none was left."""
        self._resize(self.code, self._spare_code, 0, CodeFrame)
        self._resize(self.tables, self._spare_tables, 0, TableFrame)
        return self._remove_spare(_DROPPED_AT_ONCE)

    def _resize(
        self, frames: list[_Frame], spare: list[_Frame], count: int, new: Callable[[QWidget, Theme], _Frame]
    ) -> None:
        while len(frames) > count:
            spare.append(frames.pop())
            spare[-1].hide()
            if not self._removing.isActive():
                self._removing.start()
        while len(frames) < count:
            frames.append(spare.pop() if spare else new(self._viewport, self._theme))

    def _remove_some(self) -> None:
        if not self._remove_spare(_REMOVED_AT_ONCE):
            self._removing.stop()

    def _remove_spare(self, num_frames: int) -> bool:
        """Remove some hidden frames; return False if there is none."""
        for number in range(num_frames):
            spare = self._spare_code or self._spare_tables
            if not spare:
                return number > 0
            spare.pop().remove()
        return True

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for frame in (*self.code, *self.tables, *self._spare_code, *self._spare_tables):
            frame.set_theme(theme)

    def paint(self, painter: QPainter, visible: QRect) -> QRegion:
        """Draw the frames. Return the clip region for the text: everything except the hidden parts of the frames."""
        region = QRegion(visible)
        for frame in (*self.code, *self.tables):
            if frame.rect.intersects(visible):
                frame.paint(painter, visible)
                if frame.inner is None:
                    continue
                band = QRect(visible.left(), frame.rect.top(), visible.width(), frame.rect.height())
                region = region.subtracted(band).united(frame.inner.intersected(visible))
        return region

    def reveal(self, cursor: QTextCursor) -> None:
        """Scroll the code frame around a cursor sideways until the cursor is visible."""
        for frame in self.code:
            frame.reveal(cursor.block(), cursor.positionInBlock())

    def scroll_by_wheel(self, event: QWheelEvent) -> bool:
        """Scroll the frame under the mouse if the wheel turns sideways; return whether it did."""
        delta = event.pixelDelta() if not event.pixelDelta().isNull() else event.angleDelta() / 3
        point = event.position().toPoint()
        bars = (frame.bar for frame in (*self.code, *self.tables) if frame.rect.contains(point))
        bar = next(bars, None)
        if bar is None or abs(delta.x()) <= abs(delta.y()):
            return False
        bar.setValue(bar.value() - delta.x())
        return True
