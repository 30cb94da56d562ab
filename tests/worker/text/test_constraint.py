"""Constraints: masks against a plain oracle, rewinding against a fresh start, and whole answers that must be valid."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.driver import StdioWorker, shown_text
from tests.long import in_long_runs
from tests.trials import TRIALS
from tests.worker.rounding import agree
from worker.decoding.sampled_token import SampledToken
from worker.errors import ConstraintInvalidError
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.protocol import Chunk, Continuation, Event, Failed, Finished, Generate, Sampling
from worker.protocol import Constraint as Described
from worker.requests.engine import Engine
from worker.requests.prompts import Prompts
from worker.requests.request import Request, Ticket
from worker.text.constraint import Constraints
from worker.text.vocabulary import Vocabulary

CHOICES = ["yes", "yesterday", "no", "naïve café", 'a "quoted" one', "東京"]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a_rather_long_name": {"type": "integer", "minimum": 0, "maximum": 99},
        "kind": {"enum": ["branch", "leaf"]},
        "words": {"type": "array", "items": {"type": "string", "maxLength": 4}, "maxItems": 3},
    },
    "required": ["a_rather_long_name", "kind", "words"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def vocabulary(byte_level: Tokenizer) -> Vocabulary:
    return Vocabulary(byte_level, byte_level.encode("<|im_end|>").ids)


@pytest.fixture(scope="module")
def constraints(vocabulary: Vocabulary) -> Constraints:
    return Constraints(vocabulary)


@pytest.fixture(scope="module")
def worker(random_llama: Path) -> Iterator[StdioWorker]:
    with StdioWorker() as worker:
        worker.load(random_llama)
        yield worker


def walk(rng: Random, mask: np.ndarray, eos: frozenset[int]) -> int | None:
    allowed = [int(token_id) for token_id in np.flatnonzero(mask) if int(token_id) not in eos]
    return rng.choice(allowed) if allowed else None


@pytest.mark.parametrize("seed", range(8))
def test_a_choice_allows_the_tokens_that_continue_one_of_its_texts(
    constraints: Constraints, vocabulary: Vocabulary, seed: int
):
    rng = Random(seed)
    constraint = constraints.new(Described(kind="choice", value=CHOICES))
    said = b""
    while not constraint.is_complete:
        rests = [choice.encode()[len(said) :] for choice in CHOICES if choice.encode().startswith(said)]
        expected = {
            data
            for token_id, data in enumerate(vocabulary.bytes)
            if data and token_id not in vocabulary.control_ids and any(rest.startswith(data) for rest in rests)
        }
        mask = constraint.mask()
        allowed = set(np.flatnonzero(mask).tolist())
        spelled = {vocabulary.bytes[token_id] for token_id in allowed - vocabulary.eos_ids}
        # One of several tokens with the same bytes is enough. Forced text may be limited to the tokenizer's own tokens.
        assert spelled == expected or (constraint.forced() and len(spelled) == 1 and spelled < expected)
        assert (vocabulary.eos_ids <= allowed) == (b"" in rests)
        assert constraint.may_end == (b"" in rests)
        token_id = walk(rng, mask, vocabulary.eos_ids)
        assert token_id is not None
        assert constraint.consume([token_id])
        said += vocabulary.bytes[token_id]
    assert said.decode() in CHOICES


@pytest.mark.parametrize(
    "described",
    [
        Described(kind="json_schema", value=SCHEMA),
        Described(kind="regex", value=r"[a-z]{1,8}(-[0-9]{2,4}){1,30}"),
        Described(kind="lark", value='start: item ("," item)*\nitem: /[a-z]+/ | "(" start ")"'),
    ],
    ids=["json", "regex", "lark"],
)
@pytest.mark.parametrize("seed", [0, *in_long_runs([1, 2])])
def test_after_a_rewind_the_constraint_is_as_if_the_tokens_had_never_come(
    constraints: Constraints, vocabulary: Vocabulary, described: Described, seed: int
):
    rng = Random(seed)
    constraint = constraints.new(described)
    taken: list[int] = []
    for _ in range(120):
        token_id = None if constraint.is_complete else walk(rng, constraint.mask(), vocabulary.eos_ids)
        if token_id is None or (taken and rng.random() < 0.25):
            number = rng.randrange(1, len(taken) + 1)
            constraint.rewind(number)
            del taken[-number:]
        else:
            assert constraint.fits([token_id]) == 1
            assert constraint.consume([token_id])
            taken.append(token_id)
        fresh = constraints.new(described)
        assert fresh.consume(taken)
        assert np.array_equal(fresh.mask(), constraint.mask())
        assert fresh.forced() == constraint.forced()
        assert (fresh.is_complete, fresh.may_end) == (constraint.is_complete, constraint.may_end)
    with pytest.raises(ValueError, match="Cannot rewind"):
        constraint.rewind(len(taken) + 1)


@pytest.mark.parametrize("refused", ["9", "abc9", "a, bc9", "abc, def, g", "abc, def\n"])
def test_tokens_that_do_not_fit_are_refused_and_none_is_taken(
    constraints: Constraints, vocabulary: Vocabulary, refused: str
):
    constraint = constraints.new(Described(kind="regex", value="[a-z]+(, [a-z]+){0,2}"))
    assert constraint.consume(vocabulary.encode("x, y"))
    mask, forced, may_end = constraint.mask(), constraint.forced(), constraint.may_end
    assert not constraint.consume(vocabulary.encode(refused))
    assert np.array_equal(constraint.mask(), mask)
    assert (constraint.forced(), constraint.may_end) == (forced, may_end)
    assert constraint.consume(vocabulary.encode("z, abc"))
    constraint.rewind(len(vocabulary.encode("z, abc")))
    assert np.array_equal(constraint.mask(), mask)


def test_a_refused_end_does_not_end_the_constraint(constraints: Constraints, vocabulary: Vocabulary):
    constraint = constraints.new(Described(kind="regex", value="ab"))
    assert not constraint.consume(vocabulary.encode("aba"))
    assert not constraint.is_complete
    assert constraint.consume(vocabulary.encode("ab"))
    assert constraint.is_complete
    assert not constraint.consume(vocabulary.encode("a"))
    constraint.rewind(len(vocabulary.encode("ab")))
    assert constraint.mask().any()


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("regex", "a(", "The regular expression is not valid: unclosed group, at “(”."),
        ("regex", "x" * 30 + "[a-", "The regular expression is not valid: unclosed character class, at “[a-”."),
        ("regex", "one\n*two{3,1} three four five six seven", "range, the start must be <= the end, at “{3,1} three"),
        ("regex", r"[^\s\S]", "No text fits"),
        ("regex", "", "is empty"),
        ("regex", 5, "is empty"),
        ("json_schema", {"type": "nonsense"}, "Invalid type: nonsense"),
        ("json_schema", '{"type": ', "is not valid JSON"),
        ("json_schema", '{"items": ' * 100_000, "is nested too deeply"),
        ("json_schema", [1], "must be an object"),
        ("json_schema", {"allOf": [{"type": "string"}, {"type": "integer"}]}, "Unsatisfiable"),
        ("lark", "start: foo", "unknown name"),
        ("choice", [], "at least one"),
        ("choice", ["a", ""], "none of them empty"),
        ("choice", "yes", "at least one"),
    ],
)
def test_an_unusable_constraint_is_explained(
    constraints: Constraints, worker: StdioWorker, kind: Any, value: Any, words: str
):
    with pytest.raises(ConstraintInvalidError, match=re.escape(words)):
        constraints.new(Described(kind=kind, value=value))
    validated = worker.result("validate", constraint={"kind": kind, "value": value})
    assert (validated["type"], validated["ok"]) == ("validated", False)
    assert words in validated["message"]
    failed = worker.result("generate", text="Hello", constraint={"kind": kind, "value": value})
    assert (failed["type"], failed["kind"]) == ("failed", "constraint_invalid")
    assert "<state>" not in failed["message"]


# --- whole answers -------------------------------------------------------------------------------------------


def is_valid(answer: Any) -> bool:
    return (
        isinstance(answer, dict)
        and list(answer) == list(SCHEMA["properties"])
        and answer["a_rather_long_name"] in range(100)
        and answer["kind"] in {"branch", "leaf"}
        and len(answer["words"]) <= 3
        and all(isinstance(word, str) and len(word) <= 4 for word in answer["words"])
    )


@pytest.mark.parametrize("temperature", [0, 1, 3])
def test_json_answers_are_valid(worker: StdioWorker, temperature: float):
    constraint = {"kind": "json_schema", "value": SCHEMA}
    sampling = {"temperature": temperature, "seed": 5}
    assert worker.result("validate", constraint=constraint) | {"request_id": 0} == {
        "type": "validated",
        "request_id": 0,
        "ok": True,
        "message": "",
    }
    events = worker.ask("generate", text="Hello", constraint=constraint, n=4, max_tokens=400, sampling=sampling)
    finished = events[-1]
    for choice, answer in enumerate(finished["choices"]):
        assert answer["reason"] == "constraint"
        assert is_valid(json.loads(answer["text"])), answer["text"]
        assert shown_text(events, choice) == answer["text"]
        tokens = [
            token
            for event in events
            if event["type"] == "chunk" and event["choice"] == choice
            for token in event["tokens"]
        ]
        assert [token["id"] for token in tokens] == answer["token_ids"]
    forced = [
        token
        for event in events
        if event["type"] == "chunk"
        for token in event["tokens"]
        if token["origin"] == "forced"
    ]
    # The longer name is a minimum.
    assert len(forced) == finished["usage"]["forced_tokens"] > 4 * 5


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("pattern", ["[0-9]{3}-[a-z]{2,9}", "(ab|cd){2,5}!", "é{1,3}東?"])
def test_answers_match_a_regular_expression(worker: StdioWorker, pattern: str, n: int):
    constraint = {"kind": "regex", "value": pattern}
    finished = worker.result(
        "generate", text="Hello", constraint=constraint, n=n, sampling={"temperature": 1, "seed": 1}
    )
    for answer in finished["choices"]:
        assert re.fullmatch(pattern, answer["text"]), answer
        assert answer["reason"] in {"constraint", "eos"}


def test_a_single_choice_needs_no_sampling(worker: StdioWorker):
    finished = worker.result("generate", text="Hello", constraint={"kind": "choice", "value": ["just this one"]}, n=2)
    assert [answer["text"] for answer in finished["choices"]] == ["just this one"] * 2
    assert finished["usage"]["forced_tokens"] == finished["usage"]["generated_tokens"]


def test_an_answer_cut_by_length_is_a_valid_prefix(worker: StdioWorker):
    constraint = {"kind": "json_schema", "value": SCHEMA}
    whole = worker.result("generate", text="Hello", constraint=constraint, sampling={"seed": 1, "temperature": 1})
    ids = whole["choices"][0]["token_ids"]
    for length in (1, 2, 5, len(ids) - 1):
        cut = worker.result(
            "generate", text="Hello", constraint=constraint, max_tokens=length, sampling={"seed": 1, "temperature": 1}
        )
        assert cut["choices"][0]["reason"] == "length"
        assert whole["choices"][0]["text"].startswith(cut["choices"][0]["text"])
        assert cut["usage"]["generated_tokens"] == length


@pytest.mark.parametrize(
    ("constraint", "given"),
    [
        ({"kind": "json_schema", "value": {"type": "object"}}, "{}"),
        ({"kind": "choice", "value": ["yes", "no"]}, "yes"),
    ],
)
def test_a_constraint_that_is_complete_at_the_start_ends_the_answer(
    worker: StdioWorker, constraint: dict[str, Any], given: str
):
    ids = worker.result("tokenize", text=given)["token_ids"]
    for continuation in ({"token_ids": ids}, {"text": given}):
        answer = worker.result("generate", text="Hello", constraint=constraint, continuation=continuation)["choices"][0]
        assert (answer["reason"], answer["text"]) == ("constraint", "")


@pytest.mark.parametrize(
    "constraint",
    [
        {"kind": "choice", "value": [f"item {number}" for number in range(2500)]},
        {"kind": "json_schema", "value": {"type": "object", "properties": {f"{n}": {} for n in range(1000)}}},
    ],
)
def test_a_constraint_may_have_thousands_of_choices(worker: StdioWorker, constraint: dict[str, Any]):
    end = worker.result("generate", text="Hello", constraint=constraint, max_tokens=6)
    assert end["type"] == "finished", end
    assert worker.result("validate", constraint=constraint)["ok"]


LARGE: list[tuple[str, Any]] = [
    ("regex", r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2}))?"),
    ("regex", r"[a-zA-Z0-9._%+-]{1,64}@[a-zA-Z0-9.-]{1,255}\.[a-zA-Z]{2,20}"),
    ("regex", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("regex", "[a-z]{1,500}"),
    ("regex", r"([A-Z][^.!?]{5,300}[.!?] ?){1,10}"),
    ("regex", r"[\p{L} ]{1,300}"),
    ("choice", [f"{number * 7919 % 1_000_003} texts" for number in range(40_000)]),
    ("json_schema", {"enum": [f"value {number * 7919 % 1_000_003}" for number in range(5000)]}),
    ("json_schema", {"type": "object", "properties": {f"{number}": {} for number in range(2000)}}),
    (
        "json_schema",
        {
            "type": "object",
            "properties": {
                f"property_{number}": (
                    {"type": "string", "format": "date-time"},
                    {"type": "string", "pattern": "^[A-Z]{2}[0-9]{6,20}$"},
                    {"type": "array", "items": {"type": "string", "maxLength": 4000}},
                    {"enum": ["a", "b", 3, None]},
                )[number % 4]
                for number in range(200)
            },
            "additionalProperties": False,
        },
    ),
    ("json_schema", json.loads('{"type": "array", "items": ' * 30 + "{}" + "}" * 30)),
]


@pytest.mark.parametrize(("kind", "value"), LARGE)
def test_ordinary_formats_stay_within_the_limits(
    constraints: Constraints, vocabulary: Vocabulary, kind: Any, value: Any
):
    constraint, rng = constraints.new(Described(kind=kind, value=value)), Random(1)
    for _ in range(40):
        token_id = walk(rng, constraint.mask(), vocabulary.eos_ids)
        if token_id is None:
            break
        assert constraint.consume([token_id]), constraint.problem
        constraint.forced()


class PanicException(BaseException):
    pass


class PanickingMatcher:
    """A matcher that panics when a token comes after the third."""

    def __init__(self, matcher: Any) -> None:
        self._matcher, self._num_left = matcher, 3

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matcher, name)

    def try_consume_tokens(self, token_ids: list[int]) -> int:
        if not self._num_left:
            raise PanicException("index out of bounds")
        self._num_left -= 1
        return self._matcher.try_consume_tokens(token_ids)

    def deep_copy(self) -> PanickingMatcher:
        return PanickingMatcher(self._matcher.deep_copy())


def test_a_panic_ends_its_own_answer_alone(random_llama: Path, monkeypatch: pytest.MonkeyPatch):
    *_, model = UnreadModel(find_model(str(random_llama)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    new = model.constraints.new

    def new_or_panicking(described: Described) -> Any:
        constraint = new(described)
        if described.value == "[a-f]{20}":
            state = vars(constraint)
            state["_matcher"] = PanickingMatcher(state["_matcher"])
        return constraint

    monkeypatch.setattr(model.constraints, "new", new_or_panicking)
    engine = Engine(model)
    for number, pattern in enumerate(("[a-f]{20}", "[0-9]{20}"), 1):
        described = Described(kind="regex", value=pattern)
        engine.add(Generate(request_id=number, text="Hello", max_tokens=30, constraint=described), Ticket(number))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    [failed] = [event for event in events if isinstance(event, Failed)]
    assert (failed.request_id, failed.kind) == (1, "constraint_invalid")
    assert "index out of bounds" in failed.message
    text = "".join(event.text for event in events if isinstance(event, Chunk) and event.request_id == 1)
    assert re.fullmatch("[a-f]{3,19}", text), text
    [finished] = [event for event in events if isinstance(event, Finished)]
    assert finished.request_id == 2
    assert re.fullmatch("[0-9]{20}", finished.choices[0].text)


@pytest.mark.parametrize("before", ["", "[xy]{3}"])
def test_a_constraint_too_large_for_llguidance_is_explained(worker: StdioWorker, before: str):
    constraint = {"kind": "regex", "value": f"{before}(a?){{2000}}a{{2000}}"}
    end = worker.result("generate", text="Hello", constraint=constraint, max_tokens=6)
    assert (end["type"], end["kind"]) == ("failed", "constraint_invalid")
    assert "too many expressions" in end["message"]


def test_a_grammar_may_ask_for_the_end_of_the_turn(worker: StdioWorker):
    constraint = {"kind": "lark", "value": 'start: ("a" | "b") "c" <|im_end|>'}
    answer = worker.result("generate", text="Hello", constraint=constraint)["choices"][0]
    assert answer["reason"] == "eos"
    assert answer["text"] in {"ac", "bc"}


@pytest.mark.parametrize(("seed", "distance"), [(5, 23), *in_long_runs((seed, 7) for seed in range(6))])
def test_half_written_json_continues_validly_wherever_it_was_cut(worker: StdioWorker, seed: int, distance: int):
    constraint = {"kind": "json_schema", "value": SCHEMA}
    sampling = {"temperature": 1, "seed": seed}
    whole = worker.result("generate", text="Hello", constraint=constraint, sampling=sampling)["choices"][0]["text"]
    for end in range(1, len(whole), distance):
        finished = worker.result(
            "generate", text="Hello", continuation={"text": whole[:end]}, constraint=constraint, sampling=sampling
        )
        assert finished["type"] == "finished", finished
        answer = finished["choices"][0]
        assert is_valid(json.loads(whole[:end] + answer["text"])), (whole[:end], answer["text"])


def test_a_constraint_may_cover_only_new_text(worker: StdioWorker):
    constraint = {"kind": "choice", "value": ["yes", "no"], "covers": "new"}
    finished = worker.result("generate", text="Hello", continuation={"text": "My answer is: "}, constraint=constraint)
    assert finished["choices"][0]["text"] in {"yes", "no"}
    failed = worker.result(
        "generate",
        text="Hello",
        continuation={"text": "My answer is: "},
        constraint={"kind": "choice", "value": ["yes", "no"]},
    )
    assert failed["kind"] == "constraint_invalid"
    assert "beginning of the answer" in failed["message"]


def test_the_join_before_a_constraint_is_healed(random_llama: Path):
    """A token may spell the end of the given text and the start of the constrained text, as the model would have."""
    *_, model = UnreadModel(find_model(str(random_llama)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    vocabulary = model.vocabulary
    # The tokenizer joins these into one token.
    [joined] = vocabulary.encode(" fox")
    for constraint in (
        Described(kind="choice", value=["fox", "dog"], covers="new"),
        Described(kind="regex", value="fox|dog", covers="new"),
        Described(kind="lark", value='start: "fox" | "dog"', covers="new"),
    ):
        command = Generate(
            request_id=1, text="Hello", continuation=Continuation(text="quick brown "), constraint=constraint
        )
        writing = Request(command, Ticket(1), Prompts(model), model).writings[0]
        allowed = writing.answer.mask.mask()
        assert allowed is not None
        assert allowed[joined], constraint.kind
        assert not allowed[vocabulary.encode(" over")[0]]
        writing.take(SampledToken(joined))
        assert writing.choice(0).text == "fox" if writing.is_over else writing.answer.raw_text() == "fox"


@pytest.mark.parametrize("seed", [0, *in_long_runs([1, 2])])
@pytest.mark.parametrize("given", ["Here it is: ", "Here it is:\n", "{", "[1, é"])
def test_json_after_given_text_is_valid(worker: StdioWorker, given: str, seed: int):
    finished = worker.result(
        "generate",
        text="Hello",
        continuation={"text": given},
        constraint={"kind": "json_schema", "value": SCHEMA, "covers": "new"},
        sampling={"temperature": 1, "seed": seed},
    )
    assert finished["type"] == "finished", finished
    answer = finished["choices"][0]
    assert answer["reason"] == "constraint"
    assert is_valid(json.loads(answer["text"])), answer["text"]
    assert sum(answer["turn_token_chars"]) == len(given + answer["text"])


def test_a_mask_is_the_same_array_while_the_same_tokens_are_allowed(constraints: Constraints, vocabulary: Vocabulary):
    form = constraints.new(Described(kind="regex", value="[a-z]*!?"))
    first = form.mask()
    for letter in "abc":
        assert form.consume(vocabulary.encode(letter))
        assert np.array_equal(form.copy().mask(), first)
        assert form.mask() is first
    assert form.consume(vocabulary.encode("!"))
    assert not np.array_equal(form.mask(), first)
    form.rewind(1)
    assert np.array_equal(form.mask(), first)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = True


def test_a_stop_string_also_ends_a_constrained_answer(worker: StdioWorker):
    constraint = {"kind": "regex", "value": "[a-z]{3}, [a-z]{3}, [a-z]{3}"}
    answer = worker.result("generate", text="Hello", constraint=constraint, stop=[", "])["choices"][0]
    assert (answer["reason"], answer["stop"], len(answer["text"])) == ("stop", ", ", 3)


def test_answers_are_the_same_with_and_without_launching_ahead(random_llama: Path):
    *_, model = UnreadModel(find_model(str(random_llama)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    for n in (1, 3):
        finished: list[Finished] = []
        request = Generate(
            request_id=1,
            text="Hello",
            n=n,
            max_tokens=300,
            constraint=Described(kind="json_schema", value=SCHEMA),
            sampling=Sampling(temperature=1, seed=2),
        )
        for looks_ahead in (False, True):
            engine = Engine(model, looks_ahead=looks_ahead)
            engine.add(request, Ticket(1))
            while engine.is_busy:
                finished += [event for event in engine.step() if isinstance(event, Finished)]
        assert agree(model, request, finished[0].choices, finished[1].choices)
        assert all(is_valid(json.loads(choice.text)) for choice in finished[0].choices)


@pytest.mark.parametrize(
    ("said", "blanks"),
    [
        ({}, True),
        ({"lenient": False}, True),
        ({"whitespace_flexible": False}, False),
        ({"whitespace_pattern": ""}, False),
    ],
)
def test_a_schema_may_define_its_white_space(
    constraints: Constraints, vocabulary: Vocabulary, said: dict[str, Any], blanks: bool
):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "x-guidance": said}
    constraint = constraints.new(Described(kind="json_schema", value=schema))
    assert constraint.consume(vocabulary.encode('{"a"'))
    assert (constraint.fits(vocabulary.encode("  : 1")) > 0) is blanks
    assert constraint.fits(vocabulary.encode(":1}")) == len(vocabulary.encode(":1}"))
