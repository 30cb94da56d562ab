"""Paints a tree. Independent of scrolling, mouse and keys."""

from __future__ import annotations

from collections.abc import Callable, Collection

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPainterPath, QPen, QPolygonF

from app.costs.worker_queries import Tier
from app.model.message import Message, MessageId
from app.model.tree_layout import Spot, TreeLayout
from app.ui.theme import SMALL_PX, Theme, scaled, text_font
from app.ui.tree.tree_geometry import GAP_PX, TreeGeometry, fold_mark
from app.ui.tree.tree_marks import (
    chip_width,
    draw_chip,
    draw_dot,
    draw_halo,
    draw_pin,
    draw_ring,
    draw_star,
    draw_text,
    elbow,
)
from app.ui.tree.tree_text import first_words, here_text, role_text

_MIN_DETAIL_PX = 8
"""Dots below this size in pixels are drawn as plain points."""
_MIN_TEXT_PX = 56
_MAX_HERE_PX = 100
_TEXT_PX = 13
_LINE_PX = 18
_BEND_PX = 14
"""The maximum height above a dot at which its line bends. Above that is the text of the row before."""


class TreePicture(TreeGeometry):
    """Paints a layout with its marks and texts, in the colours of a theme."""

    def __init__(
        self, theme: Theme, message: Callable[[MessageId], Message], tier: Callable[[MessageId], Tier | None]
    ) -> None:
        super().__init__()
        self.theme = theme
        self.hits: Collection[MessageId] = ()
        self.current_id = 0
        """The spot that the keys work on; 0 for none."""
        self.hovered_id = 0
        """The spot under the mouse; 0 for none."""
        self.has_focus = False
        self._message = message
        self._tier = tier

    @property
    def _line_px(self) -> int:
        return round(_LINE_PX * self.theme.text_scale)

    @property
    def shows_detail(self) -> bool:
        """Whether dots are large enough to show where a branch is kept."""
        return self.scale.dot_px >= _MIN_DETAIL_PX

    # --- painting ------------------------------------------------------------------------------------------

    def paint(self, painter: QPainter, area: QRectF) -> None:
        """Paint the part of the tree in `area`, which is in the tree's coordinates."""
        layout = self.layout
        if layout is None:
            return
        visible = list(self.in_sight(area))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self.shows_detail:
            self._paint_points(painter, layout, visible)
            return
        self._paint_lines(painter, layout, visible, area)
        for spot, is_whole in visible:
            if is_whole:
                self._paint_dot(painter, layout, spot)
        if self.scale.num_lines:
            for spot, is_whole in visible:
                if is_whole and not spot.num_folded:
                    self._paint_cell(painter, layout, spot)
        else:
            for row in {spot.row for spot, _ in visible}:
                self._paint_row_text(painter, layout, row)

    def _paint_points(self, painter: QPainter, layout: TreeLayout, visible: list[tuple[Spot, bool]]) -> None:
        points = _Points()
        for spot, is_whole in visible:
            lane, from_lane = self._animated_lanes(spot)
            at = self.scale.position(lane, spot.row)
            is_path = layout.is_on_path(spot)
            if spot.from_lane >= 0:
                points.add_line(at, self.scale.position(from_lane, 0).x(), self.scale.row_px, is_path=is_path)
            if is_whole:
                points.add_dot(at, is_path=is_path, is_hit=spot.id in self.hits)
        points.paint(painter, self.theme, self.scale.dot_px)
        if (spot := layout.get(self.current_id)) is not None:
            at = self.scale.position(self._animated_lanes(spot)[0], spot.row)
            draw_ring(painter, at, self.scale.dot_px, self.theme.accent)

    def _paint_lines(
        self, painter: QPainter, layout: TreeLayout, visible: list[tuple[Spot, bool]], area: QRectF
    ) -> None:
        lines, trunk = QPainterPath(), QPainterPath()
        left = area.left() - self.scale.lane_px
        for spot, _ in visible:
            if spot.from_lane < 0:
                continue
            lane, from_lane = self._animated_lanes(spot)
            end = self.scale.position(lane, spot.row)
            begin = self.scale.position(from_lane, spot.row - 1)
            if begin.x() != end.x():
                # Clip long lines from the left to the visible area.
                begin.setX(max(begin.x(), min(left, end.x())))
            elbow(
                trunk if layout.is_on_path(spot) else lines, begin, end, end.y() - min(self.scale.row_px / 2, _BEND_PX)
            )
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.strokePath(lines, QPen(QColor(self.theme.control_line), 1.5))
        painter.strokePath(trunk, QPen(QColor(self.theme.accent), 3, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))

    def _paint_dot(self, painter: QPainter, layout: TreeLayout, spot: Spot) -> None:
        theme, px = self.theme, self.scale.dot_px
        at = self.scale.position(self._animated_lanes(spot)[0], spot.row)
        if spot.num_folded:
            text = fold_mark(spot)
            left = at - QPointF(chip_width(text) / 2, 0)
            edge = theme.accent if spot.id in {self.current_id, self.hovered_id} else theme.control_line
            draw_chip(painter, left, text, 200, (theme.surface, edge, theme.text))
            return
        if spot.id in self.hits:
            draw_halo(painter, at, px, theme)
        if spot.id == self.hovered_id:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.hover))
            painter.drawEllipse(at, px / 2 + 5, px / 2 + 5)
        colour = theme.accent if layout.is_on_path(spot) else theme.quiet_text
        draw_dot(painter, at, px, self._tier(spot.id), colour, theme.page)
        if spot.id == self.current_id:
            draw_ring(painter, at, px, theme.accent if self.has_focus else theme.control_line)
        message = self._message(spot.id)
        if message.starred_ms is not None:
            draw_star(painter, at + QPointF(px / 2 + 1, -px / 2 - 1), 10, theme.accent, theme.page)
        if message.pinned_ms is not None:
            draw_pin(painter, at - QPointF(px / 2 + 2, px / 2 + 1), 11, theme.accent, theme.page)
        if message.name and not self.scale.num_lines and self._labelled(layout, spot.row) != spot:
            following = layout.beside(spot, 1)
            end = self.right if following is None else self.scale.position(following.lane, 0).x() - px
            if self.scale.num_path_lines and following is None:
                end = min(end, self._text_range(layout, spot.row)[0] - 4)
            room = min(end, self.right - 4) - at.x() - px
            if room >= scaled(_MIN_TEXT_PX):
                draw_chip(painter, at + QPointF(px, 0), message.name, room, self._name_colours)

    @property
    def _name_colours(self) -> tuple[str, str, str]:
        return self.theme.accent_wash, self.theme.accent_wash, self.theme.text

    def _paint_row_text(self, painter: QPainter, layout: TreeLayout, row: int) -> None:
        """Paint the text beside a row of dots; see `_labelled`."""
        spot = self._labelled(layout, row)
        is_leaf = spot is not None and spot == layout.leaf
        if spot is None or not (self.scale.num_path_lines or is_leaf):
            return
        middle = self.scale.position(0, row).y()
        left, right = self._text_range(layout, row)
        room = right - left
        if room < scaled(_MIN_TEXT_PX):
            if is_leaf and layout.below(spot) is None:
                # The leaf's lane is free below it.
                dot, chip_px = self.scale.position(spot.lane, row), chip_width(here_text())
                # It begins at the dot: the lane on the left may have one beside it.
                at_left = min(dot.x() - self.scale.dot_px / 2, self.right - chip_px - 4)
                at = QPointF(at_left, dot.y() + self.scale.dot_px + _LINE_PX)
                draw_chip(painter, at, here_text(), _MAX_HERE_PX, self._here_colours)
            return
        box = QRectF(left, middle - self.scale.row_px / 2, room, self.scale.row_px)
        if self.scale.num_path_lines > 1:
            top = middle - self._line_px
            self._paint_heading(painter, QRectF(left, top, room, self._line_px), spot, is_leaf=is_leaf)
            box = QRectF(left, middle, room, self._line_px)
        elif not self.scale.num_path_lines:
            draw_chip(painter, QPointF(left, middle), here_text(), room, self._here_colours)
            return
        else:
            box.setLeft(left + self._paint_chips(painter, QPointF(left, middle), room, spot, is_leaf=is_leaf))
        message = self._message(spot.id)
        if box.width() >= _MIN_TEXT_PX:
            draw_text(painter, box, first_words(message), _text_font(message), self._ink(message))

    def _paint_cell(self, painter: QPainter, layout: TreeLayout, spot: Spot) -> None:
        """Paint the first lines of a message right of its dot, within its lane."""
        scale = self.scale
        at = scale.position(self._animated_lanes(spot)[0], spot.row)
        left = at.x() + scale.dot_px / 2 + GAP_PX
        room = scale.lane_px - scale.dot_px - 2 * GAP_PX
        top = at.y() - self._line_px / 2
        self._paint_heading(painter, QRectF(left, top, room, self._line_px), spot, is_leaf=spot == layout.leaf)
        message = self._message(spot.id)
        box = QRectF(left, top + self._line_px, room, scale.row_px)
        draw_text(painter, box, first_words(message), _text_font(message), self._ink(message), scale.num_lines - 1)

    def _paint_heading(self, painter: QPainter, box: QRectF, spot: Spot, *, is_leaf: bool) -> None:
        """Paint the role of a message and the name of its branch."""
        chips = self._paint_chips(painter, QPointF(box.left(), box.center().y()), box.width(), spot, is_leaf=is_leaf)
        rest = box.adjusted(chips, 0, 0, 0)
        if rest.width() >= _MIN_TEXT_PX / 2:
            role = role_text(self._message(spot.id))
            draw_text(painter, rest, role, text_font(SMALL_PX), self.theme.quiet_text)

    def _paint_chips(self, painter: QPainter, left: QPointF, room: float, spot: Spot, *, is_leaf: bool) -> float:
        """Paint “here” and the branch's name; return their width."""
        used = 0.0
        if is_leaf:
            used += draw_chip(painter, left, here_text(), room, self._here_colours) + 6
        name = self._message(spot.id).name
        if name and room - used >= _MIN_TEXT_PX:
            used += draw_chip(painter, left + QPointF(used, 0), name, room - used, self._name_colours) + 6
        return used

    @property
    def _here_colours(self) -> tuple[str, str, str]:
        return self.theme.accent, self.theme.accent, self.theme.on_accent

    def _ink(self, message: Message) -> str:
        return self.theme.text if message.role == "user" else self.theme.quiet_text


