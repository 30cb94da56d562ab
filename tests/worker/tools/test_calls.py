"""Calls that a model is made to write: valid by their schemas in every form, and kept as written. About 5 s of CPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.driver import Event, StdioWorker
from tests.long import every_third
from tests.models import write_scripted_model
from tests.trials import TRIALS
from tests.worker.tools.spelled import CALLS, FAMILIES, SCHEMAS, Call
from tests.worker.tools.templates import TEMPLATES, tokenizer_of
from worker.protocol import Tool
from worker.text.calls import CallChoice, CallConstraint, grammars_of
from worker.text.constraint import Constraints
from worker.text.vocabulary import Vocabulary
from worker.tools.forms import form_named
from worker.tools.turn_parts import CallArguments, CallBroken, CallEnded, CallStarted, Part, parts_of
from worker.values import ReasoningMarks

THINK = ReasoningMarks("<think>", "</think>")
FORECAST: dict[str, Any] = {
    "type": "object",
    "properties": {
        "unit": {"type": "string", "enum": ["c", "f"]},
        "days": {"type": "integer", "minimum": 0, "maximum": 14},
        "when": {
            "type": "object",
            "properties": {
                "hour": {"type": "integer", "minimum": 0, "maximum": 23},
                "zone": {"enum": ["utc", "local"]},
            },
            "required": ["hour"],
            "additionalProperties": False,
        },
        "note": {"anyOf": [{"type": "string", "maxLength": 6}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2},
    },
    "required": ["unit", "days", "when"],
    "additionalProperties": False,
}
NOW: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
TOOLS = {"forecast": FORECAST, "now": NOW}


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Return whether a value is valid, by a plain reading of the schemas above."""
    if "anyOf" in schema:
        return any(fits(value, each) for each in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    match schema["type"]:
        case "object":
            properties = schema["properties"]
            return (
                isinstance(value, dict)
                and value.keys() <= properties.keys()
                and value.keys() >= set(schema.get("required", ()))
                and all(fits(item, properties[key]) for key, item in value.items())
            )
        case "array":
            return isinstance(value, list) and len(value) <= 2 and all(fits(item, schema["items"]) for item in value)
        case "integer":
            return type(value) is int and schema["minimum"] <= value <= schema["maximum"]
        case "null":
            return value is None
        case _:
            return isinstance(value, str) and len(value) <= schema["maxLength"]


def calls_in(parts: list[Part]) -> list[Call]:
    arguments: dict[int, str] = {}
    names: dict[int, str] = {}
    for part in parts:
        match part:
            case CallStarted(index, _, name):
                names[index], arguments[index] = name, ""
            case CallArguments(index, text):
                arguments[index] += text
            case _:
                pass
    return [(names[part.index], json.loads(arguments[part.index])) for part in parts if isinstance(part, CallEnded)]


def constraint_of(
    name: str,
    tools: dict[str, dict[str, Any]],
    *,
    is_required: bool,
    is_several: bool = True,
    has_controls: bool = True,
    opens_reasoning: bool = False,
) -> tuple[CallConstraint, Vocabulary]:
    tokenizer = tokenizer_of(name, has_controls=has_controls)
    vocabulary = Vocabulary(tokenizer, tokenizer.encode("<|im_end|>").ids)
    form = form_named(name)
    assert form is not None
    described = [Tool(name=tool, parameters=schema) for tool, schema in tools.items()]
    choice = CallChoice(described, is_required, is_several)
    grammars, notices = grammars_of(
        Constraints(vocabulary, TRIALS),
        vocabulary,
        form,
        form.reasoning if name == "harmony" else THINK,
        choice,
        opens_reasoning=opens_reasoning,
    )
    assert notices == []
    return CallConstraint(grammars, vocabulary), vocabulary


def takes(constraint: CallConstraint, token_ids: list[int]) -> int:
    """Let the constraint take tokens one by one. Return how many it allowed."""
    for number, token_id in enumerate(token_ids):
        mask = constraint.mask()
        if (mask is not None and not mask[token_id]) or not constraint.consume([token_id]):
            return number
    return len(token_ids)


@pytest.mark.parametrize("name", every_third(FAMILIES))
@pytest.mark.parametrize("has_controls", [True, False], ids=["controls", "text"])
def test_calls_as_families_write_them_are_allowed(name: str, has_controls: bool):
    form = form_named(name)
    assert form is not None
    for is_required in (False, True):
        constraint, vocabulary = constraint_of(name, SCHEMAS, is_required=is_required, has_controls=has_controls)
        text = FAMILIES[name](CALLS)
        text = form.lead + text if is_required else text if form.is_bare else f"Let me see. {text}"
        ids = tokenizer_of(name, has_controls=has_controls).encode(text, add_special_tokens=False).ids
        number = takes(constraint, ids)
        assert number == len(ids), vocabulary.text_of(ids[:number])
        assert constraint.may_end


@pytest.mark.parametrize("name", every_third(FAMILIES, 1))
def test_random_calls_are_valid_and_rewind(name: str):
    """Random tokens that the mask allows, now and then taken back, spell valid calls."""
    form = form_named(name)
    assert form is not None
    rng = Random(name)
    start, vocabulary = constraint_of(name, TOOLS, is_required=True, is_several=False)
    num_whole = 0
    for _ in range(8):
        constraint, ids = start.copy(), list[int]()
        for _ in range(300):
            if constraint.is_complete or (constraint.may_end and rng.random() < 0.5):
                break
            mask = constraint.mask()
            assert mask is not None
            allowed = [int(token_id) for token_id in np.flatnonzero(mask) if int(token_id) not in vocabulary.eos_ids]
            visible = [token_id for token_id in allowed if vocabulary.bytes[token_id].strip()] or allowed
            token_id = rng.choice(visible)
            if vocabulary.bytes[token_id] == b"<think>":
                continue
            assert constraint.consume([token_id])
            ids.append(token_id)
            if rng.random() < 0.05:
                number = rng.randint(1, min(8, len(ids)))
                constraint.rewind(number)
                del ids[len(ids) - number :]
                fresh = start.copy()
                assert fresh.consume(ids)
                again, expected = constraint.mask(), fresh.mask()
                assert again is not None
                assert expected is not None
                assert (again == expected).all()
        if not constraint.may_end:
            continue
        parts = parts_of(vocabulary.text_of(ids), form, THINK, TOOLS)
        assert not any(isinstance(part, CallBroken) for part in parts)
        calls = calls_in(parts)
        assert len(calls) == 1
        assert all(fits(arguments, TOOLS[tool]) for tool, arguments in calls), calls
        num_whole += 1
    assert num_whole


def test_calls_in_channels_are_allowed():
    call = '<|channel|>commentary to=functions.forecast{type}<|message|>{{"unit":"c","days":1,"when":{{"hour":2}}}}'
    for text, is_required in (
        (call.format(type=" <|constrain|>json"), True),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant" + call.format(type=" json"), True),
        ("<|channel|>analysis<|message|>Hm, to=functions.x<|end|><|start|>assistant" + call.format(type=""), False),
    ):
        constraint, vocabulary = constraint_of("harmony", TOOLS, is_required=is_required)
        ids = tokenizer_of("harmony").encode(text, add_special_tokens=False).ids
        number = takes(constraint, ids)
        assert number == len(ids), vocabulary.text_of(ids[:number])
        assert constraint.may_end
        assert takes(constraint, tokenizer_of("harmony").encode("x", add_special_tokens=False).ids) == 0


def test_without_a_marker_all_text_is_allowed_and_markers_in_reasoning_do_not_count():
    constraint, vocabulary = constraint_of("json_tools", TOOLS, is_required=False, opens_reasoning=True)
    marker = vocabulary.control_texts["<tool_call>"]
    assert constraint.mask() is None
    assert constraint.consume([marker])
    assert constraint.mask() is None
    assert constraint.consume([vocabulary.control_texts["</think>"], marker])
    assert constraint.mask() is not None
    constraint.rewind(1)
    assert constraint.mask() is None


def test_after_the_only_call_the_answer_ends():
    constraint, _ = constraint_of("json_tools", TOOLS, is_required=False, is_several=False)
    text = FAMILIES["json_tools"]([("now", {})])
    assert constraint.consume(tokenizer_of("json_tools").encode(text, add_special_tokens=False).ids)
    assert constraint.is_complete


def test_a_call_may_be_forbidden():
    tokenizer = tokenizer_of("json_tools")
    constraint, vocabulary = constraint_of("json_tools", {}, is_required=False)
    mask = constraint.mask()
    assert mask is not None
    assert not mask[vocabulary.control_texts["<tool_call>"]]
    plain = tokenizer_of("json_tools", has_controls=False)
    constraint, _ = constraint_of("json_tools", {}, is_required=False, has_controls=False)
    ids = plain.encode("Well <tool_call>", add_special_tokens=False).ids
    assert takes(constraint, ids) < len(ids)
    assert takes(constraint, tokenizer.encode("no", add_special_tokens=False).ids) > 0


# --- through the worker --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def worker() -> Iterator[StdioWorker]:
    with StdioWorker() as worker:
        yield worker


@pytest.mark.parametrize("name", every_third(TEMPLATES, 2))
def test_a_call_is_streamed_and_its_ids_stay_in_the_next_prompt(worker: StdioWorker, tmp_path: Path, name: str):
    form = form_named(name)
    assert form is not None
    tokenizer = tokenizer_of(name)
    # After the line break that ends the prompt, the model writes the marker.
    marker = tokenizer.encode(form.begin, add_special_tokens=False).ids
    line = tokenizer.encode("\n", add_special_tokens=False).ids
    follows = dict(zip([*line, *marker], marker, strict=False))
    model = write_scripted_model(tmp_path / name, tokenizer, follows, chat_template=TEMPLATES[name])
    loaded = worker.result("load_model", model=str(model), cache={"disk_limit_bytes": 0})
    assert (loaded["type"], loaded["tool_form"]) == ("model_loaded", name)
    tools = [{"name": tool, "description": "Says <|im_end|>.", "parameters": schema} for tool, schema in TOOLS.items()]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for choice in ("auto", "required", {"name": "forecast"}):
        question = {"messages": messages, "tools": tools, "tool_choice": choice, "parallel_tool_calls": False}
        events = worker.ask("generate", **question, max_tokens=500)
        finished: Event = events[-1]
        assert finished["type"] == "finished", finished
        written = finished["choices"][0]
        assert "".join(event["text"] for event in events if event["type"] == "chunk") == written["text"]
        parts = parts_of(written["text"], form, THINK, TOOLS)
        calls = calls_in(parts)
        assert [tool for tool, _ in calls] == ["forecast"]
        assert all(fits(arguments, TOOLS[tool]) for tool, arguments in calls), calls
        turn = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call00001", "name": tool, "arguments": arguments} for tool, arguments in calls],
            "written": written["text"],
            "token_ids": written["turn_token_ids"],
        }
        result = {"role": "tool", "content": "Sunny <|im_end|>.", "tool_call_id": "call00001"}
        before = worker.result("tokenize", messages=messages, tools=tools)["token_ids"]
        after = worker.result("tokenize", messages=[*messages, turn, result], tools=tools)["token_ids"]
        read = before + written["turn_token_ids"]
        assert after[: len(read)] == read
        again = worker.result("generate", messages=[*messages, turn, result], tools=tools, max_tokens=1)
        # The model has not read the last tokens that the grammar forced.
        assert again["usage"]["cached_tokens"] >= len(read) - 64
        # The user's text and the result hold no control token.
        assert worker.result("tokenize", messages=[*messages, turn], tools=tools)["text"].count("Sunny") == 0


