"""Segments: several parts of one turn, each with its own end and constraint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.architectures import small_lfm2, write_random_model
from tests.driver import Event, StdioWorker, shown_text
from worker.answers.writing import SegmentPlan, Writing
from worker.decoding.sampled_token import SampledToken
from worker.text.vocabulary import Vocabulary

PROMPT: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello there, how are the branches today?"}]}
LEAF = {
    "kind": "json_schema",
    "value": {
        "type": "object",
        "properties": {"leaf": {"type": "integer", "minimum": 0, "maximum": 9}},
        "required": ["leaf"],
        "additionalProperties": False,
    },
}


@pytest.fixture(scope="module", params=["llama", "lfm2"])
def worker(
    request: pytest.FixtureRequest, random_llama: Path, tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer
) -> Iterator[StdioWorker]:
    folder = random_llama
    if request.param == "lfm2":
        folder = write_random_model(tmp_path_factory.mktemp("models") / "lfm2", byte_level, small_lfm2())
    with StdioWorker() as worker:
        worker.load(folder, disk_limit_bytes=0)
        yield worker


def ask(worker: StdioWorker, segments: list[dict[str, Any]], **fields: Any) -> list[Event]:
    sampling = {"temperature": 1, "seed": 3}
    events = worker.ask("generate", **{**PROMPT, "segments": segments, "sampling": sampling, **fields})
    assert events[-1]["type"] == "finished", events[-1]
    return events


def checked(events: list[Event]) -> list[dict[str, Any]]:
    """Return the answers, after checking that their segments add up to the whole."""
    answers = events[-1]["choices"]
    for choice, answer in enumerate(answers):
        assert shown_text(events, choice) == answer["text"]
        assert "".join(part["text"] for part in answer["segments"]) == answer["text"]
        assert [token_id for part in answer["segments"] for token_id in part["token_ids"]] == answer["token_ids"]
        assert answer["reason"] == answer["segments"][-1]["reason"]
    return answers


@pytest.mark.parametrize("n", [1, 3])
def test_text_then_a_choice_then_json(worker: StdioWorker, n: int):
    segments = [
        {"max_tokens": 6},
        {"constraint": {"kind": "choice", "value": [" yes: ", " no: "]}},
        {"constraint": LEAF, "max_tokens": 600},
    ]
    for answer in checked(ask(worker, segments, n=n)):
        text, choice, leaf = answer["segments"]
        assert text["reason"] in {"length", "eos"}
        assert (choice["text"] in {" yes: ", " no: "}, choice["reason"]) == (True, "constraint")
        assert leaf["reason"] == "constraint"
        assert isinstance(json.loads(leaf["text"]), dict)


def test_a_stop_string_ends_its_segment_and_the_next_continues_from_the_cut(worker: StdioWorker):
    free = ask(worker, [{"max_tokens": 30}])[-1]["choices"][0]["text"]
    stop = free[5:8]
    (answer,) = checked(ask(worker, [{"stop": [stop]}, {"constraint": {"kind": "choice", "value": ["!END"]}}]))
    assert answer["text"] == free[: free.index(stop)] + "!END"
    assert (answer["segments"][0]["reason"], answer["segments"][0]["stop"]) == ("stop", stop)
    # The ids of the whole turn spell the same text.
    assert worker.result("tokenize", token_ids=answer["turn_token_ids"])["token_ids"] == answer["turn_token_ids"]


def test_the_prompt_is_read_once_for_all_segments(worker: StdioWorker):
    segments = [{"max_tokens": 3}, {"max_tokens": 4}, {"max_tokens": 5}]
    other = {"messages": [{"role": "user", "content": "Something else, then?"}]}
    usage = ask(worker, segments, **other)[-1]["usage"]
    assert usage["prefilled_tokens"] == usage["prompt_tokens"] - usage["cached_tokens"]
    assert usage["generated_tokens"] <= 12
    again = ask(worker, segments, **other)[-1]["usage"]
    assert again["prefilled_tokens"] == 1


def test_all_segments_together_obey_the_total_limit(worker: StdioWorker):
    (answer,) = checked(ask(worker, [{"max_tokens": 4}, {"max_tokens": 4}, {"max_tokens": 4}], max_tokens=6))
    assert len(answer["segments"]) == 2
    assert answer["reason"] == "length"


@pytest.mark.parametrize("room", [1, 2, 3, 6])
def test_tokens_added_by_a_cut_count_towards_the_context(byte_level: Tokenizer, room: int):
    vocabulary = Vocabulary(byte_level)
    # A token whose first two letters are two tokens.
    plain = set(range(len(vocabulary))) - vocabulary.control_ids
    words = [vocabulary.text_of([token_id]) for token_id in plain]
    word = next(word for word in words if len(word) > 2 and len(vocabulary.encode(word[:2])) == 2)
    plans = [SegmentPlan([word[2:]], None), SegmentPlan([], None)]
    writing = Writing(vocabulary, plans, [], None, max_tokens=100, room=room)
    (word_id,), (letter_id,) = vocabulary.encode(word), vocabulary.encode("x")
    writing.take(SampledToken(word_id))
    assert (writing.answer.reason, writing.is_over) == ("stop", room <= 2)
    if not writing.is_over:
        writing.begin_next_segment()
    while not writing.is_over:
        writing.take(SampledToken(letter_id))
    assert len(writing.choice(0).turn_token_ids) == max(room, 2)


@pytest.mark.parametrize("num_back", range(4))
def test_a_backtrack_counts_the_kept_tokens_of_a_segment(byte_level: Tokenizer, num_back: int):
    vocabulary = Vocabulary(byte_level)
    plain = set(range(len(vocabulary))) - vocabulary.control_ids
    words = [vocabulary.text_of([token_id]) for token_id in plain]
    word = next(word for word in words if len(word) > 2 and len(vocabulary.encode(word[:2])) == 2)
    (word_id,), (letter_id,) = vocabulary.encode(word), vocabulary.encode("x")
    writing = Writing(vocabulary, [SegmentPlan([word[2:]], None), SegmentPlan([], None)], [], None, max_tokens=100)
    shown, _ = writing.take(SampledToken(word_id))
    writing.begin_next_segment()
    shown += writing.take(SampledToken(letter_id))[0]
    tokens = [*vocabulary.encode(word[:2]), letter_id]
    assert (writing.new_ids, writing.raw_text(), shown) == (tokens, word[:2] + "x", word[:2] + "x")
    back = writing.rewind(num_back)
    left = tokens[: 3 - num_back]
    assert (writing.new_ids, writing.raw_text()) == (left, vocabulary.text_of(left))
    assert shown[: len(shown) - back.num_chars] + back.text == writing.raw_text()
    shown = writing.raw_text() + writing.take(SampledToken(letter_id))[0]
    assert writing.end("cancelled") == ""
    assert (writing.choice(0).text, writing.choice(0).turn_token_ids) == (shown, [*left, letter_id])


def test_a_cancel_ends_all_segments(worker: StdioWorker):
    segments: list[dict[str, Any]] = [{"max_tokens": 2}, {"constraint": {"kind": "regex", "value": "[ab]{3000}"}}]
    request_id = worker.send("generate", **PROMPT, segments=[*segments, {"max_tokens": 5}])
    while (event := worker.next_event())["request_id"] != request_id or event["type"] != "chunk":
        pass
    worker.result("cancel", target=request_id)
    answer = worker.events_until_end(request_id)[-1]["choices"][0]
    assert answer["reason"] == "cancelled"
    assert len(answer["segments"]) <= 2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"segments": []}, "segments"),
        ({"segments": [{}], "stop": ["a"]}, "belong into each"),
        ({"segments": [{}], "constraint": {"kind": "choice", "value": ["a"]}}, "belong into each"),
        ({"segments": [{"max_tokens": 0}]}, "max_tokens"),
    ],
)
def test_invalid_segments_are_bad_requests(worker: StdioWorker, fields: dict[str, Any], words: str):
    failed = worker.result("generate", **PROMPT, **fields)
    assert (failed["type"], failed["kind"]) == ("failed", "bad_request")
    assert words in failed["message"]


def test_an_invalid_constraint_is_reported_before_anything_is_written(worker: StdioWorker):
    events = worker.ask(
        "generate", **PROMPT, segments=[{"max_tokens": 2}, {"constraint": {"kind": "regex", "value": "("}}]
    )
    assert [event["type"] for event in events] == ["failed"]
    assert events[0]["kind"] == "constraint_invalid"
