"""The loaded models, each in a process of its own: the chosen one, the guide, one loaded ahead, one of a server."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.model_session import ModelSession, ModelState
from app.answers.worker_link import WorkerLink
from app.model.endpoints import EndpointModel
from app.model.message import Record
from worker.protocol import Capability, Command, ModelLoaded

GUIDE = "guide"
"""The name of the built-in model that knows only Bough."""
_IDLE_MS = 300_000
"""The process of the guide, or of a model that was loaded ahead, ends after this time without an answer."""


class Sessions(QObject):
    """Finds the session that answers for a model.

    The guide's process is started when the guide is first asked. `ahead` loads the model that answers next while the
    chosen model still answers, and takes turns with it. `remote` asks models of servers other than the chosen one; it
    needs no memory, so it waits for none of the others.
    """

    changed = Signal()
    """A session changed."""

    def __init__(
        self,
        chosen: ModelSession,
        guide: ModelSession,
        ahead: ModelSession,
        remote: ModelSession | None = None,
        *,
        idle_ms: int = _IDLE_MS,
    ) -> None:
        super().__init__()
        self.chosen = chosen
        self.guide = guide
        self.ahead = ahead
        self.remote = remote = remote or ModelSession(WorkerLink())
        self.capabilities_of: Callable[[str], Collection[str] | None] = lambda _: None
        """Returns the capabilities that a model had when it was last loaded; None means all of them."""
        guide.name, guide.state = GUIDE, "unloaded"
        ahead.state = remote.state = "unloaded"
        self.idle_timer, self.ahead_idle_timer, self.remote_idle_timer = (
            QTimer(self, singleShot=True, interval=idle_ms) for _ in (guide, ahead, remote)
        )
        self.idle_timer.timeout.connect(guide.end)
        self.ahead_idle_timer.timeout.connect(ahead.end)
        self.remote_idle_timer.timeout.connect(remote.end)
        for session in self.all:
            session.changed.connect(self.changed)
        chosen.changed.connect(self._end_ahead_without_chosen)

    @property
    def all(self) -> tuple[ModelSession, ModelSession, ModelSession, ModelSession]:
        return self.chosen, self.guide, self.ahead, self.remote

    @property
    def is_guide_idle(self) -> bool:
        """Whether the guide has a process of its own, and no answer is running there."""
        return self.guide.link.is_started and self.idle_timer.isActive()

    @property
    def is_ahead_idle(self) -> bool:
        """Whether no answer needs the model that was loaded ahead."""
        return not self.ahead.link.is_started or self.ahead_idle_timer.isActive()

    def _end_ahead_without_chosen(self) -> None:
        if self.chosen.state == "unloaded" and self.is_ahead_idle:
            self.ahead.end()

    def of(self, model: str) -> ModelSession:
        """Return the session that answers for a model. The session may have another model loaded."""
        if self.chosen.name == model:
            return self.chosen
        if model == GUIDE:
            return self.guide
        if EndpointModel.parse(model) is not None:
            return self.remote
        is_ahead = self.ahead.name == model and self.ahead.state in {"loading", "ready"}
        return self.ahead if is_ahead else self.chosen

    def kind_of(self, session: ModelSession) -> Literal["chosen", "guide", "ahead", "remote"]:
        """Return which of these sessions one is."""
        if session is self.remote:
            return "remote"
        return "guide" if session is self.guide else "ahead" if session is self.ahead else "chosen"

    def taking_turns_with(self, session: ModelSession) -> tuple[ModelSession, ...]:
        """Return this session and the others that never answer at the same time as it."""
        return (session,) if session in {self.guide, self.remote} else (self.chosen, self.ahead)

    def load(self, session: ModelSession, model: str) -> None:
        """Load a model in a session. No answer may be running in it, nor in one that takes turns with it."""
        if session in {self.guide, self.remote}:
            session.load(model, self.chosen.cache_settings)
        else:
            # Its memory may be needed, and two processes must not use one model's cache on disk.
            self.ahead.end()
            self.chosen.choose(model, self.chosen.draft_of(model))

    def load_beside(self, session: ModelSession, model: str) -> None:
        """Load a model in `chosen` or `ahead` while the other one answers. The caller has checked the memory."""
        if session is self.ahead:
            session.load(model, self.chosen.cache_settings, session.draft_of(model))
        else:
            session.choose(model, session.draft_of(model))

    def set_busy(self, busy: Collection[ModelSession]) -> None:
        """Set which sessions are needed for answers. The processes of all but the chosen one end after a while."""
        timers = (
            (self.guide, self.idle_timer),
            (self.ahead, self.ahead_idle_timer),
            (self.remote, self.remote_idle_timer),
        )
        for session, timer in timers:
            if session in busy:
                timer.stop()
            elif session.link.is_started and not timer.isActive():
                timer.start()


class ModelInUse(QObject):
    """The model of the conversation that a window shows.

    Forwards to the `ModelSession` that answers for this model: the chosen model's, or the guide's.
    """

    changed = Signal()
    """The model, its state or its loading progress changed."""
    received = Signal(object)
    """An event of a worker."""
    exited = Signal()
    """A worker ended; its memory is lost."""

    def __init__(self, sessions: Sessions) -> None:
        super().__init__()
        self._sessions = sessions
        self._name: str | None = None
        sessions.changed.connect(self.changed)
        for session in sessions.all:
            session.received.connect(self.received)
            session.exited.connect(self._on_exited)
            session.ended.connect(self.exited)

    def show(self, name: str | None) -> None:
        """Switch to another model; None means the model for new conversations."""
        if name != self._name:
            self._name = name
            self.changed.emit()

    @property
    def name(self) -> str:
        return self._sessions.chosen.name if self._name is None else self._name

    @property
    def session(self) -> ModelSession:
        """The session that answers for the model. It may have another model loaded."""
        return self._sessions.of(self.name)

    @property
    def is_here(self) -> bool:
        """Whether the session has loaded this model, or is loading it."""
        return self.session.name == self.name

    @property
    def state(self) -> ModelState:
        """The state of this model; `unloaded` if the session has another model."""
        return self.session.state if self.is_here else "unloaded"

    @property
    def info(self) -> ModelLoaded | None:
        return self.session.info if self.is_here else None

    def can(self, capability: Capability) -> bool:
        """Return whether the model has an ability; before it is loaded, whether it is known to have it."""
        if self.info is not None:
            return self.info.can(capability)
        known = self._sessions.capabilities_of(self.name)
        return known is None or capability in known

    @property
    def is_cancelling(self) -> bool:
        """Whether the user has cancelled the load, and the worker has not stopped it yet."""
        return self.is_here and self.session.is_cancelling

    def cancel_load(self) -> None:
        """Stop loading the model."""
        if self.is_here:
            self.session.cancel_load()

    @property
    def fraction(self) -> float:
        return self.session.fraction

    @property
    def stage(self) -> str:
        return self.session.stage

    @property
    def thinking_option(self) -> str | None:
        """The name of the chat template's option for thinking; None if it has none, or the model is not loaded."""
        return self.session.thinking_option if self.is_here else None

    def send(self, command: Command) -> bool:
        """Send a query about the model. Return whether it was sent."""
        return self.is_here and self.session.send(command)

    def with_model(self, record: Record) -> Record:
        """Return a record with this model's name and a seed, and with the model's identity if it is loaded."""
        return self.session.with_model(record, self.name)

    def _on_exited(self) -> None:
        self.exited.emit()