def test_an_answer_without_a_call_follows_its_format(worker: StdioWorker, random_llama: Path):
    worker.result("load_model", model=str(random_llama), cache={"disk_limit_bytes": 0})
    question = {
        "messages": [{"role": "user", "content": "Go."}],
        "tools": [{"name": "now", "parameters": NOW}],
        "constraint": {"kind": "choice", "value": ["yes", "no"]},
        "max_tokens": 300,
    }
    call = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    for choice, expected in (("auto", {"yes", "no", call}), ("none", {"yes", "no"}), ("required", {call})):
        for seed in range(4):
            sampling = {"temperature": 1, "seed": seed}
            one = worker.result(
                "generate", **question, tool_choice=choice, parallel_tool_calls=False, sampling=sampling
            )
            text = "".join(one["choices"][0]["text"].split())
            assert text in {"".join(each.split()) for each in expected}


def test_a_template_without_tools_describes_them_and_says_so(worker: StdioWorker, random_llama: Path):
    loaded = worker.result("load_model", model=str(random_llama), cache={"disk_limit_bytes": 0})
    assert loaded["tool_form"] == "plain"
    tools = [{"name": "forecast", "parameters": FORECAST}]
    question = {"messages": [{"role": "user", "content": "Go."}], "tools": tools, "tool_choice": "required"}
    finished = worker.result("generate", **question, parallel_tool_calls=False, max_tokens=600, sampling={"seed": 1})
    assert "no place for tools" in finished["notices"][0]["message"]
    plain = form_named("plain")
    calls = calls_in(parts_of(finished["choices"][0]["text"], plain, None, TOOLS))
    assert all(fits(arguments, FORECAST) for _, arguments in calls)
    assert '"name": "forecast"' in worker.result("tokenize", messages=question["messages"], tools=tools)["text"]


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"name": "a"}, {"name": "a"}]},
        {"tools": [{"name": "a b"}]},
        {"tool_choice": "required"},
        {"tools": [{"name": "a"}], "tool_choice": {"name": "b"}},
        {"messages": [{"role": "user", "content": "", "tool_calls": [{"name": "a"}]}]},
        {"messages": [{"role": "assistant", "content": "", "written": "a"}]},
    ],
)
def test_fields_that_do_not_go_together_are_refused(worker: StdioWorker, fields: dict[str, Any]):
    failed = worker.result("generate", **{"messages": [{"role": "user", "content": "Hi"}], **fields})
    assert (failed["type"], failed["kind"]) == ("failed", "bad_request")
