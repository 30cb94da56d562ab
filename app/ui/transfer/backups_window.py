"""The backups that Bough made: when, how large, whether they are sound; one of them put back."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLabel, QListWidget, QMessageBox, QStackedWidget, QWidget

from app.archive.archive import Archive
from app.model.backups import Backups
from app.model.restoring import Backup, listed
from app.numbers import sized
from app.ui.parts.one_of import quiet_label
from app.ui.parts.sheet import Sheet
from app.ui.parts.times import when
from app.ui.parts.two_lines import two_line_item, two_line_list

_SIZE_PX = (600, 520)


class BackupsWindow(Sheet):
    """The list of them; each is checked while one looks."""

    restore_asked = Signal(object)
    """The file of the backup that is to be put back."""

    def __init__(self, archive: Archive, parent: QWidget) -> None:
        super().__init__(self.tr("Backups"), parent)
        self._archive = archive
        self._backups: list[Backup] = []
        self.list: QListWidget = two_line_list(self.tr("Backups"))
        self.list.currentRowChanged.connect(self._show_buttons)
        self.empty = QLabel(
            self.tr("There is no backup yet. Bough makes one a day, soon after it starts, and keeps the last seven.")
        )
        self.empty.setObjectName("search_says")
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.list)
        self._pages.addWidget(self.empty)
        self.body.addWidget(
            quiet_label(
                self.tr(
                    "Bough makes a backup a day and before each update of its own, and checks it. Restoring one puts "
                    "it in the place of your conversations; these are kept among the backups."
                )
            )
        )
        self.body.addWidget(self._pages, 1)
        self.folder_button = self.add_button(self.tr("Show folder"), self._show_folder)
        self.restore_button = self.add_button(self.tr("Restore…"), self._ask, is_primary=True)
        self._show_buttons()
        self.open_at(*_SIZE_PX)
        work = archive.run(lambda: listed(archive.path))
        work.progressed.connect(self._show)
        work.done.connect(self._show)
        work.failed.connect(self.fail)
        self.finished.connect(work.cancel)

    @property
    def chosen(self) -> Backup | None:
        row = self.list.currentRow()
        return self._backups[row] if 0 <= row < len(self._backups) else None

    def _show(self, backups: list[Backup]) -> None:
        row = max(self.list.currentRow(), 0)
        self._backups = backups
        self.list.clear()
        for backup in backups:
            self.list.addItem(two_line_item(when(backup.made_ms), self._told(backup), None, _MARKS[backup.state]))
        self._pages.setCurrentWidget(self.list if backups else self.empty)
        if backups:
            self.list.setCurrentRow(min(row, len(backups) - 1))
        self._show_buttons()

    def _told(self, backup: Backup) -> str:
        match backup.state:
            case "sound":
                state = self.tr("sound")
                inside = self.tr("%n conversation(s)", "", backup.num_conversations)
            case "damaged":
                state, inside = self.tr("damaged; it can't be put back"), ""
            case _:
                state, inside = self.tr("being checked …"), ""
        parts = (state, inside, sized(backup.num_bytes), self._why(backup))
        return " · ".join(part for part in parts if part)

    def _why(self, backup: Backup) -> str:
        match backup.reason:
            case "update":
                return self.tr("made before an update")
            case "restore":
                return self.tr("kept when a backup was restored")
            case "daily":
                return ""

    def _show_buttons(self, _row: int = 0) -> None:
        chosen = self.chosen
        self.restore_button.setEnabled(chosen is not None and chosen.state == "sound")

    def _show_folder(self) -> None:
        folder = Backups(self._archive.path).folder
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self.say(self.tr("They are in {folder}. Nothing here can show folders.").format(folder=folder))

    def _ask(self) -> None:
        backup = self.chosen
        if backup is None:
            return
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle(self.tr("Restore a backup"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(self.tr("Restore the backup of {time}?").format(time=when(backup.made_ms)))
        box.setInformativeText(
            self.tr(
                "Bough closes its windows and opens them again with what was there then. What is there now is kept "
                "among the backups. Answers that are under way are stopped."
            )
        )
        restore = box.addButton(self.tr("Restore"), QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        restore.clicked.connect(lambda: self._restore(backup.file))
        box.open()

    def _restore(self, file: Path) -> None:
        self.accept()
        self.restore_asked.emit(file)


_MARKS = {"sound": "check", "damaged": "warning", "unknown": "history"}
