"""A mask for answers with tool calls: no limit until the marker of a call is generated, then the grammar of calls.

It has the interface of a `Constraint`, and can be rewound token by token. Calls inside reasoning do not count as calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from worker.errors import ConstraintInvalidError
from worker.protocol import Tool
from worker.sentence import Sentence, verbatim
from worker.text.constraint import JSON_AS_WRITTEN, Constraint, Constraints
from worker.text.vocabulary import Vocabulary
from worker.tools.forms import Form
from worker.tools.grammar import CallGrammar, literals
from worker.values import ReasoningMarks

_Mask: TypeAlias = npt.NDArray[np.bool_]
_BARE_CALL = re.compile(rb'\s*\{\s*"name"\s*:\s*"')
_MAX_LEAD = 64
"""The beginning of a bare call (without a marker) has at most this many bytes."""


class Alternatives:
    """Several constraints, one of which an answer must follow: tool calls, or text in the answer format."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self._constraints = list(constraints)
        self._lengths = [0] * len(self._constraints)
        """How many tokens each constraint has consumed. A constraint that has refused a token consumes no more."""
        self._num_tokens = 0

    @property
    def _open(self) -> list[Constraint]:
        pairs = zip(self._constraints, self._lengths, strict=True)
        return [constraint for constraint, length in pairs if length == self._num_tokens]

    @property
    def problem(self) -> Sentence:
        """Why none of the constraints can be followed any longer; empty if one can."""
        return next((constraint.problem for constraint in self._open if constraint.problem), verbatim(""))

    @property
    def is_complete(self) -> bool:
        """Whether no token can follow."""
        return all(constraint.is_complete for constraint in self._open)

    @property
    def may_end(self) -> bool:
        """Whether the text so far satisfies one of the constraints."""
        return any(constraint.may_end for constraint in self._open)

    def mask(self) -> _Mask:
        """Return which tokens are allowed now, shape [vocabulary]. Raises `ConstraintInvalidError`."""
        masks = [constraint.mask() for constraint in self._open]
        return masks[0] if len(masks) == 1 else np.logical_or.reduce(masks)

    def forced(self) -> list[int]:
        """Return the next tokens if no others are allowed; often empty."""
        left = self._open
        return left[0].forced() if len(left) == 1 else []

    def consume(self, token_ids: Sequence[int]) -> bool:
        """Consume tokens if all of them are allowed. Return whether they were consumed."""
        for number, token_id in enumerate(token_ids):
            taken = [
                length == self._num_tokens and constraint.consume([token_id])
                for constraint, length in zip(self._constraints, self._lengths, strict=True)
            ]
            if not any(taken):
                self.rewind(number)
                return False
            self._lengths = [length + more for length, more in zip(self._lengths, taken, strict=True)]
            self._num_tokens += 1
        return True

    def rewind(self, num_tokens: int) -> None:
        """Take back the last tokens."""
        self._num_tokens -= num_tokens
        for at, length in enumerate(self._lengths):
            if length > self._num_tokens:
                self._constraints[at].rewind(length - self._num_tokens)
                self._lengths[at] = self._num_tokens

    def copy(self) -> Alternatives:
        """Return independent alternatives in the same state."""
        other = object.__new__(Alternatives)
        other._constraints = [constraint.copy() for constraint in self._constraints]
        other._lengths, other._num_tokens = list(self._lengths), self._num_tokens
        return other

    def failure(self) -> ConstraintInvalidError:
        """Return the error that ends an answer that can't follow any of the constraints."""
        return (self._open or self._constraints)[0].failure()


@dataclass(frozen=True)
class CallGrammars:
    """The constraints for the tool calls of one request, in their initial states."""

    form: Form
    reasoning: ReasoningMarks | None
    after_begin: Constraint | None = None
    """The constraint for one section after its marker; None if the model must not call a tool."""
    bare: Constraint | None = None
    """The constraint after the beginning of a call without a marker; None if the form always has markers."""
    whole: Constraint | Alternatives | None = None
    """The constraint for the whole answer after its reasoning; None if it may have other text."""
    is_several: bool = True
    opens_reasoning: bool = False
    forbidden: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """Tokens that end the marker wrongly, by the number of its bytes that are generated; computed when needed."""
    endings: dict[tuple[bytes, int], list[int]] = field(default_factory=dict[tuple[bytes, int], list[int]])
    """`Constraints.endings`."""


_Mode = Literal["reasoning", "text", "start", "call", "done"]


