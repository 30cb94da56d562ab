"""The sidebar: buttons for the search, a new conversation and the settings, and the list of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout
from typing_extensions import override

from app.conversation.controller import Controller
from app.ui.menus import Menus, tip_with_key
from app.ui.parts.buttons import claim_escape
from app.ui.sidebar.conversation_list import ConversationList
from app.ui.theme import Theme, icon, scaled_beside

if TYPE_CHECKING:
    from app.local_api import LocalApi
    from app.ui.sidebar.serving_line import ServingLine

_WIDTH_PX = 256


class Sidebar(QFrame):
    """Its buttons trigger actions of the menus. `ConversationCommands` carries out the requests of the list."""

    escaped = Signal()
    """Esc was pressed in the sidebar."""
    left = Signal()
    """A button of the sidebar was pressed."""

    def __init__(self, controller: Controller, theme: Theme, menus: Menus) -> None:
        super().__init__()
        self._is_overlay = False
        self.setObjectName("sidebar")
        self.search_button = self._button("sidebar_search", self.tr("Search"))
        self.new_button = self._button("new_conversation", self.tr("New conversation"))
        self.settings_button = self._button("side_button", self.tr("Settings"))
        self._actions = {
            self.search_button: menus["search_all"],
            self.new_button: menus["new"],
            self.settings_button: menus["settings"],
        }
        for button, action in self._actions.items():
            button.clicked.connect(self.left)
            button.clicked.connect(action.trigger)
        self.list = ConversationList(controller, theme)
        self._empty = QLabel(self.tr("Your conversations will appear here."))
        self._empty.setObjectName("quiet")
        self._empty.setWordWrap(True)
        self._empty.setContentsMargins(8, 4, 8, 0)
        self.serving_line: ServingLine | None = None
        """None until the local API has been used."""
        layout = self._column = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(8)
        layout.addWidget(self.search_button)
        layout.addWidget(self.new_button)
        layout.addWidget(self._empty)
        layout.addWidget(self.list, 1)
        layout.addStretch(0)
        layout.addWidget(self.settings_button)
        program = controller.program
        program.conversations.changed.connect(self._show_whether_empty)
        program.local_api_made.connect(self._watch)
        if program.made_local_api is not None:
            self._watch(program.made_local_api)
        self.set_theme(theme)
        self._show_whether_empty()

    def set_theme(self, theme: Theme) -> None:
        self.setFixedWidth(scaled_beside(_WIDTH_PX))
        self.search_button.setIcon(icon("search", theme.quiet_text))
        self.new_button.setIcon(icon("plus", theme.text))
        self.settings_button.setIcon(icon("settings", theme.quiet_text))
        self.list.set_theme(theme)

    def set_overlay(self, *, is_overlay: bool) -> None:
        """Set whether the sidebar covers a part of the page. If so, Esc closes it."""
        self._is_overlay = is_overlay

    @override
    def event(self, e: QEvent) -> bool:
        return (self._is_overlay and claim_escape(e)) or super().event(e)

    def take_focus(self) -> None:
        """Focus the list of conversations, or the first button if there are none."""
        first = self.list if self.list.isVisible() else self.new_button
        first.setFocus(Qt.FocusReason.ShortcutFocusReason)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)

    def show_keys(self) -> None:
        """Show in the tool tips by which keys the buttons' actions work."""
        for button, action in self._actions.items():
            button.setToolTip(tip_with_key(action))

    def _watch(self, api: LocalApi) -> None:
        from app.ui.sidebar.serving_line import ServingLine

        self.serving_line = ServingLine(api)
        self._column.insertWidget(self._column.indexOf(self.settings_button), self.serving_line)

    def _button(self, name: str, text: str) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def _show_whether_empty(self) -> None:
        is_empty = self.list.rows.rowCount() == 0
        self._empty.setVisible(is_empty)
        self.list.setVisible(not is_empty)
