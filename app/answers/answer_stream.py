"""One answer as it grows: the message that it is written into, and what of it is not in the store yet."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.answers.prompt import drawn
from app.model.message import Drawn, Message, without_tokens
from app.model.pieces import Grown
from app.model.token_pieces import GrowingPieces, TokenPiece
from worker.protocol import RequestId, Token


class AnswerStream:
    """Text and tokens of one choice of a request."""

    def __init__(self, message: Message, prompt: Sequence[Message], conversation_id: int, choice: int) -> None:
        """`message` as it was when the answer was asked for; what streams in goes on from its text."""
        self.message = message
        self.prompt = list(prompt)
        self.conversation_id = conversation_id
        self.choice = choice
        self.request_id: RequestId | None = None
        """None while an answer in the prompt is itself still growing."""
        self.has_begun = False
        """Whether its prompt is being read, or more."""
        self.has_ended = False
        """Whether nothing more comes, though others of its request still grow."""
        self.tokens: list[Token] = []
        """All that were drawn and not taken back."""
        self._new: list[str] = []
        self._unsaved: list[str] = []
        self._num_saved = 0
        """Of the tokens."""
        self._pieces: GrowingPieces | None = None
        """The tokens as stretches of the text, as far as somebody wanted to know."""
        self.was_cut = False
        """Whether text that may be in the store already was taken back since it was last saved."""

    @property
    def new_text(self) -> str:
        """What has streamed in."""
        # Put together once for all that ask between two pieces.
        self._new[:] = ["".join(self._new)]
        return self._new[0]

    @property
    def stored(self) -> Message:
        """The message with all that is known of what has streamed in, its tokens included."""
        return Grown(self.new_text, drawn(self.tokens)).onto(self.message)

    @property
    def current(self) -> Message:
        """The message with what has streamed in."""
        return self.shown(self.message)

    def shown(self, message: Message) -> Message:
        """Return `message`, whatever else of it is another one now, with what has streamed in.

        Of one that rests while others go on nobody knows yet how it ended; it was not broken off.
        """
        state = "complete" if self.has_ended else message.state
        return msgspec.structs.replace(message, text=self.message.text + self.new_text, state=state)

    @property
    def pieces(self) -> Sequence[TokenPiece]:
        """The tokens of its text, as far as they are known; the same list each time, unless something is taken back."""
        if self._pieces is None:
            self._pieces = GrowingPieces(self.message)
        self._pieces.add(drawn(self.tokens[self._pieces.num_drawn :]))
        return self._pieces.pieces

    def append(self, text: str, tokens: Sequence[Token]) -> None:
        self.tokens += tokens
        if text:
            self._new.append(text)
            self._unsaved.append(text)

    def take_back(self, num_chars: int, num_tokens: int, num_given_chars: int = 0) -> None:
        """Forget the end of what has streamed in, and of what stood before, where a hook went back behind that."""
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
        """Return a stream into `message` that shares that much of this one's beginning."""
        other = AnswerStream(message, self.prompt, self.conversation_id, choice)
        other.request_id = self.request_id
        other.tokens = self.tokens[:num_tokens]
        other._new = [self.new_text[:num_chars]]
        # Written whole the first time: the store has none of it.
        other.was_cut = True
        return other

    @property
    def unsaved(self) -> str:
        """What has streamed in since `mark_saved`."""
        return "".join(self._unsaved)

    @property
    def unsaved_tokens(self) -> tuple[Drawn, ...]:
        """The tokens that came with it."""
        return drawn(self.tokens[self._num_saved :])

    def mark_saved(self) -> None:
        self._unsaved.clear()
        self._num_saved = len(self.tokens)
        self.was_cut = False
