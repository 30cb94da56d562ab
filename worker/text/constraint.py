"""A form that an answer's tokens must have, by llguidance; it knows no model and no text stream.

One matcher for a running branch, which takes tokens and gives them back: rolling back costs microseconds whatever is
kept.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from worker.errors import ConstraintInvalidError
from worker.protocol import Constraint as Described
from worker.text.vocabulary import Vocabulary

_BITS = 32
_QUOTED = 24
"""Characters of a regular expression, from where something is wrong."""
_REGEX_ERROR = re.compile(r"regex parse error:\n    (?P<regex>.*)\n    (?P<marks> *\^+) *\nerror: (?P<why>.+)")

_LIMITS = LLParserLimits(max_items_in_row=200_000, step_max_items=1_000_000)
"""A choice may have thousands of texts, and an object as many properties: their first tokens cost some milliseconds."""

_DEAD_END = "NoExtension"
"""How llguidance calls it that nothing can follow; where something should it is an error of such a name."""
_NOTHING_FITS = "Nothing fits this constraint. Change it so that there is a text that does."

JSON_AS_WRITTEN: Any = {"whitespace_pattern": r"[ \t]{0,8}(\r?\n[ \t]{0,40})?"}
"""JSON as people write it: small models that may go on with blank lines for ever do. `x-guidance` says otherwise."""


class _Tokens:
    """What llguidance asks of a tokenizer; it is told so by the attribute of that name."""

    is_tokenizer_wrapper = True
    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.eos_token_id = min(vocabulary.eos_ids, default=0)
        self.tokens = vocabulary.bytes
        self.special_token_ids = sorted(vocabulary.control_ids)

    def __call__(self, text: bytes | str) -> list[int]:
        return self._vocabulary.encode(text if isinstance(text, str) else text.decode("utf-8", "replace"))


class Constraints:
    """The constraints of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._size = len(vocabulary)
        self._tokenizer = LLTokenizer(
            cast("Any", _Tokens(vocabulary)), n_vocab=len(vocabulary), eos_token=sorted(vocabulary.eos_ids) or [0]
        )

    def new(self, described: Described) -> Constraint:
        """Return a constraint at its beginning. Raises `ConstraintInvalidError` with llguidance's own words."""
        grammar = _grammar(described)
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0, limits=_LIMITS)
        if matcher.is_error():
            error = matcher.get_error()
            raise ConstraintInvalidError((described.kind == "regex" and _told_of_regex(error)) or _told(error))
        constraint = Constraint(matcher, self._size)
        constraint.mask()
        if matcher.is_stopped() and matcher.stop_reason() != _DEAD_END:
            raise ConstraintInvalidError(_NOTHING_FITS)
        return constraint


