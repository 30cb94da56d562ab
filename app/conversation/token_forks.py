"""How an answer begins that goes on from inside another one: at a token that a person chose, or at a place."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import structs

from app.model.message import ORIGINS, Figures, Message, Record, without_tokens
from app.model.token_pieces import token_pieces, with_first_tokens

_REPLACEMENT = "\ufffd"
"""Stands for bytes that are no whole character."""


class Beginning(NamedTuple):
    """The text that an answer begins with, and what is known of its tokens."""

    text: str
    record: Record
    is_whole: bool = False
    """Whether it ends there: the token that was chosen says so."""


def at_token(message: Message, token_index: int, token_id: int) -> Beginning | None:
    """Return the beginning with another token at a place; None where that can't be.

    It can't inside a character: what its first tokens spell is no text yet, and another one may not go on from them.
    """
    record = message.record
    pieces = token_pieces(message)
    if record is None or not 0 <= token_index < len(pieces):
        return None
    piece = pieces[token_index]
    chosen = next((other for other in piece.choices if other.id == token_id), None)
    if chosen is None or _begins_inside(message, token_index):
        return None
    kept = with_first_tokens(record, token_index)
    if not chosen.text:
        return Beginning(message.text[: piece.start], structs.replace(_unended(kept), reason="eos"), is_whole=True)
    # The first bytes of a character show when the model has written the others.
    shown = chosen.text.rstrip(_REPLACEMENT)
    if _REPLACEMENT in shown:
        return None
    return Beginning(
        message.text[: piece.start] + shown,
        _unended(
            structs.replace(
                kept,
                token_ids=(*kept.token_ids, token_id),
                token_chars=(*kept.token_chars, len(shown)),
                origins=(kept.origins or ORIGINS["given"] * token_index) + ORIGINS["chosen"],
                logprobs=(*kept.logprobs, chosen.logprob) if record.logprobs else (),
                alternatives=(*kept.alternatives, piece.alternatives) if record.alternatives else (),
            )
        ),
    )


def at_place(message: Message, num_chars: int) -> Beginning | None:
    """Return the first characters of an answer as the beginning of another one; None where there are none."""
    text = message.text[:num_chars]
    if not text.strip():
        return None
    record = message.record or Record()
    whole = [piece for piece in token_pieces(message) if piece.end <= num_chars]
    kept = with_first_tokens(record, len(whole)) if whole else without_tokens(record)
    return Beginning(text, _unended(kept))


def _begins_inside(message: Message, token_index: int) -> bool:
    """Whether a token goes on with a character that the one before it began."""
    chars = message.record.token_chars if message.record is not None else ()
    if token_index > 0 and chars[token_index - 1] == 0:
        return True
    piece = token_pieces(message)[token_index]
    own = next((other.text for other in piece.alternatives if other.id == piece.id), "")
    return own.startswith(_REPLACEMENT) and chars[token_index] > 0


def _unended(record: Record) -> Record:
    return structs.replace(record, reason=None, stop=None, error=None, ended_ms=0, hooks_told=(), figures=Figures())
