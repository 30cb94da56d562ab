"""Queries to the worker while the user types: the problems of a format, the length of a text, the cost of a prompt."""

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
from app.answers.prompt import continuation_of, place_of, split_continued, tools, turns, worker_constraint
from app.answers.sessions import ModelInUse
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
    """How many tokens of a prompt are cached, and how many must be processed."""

    num_read: int
    num_kept: int
    tier: Tier | None
    """Where the whole prompt is cached: in memory, on disk, or nowhere; None if that is not known."""
    seconds: float | None
    """The expected time to process the other tokens; None if the model's speed is not known yet."""
    is_unloaded: bool = False
    """Whether the model is not loaded. Then nothing is cached in memory, and the other values are not known."""
    is_reported: bool = False
    """Whether the numbers are those of a server's last report, which may have changed since then."""

    @property
    def num_tokens(self) -> int:
        return self.num_read + self.num_kept


UNLOADED = Cost(0, 0, "cold", None, is_unloaded=True)
UNREPORTED = Cost(0, 0, None, None, is_reported=True)
"""The server of the model has reported nothing about this prompt, so nothing can be said."""


def cost_of(plan: PromptPlan, tokens_per_s: float | None) -> Cost:
    """Return the cost of a prompt from the worker's plan; `tokens_per_s` is None if the speed is not known."""
    num_read = plan.prompt_tokens - plan.cached_tokens
    seconds = None if tokens_per_s is None else num_read / tokens_per_s
    return Cost(num_read, plan.cached_tokens, plan.tier, seconds)


AskedModel: TypeAlias = ModelSession | ModelInUse
"""The model for which queries are made: a loaded model, or the model of the conversation in a window."""

SETTLED_MS = 150
"""A query is sent when no newer query came for this time, so that typing is not slowed down."""

Question: TypeAlias = Callable[[RequestId], Command]
"""Returns a command that the worker answers with one event."""


class LatestQuery(QObject):
    """Sends one query at a time to the loaded model. Only the answer to the newest query is emitted."""

    answered = Signal(object)
    """The event that answers the newest query."""

    def __init__(self, session: AskedModel, parent: QObject, settled_ms: int = SETTLED_MS) -> None:
        super().__init__(parent)
        self._session = session
        self._question: Question | None = None
        self._request_ids = (f"query-{os.urandom(4).hex()}-{number}" for number in itertools.count(1))
        self._request_id: RequestId = ""
        """The id of the query that was sent; empty if there is none."""
        self._is_wanted = False
        """Whether the query that was sent is still the newest one."""
        self._timer = QTimer(self, singleShot=True, interval=settled_ms)
        self._timer.timeout.connect(self._send)
        session.received.connect(self._on_event)
        session.exited.connect(self._on_exit)
        session.changed.connect(self._on_session_changed)

    def ask(self, question: Question) -> None:
        """Send a query after a short pause, unless another one replaces it before."""
        self._question = question
        self._is_wanted = False
        self._timer.start()

    def forget(self) -> None:
        """Drop the waiting query, and ignore the answer to the query that was sent."""
        self._question = None
        self._is_wanted = False
        self._timer.stop()

    def _send(self) -> None:
        if self._question is None or self._request_id or self._session.state != "ready":
            return
        request_id = next(self._request_ids)
        question, self._question = self._question, None
        if self._session.send(question(request_id)):
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


_MESSAGES_PER_SLICE = 100
"""The number of messages that are converted at a time, which takes about two milliseconds."""


class FormatCheck(QObject):
    """Asks the worker whether an answer format is valid."""

    checked = Signal(object)
    """A `Sentence` that says what is wrong; empty if the format is valid."""

    def __init__(self, session: AskedModel, parent: QObject) -> None:
        super().__init__(parent)
        self._query = LatestQuery(session, self)
        self._query.answered.connect(self._on_answered)

    def check(self, answer_format: AnswerFormat | None) -> None:
        """Check a format after a short pause, unless another one replaces it before. None cancels the check."""
        if answer_format is None:
            self._query.forget()
            return
        constraint = worker_constraint(answer_format.constraint)
        self._query.ask(lambda request_id: Validate(request_id=request_id, constraint=constraint))

    def _on_answered(self, event: Event) -> None:
        match event:
            case Validated():
                self.checked.emit(verbatim("") if event.ok else event.sentence)
            case Failed():
                self.checked.emit(event.sentence)
            case _:
                pass


