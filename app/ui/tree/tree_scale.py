"""How large a tree is drawn: steps from a view of the whole to one in which every message's first lines are read."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QPointF, QSizeF

MARGIN_PX = 24
DOT_PX = 11


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
