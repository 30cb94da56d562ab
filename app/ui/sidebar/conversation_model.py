"""The sections and their conversations as Qt's views read them; it knows no widget."""

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
from app.ui.parts.labels import as_tool_tip

Kind: TypeAlias = Literal["pinned", "folder", "today", "yesterday", "week", "older", "archive"]
_Index: TypeAlias = QModelIndex | QPersistentModelIndex

ID = Qt.ItemDataRole.UserRole
"""A conversation's id; None for a section."""
KEY = Qt.ItemDataRole.UserRole + 1
"""A section's key; of a conversation, the one that it is in."""
IS_ANSWERED = Qt.ItemDataRole.UserRole + 2
"""Whether an answer is on its way in a conversation."""
_MIME_TYPE = "application/x-bough-conversation"
_NOWHERE = QModelIndex()
_WEEK_DAYS = 7


class Section(NamedTuple):
    """A group with its conversations, the last used first."""

    kind: Kind
    folder: str
    conversations: tuple[Conversation, ...]

    @property
    def key(self) -> str:
        """What tells it from all others, at the next start, too."""
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


def sections(conversations: Iterable[Conversation], today: date) -> list[Section]:
    """Put conversations into their groups, in the order in which these are shown; empty ones are left out."""
    pinned: list[Conversation] = []
    folders: dict[str, list[Conversation]] = {}
    by_day: dict[Kind, list[Conversation]] = {"today": [], "yesterday": [], "week": [], "older": []}
    archived: list[Conversation] = []
    begins_ms = _beginnings(today)
    for one in conversations:
        if one.archived_ms is not None:
            archived.append(one)
        elif one.pinned_ms is not None:
            pinned.append(one)
        elif one.folder:
            folders.setdefault(one.folder, []).append(one)
        else:
            by_day[_day(one.updated_ms, begins_ms)].append(one)
    found = [Section("pinned", "", tuple(pinned))]
    found += [Section("folder", name, tuple(folders[name])) for name in sorted(folders, key=str.casefold)]
    found += [Section(kind, "", tuple(members)) for kind, members in by_day.items()]
    found.append(Section("archive", "", tuple(archived)))
    return [section for section in found if section.conversations]


def _day(updated_ms: int, begins_ms: list[tuple[Kind, float]]) -> Kind:
    for kind, begin in begins_ms:
        if updated_ms >= begin:
            return kind
    return "older"


def _beginnings(today: date) -> list[tuple[Kind, float]]:
    """When each group's days begin, in milliseconds since 1970; days are this place's, whatever their length."""

    def begin_ms(num_days: int) -> float:
        day = today - timedelta(days=num_days)
        return datetime(day.year, day.month, day.day).astimezone().timestamp() * 1000

    return [("today", begin_ms(0)), ("yesterday", begin_ms(1)), ("week", begin_ms(_WEEK_DAYS - 1))]


