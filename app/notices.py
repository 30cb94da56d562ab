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
    """Restore the conversation that was deleted last."""


@dataclass(frozen=True)
class UndoArchive:
    conversation_id: int


@dataclass(frozen=True)
class LoadGuide:
    """Load the guide, the small built-in model."""


@dataclass(frozen=True)
class OpenMemorySettings:
    """Open the settings page "Memory and disk"."""


@dataclass(frozen=True)
class ShowFile:
    """Show a file or folder in the system's file manager."""

    path: Path


@dataclass(frozen=True)
class ShowConversation:
    conversation_id: int


@dataclass(frozen=True)
class EditAgain:
    """Go on editing a message with the text that was set aside."""

    message_id: MessageId


NoticeAction: TypeAlias = (
    Undo | UndoDelete | UndoArchive | LoadGuide | OpenMemorySettings | ShowFile | ShowConversation | EditAgain
)


@dataclass(frozen=True)
class Notice:
    """Some sentences for the banner, and the action of the button beside them."""

    text: Sentence
    kind: Literal["information", "warning", "danger"] = "information"
    action: NoticeAction | None = None

    def is_for(self, conversation_id: int | None) -> bool:
        """Whether a window that shows this conversation shows the notice."""
        return not isinstance(self.action, Undo) or self.action.conversation_id == conversation_id


class Notices(QObject):
    """Passes notices from all parts of the program to the windows."""

    posted = Signal(object)
    """A `Notice`."""

    def post(self, notice: Notice) -> None:
        """Show a notice in every window."""
        self.posted.emit(notice)

    @contextlib.contextmanager
    def report_store_errors(self, on_error: Callable[[], object] | None = None) -> Generator[None]:
        """Post a `StoreError` of the block as a notice instead of raising it, then call `on_error`."""
        try:
            yield
        except StoreError as error:
            self.post(Notice(error.sentence, "danger"))
            if on_error is not None:
                on_error()
