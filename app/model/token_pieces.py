"""The tokens of an answer as parts of its text, with probabilities and origins. Only data."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct, structs

from app.model.message import ORIGINS, Alternative, Message, Record, SampledToken

_MAX_BITS = 8.0
"""The surprise in bits that counts as 1: that of one of 256 equally likely tokens."""


class TokenPiece(Struct, frozen=True):
    """One token, from the character `start` to `end` of the text. `id` is -1 for a token of a server.

    If several tokens spell one character, each of them covers it.
    """

    index: int
    id: int
    start: int
    end: int
    origin: str
    logprob: float | None
    alternatives: tuple[Alternative, ...]

    @property
    def surprise(self) -> float | None:
        """How unlikely the token was, from 0 to 1; None if unknown."""
        if self.logprob is None:
            return None
        return min(1.0, max(0.0, -self.logprob / math.log(2) / _MAX_BITS))

    @property
    def choices(self) -> tuple[Alternative, ...]:
        """The tokens that were possible here, most likely first, including this one."""
        if any(other.id == self.id for other in self.alternatives):
            return self.alternatives
        return (*self.alternatives, Alternative(self.id, "", self.logprob))


def are_tokens_known(message: Message) -> bool:
    """Return whether the tokens of a message are known and spell its text."""
    record = message.record
    if record is None or not record.token_chars or len(record.token_chars) != record.num_tokens:
        return False
    return sum(record.token_chars) == len(message.text)


def token_pieces(message: Message) -> list[TokenPiece]:
    """Return the tokens of a message; an empty list if they are unknown or spell another text."""
    record = message.record
    if record is None or not are_tokens_known(message):
        return []
    pieces: list[TokenPiece] = []
    start = 0
    ids = record.token_ids or [-1] * record.num_tokens
    for index, (token_id, num_chars) in enumerate(zip(ids, record.token_chars, strict=True)):
        end = start + num_chars
        shown_end = max(end, min(start + 1, len(message.text)))
        pieces.append(
            TokenPiece(
                index,
                token_id,
                start,
                shown_end,
                record.origins[index : index + 1],
                record.logprobs[index] if index < len(record.logprobs) else None,
                record.alternatives[index] if index < len(record.alternatives) else (),
            )
        )
        start = end
    return pieces


class GrowingPieces:
    """The tokens of an answer that still grows. Some may end beyond the shown text, because text is held back."""

    def __init__(self, given: Message) -> None:
        """`given` is the answer before the request; its text may have known tokens."""
        self.pieces = token_pieces(given)
        """All tokens so far; the list grows."""
        self._num_given = len(self.pieces)
        self._end = len(given.text)

    @property
    def num_sampled(self) -> int:
        """The number of tokens that were added."""
        return len(self.pieces) - self._num_given

    def add(self, sampled: Sequence[SampledToken]) -> None:
        """Add the next tokens."""
        for token in sampled:
            start, self._end = self._end, self._end + token.num_chars
            # A token that only spells given text again covers no character. Any other token covers at least one.
            is_nothing = self._end == start and token.origin == ORIGINS["healed"]
            end = start if is_nothing else max(self._end, start + 1)
            self.pieces.append(
                TokenPiece(len(self.pieces), token.id, start, end, token.origin, token.logprob, token.alternatives)
            )


def with_first_tokens(record: Record, num_tokens: int) -> Record:
    """Return a record limited to the turn's first tokens."""
    return structs.replace(
        record,
        token_ids=record.token_ids[:num_tokens],
        token_chars=record.token_chars[:num_tokens],
        origins=record.origins[:num_tokens],
        logprobs=record.logprobs[:num_tokens],
        alternatives=record.alternatives[:num_tokens],
        earlier=tuple(structs.replace(part, end=min(part.end, num_tokens)) for part in record.earlier),
    )