class ConversationModel(QAbstractItemModel):
    """Two levels. An index's number is 0 for a section, else the number of the section that it is in."""

    renamed = Signal(int, str)
    moved = Signal(int, str)
    """A conversation was dropped on a section: its id, the section's key; empty where it was dropped beside all."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._sections: list[tuple[int, Section]] = []
        """Each with a number that no other one ever had."""
        self._numbers = itertools.count(1)
        self._answered: frozenset[int] = frozenset()

    # --- what is shown -----------------------------------------------------------------------------------

    def show_sections(self, new: Sequence[Section]) -> None:
        """Show these; of the rows only those change that differ."""
        keys = {section.key for section in new}
        for place in reversed(range(len(self._sections))):
            if self._sections[place][1].key not in keys:
                self.beginRemoveRows(_NOWHERE, place, place)
                del self._sections[place]
                self.endRemoveRows()
        for place, section in enumerate(new):
            if place < len(self._sections) and self._sections[place][1].key == section.key:
                self._change(place, section)
            else:
                self.beginInsertRows(_NOWHERE, place, place)
                self._sections.insert(place, (next(self._numbers), section))
                self.endInsertRows()

    def _change(self, place: int, new: Section) -> None:
        number, old = self._sections[place]
        before, after = old.conversations, new.conversations
        parent = self.index(place, 0)
        if [one.id for one in before] == [one.id for one in after]:
            self._sections[place] = (number, new)
            for row, (was, now) in enumerate(zip(before, after, strict=True)):
                if was.name != now.name:
                    self.dataChanged.emit(self.index(row, 0, parent), self.index(row, 0, parent))
            return
        above = _num_same(before, after)
        below = _num_same(before[above:][::-1], after[above:][::-1])
        if above < len(before) - below:
            self.beginRemoveRows(parent, above, len(before) - below - 1)
            self._sections[place] = (number, new._replace(conversations=before[:above] + before[len(before) - below :]))
            self.endRemoveRows()
        if above < len(after) - below:
            self.beginInsertRows(parent, above, len(after) - below - 1)
            self._sections[place] = (number, new)
            self.endInsertRows()
        self._sections[place] = (number, new)

    def show_answered(self, conversation_ids: frozenset[int]) -> None:
        """Mark the conversations in which answers are on their way."""
        changed, self._answered = conversation_ids ^ self._answered, conversation_ids
        for conversation_id in changed:
            place = self.place_of(conversation_id)
            if place.isValid():
                self.dataChanged.emit(place, place)

    def place_of(self, conversation_id: int) -> QModelIndex:
        """Return where a conversation is; an invalid index where it is not."""
        for place, (_, section) in enumerate(self._sections):
            for row, one in enumerate(section.conversations):
                if one.id == conversation_id:
                    return self.index(row, 0, self.index(place, 0))
        return QModelIndex()

    # --- what views ask ----------------------------------------------------------------------------------

    @override
    def index(self, row: int, column: int, parent: _Index = _NOWHERE) -> QModelIndex:
        if column != 0 or not 0 <= row < self.rowCount(parent):
            return QModelIndex()
        return self.createIndex(row, 0, self._sections[parent.row()][0] if parent.isValid() else 0)

    @override
    def parent(self, child: _Index) -> QModelIndex:  # pyright: ignore[reportIncompatibleMethodOverride] (it is two in Qt)
        number = child.internalId() if child.isValid() else 0
        if number:
            for place, (other, _) in enumerate(self._sections):
                if other == number:
                    return self.createIndex(place, 0, 0)
        return QModelIndex()

    @override
    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        if not parent.isValid():
            return len(self._sections)
        return 0 if parent.internalId() else len(self._sections[parent.row()][1].conversations)

    @override
    def columnCount(self, parent: _Index = _NOWHERE) -> int:
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
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.EditRole:
                return conversation.name
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._with_state(conversation)
            case Qt.ItemDataRole.ToolTipRole:
                return as_tool_tip(self._with_state(conversation))
            case int() if role == IS_ANSWERED:
                return conversation.id in self._answered
            case int() if role == ID:
                return conversation.id
            case _:
                return None

    def _with_state(self, conversation: Conversation) -> str:
        name = conversation.name
        return self.tr("{name} · answering").format(name=name) if conversation.id in self._answered else name

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        # Nobody sees the header; a screen reader finds it all the same.
        is_text = role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}
        return self.tr("Conversations") if is_text else None

    @override
    def setData(self, index: _Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        _, conversation = self._at(index)
        if conversation is None or role != Qt.ItemDataRole.EditRole:
            return False
        self.renamed.emit(conversation.id, str(value))
        return True

    @override
    def flags(self, index: _Index) -> Qt.ItemFlag:
        if not index.isValid():
            # Below the last row: out of every folder.
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
        """The section of an index, and the conversation where it is one's."""
        if not index.isValid():
            return None, None
        section_index = self.parent(index) if index.internalId() else index
        if not section_index.isValid():
            return None, None
        section = self._sections[section_index.row()][1]
        return section, section.conversations[index.row()] if index.internalId() else None


def _num_same(one: Sequence[Conversation], other: Sequence[Conversation]) -> int:
    """In how many rows two lists begin alike."""
    pairs = zip(one, other, strict=False)
    return sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0].id == pair[1].id and pair[0].name == pair[1].name, pairs)
    )
