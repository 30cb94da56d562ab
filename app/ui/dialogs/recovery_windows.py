"""Two windows that restore lost conversations: the trash and the backups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence
from PySide6.QtWidgets import QLabel, QListWidget, QListWidgetItem, QMessageBox, QStackedWidget, QWidget

from app.archive.archive import Archive
from app.model.backups import Backups
from app.model.message import MessageId
from app.model.restoring import Backup, listed
from app.model.trash import TrashItem
from app.numbers import sized
from app.ui.parts.labels import quiet_label
from app.ui.parts.list_rows import two_line_item, two_line_list
from app.ui.parts.qt_workarounds import without_indent
from app.ui.parts.sheet import Filling, Sheet
from app.ui.parts.times import when

_TRASH_SIZE_PX = (600, 560)
_BACKUPS_SIZE_PX = (600, 520)
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
