"""The geometry of a drawn tree: scales, positions of dots and texts, the animation between two layouts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSizeF, QVariantAnimation, Signal
from PySide6.QtWidgets import QWidget

from app.model.message import MessageId
from app.model.tree_layout import Spot, TreeLayout
from app.ui.theme import is_animated
from app.ui.tree.tree_marks import chip_width

MARGIN_PX = 24
DOT_PX = 11
GAP_PX = 12
"""The distance between a dot and its text."""
_GOOD_TEXT_PX = 96
"""If there is less width right of the last dot, the text may go between the first two dots."""
_MAX_TEXT_LANES = 4
"""Texts begin right of this many lanes even in rows with fewer, so that they form a column."""
_REACH_LANES = 2
_NO_LANES: Mapping[MessageId, float] = {}
_CHANGE_MS = 120


class Scale(NamedTuple):
    """The size at which a tree is drawn: distances in pixels, and the number of text lines."""

    lane_px: int
    row_px: int
    dot_px: int
    num_path_lines: int = 0
    """The number of text lines for each message of the visible branch, right of all dots in its row."""
    num_lines: int = 0
    """The number of text lines for every message, in the message's own lane."""

    def position(self, lane: float, row: float) -> QPointF:
        """Return the centre of a dot relative to the tree's upper left corner."""
        return QPointF(MARGIN_PX + lane * self.lane_px, MARGIN_PX + row * self.row_px)

    def lane_at(self, x: float) -> float:
        return (x - MARGIN_PX) / self.lane_px

    def row_at(self, y: float) -> float:
        return (y - MARGIN_PX) / self.row_px

    def for_text(self, text_scale: float) -> Scale:
        """Return this scale adapted to the text size of the theme."""
        if not self.num_path_lines and not self.num_lines:
            return self
        return self._replace(lane_px=round(self.lane_px * text_scale), row_px=round(self.row_px * text_scale))

    @property
    def below_px(self) -> int:
        """The height below the last row for the label “here”, which may be below its dot."""
        return MARGIN_PX if self.num_path_lines else 0

    def size(self, num_lanes: int, num_rows: int) -> QSizeF:
        """Return the size of a tree without its texts."""
        corner = self.position(max(num_lanes - 1, 0), max(num_rows - 1, 0))
        return QSizeF(corner.x() + MARGIN_PX, corner.y() + MARGIN_PX)


SCALES = (
    Scale(2, 3, 2),
    Scale(3, 4, 3),
    Scale(5, 7, 4),
    Scale(8, 11, 6),
    Scale(12, 16, 8),
    Scale(16, 21, 9),
    Scale(24, 28, DOT_PX, num_path_lines=1),
    Scale(28, 48, DOT_PX, num_path_lines=2),
    Scale(148, 64, DOT_PX, num_lines=3),
    Scale(232, 80, DOT_PX, num_lines=4),
)
NORMAL = 6
"""The index in `SCALES` at which a tree is first shown."""


def fitting_scale(num_lanes: int, num_rows: int, room: QSizeF) -> int:
    """Return the index of the largest scale up to `NORMAL` at which a tree fits; 0 if none does."""
    for index in range(NORMAL, 0, -1):
        size = SCALES[index].size(num_lanes, num_rows)
        if size.width() <= room.width() and size.height() <= room.height():
            return index
    return 0


