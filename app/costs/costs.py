"""The costs of going to the messages of a conversation: how much of each branch the worker has cached."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from msgspec import UNSET
from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.prompt import place_of, tools, turns
from app.costs.worker_queries import UNLOADED, UNREPORTED, AskedModel, Cost, cost_of
from app.model.message import Message, MessageId, Record
from app.model.tree import Tree
from worker import protocol
from worker.protocol import Event, Failed, Finished, Plan, Planned, PromptPlan, RequestId, Tier

_SETTLED_MS = 120
"""A query is sent when no newer request came for this time, so that scrolling past messages sends none."""
_BATCH_SIZE = 32
"""The number of messages in one query. The worker answers a query between two tokens of a running answer."""
_FEW_TOKENS = 16
"""A branch counts as cached if no more tokens than this are missing, because a template puts them between turns."""

_MIN_READ = 64
"""The minimum number of processed prompt tokens from which the speed is estimated."""

Options: TypeAlias = Callable[[], Mapping[str, Any]]
"""Returns the options of the chat template."""
Lineage: TypeAlias = Callable[[MessageId], Sequence[Message]]
"""Returns a message and all messages above it, from the root down."""


class Costs(QObject):
    """The costs of the messages of one conversation, queried in batches as views request them.

    A cost that may be out of date counts as unknown, and is queried again.
    At most one query runs at a time.
    """

    changed = Signal()
    """Some costs are known now, or are no longer valid."""

    def __init__(self, session: AskedModel, options: Options = dict) -> None:
        super().__init__()
        self._session = session
        self._options = options
        self._asked_with: dict[str, Any] = {}
        self._lineage: Lineage | None = None
        self._tree: Tree | None = None
        self._wanted: Sequence[MessageId] = ()
        self._plans: dict[MessageId, PromptPlan] = {}
        self._fresh: set[MessageId] = set()
        """The messages whose costs are up to date."""
        self._doubtful: set[MessageId] = set()
        """The messages of failed queries, which are then queried one by one."""
        self._tokens_per_s: float | None = None
        """The speed of prompt processing that the worker reports; None if unknown."""
        self._rate_before: float | None = None
        """The speed of prompt processing in an earlier answer of this model in this conversation; None if unknown."""
        self._model = ""
        self._request_ids = (f"cost-{os.urandom(4).hex()}-{number}" for number in itertools.count(1))
        self._request_id: RequestId = ""
        """The id of the running query; empty if there is none."""
        self._asked: Sequence[MessageId] = ()
        self._timer = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._timer.timeout.connect(self._ask)
        session.received.connect(self._on_event)
        session.exited.connect(self._on_exit)
        session.changed.connect(self._on_session_changed)

    def show(self, lineage: Lineage | None, tree: Tree | None = None) -> None:
        """Switch to another conversation; None means no conversation. `tree` has the answers of all its branches."""
        self._lineage, self._tree = lineage, tree
        self._wanted = ()
        self._forget()

    def get(self, message_id: MessageId) -> Cost | None:
        """Return the cost of going to a message; None while it is not known, or may have changed."""
        if not self._session.can("plan"):
            return UNREPORTED if self._tree is None else reported_cost(self._tree, message_id, self._session.name)
        if self._session.state == "unloaded":
            return UNLOADED
        plan = self._plans.get(message_id)
        if plan is None or message_id not in self._fresh or message_id in self._asked:
            return None
        cost = cost_of(plan, self._tokens_per_s or self._rate_before)
        return replace(cost, tier=self._tier(message_id, plan))

    def last_tier(self, message_id: MessageId) -> Tier | None:
        """Return where a branch was cached at the last query, so that the drawn tree does not flicker."""
        plan = self._plans.get(message_id)
        if plan is None or self._session.state == "unloaded" or not self._session.can("plan"):
            return None
        return self._tier(message_id, plan)

    def want(self, message_ids: Sequence[MessageId]) -> None:
        """Query the unknown costs of these messages, in this order. This replaces earlier requests."""
        self._wanted = message_ids
        if self._request_id == "" and self._session.can("plan") and self._next_asked():
            self._timer.start()

    def refresh(self) -> None:
        """Query the requested costs again, because a message changed or the model has processed tokens."""
        were_known = bool(self._fresh)
        self._fresh.clear()
        self._doubtful.clear()
        # The answer to a running query is out of date.
        self._asked = ()
        if were_known:
            self.changed.emit()
        self.want(self._wanted)

    def check_options(self) -> None:
        """Query again if the options of the chat template changed, because they change every prompt."""
        if self._options() != self._asked_with:
            self._asked_with = dict(self._options())
            self.refresh()

    # --- inside --------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._plans.clear()
        # Ignore the answer to the running query.
        self._asked = ()
        self.refresh()
        self.changed.emit()

    @property
    def _is_ready(self) -> bool:
        return self._session.state == "ready" and self._session.can("plan")

    def _next_asked(self) -> Sequence[MessageId]:
        wanted = [message_id for message_id in self._wanted if message_id not in self._fresh]
        if wanted and wanted[0] in self._doubtful:
            return wanted[:1]
        return [message_id for message_id in wanted if message_id not in self._doubtful][:_BATCH_SIZE]

    def _ask(self) -> None:
        asked = self._next_asked()
        if self._lineage is None or not asked or self._request_id or not self._is_ready:
            return
        prompts = Prompts()
        lineages = [self._lineage(message_id) for message_id in asked]
        # A query has one list of tools. Branches of other system prompts may have another one.
        offered = tools(lineages[0])
        alike = [tools(lineage) == offered for lineage in lineages]
        asked = list(itertools.compress(asked, alike))
        lineages = list(itertools.compress(lineages, alike))
        paths = [prompts.path(lineage) for lineage in lineages]
        self._rate_before = self._rate_before or _rate(lineages[0], self._session.name)
        # A branch without any text has no prompt.
        self._fresh.update(asked)
        self._asked = [message_id for message_id, path in zip(asked, paths, strict=True) if path]
        paths = [path for path in paths if path]
        request_id = next(self._request_ids)
        self._asked_with = dict(self._options())
        options = self._asked_with or UNSET
        if not paths:
            self.want(self._wanted)
        elif self._session.send(
            Plan(
                request_id=request_id,
                messages=prompts.messages,
                template_options=options,
                tools=offered,
                paths=paths,
            )
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
                    # One of the branches is no valid prompt. Query each alone to find out which.
                    self._doubtful.update(self._asked)
                    self._fresh.difference_update(self._asked)
                self._end_question()
            case Finished():
                self.refresh()
            case _:
                pass

    def _end_question(self) -> None:
        self._request_id, self._asked = "", ()
        self.want(self._wanted)

    def _on_exit(self) -> None:
        # The memory of the worker is lost with it.
        self._request_id = ""
        self._forget()

    def _on_session_changed(self) -> None:
        session = self._session
        identity = session.info.identity if session.info is not None else session.name
        if session.state == "unloaded":
            self._model = ""
            self._forget()
        elif session.state == "ready" and identity != self._model:
            self._model = identity
            self._tokens_per_s = self._rate_before = None
            self._forget()
        elif session.state == "ready":
            self.refresh()

    def _tier(self, message_id: MessageId, plan: PromptPlan) -> Tier:
        """Return where the branch to a message is cached.

        The worker reports this for prompts that are cached as a whole. After an answer, the tokens that a template puts
        before the next turn are never cached. If only these are missing, the branch is cached where the parent's is.
        """
        if plan.tier != "cold" or plan.prompt_tokens - plan.cached_tokens > _FEW_TOKENS or not plan.cached_tokens:
            return plan.tier
        above = self._lineage(message_id)[-2:-1] if self._lineage is not None else ()
        upper = self._plans.get(above[0].id) if above else None
        return "disk" if upper is not None and upper.tier == "disk" else "warm"


def _rate(lineage: Sequence[Message], model: str) -> float | None:
    """Return how many prompt tokens per second a model processed in its last answer with enough of them.

    None means that there is no such answer.
    """
    for message in reversed(lineage):
        record = message.record
        if record is not None and record.model == model and record.figures.read_tokens >= _MIN_READ:
            seconds = record.figures.prefill_ms / 1000
            return record.figures.read_tokens / seconds if seconds > 0 else None
    return None


def reported_cost(tree: Tree, message_id: MessageId, model: str) -> Cost:
    """Return how much of a prompt a server had kept, as its last report says; `UNREPORTED` if there is none.

    The prompt of an answer ends above it, that of a question with the question. Its length is known if the server has
    answered it. All answers below begin with this prompt, so the latest of them says how much of it was still kept.
    """
    message = tree[message_id]
    top = message.parent_id if message.role == "assistant" else message_id
    if top is None or top not in tree:
        return UNREPORTED
    found = [other for other in map(tree.__getitem__, tree.below(top)) if _is_report(other, model)]
    own = [other for other in found if other.parent_id == top]
    latest = max(found, key=_ended_ms, default=None)
    if not own or latest is None or latest.record is None:
        return UNREPORTED
    figures = (max(own, key=_ended_ms).record or Record()).figures
    num_kept = min(latest.record.figures.kept_tokens, figures.prompt_tokens)
    return Cost(figures.prompt_tokens - num_kept, num_kept, None, None, is_reported=True)


def _is_report(message: Message, model: str) -> bool:
    """Return whether a server has reported about the prompt above an answer. That of a continued answer is longer."""
    record = message.record
    if record is None or message.role != "assistant" or record.model != model or record.earlier:
        return False
    return record.figures.prompt_tokens > 0 and record.figures.is_kept_known


def _ended_ms(message: Message) -> int:
    return 0 if message.record is None else message.record.ended_ms


class Prompts:
    """Builds a query for several branches: each turn is sent once, and a branch is a list of turn indexes."""

    def __init__(self) -> None:
        self.messages: list[protocol.Message] = []
        self._indexes: dict[tuple[MessageId, ...], list[int]] = {}
        """For the messages of a turn, a list with the turn's index; an empty list if they are no turn."""
        self._known: dict[MessageId, tuple[list[int], tuple[Message, ...]]] = {}
        """For a message, the turn indexes of its branch without the last turn, and the messages of the last turn."""

    def path(self, lineage: Sequence[Message]) -> list[int]:
        """Return the turn indexes of a branch."""
        known = len(lineage)
        while known and lineage[known - 1].id not in self._known:
            known -= 1
        path, last = self._known[lineage[known - 1].id] if known else ([], ())
        for message in lineage[known:]:
            match place_of(message, last):
                case "joined":
                    last = (*last, message)
                case "new":
                    path, last = [*path, *self._index(last)], (message,)
                case "none":
                    pass
            self._known[message.id] = path, last
        return [*path, *self._index(last)]

    def _index(self, turn: tuple[Message, ...]) -> list[int]:
        """Return a list with the index of a turn; an empty list if the turn is not part of the prompt."""
        ids = tuple(message.id for message in turn)
        if ids not in self._indexes:
            first = len(self.messages)
            self.messages += turns(turn)
            self._indexes[ids] = list(range(first, len(self.messages)))
        return self._indexes[ids]
