"""Running answers: which request belongs to which message, and when a request is sent."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
from PySide6.QtCore import QObject, Signal

from app.answers.answer_stream import AnswerStream, Reading
from app.answers.model_session import ModelSession
from app.answers.prompt import broken_off, finished, generate
from app.answers.saving import Saving
from app.answers.sessions import Sessions
from app.model.database import StoreError
from app.model.message import Message, MessageId, Record
from app.model.own_files import RETRY_MS
from app.model.store import Store
from app.model.token_pieces import TokenPiece
from worker.protocol import (
    Answered,
    Cancel,
    Chunk,
    Event,
    Failed,
    Finished,
    Forked,
    PrefillProgress,
    RequestId,
    Retract,
)
from worker.sentence import Sentence

_NO_WORKER = Sentence(
    "There is no answer because no model is running. Your message is kept. Open a model, then try again."
)


Options: TypeAlias = Callable[[str | None], Mapping[str, Any]]
"""Returns the options of the chat template.

The argument is the name of the template's option for thinking, known once the model is loaded; None without one.
"""


@dataclass
class _Waiting:
    """A request that has not been sent yet. Without messages, it stands for a model that the user chose to load."""

    model: str
    message_ids: list[MessageId]
    options: Options | None = None
    is_loading: bool = False
    """Whether the model has been loading at some time since the request."""
    has_begun_load: bool = False
    """Whether the model is being loaded because of this request."""
    refusal: Sentence | None = None
    """Why the model is not loaded; None if nothing prevents it."""
    flush: int = 0
    """The number of the flush after which the prompt is on the disk."""
    waits_for_disk: bool = False
    """Whether the request waits only for the disk."""


class Answers(QObject):
    """Requests answers, and writes the streamed text into their messages, on screen and in the store.

    An answer of another model than the loaded one waits until the running answers of its session have ended. Then its
    model is loaded. Requests to one session keep their order.
    """

    requested = Signal()
    """More answers were requested."""
    next_model_known = Signal(str, object)
    """The model that answers next while another one answers, and the idle `ModelSession` for `load_next`."""
    stopping = Signal(int)
    """The id of a message whose answer the worker should stop."""
    text_appended = Signal(int, str)
    """A message's id, and the text that was appended to the message."""
    text_retracted = Signal(int)
    """The id of a message from whose end text was removed."""
    stopped_growing = Signal(int)
    """The id of a message that has stopped growing. Other messages of the same request may still grow."""
    branched = Signal(int, int, object)
    """A conversation's id, the id of a growing message in it, and the `Message` that a hook forked from it."""
    reading = Signal(int, object)
    """The id of a message whose prompt is being processed, and a `Reading`."""
    ended = Signal(object)
    """A `Message` whose answer has ended, for any reason."""

    def __init__(
        self,
        sessions: Sessions,
        store: Store,
        *,
        retry_ms: int = RETRY_MS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`retry_ms` is the interval of saving while the store can't be written. `clock` returns seconds."""
        super().__init__()
        self._sessions = sessions
        self._store = store
        self._clock = clock
        self._streams: dict[MessageId, AnswerStream] = {}
        self.saving = Saving(store, self._streams, retry_ms=retry_ms, clock=clock)
        self.saving.flushed.connect(self._send_ready)
        self._message_ids: dict[RequestId, dict[int, MessageId]] = {}
        """For each request, the ids of its messages by the number of the choice."""
        self._waiting: list[_Waiting] = []
        """The requests that have not been sent yet, in order."""
        self._is_sending = False
        self._next_model = ""
        """The model of the last `next_model_known`; empty once another request was sent."""
        self.refusal_of: Callable[[str], Sentence | None] = lambda _: None
        """Returns why a model that is about to be asked should not be loaded; None if it should."""
        self._request_ids = (f"answer-{number}" for number in itertools.count(1))
        self._cancel_ids = (f"cancel-{number}" for number in itertools.count(1))
        sessions.changed.connect(self._send_ready)
        for session in sessions.all:
            session.received.connect(self._on_event)

    def ask(
        self,
        messages: Sequence[Message],
        prompt: Sequence[Message],
        conversation_id: int,
        options: Options | None = None,
    ) -> None:
        """Request answers for `messages`, siblings that are stored as `streaming`. `prompt` are the messages before
        them.

        The model named by their records writes them; it is loaded if necessary, then `options` says how its template
        is used. Existing text of a message is continued. If an answer in the prompt is still growing, the request
        waits for its end.
        """
        above = [self.current(message) for message in prompt]
        for choice, message in enumerate(messages):
            self.saving.drop(message.id)
            self._streams[message.id] = AnswerStream(message, above, conversation_id, choice)
        model = (messages[0].record or Record()).model or self._sessions.chosen.name
        # An answer without text need not be there.
        given = [message.id for message in (*prompt, *messages) if message.text]
        flush = self.saving.flush_of(given)
        self._waiting.append(_Waiting(model, [message.id for message in messages], options, flush=flush))
        self._send_ready()
        self.requested.emit()

    def load(self, model: str) -> None:
        """Load a model that the user has chosen once the answers that are running or waiting have ended."""
        self._waiting = [waiting for waiting in self._waiting if waiting.message_ids]
        self._waiting.append(_Waiting(model, []))
        self._send_ready()

    @property
    def awaited_model(self) -> str | None:
        """The model that the user has chosen, and that will be loaded after answers; None if there is none."""
        return next((waiting.model for waiting in self._waiting if not waiting.message_ids), None)

    def stop(self, message_id: MessageId) -> None:
        """Stop an answer. The text that it has so far is kept."""
        stream = self._streams.get(message_id)
        if stream is None or stream.has_ended:
            return
        if stream.request_id is None:
            for waiting in self._waiting:
                if message_id in waiting.message_ids:
                    waiting.message_ids.remove(message_id)
                    if not waiting.message_ids:
                        self._waiting.remove(waiting)
                        self._cancel_load(waiting)
                    break
            self._end(broken_off(stream.message, "stopped", None))
        else:
            assert stream.session is not None
            is_alone = len(self._message_ids[stream.request_id]) == 1
            choice = None if is_alone else stream.choice
            stream.session.send(Cancel(request_id=next(self._cancel_ids), target=stream.request_id, choice=choice))
            stream.is_stopping = True
            self.stopping.emit(message_id)

    def _cancel_load(self, stopped: _Waiting) -> None:
        """Stop loading the model of a request that was cancelled, unless another request waits for this model."""
        session = self._sessions.of(stopped.model)
        is_wanted = any(waiting.model == stopped.model for waiting in self._waiting)
        if not stopped.has_begun_load or is_wanted or session.name != stopped.model:
            return
        if session is self._sessions.ahead:
            session.end()
        else:
            session.cancel_load()

    def give_up(self, message_id: MessageId) -> None:
        """End a stopped answer with its text so far, without waiting for the worker to stop it."""
        stream = self._streams.get(message_id)
        if stream is not None and not stream.has_ended:
            self._end(broken_off(stream.stored, "stopped", None))

    def is_stopping(self, message_id: MessageId) -> bool:
        """Return whether an answer is being stopped: the user has stopped it, and it has not ended yet."""
        stream = self._streams.get(message_id)
        return stream is not None and stream.is_stopping and not stream.has_ended

    def stop_all(self, conversation_id: int | None = None) -> None:
        """Stop all answers, or those of one conversation."""
        # Stop the last one first, so that an answer that waits for another is not sent when that one ends.
        for message_id, stream in reversed(list(self._streams.items())):
            if conversation_id in {None, stream.conversation_id}:
                self.stop(message_id)

    def stop_session(self, session: ModelSession) -> None:
        """Stop all answers that a session is generating or that wait for the session."""
        for message_id, stream in reversed(list(self._streams.items())):
            if (stream.session or self._sessions.of(_model_of(stream))) is session:
                self.stop(message_id)

    def is_streaming(self, message_id: MessageId) -> bool:
        stream = self._streams.get(message_id)
        return stream is not None and not stream.has_ended

    def tokens_so_far(self, message_id: MessageId) -> Sequence[TokenPiece]:
        """Return the tokens of a growing answer, as parts of its text; an empty sequence for other messages."""
        stream = self._streams.get(message_id)
        return () if stream is None else stream.pieces

    def is_pending(self, message_id: MessageId) -> bool:
        """Return whether a message may still grow, or its end has not been reported yet."""
        return message_id in self._streams

    def is_waiting(self, message_id: MessageId) -> bool:
        """Return whether an answer waits for another answer in its prompt, or for its model."""
        stream = self._streams.get(message_id)
        if stream is None or stream.request_id is not None:
            return False
        return not self.waits_for_disk(message_id)

    def waits_for_disk(self, message_id: MessageId) -> bool:
        """Return whether an answer waits only until its prompt is on the disk."""
        return any(waiting.waits_for_disk and message_id in waiting.message_ids for waiting in self._waiting)

    def is_without_new_text(self, message_id: MessageId) -> bool:
        """Return whether an answer was requested and has no new text yet."""
        stream = self._streams.get(message_id)
        return stream is not None and not stream.has_ended and not stream.new_text

    def asked_for_s(self, message_id: MessageId) -> float | None:
        """Return how long ago the model was asked for an answer that still grows; None if it has not been asked yet."""
        stream = self._streams.get(message_id)
        return None if stream is None or stream.request_id is None else self._clock() - stream.sent_s

    def waits_for(self, message_id: MessageId) -> int | None:
        """Return the conversation whose answer a message waits for; None if it waits for none."""
        stream = self._streams.get(message_id)
        if stream is None or stream.has_begun:
            return None
        sessions = self._sessions.taking_turns_with(stream.session or self._sessions.of(_model_of(stream)))
        under_way = (other for other in self._streams.values() if other.has_begun and not other.has_ended)
        return next((other.conversation_id for other in under_way if other.session in sessions), None)

    def is_written_by(self, message_id: MessageId, session: ModelSession) -> bool:
        """Return whether a session is generating an answer."""
        stream = self._streams.get(message_id)
        return stream is not None and stream.session is session and not stream.has_ended

    def current(self, message: Message) -> Message:
        """Return a message with the text streamed so far."""
        stream = self._streams.get(message.id)
        if stream is not None:
            return stream.shown(message)
        return self.saving.ended.get(message.id, message)

    def all_current(self, messages: Sequence[Message]) -> list[Message]:
        """Return `current` for each message. This is fast even for many messages that have ended."""
        growing = self._streams.keys() | self.saving.ended.keys()
        return [self.current(message) if message.id in growing else message for message in messages]

    @property
    def conversation_ids(self) -> frozenset[int]:
        """The conversations with running or waiting answers."""
        return frozenset(stream.conversation_id for stream in self._streams.values())

    @property
    def has_pending(self) -> bool:
        """Whether any answer is running or waiting."""
        return bool(self._streams)

    def interrupt(self, session: ModelSession, error: Sentence) -> bool:
        """End every answer of a session with its text so far, because the worker is gone. Return whether there was one.

        Answers that wait for one of these end, too. Answers that only wait for their model continue to wait.
        """
        gone: dict[MessageId, AnswerStream] = {}
        # A prompt has only messages that were there before it.
        for message_id, stream in self._streams.items():
            if stream.session is session or any(message.id in gone for message in stream.prompt):
                gone[message_id] = stream
        self._waiting = [
            waiting for waiting in self._waiting if not waiting.message_ids or waiting.message_ids[0] not in gone
        ]
        self._interrupt(list(gone.values()), error)
        return bool(gone)

    def interrupt_all(self, error: Sentence) -> None:
        """End every answer with its text so far, because the program ends."""
        self._waiting.clear()
        self._interrupt(list(self._streams.values()), error)

    def _interrupt(self, streams: Sequence[AnswerStream], error: Sentence) -> None:
        for stream in streams:
            del self._streams[stream.message.id]
            if stream.request_id is not None:
                self._message_ids.pop(stream.request_id, None)
        messages = [broken_off(stream.stored, "stopped", error) for stream in streams]
        for message in messages:
            self._replace_in_prompts(message)
        self.saving.end(*messages)
        for message in messages:
            self.ended.emit(message)

    # --- sending -------------------------------------------------------------------------------------------

    def _send_ready(self) -> None:
        """Send the requests that wait for nothing any more, and load the models of those that are next."""
        if self._is_sending:
            # A session changed because this method loads its model.
            return
        self._is_sending = True
        try:
            while self._send_next():
                pass
        finally:
            self._is_sending = False
        needed = (stream.session or self._sessions.of(_model_of(stream)) for stream in self._streams.values())
        self._sessions.set_busy(set(needed))

    def _send_next(self) -> bool:
        """Send the first request that can be sent; return whether there was one."""
        held: set[ModelSession] = set()
        """Sessions with a request that waits for its model. Later requests to them wait, too."""
        for waiting in self._waiting:
            streams = [self._streams[message_id] for message_id in waiting.message_ids if message_id in self._streams]
            if streams and any(message.id in self._streams for message in streams[0].prompt):
                continue
            # A model that the user chose is loaded in place of the one before, even if it is the guide.
            session = self._sessions.of(waiting.model) if waiting.message_ids else self._sessions.chosen
            if held.isdisjoint(self._sessions.taking_turns_with(session)) and self._has_model(session, waiting):
                waiting.waits_for_disk = not self.saving.is_flushed(waiting.flush)
                if waiting.waits_for_disk:
                    held.add(session)
                    continue
                self._waiting.remove(waiting)
                if streams:
                    self._send(session, streams, waiting)
                return True
            held.add(session)
        return False

    def _has_model(self, session: ModelSession, waiting: _Waiting) -> bool:
        """Return whether the model of a request is ready. If it is not, and nothing prevents it, load the model."""
        is_there = session.name == waiting.model
        answering = self._answering(session)
        if waiting.message_ids and is_there and session.state == "ready":
            return answering <= {session}
        if is_there and session.state == "loading" and (waiting.message_ids or waiting.is_loading):
            # A model that can't be loaded ahead is loaded again when it is its turn.
            waiting.is_loading = session is not self._sessions.ahead
            return False
        has_given_up = is_there and session.state == "failed" and not session.link.is_started
        if waiting.is_loading or (has_given_up and waiting.message_ids):
            # The model could not be loaded, or its process died repeatedly and starts only when the user chooses.
            return True
        if answering:
            if waiting.message_ids and waiting.model != self._next_model:
                self._next_model = waiting.model
                if (idle := self._idle_beside()) is not None:
                    self.next_model_known.emit(waiting.model, idle)
            return False
        waiting.is_loading = True
        if waiting.message_ids:
            waiting.refusal = self.refusal_of(waiting.model)
            if waiting.refusal is not None:
                return True
        waiting.has_begun_load = True
        self._sessions.load(session, waiting.model)
        return not waiting.message_ids

    def _answering(self, session: ModelSession) -> set[ModelSession]:
        """Return those of the sessions that take turns with one, including itself, that are generating answers."""
        sessions = self._sessions.taking_turns_with(session)
        running = {stream.session for stream in self._streams.values() if not stream.has_ended}
        return {session for session in sessions if session in running}

    def load_next(self, model: str) -> None:
        """Load the model of the next answer while another model answers. The caller has checked the memory."""
        sessions = self._sessions
        waiting = next((one for one in self._waiting if one.message_ids and one.model == model), None)
        idle = self._idle_beside()
        if waiting is not None and idle is not None and sessions.of(model).name != model:
            waiting.has_begun_load = True
            sessions.load_beside(idle, model)

    def _idle_beside(self) -> ModelSession | None:
        """Return the session that is not answering while another one that takes turns with it is; None without one."""
        chosen, ahead = self._sessions.chosen, self._sessions.ahead
        answering = self._answering(chosen)
        if len(answering) != 1:
            return None
        return chosen if ahead in answering else ahead

    def _send(self, session: ModelSession, streams: Sequence[AnswerStream], waiting: _Waiting) -> None:
        first, options = streams[0], waiting.options
        self._next_model = ""
        if session.name != _model_of(first) or session.state != "ready":
            why = session.why_not(_model_of(first)) if waiting.is_loading else None
            why = waiting.refusal or why or _NO_WORKER
            for stream in streams:
                self._end(broken_off(stream.message, "failed", why))
            return
        for stream in streams:
            record = session.identified(stream.message.record or Record())
            if options is not None:
                record = msgspec.structs.replace(record, template_options=dict(options(session.thinking_option)))
            stream.message = msgspec.structs.replace(stream.message, record=record)
        request_id = next(self._request_ids)
        if not session.send(generate(request_id, first.message, first.prompt, num_answers=len(streams))):
            for stream in streams:
                self._end(broken_off(stream.message, "failed", _NO_WORKER))
            return
        self._message_ids[request_id] = {choice: stream.message.id for choice, stream in enumerate(streams)}
        for choice, stream in enumerate(streams):
            stream.request_id, stream.choice, stream.session = request_id, choice, session
            stream.sent_s = self._clock()

    def _on_event(self, event: Event) -> None:
        ids = self._message_ids.get(event.request_id) if event.request_id is not None else None
        if ids is None:
            # The event belongs to an answer that has already ended here, or to another command.
            return
        match event:
            case PrefillProgress():
                for message_id in ids.values():
                    self._streams[message_id].has_begun = True
                    self.reading.emit(message_id, Reading.reported(event))
            case Chunk() | Retract() | Forked() | Answered():
                self._on_choice(ids, event)
                self.saving.save_soon()
            case Finished():
                for choice, stream in self._of(ids):
                    self._end(finished(stream.message, stream.prompt, stream.tokens, event, choice))
            case Failed():
                for _, stream in self._of(ids):
                    self._end(broken_off(stream.stored, "failed", event.sentence))
            case _:
                pass

    def _of(self, ids: Mapping[int, MessageId]) -> list[tuple[int, AnswerStream]]:
        return [(choice, self._streams[message_id]) for choice, message_id in ids.items()]

    def _on_choice(self, ids: dict[int, MessageId], event: Chunk | Retract | Forked | Answered) -> None:
        message_id = ids.get(event.parent if isinstance(event, Forked) else event.choice)
        if message_id is None:
            # The event belongs to a fork that could not be stored.
            return
        stream = self._streams[message_id]
        stream.has_begun = True
        match event:
            case Chunk():
                stream.append(event.text, event.tokens)
                if event.text:
                    self.text_appended.emit(message_id, event.text)
            case Retract():
                stream.take_back(event.num_chars, event.num_tokens, event.num_given_chars)
                if event.num_chars or event.num_given_chars:
                    self.text_retracted.emit(message_id)
            case Answered():
                stream.has_ended = True
                self.stopped_growing.emit(message_id)
            case Forked():
                self._branch(ids, stream, event)

    def _branch(self, ids: dict[int, MessageId], stream: AnswerStream, event: Forked) -> None:
        """Add a sibling message for an answer that a hook forked."""
        message = stream.message
        assert message.parent_id is not None
        assert stream.request_id is not None
        try:
            added = self._store.add(
                stream.conversation_id,
                message.parent_id,
                "assistant",
                message.text,
                state="streaming",
                record=message.record,
                is_chosen=False,
            )
        except StoreError as error:
            self.saving.report(error.sentence)
            assert stream.session is not None
            stream.session.send(
                Cancel(request_id=next(self._cancel_ids), target=stream.request_id, choice=event.choice)
            )
            return
        self._streams[added.id] = stream.branched(added, event.choice, event.num_chars, event.num_tokens)
        ids[event.choice] = added.id
        self.branched.emit(stream.conversation_id, message.id, added)

    def _end(self, message: Message) -> None:
        stream = self._streams.pop(message.id)
        if stream.request_id is not None:
            ids = self._message_ids[stream.request_id]
            del ids[stream.choice]
            if not ids:
                del self._message_ids[stream.request_id]
        self._replace_in_prompts(message)
        self.saving.end(message)
        self.ended.emit(message)
        self._send_ready()

    def _replace_in_prompts(self, message: Message) -> None:
        for other in self._streams.values():
            other.prompt = [message if above.id == message.id else above for above in other.prompt]


def _model_of(stream: AnswerStream) -> str:
    return (stream.message.record or Record()).model
