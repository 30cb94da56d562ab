"""Constraints on an answer's text, by llguidance. Independent of the model and the text stream.

Each running branch has one matcher, which consumes tokens and can take them back. A rollback costs microseconds,
however long the answer is.
"""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from llguidance import LLMatcher, LLTokenizer
from msgspec.structs import replace

from worker.errors import ConstraintInvalidError, is_panic, panics_explained
from worker.protocol import Constraint as Described
from worker.sentence import Sentence, verbatim
from worker.text.constraint_trial import LIMITS, try_grammar
from worker.text.vocabulary import Vocabulary
from worker.trial import (
    CrashedError,
    Limits,
    StoppedError,
    TooMuchMemoryError,
    TooSlowError,
    TrialError,
    TrialProcess,
)

_BITS = 32
_NUM_QUOTED_CHARS = 24
"""Length of the part of a wrong regular expression that its error quotes."""
_REGEX_ERROR = re.compile(r"regex parse error:\n    (?P<regex>.*)\n    (?P<marks> *\^+) *\nerror: (?P<why>.+)")

_MAX_CHARS = 4_000_000
"""The limit for the length of a grammar, including all texts of a choice."""
_MAX_FIXED_CHARS = 200_000
"""The limit for fixed text, which leaves no choice. llguidance spells it at once, a million characters in 3 s."""
_TRIAL_LIMITS = Limits(seconds=10.0, memory_bytes=1 << 30, result_bytes=1000)
"""Ordinary answer formats take milliseconds, and a choice of 40,000 texts takes a second."""
_MAX_TRIED = 1000
_MAX_TOKEN_BYTES = 1000
"""llguidance can't take tokens of more than 1,024 bytes, and it marks control tokens with one more."""
_CHUNK_CHARS = _MAX_TOKEN_BYTES // 4
"""A character has at most four bytes, so text of this length has no longer token."""
_MAX_MADE = 16
"""How many grammars of tool calls are kept, because a client sends the same tools again and again."""

_DEAD_END = "NoExtension"
"""llguidance's name for a state that no token can follow, with which its error message begins."""
_LIBRARY = Sentence("The library for answer formats")
_NOTHING_FITS = Sentence("No text fits this answer format. Change the format.")

JSON_AS_WRITTEN: Any = {"whitespace_pattern": r"[ \t]{0,8}(\r?\n[ \t]{0,40})?"}
"""Limits white space in JSON, as small models may generate endless blank lines. `x-guidance` overrides it."""


class _Tokens:
    """A vocabulary in the shape that llguidance expects of a tokenizer; it checks `is_tokenizer_wrapper`.

    Very long tokens, which llguidance can't take, have no bytes here, so a constraint never allows them.
    """

    is_tokenizer_wrapper = True
    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.eos_token_id = min(vocabulary.eos_ids, default=0)
        self._left_out = {number for number, data in enumerate(vocabulary.bytes) if len(data) > _MAX_TOKEN_BYTES}
        self.tokens = [b"" if len(data) > _MAX_TOKEN_BYTES else data for data in vocabulary.bytes]
        self.special_token_ids = sorted(vocabulary.control_ids - self._left_out)

    def __call__(self, text: bytes | str) -> list[int]:
        text = text if isinstance(text, str) else text.decode("utf-8", "replace")
        ids = self._vocabulary.encode(text)
        if self._left_out.isdisjoint(ids):
            return ids
        starts = range(0, len(text), _CHUNK_CHARS)
        return [number for start in starts for number in self._vocabulary.encode(text[start : start + _CHUNK_CHARS])]


