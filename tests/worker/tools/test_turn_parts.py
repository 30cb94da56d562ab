"""A turn's parts in every form: cut at each character, with text around, broken, and inside reasoning. About 3 s."""

from __future__ import annotations

import importlib
import itertools
import json
from collections.abc import Iterable, Sequence
from random import Random

import pytest

from tests.long import every_third, in_long_runs
from tests.worker.tools.spelled import CALLS, FAMILIES, SCHEMAS, Call
from worker.tools.forms import FORMS, Form, form_named
from worker.tools.turn_parts import (
    CallArguments,
    CallBroken,
    CallEnded,
    CallStarted,
    Content,
    LeftOut,
    Part,
    Reasoning,
    TurnReader,
    joined,
    parts_of,
)
from worker.values import ReasoningMarks

THINK = ReasoningMarks("<think>", "</think>")


def form(name: str) -> Form:
    found = form_named(name)
    assert found is not None
    return found


def reader(name: str, *, starts_in_reasoning: bool = False) -> TurnReader:
    return TurnReader(form(name), THINK, SCHEMAS, starts_in_reasoning=starts_in_reasoning, make_id=lambda: "id")


def read(name: str, pieces: Iterable[str], *, starts_in_reasoning: bool = False) -> list[Part]:
    turn = reader(name, starts_in_reasoning=starts_in_reasoning)
    return joined([part for piece in pieces for part in turn.feed(piece)] + turn.end())


def text_of(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Content))


def calls_of(parts: Sequence[Part]) -> list[Call]:
    """Return the whole calls of a turn."""
    names = {part.index: part.name for part in parts if isinstance(part, CallStarted)}
    arguments = dict.fromkeys(names, "")
    for part in parts:
        if isinstance(part, CallArguments):
            arguments[part.index] += part.json_text
    ended = [part.index for part in parts if isinstance(part, CallEnded)]
    return [(names[index], json.loads(arguments[index])) for index in ended]


def test_every_form_is_tried():
    assert sorted([*FAMILIES, "harmony"]) == sorted(each.name for each in FORMS)


@pytest.mark.parametrize("every", [3, *in_long_runs([1])], ids="every cut of {}".format)
@pytest.mark.parametrize("name", FAMILIES)
def test_calls_are_the_same_however_the_turn_is_cut(name: str, every: int):
    text = FAMILIES[name](CALLS[:2])
    turn = text if form(name).is_bare else f"Let me see.\n\n{text}\n\nDone."
    whole = read(name, [turn])
    assert calls_of(whole) == CALLS[:2]
    assert text_of(whole) == ("" if turn == text else "Let me see.Done.")
    assert not any(isinstance(part, CallBroken) for part in whole)
    assert read(name, turn) == whole
    for cut in range(0, len(turn), every):
        assert read(name, [turn[:cut], turn[cut:]]) == whole, turn[:cut]


@pytest.mark.parametrize("name", FAMILIES)
def test_arguments_stream_while_they_are_written(name: str):
    """The model has just written a long text argument; all of it but what may be a marker has left."""
    turn = reader(name)
    text = FAMILIES[name]([("write_file", {"path": "§" * 500})])
    parts = [part for character in text[: text.index("§") + 400] for part in turn.feed(character)]
    sent = "".join(part.json_text for part in parts if isinstance(part, CallArguments))
    assert sent.count("§") == 400


@pytest.mark.parametrize("name", FAMILIES)
def test_text_without_a_call_streams_at_once(name: str):
    turn = reader(name)
    for piece in ("Hello", ", <b>you</b>", " and [you]."):
        assert turn.feed(piece) == [Content(piece)]


@pytest.mark.parametrize("name", every_third(FAMILIES, 1))
def test_a_call_that_ends_early_is_never_lost(name: str):
    """Whatever the model wrote is in the parts: as text before the call's name has left, as a broken call after."""
    text = FAMILIES[name](CALLS[:1])
    for cut in range(1, len(text)):
        parts = read(name, ["Well. ", text[:cut]] if not form(name).is_bare else [text[:cut]])
        started = [part for part in parts if isinstance(part, CallStarted)]
        broken = [part for part in parts if isinstance(part, CallBroken)]
        if not started:
            assert text_of(parts).endswith(text[:cut])
        elif not calls_of(parts):
            assert len(broken) == 1
            assert broken[0].text
            assert text[:cut].endswith(broken[0].text)


