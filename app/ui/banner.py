"""A notice that concerns the whole program: what happened, what was kept, what to do; it takes no focus."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QWidget,
)
from typing_extensions import override

from app.notices import Notice
from app.ui.theme import COLUMN_PX, Theme, icon, scaled

_LEAST_WORDS_PX = 160
"""Narrower than this the words are read badly: then the button stands below them."""
_GAP_PX = 12
_EDGES_PX = 2 * 16 + 12 + 8
"""Around the card and in it, at the left and at the right."""


class Banner(QWidget):
    """Shows one notice at a time, the latest."""

    action_asked = Signal(str, str)
    """A notice's action, and what it is about."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("page")
        self._notice: Notice | None = None
        self._card = QFrame()
        self._card.setObjectName("banner")
        self._card.setMaximumWidth(COLUMN_PX + 16)
        self._icon = QLabel()
        self.label = QLabel()
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.button = QPushButton()
        self.button.clicked.connect(self._on_action)
        self.close_button = QToolButton()
        self.close_button.setAccessibleName(self.tr("Close the notice"))
        self.close_button.setToolTip(self.tr("Close"))
        self.close_button.clicked.connect(self.dismiss)
        self._words = _Words(self.label)
        self._is_button_below = False
        self._grid = QGridLayout(self._card)
        self._grid.setContentsMargins(12, 8, 8, 8)
        self._grid.setSpacing(_GAP_PX)
        self._grid.setColumnStretch(1, 1)
        self._grid.addWidget(self._icon, 0, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(self._words, 0, 1)
        self._grid.addWidget(self.button, 0, 2)
        self._grid.addWidget(self.close_button, 0, 3)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(16, 8, 16, 8)
        outer.addStretch(1)
        outer.addWidget(self._card, 1000)
        outer.addStretch(1)
        self.set_theme(theme)
        self.setVisible(False)

    def show_notice(self, notice: Notice) -> None:
        self._notice = notice
        self._card.setProperty("kind", notice.kind)
        self._card.style().unpolish(self._card)
        self._card.style().polish(self._card)
        self.label.setText(notice.text)
        self._card.setAccessibleName(notice.text)
        self.button.setText(self._label(notice.action))
        self.button.setVisible(bool(notice.action))
        self.set_theme(self._theme)
        self._place_button()
        self.setVisible(True)

    def _label(self, action: str) -> str:
        match action:
            case "undo" | "undo_delete" | "undo_archive":
                return self.tr("Undo")
            case "load_guide":
                return self.tr("Open the guide")
            case "open_settings":
                return self.tr("Open Settings")
            case "show_file":
                return self.tr("Show in folder")
            case "show_conversation":
                return self.tr("Show")
            case "edit_again":
                return self.tr("Bring back")
            case _:
                return ""

    def target_of(self, action: str) -> str:
        """What a notice that offers this is about; empty where none does."""
        return self._notice.target if self._notice is not None and self._notice.action == action else ""

    def dismiss(self) -> None:
        self._notice = None
        self.setVisible(False)

    def pass_by(self) -> None:
        """Take a notice away that somebody has read who goes on with something else; what is wrong is wrong still."""
        if self._notice is not None and self._notice.kind != "danger":
            self.dismiss()

    def withdraw(self, action: str) -> None:
        """Take a notice away that offers what would now do something else."""
        if self._notice is not None and self._notice.action == action:
            self.dismiss()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        kind = self._notice.kind if self._notice is not None else "information"
        colour = {"information": theme.information, "warning": theme.warning, "danger": theme.danger}[kind]
        name = "information" if kind == "information" else "warning"
        self._icon.setPixmap(icon(name, colour).pixmap(20, 20))
        self.close_button.setIcon(icon("close", theme.quiet_text))

    def _place_button(self) -> None:
        """Beside the words, or below them."""
        beside = (self._icon, self.button, self.close_button)
        room = self.width() - _EDGES_PX - sum(part.sizeHint().width() + _GAP_PX for part in beside)
        is_below = bool(self.button.text()) and room < scaled(_LEAST_WORDS_PX)
        if is_below != self._is_button_below:
            self._is_button_below = is_below
            self._grid.removeWidget(self.button)
            if is_below:
                self._grid.addWidget(self.button, 1, 1, 1, 3, Qt.AlignmentFlag.AlignRight)
            else:
                self._grid.addWidget(self.button, 0, 2)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_button()

    def _on_action(self) -> None:
        notice = self._notice
        self.dismiss()
        if notice is not None:
            self.action_asked.emit(notice.action, notice.target)


class _Words(QScrollArea):
    """As high as its words; in a window too low for all of them they scroll."""

    def __init__(self, label: QLabel) -> None:
        super().__init__()
        self.setObjectName("banner_words")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._label = label
        self.setWidget(label)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        # By the keys, too, where there is something to scroll.
        self.verticalScrollBar().rangeChanged.connect(self._on_range)

    def _on_range(self, _least: int, most: int) -> None:
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if most else Qt.FocusPolicy.NoFocus)

    @override
    def heightForWidth(self, width: int, /) -> int:
        return self._label.heightForWidth(width - self._edges.width()) + self._edges.height()

    @property
    def _edges(self) -> QSize:
        """What its frame takes."""
        return self.size() - self.maximumViewportSize()

    @override
    def sizeHint(self) -> QSize:
        return self._label.sizeHint() + self._edges

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._label.minimumSizeHint().width(), self._label.fontMetrics().lineSpacing())
