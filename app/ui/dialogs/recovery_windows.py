"""Windows that restore or move conversations: the trash, the backups, and the move to another computer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence
from PySide6.QtWidgets import QFileDialog, QLabel, QListWidget, QListWidgetItem, QMessageBox, QStackedWidget, QWidget
from typing_extensions import override

from app.archive.archive import Archive, Task
from app.care.moving import FILE_NAME, SUFFIX, Moved, Step, forget, merge, move_out, unpacked
from app.model.backups import Backups
from app.model.imports.importing import Progress, Summary
from app.model.message import MessageId
from app.model.restoring import Backup, listed
from app.model.trash import TrashItem
from app.notices import Notice, ShowFile
from app.numbers import sized
from app.program import Program
from app.ui.dialogs.settings_files import SettingsFiles
from app.ui.parts.labels import quiet_label
from app.ui.parts.list_rows import two_line_item, two_line_list
from app.ui.parts.qt_workarounds import without_indent
from app.ui.parts.sheet import Filling, Sheet
from app.ui.parts.times import when
from worker.sentence import Sentence

_TRASH_SIZE_PX = (600, 560)
_BACKUPS_SIZE_PX = (600, 520)
_MOVE_SIZE_PX = (520, 220)
_SPARE_PX = 4
_BACKUP_ICONS = {"sound": "check", "damaged": "warning", "unknown": "history"}


class _ListWindow(Sheet):
    """A list below an explanation. While the list is empty, a text takes its place."""

    def __init__(self, title: str, list_name: str, *, explanation: str, empty_text: str, parent: QWidget) -> None:
        super().__init__(title, parent)
        self.list: QListWidget = two_line_list(list_name)
        self.empty = QLabel(empty_text)
        self.empty.setObjectName("search_says")
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.list)
        self._pages.addWidget(self.empty)
        self.body.addWidget(quiet_label(explanation))
        self.body.addWidget(self._pages, 1)

    def _fill(self, items: Sequence[QListWidgetItem]) -> None:
        """Replace the rows. The current row keeps its number."""
        row = max(self.list.currentRow(), 0)
        self.list.clear()
        for item in items:
            self.list.addItem(item)
        self._pages.setCurrentWidget(self.list if items else self.empty)
        if items:
            self.list.setCurrentRow(min(row, len(items) - 1))
        self.fit()

    def _height_for(self, width: int) -> int:
        """Return the height that the rows, or the text in their place, need."""
        if self.list.count() == 0:
            return self.empty.heightForWidth(width)
        return self.list.count() * self.list.sizeHintForRow(0) + 2 * self.list.frameWidth() + _SPARE_PX

    def _question(self, title: str, text: str, details: str) -> QMessageBox:
        """Return a question with a Cancel button as its default; it deletes itself when it is closed."""
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle(title)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(text)
        box.setInformativeText(details)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        return box


class TrashWindow(_ListWindow):
    """Lists the deleted conversations and pruned branches.

    Restoring takes effect at once. Deleting asks the user first, because it cannot be undone.
    """

    restore_requested = Signal(object)
    """A `TrashItem`."""
    delete_requested = Signal(object, object)
    """The ids of conversations, and of the topmost messages of branches."""

    def __init__(self, archive: Archive, parent: QWidget) -> None:
        super().__init__(
            self.tr("Trash"),
            self.tr("Trash contents"),
            explanation=self.tr(
                "Everything here is permanently deleted after 30 days. Search and export leave it out."
            ),
            empty_text=self.tr(
                "The trash is empty.\n\nDeleted conversations and pruned branches stay here for 30 days. "
                "Until then you can restore them."
            ),
            parent=parent,
        )
        self._archive = archive
        self._trashed: list[TrashItem] = []
        self._pending: tuple[str, list[TrashItem]] = ("", [])
        """The question that waits for an answer, and the items that it is about."""
        self.list.setSelectionMode(QListWidget.SelectionMode.ExtendedSelection)
        self.list.itemSelectionChanged.connect(self._update_buttons)
        self.empty_button = self.add_button(self.tr("Empty trash…"), self._delete_all)
        self.delete_button = self.add_button(self.tr("Delete permanently…"), self._delete_chosen, key=self.tr("Del"))
        self.delete_button.setShortcut(QKeySequence(Qt.Key.Key_Delete))
        self.restore_button = self.add_button(self.tr("Restore"), self._restore, is_primary=True)
        self._update_buttons()
        self.open_at(*_TRASH_SIZE_PX, filling=Filling(self._pages, self._height_for))
        self.refresh()

    def refresh(self) -> None:
        """Read the trash again."""
        task = self._archive.read(lambda store: store.trash.listed())
        task.done.connect(self._show)
        task.failed.connect(self.fail)

    def choose(self, conversation_id: int, message_id: MessageId | None = None) -> None:
        """Select one item: a conversation, or (with `message_id`) a branch."""
        for row, one in enumerate(self._trashed):
            if (one.conversation_id, one.message_id) == (conversation_id, message_id):
                self.list.setCurrentRow(row)

    @property
    def chosen(self) -> list[TrashItem]:
        return [self._trashed[index.row()] for index in self.list.selectionModel().selectedRows()]

    def _show(self, trashed: list[TrashItem]) -> None:
        self._trashed = trashed
        self._fill([self._item(one) for one in trashed])
        self._update_buttons()

    def _item(self, one: TrashItem) -> QListWidgetItem:
        goes = self.tr("%n message(s)", "", one.num_messages)
        if one.message_id is None:
            text, icon_name = one.name, "trash"
            detail = self.tr("Deleted {time} · {goes}")
        else:
            text, icon_name = one.text or self.tr("An empty message"), "fork"
            detail = self.tr("Pruned {time} in “{name}” · {goes}")
        return two_line_item(text, detail.format(time=when(one.trashed_ms), name=one.name, goes=goes), None, icon_name)

    def _update_buttons(self) -> None:
        is_any = bool(self.list.selectionModel().selectedRows()) if self._trashed else False
        self.restore_button.setEnabled(is_any)
        self.delete_button.setEnabled(is_any)
        self.empty_button.setEnabled(bool(self._trashed))

    def _restore(self) -> None:
        for one in self.chosen:
            self.restore_requested.emit(one)
        self.refresh()

    def _delete_chosen(self) -> None:
        chosen = self.chosen
        name = chosen[0].name if chosen[0].message_id is None else chosen[0].text
        self._ask(
            self.tr("Permanently delete “{name}”?").format(name=name[:80])
            if len(chosen) == 1
            else self.tr("Permanently delete these %n items?", "", len(chosen)),
            chosen,
        )

    def _delete_all(self) -> None:
        self._ask(self.tr("Permanently delete everything in the trash?"), list(self._trashed))

    def _ask(self, question: str, trashed: list[TrashItem]) -> None:
        """Count the messages that would be deleted, then ask."""
        conversations, branches = _ids(trashed)
        self._pending = (question, trashed)
        task = self._archive.read(lambda store: store.trash.counted(conversations, branches))
        task.done.connect(self._show_question)
        task.failed.connect(self.fail)

    def _show_question(self, num_messages: int) -> None:
        question, trashed = self._pending
        details = self.tr(
            "{goes}. This removes the text from your conversations, their backups and the cache. "
            "Messages that are also part of other conversations are kept."
        ).format(goes=self.tr("%n message(s)", "", num_messages))
        box = self._question(self.tr("Delete permanently"), question, details)
        delete = box.addButton(self.tr("Delete permanently"), QMessageBox.ButtonRole.DestructiveRole)
        delete.clicked.connect(lambda: self._delete(trashed))
        without_indent(box)
        box.open()

    def _delete(self, trashed: list[TrashItem]) -> None:
        self.delete_requested.emit(*_ids(trashed))
        self.refresh()


class BackupsWindow(_ListWindow):
    """Lists the backups; each one is checked while the window is open."""

    restore_requested = Signal(object)
    """The path of the backup to restore."""

    def __init__(self, archive: Archive, parent: QWidget) -> None:
        super().__init__(
            self.tr("Backups"),
            self.tr("Backups"),
            explanation=self.tr(
                "Bough makes a backup every day and before each update, and checks it. When you restore a "
                "backup, it replaces your conversations; these are kept as another backup."
            ),
            empty_text=self.tr(
                "There are no backups yet. Bough makes one a day, soon after it starts, and keeps seven of them."
            ),
            parent=parent,
        )
        self._archive = archive
        self._backups: list[Backup] = []
        self.list.currentRowChanged.connect(self._update_buttons)
        self.folder_button = self.add_button(self.tr("Show folder"), self._show_folder)
        self.restore_button = self.add_button(self.tr("Restore…"), self._ask, is_primary=True)
        self._update_buttons()
        self.open_at(*_BACKUPS_SIZE_PX, filling=Filling(self._pages, self._height_for))
        task = archive.run(lambda: listed(archive.path))
        task.progressed.connect(self._show)
        task.done.connect(self._show)
        task.failed.connect(self.fail)
        self.finished.connect(task.cancel)

    @property
    def chosen(self) -> Backup | None:
        row = self.list.currentRow()
        return self._backups[row] if 0 <= row < len(self._backups) else None

    def _show(self, backups: list[Backup]) -> None:
        self._backups = backups
        self._fill(
            [two_line_item(when(one.made_ms), self._details(one), None, _BACKUP_ICONS[one.state]) for one in backups]
        )
        self._update_buttons()

    def _details(self, backup: Backup) -> str:
        match backup.state:
            case "sound":
                state = self.tr("intact")
                num_conversations = self.tr("%n conversation(s)", "", backup.num_conversations)
            case "damaged":
                state, num_conversations = self.tr("damaged, can't be restored"), ""
            case "unknown":
                state, num_conversations = self.tr("checking…"), ""
        details = (state, num_conversations, sized(backup.num_bytes), self._reason(backup))
        return " · ".join(text for text in details if text)

    def _reason(self, backup: Backup) -> str:
        match backup.reason:
            case "update":
                return self.tr("made before an update")
            case "restore":
                return self.tr("made before a restore")
            case "daily":
                return ""

    def _update_buttons(self, _row: int = 0) -> None:
        chosen = self.chosen
        self.restore_button.setEnabled(chosen is not None and chosen.state == "sound")

    def _show_folder(self) -> None:
        folder = Backups(self._archive.path).folder
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self.show_message(
                self.tr("The backups are in {folder}. The folder can't be opened here.").format(folder=folder)
            )

    def _ask(self) -> None:
        backup = self.chosen
        if backup is None:
            return
        box = self._question(
            self.tr("Restore a backup"),
            self.tr("Restore the backup from {time}?").format(time=when(backup.made_ms)),
            self.tr(
                "Bough closes its windows and opens them again with the conversations of that time. The "
                "current conversations are kept as a backup. Answers that are still being written are "
                "stopped."
            ),
        )
        restore = box.addButton(self.tr("Restore"), QMessageBox.ButtonRole.AcceptRole)
        restore.clicked.connect(lambda: self._restore(backup.file))
        without_indent(box)
        box.open()

    def _restore(self, file: Path) -> None:
        self.accept()
        self.restore_requested.emit(file)


def _ids(trashed: list[TrashItem]) -> tuple[list[int], list[int]]:
    """Return the ids of the conversations, and of the topmost messages of the branches."""
    conversations = [one.conversation_id for one in trashed if one.message_id is None]
    return conversations, [one.message_id for one in trashed if one.message_id is not None]


class MoveWindow(Sheet):
    """Writes everything into one file for another computer, or reads such a file."""

    imported = Signal(object)
    """The `Summary` of conversations that were imported."""

    def __init__(self, program: Program, settings_files: SettingsFiles, folder: Path, parent: QWidget) -> None:
        """`folder` is the folder that the file dialogs show at first."""
        super().__init__(self.tr("Move to another computer"), parent)
        self._program = program
        self._settings_files = settings_files
        self._folder = folder
        for text in (
            self.tr(
                "One file moves everything to another computer: conversations, the trash, projects, settings, "
                "presets and hooks. It does not contain models and keys."
            ),
            self.tr(
                "Reading such a file overwrites no conversations: new messages are added to those on this computer. "
                "The present settings are saved in a file first."
            ),
        ):
            self.body.addWidget(quiet_label(text))
        self.body.addStretch(1)
        self.add_button(self.tr("Cancel"), self.reject, key=self.tr("Esc"))
        self.read_button = self.add_button(self.tr("Read a file…"), self._ask_to_read)
        self.write_button = self.add_button(self.tr("Write the file…"), self._ask_to_write, is_primary=True)
        self.open_at(*_MOVE_SIZE_PX)
        self.write_button.setFocus()

    @override
    def follow(self, task: Task, text: str) -> None:
        for button in (self.read_button, self.write_button):
            button.setEnabled(False)
            task.ended.connect(partial(button.setEnabled, True))
        super().follow(task, text)

    # --- out ---------------------------------------------------------------------------------------------

    def _ask_to_write(self) -> None:
        kinds = self.tr("All data of Bough ({})").format(f"*{SUFFIX}")
        name, _ = QFileDialog.getSaveFileName(self, self.windowTitle(), str(self._folder / FILE_NAME), kinds)
        if name:
            path = Path(name)
            self.write(path if path.suffix else path.with_suffix(SUFFIX))

    def write(self, path: Path) -> None:
        """Write the file."""
        program = self._program
        hooks = program.preferences.folder / "hooks"
        task = program.archive.run(partial(move_out, path, program.store.path, program.settings, hooks))
        text = self.tr("Writing the file…")
        task.progressed.connect(partial(self._on_bytes, text))
        task.done.connect(lambda: self._on_written(path))
        task.failed.connect(self.fail)
        self.follow(task, text)

    def _on_bytes(self, text: str, step: Step) -> None:
        self.show_progress(text, step.done, step.total)

    def _on_written(self, path: Path) -> None:
        text = Sentence("Everything is in {file}. Take it to the other computer and read it there.", file=path.name)
        self._program.notices.post(Notice(text, action=ShowFile(path)))
        self.accept()

    # --- in ----------------------------------------------------------------------------------------------

    def _ask_to_read(self) -> None:
        kinds = self.tr("All data of Bough ({})").format(f"*{SUFFIX}")
        name, _ = QFileDialog.getOpenFileName(self, self.windowTitle(), str(self._folder), kinds)
        if name:
            self.read(Path(name))

    def read(self, path: Path) -> None:
        """Read the file: its settings, then its conversations."""
        program = self._program
        task = program.archive.run(partial(unpacked, path, program.store.path.parent))
        text = self.tr("Reading the file…")
        task.progressed.connect(partial(self._on_bytes, text))
        task.done.connect(self._on_unpacked)
        task.failed.connect(self.fail)
        self.follow(task, text)

    def _on_unpacked(self, moved: Moved) -> None:
        program = self._program
        if not self._settings_files.take(moved.settings):
            if moved.store is not None:
                forget(moved.store)
            self.show_message(self.tr("Nothing was read."))
            return
        if moved.store is None:
            self.accept()
        elif not program.store.has_conversations and not program.store.why_read_only:
            # All windows close and open again.
            program.restore_requested.emit(moved.store)
        else:
            # The present task ends after this signal.
            QTimer.singleShot(0, self, partial(self._merge, moved.store))

    def _merge(self, moved: Path) -> None:
        task = self._program.archive.write(lambda store: merge(store, moved))
        text = self.tr("Importing the conversations…")
        task.progressed.connect(partial(self._on_conversations, text))
        task.done.connect(self._on_merged)
        task.failed.connect(self.fail)
        task.ended.connect(partial(forget, moved))
        self.follow(task, text)

    def _on_conversations(self, text: str, progress: Progress) -> None:
        self.show_progress(text, progress.done_bytes, progress.total_bytes)

    def _on_merged(self, summary: Summary) -> None:
        self.imported.emit(summary)
        self.accept()
