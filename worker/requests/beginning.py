"""The start of an answer: the text that it continues, and its segments with their constraints."""

from __future__ import annotations

from dataclasses import replace

from msgspec import UNSET

from worker.answers.answer import Answer
from worker.answers.writing import SegmentPlan
from worker.errors import ConstraintInvalidError
from worker.language_model import LanguageModel
from worker.protocol import Continuation, Generate, NamedTool, Segment
from worker.requests.prompts import Prompts
from worker.sentence import Sentence
from worker.text.calls import CallChoice, CallConstraint, grammars_of
from worker.text.constraint import with_given_text
from worker.text.masks import Rule


def plans_of(
    command: Generate, model: LanguageModel, given_ids: list[int], given_text: str | None, calls: Rule | None = None
) -> tuple[list[SegmentPlan], str | None]:
    """Return the plans of an answer's segments, and the given text for token healing (None if it is not used).

    `calls` is the rule for tool calls; None if there are no tools. Raises `ConstraintInvalidError`.
    """
    if calls is not None:
        if not calls.consume(Answer(model.vocabulary, (), given_ids, given_text).kept_ids):
            raise does_not_fit()
        return [SegmentPlan(command.stop, calls)], given_text
    segments = command.segments or [Segment(constraint=command.constraint, stop=command.stop)]
    plans = [
        SegmentPlan(
            segment.stop,
            None if segment.constraint is None else model.constraints.new(segment.constraint),
            segment.max_tokens,
        )
        for segment in segments
    ]
    constraint, described = plans[0].constraint, segments[0].constraint
    if constraint is None or described is None:
        return plans, given_text
    kept_ids = Answer(model.vocabulary, (), given_ids, given_text).kept_ids
    if described.covers == "turn":
        if not constraint.consume(kept_ids):
            raise does_not_fit()
        return plans, given_text
    # The constraint begins after the given text. The bytes that are spelled again come before it.
    again = _text_of(model.vocabulary.bytes_of(given_ids[len(kept_ids) :]))
    healed = model.constraints.new(with_given_text(described, again)) if again else constraint
    plans[0] = replace(plans[0], constraint=healed, bare=constraint)
    return plans, None if again is None else given_text


def calls_of(command: Generate, model: LanguageModel, *, opens_reasoning: bool) -> tuple[Rule | None, list[Sentence]]:
    """Return the rule for the tool calls of a request, and sentences about parts of schemas that can't be enforced.

    The rule is None if the request has no tools. Raises `ConstraintInvalidError` and `BadRequestError`.
    """
    if not command.tools:
        return None, []
    style = model.chat_template.style
    match command.tool_choice:
        case NamedTool(name=name):
            tools, is_required = [tool for tool in command.tools if tool.name == name], True
        case "none":
            tools, is_required = [], False
        case choice:
            tools, is_required = command.tools, choice == "required"
    choice = CallChoice(tools, is_required, command.parallel_tool_calls)
    grammars, notices = grammars_of(
        model.constraints,
        model.vocabulary,
        style.form,
        style.reasoning,
        choice,
        opens_reasoning=opens_reasoning,
        content=None if command.constraint is None else model.constraints.new(command.constraint),
    )
    return CallConstraint(grammars, model.vocabulary), notices


def _text_of(data: bytes) -> str | None:
    """Decode the bytes; None if they begin inside a character."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def does_not_fit() -> ConstraintInvalidError:
    return ConstraintInvalidError(
        Sentence(
            "The beginning of the answer does not fit the answer format. "
            "Change one of them, or let the format cover only the new text."
        )
    )


def read_of(continuation: Continuation | None, prompts: Prompts, model: LanguageModel) -> list[int]:
    """Return the given tokens without those that the answer spells again. Raises `BadRequestError`."""
    given_ids, given_text = given(continuation, prompts, model)
    return Answer(model.vocabulary, (), given_ids, given_text).kept_ids


def given(continuation: Continuation | None, prompts: Prompts, model: LanguageModel) -> tuple[list[int], str | None]:
    """Return the ids that an answer continues, and their text if it was given as text. Raises `BadRequestError`."""
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
