"""The sections of the sidebar with their conversations, as a Qt model. Independent of widgets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import (
    QAbstractItemModel,
    QByteArray,
    QCoreApplication,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from typing_extensions import override

from app.model.message import Conversation
from app.ui.parts.labels import as_tool_tip, beginning

Kind: TypeAlias = Literal["pinned", "folder", "today", "yesterday", "week", "older", "archive"]
_Index: TypeAlias = QModelIndex | QPersistentModelIndex

ID = Qt.ItemDataRole.UserRole
"""A conversation's id, or None for a section."""
KEY = Qt.ItemDataRole.UserRole + 1
"""The key of a section, or of the section that contains a conversation."""
IS_ANSWERING = Qt.ItemDataRole.UserRole + 2
"""Whether a conversation has an answer in progress."""
_MIME_TYPE = "application/x-bough-conversation"
_ROOT = QModelIndex()
_WEEK_DAYS = 7


class Section(NamedTuple):
    """A group of conversations, the most recently used first."""

    kind: Kind
    folder: str
    conversations: tuple[Conversation, ...]

    @property
    def key(self) -> str:
        """A name for the section that is unique and stable across starts."""
        return f"folder/{self.folder}" if self.kind == "folder" else self.kind

    @property
    def title(self) -> str:
        match self.kind:
            case "pinned":
                return QCoreApplication.translate("Sections", "Pinned")
            case "folder":
                return self.folder
            case "today":
                return QCoreApplication.translate("Sections", "Today")
            case "yesterday":
                return QCoreApplication.translate("Sections", "Yesterday")
            case "week":
                return QCoreApplication.translate("Sections", "This week")
            case "older":
                return QCoreApplication.translate("Sections", "Older")
            case "archive":
                return QCoreApplication.translate("Sections", "Archive")


def sections(conversations: Iterable[Conversation], today: date, projects: Iterable[str] = ()) -> list[Section]:
    """Return the groups in the order of the sidebar: pinned, folders, by last use, archive.

    Only the folders of projects may be empty.
    """
    pinned: list[Conversation] = []
    folders: dict[str, list[Conversation]] = {name: [] for name in projects}
    by_day: dict[Kind, list[Conversation]] = {"today": [], "yesterday": [], "week": [], "older": []}
    archived: list[Conversation] = []
    starts_ms = _group_starts(today)
    for one in conversations:
        if one.archived_ms is not None:
            archived.append(one)
        elif one.pinned_ms is not None:
            pinned.append(one)
        elif one.folder:
            folders.setdefault(one.folder, []).append(one)
        else:
            by_day[_group(one.updated_ms, starts_ms)].append(one)
    found = [Section("pinned", "", tuple(pinned))]
    found += [Section("folder", name, tuple(folders[name])) for name in sorted(folders, key=str.casefold)]
    found += [Section(kind, "", tuple(members)) for kind, members in by_day.items()]
    found.append(Section("archive", "", tuple(archived)))
    return [section for section in found if section.conversations or section.kind == "folder"]


def _group(updated_ms: int, starts_ms: list[tuple[Kind, float]]) -> Kind:
    for kind, start in starts_ms:
        if updated_ms >= start:
            return kind
    return "older"


def _group_starts(today: date) -> list[tuple[Kind, float]]:
    """Return the groups by last use, each with its start in milliseconds since 1970, by local time."""

    def start_ms(num_days: int) -> float:
        day = today - timedelta(days=num_days)
        return datetime(day.year, day.month, day.day).astimezone().timestamp() * 1000

    return [("today", start_ms(0)), ("yesterday", start_ms(1)), ("week", start_ms(_WEEK_DAYS - 1))]


