"""All frames of a message, those of code and of tables: what shows in them, and what is hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TypeVar

from PySide6.QtCore import QRect
from PySide6.QtGui import QPainter, QRegion, QTextCursor, QTextTable, QWheelEvent
from PySide6.QtWidgets import QWidget

from app.ui.text.code_blocks import CodeSpan
from app.ui.text.code_frames import CodeFrame
from app.ui.text.table_frames import TableFrame
from app.ui.theme import Theme

_Frame = TypeVar("_Frame", CodeFrame, TableFrame)


class Frames:
    """The frames of one message."""

    def __init__(self, viewport: QWidget, theme: Theme) -> None:
        self._viewport = viewport
        self._theme = theme
        self.code: list[CodeFrame] = []
        self.tables: list[TableFrame] = []

    @property
    def bottom(self) -> int:
        """Where the lowest of them ends."""
        return max((frame.rect.bottom() + 1 for frame in (*self.code[-1:], *self.tables[-1:])), default=0)

    @property
    def tab_stops(self) -> list[QWidget]:
        """Where Tab stops among them, from top to bottom."""
        stops: list[tuple[int, QWidget | None]] = []
        for frame in self.code:
            stops += [(frame.rect.top(), frame.button), (frame.rect.bottom(), frame.bar)]
        stops += [(frame.rect.bottom(), frame.bar) for frame in self.tables]
        return [widget for _, widget in sorted(stops, key=itemgetter(0)) if widget is not None]

    def show(self, spans: Sequence[CodeSpan], tables: Sequence[QTextTable], width_px: int) -> bool:
        """Stand around these; return whether Tab stops elsewhere than before."""
        before = self.tab_stops
        self._count(self.code, len(spans), CodeFrame)
        self._count(self.tables, len(tables), TableFrame)
        for table_frame, table in zip(self.tables, tables, strict=True):
            table_frame.show(table, width_px)
        for frame, span in zip(self.code, spans, strict=True):
            frame.show(span, width_px)
        return self.tab_stops != before

    def _count(self, frames: list[_Frame], wanted: int, new: Callable[[QWidget, Theme], _Frame]) -> None:
        while len(frames) > wanted:
            frames.pop().remove()
        while len(frames) < wanted:
            frames.append(new(self._viewport, self._theme))

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for frame in (*self.code, *self.tables):
            frame.set_theme(theme)

    def paint(self, painter: QPainter, visible: QRect) -> QRegion:
        """Draw the frames; return where text may be drawn: outside of them everywhere, in them where it shows."""
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
        """Scroll the frame in which a cursor is so that its place is seen."""
        for frame in self.code:
            frame.reveal(cursor.block(), cursor.positionInBlock())

    def turn(self, event: QWheelEvent) -> bool:
        """Scroll the frame at the pointer sideways, where a wheel is turned that way; return whether there is one."""
        turned = event.pixelDelta() if not event.pixelDelta().isNull() else event.angleDelta() / 3
        place = event.position().toPoint()
        bars = (frame.bar for frame in (*self.code, *self.tables) if frame.rect.contains(place))
        bar = next(bars, None)
        if bar is None or abs(turned.x()) <= abs(turned.y()):
            return False
        bar.setValue(bar.value() - turned.x())
        return True
