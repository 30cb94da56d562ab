"""A whole tree in a small box, with a frame around the visible part that can be dragged."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from app.model.tree_layout import TreeLayout
from app.ui.theme import Theme
from app.ui.tree.tree_canvas import TreeCanvas

_MARGIN_PX = 8
_MAX_STEP_PX = 6.0
_MIN_FRAME_PX = 8
_STRIP_PX = 40
_BOX_PX = 84
_NO_LIMIT = 16_777_215
_STRIP_RATIO = 4
"""A tree with this many times more rows than lanes is shown as a strip, others as a box."""


class TreeOverview(QWidget):
    """Shows the whole tree of a canvas. Hidden while the canvas shows the whole tree."""

    def __init__(self, canvas: TreeCanvas, theme: Theme) -> None:
        super().__init__()
        self._canvas = canvas
        self._theme = theme
        self._pixmap: QPixmap | None = None
        self.setAccessibleName(self.tr("Overview of the tree"))
        self.setToolTip(self.tr("Drag to see another part of the tree"))
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        canvas.laid_out.connect(self._discard_pixmap)
        canvas.sight_changed.connect(self._on_sight)

    @property
    def is_strip(self) -> bool:
        """Whether the overview should be beside the canvas, not below it."""
        layout = self._canvas.layout_shown
        return layout is not None and len(layout.rows) >= _STRIP_RATIO * layout.num_lanes

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._discard_pixmap()

    def fit_side(self) -> None:
        """Set the size limits of a strip or a box."""
        is_strip = self.is_strip
        self.setMaximumSize(_STRIP_PX if is_strip else _NO_LIMIT, _NO_LIMIT if is_strip else _BOX_PX)
        self.setMinimumSize(_STRIP_PX if is_strip else 0, 0 if is_strip else _BOX_PX)

    # --- geometry ------------------------------------------------------------------------------------------

    def _steps(self, layout: TreeLayout) -> tuple[float, float]:
        """Return the distances between lanes and between rows."""
        across = (self.width() - 2 * _MARGIN_PX) / max(layout.num_lanes - 1, 1)
        down = (self.height() - 2 * _MARGIN_PX) / max(len(layout.rows) - 1, 1)
        return min(across, _MAX_STEP_PX), min(down, _MAX_STEP_PX)

    def _frame(self, layout: TreeLayout) -> QRectF:
        """Return the frame around the visible part."""
        scale, visible = self._canvas.picture.scale, self._canvas.area_in_sight()
        across, down = self._steps(layout)
        begin = QPointF(scale.lane_at(visible.left()) * across, scale.row_at(visible.top()) * down)
        end = QPointF(scale.lane_at(visible.right()) * across, scale.row_at(visible.bottom()) * down)
        frame = QRectF(begin, end).translated(_MARGIN_PX, _MARGIN_PX)
        frame.setWidth(max(frame.width(), _MIN_FRAME_PX))
        frame.setHeight(max(frame.height(), _MIN_FRAME_PX))
        return frame.intersected(QRectF(self.rect()).adjusted(2, 2, -2, -2))

    def _go_to(self, point: QPointF) -> None:
        layout = self._canvas.layout_shown
        if layout is not None:
            across, down = self._steps(layout)
            self._canvas.centre_on((point.x() - _MARGIN_PX) / across, (point.y() - _MARGIN_PX) / down)

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
        if self._pixmap is None or self._pixmap.size() != size:
            self._pixmap = QPixmap(size)
            self._pixmap.setDevicePixelRatio(self.devicePixelRatioF())
            self._draw_tree(self._pixmap, layout)
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        wash = QColor(self._theme.accent)
        wash.setAlphaF(0.12)
        painter.setBrush(wash)
        painter.setPen(QPen(QColor(self._theme.accent), 1.5))
        painter.drawRoundedRect(self._frame(layout), 3, 3)
        painter.end()

    def _draw_tree(self, pixmap: QPixmap, layout: TreeLayout) -> None:
        pixmap.fill(QColor(self._theme.sunken))
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
                    line = QLineF(_MARGIN_PX + spot.from_lane * across, above, x, above)
                    (path if layout.is_on_path(spot) else rest).append(line)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for lines, colour, width in ((rest, self._theme.control_line, 1.0), (path, self._theme.accent, 2.0)):
            painter.setPen(QPen(QColor(colour), width))
            painter.drawLines(lines)
        painter.end()

    def _discard_pixmap(self) -> None:
        self._pixmap = None
        self.update()

    def _on_sight(self) -> None:
        self.setVisible(self._canvas.can_scroll)
        self.update()
