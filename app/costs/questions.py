"""What is asked of the worker before a question is sent: is this form good, how long is this, which hooks are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET
from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.model_session import ModelSession
from app.answers.prompt import asked_constraint, begun, turns
from app.costs.inquiry import SETTLED_MS, Inquiry
from app.costs.prompt_cost import cost_of
from app.model.generation_settings import AnswerFormat
from app.model.hook import Hook
from app.model.message import Message
from app.sentences import translated
from worker import protocol
from worker.protocol import (
    Event,
    Failed,
    HooksListed,
    ListHooks,
    Plan,
    Planned,
    Prompt,
    Tokenize,
    Tokenized,
    Validate,
    Validated,
)
from worker.sentence import verbatim

_AT_ONCE = 100
"""Messages: about two milliseconds."""


class FormatCheck(QObject):
    """Whether a form can be used, by the worker that would use it."""

    checked = Signal(object)
    """A `Sentence` on what is wrong with the form; empty: nothing."""

    def __init__(self, session: ModelSession, parent: QObject) -> None:
        super().__init__(parent)
        self._inquiry = Inquiry(session, self)
        self._inquiry.answered.connect(self._on_answered)

    def check(self, form: AnswerFormat | None) -> None:
        """Look at a form soon, and no longer at the one before it."""
        if form is None:
            self._inquiry.forget()
            return
        constraint = asked_constraint(form.constraint)
        self._inquiry.ask(lambda request_id: Validate(request_id=request_id, constraint=constraint))

    def _on_answered(self, event: Event) -> None:
        match event:
            case Validated():
                self.checked.emit(verbatim("") if event.ok else event.sentence)
            case Failed():
                self.checked.emit(event.sentence)
            case _:
                pass


class TokenCount(QObject):
    """How many tokens a text is to the model that is loaded."""

    counted = Signal(int)

    def __init__(self, session: ModelSession, parent: QObject) -> None:
        super().__init__(parent)
        self._inquiry = Inquiry(session, self)
        self._inquiry.answered.connect(self._on_answered)

    def count(self, text: str) -> None:
        """Count a text soon, and no longer the one before it."""
        self._inquiry.ask(lambda request_id: Tokenize(request_id=request_id, text=text, counts_only=True))

    def forget(self) -> None:
        self._inquiry.forget()

    def _on_answered(self, event: Event) -> None:
        if isinstance(event, Tokenized):
            self.counted.emit(event.num_tokens)


class HookList(QObject):
    """Which hooks there are."""

    listed = Signal(object)
    """Them, as a list of `Hook`."""

    def __init__(self, session: ModelSession, parent: QObject) -> None:
        super().__init__(parent)
        self._inquiry = Inquiry(session, self, settled_ms=0)
        self._inquiry.answered.connect(self._on_answered)

    def ask(self) -> None:
        self._inquiry.ask(lambda request_id: ListHooks(request_id=request_id))

    def _on_answered(self, event: Event) -> None:
        if isinstance(event, HooksListed):
            hooks = [
                msgspec.structs.replace(
                    msgspec.convert(hook, Hook, from_attributes=True), problem=translated(hook.problem_sentence)
                )
                for hook in event.hooks
            ]
            self.listed.emit(hooks)


class PromptCosts(QObject):
    """What a prompt would cost that nobody has sent."""

    known = Signal(object)
    """A `Cost`."""
    failed = Signal(object)
    """The worker can't make a prompt of that; why."""

    def __init__(self, session: ModelSession, parent: QObject) -> None:
        super().__init__(parent)
        self._path: Callable[[], Sequence[Message]] = tuple
        self._options: Mapping[str, Any] = {}
        self._answer: Message | None = None
        self._slices: Iterator[Sequence[Message]] = iter(())
        self._messages: list[protocol.Message] = []
        """As far as they are put together: of a long conversation that takes its time, and the window has none."""
        self._settling = QTimer(self, singleShot=True, interval=SETTLED_MS)
        self._settling.timeout.connect(self._begin)
        self._building = QTimer(self, singleShot=True, interval=0)
        self._building.timeout.connect(self._build)
        self._inquiry = Inquiry(session, self, settled_ms=0)
        self._inquiry.answered.connect(self._on_answered)

    def ask(
        self, path: Callable[[], Sequence[Message]], options: Mapping[str, Any], answer: Message | None = None
    ) -> None:
        """Ask about a branch soon, and no longer about the one before it; `path` is called when the time has come.

        `answer`: one to it that is begun, and would go on.
        """
        self.forget()
        self._path, self._options, self._answer = path, options, answer
        self._settling.start()

    def forget(self) -> None:
        self._settling.stop()
        self._building.stop()
        self._inquiry.forget()

    def _begin(self) -> None:
        self._slices, self._messages = slices(self._path()), []
        self._build()

    def _build(self) -> None:
        for part in self._slices:
            self._messages += turns(part)
            self._building.start()
            return
        # Of a branch in which nothing is said there is nothing to ask.
        if self._messages:
            prompt = Prompt(messages=self._messages, template_options=dict(self._options) if self._options else UNSET)
            going_on = None if self._answer is None else begun(self._answer)
            self._inquiry.ask(lambda request_id: Plan(request_id=request_id, prompts=[prompt], continuation=going_on))

    def _on_answered(self, event: Event) -> None:
        match event:
            case Planned(plans=[plan]):
                self.known.emit(cost_of(plan, event.prefill_tokens_per_s))
            case Failed():
                self.failed.emit(event.sentence)
            case _:
                pass


def slices(path: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Cut a branch where its turns are cut, too: before answers, as questions in a row are one turn."""
    begin = 0
    while begin < len(path):
        end = begin + _AT_ONCE
        while end < len(path) and not (path[end].role == "assistant" and path[end].text):
            end += 1
        yield path[begin:end]
        begin = end
