"""The find bar above the transcript."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QLineEdit, QToolButton, QWidget
from typing_extensions import override

from app.numbers import counted
from app.ui.parts.layouts import FlowLayout
from app.ui.theme import Theme, icon, scaled

_TARGET_PX = 28
_FIELD_PX, _MIN_FIELD_PX = 260, 140
_NO_LIMIT = 16_777_215
"""Qt's own limit of a widget's size."""


class FindBar(QFrame):
    """A field for the query, the number of hits, and buttons. Enter steps to the next hit, Shift+Enter back."""

    query_changed = Signal(str)
    step_requested = Signal(int)
    """Go to the next hit (1) or the previous one (-1)."""
    elsewhere_requested = Signal()
    """Go to the next hit on another branch."""
    closed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("find_bar")
        self.setAccessibleName(self.tr("Find in conversation"))
        self.field = QLineEdit()
        self.field.setObjectName("find_field")
        self.field.setPlaceholderText(self.tr("Find in conversation"))
        self.field.setAccessibleName(self.tr("Find in conversation"))
        self.field.textChanged.connect(self.query_changed)
        self.field.installEventFilter(self)
        self.count = QLabel()
        self.count.setObjectName("quiet")
        self.count.setMinimumHeight(_TARGET_PX)
        self._icons: list[tuple[QToolButton, str]] = []
        self.previous = self._button("up", self.tr("Previous hit"), "Shift+F3")
        self.previous.clicked.connect(lambda: self.step_requested.emit(-1))
        self.next = self._button("down", self.tr("Next hit"), "F3")
        self.next.clicked.connect(lambda: self.step_requested.emit(1))
        self.elsewhere = QToolButton()
        self.elsewhere.setObjectName("action")
        self.elsewhere.setMinimumHeight(_TARGET_PX)
        self.elsewhere.clicked.connect(self.elsewhere_requested)
        self.elsewhere.setToolTip(self.tr("Go to the next hit on another branch"))
        self.close_button = self._button("close", self.tr("Close"), "Esc")
        self.close_button.clicked.connect(self.closed)
        self._hits = QWidget()
        self._hits_in_rows = hits = FlowLayout(self._hits)
        hits.setSpacing(4)
        for widget in (self.previous, self.next, self.count, self.elsewhere):
            hits.addWidget(widget)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(16, 4, 12, 4)
        self._grid.setSpacing(4)
        self._grid.addWidget(self.field, 0, 0)
        self._grid.addWidget(self._hits, 0, 1, Qt.AlignmentFlag.AlignVCenter)
        self._grid.addWidget(self.close_button, 0, 3)
        # The field is as wide as it may be before the space after the hits grows.
        self._grid.setColumnStretch(0, 1000)
        self._grid.setColumnStretch(2, 1)
        self._is_below = False
        self.set_theme(theme)
        self.show_count(0, 0, 0)
        self.hide()

    def open(self, text: str) -> None:
        """Show the bar and focus its field; `text` becomes the query unless it is empty."""
        self.show()
        if text and text != self.field.text():
            self.field.setText(text)
        self.field.selectAll()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def show_count(self, number: int, num_hits: int, num_elsewhere: int) -> None:
        """Show the number of the current hit, from 1, and how many hits are on this branch and on others."""
        text = self.tr("{number} of {num}").format(number=counted(number), num=counted(num_hits)) if num_hits else ""
        if not num_hits and self.field.text():
            text = self.tr("Not found here") if num_elsewhere else self.tr("Not found")
        self.count.setText(text)
        self.count.setAccessibleName(text)
        for button in (self.previous, self.next):
            button.setEnabled(num_hits > 0)
        one, others = self.tr("1 on another branch"), self.tr("%n on other branches", "", num_elsewhere)
        self.elsewhere.setText(f"{one if num_elsewhere == 1 else others} ›")
        self.elsewhere.setVisible(num_elsewhere > 0)
        self._fit()

    def _fit(self) -> None:
        """Put the hits below the field where both would be too narrow."""
        margins = self._grid.contentsMargins()
        hits_px = self._hits_in_rows.width_of_one_row
        others = hits_px + self.close_button.sizeHint().width() + 3 * self._grid.spacing()
        is_below = self.width() - margins.left() - margins.right() - others < scaled(_MIN_FIELD_PX)
        self.field.setMaximumWidth(_NO_LIMIT if is_below else scaled(_FIELD_PX))
        self._hits.setMinimumWidth(0 if is_below else hits_px)
        if is_below != self._is_below:
            self._is_below = is_below
            self._grid.removeWidget(self._hits)
            row, column, num_columns = (1, 0, 4) if is_below else (0, 1, 1)
            self._grid.addWidget(self._hits, row, column, 1, num_columns)
            self._grid.setColumnStretch(2, 0 if is_below else 1)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def set_theme(self, theme: Theme) -> None:
        for button, name in self._icons:
            button.setIcon(icon(name, theme.quiet_text))

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.key() in {Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            if event.type() == QEvent.Type.ShortcutOverride:
                # Esc closes the bar here, although it is also the shortcut that stops an answer.
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                if event.key() == Qt.Key.Key_Escape:
                    self.closed.emit()
                else:
                    self.step_requested.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
                return True
        return super().eventFilter(watched, event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def _button(self, icon_name: str, name: str, key: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName("action")
        button.setAccessibleName(name)
        button.setToolTip(f"{name} ({key})")
        button.setMinimumSize(_TARGET_PX, _TARGET_PX)
        self._icons.append((button, icon_name))
        return button
