"""Program-wide notices and the actions that they offer. Independent of Qt widgets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from PySide6.QtCore import QObject, Signal

from app.model.database import StoreError
from app.model.message import MessageId
from worker.sentence import Sentence


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

    is_guide: bool = False
    """Whether it is the process of the guide, beside that of the chosen model."""


@dataclass(frozen=True)
class OpenMemorySettings:
    """Open the settings page "Memory and disk"."""


@dataclass(frozen=True)
class OpenModels:
    """Open the Models window."""


@dataclass(frozen=True)
class ResumeTransfers:
    """Go on with models that were on their way when Bough ended."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class ShowFile:
    """Show a file or folder in the system's file manager."""

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
    """Go on editing a message with the text that was set aside."""

    message_id: MessageId


NoticeAction: TypeAlias = (
    Undo
    | UndoDelete
    | UndoArchive
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
    | ShowConversation
    | ShowBackups
    | StartEmpty
    | EditAgain
)


Kind: TypeAlias = Literal["information", "warning", "danger"]
KINDS: tuple[Kind, ...] = ("information", "warning", "danger")
"""From the least to the most serious."""

Cause: TypeAlias = Literal[
    "store",
    "saving",
    "settings",
    "files",
    "drafts",
    "model",
    "worker",
    "local_api",
    "arrival",
    "transfer",
    "interrupted",
    "writing",
    "fresh_worker",
    "template",
    "draft",
    "odd_model",
    "precision",
]
"""A lasting state of the program: the store that was opened, text or settings that can't be saved, settings that were
set aside, drafts and other files that were, a model that did not load, a worker that does not respond, models that have
come or failed while no Models window was open, models that were on their way when Bough ended, a change that could not
be written, a worker that starts again; and of the loaded model: no chat template, a refused draft model, an oddity, a
refused precision of the cache."""


@dataclass(frozen=True)
class Notice:
    """Some sentences for the banner, and the action of the button beside them."""

    text: Sentence
    kind: Kind = "information"
    action: NoticeAction | None = None
    cause: Cause | None = None
    """The notice stays until its cause ends or the user closes it. None: until one at least as serious comes."""

    def replaces(self, other: Notice) -> bool:
        """Whether this newer notice removes `other` from the banner."""
        if other.cause is not None:
            return self.cause == other.cause
        return KINDS.index(self.kind) >= KINDS.index(other.kind)

    def is_for(self, conversation_id: int | None) -> bool:
        """Whether a window that shows this conversation shows the notice."""
        return not isinstance(self.action, Undo) or self.action.conversation_id == conversation_id


class Notices(QObject):
    """Passes notices from all parts of the program to the windows."""

    posted = Signal(object)
    """A `Notice`."""
    ended = Signal(str)
    """A `Cause`: its notice no longer holds."""

    def __init__(self) -> None:
        super().__init__()
        self._lasting: dict[Cause, Notice] = {}

    @property
    def lasting(self) -> list[Notice]:
        """Return the notices whose causes have not ended, for windows that open later."""
        return list(self._lasting.values())

    def post(self, notice: Notice) -> None:
        """Show a notice in every window. It replaces the last notice with the same cause, if it has a cause."""
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
        """Post a `StoreError` of the block as a notice instead of raising it, then call `on_error`."""
        try:
            yield
        except StoreError as error:
            self.post(Notice(error.sentence, "danger", cause="writing"))
            if on_error is not None:
                on_error()
        else:
            self.end("writing")
