"""What it would cost to go to a message: how much of its branch is kept, asked of the worker; it knows no window."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from msgspec import UNSET
from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.model_session import ModelSession
from app.answers.prompt import turns
from app.answers.worker_link import WorkerLink
from app.costs.worker_queries import Cost, cost_of
from app.model.message import Message, MessageId
from worker import protocol
from worker.protocol import Event, Failed, Finished, Plan, Planned, PromptPlan, RequestId, Tier

_SETTLED_MS = 120
"""For so long nothing else must be wanted before the worker is asked: what flies past is not worth a question."""
_AT_ONCE = 32
"""How many messages a question is about: it stands between two tokens of whatever is being written."""
_FEW_TOKENS = 16
"""So many are read anyway: what a template puts between two turns. Who would read no more finds a branch warm."""

_LEAST_READ = 64
"""Of fewer tokens nobody can tell how fast they are read."""

Options: TypeAlias = Callable[[], Mapping[str, Any]]
"""What the chat template is given."""
Lineage: TypeAlias = Callable[[MessageId], Sequence[Message]]
"""A message and all above it, from the root down."""


class Costs(QObject):
    """The costs of one conversation's messages, known by and by: those that are wanted are asked for.

    What is known stays until the conversation or the model is another. What may have changed since is asked for again
    when it is wanted. There is never more than one question under way.
    """

    changed = Signal()
    """More is known, or less."""

    def __init__(self, link: WorkerLink, session: ModelSession, options: Options = dict) -> None:
        super().__init__()
        self._link = link
        self._session = session
        self._options = options
        self._asked_with: dict[str, Any] = {}
        self._lineage: Lineage | None = None
        self._wanted: Sequence[MessageId] = ()
        self._plans: dict[MessageId, PromptPlan] = {}
        self._fresh: set[MessageId] = set()
        """Those of which nothing has been read or written since they were asked about."""
        self._doubtful: set[MessageId] = set()
        """Those with which a question failed: each is asked about alone."""
        self._tokens_per_s: float | None = None
        """How fast the worker says that it reads."""
        self._rate_before: float | None = None
        """How fast this model read for an answer of this conversation, be it long ago."""
        self._model = ""
        self._request_ids = (f"cost-{os.urandom(4).hex()}-{number}" for number in itertools.count(1))
        self._request_id: RequestId = ""
        """Of the question under way; empty: there is none."""
        self._asked: Sequence[MessageId] = ()
        self._timer = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._timer.timeout.connect(self._ask)
        link.received.connect(self._on_event)
        link.exited.connect(self._on_exit)
        session.changed.connect(self._on_session_changed)

    def show(self, lineage: Lineage | None) -> None:
        """Be about another conversation, or about none."""
        self._lineage = lineage
        self._wanted = ()
        self._forget()

    def get(self, message_id: MessageId) -> Cost | None:
        """Return what is known of a message's cost."""
        plan = self._plans.get(message_id)
        if plan is None:
            return None
        cost = cost_of(plan, self._tokens_per_s or self._rate_before)
        return replace(cost, tier=self._tier(message_id, plan))

    def want(self, message_ids: Sequence[MessageId]) -> None:
        """Ask for what is not known of these, the first ones first, and no longer for what was wanted before."""
        self._wanted = message_ids
        if self._request_id == "" and self._next_asked():
            self._timer.start()

    def doubt(self) -> None:
        """A message is another, or something was read: ask again for what is wanted."""
        self._fresh.clear()
        self._doubtful.clear()
        self.want(self._wanted)

    def look_at_options(self) -> None:
        """What the chat template is given may be another: then every prompt is."""
        if self._options() != self._asked_with:
            self._asked_with = dict(self._options())
            self.doubt()

    # --- inside --------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._plans.clear()
        # The answer to a question about what is gone is no news.
        self._asked = ()
        self.doubt()
        self.changed.emit()

    def _next_asked(self) -> Sequence[MessageId]:
        wanted = [message_id for message_id in self._wanted if message_id not in self._fresh]
        if wanted and wanted[0] in self._doubtful:
            return wanted[:1]
        return [message_id for message_id in wanted if message_id not in self._doubtful][:_AT_ONCE]

    def _ask(self) -> None:
        asked = self._next_asked()
        if self._lineage is None or not asked or self._request_id or self._session.state != "ready":
            return
        prompts = Prompts()
        lineages = [self._lineage(message_id) for message_id in asked]
        paths = [prompts.path(lineage) for lineage in lineages]
        self._rate_before = self._rate_before or _rate(lineages[0], self._session.name)
        # Of a branch in which nothing is said there is nothing to read.
        self._fresh.update(asked)
        self._asked = [message_id for message_id, path in zip(asked, paths, strict=True) if path]
        paths = [path for path in paths if path]
        request_id = next(self._request_ids)
        self._asked_with = dict(self._options())
        options = self._asked_with or UNSET
        if not paths:
            self.want(self._wanted)
        elif self._link.send(
            Plan(request_id=request_id, messages=prompts.messages, template_options=options, paths=paths)
        ):
            self._request_id = request_id

    def _on_event(self, event: Event) -> None:
        match event:
            case Planned() if event.request_id == self._request_id:
                self._plans.update(zip(self._asked, event.plans, strict=False))
                self._tokens_per_s = event.prefill_tokens_per_s or self._tokens_per_s
                self._end_question()
                self.changed.emit()
            case Failed() if event.request_id == self._request_id:
                if len(self._asked) > 1:
                    # One of them can't be a prompt of this model; which, shows when each is asked about alone.
                    self._doubtful.update(self._asked)
                    self._fresh.difference_update(self._asked)
                self._end_question()
            case Finished():
                self.doubt()
            case _:
                pass

    def _end_question(self) -> None:
        self._request_id, self._asked = "", ()
        self.want(self._wanted)

    def _on_exit(self) -> None:
        # With the worker goes what it kept in memory.
        self._request_id = ""
        self._forget()

    def _on_session_changed(self) -> None:
        session = self._session
        identity = session.info.identity if session.info is not None else session.name
        if session.state == "ready" and identity != self._model:
            self._model = identity
            self._tokens_per_s = self._rate_before = None
            self._forget()
        elif session.state == "ready":
            self.doubt()

    def _tier(self, message_id: MessageId, plan: PromptPlan) -> Tier:
        """Where the branch to a message lies.

        The worker says so of prompts that are kept whole, and behind an answer stands what a template puts before the
        next turn. Where no more than that is missing, the branch lies where the one to the message above does.
        """
        if plan.tier != "cold" or plan.prompt_tokens - plan.cached_tokens > _FEW_TOKENS or not plan.cached_tokens:
            return plan.tier
        above = self._lineage(message_id)[-2:-1] if self._lineage is not None else ()
        upper = self._plans.get(above[0].id) if above else None
        return "disk" if upper is not None and upper.tier == "disk" else "warm"


