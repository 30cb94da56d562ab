"""What is told of the whole program: what happened, what was kept, what to do; it knows no window."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Literal

from PySide6.QtCore import QObject, Signal

from app.model.database import StoreError
from app.sentences import worded


@dataclass(frozen=True)
class Notice:
    """Some sentences for the banner, and what a button beside them does."""

    text: str
    kind: Literal["information", "warning", "danger"] = "information"
    action: Literal[
        "",
        "undo",
        "undo_delete",
        "undo_archive",
        "load_guide",
        "open_settings",
        "show_file",
        "show_conversation",
        "edit_again",
    ] = ""
    target: str = ""
    """The file, or the conversation's number, that is to be shown; of "undo" the conversation in which it was done, of
    "undo_archive" the one that went; of "edit_again" the message."""

    def is_for(self, conversation_id: int | None) -> bool:
        """Whether a window that shows this conversation tells it: undo would take something else back elsewhere."""
        return self.action != "undo" or self.target == str(conversation_id)


class Notices(QObject):
    """Where notices are put; each window shows them."""

    noticed = Signal(object)
    """A `Notice`."""

    def tell(self, notice: Notice) -> None:
        """Tell it in the window's language, whoever wrote its sentences."""
        self.noticed.emit(replace(notice, text=worded(notice.text)))

    @contextlib.contextmanager
    def telling(self, or_else: Callable[[], object] | None = None) -> Generator[None]:
        """Tell the person where the store can't be used; then `or_else` saves what would be lost by that."""
        try:
            yield
        except StoreError as error:
            self.tell(Notice(str(error), "danger"))
            if or_else is not None:
                or_else()
