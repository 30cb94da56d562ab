"""The sidebar: search, a new conversation, the list of those that are there, the way to Settings."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QVBoxLayout

from app.conversation.controller import Controller
from app.ui.menus import tip_with_key
from app.ui.sidebar.conversation_list import ConversationList
from app.ui.theme import Theme, icon, scaled_beside

_WIDTH_PX = 256


class Sidebar(QFrame):
    """Opens conversations; what else can be done with one is in its menu."""

    conversation_chosen = Signal(int)
    menu_asked = Signal(int, QPoint)
    """A conversation's id and where its menu is to open."""
    section_menu_asked = Signal(str, QPoint)
    """A section's key and where its menu is to open."""
    new_asked = Signal()
    writing_asked = Signal()
    """What is typed now belongs to the conversation that was opened."""
    search_asked = Signal()
    settings_asked = Signal()
    delete_asked = Signal(int)
    moved = Signal(int, str)
    """A conversation was dropped on a section: its id, the section's key."""

    def __init__(self, controller: Controller, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("sidebar")
        self.search_button = self._button("sidebar_search", self.tr("Search"), self.search_asked)
        self.new_button = self._button("new_conversation", self.tr("New conversation"), self.new_asked)
        self.settings_button = self._button("side_button", self.tr("Settings"), self.settings_asked)
        self.list = ConversationList(controller, theme)
        self.list.chosen.connect(self.conversation_chosen)
        self.list.opened_by_pointer.connect(self.writing_asked)
        self.list.menu_asked.connect(self.menu_asked)
        self.list.section_menu_asked.connect(self.section_menu_asked)
        self.list.delete_asked.connect(self.delete_asked)
        self.list.rows.moved.connect(self.moved)
        self._empty = QLabel(self.tr("Conversations appear here once you have asked something."))
        self._empty.setObjectName("quiet")
        self._empty.setWordWrap(True)
        self._empty.setContentsMargins(8, 4, 8, 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(8)
        layout.addWidget(self.search_button)
        layout.addWidget(self.new_button)
        layout.addWidget(self._empty)
        layout.addWidget(self.list, 1)
        layout.addStretch(0)
        layout.addWidget(self.settings_button)
        controller.program.conversations.changed.connect(self._show_whether_empty)
        self.set_theme(theme)
        self._show_whether_empty()

    def set_theme(self, theme: Theme) -> None:
        self.setFixedWidth(scaled_beside(_WIDTH_PX))
        self.search_button.setIcon(icon("search", theme.quiet_text))
        self.new_button.setIcon(icon("plus", theme.text))
        self.settings_button.setIcon(icon("settings", theme.quiet_text))
        self.list.set_theme(theme)

    def show_keys(self, new: QAction, settings: QAction, search: QAction | None = None) -> None:
        """Say in the tool tips by which keys the buttons' actions work."""
        for button, action in ((self.new_button, new), (self.settings_button, settings), (self.search_button, search)):
            if action is not None:
                button.setToolTip(tip_with_key(action))

    def _button(self, name: str, text: str, asked: object) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(asked)
        return button

    def _show_whether_empty(self) -> None:
        is_empty = self.list.rows.rowCount() == 0
        self._empty.setVisible(is_empty)
        self.list.setVisible(not is_empty)
