"""Actions that open a window over the main one: export, import, search, trash, backups, replay, projects.

Each window is imported when it is first opened, because few starts need one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QStandardPaths, Signal
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from app.conversation.controller import Controller
from app.lazy import Lazy
from app.model.imports import SUFFIXES
from app.model.message import Message, MessageId
from app.notices import Notice, ShowConversation, ShowFile
from app.numbers import counted
from app.ui.dialogs.drop_page import DropPage
from app.ui.dialogs.printing import Printing
from app.ui.dialogs.settings_files import SettingsFiles
from app.ui.menus import Menus
from app.ui.theme import Theme
from app.ui.transcript.transcript import Transcript
from app.ui.tree.tree_text import first_words
from worker.sentence import joined, verbatim

if TYPE_CHECKING:
    from app.archive.archive import Archive
    from app.export.exporting import ExportResult
    from app.model.imports.importing import Summary
    from app.model.trash import TrashItem
    from app.ui.composer.composer import Composer
    from app.ui.dialogs.export_window import ExportWindow, Offer
    from app.ui.dialogs.import_window import ImportWindow
    from app.ui.dialogs.project_window import ProjectWindow
    from app.ui.dialogs.recovery_windows import BackupsWindow, MoveWindow, TrashWindow
    from app.ui.dialogs.replay_window import ReplayWindow
    from app.ui.dialogs.search_panel import SearchPanel
    from app.ui.parts.sheet import Sheet

_MAX_EXCERPT_CHARACTERS = 60


class DialogCommands(QObject):
    """Opens these windows, at most one of each kind at a time, and posts notices about their results."""

    project_made = Signal(str)
    """The folder of a new project."""

    def __init__(
        self,
        controller: Controller,
        window: QWidget,
        *,
        current_id: Callable[[], MessageId | None],
        transcript: Transcript,
        composer: Composer,
        theme: Theme,
    ) -> None:
        """`current_id` returns the message that actions work on. The composer accepts dropped files itself."""
        super().__init__(window)
        self._controller = controller
        self._current_id = current_id
        self._transcript = transcript
        self._window = window
        documents = Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation))
        self._folder = documents if documents.is_dir() else Path.home()
        self._theme = theme
        self._printing = Printing(controller, window)
        self._settings_files = SettingsFiles(controller.program, window, self._folder)
        self._search = Lazy(self._make_search)
        self._field = composer.text
        self.drop_page = DropPage(theme, window, composer)
        self.drop_page.dropped.connect(self.show_import)

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slot of each action, by the action's name in the menus."""
        return {
            "export": self.show_export,
            "export_many": lambda: self.show_export(is_all=True),
            "print": self._printing.ask,
            "export_settings": self._settings_files.export,
            "import_settings": self._settings_files.ask,
            "move": self.show_move,
            "import": self._ask_files,
            "search_all": self.show_search,
            "trash": self.show_trash,
            "backups": self.show_backups,
            "replay": self.show_replay,
        }

    def update(self, menus: Menus) -> None:
        """Enable the actions that are possible now."""
        is_open = self._controller.shown.conversation is not None
        menus["print"].setEnabled(is_open)
        menus["export"].setEnabled(is_open or bool(self._controller.project.folder))

    @property
    def _archive(self) -> Archive:
        return self._controller.program.archive

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._search.made is not None:
            self._search.made.set_theme(theme)
        self.drop_page.set_theme(theme)

    # --- export ------------------------------------------------------------------------------------------

    def show_export(self, *, is_all: bool = False) -> ExportWindow | None:
        """Open the export window. Everything is preselected if `is_all`, else the selection or the visible branch."""
        from app.ui.dialogs.export_window import ExportWindow

        offers, project = list(self._offers()), self._controller.project.folder
        if not is_all and project and not self._conversations_in(project):
            text = self.tr("“{project}” has no conversations to export yet.").format(project=project)
            self._post(Notice(verbatim(text)))
            return None
        if not offers:
            self._post(Notice(verbatim(self.tr("There is nothing to export yet."))))
            return None
        self._close_idle(ExportWindow)
        sheet = ExportWindow(self._archive, offers, self._folder, self._window)
        sheet.exported.connect(self._on_exported)
        if is_all:
            sheet.scopes.choose(len(offers) - 1)
        elif self._transcript.selection.ids:
            sheet.scopes.choose(1)
        sheet.scopes.focus()
        return sheet

    def _offers(self) -> Iterator[Offer]:
        from app.export.exporting import Scope
        from app.ui.dialogs.export_window import Offer

        conversation = self._controller.shown.conversation
        conversations = self._controller.program.conversations.all
        if conversation is not None:
            name, ids = conversation.name, (conversation.id,)
            path = self._controller.shown.path
            if path:
                num_messages = sum(bool(message.text) or message.role != "system" for message in path)
                messages = self.tr("%n message(s)", "", num_messages)
                yield Offer(self.tr("This branch"), messages, name, Scope(conversation_ids=ids, leaf_id=path[-1].id))
            selected = self._transcript.selection.ids
            if selected:
                messages = self.tr("%n message(s)", "", len(selected))
                scope = Scope(conversation_ids=ids, message_ids=frozenset(selected))
                yield Offer(self.tr("The selected messages"), messages, name, scope)
            elif (current := self._current_id()) is not None:
                scope = Scope(conversation_ids=ids, message_ids=frozenset({current}))
                yield Offer(
                    self.tr("This message"),
                    _excerpt(self._controller.shown.message(current)),
                    name,
                    scope,
                )
            yield Offer(self.tr("The whole tree"), self.tr("All branches"), name, Scope(conversation_ids=ids))
        folder = self._controller.project.folder if conversation is None else conversation.folder
        if folder and (within := self._conversations_in(folder)):
            yield Offer(
                self.tr("This project"),
                self.tr("%n conversation(s) in “{folder}”", "", len(within)).format(folder=folder),
                folder.rpartition("/")[2],
                Scope(conversation_ids=tuple(sorted(within))),
            )
        if conversations:
            yield Offer(
                self.tr("Everything"),
                self.tr("%n conversation(s), with all branches", "", len(conversations)),
                self.tr("Conversations"),
                Scope(conversation_ids=tuple(sorted(one.id for one in conversations))),
            )

    def _conversations_in(self, folder: str) -> list[int]:
        """Return the ids of the conversations of a project."""
        return [one.id for one in self._controller.program.conversations.all if one.folder == folder]

    def _on_exported(self, result: ExportResult) -> None:
        self._folder = result.path.parent
        text = (
            self.tr("Exported {num} files to {path}.").format(num=counted(result.num_files), path=result.path)
            if result.path.is_dir()
            else self.tr("Exported to {path}.").format(path=result.path)
        )
        kind = "warning" if result.problems else "information"
        self._post(Notice(joined([verbatim(text), *result.problems]), kind, ShowFile(result.path)))

    # --- projects ----------------------------------------------------------------------------------------

    def show_project(self, folder: str) -> ProjectWindow:
        """Open the page of a project; an empty `folder` means a new project."""
        from app.ui.dialogs.project_window import ProjectWindow

        for sheet in self._window.findChildren(ProjectWindow):
            if sheet.isVisible() and sheet.folder == folder:
                sheet.activateWindow()
                return sheet
        sheet = ProjectWindow(self._controller, folder, self._theme, self._window)
        controller = self._controller
        if not folder or (controller.shown.conversation is None and controller.project.folder == folder):
            # The empty page follows a project that gets another name.
            sheet.saved.connect(self.project_made)
        return sheet

    # --- import ------------------------------------------------------------------------------------------

    def _ask_files(self) -> None:
        endings = " ".join(f"*{ending}" for ending in SUFFIXES)
        files, _ = QFileDialog.getOpenFileNames(
            self._window, self.tr("Import"), str(self._folder), self.tr("Conversations ({})").format(endings)
        )
        if files:
            self.show_import([Path(file) for file in files])

    def show_import(self, files: Sequence[Path]) -> ImportWindow:
        """Open the import window for files."""
        from app.ui.dialogs.import_window import ImportWindow

        self._close_idle(ImportWindow)
        sheet = ImportWindow(self._archive, files, self._window)
        sheet.imported.connect(self._on_imported)
        return sheet

    def _on_imported(self, summary: Summary) -> None:
        self._controller.program.conversations.read_again(one.id for one in summary.updates if one.id is not None)
        text = self.tr("Imported {conversations} with {messages}.").format(
            conversations=self.tr("%n conversation(s)", "", summary.num_conversations),
            messages=self.tr("%n message(s)", "", summary.num_messages),
        )
        if summary.updates:
            more = self.tr("%n conversation(s) updated from the file.", "", len(summary.updates))
            text = f"{text} {more}" if summary.num_conversations else more
        num_problems = len(summary.problems) + summary.num_more_problems
        if num_problems:
            text += " " + self.tr("%n could not be imported.", "", num_problems)
        ids = [*summary.conversation_ids, *(one.id for one in summary.updates if one.id is not None)]
        kind = "warning" if num_problems else "information"
        self._post(Notice(verbatim(text), kind, ShowConversation(ids[0]) if ids else None))

    # --- another computer --------------------------------------------------------------------------------

    def show_move(self) -> MoveWindow:
        """Open the window that writes and reads the file for another computer."""
        from app.ui.dialogs.recovery_windows import MoveWindow

        self._close_idle(MoveWindow)
        sheet = MoveWindow(self._controller.program, self._settings_files, self._folder, self._window)
        sheet.imported.connect(self._on_imported)
        return sheet

    # --- search ------------------------------------------------------------------------------------------

    @property
    def search(self) -> SearchPanel:
        return self._search.get()

    def _make_search(self) -> SearchPanel:
        from app.ui.dialogs.search_panel import SearchPanel

        panel = SearchPanel(self._archive.searcher, self._theme, self._window, self._field)
        panel.hit_chosen.connect(self._go_to)
        return panel

    def show_search(self) -> None:
        """Open the search over all conversations."""
        settings = self._controller.program.settings
        self.search.chips.set_models(["guide", *(Path(name).name for name in settings.recent_models)])
        self.search.open()

    def _go_to(self, conversation_id: int, message_id: MessageId) -> None:
        conversation = self._controller.shown.conversation
        if conversation is None or conversation.id != conversation_id:
            self._controller.shown.open_conversation(conversation_id)
        if self._controller.shown.conversation is not None:
            self._controller.shown.go_to(message_id)
            self._transcript.focus(message_id)

    # --- trash and backups -------------------------------------------------------------------------------

    def show_trash(self) -> TrashWindow:
        """Open the window of the trash."""
        from app.ui.dialogs.recovery_windows import TrashWindow

        self._close_idle(TrashWindow)
        sheet = TrashWindow(self._archive, self._window)
        sheet.restore_requested.connect(self._restore)
        sheet.delete_requested.connect(self._controller.program.conversations.delete_permanently)
        return sheet

    def _restore(self, item: TrashItem) -> None:
        conversations = self._controller.program.conversations
        conversations.restore(item.conversation_id, item.message_id)
        opened = self._controller.shown.conversation
        if opened is not None and opened.id == item.conversation_id:
            self._controller.shown.open_conversation(opened.id)

    def show_backups(self) -> BackupsWindow:
        """Open the window of the backups."""
        from app.ui.dialogs.recovery_windows import BackupsWindow

        self._close_idle(BackupsWindow)
        sheet = BackupsWindow(self._archive, self._window)
        sheet.restore_requested.connect(self._controller.program.restore_requested)
        return sheet

    # --- replay ------------------------------------------------------------------------------------------

    def show_replay(self) -> ReplayWindow | None:
        """Run the current answer again and compare it. Return None, after a notice, if that is not possible."""
        from app.replay.live_replay import LiveReplay, why_not
        from app.ui.dialogs.replay_window import ReplayWindow

        message_id = self._current_id()
        path = self._controller.shown.path
        index = next((index for index, message in enumerate(path) if message.id == message_id), None)
        if index is None:
            return None
        record = path[index].record
        sessions = self._controller.program.sessions
        session = sessions.chosen if record is None else sessions.of(record.model)
        reason = why_not(session, path[index])
        if reason:
            self._post(Notice(reason, "warning"))
            return None
        self._close_idle(ReplayWindow)
        sheet = ReplayWindow(self._window)
        sheet.follow_run(LiveReplay(session, path[index], path[:index], sheet))
        return sheet

    # --- windows -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close all of these windows."""
        for sheet in self._window.findChildren(QDialog, "sheet"):
            sheet.reject()

    def _close_idle(self, kind: type[Sheet]) -> None:
        """Close windows of this kind, except those that are still working."""
        for sheet in self._window.findChildren(kind):
            if not sheet.is_working:
                sheet.accept()

    def _post(self, notice: Notice) -> None:
        self._controller.program.notices.post(notice)


def _excerpt(message: Message) -> str:
    line = first_words(message)
    return line if len(line) <= _MAX_EXCERPT_CHARACTERS else f"{line[:_MAX_EXCERPT_CHARACTERS].rstrip()}…"