class ConversationModel(QAbstractItemModel):
    """A model of two levels: sections and conversations.

    The internal id of an index is 0 for a section, else the number of the section that contains the conversation.
    """

    renamed = Signal(int, str)
    moved = Signal(int, str)
    """A conversation was dropped: its id and the section's key, which is empty below the last row."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._sections: list[tuple[int, Section]] = []
        """The sections, each with a unique number that is never reused."""
        self._numbers = itertools.count(1)
        self._answering: frozenset[int] = frozenset()

    # --- content -----------------------------------------------------------------------------------

    def show_sections(self, new: Sequence[Section]) -> None:
        """Show these sections; only rows that differ are changed."""
        keys = {section.key for section in new}
        for row in reversed(range(len(self._sections))):
            if self._sections[row][1].key not in keys:
                self.beginRemoveRows(_ROOT, row, row)
                del self._sections[row]
                self.endRemoveRows()
        for row, section in enumerate(new):
            if row < len(self._sections) and self._sections[row][1].key == section.key:
                self._change(row, section)
            else:
                self.beginInsertRows(_ROOT, row, row)
                self._sections.insert(row, (next(self._numbers), section))
                self.endInsertRows()

    def _change(self, section_row: int, new: Section) -> None:
        number, old = self._sections[section_row]
        before, after = old.conversations, new.conversations
        parent = self.index(section_row, 0)
        if [one.id for one in before] == [one.id for one in after]:
            self._sections[section_row] = (number, new)
            for row, (was, now) in enumerate(zip(before, after, strict=True)):
                if was.name != now.name:
                    self.dataChanged.emit(self.index(row, 0, parent), self.index(row, 0, parent))
            return
        above = _num_same(before, after)
        below = _num_same(before[above:][::-1], after[above:][::-1])
        if above < len(before) - below:
            self.beginRemoveRows(parent, above, len(before) - below - 1)
            kept = before[:above] + before[len(before) - below :]
            self._sections[section_row] = (number, new._replace(conversations=kept))
            self.endRemoveRows()
        if above < len(after) - below:
            self.beginInsertRows(parent, above, len(after) - below - 1)
            self._sections[section_row] = (number, new)
            self.endInsertRows()
        self._sections[section_row] = (number, new)

    def show_answering(self, conversation_ids: frozenset[int]) -> None:
        """Mark the conversations with answers in progress."""
        changed, self._answering = conversation_ids ^ self._answering, conversation_ids
        for conversation_id in changed:
            index = self.index_of(conversation_id)
            if index.isValid():
                self.dataChanged.emit(index, index)

    def index_of(self, conversation_id: int) -> QModelIndex:
        """Return the index of a conversation; it is invalid if the model does not contain it."""
        for section_row, (_, section) in enumerate(self._sections):
            for row, one in enumerate(section.conversations):
                if one.id == conversation_id:
                    return self.index(row, 0, self.index(section_row, 0))
        return QModelIndex()

    # --- QAbstractItemModel ----------------------------------------------------------------------------------

    @override
    def index(self, row: int, column: int, parent: _Index = _ROOT) -> QModelIndex:
        if column != 0 or not 0 <= row < self.rowCount(parent):
            return QModelIndex()
        return self.createIndex(row, 0, self._sections[parent.row()][0] if parent.isValid() else 0)

    @override
    def parent(self, child: _Index) -> QModelIndex:  # pyright: ignore[reportIncompatibleMethodOverride] (Qt overloads it)
        number = child.internalId() if child.isValid() else 0
        if number:
            for row, (other, _) in enumerate(self._sections):
                if other == number:
                    return self.createIndex(row, 0, 0)
        return QModelIndex()

    @override
    def rowCount(self, parent: _Index = _ROOT) -> int:
        if not parent.isValid():
            return len(self._sections)
        return 0 if parent.internalId() else len(self._sections[parent.row()][1].conversations)

    @override
    def columnCount(self, parent: _Index = _ROOT) -> int:
        return 1

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        section, conversation = self._at(index)
        if section is None:
            return None
        if role == KEY:
            return section.key
        if conversation is None:
            is_text = role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}
            return section.title if is_text else None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return _with_folder(section, conversation)
            case Qt.ItemDataRole.EditRole:
                return beginning(conversation.name)
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._with_state(section, conversation)
            case Qt.ItemDataRole.ToolTipRole:
                return as_tool_tip(self._with_state(section, conversation))
            case int() if role == IS_ANSWERING:
                return conversation.id in self._answering
            case int() if role == ID:
                return conversation.id
            case _:
                return None

    def _with_state(self, section: Section, conversation: Conversation) -> str:
        name = _with_folder(section, conversation)
        return self.tr("{name} · answering").format(name=name) if conversation.id in self._answering else name

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        # The header is hidden, but screen readers find it.
        is_text = role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}
        return self.tr("Conversations") if is_text else None

    @override
    def setData(self, index: _Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        _, conversation = self._at(index)
        if conversation is None or role != Qt.ItemDataRole.EditRole:
            return False
        if value != beginning(conversation.name):
            self.renamed.emit(conversation.id, str(value))
        return True

    @override
    def flags(self, index: _Index) -> Qt.ItemFlag:
        if not index.isValid():
            # A drop below the last row takes a conversation out of its folder.
            return Qt.ItemFlag.ItemIsDropEnabled
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDropEnabled
        if index.internalId():
            flags |= Qt.ItemFlag.ItemIsEditable | Qt.ItemFlag.ItemIsDragEnabled | Qt.ItemFlag.ItemNeverHasChildren
        return flags

    # --- dragging ----------------------------------------------------------------------------------------

    @override
    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    @override
    def mimeTypes(self) -> list[str]:
        return [_MIME_TYPE]

    @override
    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        data = QMimeData()
        ids = [self.data(index, ID) for index in indexes]
        data.setData(_MIME_TYPE, QByteArray(",".join(str(one) for one in ids if one is not None).encode()))
        return data

    @override
    def dropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: _Index) -> bool:
        if not data.hasFormat(_MIME_TYPE):
            return False
        section, _ = self._at(parent)
        for one in bytes(data.data(_MIME_TYPE).data()).decode().split(","):
            if one.isdecimal():
                self.moved.emit(int(one), "" if section is None else section.key)
        return True

    def _at(self, index: _Index) -> tuple[Section | None, Conversation | None]:
        """Return the section of an index, and its conversation if it has one."""
        if not index.isValid():
            return None, None
        section_index = self.parent(index) if index.internalId() else index
        if not section_index.isValid():
            return None, None
        section = self._sections[section_index.row()][1]
        return section, section.conversations[index.row()] if index.internalId() else None


def _num_same(one: Sequence[Conversation], other: Sequence[Conversation]) -> int:
    """Return how many rows are the same at the beginning of both lists."""
    pairs = zip(one, other, strict=False)
    return sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0].id == pair[1].id and pair[0].name == pair[1].name, pairs)
    )


def _with_folder(section: Section, conversation: Conversation) -> str:
    """Return the name of a conversation, and its folder if the section's title does not say it."""
    name = beginning(conversation.name)
    is_in_title = section.key.startswith("folder") or not conversation.folder
    return name if is_in_title else f"{name} · {beginning(conversation.folder)}"
