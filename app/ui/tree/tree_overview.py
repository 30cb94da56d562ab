"""A whole tree in a small box, with a frame around what is in sight; the frame can be dragged."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from app.model.tree_layout import TreeLayout
from app.ui.theme import Theme
from app.ui.tree.tree_canvas import TreeCanvas

_MARGIN_PX = 8
_MOST_STEP_PX = 6.0
_LEAST_FRAME_PX = 8
_STRIP_PX = 40
_BOX_PX = 84
_NO_LIMIT = 16_777_215
_LONG = 4
"""A tree with so many times more rows than lanes is shown as a strip, any other as a box."""


class TreeOverview(QWidget):
    """Shows a canvas's tree; it hides where all of that is in sight."""

    def __init__(self, canvas: TreeCanvas, theme: Theme) -> None:
        super().__init__()
        self._canvas = canvas
        self._theme = theme
        self._drawn: QPixmap | None = None
        self.setAccessibleName(self.tr("Overview of the tree"))
        self.setToolTip(self.tr("Drag to see another part of the tree"))
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        canvas.laid_out.connect(self._forget)
        canvas.sight_changed.connect(self._on_sight)

    @property
    def is_strip(self) -> bool:
        """Whether it wants to stand beside the canvas, not below it."""
        layout = self._canvas.layout_shown
        return layout is not None and len(layout.rows) >= _LONG * layout.num_lanes

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._forget()

    def fit_side(self) -> None:
        """Take the room that a strip or a box needs."""
        is_strip = self.is_strip
        self.setMaximumSize(_STRIP_PX if is_strip else _NO_LIMIT, _NO_LIMIT if is_strip else _BOX_PX)
        self.setMinimumSize(_STRIP_PX if is_strip else 0, 0 if is_strip else _BOX_PX)

    # --- where things are ----------------------------------------------------------------------------------

    def _steps(self, layout: TreeLayout) -> tuple[float, float]:
        """How far two lanes and two rows are apart."""
        across = (self.width() - 2 * _MARGIN_PX) / max(layout.num_lanes - 1, 1)
        down = (self.height() - 2 * _MARGIN_PX) / max(len(layout.rows) - 1, 1)
        return min(across, _MOST_STEP_PX), min(down, _MOST_STEP_PX)

    def _frame(self, layout: TreeLayout) -> QRectF:
        """What is in sight."""
        scale, seen = self._canvas.picture.scale, self._canvas.area_in_sight()
        across, down = self._steps(layout)
        begin = QPointF(scale.lane_at(seen.left()) * across, scale.row_at(seen.top()) * down)
        end = QPointF(scale.lane_at(seen.right()) * across, scale.row_at(seen.bottom()) * down)
        frame = QRectF(begin, end).translated(_MARGIN_PX, _MARGIN_PX)
        frame.setWidth(max(frame.width(), _LEAST_FRAME_PX))
        frame.setHeight(max(frame.height(), _LEAST_FRAME_PX))
        return frame.intersected(QRectF(self.rect()).adjusted(2, 2, -2, -2))

    def _go_to(self, place: QPointF) -> None:
        layout = self._canvas.layout_shown
        if layout is not None:
            across, down = self._steps(layout)
            self._canvas.show_middle((place.x() - _MARGIN_PX) / across, (place.y() - _MARGIN_PX) / down)

    # --- events --------------------------------------------------------------------------------------------

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._go_to(event.position())

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._go_to(event.position())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        layout = self._canvas.layout_shown
        if layout is None:
            return
        size = self.size() * self.devicePixelRatioF()
        if self._drawn is None or self._drawn.size() != size:
            self._drawn = QPixmap(size)
            self._drawn.setDevicePixelRatio(self.devicePixelRatioF())
            self._draw(self._drawn, layout)
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._drawn)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        wash = QColor(self._theme.accent)
        wash.setAlphaF(0.12)
        painter.setBrush(wash)
        painter.setPen(QPen(QColor(self._theme.accent), 1.5))
        painter.drawRoundedRect(self._frame(layout), 3, 3)
        painter.end()

    def _draw(self, drawn: QPixmap, layout: TreeLayout) -> None:
        drawn.fill(QColor(self._theme.sunken))
        across, down = self._steps(layout)
        rest: list[QLineF] = []
        path: list[QLineF] = []
        for row, spots in enumerate(layout.rows):
            y = _MARGIN_PX + row * down
            for spot in spots:
                x = _MARGIN_PX + spot.lane * across
                above = y - down if spot.from_lane >= 0 else y
                (path if layout.is_on_path(spot) else rest).append(QLineF(x, above, x, y + 0.5))
                if spot.from_lane not in {-1, spot.lane}:
                    rest.append(QLineF(_MARGIN_PX + spot.from_lane * across, above, x, above))
        painter = QPainter(drawn)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for lines, colour, wide in ((rest, self._theme.control_line, 1.0), (path, self._theme.accent, 2.0)):
            painter.setPen(QPen(QColor(colour), wide))
            painter.drawLines(lines)
        painter.end()

    def _forget(self) -> None:
        self._drawn = None
        self.update()

    def _on_sight(self) -> None:
        self.setVisible(self._canvas.can_scroll)
        self.update()
