"""Replay of an answer with the loaded model, reported by Qt signals. `replay.py` and `text_replay.py` compare."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from app.answers.model_session import ModelSession
from app.model.endpoints import shown_name
from app.model.message import Message
from app.replay.replay import Replay, why_not_replayable
from app.replay.text_replay import TextReplay, why_text_is_not_comparable
from app.replay.verdict import Verdict
from worker.protocol import Command, Event
from worker.sentence import Sentence


def why_not(session: ModelSession, message: Message) -> Sentence | None:
    """Return why an answer can't be replayed now; None if it can."""
    if session.info is None:
        return Sentence(
            "The answer can't be run again, because no model is loaded. Load a model, or wait until one has loaded."
        )
    record = message.record
    if record is not None and record.model and record.model != session.name:
        return Sentence(
            "“{model}” wrote this answer. Open that model, then run the answer again.", model=shown_name(record.model)
        )
    if session.can("count") or not message.text:
        return why_not_replayable(message)
    return why_text_is_not_comparable(message)


class LiveReplay(QObject):
    """One replay of an answer, until its verdict. Nothing is stored."""

    progressed = Signal(float)
    """The fraction of the answer that is done, from 0 to 1."""
    done = Signal(object)
    """The `Verdict`."""

    def __init__(self, session: ModelSession, message: Message, prompt: Sequence[Message], parent: QObject) -> None:
        """`prompt` holds the messages before `message`. `why_not` must have returned None."""
        super().__init__(parent)
        assert session.info is not None
        self._session = session
        self._replay = (
            Replay(message, prompt, session.info, session.kv_bits)
            if session.can("count")
            else TextReplay(message, prompt)
        )
        session.link.received.connect(self._on_event)
        session.link.exited.connect(self._on_exit)

    def start(self) -> None:
        self._send([self._replay.start()])

    def stop(self) -> None:
        if self._replay.verdict is None:
            self._send([self._replay.stop()])
            self._report()

    def _send(self, commands: Sequence[Command]) -> None:
        for command in commands:
            self._session.link.send(command)

    def _on_event(self, event: Event) -> None:
        if self._replay.verdict is None:
            self._send(self._replay.take(event))
            self._report()

    def _on_exit(self, _exit_code: int) -> None:
        if self._replay.verdict is None:
            self._replay.stop()
            self._report()

    def _report(self) -> None:
        verdict: Verdict | None = self._replay.verdict
        if verdict is None:
            self.progressed.emit(self._replay.progress)
            return
        self._session.link.received.disconnect(self._on_event)
        self._session.link.exited.disconnect(self._on_exit)
        self.done.emit(verdict)
