"""Answers on their way: which request writes into which message, and when its text goes to the store."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.model.message import Figures, Message, MessageId, Record, State
from app.model.store import Store
from app.worker_link import WorkerLink
from worker import protocol
from worker.protocol import Cancel, Choice, Chunk, Event, Failed, Finished, Generate, PrefillProgress

SAVE_INTERVAL_MS = 200
"""Streamed text is in the store at most this much (and one write) later."""

_NO_WORKER = "No model is running, so there is no answer. Your message is kept. Open a model, then try again."

_STATES: dict[str, State] = {"length": "cut", "cancelled": "stopped"}


@dataclass
class _Stream:
    message: Message
    """As it was when the request was sent."""
    new_text: list[str] = field(default_factory=list[str])
    unsaved: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return self.message.text + "".join(self.new_text)


class Answers(QObject):
    """Asks for answers and writes what comes into their messages, on screen and in the store."""

    text_appended = Signal(int, str)
    """The text that a message has grown by."""
    reading = Signal(int, int, int, int)
    """For a message's prompt: tokens done, in all, kept."""
    ended = Signal(object)
    """A message whose answer has ended, for whatever reason, as it is in the store now."""

    def __init__(self, link: WorkerLink, store: Store) -> None:
        super().__init__()
        self._link = link
        self._store = store
        self._streams: dict[protocol.RequestId, _Stream] = {}
        self._request_ids = (f"answer-{number}" for number in itertools.count(1))
        self._cancel_ids = (f"cancel-{number}" for number in itertools.count(1))
        self._timer = QTimer(self)
        self._timer.setInterval(SAVE_INTERVAL_MS)
        self._timer.timeout.connect(self.save)
        link.received.connect(self._on_event)

    def ask(self, message: Message, prompt: Sequence[Message]) -> None:
        """Ask for `message`, which is in the store as `streaming`; `prompt` are the messages before it.

        Text that the message has already is gone on from.
        """
        request_id = next(self._request_ids)
        stream = _Stream(message)
        if not self._link.send(_generate(request_id, message, prompt)):
            self._end(stream, stream.text, "failed", error=_NO_WORKER)
            return
        self._streams[request_id] = stream
        self._timer.start()

    def stop(self, message_id: MessageId) -> None:
        """End an answer; what is there of it stays."""
        for request_id, stream in self._streams.items():
            if stream.message.id == message_id:
                self._link.send(Cancel(request_id=next(self._cancel_ids), target=request_id))

    def is_streaming(self, message_id: MessageId) -> bool:
        return any(stream.message.id == message_id for stream in self._streams.values())

    def current(self, message: Message) -> Message:
        """Return a message with the text that has streamed into it so far."""
        for stream in self._streams.values():
            if stream.message.id == message.id:
                return msgspec.structs.replace(message, text=stream.text)
        return message

    def interrupt_all(self, error: str) -> list[MessageId]:
        """The worker is gone: end every answer with what is there of it."""
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            self._end(stream, stream.text, "stopped", error=error)
        self._timer.stop()
        return [stream.message.id for stream in streams.values()]

    def save(self) -> None:
        """Write what has streamed in since the last time to the store."""
        for stream in self._streams.values():
            if stream.unsaved:
                self._store.append_text(stream.message.id, "".join(stream.unsaved))
                stream.unsaved.clear()

    def _on_event(self, event: Event) -> None:
        if event.request_id is None or (stream := self._streams.get(event.request_id)) is None:
            return
        match event:
            case Chunk():
                if event.text:
                    stream.new_text.append(event.text)
                    stream.unsaved.append(event.text)
                    self.text_appended.emit(stream.message.id, event.text)
            case PrefillProgress():
                self.reading.emit(stream.message.id, event.done, event.total, event.cached)
            case Finished():
                self._forget(event.request_id)
                choice = event.choices[0]
                state = _STATES.get(choice.reason, "complete")
                self._end(stream, stream.message.text + choice.text, state, finished=event, choice=choice)
            case Failed():
                self._forget(event.request_id)
                self._end(stream, stream.text, "failed", error=event.message)
            case _:
                pass

    def _forget(self, request_id: protocol.RequestId) -> None:
        del self._streams[request_id]
        if not self._streams:
            self._timer.stop()

    def _end(
        self,
        stream: _Stream,
        text: str,
        state: State,
        *,
        finished: Finished | None = None,
        choice: Choice | None = None,
        error: str | None = None,
    ) -> None:
        record = stream.message.record or Record()
        record = msgspec.structs.replace(record, error=error, token_ids=(), reason=None, stop=None)
        if finished is not None and choice is not None:
            record = msgspec.structs.replace(
                record,
                token_ids=tuple(choice.turn_token_ids),
                seed=choice.seed,
                reason=choice.reason,
                stop=choice.stop,
                figures=_figures(finished),
            )
        message = msgspec.structs.replace(stream.message, text=text, state=state, record=record)
        self._store.update(message, durable=True)
        self.ended.emit(message)


def _generate(request_id: str, message: Message, prompt: Sequence[Message]) -> Generate:
    record = message.record or Record()
    sampling = record.sampling
    continuation = None
    if message.text:
        # Ids are exact; where none are kept (the worker died), the seam in the text is healed.
        continuation = (
            protocol.Continuation(token_ids=list(record.token_ids))
            if record.token_ids
            else protocol.Continuation(text=message.text)
        )
    return Generate(
        request_id=request_id,
        messages=prompt_messages(prompt),
        continuation=continuation,
        sampling=protocol.Sampling(temperature=sampling.temperature, top_p=sampling.top_p, seed=sampling.seed),
        stop=list(sampling.stop),
        max_tokens=sampling.max_tokens,
    )


def prompt_messages(path: Sequence[Message]) -> list[protocol.Message]:
    """Return what the model is to read of a branch: no empty system prompt, one turn where questions stand in a row."""
    messages: list[protocol.Message] = []
    for message in path:
        if message.role == "root" or (message.role == "system" and not message.text.strip()):
            continue
        if message.role == "user" and messages and messages[-1].role == "user":
            joined = f"{messages[-1].content}\n\n{message.text}"
            messages[-1] = protocol.Message(role="user", content=joined)
        elif message.role == "assistant" and message.record is not None and message.record.token_ids:
            token_ids = list(message.record.token_ids)
            messages.append(protocol.Message(role="assistant", content=message.text, token_ids=token_ids))
        else:
            messages.append(protocol.Message(role=message.role, content=message.text))
    return messages


def _figures(finished: Finished) -> Figures:
    usage, timing = finished.usage, finished.timing
    return Figures(
        prompt_tokens=usage.prompt_tokens,
        kept_tokens=usage.cached_tokens,
        read_tokens=usage.prefilled_tokens,
        new_tokens=usage.generated_tokens,
        first_word_ms=timing.queue_ms + timing.ttft_ms,
        tokens_per_s=timing.decode_tokens_per_s,
    )