@pytest.mark.parametrize("name", FAMILIES)
def test_calls_inside_reasoning_do_not_count(name: str):
    text = FAMILIES[name](CALLS)
    turn = f"<think>\nI could write {text}, but no.\n</think>\n\nNo."
    parts = read(name, turn)
    assert parts == [Reasoning(f"I could write {text}, but no."), Content("No.")]
    after = turn.removeprefix("<think>\n")
    assert read(name, after, starts_in_reasoning=True) == parts
    thought = read(name, f"<think>Hm</think>{text}")
    assert thought[0] == Reasoning("Hm")
    assert calls_of(thought) == CALLS


@pytest.mark.parametrize("name", every_third(FAMILIES))
@pytest.mark.parametrize("seed", [0, *in_long_runs([1])])
def test_garbled_calls_are_the_same_however_they_are_cut(name: str, seed: int):
    rng = Random(f"{name}{seed}")
    text = FAMILIES[name](CALLS)
    for _ in range(30):
        characters = list(text)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(characters))
            characters[at : at + rng.randint(0, 2)] = rng.choice(["", "<", '"', "}", "\n", "x", text[:12], "</think>"])
        garbled = "".join(characters)
        whole = read(name, [garbled])
        assert read(name, garbled) == whole, garbled
        for _, arguments in calls_of(whole):
            assert isinstance(arguments, dict)


def _arguments(parts: Sequence[Part]) -> dict[int, str]:
    return {part.index: part.json_text for part in parts if isinstance(part, CallArguments)}


def _cut(turn: TurnReader, pieces: Sequence[str]) -> list[Part]:
    return joined([part for piece in pieces for part in turn.feed(piece)] + turn.end(is_cut=True))


@pytest.mark.parametrize("name", [*every_third(FAMILIES), "harmony"])
def test_a_limit_of_tokens_shows_no_part_of_a_marker(name: str):
    """The turn is cut at each character: the text before the calls is whole, and the rest is no text."""
    said = "" if form(name).is_bare else "Let me see."
    turn = HARMONY if name == "harmony" else "\n\n".join(filter(None, [said, FAMILIES[name](CALLS[1:])]))
    calls = [CALLS[0], CALLS[1]] if name == "harmony" else CALLS[1:]
    arguments = _arguments(_cut(reader(name), [turn]))
    rng = Random(name)
    for cut in range(len(turn) + 1):
        text, at = turn[:cut], sorted(rng.choices(range(cut + 1), k=3))
        whole = _cut(reader(name), [text])
        pieces = [text[start:end] for start, end in itertools.pairwise([0, *at, cut])]
        assert _cut(reader(name), pieces) == whole, text
        shown = text_of(whole).rstrip()
        if name == "harmony":
            assert "Let me see.Done <b>.".startswith(shown), text
        else:
            assert shown == said[:cut].rstrip(), text
        found = calls_of(whole)
        assert found == calls[: len(found)]
        for index, written in _arguments(whole).items():
            assert arguments[index].startswith(written), text
        # The model's text is in the parts, also where nothing of it is shown.
        last = whole[-1] if whole else None
        if isinstance(last, LeftOut | CallBroken):
            assert text.endswith(last.text)
        assert [part for part in whole[:-1] if isinstance(part, LeftOut | CallBroken)] == []
    assert not any(isinstance(part, LeftOut | CallBroken) for part in _cut(reader(name), [turn]))
    assert calls_of(_cut(reader(name), [turn])) == calls


