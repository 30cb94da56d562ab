"""A scroll area that shows a tree and zooms it. Independent of mouse and keys."""

from __future__ import annotations

from collections.abc import Callable, Collection

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame
from typing_extensions import override

from app.costs.worker_queries import Cost, Tier
from app.model.message import Message, MessageId
from app.model.tree import Choices, Tree
from app.model.tree_layout import Spot, TreeLayout
from app.ui.theme import Theme
from app.ui.tree.tree_geometry import MARGIN_PX, NORMAL, SCALES, TreeAnimation, fitting_scale
from app.ui.tree.tree_picture import TreePicture
from app.ui.tree.tree_text import accessible_text, fold_text


class TreeCanvas(QAbstractScrollArea):
    """Shows one tree and its current spot, on which the keys work. Only the visible part is painted."""

    current_changed = Signal(int)
    """The id of the new current message; 0 for none."""
    sight_changed = Signal()
    """Another part of the tree is visible."""
    laid_out = Signal()
    """There is a new layout."""

    def __init__(
        self,
        theme: Theme,
        message: Callable[[MessageId], Message],
        cost: Callable[[MessageId], Cost | None],
        tier: Callable[[MessageId], Tier | None],
    ) -> None:
        super().__init__()
        self.setObjectName("tree")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.message = message
        self.cost = cost
        self.picture = TreePicture(theme, message, tier)
        self._tree: Tree | None = None
        self._num_messages = 0
        self._choices: Choices = {}
        self._unfolded: set[MessageId] = set()
        """Messages whose folded children the user has unfolded."""
        self._scale_index = NORMAL
        self._animation = TreeAnimation(self.picture, self)
        self._animation.moved.connect(self.viewport().update)

    # --- what is shown -------------------------------------------------------------------------------------

    @property
    def layout_shown(self) -> TreeLayout | None:
        return self.picture.layout

    def show_tree(self, tree: Tree | None, choices: Choices) -> None:
        """Show a tree. If it is a new state of the tree that is shown already, the scroll position is kept."""
        before, leaf, current = self.picture.layout, self._leaf(), self.current
        visible = {spot for spot in (leaf, current) if spot is not None and self.is_in_sight(spot)}
        is_same = before is not None and before.top is not None and tree is not None and before.top.id in tree
        if not self._grow(tree, choices):
            if not is_same:
                self._unfolded.clear()
                self._scale_index = NORMAL
                self.picture.current_id = 0
            self._lay_out(tree, choices, before if is_same else None)
        after = self._leaf()
        if self.current is None or (current == leaf and is_same):
            # The current spot follows the end of the branch.
            self._set_current_spot(after)
        self._update_ranges()
        if after is not None and (leaf in visible or not is_same):
            self.reveal(after)
        if self.current is not None and current in visible:
            self.reveal(self.current)
        self.viewport().update()
        self.sight_changed.emit()

    def set_hits(self, hits: Collection[MessageId]) -> None:
        """Highlight the messages that a search has found, and unfold them."""
        self.picture.hits = frozenset(hits)
        layout = self.picture.layout
        if layout is not None and any(hit not in layout for hit in hits):
            self._lay_out(self._tree, self._choices, layout)
            self._update_ranges()
        self.viewport().update()

    def set_theme(self, theme: Theme) -> None:
        self.picture.theme = theme
        # The text size may be different.
        self._update_ranges()
        self.viewport().update()

    def set_current(self, message_id: MessageId) -> None:
        """Make a message current, and scroll to it."""
        layout = self.picture.layout
        spot = layout.get(message_id) if layout is not None else None
        if spot is not None:
            self._set_current_spot(spot)
            self.reveal(spot)

    @property
    def current(self) -> Spot | None:
        """The current spot, which the keys work on."""
        return None if self.picture.layout is None else self.picture.layout.get(self.picture.current_id)

    def unfold(self, fold: Spot) -> None:
        """Show the messages of a fold, and make the first of them current."""
        layout, tree = self.picture.layout, self._tree
        if layout is None or tree is None or fold.parent_id is None:
            return
        first = next(child for child in tree.children(fold.parent_id) if child not in layout)
        self._unfolded.add(fold.parent_id)
        self._lay_out(tree, self._choices, layout)
        self._update_ranges()
        self.set_current(first)
        self.sight_changed.emit()

    def name_of(self, spot: Spot) -> str:
        """Return the accessible name of a spot."""
        if spot.num_folded or self._tree is None:
            return fold_text(spot.num_folded)
        return accessible_text(self.message(spot.id), self._tree.siblings(spot.id))

    def area_in_sight(self) -> QRectF:
        """Return the visible area in the tree's coordinates."""
        return self._area(self.viewport().rect())

    @property
    def can_scroll(self) -> bool:
        return self.horizontalScrollBar().maximum() > 0 or self.verticalScrollBar().maximum() > 0

    def centre_on(self, lane: float, row: float) -> None:
        """Scroll so that a position is in the middle."""
        corner = self.picture.scale.position(lane, row) - QPointF(self.viewport().rect().center())
        self.horizontalScrollBar().setValue(round(corner.x()))
        self.verticalScrollBar().setValue(round(corner.y()))

    def in_sight(self) -> list[MessageId]:
        """Return the messages whose dots are visible and large enough to show where they are kept."""
        spots = [spot for spot, is_whole in self.picture.in_sight(self.area_in_sight()) if is_whole]
        return [spot.id for spot in spots if not spot.num_folded] if self.picture.shows_detail else []

    def is_in_sight(self, spot: Spot) -> bool:
        return self.area_in_sight().contains(self.picture.scale.position(spot.lane, spot.row))

    def rect_of(self, spot: Spot) -> QRect:
        """Return the rectangle of a spot's dot in the viewport."""
        side = max(self.picture.scale.dot_px, 8) + 8
        rect = QRect(0, 0, side, side)
        rect.moveCenter((self.picture.scale.position(spot.lane, spot.row) - QPointF(self._offset())).toPoint())
        return rect

    def _leaf(self) -> Spot | None:
        return None if self.picture.layout is None else self.picture.layout.leaf

    def _grow(self, tree: Tree | None, choices: Choices) -> bool:
        """Extend the layout by messages at the end of the visible branch; return False if more has changed."""
        layout = self.picture.layout
        if layout is None or tree is None or tree is not self._tree or not layout.path:
            return False
        path = [message.id for message in tree.path(choices) if message.role != "root"]
        added = path[len(layout.path) :]
        is_grown = bool(added) and len(tree) == self._num_messages + len(added) and path[: -len(added)] == layout.path
        self._choices = choices
        self._num_messages = len(tree)
        return is_grown and all(layout.grow(message_id) for message_id in added)

    def _lay_out(self, tree: Tree | None, choices: Choices, before: TreeLayout | None) -> None:
        """Make a new layout. The spots move there from their lanes in the layout `before`; None means no animation."""
        self._tree, self._choices = tree, choices
        self._num_messages = 0 if tree is None else len(tree)
        wanted = {*self.picture.hits, self.picture.current_id}
        self.picture.layout = None if tree is None else TreeLayout(tree, choices, wanted, self._unfolded)
        if self.picture.layout is not None and not self.picture.layout.rows:
            self.picture.layout = None
        if before is not None:
            self._animation.begin(before)
        self.laid_out.emit()

    # --- scrolling and zooming -----------------------------------------------------------------------------

    def zoom(self, step: int, at: QPointF | None = None) -> None:
        """Zoom in (`step` 1) or out (-1); the content at the point `at` of the viewport stays there."""
        self._zoom_to(self._scale_index + step, at)

    def fit(self) -> None:
        """Zoom out until the whole tree is visible, if possible."""
        layout = self.picture.layout
        if layout is not None:
            self._zoom_to(fitting_scale(layout.num_lanes, len(layout.rows), QSizeF(self.viewport().size())))

    def reveal(self, spot: Spot) -> None:
        """Scroll as little as needed to make a spot and its surroundings visible."""
        point = self.picture.scale.position(spot.lane, spot.row).toPoint()
        area = self.viewport().rect().translated(self._offset())
        side, below = MARGIN_PX if spot.lane == 0 else 2 * MARGIN_PX, self.picture.scale.below_px
        for bar, at, begin, end, margin in (
            (self.horizontalScrollBar(), point.x(), area.left(), area.right(), side),
            (self.verticalScrollBar(), point.y(), area.top(), area.bottom() - below, MARGIN_PX),
        ):
            if at - margin < begin:
                bar.setValue(at - margin)
            elif at + margin > end:
                bar.setValue(bar.value() + at + margin - end)

    def _zoom_to(self, index: int, at: QPointF | None = None) -> None:
        index = min(max(index, 0), len(SCALES) - 1)
        layout = self.picture.layout
        if layout is None or index == self._scale_index:
            return
        current, before = self.current, self.picture.scale
        if at is None:
            is_visible = current is not None and self.is_in_sight(current)
            at = QPointF((self.rect_of(current) if is_visible and current else self.viewport().rect()).center())
        point = at + QPointF(self._offset())
        lane, row = before.lane_at(point.x()), before.row_at(point.y())
        self._scale_index = index
        self._update_ranges()
        offset = (self.picture.scale.position(lane, row) - at).toPoint()
        self.horizontalScrollBar().setValue(offset.x())
        self.verticalScrollBar().setValue(offset.y())
        self.viewport().update()
        self.sight_changed.emit()

    def _update_ranges(self) -> None:
        layout, room = self.picture.layout, self.viewport().size()
        self.picture.scale = SCALES[self._scale_index].for_text(self.picture.theme.text_scale)
        scale = self.picture.scale
        size = scale.size(layout.num_lanes, len(layout.rows)) if layout is not None else QSizeF()
        width = round(size.width()) + (scale.lane_px if scale.num_lines else 0)
        for bar, needed_px, room_px in (
            (self.horizontalScrollBar(), width, room.width()),
            (self.verticalScrollBar(), round(size.height()) + scale.below_px, room.height()),
        ):
            bar.setRange(0, max(needed_px - room_px, 0))
            bar.setPageStep(room_px)
            bar.setSingleStep(max(scale.row_px, 16))

    def _offset(self) -> QPoint:
        return QPoint(self.horizontalScrollBar().value(), self.verticalScrollBar().value())

    def _area(self, rect: QRect) -> QRectF:
        """Return a rectangle of the viewport in the tree's coordinates."""
        return QRectF(rect.translated(self._offset()))

    @override
    def scrollContentsBy(self, dx: int, dy: int) -> None:
        if dx and self.picture.shows_detail:
            # Texts end at the edge of the viewport, so they all change.
            self.viewport().update()
        else:
            self.viewport().scroll(dx, dy)
        self.sight_changed.emit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        current, before = self.current, QRect(QPoint(), event.oldSize())
        # The current spot stays visible, also if the tree was hidden while the window was resized.
        was_visible = current is not None and (not before.isValid() or before.contains(self.rect_of(current).center()))
        self._update_ranges()
        if current is not None and was_visible:
            self.reveal(current)
        self.sight_changed.emit()

    # --- painting ------------------------------------------------------------------------------------------

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        self._update_right_edge()
        offset = self._offset()
        painter.translate(-offset)
        # Diagonal scrolling exposes two strips, which are far smaller than their bounding rectangle.
        for rect in event.region():  # pyright: ignore[reportGeneralTypeIssues]
            area = QRectF(rect.translated(offset))
            painter.setClipRect(area)
            painter.fillRect(area, QColor(self.picture.theme.page))
            self.picture.paint(painter, area)
        painter.end()

    def _update_right_edge(self) -> None:
        self.picture.right = float(self._offset().x() + self.viewport().width())

    def _set_current_spot(self, spot: Spot | None) -> None:
        current_id = 0 if spot is None else spot.id
        if current_id != self.picture.current_id:
            self.picture.current_id = current_id
            self.viewport().update()
            self.current_changed.emit(current_id)
