"""Answers on their way: which request writes into which message, and when its text goes to the store."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.model.database import StoreError
from app.model.message import Message, MessageId
from app.model.store import Store
from app.prompt import broken_off, finished, generate
from app.worker_link import WorkerLink
from worker.protocol import Cancel, Chunk, Event, Failed, Finished, PrefillProgress, RequestId, Token

SAVE_INTERVAL_MS = 200
"""Streamed text is in the store at most this much (and one write) later."""
RETRY_INTERVAL_MS = 5000
"""The same while the store can't be written."""

_NO_WORKER = "No model is running, so there is no answer. Your message is kept. Open a model, then try again."


@dataclass
class _Stream:
    message: Message
    """As it was when the answer was asked for."""
    prompt: list[Message]
    conversation_id: int
    request_id: RequestId | None = None
    """None while an answer in the prompt is itself still growing."""
    new_text: list[str] = field(default_factory=list[str])
    unsaved: list[str] = field(default_factory=list[str])
    tokens: list[Token] = field(default_factory=list[Token])
    """All that were drawn."""

    @property
    def new(self) -> str:
        # Put together once for all that ask between two pieces.
        self.new_text[:] = ["".join(self.new_text)]
        return self.new_text[0]


class Answers(QObject):
    """Asks for answers and writes what comes into their messages, on screen and in the store."""

    text_appended = Signal(int, str)
    """The text that a message has grown by."""
    reading = Signal(int, int, int, int)
    """For a message's prompt: tokens done, in all, kept."""
    ended = Signal(object)
    """A message whose answer has ended, for whatever reason."""
    saving_failed = Signal(str)
    """The store can't be written, why, and what to do. Nothing is lost as long as the program runs: it tries again."""
    saved_again = Signal()

    def __init__(self, link: WorkerLink, store: Store) -> None:
        super().__init__()
        self._link = link
        self._store = store
        self._streams: dict[MessageId, _Stream] = {}
        self._message_ids: dict[RequestId, MessageId] = {}
        self._unsaved: dict[MessageId, Message] = {}
        """Messages that have ended and are not in the store yet."""
        self._can_save = True
        self._request_ids = (f"answer-{number}" for number in itertools.count(1))
        self._cancel_ids = (f"cancel-{number}" for number in itertools.count(1))
        self._timer = QTimer(self)
        self._timer.setInterval(SAVE_INTERVAL_MS)
        self._timer.timeout.connect(self.save)
        link.received.connect(self._on_event)

    def ask(self, message: Message, prompt: Sequence[Message], conversation_id: int) -> None:
        """Ask for `message`, which is in the store as `streaming`; `prompt` are the messages before it.

        Text that the message has already is gone on from. Where an answer in the prompt is still growing, the
        question waits for its end.
        """
        self._unsaved.pop(message.id, None)
        self._streams[message.id] = _Stream(message, [self.current(above) for above in prompt], conversation_id)
        self._send_ready()

    def stop(self, message_id: MessageId) -> None:
        """End an answer; what is there of it stays."""
        stream = self._streams.get(message_id)
        if stream is None:
            return
        if stream.request_id is None:
            self._end(broken_off(stream.message, "", "stopped", None))
        else:
            self._link.send(Cancel(request_id=next(self._cancel_ids), target=stream.request_id))

    def stop_all(self, conversation_id: int | None = None) -> None:
        """End all answers, or those that were asked for in one conversation."""
        # The last first: one that waits for another must not be sent when that one ends.
        for message_id, stream in reversed(list(self._streams.items())):
            if conversation_id in {None, stream.conversation_id}:
                self.stop(message_id)

    def is_streaming(self, message_id: MessageId) -> bool:
        return message_id in self._streams

    def current(self, message: Message) -> Message:
        """Return a message with the text that has streamed into it so far."""
        stream = self._streams.get(message.id)
        if stream is not None:
            return msgspec.structs.replace(message, text=stream.message.text + stream.new)
        return self._unsaved.get(message.id, message)

    def interrupt_all(self, error: str) -> None:
        """The worker is gone: end every answer with what is there of it."""
        streams, self._streams = self._streams, {}
        self._message_ids.clear()
        messages = [broken_off(stream.message, stream.new, "stopped", error) for stream in streams.values()]
        self._unsaved |= {message.id: message for message in messages}
        self.save()
        for message in messages:
            self.ended.emit(message)

    def save(self) -> None:
        """Write what has streamed in since the last time to the store."""
        try:
            if self._unsaved:
                self._store.update(*self._unsaved.values())
                self._unsaved.clear()
            grown = {message_id: stream for message_id, stream in self._streams.items() if stream.unsaved}
            if grown:
                self._store.append_texts({message_id: "".join(stream.unsaved) for message_id, stream in grown.items()})
                for stream in grown.values():
                    stream.unsaved.clear()
        except StoreError as error:
            self._set_can_save(False, str(error))
        else:
            self._set_can_save(True)
        if not self._streams and not self._unsaved:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _set_can_save(self, can_save: bool, why_not: str = "") -> None:
        if can_save == self._can_save:
            return
        self._can_save = can_save
        self._timer.setInterval(SAVE_INTERVAL_MS if can_save else RETRY_INTERVAL_MS)
        if can_save:
            self.saved_again.emit()
        else:
            self.saving_failed.emit(why_not)

    def _send_ready(self) -> None:
        """Send what waits for no answer any more."""
        for message_id, stream in list(self._streams.items()):
            waits = any(message.id in self._streams for message in stream.prompt)
            if waits or stream.request_id is not None or message_id not in self._streams:
                continue
            request_id = next(self._request_ids)
            if self._link.send(generate(request_id, stream.message, stream.prompt)):
                stream.request_id = request_id
                self._message_ids[request_id] = message_id
            else:
                self._end(broken_off(stream.message, "", "failed", _NO_WORKER))
        if self._streams and not self._timer.isActive():
            self._timer.start()

    def _on_event(self, event: Event) -> None:
        message_id = self._message_ids.get(event.request_id) if event.request_id is not None else None
        if message_id is None:
            # Of an answer that has ended here already, or none of ours.
            return
        stream = self._streams[message_id]
        match event:
            case Chunk():
                stream.tokens += event.tokens
                if event.text:
                    stream.new_text.append(event.text)
                    stream.unsaved.append(event.text)
                    self.text_appended.emit(message_id, event.text)
            case PrefillProgress():
                self.reading.emit(message_id, event.done, event.total, event.cached)
            case Finished():
                self._end(finished(stream.message, stream.prompt, stream.tokens, event))
            case Failed():
                self._end(broken_off(stream.message, stream.new, "failed", event.message))
            case _:
                pass

    def _end(self, message: Message) -> None:
        stream = self._streams.pop(message.id)
        if stream.request_id is not None:
            del self._message_ids[stream.request_id]
        for other in self._streams.values():
            other.prompt = [message if above.id == message.id else above for above in other.prompt]
        self._unsaved[message.id] = message
        self.save()
        self.ended.emit(message)
        self._send_ready()