def test_a_cut_text_keeps_all_but_the_beginning_of_a_marker():
    for text in (
        "if a < b",
        "Well.\n",
        "<b>",
        "<tool_call>[]</tool_call>",
        "<tool_call> is a tag.",
        "<tool_call>\n[",
        "",
    ):
        assert text_of(_cut(reader("json_tools"), [text])) == text
    assert _cut(reader("json_tools"), ["if a <"]) == [Content("if a"), LeftOut(" <")]
    assert _cut(reader("json_tools"), ["<think>Hm</th"]) == [Reasoning("Hm"), LeftOut("</th")]
    assert _cut(reader("llama3"), ['{"answer": 1, "na']) == [Content('{"answer": 1, "na')]
    assert _cut(TurnReader(None, None), ["if a <"]) == [Content("if a <")]


def test_a_marker_that_no_call_follows_is_text():
    for text in ("<tool_call> is a tag.", "<tool_call>[]</tool_call>", "a <tool_call", "<tool_call>"):
        assert text_of(read("json_tools", text)) == text


def test_parts_of_a_whole_turn():
    parts = parts_of("<think>a</think>b", form("json_tools"), THINK)
    assert parts == [Reasoning("a"), Content("b")]


# --- gpt-oss -------------------------------------------------------------------------------------------------

# As in llama.cpp's models/templates/openai-gpt-oss-120b.jinja, and in the order in which the model writes itself.
HARMONY = (
    "<|channel|>analysis<|message|>I might write to=functions.stop here.<|end|><|start|>assistant"
    "<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant"
    f"<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>{json.dumps(CALLS[0][1])}<|call|>"
    "<|start|>assistant to=functions.stop<|channel|>commentary json<|message|>{}<|call|>"
    "<|start|>assistant<|channel|>final<|message|>Done <b>."
)


def test_channels_are_parts_however_they_are_cut():
    whole = read("harmony", [HARMONY])
    assert whole[:2] == [Reasoning("I might write to=functions.stop here."), Content("Let me see.")]
    assert calls_of(whole) == [CALLS[0], ("stop", {})]
    assert whole[-1] == Content("Done <b>.")
    assert read("harmony", HARMONY) == whole
    for cut in range(len(HARMONY)):
        assert read("harmony", [HARMONY[:cut], HARMONY[cut:]]) == whole, HARMONY[:cut]


def test_text_without_channels_and_broken_calls_of_channels():
    assert read("harmony", "Just <|text") == [Content("Just <|text")]
    header = "<|channel|>commentary to=functions.stop<|message|>"
    assert read("harmony", header + '{"a": ') == [
        CallStarted(0, "id", "stop"),
        CallArguments(0, '{"a": '),
        CallBroken(0, '{"a": '),
    ]
    broken = read("harmony", header + "oops<|end|><|start|>assistant<|channel|>final<|message|>Sorry")
    assert broken == [CallStarted(0, "id", "stop"), CallBroken(0, "oops"), Content("Sorry")]


# --- judged by mlx-lm ----------------------------------------------------------------------------------------

_JUDGED = (
    *("json_tools", "mistral", "mistral_list", "kimi_k2", "glm47", "longcat", "qwen3_coder", "minimax_m2"),
    *("muse_spark", "minicpm5", "kimi_k3", "gemma4", "function_gemma", "pythonic"),
)


@pytest.mark.parametrize("name", _JUDGED)
def test_mlx_lm_reads_the_same_call(name: str):
    """mlx-lm's parser of the family, which takes whole calls only, is the judge."""
    parser = importlib.import_module(f"mlx_lm.tool_parsers.{name.removesuffix('_list')}")
    call = ("write_file", {"path": "a b/c", "mode": 7, "flag": True, "note": "some text"})
    text = FAMILIES[name]([call])
    inside = text[text.index(parser.tool_call_start) + len(parser.tool_call_start) :]
    inside = inside[: inside.rindex(parser.tool_call_end)] if parser.tool_call_end else inside
    tools = [{"type": "function", "function": {"name": tool, "parameters": SCHEMAS[tool]}} for tool in SCHEMAS]
    judged = parser.parse_tool_call(inside, tools)
    judged = judged[0] if isinstance(judged, list) else judged
    assert calls_of(read(name, [text])) == [(judged["name"], judged["arguments"])] == [call]
