"""The find bar above the transcript."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QToolButton
from typing_extensions import override

from app.numbers import counted
from app.ui.theme import Theme, icon

_FIELD_PX = 260


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
        self.field.setMaximumWidth(_FIELD_PX)
        self.field.textChanged.connect(self.query_changed)
        self.field.installEventFilter(self)
        self.count = QLabel()
        self.count.setObjectName("quiet")
        self._icons: list[tuple[QToolButton, str]] = []
        self.previous = self._button("up", self.tr("Previous hit"), "Shift+F3")
        self.previous.clicked.connect(lambda: self.step_requested.emit(-1))
        self.next = self._button("down", self.tr("Next hit"), "F3")
        self.next.clicked.connect(lambda: self.step_requested.emit(1))
        self.elsewhere = QToolButton()
        self.elsewhere.setObjectName("action")
        self.elsewhere.setMinimumHeight(28)
        self.elsewhere.clicked.connect(self.elsewhere_requested)
        self.elsewhere.setToolTip(self.tr("Go to the next hit on another branch"))
        self.close_button = self._button("close", self.tr("Close"), "Esc")
        self.close_button.clicked.connect(self.closed)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 4, 12, 4)
        row.setSpacing(4)
        row.addWidget(self.field, 1)
        for widget in (self.previous, self.next, self.count, self.elsewhere):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self.close_button)
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
        """Show the current hit's number, from 1, and the numbers of hits on this branch and on others."""
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

    def set_theme(self, theme: Theme) -> None:
        for button, name in self._icons:
            button.setIcon(icon(name, theme.quiet_text))

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.key() in {Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            if event.type() == QEvent.Type.ShortcutOverride:
                # Esc closes the bar, though the window's shortcut Esc would stop a streaming answer.
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
        button.setMinimumSize(28, 28)
        self._icons.append((button, icon_name))
        return button