def _text_font(message: Message) -> QFont:
    font = text_font(_TEXT_PX)
    if message.role == "user":
        font.setWeight(QFont.Weight.Medium)
    font.setItalic(message.role in {"system", "note", "file"})
    return font


class _Points:
    """Dots and lines without detail, collected to be painted together: thousands may be visible."""

    def __init__(self) -> None:
        self._lines: list[QLineF] = []
        self._trunk: list[QLineF] = []
        self._dots = QPolygonF()
        self._path = QPolygonF()
        self._hits = QPolygonF()

    def add_line(self, at: QPointF, from_x: float, row_px: int, *, is_path: bool) -> None:
        """Add the line to a dot from its parent at `from_x`."""
        if at.x() == from_x:
            (self._trunk if is_path else self._lines).append(QLineF(at.x(), at.y() - row_px, at.x(), at.y()))
        else:
            bend_y = at.y() - row_px / 2
            self._lines += (QLineF(at.x(), bend_y, at.x(), at.y()), QLineF(from_x, bend_y, at.x(), bend_y))

    def add_dot(self, at: QPointF, *, is_path: bool, is_hit: bool) -> None:
        (self._path if is_path else self._dots).append(at)
        if is_hit:
            self._hits.append(at)

    def paint(self, painter: QPainter, theme: Theme, dot_px: int) -> None:
        # Siblings share a line that is drawn once for each; antialiasing would make it thicker.
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(QColor(theme.control_line), 1))
        painter.drawLines(self._lines)
        painter.setPen(QPen(QColor(theme.accent), 2))
        painter.drawLines(self._trunk)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for dots, colour, px in (
            (self._dots, theme.quiet_text, dot_px),
            (self._hits, theme.warning, dot_px + 5),
            (self._path, theme.accent, dot_px + 1),
        ):
            painter.setPen(QPen(QColor(colour), px, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawPoints(dots)