class Constraint:
    """One constraint on its way: a mask for each next token."""

    def __init__(self, matcher: LLMatcher, size: int) -> None:
        self._matcher = matcher
        self._size = size
        bits = np.zeros(-(-size // _BITS), dtype=np.int32)
        self._bytes = bits.view(np.uint8)
        """One bit a token. Where they lie is asked once: it costs as much as the mask."""
        self._place = (bits.ctypes.data, bits.nbytes)
        self._last_bits = b""
        self._last_mask = np.zeros(0, dtype=np.bool_)
        self._num_consumed = 0

    @property
    def is_active(self) -> bool:
        """A constraint says at each place what may come."""
        return True

    @property
    def problem(self) -> str:
        """Why it can't be followed any more, in llguidance's own words; empty as long as it can."""
        said = _told(self._matcher.get_error()) if self._matcher.is_error() else ""
        return _NOTHING_FITS if said.startswith(_DEAD_END) else said

    @property
    def is_complete(self) -> bool:
        """Whether nothing can follow any more."""
        return self._matcher.is_stopped()

    @property
    def may_end(self) -> bool:
        """Whether it is satisfied as it is now."""
        return self._matcher.is_accepting()

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return which tokens may come now, shape [vocabulary]; the end of the answer is among them where it may.

        It is not to be changed: as long as the same may come it is the same array. Raises `ConstraintInvalidError`
        where llguidance gives up.
        """
        self._matcher.unsafe_compute_mask_ptr(*self._place)
        if self._matcher.is_error():
            raise ConstraintInvalidError(self.problem)
        bits = self._bytes.tobytes()
        if bits != self._last_bits:
            self._last_bits = bits
            self._last_mask = np.unpackbits(self._bytes, count=self._size, bitorder="little").view(np.bool_)
            self._last_mask.flags.writeable = False
        return self._last_mask

    def forced(self) -> list[int]:
        """Return the tokens that must come next, as the tokenizer would cut them; often none."""
        return self._matcher.compute_ff_tokens()

    def fits(self, token_ids: Sequence[int]) -> int:
        """Return how many of these tokens could come next, one after another."""
        return self._matcher.validate_tokens(list(token_ids))

    def consume(self, token_ids: Sequence[int]) -> bool:
        """Take tokens; return whether all of them fit. Where one does not, none is taken."""
        num_taken = self._matcher.try_consume_tokens(list(token_ids))
        if num_taken < len(token_ids):
            self._matcher.rollback(num_taken)
            return False
        self._num_consumed += num_taken
        return True

    def rewind(self, num_tokens: int) -> None:
        """Forget the last tokens."""
        if num_tokens > self._num_consumed:
            raise ValueError(f"Cannot rewind {num_tokens} tokens: there are {self._num_consumed}")
        if num_tokens:
            self._matcher.rollback(num_tokens)
            self._num_consumed -= num_tokens

    def copy(self) -> Constraint:
        """Return an independent constraint in the same state."""
        other = Constraint(self._matcher.deep_copy(), self._size)
        other._num_consumed = self._num_consumed
        return other


def _grammar(described: Described) -> str:
    value = described.value
    match described.kind:
        case "json_schema":
            try:
                return _json_grammar(json.loads(value) if isinstance(value, str) else value)
            except RecursionError:
                raise ConstraintInvalidError("The JSON schema is no JSON: it is nested too deeply.") from None
            except ValueError as error:
                raise ConstraintInvalidError(f"The JSON schema is no JSON: {error}.") from error
        case "regex":
            return LLMatcher.grammar_from_regex(_text(value, "regular expression"))
        case "lark":
            return LLMatcher.grammar_from_lark(_text(value, "grammar"))
        case "choice":
            choices = cast("list[object]", value) if isinstance(value, list) else []
            if not choices or not all(isinstance(choice, str) and choice for choice in choices):
                raise ConstraintInvalidError("A choice is a list of texts, none of them empty. Name at least one.")
            # A grammar rather than a regular expression: its alternatives may be any text.
            return LLMatcher.grammar_from_lark("start: " + " | ".join(map(json.dumps, cast("list[str]", choices))))


def _json_grammar(value: Any) -> str:
    """Raises `ValueError` where a value is none of JSON's."""
    if isinstance(value, bool):
        value = {} if value else {"not": {}}
    if not isinstance(value, dict):
        raise ConstraintInvalidError("A JSON schema is an object. Write it as one, in { and }.")
    schema = cast("dict[str, Any]", value)
    return LLMatcher.grammar_from_json_schema(schema, defaults=json_defaults(schema))


def json_defaults(schema: Mapping[str, Any]) -> Any:
    """What holds of JSON where its schema does not say how it is written."""
    said = schema.get("x-guidance")
    says_blanks = isinstance(said, dict) and bool({"whitespace_flexible", "whitespace_pattern"} & said.keys())
    return None if says_blanks else JSON_AS_WRITTEN


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise ConstraintInvalidError(f"A {what} is a text that is not empty. Write one.")
    return value


def _told_of_regex(error: str) -> str:
    """What is wrong with a regular expression, and where; empty where llguidance's words are others."""
    found = _REGEX_ERROR.search(error)
    if found is None:
        return ""
    place = len(found["marks"]) - len(found["marks"].lstrip())
    rest = textwrap.shorten(found["regex"][place : place + _QUOTED], _QUOTED, placeholder="…") or found["regex"]
    return f"The regular expression can't be used: {found['why']}, at “{rest}”."


def _told(error: str) -> str:
    """llguidance's own words, without what only its makers can read."""
    said = re.split(r"\n?<state>|\n?<grammar>", error)[0].strip()
    return textwrap.shorten(said, 600, placeholder="…") if "\n" not in said else said[:600]
