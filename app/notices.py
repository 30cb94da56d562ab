"""Program-wide notices and the actions that they offer. Independent of Qt widgets."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, Signal

from app.model.database import StoreError
from app.model.message import MessageId
from app.model.project import Project
from worker.sentence import Sentence

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Undo:
    """Undo the last step in a conversation. Only windows that show this conversation offer it."""

    conversation_id: int


@dataclass(frozen=True)
class UndoDelete:
    conversation_id: int


@dataclass(frozen=True)
class UndoArchive:
    conversation_id: int


@dataclass(frozen=True)
class UndoDeleteProject:
    """Make a folder a project again."""

    folder: str
    project: Project


@dataclass(frozen=True)
class AskWithProject:
    """Ask the first question again with the text that the project has now.

    Only windows that show this conversation offer it.
    """

    conversation_id: int


@dataclass(frozen=True)
class AskGuide:
    """Open a page where the guide, the small built-in model, answers."""


@dataclass(frozen=True)
class ChatWith:
    """Open a page where this model answers."""

    model: str


@dataclass(frozen=True)
class UsePlainTemplate:
    """Load a model again with a plain chat template, because its folder has none."""

    model: str


@dataclass(frozen=True)
class LoadAnyway:
    """Load a model although it seems too large for the memory."""

    model: str


@dataclass(frozen=True)
class FreeMemory:
    """End the guide's idle process, then load a model."""

    model: str


@dataclass(frozen=True)
class AllowLargeAnswers:
    """Ask for answers of a model although they seem too large for the memory."""

    model: str


@dataclass(frozen=True)
class RestartWorker:
    """End the model process, which may be stuck, and start a fresh one."""

    process: Literal["chosen", "guide", "ahead", "remote"] = "chosen"
    """The process of the chosen model, of the guide, of a model that was loaded ahead, or of a model of a server."""


@dataclass(frozen=True)
class OpenMemorySettings:
    """Open the settings page "Memory and disk"."""


@dataclass(frozen=True)
class OpenModels:
    """Open the Models window."""


@dataclass(frozen=True)
class ResumeTransfers:
    """Resume the downloads and conversions that were interrupted when Bough ended."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class ShowFile:
    """Show a file or folder in the system's file manager."""

    path: Path


@dataclass(frozen=True)
class OpenPage:
    """Open a page in the web browser."""

    address: str


@dataclass(frozen=True)
class ShowReport:
    """Show the report of a crash."""

    path: Path


@dataclass(frozen=True)
class ShowConversation:
    conversation_id: int


@dataclass(frozen=True)
class ShowBackups:
    """Open the window of the backups."""


@dataclass(frozen=True)
class StartEmpty:
    """Start Bough again with an empty store, which replaces the missing one."""


@dataclass(frozen=True)
class EditAgain:
    """Continue to edit a message with the text of the cancelled edit."""

    message_id: MessageId


NoticeAction: TypeAlias = (
    Undo
    | UndoDelete
    | UndoArchive
    | UndoDeleteProject
    | AskWithProject
    | AskGuide
    | ChatWith
    | LoadAnyway
    | FreeMemory
    | AllowLargeAnswers
    | UsePlainTemplate
    | RestartWorker
    | OpenMemorySettings
    | OpenModels
    | ResumeTransfers
    | ShowFile
    | OpenPage
    | ShowReport
    | ShowConversation
    | ShowBackups
    | StartEmpty
    | EditAgain
)


Kind: TypeAlias = Literal["information", "warning", "danger"]
KINDS: tuple[Kind, ...] = ("information", "warning", "danger")
"""The kinds of notices, from the least to the most serious."""

Cause: TypeAlias = Literal[
    "store",  # the store that was opened is not the usual one
    "saving",  # text can't be saved
    "settings",  # settings can't be saved
    "files",  # settings could not be read and were set aside, or the safe mode is on
    "drafts",  # unsent texts or other files were set aside
    "model",  # a model did not load
    "worker",  # a worker does not respond
    "local_api",  # other programs get no answers
    "arrival",  # downloads or conversions finished while no Models window was open
    "transfer",  # downloads or conversions failed while no Models window was open
    "interrupted",  # downloads or conversions were interrupted when Bough ended
    "writing",  # a change could not be written
    "crash",  # Bough stopped unexpectedly the last time, and there is a report
    "fresh_worker",  # a new worker replaces one that died
    "template",  # the loaded model has no chat template
    "draft",  # the draft model of the loaded model was refused
    "odd_model",  # the loaded model has a problem, but can be used
    "precision",  # the loaded model does not support the chosen precision of the cache
]
"""The lasting state of the program that a notice is about."""


@dataclass(frozen=True)
class Notice:
    """Some sentences for the banner, and the action of the button beside them."""

    text: Sentence
    kind: Kind = "information"
    action: NoticeAction | None = None
    cause: Cause | None = None
    """The notice stays until its cause ends or the user closes it.

    A notice whose cause is None stays until another that is at least as serious comes.
    """

    def replaces(self, other: Notice) -> bool:
        """Whether this newer notice removes `other` from the banner."""
        if other.cause is not None:
            return self.cause == other.cause
        return KINDS.index(self.kind) >= KINDS.index(other.kind)

    def is_for(self, conversation_id: int | None) -> bool:
        """Whether a window that shows this conversation shows the notice."""
        match self.action:
            case Undo(only_in) | AskWithProject(only_in):
                return only_in == conversation_id
            case _:
                return True


class Notices(QObject):
    """Passes notices from all parts of the program to the windows."""

    posted = Signal(object)
    """A `Notice`."""
    ended = Signal(str)
    """A `Cause` that has ended, so that its notice should be removed."""

    def __init__(self, num_changes: Callable[[], int]) -> None:
        """`num_changes` returns a number that grows with each write to the store."""
        super().__init__()
        self._num_changes = num_changes
        self._lasting: dict[Cause, Notice] = {}

    @property
    def lasting(self) -> list[Notice]:
        """Return the notices whose causes have not ended, for windows that open later."""
        return list(self._lasting.values())

    def post(self, notice: Notice) -> None:
        """Show a notice in every window. It replaces the last notice with the same cause, if it has a cause."""
        _log.info("Notice: %s", notice.text)
        if notice.cause is not None:
            self._lasting[notice.cause] = notice
        self.posted.emit(notice)

    def end(self, cause: Cause) -> bool:
        """Remove the notice with this cause from every window; return whether there was one."""
        if self._lasting.pop(cause, None) is None:
            return False
        self.ended.emit(cause)
        return True

    @contextlib.contextmanager
    def report_store_errors(self, on_error: Callable[[], object] | None = None) -> Generator[None]:
        """Post a `StoreError` in the `with` block as a notice instead of raising it, then call `on_error`.

        A block that writes to the store successfully ends the notice of an earlier failure.
        """
        num_before = self._num_changes()
        try:
            yield
        except StoreError as error:
            self.post(Notice(error.sentence, "danger", cause="writing"))
            if on_error is not None:
                on_error()
        else:
            if self._num_changes() != num_before:
                self.end("writing")
