"""How real answers end, continue and are steered: stop strings, healing, answer formats, hooks, drafts, n = 4."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from tests.driver import Event, StdioWorker, shown_text
from tests.real.conftest import LONGEST_S, NUM_TOKENS, ask_all, asked
from tests.real.questions import QUESTIONS
from tests.real.weights import TEXT
from tests.worker.rounding import agree
from worker.batch import SHORTEST_SHARED
from worker.language_model import LanguageModel
from worker.protocol import Choice, Generate, Message, Sampling


def _choice(end: Event) -> dict[str, Any]:
    return end["choices"][0]


def test_a_stop_string_ends_the_answer_before_its_first_occurrence(worker: StdioWorker, greedy: list[Event]):
    rng = Random(3)
    requests: list[dict[str, Any]] = []
    expected: list[tuple[str, str]] = []
    for question, end in list(zip(QUESTIONS, greedy, strict=True))[:16]:
        text = _choice(end)["text"]
        start = rng.randrange(4, len(text) - 2)
        stop = text[start : start + rng.randrange(1, 9)]
        requests.append({"messages": asked(question), "max_tokens": NUM_TOKENS, "stop": [stop, "\u2603"]})
        expected.append((text[: text.index(stop)], stop))
    for end, (text, stop) in zip(ask_all(worker, requests), expected, strict=True):
        choice = _choice(end)
        assert (choice["text"], choice["stop"], choice["reason"]) == (text, stop, "stop")
        assert shown_text([event for event in worker.events if event["request_id"] == end["request_id"]]) == text


@pytest.mark.parametrize(
    ("num_answers", "most_chars"),
    [(3, 60), pytest.param(10, 1000, marks=[pytest.mark.long, pytest.mark.timeout(LONGEST_S)])],
    ids=["some characters", "every character"],
)
def test_an_answer_cut_at_any_character_continues_as_before(
    worker: StdioWorker, greedy: list[Event], num_answers: int, most_chars: int
):
    requests: list[dict[str, Any]] = []
    whole: list[tuple[str, int]] = []
    for question, end in list(zip(QUESTIONS, greedy, strict=True))[2 : 2 + num_answers]:
        text = _choice(end)["text"]
        for cut in range(1, min(len(text), most_chars)):
            beginning = {"text": text[:cut]}
            requests.append({"messages": asked(question), "continuation": beginning, "max_tokens": 6, "draft": "off"})
            whole.append((text, cut))
    others: list[str] = []
    for end, (text, cut) in zip(ask_all(worker, requests), whole, strict=True):
        now = text[:cut] + _choice(end)["text"]
        if not (now.startswith(text) or text.startswith(now)):
            others.append(f"{text[:cut]!r} continued with {_choice(end)['text']!r}, not {text[cut : cut + 20]!r}")
    print(f"{len(whole)} cuts, of which {len(others)} continued otherwise", *others, sep="\n")
    assert len(others) <= len(whole) // 100


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


_SCHEMAS: dict[str, tuple[dict[str, Any], Callable[[Any], bool]]] = {
    "enum": ({"enum": ["red", "green", "blue"]}, lambda value: value in {"red", "green", "blue"}),
    "boolean": (_object(is_true={"type": "boolean"}), lambda value: isinstance(value["is_true"], bool)),
    "integer": (
        _object(age={"type": "integer", "minimum": 18, "maximum": 99}),
        lambda value: type(value["age"]) is int and 18 <= value["age"] <= 99,
    ),
    "string": (
        _object(name={"type": "string", "minLength": 2, "maxLength": 12}),
        lambda value: 2 <= len(value["name"]) <= 12,
    ),
    "pattern": (
        _object(code={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"}),
        lambda value: value["code"][:2].isupper() and value["code"][3:].isdigit(),
    ),
    "array": (
        {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 2, "maxItems": 4},
        lambda value: 2 <= len(value) <= 4 and set(value) <= {1, 2, 3},
    ),
    "nested": (
        _object(place=_object(x={"enum": [0, 1]}, y={"enum": [0, 1]})),
        lambda value: set(value["place"]) == {"x", "y"},
    ),
    "anyOf": (
        _object(answer={"anyOf": [{"const": None}, {"enum": ["yes", "no"]}]}),
        lambda value: value["answer"] in {None, "yes", "no"},
    ),
    "reference": (
        {**_object(a={"$ref": "#/$defs/bit"}, b={"$ref": "#/$defs/bit"}), "$defs": {"bit": {"enum": [0, 1]}}},
        lambda value: {value["a"], value["b"]} <= {0, 1},
    ),
    "optional": (
        {**_object(kind={"const": "tree"}, leaves={"type": "integer", "minimum": 0, "maximum": 9}), "required": []},
        lambda value: set(value) <= {"kind", "leaves"},
    ),
}
"""Schemas whose answers have a limited length, each with a check of the parsed value."""


@pytest.mark.parametrize("temperature", [0, 1])
def test_answers_obey_bounded_json_schemas(worker: StdioWorker, temperature: float):
    requests = [
        {
            "messages": asked(f"{question} Answer in JSON."),
            "constraint": {"kind": "json_schema", "value": schema},
            "sampling": {"temperature": temperature, "seed": 4},
            "max_tokens": 60,
        }
        for question, (schema, _) in zip(QUESTIONS, _SCHEMAS.values(), strict=False)
    ]
    ends = ask_all(worker, requests)
    for (name, (_, is_valid)), end in zip(_SCHEMAS.items(), ends, strict=True):
        choice = _choice(end)
        assert choice["reason"] == "constraint", (name, choice)
        assert is_valid(json.loads(choice["text"])), (name, choice["text"])


def test_a_banned_phrase_does_not_appear(worker: StdioWorker, greedy: list[Event]):
    text = _choice(greedy[0])["text"]
    assert "Paris" in text
    options = {"banned_phrases": {"phrases": ["PARIS", " is "]}}
    events = worker.ask(
        "generate", messages=asked(QUESTIONS[0]), max_tokens=24, hooks=["banned_phrases"], hook_options=options
    )
    now = _choice(events[-1])["text"]
    assert now
    assert "paris" not in now.lower()
    assert " is " not in now.lower()
    assert shown_text(events) == now


def test_an_answer_that_would_repeat_itself_does_not(worker: StdioWorker):
    """The prompt asks the real model to repeat itself, and the hook prevents this."""
    prompt: dict[str, Any] = {"text": "one two three one two three one two three one two three one", "max_tokens": 40}
    bare = _choice(worker.result("generate", **prompt))["token_ids"]
    hooked = _choice(worker.result("generate", **prompt, hooks=["no_repeats"]))["token_ids"]
    assert _repeats(bare[:-1])
    # The hook looks at a token before the next one is sampled, so not at the last one.
    assert not _repeats(hooked[:-1])


def _repeats(ids: list[int]) -> bool:
    """Return whether a sequence occurs three times in a row, in twelve tokens or more."""
    return any(
        ids[start : start + period] == ids[start + period : start + 2 * period] == ids[start + 2 * period :][:period]
        for period in range(4, len(ids) // 3 + 1)
        for start in range(len(ids) - 3 * period + 1)
    )


def test_a_hook_that_changes_nothing_changes_nothing(worker: StdioWorker, greedy: list[Event]):
    """With threshold 0 no token is sampled again."""
    end = worker.result(
        "generate",
        messages=asked(QUESTIONS[1]),
        max_tokens=NUM_TOKENS,
        hooks=["uncertain_pause"],
        hook_options={"uncertain_pause": {"threshold": 0}},
    )
    assert _choice(end)["token_ids"] == _choice(greedy[1])["token_ids"]
    assert end["hooks"][0]["calls"] > 0


def test_drafts_from_the_tree_are_accepted_and_change_nothing(worker: StdioWorker, greedy: list[Event]):
    for number in (3, 6, 7):
        end = worker.result(
            "generate", messages=asked(QUESTIONS[number]), max_tokens=NUM_TOKENS, draft="tree", top_logprobs=1
        )
        assert _choice(end)["token_ids"] == _choice(greedy[number])["token_ids"]
        # Other answers in the tree share words with this one, so not every draft is right.
        assert end["usage"]["accepted_tokens"] > end["usage"]["draft_tokens"] // 2 > 0


@pytest.mark.parametrize("num_chars", [0, 1300], ids=["short prompt", "shared prompt"])
def test_four_answers_are_those_asked_for_alone(worker: StdioWorker, language_model: LanguageModel, num_chars: int):
    """Answers to a long prompt share its keys."""
    question = f"{QUESTIONS[10]} {TEXT[:num_chars]}"
    fields: dict[str, Any] = {"messages": asked(question), "max_tokens": 20, "draft": "off"}
    together = worker.result("generate", **fields, n=4, sampling={"temperature": 0.9, "seed": 20})
    assert (together["usage"]["prompt_tokens"] > SHORTEST_SHARED) == (num_chars > 0)
    assert len({choice["text"] for choice in together["choices"]}) == 4
    for number in range(4):
        alone = worker.result("generate", **fields, sampling={"temperature": 0.9, "seed": 20 + number})
        command = Generate(
            request_id="",
            messages=[Message(role="user", content=question)],
            sampling=Sampling(temperature=0.9, seed=20 + number),
            max_tokens=20,
        )
        one, other = (
            [msgspec.convert(end["choices"][index], Choice)] for end, index in ((together, number), (alone, 0))
        )
        assert agree(language_model, command, one, other)
