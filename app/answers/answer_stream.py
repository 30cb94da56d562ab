"""One growing answer: its message, and the text and tokens that are not stored yet."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from app.answers.model_session import ModelSession
from app.answers.prompt import sampled
from app.model.message import Message, SampledToken, without_tokens
from app.model.message_table import StreamedText
from app.model.token_pieces import GrowingPieces, TokenPiece
from worker.protocol import PrefillProgress, RequestId, Token


class Reading(Struct, frozen=True):
    """How much of a prompt has been processed, in tokens.

    `done` includes the cached tokens and the finished part of the next chunk.
    """

    done: int
    total: int
    kept: int
    tokens_per_s: float | None = None
    """How fast the model has recently processed prompts; None if that is not known."""

    @classmethod
    def reported(cls, event: PrefillProgress) -> Reading:
        return cls(event.done + event.partly, event.total, event.cached, event.tokens_per_s)


class AnswerStream:
    """Text and tokens of one choice of a request."""

    def __init__(self, message: Message, prompt: Sequence[Message], conversation_id: int, choice: int) -> None:
        """`message` is the message at the time of the request; the answer continues its text."""
        self.message = message
        self.prompt = list(prompt)
        self.conversation_id = conversation_id
        self.choice = choice
        self.request_id: RequestId | None = None
        """The id of the request; None while an answer in the prompt is still growing, or the model is not loaded."""
        self.session: ModelSession | None = None
        """The session that generates the answer; None while the answer has no request."""
        self.sent_s = 0.0
        """When the request was sent, by the clock of `Answers`."""
        self.has_begun = False
        """Whether the worker has begun to process the prompt."""
        self.is_stopping = False
        """Whether the user has stopped the answer."""
        self.has_ended = False
        """Whether the answer has ended. Other answers of the same request may still grow."""
        self.tokens: list[Token] = []
        """All tokens that were received and not taken back."""
        self._new: list[str] = []
        self._unsaved: list[str] = []
        self._num_saved = 0
        """The number of tokens that are in the store."""
        self._pieces: GrowingPieces | None = None
        """The tokens as parts of the text; None until they are first needed."""
        self.was_cut = False
        """Whether text that may be stored already was taken back since the last save."""

    @property
    def new_text(self) -> str:
        """All streamed text."""
        # Join the pieces once, for all reads until the next piece.
        self._new[:] = ["".join(self._new)]
        return self._new[0]

    @property
    def stored(self) -> Message:
        """The message with all streamed text and tokens, as it is stored."""
        return StreamedText(self.new_text, sampled(self.tokens)).append_to(self.message)

    @property
    def current(self) -> Message:
        """The message with the streamed text."""
        return self.shown(self.message)

    def shown(self, message: Message) -> Message:
        """Return `message`, which may have other changes, with the streamed text.

        An answer that has ended while others of its request still run counts as complete until the reason is known.
        """
        state = "complete" if self.has_ended else message.state
        return msgspec.structs.replace(message, text=self.message.text + self.new_text, state=state)

    @property
    def pieces(self) -> Sequence[TokenPiece]:
        """The known tokens as parts of the text. The same growing list each time, unless tokens are taken back."""
        if self._pieces is None:
            self._pieces = GrowingPieces(self.message)
        self._pieces.add(sampled(self.tokens[self._pieces.num_sampled :]))
        return self._pieces.pieces

    def append(self, text: str, tokens: Sequence[Token]) -> None:
        self.tokens += tokens
        if text:
            self._new.append(text)
            self._unsaved.append(text)

    def take_back(self, num_chars: int, num_tokens: int, num_given_chars: int = 0) -> None:
        """Remove the end of the streamed text and tokens, and of the text before them if a hook went back that far."""
        text = self.new_text
        self._new[:] = [text[: max(len(text) - num_chars, 0)]]
        del self.tokens[max(len(self.tokens) - num_tokens, 0) :]
        self._pieces = None
        self.was_cut = self.was_cut or num_chars > 0 or len(self.tokens) < self._num_saved
        if num_given_chars:
            message = self.message
            given = message.text[: max(len(message.text) - num_given_chars, 0)]
            record = None if message.record is None else without_tokens(message.record)
            self.message = msgspec.structs.replace(message, text=given, record=record)
            self.was_cut = True

    def branched(self, message: Message, choice: int, num_chars: int, num_tokens: int) -> AnswerStream:
        """Return a new stream for `message` that begins with the first characters and tokens of this stream."""
        other = AnswerStream(message, self.prompt, self.conversation_id, choice)
        other.request_id, other.session = self.request_id, self.session
        other.tokens = self.tokens[:num_tokens]
        other._new = [self.new_text[:num_chars]]
        # The store has no part of the new message, so the first save writes it as a whole.
        other.was_cut = True
        return other

    @property
    def unsaved(self) -> str:
        """The text streamed since `mark_saved`."""
        return "".join(self._unsaved)

    @property
    def unsaved_tokens(self) -> tuple[SampledToken, ...]:
        """The tokens received since `mark_saved`."""
        return sampled(self.tokens[self._num_saved :])

    def mark_saved(self) -> None:
        self._unsaved.clear()
        self._num_saved = len(self.tokens)
        self.was_cut = False