def _rate(lineage: Sequence[Message], model: str) -> float | None:
    """Return how many tokens a second a model read for the last answer of a branch that took much reading."""
    for message in reversed(lineage):
        record = message.record
        if record is not None and record.model == model and record.figures.read_tokens >= _LEAST_READ:
            seconds = record.figures.prefill_ms / 1000
            return record.figures.read_tokens / seconds if seconds > 0 else None
    return None


class Prompts:
    """Branches as the worker is asked about them: each message once, and each branch as places of these."""

    def __init__(self) -> None:
        self.messages: list[protocol.Message] = []
        self._places: dict[tuple[MessageId, ...], int] = {}
        """The place of the turn that these messages are."""
        self._known: dict[MessageId, tuple[list[int], tuple[Message, ...]]] = {}
        """The branch to a message, and the messages that are its last turn."""

    def path(self, lineage: Sequence[Message]) -> list[int]:
        """Return the places of what the model is to read of a branch."""
        known = len(lineage)
        while known and lineage[known - 1].id not in self._known:
            known -= 1
        path, last = self._known[lineage[known - 1].id] if known else ([], ())
        for message in lineage[known:]:
            if turns([message]):
                is_joined = bool(last) and len(turns([*last, message])) == 1
                last = (*last, message) if is_joined else (message,)
                path = [*(path[:-1] if is_joined else path), self._place(last)]
            self._known[message.id] = path, last
        return path

    def _place(self, said: tuple[Message, ...]) -> int:
        ids = tuple(message.id for message in said)
        if ids not in self._places:
            self._places[ids] = len(self.messages)
            self.messages += turns(said)
        return self._places[ids]
