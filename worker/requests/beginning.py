"""What an answer goes on from, and how the forms of its segments stand to that; it writes nothing."""

from __future__ import annotations

from dataclasses import replace

from msgspec import UNSET

from worker.answers.answer import Answer
from worker.answers.writing import SegmentPlan
from worker.errors import ConstraintInvalidError
from worker.language_model import LanguageModel
from worker.protocol import Continuation, Generate, Segment
from worker.requests.prompts import Prompts
from worker.text.constraint import with_given_text


def plans_of(
    command: Generate, model: LanguageModel, given_ids: list[int], given_text: str | None
) -> tuple[list[SegmentPlan], str | None]:
    """Return what the segments of an answer shall be, and the given text if its seam may be healed.

    Raises `ConstraintInvalidError`.
    """
    segments = command.segments or [Segment(constraint=command.constraint, stop=command.stop)]
    plans = [
        SegmentPlan(
            segment.stop,
            None if segment.constraint is None else model.constraints.new(segment.constraint),
            segment.max_tokens,
        )
        for segment in segments
    ]
    form, described = plans[0].constraint, segments[0].constraint
    if form is None or described is None:
        return plans, given_text
    kept_ids = Answer(model.vocabulary, (), given_ids, given_text).kept_ids
    if described.covers == "turn":
        if not form.consume(kept_ids):
            raise does_not_fit()
        return plans, given_text
    # The form begins behind what was given. What of that is spelled again stands in front of it.
    again = _text_of(model.vocabulary.bytes_of(given_ids[len(kept_ids) :]))
    if again:
        plans[0] = replace(plans[0], constraint=model.constraints.new(with_given_text(described, again)), bare=form)
    else:
        plans[0] = replace(plans[0], bare=form)
    return plans, None if again is None else given_text


def _text_of(data: bytes) -> str | None:
    """The text of bytes; None where they are none, as they begin inside a character."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def does_not_fit() -> ConstraintInvalidError:
    return ConstraintInvalidError(
        "What the answer goes on from does not fit the constraint. Change one of them, or let it cover what is new."
    )


def read_of(continuation: Continuation | None, prompts: Prompts, model: LanguageModel) -> list[int]:
    """What the model reads of what an answer goes on from; the end of a text is spelled again. Raises as `given`."""
    given_ids, given_text = given(continuation, prompts, model)
    return Answer(model.vocabulary, (), given_ids, given_text).kept_ids


def given(continuation: Continuation | None, prompts: Prompts, model: LanguageModel) -> tuple[list[int], str | None]:
    """What an answer goes on from; the text where it is one. Raises `BadRequestError`."""
    if continuation is None:
        return [], None
    if continuation.token_ids is not UNSET:
        prompts.check(continuation.token_ids, "continuation.token_ids")
        return continuation.token_ids, None
    text = continuation.text if continuation.text is not UNSET else ""
    known = continuation.known_ids
    prompts.check(known, "continuation.known_ids")
    num_ids, num_chars = model.vocabulary.common_prefix(known, text)
    ids = known[:num_ids]
    if ids and num_chars == len(text):
        return ids, None
    return ids + model.vocabulary.encode_turn(text[num_chars:]), text
