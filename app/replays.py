"""Answers run again in the worker that the window talks to, one after the other; a notice tells what came of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from app.model.message import Message, MessageId
from app.model_session import ModelSession
from app.notices import Notice, Notices
from app.replay import Replay, refused
from app.verdict import Verdict, told
from worker.protocol import Event


class Replays(QObject):
    """What is run again, beside the answers that are written meanwhile."""

    changed = Signal()
    """Something else is run again, or nothing more, or it is further on."""
    ended = Signal(object)
    """A `Verdict`."""

    def __init__(self, session: ModelSession, notices: Notices) -> None:
        super().__init__()
        self._session = session
        self._notices = notices
        self._waiting: deque[tuple[Message, Sequence[Message]]] = deque()
        self._message_id: MessageId | None = None
        self._replay: Replay | None = None
        session.link.received.connect(self._on_event)
        session.link.exited.connect(self._on_exit)

    @property
    def message_id(self) -> MessageId | None:
        """The answer that is run again now."""
        return self._message_id

    @property
    def done(self) -> float:
        """How much of it is done, 0…1."""
        return 0.0 if self._replay is None else self._replay.done

    def why_not(self, message: Message) -> str | None:
        """Return why an answer can't be run again now, if so, as a sentence."""
        why_not = refused(message)
        if why_not is not None or message.record is None:
            return why_not
        if self._session.state != "ready":
            return "No model is ready. Wait until one is."
        if message.record.model != self._session.name:
            return f"{message.record.model or 'An unknown model'} wrote this answer. Open that model, then replay it."
        return None

    def run(self, message: Message, prompt: Sequence[Message]) -> None:
        """Run an answer again; `prompt` are the messages before it."""
        why_not = self.why_not(message)
        if why_not is not None:
            self._notices.tell(Notice(why_not, "warning"))
            return
        self._waiting.append((message, prompt))
        self._next()

    def stop(self) -> None:
        """Give up what is run again, and what waits for it."""
        self._waiting.clear()
        if self._replay is not None:
            self._session.link.send(self._replay.stop())
            self._look()

    # --- inside --------------------------------------------------------------------------------------------

    def _next(self) -> None:
        if self._replay is not None or not self._waiting:
            return
        message, prompt = self._waiting.popleft()
        loaded = self._session.info
        if loaded is None:
            self._notices.tell(Notice("The model is another one now, so nothing was run again.", "warning"))
            self._waiting.clear()
            return
        self._message_id = message.id
        self._replay = Replay(message, prompt, loaded, self._session.kv_bits)
        self._session.link.send(self._replay.start())
        self.changed.emit()

    def _on_event(self, event: Event) -> None:
        if self._replay is not None:
            for command in self._replay.take(event):
                self._session.link.send(command)
            self._look()

    def _on_exit(self, _exit_code: int) -> None:
        self.stop()

    def _look(self) -> None:
        """See whether it is over."""
        verdict = None if self._replay is None else self._replay.verdict
        if verdict is None:
            return
        self._replay = self._message_id = None
        self._tell(verdict)
        self.ended.emit(verdict)
        self.changed.emit()
        self._next()

    def _tell(self, verdict: Verdict) -> None:
        self._notices.tell(Notice(" ".join(told(verdict)), "information" if verdict.matched else "warning"))