class TokenCount(QObject):
    """Counts the tokens of a text for the loaded model."""

    counted = Signal(int)
    failed = Signal()
    """The tokenizer can't process the text."""

    def __init__(self, session: AskedModel, parent: QObject) -> None:
        super().__init__(parent)
        self._query = LatestQuery(session, self)
        self._query.answered.connect(self._on_answered)

    def count(self, text: str) -> None:
        """Count the tokens of a text after a short pause, unless another text replaces it before."""
        self._query.ask(lambda request_id: Tokenize(request_id=request_id, text=text, counts_only=True))

    def forget(self) -> None:
        self._query.forget()

    def _on_answered(self, event: Event) -> None:
        if isinstance(event, Tokenized):
            self.counted.emit(event.num_tokens)
        else:
            self.failed.emit()


class HookList(QObject):
    """Asks the worker which hooks there are."""

    listed = Signal(object)
    """A list of `Hook`."""

    def __init__(self, session: AskedModel, parent: QObject) -> None:
        super().__init__(parent)
        self._query = LatestQuery(session, self, settled_ms=0)
        self._query.answered.connect(self._on_answered)

    def ask(self) -> None:
        self._query.ask(lambda request_id: ListHooks(request_id=request_id))

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
    """Asks the worker for the cost of a prompt before it is sent."""

    known = Signal(object)
    """A `Cost`."""
    failed = Signal(object)
    """A `Sentence` that says why the worker can't make a prompt of the branch."""

    def __init__(self, session: AskedModel, parent: QObject) -> None:
        super().__init__(parent)
        self._path: Callable[[], Sequence[Message]] = tuple
        self._options: Mapping[str, Any] = {}
        self._answer: Message | None = None
        self._slices: Iterator[Sequence[Message]] = iter(())
        self._messages: list[protocol.Message] = []
        self._tools: list[protocol.Tool] = []
        """The converted messages. A long branch is converted in slices, so that the window does not freeze."""
        self._before = ""
        """The text of the parts above the unfinished answer."""
        self._settling = QTimer(self, singleShot=True, interval=SETTLED_MS)
        self._settling.timeout.connect(self._begin)
        self._building = QTimer(self, singleShot=True, interval=0)
        self._building.timeout.connect(self._build)
        self._query = LatestQuery(session, self, settled_ms=0)
        self._query.answered.connect(self._on_answered)

    def ask(
        self, path: Callable[[], Sequence[Message]], options: Mapping[str, Any], answer: Message | None = None
    ) -> None:
        """Ask for the cost of a branch after a short pause, unless another branch replaces it.

        `path` is called when the query is sent.

        `answer` is an unfinished answer at its end that would be continued.
        """
        self.forget()
        self._path, self._options, self._answer = path, options, answer
        self._settling.start()

    def forget(self) -> None:
        self._settling.stop()
        self._building.stop()
        self._query.forget()

    def _begin(self) -> None:
        path = self._path()
        self._before = ""
        if self._answer is not None:
            path, self._before = split_continued(self._answer, path)
        self._slices, self._messages, self._tools = slices(path), [], tools(path)
        self._build()

    def _build(self) -> None:
        for part in self._slices:
            self._messages += turns(part)
            self._building.start()
            return
        # A branch without any text has no prompt.
        if self._messages:
            options = dict(self._options) if self._options else UNSET
            prompt = Prompt(messages=self._messages, template_options=options, tools=self._tools)
            continuation = None if self._answer is None else continuation_of(self._answer, self._before)
            self._query.ask(lambda request_id: Plan(request_id=request_id, prompts=[prompt], continuation=continuation))

    def _on_answered(self, event: Event) -> None:
        match event:
            case Planned(plans=[plan]):
                self.known.emit(cost_of(plan, event.prefill_tokens_per_s))
            case Failed():
                self.failed.emit(event.sentence)
            case _:
                pass


def slices(path: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Cut a branch into slices. Each slice begins with an answer to a question, because others may be joined."""
    begin = 0
    while begin < len(path):
        end = begin + _MESSAGES_PER_SLICE
        while end < len(path) and not _begins_turn(path, end):
            end += 1
        yield path[begin:end]
        begin = end


def _begins_turn(path: Sequence[Message], index: int) -> bool:
    """Return whether a message is an answer that does not continue the turn above it."""
    message = path[index]
    if message.role != "assistant" or not message.text:
        return False
    above = index - 1
    while above >= 0 and place_of(path[above], ()) == "none":
        above -= 1
    return above < 0 or place_of(message, path[above : above + 1]) == "new"
