"""The result of a replay, as values and as sentences."""

from __future__ import annotations

import json
import math

from msgspec import Struct

from app.model.message import ORIGINS, MessageId, Record
from worker.protocol import ModelLoaded

DRAWN = frozenset(ORIGINS[origin] for origin in ("sampled", "forced", "draft"))
"""Origins of tokens that come again if nothing changed. Tokens at a join depend on the text around it."""
_ROUNDING = "Models compute with rounding that depends on how much is read at once."
_ROUNDING_LOGPROB = 0.05
"""Rounding may swap tokens whose log-probabilities differ by no more than this."""


class Difference(Struct, frozen=True, kw_only=True):
    """A position at which another token was sampled."""

    place: int
    """The index in the answer's tokens, from 0."""
    stored_id: int | None
    """None means that the stored answer ends here."""
    drawn_id: int | None
    """None means that the replay ended here."""
    stored_text: str = ""
    drawn_text: str = ""
    stored_logprob: float | None = None
    """In the replay. None means unknown, or not among the likeliest tokens."""
    drawn_logprob: float | None = None
    recorded_logprob: float | None = None
    """The stored token's log-probability in the record."""


class Verdict(Struct, frozen=True, kw_only=True):
    """The result of a replay."""

    message_id: MessageId
    model: str
    matched: bool
    """Whether the stored tokens spell the text, and all tokens that the model sampled came again."""
    num_tokens: int = 0
    num_compared: int = 0
    """The number of tokens that were sampled again."""
    is_text_spelled: bool | None = None
    """Whether the stored tokens spell the stored text. None means unknown."""
    differences: tuple[Difference, ...] = ()
    reasons: tuple[str, ...] = ()
    """Changes since the answer was written, as sentences; if there are none, another explanation of differences."""
    remarks: tuple[str, ...] = ()
    """Tokens that were not compared and why, as sentences."""
    error: str | None = None
    """Why the answer could not be replayed, as a sentence."""


def changes(record: Record, loaded: ModelLoaded, kv_bits: int | None) -> list[str]:
    """Return what changed since the answer was written, as sentences."""
    found: list[str] = []
    others = sorted(
        f"{name} {record.versions.get(name, '–')} → {loaded.versions.get(name, '–')}"
        for name in record.versions.keys() | loaded.versions.keys()
        if record.versions.get(name) != loaded.versions.get(name)
    )
    if not record.model_identity:
        found.append("Which weights wrote it is not known.")
    elif others:
        found.append(f"Other libraries: {', '.join(others)}.")
    elif record.model_identity != loaded.identity:
        found.append("Other weights, another configuration, or another kind of device.")
    if record.kv_bits != kv_bits:
        now, then = _bits_in_words(kv_bits), _bits_in_words(record.kv_bits)
        found.append(f"What was read is kept {now}, and was {then}.")
    found += [
        f"The hook {hook.name} was switched off on the way: it was too slow."
        for hook in record.hooks_told
        if hook.is_off
    ]
    found += [
        f"A hook forked it behind token {part.end:,}: alone, without the other branch, it may decide otherwise there."
        for part in record.earlier
        if part.has_forked
    ]
    return found


def undrawn(record: Record) -> list[str]:
    """Return which tokens the model did not sample freely, as sentences."""
    counts = {letter: record.origins.count(letter) for letter in set(record.origins) - DRAWN}
    healed, recut, given = (counts.get(ORIGINS[origin], 0) for origin in ("healed", "recut", "given"))
    found: list[str] = []
    if healed:
        found.append(f"{healed:,} of its tokens heal a seam: nobody drew them freely, so they are not compared.")
    if recut:
        found.append(
            f"{recut:,} of its tokens were cut anew at a stop: nobody drew them freely, so they are not compared."
        )
    if given:
        found.append(f"{given:,} of its tokens were given: nobody drew them freely, so they are not compared.")
    return found


def _bits_in_words(kv_bits: int | None) -> str:
    return "in the bits that it computes in" if kv_bits is None else f"in {kv_bits} bits"


def rounding(difference: Difference, record: Record) -> str:
    """Return an explanation of a difference if nothing is known to have changed."""
    stored, drawn, then = difference.stored_logprob, difference.drawn_logprob, difference.recorded_logprob
    if then is not None and stored is not None and abs(then - stored) > _ROUNDING_LOGPROB:
        return (
            f"All that the record tells is as it was, but the stored token's log-probability was {then:.3f} and is "
            f"{stored:.3f}: something computes otherwise."
        )
    if record.sampling.temperature == 0 and stored is not None and drawn is not None:
        near = abs(stored - drawn)
        if near <= _ROUNDING_LOGPROB:
            return f"The two tokens were as likely as each other, within {near:.4f}. {_ROUNDING}"
    return f"All that the record tells is as it was. {_ROUNDING}"


def sentences(verdict: Verdict) -> list[str]:
    """Return a verdict as sentences, the outcome first."""
    lines = [_outcome(verdict)]
    if verdict.is_text_spelled is False:
        lines.append("Its stored tokens do not say its text.")
    if verdict.differences:
        lines.append(_first(verdict.differences[0]))
    return [*lines, *verdict.reasons, *verdict.remarks]


def _outcome(verdict: Verdict) -> str:
    if verdict.error is not None:
        return f"It could not be run again. {verdict.error}"
    if not verdict.num_compared and not verdict.differences:
        return "It ended as it did." if verdict.matched else "Nothing of it could be drawn again."
    if not verdict.differences:
        return f"It matched: {verdict.num_compared:,} of {verdict.num_tokens:,} tokens were drawn again."
    number = len(verdict.differences)
    place = verdict.differences[0].place + 1
    return f"It did not match from token {place:,} on: {number:,} of {verdict.num_compared:,} came otherwise."


def _first(difference: Difference) -> str:
    then = _in_words(difference.stored_id, difference.stored_text, difference.stored_logprob)
    now = _in_words(difference.drawn_id, difference.drawn_text, difference.drawn_logprob)
    return f"There stood {then}, and now came {now}."


def _in_words(token_id: int | None, text: str, logprob: float | None) -> str:
    if token_id is None:
        return "the end of the answer"
    shown = json.dumps(text, ensure_ascii=False)
    return shown if logprob is None else f"{shown} ({math.exp(logprob):.2%} likely)"