class _State(NamedTuple):
    mode: _Mode
    tail: bytes = b""
    """The last bytes of text with which a marker may begin."""
    is_lead: bool = False
    """Whether `tail` is the whole text so far, so that a bare call may begin."""
    section: int = -1
    """The index of the section's constraint."""
    num_in_section: int = 0


class CallConstraint:
    """The state of one answer; a `Mask` for its next token."""

    is_active = True
    """Always True, because each token may decide whether the next token is limited."""

    def __init__(self, grammars: CallGrammars, vocabulary: Vocabulary) -> None:
        self._grammars = grammars
        self._vocabulary = vocabulary
        form, marks = grammars.form, grammars.reasoning
        self._begin = form.begin.encode()
        self._reasoning_begin = b"" if marks is None else marks.begin.encode()
        self._reasoning_end = b"" if marks is None else marks.end.encode()
        self._tail_length = max(len(self._begin), len(self._reasoning_begin), len(self._reasoning_end)) - 1
        self._sections: list[Constraint | Alternatives] = []
        self._states = [self._initial()]
        self._masks: dict[object, _Mask] = {}

    def _initial(self) -> _State:
        if self._grammars.opens_reasoning and self._grammars.reasoning is not None:
            return _State("reasoning")
        if self._grammars.whole is not None:
            return _State("start")
        return _State("text", is_lead=self._grammars.bare is not None)

    # --- what may follow -----------------------------------------------------------------------------------

    @property
    def _state(self) -> _State:
        return self._states[-1]

    @property
    def _section(self) -> Constraint | Alternatives:
        return self._sections[self._state.section]

    @property
    def problem(self) -> Sentence:
        """Why the calls can't be followed any longer; empty if they can."""
        return self._section.problem if self._state.mode == "call" else verbatim("")

    @property
    def is_in_call(self) -> bool:
        """Whether the last token is a part of a call, after its marker."""
        return self._state.mode in {"call", "done"}

    @property
    def is_complete(self) -> bool:
        """Whether no token can follow."""
        return self._state.mode == "done"

    @property
    def may_end(self) -> bool:
        """Whether the answer may end here."""
        match self._state.mode:
            case "call":
                return self._section.may_end
            case "start":
                return False
            case "reasoning":
                return self._grammars.whole is None
            case _:
                return True

    def mask(self) -> _Mask | None:
        """Return which tokens are allowed now, shape [vocabulary]; None means all. Raises `ConstraintInvalidError`."""
        state = self._state
        match state.mode:
            case "call":
                return self._section.mask()
            case "done":
                return self._known("done", list(self._vocabulary.eos_ids), is_allowed=True)
            case "reasoning":
                if self._grammars.whole is None:
                    return None
                return self._known("reasoning", list(self._vocabulary.eos_ids), is_allowed=False)
            case "start":
                assert self._grammars.whole is not None
                return self._with_reasoning(self._grammars.whole.copy().mask())
            case "text":
                forbidden = self._forbidden(state.tail)
                return self._known(tuple(forbidden), forbidden, is_allowed=False) if forbidden else None

    def _known(self, key: object, token_ids: Sequence[int], *, is_allowed: bool) -> _Mask:
        known = self._masks.get(key)
        if known is None:
            known = np.full(len(self._vocabulary), not is_allowed)
            known[list(token_ids)] = is_allowed
            known.flags.writeable = False
            self._masks[key] = known
        return known

    def _with_reasoning(self, allowed: _Mask) -> _Mask:
        """Return a mask with which the answer may also begin with reasoning."""
        text = self._reasoning_begin.decode()
        begin = self._vocabulary.control_texts.get(text) if text else None
        if begin is None:
            return allowed
        allowed = allowed.copy()
        allowed[begin] = True
        return allowed

    def _forbidden(self, tail: bytes) -> list[int]:
        """Return the tokens that would end the marker and continue with text with which no call begins."""
        found = list(self._forbidden_after(0))
        for length in range(1, len(self._begin)):
            if tail.endswith(self._begin[:length]):
                found += self._forbidden_after(length)
        return found

    def _forbidden_after(self, num_written: int) -> list[int]:
        known = self._grammars.forbidden.get(num_written)
        if known is None:
            ending = self._ending(num_written)
            known = [token_id for token_id in ending if not self._may_end_marker(token_id, num_written)]
            self._grammars.forbidden[num_written] = known
        return known

    def _ending(self, num_written: int) -> list[int]:
        """Return the tokens that contain the rest of the marker at their beginning, or the whole marker anywhere."""
        key = (self._begin, num_written)
        known = self._grammars.endings.get(key)
        if known is None:
            rest = self._begin[num_written:]
            table = enumerate(self._vocabulary.bytes)
            known = [at for at, data in table if (data.startswith(rest) if num_written else rest in data)]
            self._grammars.endings[key] = known
        return known

    def _may_end_marker(self, token_id: int, num_written: int) -> bool:
        if self._grammars.after_begin is None:
            return False
        data = self._vocabulary.bytes[token_id]
        rest = self._begin[num_written:]
        over = data[data.find(rest) + len(rest) :] if not num_written else data[len(rest) :]
        return not over or self._section_after(over) is not None

    def _section_after(self, over: bytes) -> Constraint | None:
        """Return the constraint of a section that begins with `over`; None if no section can."""
        assert self._grammars.after_begin is not None
        section = self._grammars.after_begin.copy()
        ids = self._vocabulary.spell(over)
        return section if ids is not None and section.consume(ids) else None

    def forced(self) -> list[int]:
        """Return the next tokens if no others are allowed; often empty."""
        return self._section.forced() if self._state.mode == "call" else []

    def fits(self, token_ids: Sequence[int]) -> int:
        """Return how many of these tokens, from the first on, are allowed one after another."""
        number = 0
        for token_id in token_ids:
            if not self._take(token_id):
                break
            number += 1
        self.rewind(number)
        return number

    def failure(self) -> ConstraintInvalidError:
        """Return the error that ends an answer whose tool calls can't be completed."""
        if self._state.mode == "call":
            return self._section.failure()
        return ConstraintInvalidError(
            Sentence("The answer can't continue like this: it would not be a valid tool call.")
        )

    # --- tokens --------------------------------------------------------------------------------------------

    def consume(self, token_ids: Sequence[int]) -> bool:
        """Consume tokens if all of them are allowed. Return whether they were consumed."""
        for number, token_id in enumerate(token_ids):
            if not self._take(token_id):
                self.rewind(number)
                return False
        return True

    def rewind(self, num_tokens: int) -> None:
        """Take back the last tokens. Raises `ValueError` if there are fewer."""
        if num_tokens >= len(self._states):
            raise ValueError(f"Cannot rewind {num_tokens} tokens: there are {len(self._states) - 1}")
        if not num_tokens:
            return
        highest: dict[int, int] = {}
        for state in self._states:
            if state.section >= 0:
                highest[state.section] = max(highest.get(state.section, 0), state.num_in_section)
        del self._states[len(self._states) - num_tokens :]
        left: dict[int, int] = {}
        for state in self._states:
            if state.section >= 0:
                left[state.section] = max(left.get(state.section, 0), state.num_in_section)
        num_sections = len(left)
        del self._sections[num_sections:]
        for section, number in left.items():
            self._sections[section].rewind(highest[section] - number)

    def copy(self) -> CallConstraint:
        """Return an independent constraint in the same state."""
        other = object.__new__(CallConstraint)
        other.__dict__.update(self.__dict__)
        other._sections = [section.copy() for section in self._sections]
        other._states = list(self._states)
        return other

    def _take(self, token_id: int) -> bool:
        state = self._state
        data = self._vocabulary.bytes[token_id]
        if token_id in self._vocabulary.eos_ids:
            return False
        match state.mode:
            case "done":
                return False
            case "call":
                return self._take_in_section(token_id)
            case "start":
                return self._take_first(token_id, data)
            case "reasoning":
                return self._take_reasoning(state.tail + data)
            case "text":
                return self._take_text(state, state.tail + data)

    def _take_in_section(self, token_id: int) -> bool:
        section = self._section
        if not section.consume([token_id]):
            return False
        self._note_section(self._state.section, self._state.num_in_section + 1)
        return True

    def _note_section(self, number: int, num_in_section: int) -> None:
        """Note that a section's constraint has consumed `num_in_section` tokens in all."""
        mode: _Mode = "call"
        if self._sections[number].is_complete:
            goes_on = self._grammars.whole is None and self._grammars.is_several and self._grammars.form.is_repeated
            mode = "text" if goes_on else "done"
        self._states.append(_State(mode, section=number, num_in_section=num_in_section))

    def _begin_section(self, section: Constraint | Alternatives, num_in_section: int) -> bool:
        self._sections.append(section)
        self._note_section(len(self._sections) - 1, num_in_section)
        return True

    def _take_first(self, token_id: int, data: bytes) -> bool:
        assert self._grammars.whole is not None
        if self._reasoning_begin and data == self._reasoning_begin:
            self._states.append(_State("reasoning"))
            return True
        section = self._grammars.whole.copy()
        return section.consume([token_id]) and self._begin_section(section, 1)

    def _take_reasoning(self, text: bytes) -> bool:
        at = text.find(self._reasoning_end)
        if at < 0:
            self._states.append(_State("reasoning", self._tail_of(text)))
            return True
        rest = text[at + len(self._reasoning_end) :]
        if self._grammars.whole is None:
            return self._take_text(_State("text", is_lead=self._grammars.bare is not None), rest)
        if not rest.strip():
            self._states.append(_State("start"))
            return True
        section = self._grammars.whole.copy()
        ids = self._vocabulary.spell(rest.lstrip())
        return ids is not None and section.consume(ids) and self._begin_section(section, len(ids))

    def _take_text(self, state: _State, text: bytes) -> bool:
        if state.is_lead:
            bare = _BARE_CALL.match(text)
            if bare is not None and self._grammars.bare is not None:
                section = self._grammars.bare.copy()
                ids = self._vocabulary.spell(text[bare.end() :]) if text[bare.end() :] else []
                if ids is not None and section.consume(ids):
                    return self._begin_section(section, len(ids))
        at = text.find(self._begin)
        thought = text.find(self._reasoning_begin) if self._reasoning_begin else -1
        if thought >= 0 and (at < 0 or thought < at):
            return self._take_reasoning(text[thought + len(self._reasoning_begin) :])
        if at < 0:
            is_lead = state.is_lead and len(text) <= _MAX_LEAD and text.lstrip()[:1] in (b"", b"{")
            self._states.append(_State("text", text if is_lead else self._tail_of(text), is_lead=is_lead))
            return True
        if self._grammars.after_begin is None:
            return False
        over = text[at + len(self._begin) :]
        if not over:
            return self._begin_section(self._grammars.after_begin.copy(), 0)
        section = self._section_after(over)
        if section is None:
            return False
        return self._begin_section(section, len(self._vocabulary.spell(over) or ()))

    def _tail_of(self, text: bytes) -> bytes:
        return text[max(0, len(text) - self._tail_length) :] if self._tail_length else b""