class TreeGeometry:
    """Positions in a layout at a scale, also during the animation from another layout."""

    def __init__(self) -> None:
        self.scale: Scale = SCALES[NORMAL]
        self.layout: TreeLayout | None = None
        self.right = 0.0
        """The right edge of the visible area, where texts must end."""
        self.progress = 1.0
        """The progress of the animation, from 0 to 1."""
        self.lanes_before: Mapping[MessageId, float] = _NO_LANES
        """The lanes of the spots before the animation."""

    def in_sight(self, area: QRectF) -> Iterator[tuple[Spot, bool]]:
        """Yield the spots in an area from top to bottom; False if only the line to a spot reaches into it."""
        layout = self.layout
        if layout is None or not layout.rows:
            return
        first_row = max(math.floor(self.scale.row_at(area.top())) - 1, 0)
        last_row = min(math.ceil(self.scale.row_at(area.bottom())) + 1, len(layout.rows) - 1)
        # Texts are right of their dots, and a mark may be wider than a lane.
        first_lane = max(math.floor(self.scale.lane_at(area.left())) - _REACH_LANES, 0)
        last_lane = math.ceil(self.scale.lane_at(area.right())) + _REACH_LANES - 1
        if self.progress < 1:
            first_lane, last_lane = 0, layout.num_lanes
        for row in range(first_row, last_row + 1):
            for spot in layout.within(row, first_lane, last_lane):
                yield spot, spot.lane <= last_lane

    def spot_at(self, point: QPointF) -> Spot | None:
        """Return the spot whose dot or text is at a point."""
        layout = self.layout
        row = round(self.scale.row_at(point.y()))
        if layout is None or not 0 <= row < len(layout.rows):
            return None
        lane = self.scale.lane_at(point.x())
        if self.scale.num_lines:
            lane = max(math.floor(lane + 0.1), 0)
        spot = layout.nearest(row, lane)
        if self.scale.num_lines:
            return spot if spot.lane == lane else None
        if abs(self.scale.position(spot.lane, row).x() - point.x()) <= max(self.scale.lane_px, 28) / 2:
            return spot
        owner = self._labelled(layout, row)
        left, right = self._text_range(layout, row)
        is_on_text = bool(self.scale.num_path_lines) and left - GAP_PX <= point.x() <= right + GAP_PX
        return owner if is_on_text else None

    def _labelled(self, layout: TreeLayout, row: int) -> Spot | None:
        """Return the spot whose text is beside a row: the one on the visible branch, or the only one."""
        spots = layout.rows[row]
        is_alone = len(spots) == 1 and not spots[0].num_folded
        return layout.path_spot(row) or (spots[0] if is_alone else None)

    def _text_range(self, layout: TreeLayout, row: int) -> tuple[float, float]:
        """Return the left and right limit of a row's text: right of the last dot, or between the first two dots."""
        spots = layout.rows[row]
        last, column = spots[-1], min(layout.num_lanes, _MAX_TEXT_LANES) - 1
        left = self._text_left(max(last.lane, column))
        left += chip_width(fold_mark(last)) / 2 if last.num_folded else 0
        right = self.right - GAP_PX
        is_first = len(spots) > 1 and self._labelled(layout, row) == spots[0]
        if right - left < _GOOD_TEXT_PX and is_first and self.scale.num_path_lines == 1:
            before = min(self.scale.position(spots[1].lane, row).x() - self.scale.dot_px / 2 - GAP_PX, right)
            if before - self._text_left(spots[0].lane) > right - left:
                return self._text_left(spots[0].lane), before
        return left, right

    def _text_left(self, lane: int) -> float:
        """Return the x coordinate at which text right of a dot may begin."""
        return self.scale.position(lane, 0).x() + self.scale.dot_px / 2 + GAP_PX

    def _animated_lanes(self, spot: Spot) -> tuple[float, float]:
        """Return the lanes of a spot and of its parent at this moment of the animation."""
        before, progress = self.lanes_before, self.progress
        if progress >= 1:
            return spot.lane, spot.from_lane
        above = before.get(spot.parent_id or 0, spot.from_lane)
        # New spots start at their parent.
        begin = before.get(spot.id, above if spot.from_lane >= 0 else spot.lane)
        return begin + (spot.lane - begin) * progress, above + (spot.from_lane - above) * progress


def fold_mark(spot: Spot) -> str:
    """Return the label of a spot that stands for folded siblings."""
    return f"+{spot.num_folded}"


class TreeAnimation(QVariantAnimation):
    """Moves the spots of a tree to their new lanes, unless the user prefers less motion."""

    moved = Signal()

    def __init__(self, geometry: TreeGeometry, canvas: QWidget) -> None:
        super().__init__(canvas)
        self._geometry = geometry
        self._canvas = canvas
        self.setStartValue(0.0)
        self.setEndValue(1.0)
        self.setDuration(_CHANGE_MS)
        self.valueChanged.connect(self._on_value)

    def begin(self, before: TreeLayout) -> None:
        """Start from the lanes of the layout before."""
        if self._canvas.isVisible() and is_animated(self._canvas):
            self._geometry.lanes_before = {spot.id: spot.lane for row in before.rows for spot in row}
            self._geometry.progress = 0.0
            self.start()

    def _on_value(self, progress: float) -> None:
        self._geometry.progress = progress
        if progress >= 1:
            self._geometry.lanes_before = {}
        self.moved.emit()
