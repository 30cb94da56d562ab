"""Where the messages of a tree are drawn: the scales, the positions, the motion between two layouts."""

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
"""Between a dot and its words."""
_GOOD_WORDS_PX = 96
"""Where there is less room behind the last dot, words may stand before the second one."""
_MOST_COLUMNS = 4
"""Words begin right of so many lanes, though a row may need fewer: they stand in a column."""
_REACH_LANES = 2
_NO_LANES: Mapping[MessageId, float] = {}
_CHANGE_MS = 120


class Scale(NamedTuple):
    """Distances in pixels, and who is labelled."""

    lane_px: int
    row_px: int
    dot_px: int
    num_path_lines: int = 0
    """Lines of text beside each message of the visible branch, right of all dots of its row."""
    num_lines: int = 0
    """Lines of text beside every dot, in its own lane."""

    def place(self, lane: float, row: float) -> QPointF:
        """Return where the middle of a dot is, from the tree's upper left corner."""
        return QPointF(MARGIN_PX + lane * self.lane_px, MARGIN_PX + row * self.row_px)

    def lane_at(self, x: float) -> float:
        return (x - MARGIN_PX) / self.lane_px

    def row_at(self, y: float) -> float:
        return (y - MARGIN_PX) / self.row_px

    def for_text(self, text_scale: float) -> Scale:
        """Return this scale for text of another size: where words are read they need more room, or less."""
        if not self.num_path_lines and not self.num_lines:
            return self
        return self._replace(lane_px=round(self.lane_px * text_scale), row_px=round(self.row_px * text_scale))

    @property
    def below_px(self) -> int:
        """What may stand under a dot: where there is no room beside it, “here” does."""
        return MARGIN_PX if self.num_path_lines else 0

    def size(self, num_lanes: int, num_rows: int) -> QSizeF:
        """Return the room that the dots of a tree take, their labels not counted."""
        corner = self.place(max(num_lanes - 1, 0), max(num_rows - 1, 0))
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
"""The place in `SCALES` of the one that a tree is first shown at."""


def fitting(num_lanes: int, num_rows: int, room: QSizeF) -> int:
    """Return the place of the largest scale up to the normal one at which a tree fits, else of the smallest."""
    for index in range(NORMAL, 0, -1):
        size = SCALES[index].size(num_lanes, num_rows)
        if size.width() <= room.width() and size.height() <= room.height():
            return index
    return 0


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


class TreeMotion(QVariantAnimation):
    """Tells the picture how far they are."""

    moved = Signal()

    def __init__(self, picture: TreePlaces, canvas: QWidget) -> None:
        super().__init__(canvas)
        self._picture = picture
        self._canvas = canvas
        self.setStartValue(0.0)
        self.setEndValue(1.0)
        self.setDuration(_CHANGE_MS)
        self.valueChanged.connect(self._on_value)

    def begin(self, before: TreeLayout) -> None:
        """Let what stood elsewhere go to where it stands now."""
        if self._canvas.isVisible() and is_animated(self._canvas):
            self._picture.lanes_before = {spot.id: spot.lane for row in before.rows for spot in row}
            self._picture.progress = 0.0
            self.start()

    def _on_value(self, progress: float) -> None:
        self._picture.progress = progress
        if progress >= 1:
            self._picture.lanes_before = {}
        self.moved.emit()
