"""Conversations in the groups that the sidebar shows: pinned, in folders, by when they were used, put away."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import QCoreApplication

from app.model.message import Conversation

Kind: TypeAlias = Literal["pinned", "folder", "today", "yesterday", "week", "older", "archive"]

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
