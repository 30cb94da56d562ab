"""The trash: what was thrown away and pruned, with what would go for good; taken back or deleted, one or all."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QLabel, QListWidget, QMessageBox, QStackedWidget, QWidget

from app.archive.archive import Archive
from app.model.message import MessageId
from app.model.trash import Thrown
from app.ui.parts.one_of import quiet_label
from app.ui.parts.sheet import Sheet
from app.ui.parts.times import when
from app.ui.parts.two_lines import two_line_item, two_line_list

_SIZE_PX = (600, 560)


class TrashWindow(Sheet):
    """What lies in the trash. Taking back is done at once; deleting asks first, for nothing undoes it."""

    restore_asked = Signal(object)
    """A `Thrown`."""
    delete_asked = Signal(object, object)
    """The ids of conversations, and of the topmost messages of branches."""

    def __init__(self, archive: Archive, parent: QWidget) -> None:
        super().__init__(self.tr("Trash"), parent)
        self._archive = archive
        self._thrown: list[Thrown] = []
        self._asked: tuple[str, list[Thrown]] = ("", [])
        """What is asked before it is deleted for good."""
        self.list: QListWidget = two_line_list(self.tr("What lies in the trash"))
        self.list.setSelectionMode(QListWidget.SelectionMode.ExtendedSelection)
        self.list.itemSelectionChanged.connect(self._show_buttons)
        self.empty = QLabel(
            self.tr(
                "The trash is empty.\n\nConversations that you delete and branches that you prune lie here "
                "for thirty days. Until then you can take them back."
            )
        )
        self.empty.setObjectName("search_says")
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.list)
        self._pages.addWidget(self.empty)
        self.body.addWidget(
            quiet_label(self.tr("What lies here is deleted after thirty days. No search and no export finds it."))
        )
        self.body.addWidget(self._pages, 1)
        self.restore_button = self.add_button(self.tr("Restore"), self._restore, is_primary=True)
        self.delete_button = self.add_button(self.tr("Delete for good…"), self._delete_chosen, key=self.tr("Del"))
        self.delete_button.setShortcut(QKeySequence(Qt.Key.Key_Delete))
        self.empty_button = self.add_button(self.tr("Empty trash…"), self._delete_all)
        self._show_buttons()
        self.open_at(*_SIZE_PX)
        self.refresh()

    def refresh(self) -> None:
        """Look at what lies there now."""
        work = self._archive.read(lambda store: store.thrown.listed())
        work.done.connect(self._show)
        work.failed.connect(self.fail)

    def choose(self, conversation_id: int, message_id: MessageId | None = None) -> None:
        """Choose one of what lies there."""
        for row, one in enumerate(self._thrown):
            if (one.conversation_id, one.message_id) == (conversation_id, message_id):
                self.list.setCurrentRow(row)

    @property
    def chosen(self) -> list[Thrown]:
        return [self._thrown[index.row()] for index in self.list.selectionModel().selectedRows()]

    def _show(self, thrown: list[Thrown]) -> None:
        row = max(self.list.currentRow(), 0)
        self._thrown = thrown
        self.list.clear()
        for one in thrown:
            goes = self.tr("%n message(s) would go", "", one.num_messages)
            if one.message_id is None:
                text, mark = one.name, "trash"
                detail = self.tr("Deleted {time} · {goes}")
            else:
                text, mark = one.text or self.tr("An empty message"), "fork"
                detail = self.tr("Pruned {time} in “{name}” · {goes}")
            told = detail.format(time=when(one.thrown_ms), name=one.name, goes=goes)
            self.list.addItem(two_line_item(text, told, None, mark))
        self._pages.setCurrentWidget(self.list if thrown else self.empty)
        if thrown:
            self.list.setCurrentRow(min(row, len(thrown) - 1))
        self._show_buttons()

    def _show_buttons(self) -> None:
        is_any = bool(self.list.selectionModel().selectedRows()) if self._thrown else False
        self.restore_button.setEnabled(is_any)
        self.delete_button.setEnabled(is_any)
        self.empty_button.setEnabled(bool(self._thrown))

    def _restore(self) -> None:
        for one in self.chosen:
            self.restore_asked.emit(one)
        self.refresh()

    def _delete_chosen(self) -> None:
        chosen = self.chosen
        name = chosen[0].name if chosen[0].message_id is None else chosen[0].text
        self._ask(
            self.tr("Delete “{name}” for good?").format(name=name[:80])
            if len(chosen) == 1
            else self.tr("Delete %n of these for good?", "", len(chosen)),
            chosen,
        )

    def _delete_all(self) -> None:
        self._ask(self.tr("Delete for good what lies in the trash?"), list(self._thrown))

    def _ask(self, question: str, thrown: list[Thrown]) -> None:
        """Ask once it is known how much goes."""
        conversations, branches = _ids(thrown)
        self._asked = (question, thrown)
        work = self._archive.read(lambda store: store.thrown.counted(conversations, branches))
        work.done.connect(self._show_question)
        work.failed.connect(self.fail)

    def _show_question(self, num_messages: int) -> None:
        question, thrown = self._asked
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle(self.tr("Delete for good"))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(question)
        goes = self.tr("%n message(s) would go", "", num_messages)
        box.setInformativeText(
            self.tr(
                "{goes}: from your conversations, from their backups and from what models have read. "
                "What another conversation shares stays. Models read again what they need."
            ).format(goes=goes)
        )
        delete = box.addButton(self.tr("Delete for good"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        delete.clicked.connect(lambda: self._delete(thrown))
        box.open()

    def _delete(self, thrown: list[Thrown]) -> None:
        self.delete_asked.emit(*_ids(thrown))
        self.refresh()


def _ids(thrown: list[Thrown]) -> tuple[list[int], list[int]]:
    conversations = [one.conversation_id for one in thrown if one.message_id is None]
    return conversations, [one.message_id for one in thrown if one.message_id is not None]