class Constraints:
    """Makes the constraints of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary, trials: TrialProcess | None = None) -> None:
        """`trials` tries each grammar first; None means a new process."""
        self._size = len(vocabulary)
        self._trials = trials or TrialProcess()
        self._tried: dict[bytes, Sentence] = {}
        """The faults that trials found, by the hash of the grammar; an empty sentence if there is none."""
        self._made: dict[str, Constraint] = {}
        self.endings: dict[tuple[bytes, int], list[int]] = {}
        """Tokens that contain the rest of a marker, by the marker and the number of its bytes before them."""
        with panics_explained(_LIBRARY):
            self._tokenizer = LLTokenizer(
                cast("Any", _Tokens(vocabulary)), n_vocab=len(vocabulary), eos_token=sorted(vocabulary.eos_ids) or [0]
            )

    def new(self, described: Described) -> Constraint:
        """Return a constraint in its initial state.

        Raises `ConstraintInvalidError` with llguidance's message, and `StoppedError` if the caller stopped waiting.
        """
        with panics_explained(_LIBRARY):
            grammar = _grammar(described)
            if (num_chars := _longest_text(described)) > _MAX_FIXED_CHARS:
                raise ConstraintInvalidError(_too_long(num_chars))
            self._try(grammar)
            matcher = LLMatcher(self._tokenizer, grammar, log_level=0, limits=LIMITS)
        if matcher.is_error():
            error = matcher.get_error()
            of_regex = _regex_message(error) if described.kind == "regex" else None
            raise ConstraintInvalidError(of_regex or verbatim(_message(error)))
        return self._begun(matcher)

    def of_grammar(self, lark: str, tried: str) -> Constraint:
        """Return a constraint of a grammar in llguidance's Lark.

        `tried` is the same grammar without control tokens, which the trial's vocabulary lacks. Raises as `new`.
        """
        known = self._made.get(lark)
        if known is not None:
            return known.copy()
        with panics_explained(_LIBRARY):
            self._try(LLMatcher.grammar_from_lark(tried))
            matcher = LLMatcher(self._tokenizer, LLMatcher.grammar_from_lark(lark), log_level=0, limits=LIMITS)
        if matcher.is_error():
            raise ConstraintInvalidError(verbatim(_message(matcher.get_error())))
        made = self._begun(matcher)
        if len(self._made) >= _MAX_MADE:
            self._made.clear()
        self._made[lark] = made
        return made.copy()

    def _begun(self, matcher: LLMatcher) -> Constraint:
        constraint = Constraint(matcher, self._size)
        try:
            constraint.mask()
        except ConstraintInvalidError:
            raise ConstraintInvalidError(_too_complex(constraint.problem)) from None
        if matcher.is_stopped() and matcher.stop_reason() != _DEAD_END:
            raise ConstraintInvalidError(_NOTHING_FITS)
        return constraint

    def _try(self, grammar: str) -> None:
        """Raise `ConstraintInvalidError` for a grammar that is too large, or on which llguidance crashes or hangs."""
        if len(grammar) > _MAX_CHARS:
            raise ConstraintInvalidError(
                Sentence(
                    "The answer format has {num_chars} characters; at most {limit} are allowed. Make it shorter.",
                    num_chars=len(grammar),
                    limit=_MAX_CHARS,
                )
            )
        key = hashlib.sha256(grammar.encode("utf-8", "surrogatepass")).digest()
        problem = self._tried.get(key)
        if problem is None:
            try:
                num_chars = self._trials.run(_TRIAL_LIMITS, try_grammar, grammar, _MAX_FIXED_CHARS)
            except StoppedError:
                raise
            except TrialError as error:
                problem = _trial_problem(error)
            else:
                problem = _too_long(num_chars) if num_chars > _MAX_FIXED_CHARS else verbatim("")
            if len(self._tried) >= _MAX_TRIED:
                self._tried.clear()
            self._tried[key] = problem
        if problem:
            raise ConstraintInvalidError(problem)


def _longest_text(described: Described) -> int:
    """Return the length of the longest fixed text in a format, without repetitions; 0 if it is not known."""
    match described.kind:
        case "choice":
            return max(map(len, cast("list[str]", described.value)))
        case "regex":
            return len(cast("str", described.value))
        case _:
            return 0


def _too_long(num_chars: int) -> Sentence:
    return Sentence(
        "This answer format asks for {num_chars} characters in a row; at most {limit} are allowed. "
        "Repeat less, or make its texts shorter.",
        num_chars=num_chars,
        limit=_MAX_FIXED_CHARS,
    )


def _too_complex(reason: Sentence) -> Sentence:
    return (
        reason
        if reason is _NOTHING_FITS
        else Sentence("This answer format is too complex ({reason}). Make it simpler or shorter.", reason=reason)
    )


def _trial_problem(error: TrialError) -> Sentence:
    match error:
        case TooSlowError():
            return Sentence(
                "This answer format takes more than {seconds} seconds to read. Make it simpler or shorter.",
                seconds=f"{_TRIAL_LIMITS.seconds:g}",
            )
        case TooMuchMemoryError():
            return Sentence(
                "This answer format needs more than {limit_bytes} of memory. Make it simpler or shorter.",
                limit_bytes=_TRIAL_LIMITS.memory_bytes,
            )
        case CrashedError():
            return Sentence("This answer format is nested too deeply or too large. Make it simpler or shorter.")
        case _:
            return Sentence("This answer format can't be read: {reason}. Change it.", reason=_message(str(error)))


class Constraint:
    """The state of one constraint in one answer; a `Mask` for its next token."""

    def __init__(self, matcher: LLMatcher, size: int) -> None:
        self._matcher = matcher
        self._size = size
        bits = np.zeros(-(-size // _BITS), dtype=np.int32)
        self._bytes = bits.view(np.uint8)
        """One bit for each token. The address is looked up once, because the look-up costs as much as the mask."""
        self._address = (bits.ctypes.data, bits.nbytes)
        self._last_bits = b""
        self._last_mask = np.zeros(0, dtype=np.bool_)
        self._num_consumed = 0
        self._panic = ""
        """The message of llguidance's panic, after which the constraint is not used any more; empty without a panic."""

    @property
    def is_active(self) -> bool:
        """A constraint limits every token."""
        return True

    @property
    def problem(self) -> Sentence:
        """llguidance's message about why the constraint can't be followed any longer; empty if it can."""
        message = self._panic or (_message(self._matcher.get_error()) if self._matcher.is_error() else "")
        return _NOTHING_FITS if message.startswith(_DEAD_END) else verbatim(message)

    @property
    def is_complete(self) -> bool:
        """Whether no token can follow."""
        return self._matcher.is_stopped()

    @property
    def may_end(self) -> bool:
        """Whether the text so far satisfies the constraint."""
        return self._matcher.is_accepting()

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return which tokens are allowed now, shape [vocabulary]; EOS is among them if the answer may end.

        The array is read-only, and the same one as long as the allowed tokens stay the same. Raises
        `ConstraintInvalidError` if llguidance gives up.
        """
        with self._used():
            self._matcher.unsafe_compute_mask_ptr(*self._address)
        if self._matcher.is_error():
            raise self.failure()
        bits = self._bytes.tobytes()
        if bits != self._last_bits:
            self._last_bits = bits
            self._last_mask = np.unpackbits(self._bytes, count=self._size, bitorder="little").view(np.bool_)
            self._last_mask.flags.writeable = False
        return self._last_mask

    def forced(self) -> list[int]:
        """Return the next tokens, as the tokenizer would split them, if no other text is allowed; often empty."""
        with self._used():
            return self._matcher.compute_ff_tokens()

    def fits(self, token_ids: Sequence[int]) -> int:
        """Return how many of these tokens, from the first on, are allowed one after another."""
        with self._used():
            return self._matcher.validate_tokens(list(token_ids))

    def consume(self, token_ids: Sequence[int]) -> bool:
        """Consume tokens if all of them are allowed. Return whether they were consumed."""
        with self._used():
            num_taken = self._matcher.try_consume_tokens(list(token_ids))
            if num_taken < len(token_ids):
                self._matcher.rollback(num_taken)
                return False
        self._num_consumed += num_taken
        return True

    def rewind(self, num_tokens: int) -> None:
        """Take back the last tokens. Raises `ValueError` if there are fewer."""
        if num_tokens > self._num_consumed:
            raise ValueError(f"Cannot rewind {num_tokens} tokens: there are {self._num_consumed}")
        if num_tokens:
            with self._used():
                self._matcher.rollback(num_tokens)
            self._num_consumed -= num_tokens

    def copy(self) -> Constraint:
        """Return an independent constraint in the same state."""
        with self._used():
            other = Constraint(self._matcher.deep_copy(), self._size)
        other._num_consumed = self._num_consumed
        return other

    def failure(self) -> ConstraintInvalidError:
        """Return the error that ends an answer when llguidance gives up or no token fits."""
        return ConstraintInvalidError(
            Sentence(
                "The answer can't follow its format any further, so it ended. The text so far is kept. "
                "Make the format simpler or shorter.\n{reason}",
                reason=self.problem or Sentence("This model's tokens can't follow the answer format."),
            )
        )

    @contextmanager
    def _used(self) -> Generator[None]:
        """Use the matcher. If it panics, this use and every later one raise the error that ends its answer."""
        if self._panic:
            raise self.failure()
        try:
            yield
        except BaseException as error:
            if not is_panic(error):
                raise
            self._panic = _message(str(error)) or type(error).__name__
            raise self.failure() from error


def with_given_text(constraint: Described, text: str) -> Described:
    """Return a constraint on `text` followed by what `constraint` allows. `constraint` must be valid.

    A constraint on new text alone begins at a token boundary: after "the answer is " no model would write "yes", it
    would write " yes". When token healing spells the end of the given text again, the constraint must allow for it.
    """
    kind, value = constraint.kind, constraint.value
    match kind:
        case "choice":
            value = [text + choice for choice in value]
        case "regex":
            # Characters by number, because which ones are special depends on the dialect.
            value = "".join(rf"\x{{{ord(character):X}}}" for character in text) + f"(?:{value})"
        case "json_schema":
            schema = json.loads(value) if isinstance(value, str) else value
            schema = {} if isinstance(schema, bool) else cast("dict[str, Any]", schema)
            kind, value = "lark", _after(text, f"%json {json.dumps({'x-guidance': JSON_AS_WRITTEN, **schema})}")
        case "lark":
            kind, value = "lark", _after(text, f"%lark {{\n{value}\n}}")
    return replace(constraint, kind=kind, value=value, covers="turn")


def _after(text: str, rule: str) -> str:
    return f"start: given rest\ngiven: {json.dumps(text)}\nrest: {rule}\n"


def _grammar(described: Described) -> str:
    value = described.value
    match described.kind:
        case "json_schema":
            try:
                return _json_grammar(json.loads(value) if isinstance(value, str) else value)
            except RecursionError:
                raise ConstraintInvalidError(Sentence("The JSON schema is nested too deeply.")) from None
            except ValueError as error:
                raise ConstraintInvalidError(
                    Sentence("The JSON schema is not valid JSON: {error}.", error=error)
                ) from error
        case "regex":
            return LLMatcher.grammar_from_regex(_text(value, Sentence("The regular expression is empty. Enter one.")))
        case "lark":
            return LLMatcher.grammar_from_lark(_text(value, Sentence("The grammar is empty. Enter one.")))
        case "choice":
            choices = cast("list[object]", value) if isinstance(value, list) else []
            if not choices or not all(isinstance(choice, str) and choice for choice in choices):
                raise ConstraintInvalidError(
                    Sentence("A choice must be a list of texts, none of them empty. Enter at least one.")
                )
            # A grammar rather than a regular expression: its alternatives may be any text.
            # Write one terminal: llguidance takes twenty times as long to read thousands of texts as rules.
            texts = " | ".join(map(json.dumps, cast("list[str]", choices)))
            return LLMatcher.grammar_from_lark(f"start: TEXT\nTEXT: {texts}")


def _json_grammar(value: Any) -> str:
    """Return the grammar of a JSON schema. Raises `ValueError` for a value that JSON does not have."""
    if isinstance(value, bool):
        value = {} if value else {"not": {}}
    if not isinstance(value, dict):
        raise ConstraintInvalidError(Sentence("A JSON schema must be an object in braces."))
    schema = cast("dict[str, Any]", value)
    return LLMatcher.grammar_from_json_schema(schema, defaults=json_defaults(schema))


def json_defaults(schema: Mapping[str, Any]) -> Any:
    """Return the defaults for a schema: limited white space, unless its `x-guidance` says otherwise."""
    options = schema.get("x-guidance")
    says_blanks = isinstance(options, dict) and bool({"whitespace_flexible", "whitespace_pattern"} & options.keys())
    return None if says_blanks else JSON_AS_WRITTEN


def _text(value: object, if_empty: Sentence) -> str:
    if not isinstance(value, str) or not value:
        raise ConstraintInvalidError(if_empty)
    return value


def _regex_message(error: str) -> Sentence | None:
    """Return what is wrong with a regular expression, and where; None if llguidance's message has another form."""
    found = _REGEX_ERROR.search(error)
    if found is None:
        return None
    position = len(found["marks"]) - len(found["marks"].lstrip())
    wrong = found["regex"][position : position + _NUM_QUOTED_CHARS]
    rest = textwrap.shorten(wrong, _NUM_QUOTED_CHARS, placeholder="…") or found["regex"]
    return Sentence("The regular expression is not valid: {error}, at “{position}”.", error=found["why"], position=rest)


def _message(error: str) -> str:
    """Return llguidance's message without its internal state."""
    message = re.split(r"\n?<(?:state|grammar|backtrace)>", error)[0].strip()
    return textwrap.shorten(message, 600, placeholder="…") if "\n" not in message else message[:600]
