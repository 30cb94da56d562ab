"""What the actions of whole conversations do: a new one, another name, the trash, export, the data folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMenu, QWidget

from app.controller import Controller
from app.notices import Notice
from app.ui import dialogs
from app.ui.composer import Composer
from app.ui.menus import Menus

_ON_OPEN_ONE = ("rename", "delete", "export")


class ConversationCommands(QObject):
    """Works on the open conversation, or on one of the list by its menu."""

    def __init__(self, controller: Controller, composer: Composer, data_folder: Path, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._conversations = controller.program.conversations
        self._composer = composer
        self._data_folder = data_folder
        self._window = window

    def slots(self) -> dict[str, Callable[[], object]]:
        """What each action does, by its name in the menus."""
        return {
            "new": self.begin,
            "rename": partial(self._on_open_one, self._rename),
            "delete": partial(self._on_open_one, self._conversations.delete),
            "empty_trash": partial(dialogs.confirm_emptying, self._window, self._conversations.empty_trash),
            "export": self._export,
            "data": self._show_data_folder,
        }

    def update(self, menus: Menus) -> None:
        """Let those be chosen that are possible now."""
        for name in _ON_OPEN_ONE:
            menus[name].setEnabled(self._controller.conversation is not None)

    def begin(self) -> None:
        """Show an empty page, and wait for its first message."""
        self._controller.new_conversation()
        self._composer.text.setFocus()

    def show_menu(self, conversation_id: int, place: QPoint) -> None:
        """Offer what can be done with a conversation of the list."""
        menu = QMenu(self._window)
        menu.addAction(self.tr("Rename…"), partial(self._rename, conversation_id))
        menu.addAction(self.tr("Delete"), partial(self._conversations.delete, conversation_id))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(place)

    def _on_open_one(self, act: Callable[[int], object]) -> None:
        conversation = self._controller.conversation
        if conversation is not None:
            act(conversation.id)

    def _rename(self, conversation_id: int) -> None:
        names = {conversation.id: conversation.name for conversation in self._conversations.all}
        name = dialogs.ask_name(self._window, names.get(conversation_id, ""))
        if name is not None:
            self._conversations.rename(conversation_id, name)

    def _export(self) -> None:
        conversation = self._controller.conversation
        file = dialogs.ask_export_file(self._window, conversation.name) if conversation is not None else None
        if file is not None and self._controller.export_markdown(file):
            self._tell(self.tr("The visible branch is in {}.").format(file))

    def _show_data_folder(self) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._data_folder))):
            self._tell(self.tr("Everything is in {}. Nothing here can show folders.").format(self._data_folder))

    def _tell(self, text: str) -> None:
        self._controller.program.notices.tell(Notice(text))
