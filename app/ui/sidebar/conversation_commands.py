"""Actions on whole conversations: new, rename, pin, move to a folder, archive, delete."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMenu, QWidget

from app.conversation.controller import Controller
from app.model.message import Conversation
from app.notices import Notice
from app.ui.composer.composer import Composer
from app.ui.dialogs import questions
from app.ui.menus import Menus
from app.ui.parts.labels import as_label
from app.ui.sidebar.sidebar import Sidebar
from worker.sentence import verbatim

_ON_OPEN_CONVERSATION = ("rename", "pin", "folder", "archive", "delete")


class ConversationCommands(QObject):
    """Carries out actions on the open conversation, and, from the list's menu, keys and drops, on any other."""

    project_asked = Signal(str)
    """The user wants to see the project page of this folder; empty means a new project."""

    def __init__(
        self,
        controller: Controller,
        window: QWidget,
        *,
        menus: Menus,
        sidebar: Sidebar,
        composer: Composer,
        data_folder: Path,
    ) -> None:
        super().__init__(window)
        self._controller = controller
        self._conversations = controller.program.conversations
        self._projects = controller.program.projects
        self._window = window
        self._menus = menus
        self._list = sidebar.list
        self._composer = composer
        self._data_folder = data_folder
        self._list.chosen.connect(controller.shown.open_conversation)
        self._list.opened_by_pointer.connect(composer.text.setFocus)
        self._list.menu_requested.connect(self._show_menu)
        self._list.section_menu_requested.connect(self._show_section_menu)
        self._list.delete_requested.connect(self._conversations.delete)
        self._list.rows.moved.connect(self._move)

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {
            "new": self._begin,
            "new_project": partial(self.project_asked.emit, ""),
            "project": self._show_project,
            "renew": self._controller.renew_beginning,
            "rename": partial(self._on_open_conversation, self._rename),
            "pin": partial(self._on_open_conversation, self._toggle_pinned),
            "folder": partial(self._on_open_conversation, self._ask_folder),
            "archive": partial(self._on_open_conversation, self._toggle_archived),
            "delete": partial(self._on_open_conversation, self._conversations.delete),
            "empty_trash": partial(questions.confirm_emptying, self._window, self._conversations.empty_trash),
            "data": self._show_data_folder,
        }

    def update(self, menus: Menus) -> None:
        """Enable the actions that are possible now."""
        conversation = self._controller.shown.conversation
        for name in _ON_OPEN_CONVERSATION:
            menus[name].setEnabled(conversation is not None)
        menus["project"].setEnabled(bool(self._controller.project.folder))
        menus["renew"].setEnabled(self._controller.beginnings.can_renew)
        menus["pin"].setChecked(conversation is not None and conversation.pinned_ms is not None)
        menus["archive"].setChecked(conversation is not None and conversation.archived_ms is not None)

    def begin_in(self, folder: str) -> None:
        """Show an empty page for a new conversation in a folder and focus the composer."""
        self._controller.begin_in(folder)
        self._composer.text.setFocus()

    def _show_project(self) -> None:
        if self._controller.project.folder:
            self.project_asked.emit(self._controller.project.folder)

    def _begin(self) -> None:
        """Show an empty page for a new conversation and focus the composer."""
        self._controller.shown.new_conversation()
        self._composer.text.setFocus()

    def _show_menu(self, conversation_id: int, position: QPoint) -> None:
        """Show the menu of a conversation in the list."""
        conversation = self._conversation(conversation_id)
        if conversation is None:
            return
        menu = self._new_menu()
        open_window = partial(self._controller.program.window_requested.emit, conversation_id)
        opening = menu.addAction(self.tr("Open in a new window"), open_window)
        renaming = menu.addAction(self.tr("Rename"), partial(self._rename, conversation_id))
        pin = menu.addAction(self.tr("Pinned"), partial(self._toggle_pinned, conversation_id))
        pin.setCheckable(True)
        pin.setChecked(conversation.pinned_ms is not None)
        folders = menu.addMenu(self.tr("Move to project"))
        self._add_folders(folders, conversation)
        archive = menu.addAction(self.tr("Archived"), partial(self._toggle_archived, conversation_id))
        archive.setCheckable(True)
        archive.setChecked(conversation.archived_ms is not None)
        menu.addSeparator()
        deleting = menu.addAction(self.tr("Delete"), partial(self._conversations.delete, conversation_id))
        actions = (opening, renaming, pin, folders.menuAction(), archive, deleting)
        for action, name in zip(actions, ("new_window", "rename", "pin", "folder", "archive", "delete"), strict=True):
            self._menus.draw_icon(action, self._menus.icon_name(name))
        self._menus.draw_icons(folders)
        menu.popup(position)

    def _show_section_menu(self, key: str, position: QPoint) -> None:
        """Show the menu of a section, if it is a folder."""
        kind, _, folder = key.partition("/")
        if kind == "folder":
            menu = self._new_menu()
            beginning = menu.addAction(self.tr("New conversation here"), partial(self.begin_in, folder))
            project = menu.addAction(self.tr("Project…"), partial(self.project_asked.emit, folder))
            menu.addSeparator()
            renaming = menu.addAction(self.tr("Rename…"), partial(self._rename_folder, folder))
            out = menu.addAction(
                self.tr("Move all conversations out"), partial(self._conversations.empty_folder, folder)
            )
            out.setEnabled(any(one.folder == folder for one in self._conversations.all))
            drawn = [(beginning, "new"), (project, "project"), (renaming, "rename"), (out, "folder")]
            if folder in self._projects.names:
                deleting = menu.addAction(self.tr("Delete project"), partial(self._projects.remove, folder))
                drawn.append((deleting, "delete"))
            for action, name in drawn:
                self._menus.draw_icon(action, self._menus.icon_name(name))
            menu.popup(position)

    def _move(self, conversation_id: int, key: str) -> None:
        """Move a conversation to a section, by its key: pin it, archive it, or put it into a folder or out of one."""
        conversation = self._conversation(conversation_id)
        if conversation is None:
            return
        kind, _, folder = key.partition("/")
        if (conversation.archived_ms is not None) != (kind == "archive"):
            self._conversations.archive(conversation_id, is_archived=kind == "archive")
        if kind != "archive" and (conversation.pinned_ms is not None) != (kind == "pinned"):
            self._conversations.pin(conversation_id, is_pinned=kind == "pinned")
        if kind not in {"archive", "pinned"} and conversation.folder != folder:
            self._conversations.put_into_folder(conversation_id, folder)

    def _new_menu(self) -> QMenu:
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def _add_folders(self, menu: QMenu, conversation: Conversation) -> None:
        for folder in self._conversations.folders:
            action = menu.addAction(
                as_label(folder), partial(self._conversations.put_into_folder, conversation.id, folder)
            )
            action.setCheckable(True)
            action.setChecked(folder == conversation.folder)
        menu.addSeparator()
        menu.addAction(self.tr("New project…"), partial(self._ask_folder, conversation.id))
        if conversation.folder:
            put = partial(self._conversations.put_into_folder, conversation.id, "")
            menu.addAction(self.tr("No project"), put)

    def _conversation(self, conversation_id: int) -> Conversation | None:
        return next((one for one in self._conversations.all if one.id == conversation_id), None)

    def _on_open_conversation(self, act: Callable[[int], object]) -> None:
        conversation = self._controller.shown.conversation
        if conversation is not None:
            act(conversation.id)

    def _rename(self, conversation_id: int) -> None:
        conversation = self._conversation(conversation_id)
        if conversation is not None and not self._list.begin_rename(conversation_id):
            name = questions.ask_name(self._window, conversation.name)
            if name is not None:
                self._conversations.rename(conversation_id, name)

    def _toggle_pinned(self, conversation_id: int) -> None:
        conversation = self._conversation(conversation_id)
        if conversation is not None:
            self._conversations.pin(conversation_id, is_pinned=conversation.pinned_ms is None)

    def _toggle_archived(self, conversation_id: int) -> None:
        conversation = self._conversation(conversation_id)
        if conversation is not None:
            self._conversations.archive(conversation_id, is_archived=conversation.archived_ms is None)

    def _ask_folder(self, conversation_id: int) -> None:
        conversation = self._conversation(conversation_id)
        if conversation is not None:
            folder = questions.ask_folder(self._window, conversation.folder, self._conversations.folders)
            if folder is not None:
                self._conversations.put_into_folder(conversation_id, folder)

    def _rename_folder(self, folder: str) -> None:
        name = questions.ask_folder(self._window, folder, [])
        if name:
            self._projects.rename(folder, name)

    def _show_data_folder(self) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._data_folder))):
            self._post(self.tr("Your data is in {}. The folder can't be opened here.").format(self._data_folder))

    def _post(self, text: str) -> None:
        self._controller.program.notices.post(Notice(verbatim(text)))
