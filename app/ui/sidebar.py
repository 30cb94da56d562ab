"""The list of conversations, grouped by when they were last used."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import TypeAlias

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
)

from app.controller import Controller
from app.ui.plain import as_tool_tip
from app.ui.theme import SMALL_PX, Theme, icon, text_font

_WIDTH_PX = 256
_ID = Qt.ItemDataRole.UserRole
_Row: TypeAlias = tuple[int | None, str]
"""A conversation's id and name, or None and the name of a group."""


class Sidebar(QFrame):
    """Opens conversations; what else can be done with one is in its menu."""

    conversation_chosen = Signal(int)
    menu_asked = Signal(int, QPoint)
    """A conversation's id and where its menu is to open."""
    new_asked = Signal()

    def __init__(self, controller: Controller, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("sidebar")
        self.setFixedWidth(_WIDTH_PX)
        self._controller = controller
        self._rows: list[_Row] = []
        self._logo = QLabel()
        wordmark = QLabel("Bough")
        wordmark.setObjectName("wordmark")
        head = QHBoxLayout()
        head.setContentsMargins(6, 0, 0, 0)
        head.setSpacing(8)
        head.addWidget(self._logo)
        head.addWidget(wordmark)
        head.addStretch(1)
        self.new_button = QPushButton("New conversation")
        self.new_button.setObjectName("new_conversation")
        self.new_button.setToolTip("New conversation (Ctrl+N)")
        self.new_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.new_button.clicked.connect(self.new_asked)
        self.list = QListWidget()
        self.list.setObjectName("conversations")
        self.list.setAccessibleName("Conversations")
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._on_menu)
        self.list.currentItemChanged.connect(self._on_chosen)
        self._empty = QLabel("Conversations appear here once you have asked something.")
        self._empty.setObjectName("quiet")
        self._empty.setWordWrap(True)
        self._empty.setContentsMargins(8, 4, 8, 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(12)
        layout.addLayout(head)
        layout.addWidget(self.new_button)
        layout.addWidget(self._empty)
        layout.addWidget(self.list, 1)
        layout.addStretch(0)
        controller.program.conversations.changed.connect(self.refresh)
        controller.branch_changed.connect(self._select_open)
        self.set_theme(theme)
        self.refresh()

    def set_theme(self, theme: Theme) -> None:
        self._logo.setPixmap(icon("leaf", theme.accent).pixmap(20, 20))
        self.new_button.setIcon(icon("plus", theme.text))

    def refresh(self) -> None:
        """Show the conversations as they are now; of the list only what differs is made again."""
        conversations = self._controller.program.conversations.all
        today = datetime.now().astimezone().date()
        rows: list[_Row] = []
        for group, members in itertools.groupby(conversations, key=lambda one: _group(one.updated_ms, today)):
            rows += [(None, group), *((conversation.id, conversation.name) for conversation in members)]
        above = _num_same(rows, self._rows)
        below = _num_same(rows[above:][::-1], self._rows[above:][::-1])
        blocked = self.list.blockSignals(True)
        for _ in self._rows[above : len(self._rows) - below]:
            self.list.takeItem(above)
        for place in range(above, len(rows) - below):
            self.list.insertItem(place, _item(*rows[place]))
        self.list.blockSignals(blocked)
        self._rows = rows
        self._empty.setVisible(not conversations)
        self.list.setVisible(bool(conversations))
        self._select_open()

    def _select_open(self) -> None:
        opened = self._controller.conversation
        ids = [conversation_id for conversation_id, _ in self._rows]
        blocked = self.list.blockSignals(True)
        self.list.setCurrentRow(ids.index(opened.id) if opened is not None and opened.id in ids else -1)
        self.list.blockSignals(blocked)

    def _on_chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None and item.data(_ID) is not None:
            self.conversation_chosen.emit(item.data(_ID))

    def _on_menu(self, place: QPoint) -> None:
        item = self.list.itemAt(place)
        if item is not None and item.data(_ID) is not None:
            self.menu_asked.emit(item.data(_ID), self.list.viewport().mapToGlobal(place))


def _num_same(one: Sequence[_Row], other: Sequence[_Row]) -> int:
    """In how many rows two lists begin alike."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _item(conversation_id: int | None, text: str) -> QListWidgetItem:
    item = QListWidgetItem(text)
    if conversation_id is None:
        item.setFlags(Qt.ItemFlag.NoItemFlags)
        item.setFont(text_font(SMALL_PX))
    else:
        item.setData(_ID, conversation_id)
        item.setToolTip(as_tool_tip(text))
        item.setSizeHint(QSize(0, 34))
    return item


def _group(updated_ms: int, today: date) -> str:
    """When that was, in people's words."""
    day = datetime.fromtimestamp(updated_ms / 1000).astimezone().date()
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day > today - timedelta(days=7):
        return "Last seven days"
    return day.strftime("%B %Y")
