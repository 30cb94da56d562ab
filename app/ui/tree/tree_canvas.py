"""A tree drawn on a page that scrolls and zooms; only what is in sight is painted. It knows no mouse and no key."""

from __future__ import annotations

from collections.abc import Callable, Collection

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame
from typing_extensions import override

from app.costs.prompt_cost import Cost, Tier
from app.model.message import Message, MessageId
from app.model.tree import Choices, Tree
from app.model.tree_layout import Spot, TreeLayout
from app.ui.theme import Theme
from app.ui.tree.tree_picture import TreePicture
from app.ui.tree.tree_places import MARGIN_PX, NORMAL, SCALES, TreeMotion, fitting
from app.ui.tree.tree_words import fold_in_words, name_in_words


class TreeCanvas(QAbstractScrollArea):
    """Shows one tree, and where in it one is."""

    current_changed = Signal(int)
    """The keys work on another message; 0: on none."""
    sight_changed = Signal()
    """Something else is in sight."""
    laid_out = Signal()
    """Messages stand elsewhere, or there are others."""

    def __init__(
        self, theme: Theme, message: Callable[[MessageId], Message], cost: Callable[[MessageId], Cost | None]
    ) -> None:
        super().__init__()
        self.setObjectName("tree")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.message = message
        self.cost = cost
        self.picture = TreePicture(theme, message, self._tier)
        self._tree: Tree | None = None
        self._num_messages = 0
        self._choices: Choices = {}
        self._unfolded: set[MessageId] = set()
        """Messages all of whose children are shown, because somebody asked for that."""
        self._scale_index = NORMAL
        self._motion = TreeMotion(self.picture, self)
        self._motion.moved.connect(self.viewport().update)

    # --- what is shown -------------------------------------------------------------------------------------

    @property
    def layout_shown(self) -> TreeLayout | None:
        return self.picture.layout

    def show_tree(self, tree: Tree | None, choices: Choices) -> None:
        """Show a tree as it is now; the place on screen is kept where it is one that was shown before."""
        before, leaf, current = self.picture.layout, self._leaf(), self.current
        seen = {spot for spot in (leaf, current) if spot is not None and self.is_in_sight(spot)}
        is_same = before is not None and before.top is not None and tree is not None and before.top.id in tree
        if not self._grow(tree, choices):
            if not is_same:
                self._unfolded.clear()
                self._scale_index = NORMAL
                self.picture.current_id = 0
            self._lay_out(tree, choices, before if is_same else None)
        after = self._leaf()
        if self.current is None or (current == leaf and is_same):
            # Whoever is at the end goes along with it.
            self._let_be_current(after)
        self._fit_range()
        if after is not None and (leaf in seen or not is_same):
            self.reveal(after)
        if self.current is not None and current in seen:
            self.reveal(self.current)
        self.viewport().update()
        self.sight_changed.emit()

    def set_hits(self, hits: Collection[MessageId]) -> None:
        """Light the messages that were searched for; none of them is folded away."""
        self.picture.hits = frozenset(hits)
        layout = self.picture.layout
        if layout is not None and any(hit not in layout for hit in hits):
            self._lay_out(self._tree, self._choices, layout)
            self._fit_range()
        self.viewport().update()

    def set_theme(self, theme: Theme) -> None:
        self.picture.theme = theme
        # Its text may be of another size.
        self._fit_range()
        self.viewport().update()

    def set_current(self, message_id: MessageId) -> None:
        """Let the keys work on a message, and bring it into sight."""
        layout = self.picture.layout
        spot = layout.get(message_id) if layout is not None else None
        if spot is not None:
            self._let_be_current(spot)
            self.reveal(spot)

    @property
    def current(self) -> Spot | None:
        """The spot that the keys work on."""
        return None if self.picture.layout is None else self.picture.layout.get(self.picture.current_id)

    def unfold(self, fold: Spot) -> None:
        """Show what is folded, and let the keys work on the first of it."""
        layout, tree = self.picture.layout, self._tree
        if layout is None or tree is None or fold.parent_id is None:
            return
        first = next(child for child in tree.children(fold.parent_id) if child not in layout)
        self._unfolded.add(fold.parent_id)
        self._lay_out(tree, self._choices, layout)
        self._fit_range()
        self.set_current(first)
        self.sight_changed.emit()

    def name_of(self, spot: Spot) -> str:
        """Return what a spot is called where it can't be seen."""
        if spot.num_folded or self._tree is None:
            return fold_in_words(spot.num_folded)
        return name_in_words(self.message(spot.id), self._tree.siblings(spot.id))

    def area_in_sight(self) -> QRectF:
        """What of the tree is in sight, in its own coordinates."""
        return self._area(self.viewport().rect())

    @property
    def can_scroll(self) -> bool:
        """Whether something is out of sight."""
        return self.horizontalScrollBar().maximum() > 0 or self.verticalScrollBar().maximum() > 0

    def show_middle(self, lane: float, row: float) -> None:
        """Scroll to where a place is in the middle."""
        place = self.picture.scale.place(lane, row) - QPointF(self.viewport().rect().center())
        self.horizontalScrollBar().setValue(round(place.x()))
        self.verticalScrollBar().setValue(round(place.y()))

    def in_sight(self) -> list[MessageId]:
        """The messages whose dots are in sight, and large enough to show what is kept of them."""
        spots = [spot for spot, is_whole in self.picture.in_sight(self.area_in_sight()) if is_whole]
        return [spot.id for spot in spots if not spot.num_folded] if self.picture.shows_detail else []

    def is_in_sight(self, spot: Spot) -> bool:
        place = self.picture.scale.place(spot.lane, spot.row)
        return self.area_in_sight().contains(place)

    def rect_of(self, spot: Spot) -> QRect:
        """Return where a spot's dot is in the viewport."""
        side = max(self.picture.scale.dot_px, 8) + 8
        rect = QRect(0, 0, side, side)
        rect.moveCenter((self.picture.scale.place(spot.lane, spot.row) - QPointF(self._offset())).toPoint())
        return rect

    def _tier(self, message_id: MessageId) -> Tier | None:
        cost = self.cost(message_id)
        return None if cost is None else cost.tier

    def _leaf(self) -> Spot | None:
        return None if self.picture.layout is None else self.picture.layout.leaf

    def _grow(self, tree: Tree | None, choices: Choices) -> bool:
        """Take in what was added at the end of the visible branch; return whether that is all that is new."""
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
        """Say anew where everything stands; what stood elsewhere goes there."""
        self._tree, self._choices = tree, choices
        self._num_messages = 0 if tree is None else len(tree)
        wanted = {*self.picture.hits, self.picture.current_id}
        self.picture.layout = None if tree is None else TreeLayout(tree, choices, wanted, self._unfolded)
        if self.picture.layout is not None and not self.picture.layout.rows:
            self.picture.layout = None
        if before is not None:
            self._motion.begin(before)
        self.laid_out.emit()

    # --- scrolling and zooming -----------------------------------------------------------------------------

    def zoom(self, step: int, at: QPointF | None = None) -> None:
        """Draw larger (`step` 1) or smaller (-1); what is at a place of the viewport stays there."""
        self._zoom_to(self._scale_index + step, at)

    def fit(self) -> None:
        """Draw the tree so small that all of it is in sight, if that can be."""
        layout = self.picture.layout
        if layout is not None:
            self._zoom_to(fitting(layout.num_lanes, len(layout.rows), QSizeF(self.viewport().size())))

    def reveal(self, spot: Spot) -> None:
        """Scroll as little as is needed to have a spot in sight, and what is beside it."""
        place = self.picture.scale.place(spot.lane, spot.row).toPoint()
        area = self.viewport().rect().translated(self._offset())
        side, below = MARGIN_PX if spot.lane == 0 else 2 * MARGIN_PX, self.picture.scale.below_px
        for bar, at, begin, end, margin in (
            (self.horizontalScrollBar(), place.x(), area.left(), area.right(), side),
            (self.verticalScrollBar(), place.y(), area.top(), area.bottom() - below, MARGIN_PX),
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
            is_seen = current is not None and self.is_in_sight(current)
            at = QPointF((self.rect_of(current) if is_seen and current else self.viewport().rect()).center())
        there = at + QPointF(self._offset())
        lane, row = before.lane_at(there.x()), before.row_at(there.y())
        self._scale_index = index
        self._fit_range()
        offset = (self.picture.scale.place(lane, row) - at).toPoint()
        self.horizontalScrollBar().setValue(offset.x())
        self.verticalScrollBar().setValue(offset.y())
        self.viewport().update()
        self.sight_changed.emit()

    def _fit_range(self) -> None:
        layout, room = self.picture.layout, self.viewport().size()
        self.picture.scale = SCALES[self._scale_index].for_text(self.picture.theme.text_scale)
        scale = self.picture.scale
        size = scale.size(layout.num_lanes, len(layout.rows)) if layout is not None else QSizeF()
        width = round(size.width()) + (scale.lane_px if scale.num_lines else 0)
        for bar, needed, there in (
            (self.horizontalScrollBar(), width, room.width()),
            (self.verticalScrollBar(), round(size.height()) + scale.below_px, room.height()),
        ):
            bar.setRange(0, max(needed - there, 0))
            bar.setPageStep(there)
            bar.setSingleStep(max(scale.row_px, 16))

    def _offset(self) -> QPoint:
        return QPoint(self.horizontalScrollBar().value(), self.verticalScrollBar().value())

    def _area(self, rect: QRect) -> QRectF:
        """A rectangle of the viewport in the tree's own coordinates."""
        return QRectF(rect.translated(self._offset()))

    @override
    def scrollContentsBy(self, dx: int, dy: int) -> None:
        if dx and self.picture.shows_detail:
            # Words end at the edge of what is in sight.
            self.viewport().update()
        else:
            self.viewport().scroll(dx, dy)
        self.sight_changed.emit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        current, before = self.current, QRect(QPoint(), event.oldSize())
        # Whoever calls the tree sees where they are, though it was of another size when it went.
        is_wanted = current is not None and (not before.isValid() or before.contains(self.rect_of(current).center()))
        self._fit_range()
        if current is not None and is_wanted:
            self.reveal(current)
        self.sight_changed.emit()

    # --- painting ------------------------------------------------------------------------------------------

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        self._know_right_edge()
        offset = self._offset()
        painter.translate(-offset)
        # What was scrolled into sight at two sides is two strips, and far less than what is around both.
        for rect in event.region():  # pyright: ignore[reportGeneralTypeIssues]
            area = QRectF(rect.translated(offset))
            painter.setClipRect(area)
            painter.fillRect(area, QColor(self.picture.theme.page))
            self.picture.paint(painter, area)
        painter.end()

    def _know_right_edge(self) -> None:
        self.picture.right = float(self._offset().x() + self.viewport().width())

    def _let_be_current(self, spot: Spot | None) -> None:
        current_id = 0 if spot is None else spot.id
        if current_id != self.picture.current_id:
            self.picture.current_id = current_id
            self.viewport().update()
            self.current_changed.emit(current_id)
