"""Where a tree's messages, and the words beside them, stand when it is drawn; it paints nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from PySide6.QtCore import QPointF, QRectF

from app.model.message import MessageId
from app.model.tree_layout import Spot, TreeLayout
from app.ui.tree.tree_marks import chip_width
from app.ui.tree.tree_scale import NORMAL, SCALES, Scale

GAP_PX = 12
"""Between a dot and its words."""
_GOOD_WORDS_PX = 96
"""Where there is less room behind the last dot, words may stand before the second one."""
_MOST_COLUMNS = 4
"""Words begin right of so many lanes, though a row may need fewer: they stand in a column."""
_REACH_LANES = 2
_NO_LANES: Mapping[MessageId, float] = {}


class TreePlaces:
    """A layout at a scale, perhaps on its way from where it stood before."""

    def __init__(self) -> None:
        self.scale: Scale = SCALES[NORMAL]
        self.layout: TreeLayout | None = None
        self.right = 0.0
        """Where words must end: the edge of what is in sight."""
        self.progress = 1.0
        """How far a change has gone."""
        self.lanes_before: Mapping[MessageId, float] = _NO_LANES
        """Where spots stood before that change."""

    def in_sight(self, area: QRectF) -> Iterator[tuple[Spot, bool]]:
        """Yield the spots in an area from top to bottom, and whether each is more than the end of a line in it."""
        layout = self.layout
        if layout is None or not layout.rows:
            return
        first_row = max(math.floor(self.scale.row_at(area.top())) - 1, 0)
        last_row = min(math.ceil(self.scale.row_at(area.bottom())) + 1, len(layout.rows) - 1)
        # A dot's words stand right of it, and a mark may be larger than a lane is wide.
        first_lane = max(math.floor(self.scale.lane_at(area.left())) - _REACH_LANES, 0)
        last_lane = math.ceil(self.scale.lane_at(area.right())) + _REACH_LANES - 1
        if self.progress < 1:
            first_lane, last_lane = 0, layout.num_lanes
        for row in range(first_row, last_row + 1):
            for spot in layout.within(row, first_lane, last_lane):
                yield spot, spot.lane <= last_lane

    def spot_at(self, place: QPointF) -> Spot | None:
        """Return the spot whose dot or words are at a place."""
        layout = self.layout
        row = round(self.scale.row_at(place.y()))
        if layout is None or not 0 <= row < len(layout.rows):
            return None
        lane = self.scale.lane_at(place.x())
        if self.scale.num_lines:
            lane = max(math.floor(lane + 0.1), 0)
        spot = layout.nearest(row, lane)
        if self.scale.num_lines:
            return spot if spot.lane == lane else None
        if abs(self.scale.place(spot.lane, row).x() - place.x()) <= max(self.scale.lane_px, 28) / 2:
            return spot
        owner = self._labelled(layout, row)
        left, right = self._words_between(layout, row)
        is_on_words = bool(self.scale.num_path_lines) and left - GAP_PX <= place.x() <= right + GAP_PX
        return owner if is_on_words else None

    def _labelled(self, layout: TreeLayout, row: int) -> Spot | None:
        """The spot that the words beside a row of dots are of: of the visible branch, or the only one."""
        spots = layout.rows[row]
        return spots[0] if row < len(layout.path) or (len(spots) == 1 and not spots[0].num_folded) else None

    def _words_between(self, layout: TreeLayout, row: int) -> tuple[float, float]:
        """Where the words beside a row of dots begin and must end: behind the last dot, else before the second."""
        spots = layout.rows[row]
        last, column = spots[-1], min(layout.num_lanes, _MOST_COLUMNS) - 1
        left = self._behind(max(last.lane, column))
        left += chip_width(fold_mark(last)) / 2 if last.num_folded else 0
        right = self.right - GAP_PX
        if right - left < _GOOD_WORDS_PX and len(spots) > 1 and self.scale.num_path_lines == 1:
            before = min(self.scale.place(spots[1].lane, row).x() - self.scale.dot_px / 2 - GAP_PX, right)
            if before - self._behind(spots[0].lane) > right - left:
                return self._behind(spots[0].lane), before
        return left, right

    def _behind(self, lane: int) -> float:
        """Where words may begin right of a dot."""
        return self.scale.place(lane, 0).x() + self.scale.dot_px / 2 + GAP_PX

    def _moved(self, spot: Spot) -> tuple[float, float]:
        """Where a spot is on its way, and where the one above it is."""
        before, progress = self.lanes_before, self.progress
        if progress >= 1:
            return spot.lane, spot.from_lane
        above = before.get(spot.parent_id or 0, spot.from_lane)
        # What is new grows out of what is above it.
        begin = before.get(spot.id, above if spot.from_lane >= 0 else spot.lane)
        return begin + (spot.lane - begin) * progress, above + (spot.from_lane - above) * progress


def fold_mark(spot: Spot) -> str:
    """What stands where versions are folded away."""
    return f"+{spot.num_folded}"
