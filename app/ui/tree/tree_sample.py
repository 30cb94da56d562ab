"""A sample of a tree, shown while the conversation is empty: a small picture and a legend."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from app.costs.worker_queries import Tier
from app.model.message import Message
from app.model.tree import Tree
from app.model.tree_layout import TreeLayout
from app.ui.theme import SMALL_PX, Theme, scaled, text_font
from app.ui.tree.tree_geometry import DOT_PX, NORMAL, SCALES
from app.ui.tree.tree_marks import draw_dot
from app.ui.tree.tree_picture import TreePicture

_ROW_PX = 24
_TEXT_LEFT_PX = 2 * DOT_PX + 4
_TIERS: dict[int, Tier] = {5: "disk", 6: "cold", 7: "cold", 8: "warm", 9: "warm"}


class TreeSample(QScrollArea):
    """Explains trees by an example. The area scrolls if needed."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        title = QLabel(self.tr("Every message is a dot"))
        title.setObjectName("heading")
        title.setWordWrap(True)
        explanation = QLabel(
            self.tr(
                "Edit a question or regenerate an answer to start a new branch. Nothing is lost. "
                "Double-click a dot to go there."
            )
        )
        explanation.setObjectName("quiet")
        explanation.setWordWrap(True)
        self._picture = _Picture(theme)
        self._legend = _Legend(theme)
        page = QWidget()
        for widget in (self, page):
            widget.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(title)
        column.addWidget(explanation)
        column.addWidget(self._picture)
        column.addWidget(self._legend)
        column.addStretch(1)
        self._picture.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self._legend.setSizePolicy(policy)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(page)

    def set_theme(self, theme: Theme) -> None:
        self._picture.picture.theme = theme
        self._picture.picture.scale = SCALES[NORMAL].for_text(theme.text_scale)
        for widget in (self._picture, self._legend):
            widget.updateGeometry()
        self._legend.theme = theme
        self.update()


class _Picture(QWidget):
    """A tree of two questions, one of them with two answers."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        you, answer, again = self.tr("A question"), self.tr("Its answer"), self.tr("Another answer")
        messages = [
            Message(id=1, parent_id=None, role="root", text=""),
            Message(id=2, parent_id=1, role="system", text=self.tr("System prompt")),
            Message(id=3, parent_id=2, role="user", text=you),
            Message(id=4, parent_id=3, role="assistant", text=answer),
            Message(id=5, parent_id=3, role="assistant", text=again),
            Message(id=6, parent_id=2, role="user", text=you),
            Message(id=7, parent_id=6, role="assistant", text=answer),
            Message(id=8, parent_id=4, role="user", text=self.tr("The next question")),
            Message(id=9, parent_id=8, role="assistant", text=answer),
        ]
        tree = Tree(messages, 1)
        self.picture = TreePicture(theme, tree.__getitem__, lambda message_id: _TIERS.get(message_id, "warm"))
        self.picture.layout = TreeLayout(tree, {2: 3, 3: 4})
        self.setAccessibleName(self.tr("A tree of two questions, one of them with two answers"))

    @override
    def sizeHint(self) -> QSize:
        layout = self.picture.layout
        return QSize(0, round(self.picture.scale.size(1, 0 if layout is None else len(layout.rows)).height()))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        self.picture.right = self.width()
        painter = QPainter(self)
        self.picture.paint(painter, QRectF(self.rect()))
        painter.end()


class _Legend(QWidget):
    """Explains full, half and hollow dots."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._rows: tuple[tuple[Tier, str], ...] = (
            ("warm", self.tr("kept in memory: continues at once")),
            ("disk", self.tr("kept on disk: loaded first")),
            ("cold", self.tr("not kept: read again first")),
        )
        self.setAccessibleName(
            self.tr("Full dot: kept in memory. Half dot: kept on disk. Hollow dot: not kept, to be read again.")
        )

    def _texts(self, width_px: int) -> list[QRect]:
        """Return the place of each text in a legend of this width. Long texts have several lines."""
        metrics, room = QFontMetrics(text_font(SMALL_PX)), QRect(0, 0, max(width_px - _TEXT_LEFT_PX, 1), 10_000)
        places: list[QRect] = []
        for _, meaning in self._rows:
            lines_px = metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, meaning).height()
            top = places[-1].bottom() + 1 if places else 0
            row_px = lines_px + scaled(_ROW_PX) - metrics.lineSpacing()
            places.append(QRect(_TEXT_LEFT_PX, top, room.width(), max(row_px, scaled(_ROW_PX))))
        return places

    @override
    def sizeHint(self) -> QSize:
        return QSize(0, scaled(_ROW_PX) * len(self._rows))

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int, /) -> int:
        return self._texts(width)[-1].bottom() + 1

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(text_font(SMALL_PX))
        for (tier, meaning), place in zip(self._rows, self._texts(self.width()), strict=True):
            first_line = place.top() + scaled(_ROW_PX) / 2
            draw_dot(painter, QPointF(DOT_PX, first_line), DOT_PX, tier, self.theme.quiet_text, self.theme.page)
            painter.setPen(QColor(self.theme.quiet_text))
            painter.drawText(place, Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignVCenter, meaning)
        painter.end()
