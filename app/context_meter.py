"""How much of a model's context the conversation takes, with what is being written; it knows no window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, Signal

from app.model.message import Message
from app.model_session import ModelSession
from app.questions import PromptCost, PromptCosts, TokenCount

NEARLY_FULL = 0.9

Path: TypeAlias = Callable[[], Sequence[Message]]
"""The messages of the branch that is shown, when they are needed."""

_NOTHING_SAID = Message(id=0, parent_id=None, role="user", text="?")
"""Stands for what is being written: the frame that a template puts around a question counts, too."""


@dataclass(frozen=True)
class Room:
    """Tokens of one prompt, as it would be sent now."""

    num_used: int
    num_kept: int
    limit: int
    seconds: float | None
    """How long reading what is not kept would take; None: nobody knows."""

    @property
    def num_read(self) -> int:
        return max(self.num_used - self.num_kept, 0)

    @property
    def num_free(self) -> int:
        """Less than 0: so much too long it is."""
        return self.limit - self.num_used

    @property
    def share(self) -> float:
        return self.num_used / self.limit if self.limit else 0.0

    @property
    def is_nearly_full(self) -> bool:
        return self.share >= NEARLY_FULL

    @property
    def is_over(self) -> bool:
        # There must be room for one token of an answer.
        return self.num_free < 1


class ContextMeter(QObject):
    """Of the conversation that a window shows. Nothing is asked for one that is not shown."""

    changed = Signal()

    def __init__(self, session: ModelSession, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._identity = ""
        self._costs = PromptCosts(session, self)
        self._costs.known.connect(self._on_cost)
        self._costs.failed.connect(self._on_failed)
        self._count = TokenCount(session, self)
        self._count.counted.connect(self._on_counted)
        self._path: Path | None = None
        self._options: Mapping[str, Any] = {}
        self._cost: PromptCost | None = None
        self._text = ""
        self._num_typed = 0
        self._num_attached = 0
        session.changed.connect(self._on_session_changed)

    @property
    def room(self) -> Room | None:
        """None where nothing is known of the model, or of the conversation."""
        info, cost = self._session.info, self._cost
        if info is None or cost is None:
            return None
        num_used = cost.num_tokens - 1 + self._num_typed + self._num_attached
        seconds = None
        if cost.seconds is not None and cost.num_read:
            seconds = cost.seconds * (num_used - cost.num_kept) / cost.num_read
        return Room(num_used, cost.num_kept, info.context_length, seconds)

    def show(self, path: Path, options: Mapping[str, Any], *, is_another: bool = False) -> None:
        """Be about a branch as it is now. What was known stays until more is, unless it is another conversation's."""
        self._path, self._options = path, options
        if is_another:
            self._cost = None
            self.changed.emit()
        self._costs.ask(lambda: [*path(), _NOTHING_SAID], options)

    def write(self, text: str, num_attached: int = 0) -> None:
        """Be about this text, too, and about files that are so many tokens."""
        if num_attached != self._num_attached:
            self._num_attached = num_attached
            self.changed.emit()
        if text == self._text:
            return
        self._text = text
        if text.strip():
            self._count.count(text)
        else:
            self._count.forget()
            self._on_counted(0)

    def _on_cost(self, cost: PromptCost) -> None:
        self._cost = cost
        self.changed.emit()

    def _on_failed(self, _why: str) -> None:
        self._cost = None
        self.changed.emit()

    def _on_counted(self, num_tokens: int) -> None:
        self._num_typed = num_tokens
        self.changed.emit()

    def _on_session_changed(self) -> None:
        info = self._session.info
        identity = "" if info is None else f"{info.model} {info.identity}"
        if identity == self._identity:
            return
        self._identity = identity
        self._cost = None
        self.changed.emit()
        if info is not None and self._path is not None:
            # Other tokens, another context.
            self.show(self._path, self._options)
            text, self._text = self._text, ""
            self.write(text, self._num_attached)
