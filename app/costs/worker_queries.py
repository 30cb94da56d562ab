"""Queries to the worker while the user types: the newest alone counts, and one is under way at a time.

They ask whether an answer format is valid, how many tokens a text has, which hooks there are and what a prompt costs.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET
from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.model_session import ModelSession
from app.answers.prompt import asked_constraint, begun, turns
from app.model.generation_settings import AnswerFormat, Hook
from app.model.message import Message
from app.sentences import translated
from worker import protocol
from worker.protocol import (
    Command,
    Event,
    Failed,
    HooksListed,
    ListHooks,
    Plan,
    Planned,
    Prompt,
    PromptPlan,
    RequestId,
    Tier,
    Tokenize,
    Tokenized,
    Validate,
    Validated,
)
from worker.sentence import verbatim


@dataclass(frozen=True)
class Cost:
    """What the model would read of a prompt, and what it has kept of it."""

    num_read: int
    num_kept: int
    tier: Tier
    """Where the prompt lies: in memory, on disk, or nowhere as a whole."""
    seconds: float | None
    """How long reading would take; None: nobody knows how fast this model reads."""

    @property
    def num_tokens(self) -> int:
        return self.num_read + self.num_kept


def cost_of(plan: PromptPlan, tokens_per_s: float | None) -> Cost:
    """Return what a prompt costs by the worker's plan, for a model that reads so fast."""
    num_read = plan.prompt_tokens - plan.cached_tokens
    seconds = None if tokens_per_s is None else num_read / tokens_per_s
    return Cost(num_read, plan.cached_tokens, plan.tier, seconds)


SETTLED_MS = 150
"""For so long nothing else must be asked: who types on is not interrupted."""

Question: TypeAlias = Callable[[RequestId], Command]
"""Makes a command that ends in one event."""


class Inquiry(QObject):
    """One thing that somebody wants to know of the model that is loaded. What was overtaken is not answered."""

    answered = Signal(object)
    """The event in which the latest question ended."""

    def __init__(self, session: ModelSession, parent: QObject, settled_ms: int = SETTLED_MS) -> None:
        super().__init__(parent)
        self._session = session
        self._question: Question | None = None
        self._request_ids = (f"inquiry-{os.urandom(4).hex()}-{number}" for number in itertools.count(1))
        self._request_id: RequestId = ""
        """Of what is under way; empty: nothing is."""
        self._is_wanted = False
        """Whether what is under way is still the latest."""
        self._timer = QTimer(self, singleShot=True, interval=settled_ms)
        self._timer.timeout.connect(self._send)
        session.link.received.connect(self._on_event)
        session.link.exited.connect(self._on_exit)
        session.changed.connect(self._on_session_changed)

    def ask(self, question: Question) -> None:
        """Ask soon, instead of what was asked before."""
        self._question = question
        self._is_wanted = False
        self._timer.start()

    def forget(self) -> None:
        """Want to know nothing any more."""
        self._question = None
        self._is_wanted = False
        self._timer.stop()

    def _send(self) -> None:
        if self._question is None or self._request_id or self._session.state != "ready":
            return
        request_id = next(self._request_ids)
        question, self._question = self._question, None
        if self._session.link.send(question(request_id)):
            self._request_id, self._is_wanted = request_id, True

    def _on_event(self, event: Event) -> None:
        if not self._request_id or event.request_id != self._request_id:
            return
        self._request_id = ""
        if self._is_wanted:
            self.answered.emit(event)
        if not self._timer.isActive():
            self._send()

    def _on_exit(self) -> None:
        self._request_id = ""

    def _on_session_changed(self) -> None:
        if self._session.state == "ready" and not self._timer.isActive():
            self._send()


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
