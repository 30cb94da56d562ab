"""The result of a replay, as values and as sentences."""

from __future__ import annotations

import json
import math

from msgspec import Struct

from app.model.message import ORIGINS, MessageId, Record
from worker.protocol import ModelLoaded
from worker.sentence import Sentence, joined, verbatim

DRAWN = frozenset(ORIGINS[origin] for origin in ("sampled", "forced", "draft"))
"""Origins of tokens that are reproduced if nothing has changed. Tokens at a join depend on the text around it."""
_ROUNDING = Sentence("Models round differently depending on how much they read at once.")
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
    """The stored token's log-probability in the replay; None if unknown, or not among the likeliest tokens."""
    drawn_logprob: float | None = None
    recorded_logprob: float | None = None
    """The stored token's log-probability in the record."""


class Verdict(Struct, frozen=True, kw_only=True):
    """The result of a replay."""

    message_id: MessageId
    model: str
    matched: bool
    """Whether the stored tokens spell the text, and all tokens that the model sampled were reproduced."""
    num_tokens: int = 0
    num_compared: int = 0
    """The number of tokens that were sampled again."""
    is_text_spelled: bool | None = None
    """Whether the stored tokens spell the stored text. None means unknown."""
    differences: tuple[Difference, ...] = ()
    reasons: tuple[Sentence, ...] = ()
    """Changes since the answer was generated, as sentences; if there are none, other explanations of differences."""
    remarks: tuple[Sentence, ...] = ()
    """Sentences that say which tokens were not compared, and why."""
    error: Sentence | None = None
    """Why the answer could not be replayed; None if it was."""
    num_chars: int = 0
    """The length of a server's answer, which is compared by its text; 0 if the tokens were compared."""
    num_same_chars: int = 0
    """How many characters of it were the same, up to the first difference."""


def changes(record: Record, loaded: ModelLoaded, kv_bits: int | None) -> list[Sentence]:
    """Return sentences about what has changed since the answer was generated."""
    found: list[Sentence] = []
    # An older version of Bough did not record all of them.
    others = sorted(
        f"{name} {record.versions[name]} → {loaded.versions[name]}"
        for name in record.versions.keys() & loaded.versions.keys()
        if record.versions[name] != loaded.versions[name]
    )
    if not record.model_identity:
        found.append(Sentence("The weights that generated the answer are unknown."))
    elif others:
        found.append(Sentence("Other library versions: {versions}.", versions=", ".join(others)))
    elif record.model_identity != loaded.identity:
        found.append(Sentence("The weights, the configuration or the type of device is different."))
    if record.kv_bits != kv_bits:
        now, then = _precision(kv_bits), _precision(record.kv_bits)
        found.append(Sentence("The cache has {now} now and had {then} before.", now=now, then=then))
    found += [
        Sentence("The hook “{name}” was turned off during the answer because it was too slow.", name=hook.name)
        for hook in record.hook_records
        if hook.is_off
    ]
    found += [
        Sentence(
            "A hook forked the answer after token {position}. Without the other branch, the hook may decide "
            "differently.",
            position=part.end,
        )
        for part in record.earlier
        if part.has_forked
    ]
    return found


def undrawn(record: Record) -> list[Sentence]:
    """Return sentences about the tokens that the model did not sample freely."""
    counts = {letter: record.origins.count(letter) for letter in set(record.origins) - DRAWN}
    healed, recut, given = (counts.get(ORIGINS[origin], 0) for origin in ("healed", "recut", "given"))
    found: list[Sentence] = []
    if healed:
        found.append(
            Sentence(
                "{num_tokens} of its tokens complete the given text. "
                "They were not sampled freely, so they are not compared.",
                num_tokens=healed,
            )
        )
    if recut:
        found.append(
            Sentence(
                "{num_tokens} of its tokens were changed where it was cut. They were not sampled freely, so they "
                "are not compared.",
                num_tokens=recut,
            )
        )
    if given:
        found.append(
            Sentence(
                "{num_tokens} of its tokens were forced or chosen, not sampled, so they are not compared.",
                num_tokens=given,
            )
        )
    return found


def _precision(kv_bits: int | None) -> Sentence:
    return Sentence("full precision") if kv_bits is None else Sentence("{num_bits} bits", num_bits=kv_bits)


def rounding(difference: Difference, record: Record) -> Sentence:
    """Return an explanation of a difference when no change is known."""
    stored, drawn, then = difference.stored_logprob, difference.drawn_logprob, difference.recorded_logprob
    if then is not None and stored is not None and abs(then - stored) > _ROUNDING_LOGPROB:
        return Sentence(
            "Everything in the record is unchanged, but the log-probability of the stored token was {then} and is "
            "{now} now. This computer or a library computes differently.",
            then=f"{then:.3f}",
            now=f"{stored:.3f}",
        )
    if record.sampling.temperature == 0 and stored is not None and drawn is not None:
        near = abs(stored - drawn)
        if near <= _ROUNDING_LOGPROB:
            within = f"{near:.4f}"
            equal = Sentence("The two tokens were almost equally likely (within {difference}).", difference=within)
            return joined([equal, _ROUNDING])
    return joined([Sentence("Everything in the record is unchanged."), _ROUNDING])


def sentences(verdict: Verdict) -> list[Sentence]:
    """Return a verdict as sentences. The first sentence is the outcome."""
    lines = [_outcome(verdict)]
    if verdict.is_text_spelled is False:
        lines.append(Sentence("Its stored tokens do not spell its text."))
    if verdict.differences:
        lines.append(_first(verdict.differences[0]))
    return [*lines, *verdict.reasons, *verdict.remarks]


def _outcome(verdict: Verdict) -> Sentence:
    if verdict.error is not None:
        return Sentence("The answer could not be run again. {error}", error=verdict.error)
    if verdict.num_chars:
        return _outcome_of_text(verdict)
    if not verdict.num_compared and not verdict.differences:
        if verdict.matched:
            return Sentence("It ended as before.")
        return Sentence("None of its tokens could be sampled again.")
    if not verdict.differences:
        return Sentence(
            "The answer matched: {num_compared} of {num_tokens} tokens were sampled again.",
            num_compared=verdict.num_compared,
            num_tokens=verdict.num_tokens,
        )
    return Sentence(
        "The answer differs from token {position} on: {num_other} of {num_compared} tokens are different.",
        position=verdict.differences[0].place + 1,
        num_other=len(verdict.differences),
        num_compared=verdict.num_compared,
    )


def _outcome_of_text(verdict: Verdict) -> Sentence:
    if verdict.matched:
        return Sentence(
            "The server wrote the same answer again, all {num_chars} characters.", num_chars=verdict.num_chars
        )
    return Sentence(
        "The server wrote another answer. The first {num_same} of {num_chars} characters are the same.",
        num_same=verdict.num_same_chars,
        num_chars=verdict.num_chars,
    )


def _first(difference: Difference) -> Sentence:
    then = _token(difference.stored_id, difference.stored_text, difference.stored_logprob)
    now = _token(difference.drawn_id, difference.drawn_text, difference.drawn_logprob)
    return Sentence("The token was {then} and is {now} now.", then=then, now=now)


def _token(token_id: int | None, text: str, logprob: float | None) -> Sentence:
    if token_id is None:
        return Sentence("the end of the answer")
    quoted = json.dumps(text, ensure_ascii=False)
    if logprob is None:
        return verbatim(quoted)
    return Sentence("{token} ({probability} likely)", token=quoted, probability=f"{math.exp(logprob):.2%}")
