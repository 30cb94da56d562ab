"""Measures how much of the model's context the conversation fills, including the draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, Signal

from app.costs.prompt_size import question
from app.costs.worker_queries import AskedModel, Cost, PromptCosts, TokenCount
from app.model.message import Message
from worker.sentence import Sentence

NEARLY_FULL = 0.9

Path: TypeAlias = Callable[[], Sequence[Message]]
"""Returns the messages of the visible branch."""

_MAX_MESSAGES = 1000
"""The maximum length of a prompt that is planned as a whole. Planning takes about 20 ms, and streaming pauses."""
_MAX_CHARS = 100_000


@dataclass(frozen=True)
class ContextUse:
    """How much of the context the next prompt would fill, in tokens."""

    num_used: int
    num_kept: int
    limit: int
    seconds: float | None
    """The expected time to process the tokens that are not cached; None if it is not known."""

    @property
    def num_read(self) -> int:
        return max(self.num_used - self.num_kept, 0)

    @property
    def num_free(self) -> int:
        """How many more tokens fit into the context; negative if the prompt is too long."""
        return self.limit - self.num_used

    @property
    def share(self) -> float:
        return self.num_used / self.limit if self.limit else 0.0

    @property
    def is_nearly_full(self) -> bool:
        return self.share >= NEARLY_FULL

    @property
    def is_over(self) -> bool:
        # The answer needs room for at least one token.
        return self.num_free < 1


class ContextMeter(QObject):
    """Measures the prompt of the conversation that a window shows.

    Usually the worker plans the whole prompt, including the draft. With a long conversation or large files this would
    take too long after each key. Then only the tokens of the draft are counted, and added to those of the branch.
    """

    changed = Signal()

    def __init__(self, session: AskedModel, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._identity = ""
        self._costs = PromptCosts(session, self)
        self._costs.known.connect(self._on_cost)
        self._costs.failed.connect(self._on_failed)
        self._whole_costs = PromptCosts(session, self)
        self._whole_costs.known.connect(self._on_whole_cost)
        self._whole_costs.failed.connect(self._on_failed)
        self._count = TokenCount(session, self)
        self._count.counted.connect(self._on_counted)
        self._path: Path = tuple
        self._num_messages = 0
        self._options: Mapping[str, Any] = {}
        self._cost: Cost | None = None
        """The cost of the branch with a draft of one token; None if it is not known."""
        self._whole_cost: Cost | None = None
        """The cost of the whole prompt; None if it was not planned."""
        self._text = ""
        self._files: Sequence[Message] = ()
        self._num_typed = 0
        self._num_in_files = 0
        session.changed.connect(self._on_session_changed)

    @property
    def use(self) -> ContextUse | None:
        """How much of the context the next prompt would fill; None while the model or the cost is not known."""
        info, cost, whole = self._session.info, self._cost, self._whole_cost
        if info is None or cost is None:
            return None
        if whole is not None:
            return ContextUse(whole.num_tokens, whole.num_kept, info.context_length, whole.seconds)
        num_used = cost.num_tokens - 1 + self._num_typed + self._num_in_files
        seconds = None
        if cost.seconds is not None and cost.num_read:
            seconds = cost.seconds * (num_used - cost.num_kept) / cost.num_read
        return ContextUse(num_used, cost.num_kept, info.context_length, seconds)

    def show(self, path: Path, options: Mapping[str, Any], *, is_another: bool = False) -> None:
        """Measure a branch. Unless `is_another` conversation is shown, the old values stay until new ones arrive."""
        self._path, self._options = path, options
        self._num_messages = len(path())
        if is_another:
            self._cost = self._whole_cost = None
            self.changed.emit()
        # The tokens that a template puts around a question count, too.
        self._costs.ask(lambda: [*path(), question("?")], options)
        self._look_at_text()

    def write(self, text: str, files: Sequence[Message] = (), num_in_files: int = 0) -> None:
        """Measure this draft together with the branch. `num_in_files` is the number of tokens in the files."""
        if (text, files, num_in_files) != (self._text, self._files, self._num_in_files):
            self._text, self._files, self._num_in_files = text, files, num_in_files
            self._look_at_text()
            self.changed.emit()

    def _look_at_text(self) -> None:
        num_chars = len(self._text) + sum(len(file.text) for file in self._files)
        is_short = num_chars <= _MAX_CHARS and self._num_messages <= _MAX_MESSAGES
        if is_short and (self._text.strip() or self._files):
            self._count.forget()
            path, draft = self._path, [*self._files, question(self._text)]
            self._whole_costs.ask(lambda: [*path(), *draft], self._options)
            return
        self._whole_costs.forget()
        self._whole_cost = None
        if self._text.strip():
            self._count.count(self._text)
        else:
            self._count.forget()
            self._num_typed = 0

    def _on_cost(self, cost: Cost) -> None:
        self._cost = cost
        self.changed.emit()

    def _on_whole_cost(self, cost: Cost) -> None:
        self._whole_cost = cost
        self.changed.emit()

    def _on_failed(self, _why: Sentence) -> None:
        self._cost = self._whole_cost = None
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
        if info is not None:
            # The model has other tokens and another context length.
            self.show(self._path, self._options, is_another=True)
        else:
            self._cost = self._whole_cost = None
            self.changed.emit()
