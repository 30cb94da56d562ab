"""The tokens of an answer as stretches of its text, with what is known of each; values alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct, structs

from app.model.message import ORIGINS, Alternative, Drawn, Message, Record

_MOST_BITS = 8.0
"""A token is no more surprising than one of 256 that are equally likely."""


class TokenPiece(Struct, frozen=True):
    """One token. `start` and `end` are characters of the text.

    Of a character that is spelled by several tokens, all but the last are shown as that character, too.
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
        """How unlikely it was, from 0 to 1; None where that is not known."""
        if self.logprob is None:
            return None
        return min(1.0, max(0.0, -self.logprob / math.log(2) / _MOST_BITS))

    @property
    def choices(self) -> tuple[Alternative, ...]:
        """What could stand here, the likeliest first, the token itself among it."""
        if any(other.id == self.id for other in self.alternatives):
            return self.alternatives
        return (*self.alternatives, Alternative(self.id, "", self.logprob))


def are_tokens_known(message: Message) -> bool:
    """Whether it is known of which tokens a message is, and they say its text."""
    record = message.record
    if record is None or not record.token_chars or len(record.token_chars) != len(record.token_ids):
        return False
    return sum(record.token_chars) == len(message.text)


def token_pieces(message: Message) -> list[TokenPiece]:
    """Return the tokens of a message; none where they are not known or say another text."""
    record = message.record
    if record is None or not are_tokens_known(message):
        return []
    pieces: list[TokenPiece] = []
    start = 0
    for index, (token_id, num_chars) in enumerate(zip(record.token_ids, record.token_chars, strict=True)):
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
    """The tokens of an answer that still grows.

    Where they end is known as they come. Some may end behind the text that is there: it is held back.
    """

    def __init__(self, given: Message) -> None:
        """`given`: the answer as it was when it was asked for; its text may have tokens that are known."""
        self.pieces = token_pieces(given)
        """All of them; the list grows."""
        self._num_given = len(self.pieces)
        self._end = len(given.text)

    @property
    def num_drawn(self) -> int:
        """How many have come."""
        return len(self.pieces) - self._num_given

    def add(self, drawn: Sequence[Drawn]) -> None:
        """Take in the next tokens."""
        for token in drawn:
            start, self._end = self._end, self._end + token.num_chars
            # What spells given text again alone shows nothing. The others' character is there when they are.
            is_nothing = self._end == start and token.origin == ORIGINS["healed"]
            end = start if is_nothing else max(self._end, start + 1)
            self.pieces.append(
                TokenPiece(len(self.pieces), token.id, start, end, token.origin, token.logprob, token.alternatives)
            )


def with_first_tokens(record: Record, num_tokens: int) -> Record:
    """Return what a record says of a turn's first tokens."""
    return structs.replace(
        record,
        token_ids=record.token_ids[:num_tokens],
        token_chars=record.token_chars[:num_tokens],
        origins=record.origins[:num_tokens],
        logprobs=record.logprobs[:num_tokens],
        alternatives=record.alternatives[:num_tokens],
        earlier=tuple(structs.replace(part, end=min(part.end, num_tokens)) for part in record.earlier),
    )