# --- grammars of a request ---------------------------------------------------------------------------------


class CallChoice(NamedTuple):
    """Whether and how the model may call tools."""

    tools: Sequence[Tool]
    """The tools that the model may call; empty if it must not call any."""
    is_required: bool
    """Whether the model must call a tool."""
    is_several: bool
    """Whether an answer may contain several calls."""


def grammars_of(
    constraints: Constraints,
    vocabulary: Vocabulary,
    form: Form,
    reasoning: ReasoningMarks | None,
    choice: CallChoice,
    *,
    opens_reasoning: bool,
    content: Constraint | None = None,
) -> tuple[CallGrammars, list[Sentence]]:
    """Return the constraints of a request's tool calls, and sentences about rules of schemas that can't be enforced.

    `content`: the format of an answer without tool calls; None if it may be any text.

    Raises `ConstraintInvalidError` for a schema that can't be used, and `StoppedError`.
    """
    grammars = CallGrammars(
        form,
        reasoning,
        is_several=choice.is_several,
        opens_reasoning=opens_reasoning,
        endings=constraints.endings,
    )
    if not choice.tools:
        return replace(grammars, whole=content), []
    tools = [(tool.name, tool.parameters) for tool in choice.tools]
    written = literals(vocabulary.control_texts), literals({})

    def made(options: Mapping[str, Any]) -> CallGrammars:
        exact, tried = (CallGrammar(form, tools, literal, {**JSON_AS_WRITTEN, **options}) for literal in written)
        if choice.is_required or content is not None:
            several = choice.is_several
            whole = constraints.of_grammar(exact.whole(is_several=several), tried.whole(is_several=several))
            if choice.is_required or content is None:
                return replace(grammars, whole=whole)
            return replace(grammars, whole=Alternatives([whole, content]))

        def section(*, is_bare: bool) -> Constraint:
            lark, plain = (each.after_begin(is_several=choice.is_several, is_bare=is_bare) for each in (exact, tried))
            return constraints.of_grammar(lark, plain)

        bare = section(is_bare=True) if form.is_bare else None
        return replace(grammars, after_begin=section(is_bare=False), bare=bare)

    try:
        return made({}), []
    except ConstraintInvalidError as error:
        strict = error
    try:
        loose = made({"lenient": True})
    except ConstraintInvalidError:
        raise ConstraintInvalidError(Sentence("The tools can't be used: {reason}", reason=strict.sentence)) from strict
    return loose, [
        Sentence(
            "Some rules of the tools' schemas can't be enforced, so a call may break them: {reason}",
            reason=strict.sentence,
        )
    ]
