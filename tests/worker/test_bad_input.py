"""Bad input: each command gets a reply that names the problem, and the next request works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.driver import StdioWorker, shown_text
from tests.models import write_random_llama


@pytest.fixture(scope="module")
def loaded(shared_worker: StdioWorker, random_llama: Path) -> StdioWorker:
    shared_worker.load(random_llama)
    return shared_worker


@pytest.fixture
def worker(loaded: StdioWorker) -> StdioWorker:
    """A worker that must still answer after the test."""
    return loaded


@pytest.fixture(autouse=True)
def _still_answers(loaded: StdioWorker) -> Any:
    yield
    events = loaded.ask("generate", messages=[{"role": "user", "content": "Hi"}], max_tokens=4)
    assert events[-1]["type"] == "finished"
    assert shown_text(events) == events[-1]["choices"][0]["text"]


def refused(worker: StdioWorker, line: bytes, request_id: str | None) -> dict[str, Any]:
    num_before = len(worker.events)
    worker.send_line(line)
    event = worker.next_event()
    assert len(worker.events) == num_before + 1
    assert (event["type"], event["request_id"]) == ("failed", request_id), event
    return event


def test_ten_megabytes_of_nonsense_are_refused_once(worker: StdioWorker):
    assert refused(worker, b"x" * 10_000_000, None)["kind"] == "bad_request"
    assert refused(worker, b"[" * 10_000_000, None)["kind"] == "bad_request"
    assert refused(worker, b"\xff" * 10_000_000, None)["kind"] == "bad_request"


def test_ten_megabytes_of_text_overflow_the_context(worker: StdioWorker):
    text = "Hello there, how are you? " * 400_000
    message = {"role": "user", "content": text}
    prompts: list[dict[str, Any]] = [
        {"text": text},
        {"messages": [message]},
        {"text": "Hello", "continuation": {"text": text}},
        {"text": "Hello", "continuation": {"text": "<|im_end|>" * 1_000_000}},
    ]
    for prompt in prompts:
        failed = worker.result("generate", **prompt)
        assert failed["kind"] == "context_overflow"
        assert re.search(r"about \d,\d{3},\d{3} tokens", failed["message"])
        assert "4,096" in failed["message"]


def test_more_messages_than_the_context_has_tokens_are_refused_without_rendering(worker: StdioWorker):
    failed = worker.result("generate", messages=[{"role": "user", "content": "Hi"}] * 100_000)
    assert failed["kind"] == "context_overflow"
    assert "at least 100,000 tokens" in failed["message"]


def test_a_deeply_nested_command_is_refused_with_its_id(worker: StdioWorker):
    deep = "[" * 50_000 + "]" * 50_000
    line = f'{{"type": "generate", "request_id": "deep", "text": "a", "template_options": {{"a": {deep}}}}}'
    assert refused(worker, line.encode(), "deep")["kind"] == "bad_request"


def test_a_prompt_longer_than_the_context_is_refused_with_both_numbers(worker: StdioWorker):
    failed = worker.result("generate", token_ids=[5] * 4096)
    assert failed["kind"] == "context_overflow"
    assert re.findall(r"4,096", failed["message"]) == ["4,096"] * 2
    assert "Shorten" in failed["message"]
    longer = worker.result("generate", token_ids=[5] * 5000, continuation={"token_ids": [6] * 10})
    assert "5,010" in longer["message"]


def test_an_answer_ends_at_the_end_of_the_context(worker: StdioWorker):
    finished = worker.result("generate", token_ids=[5] * 4093, max_tokens=100)
    assert finished["choices"][0]["reason"] in {"length", "eos"}
    assert finished["usage"]["generated_tokens"] <= 3


@pytest.mark.parametrize(
    "fields",
    [{"text": ""}, {"token_ids": []}, {"messages": []}, {"text": "", "continuation": {"text": "Hello"}}],
    ids=str,
)
def test_an_empty_prompt_is_refused(worker: StdioWorker, fields: dict[str, Any]):
    failed = worker.result("generate", **fields)
    assert failed["kind"] == "bad_request"
    assert "empty" in failed["message"]
    if "continuation" not in fields:
        assert worker.result("tokenize", **fields)["kind"] == "bad_request"
        assert worker.result("plan", prompts=[fields])["kind"] == "bad_request"


@pytest.mark.parametrize("content", ["", "\x00", "\x00" * 100, "\u2028\ufeff\ufffe", "\r\n", "\U0010ffff", "e\u0301"])
def test_unusual_characters_are_ordinary_text(worker: StdioWorker, content: str):
    tokenized = worker.result("tokenize", messages=[{"role": "user", "content": content}])
    assert "".join(tokenized["pieces"]).count("<|im_start|>") == 2
    if content.isascii():
        assert f"user\n{content}<|im_end|>" in "".join(tokenized["pieces"])
    finished = worker.result("generate", messages=[{"role": "user", "content": content}], max_tokens=2)
    assert finished["type"] == "finished"


def test_ids_beyond_the_vocabulary_are_refused_with_the_fields_name(worker: StdioWorker):
    for name, fields in (
        ("`token_ids`", {"token_ids": [1, 466]}),
        ("`continuation.token_ids`", {"text": "a", "continuation": {"token_ids": [2**31 - 1]}}),
    ):
        failed = worker.result("generate", **fields)
        assert failed["kind"] == "bad_request"
        assert name in failed["message"]
        assert "ends at 465" in failed["message"]
    assert worker.result("tokenize", token_ids=[466])["kind"] == "bad_request"
    assert worker.result("tokenize", token_ids=[465])["type"] == "tokenized"


def test_message_ids_beyond_the_vocabulary_are_ignored(worker: StdioWorker):
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Ho"},
        {"role": "user", "content": "?"},
    ]
    plain = worker.result("tokenize", messages=turns)["token_ids"]
    turns[1] |= {"token_ids": [466, 99999]}
    assert worker.result("tokenize", messages=turns)["token_ids"] == plain


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": [""]}, "stop"),
        ({"sampling": {"seed": -1}}, "seed"),
        ({"sampling": {"seed": 2**63}}, "seed"),
        ({"sampling": {"seed": 0.5}}, "seed"),
        ({"sampling": {"temperature": "hot"}}, "temperature"),
        ({"sampling": {"logit_bias": {"12": 101}}}, "logit_bias"),
        ({"sampling": {"logit_bias": {"99999999": 1}}}, "sampling.logit_bias"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"messages": [{"role": "user", "content": "a"}]}, "`messages`, `text`"),
        ({"template_options": {}}, "template_options"),
    ],
    ids=str,
)
def test_an_invalid_field_is_refused_with_its_name(worker: StdioWorker, fields: dict[str, Any], named: str):
    failed = worker.result("generate", text="a", **fields)
    assert failed["kind"] == "bad_request"
    assert named in failed["message"]


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**63 - 1])
def test_every_seed_works_and_is_reported(worker: StdioWorker, seed: int):
    asked = {"text": "Hello", "max_tokens": 5, "sampling": {"temperature": 1, "seed": seed}}
    one, two = (worker.result("generate", **asked)["choices"][0] for _ in range(2))
    assert one == two
    assert one["seed"] == seed


def test_a_reported_random_seed_gives_the_same_text_again(worker: StdioWorker):
    asked = {"text": "Hello", "max_tokens": 12}
    first, second = (worker.result("generate", sampling={"temperature": 1}, **asked)["choices"][0] for _ in range(2))
    assert first["seed"] != second["seed"]
    again = worker.result("generate", sampling={"temperature": 1, "seed": first["seed"]}, **asked)["choices"][0]
    assert again == first


def test_extreme_sampling_still_gives_tokens(worker: StdioWorker):
    for sampling in (
        {"temperature": 100, "repetition_penalty": 100, "presence_penalty": -100, "penalty_context": 4096},
        {"temperature": 1e-300},
        {"temperature": 1, "top_k": 10**9},
        {"temperature": 1, "top_p": 1e-12, "min_p": 1, "top_k": 1},
        {"repetition_penalty": 1e-6, "frequency_penalty": 100},
        {"logit_bias": {str(token_id): -100 for token_id in range(200)}},
    ):
        assert worker.result("generate", text="Hello", max_tokens=6, sampling=sampling)["type"] == "finished"


def test_hundreds_of_stop_strings_and_a_very_long_one_do_no_harm(worker: StdioWorker):
    stops = [*(f"stop {number}" for number in range(500)), "x" * 100_000]
    assert worker.result("generate", text="Hello", max_tokens=5, stop=stops)["type"] == "finished"


def test_a_refused_template_option_is_named(worker: StdioWorker):
    messages = [{"role": "user", "content": "Hi"}]
    failed = worker.result("generate", messages=messages, template_options={"tokenize": True})
    assert failed["kind"] == "bad_request"
    assert "`tokenize`" in failed["message"]
    fine = worker.result("generate", messages=messages, template_options={"enable_thinking": False}, max_tokens=1)
    assert fine["type"] == "finished"


def test_standard_output_holds_only_events(random_llama: Path, tmp_path: Path, byte_level: Tokenizer):
    """Everything that prints in the worker's process, from the first import on, prints to standard error."""
    import subprocess
    import sys

    from tests.driver import ROOT

    template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    model = write_random_llama(tmp_path / "model", byte_level)
    (model / "chat_template.jinja").write_text(template)
    program = (
        "import sys, os; sys.path.insert(0, '.')\n"
        "import worker.stdio as stdio\n"
        "preload = stdio.preload\n"
        "def noisy():\n"
        "    print('printed'); os.write(1, b'written\\n'); return preload()\n"
        "stdio.preload = noisy\n"
        "sys.exit(stdio.serve())\n"
    )
    lines = [
        {"type": "load_model", "request_id": 1, "model": str(model)},
        {"type": "generate", "request_id": 2, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3},
        {"type": "nonsense", "request_id": 3},
        {"type": "shutdown", "request_id": 4},
    ]
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        input=b"\n".join(json.dumps(line).encode() for line in lines) + b"\n",
        capture_output=True,
        check=True,
    )
    events = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert all(isinstance(event, dict) and "type" in event for event in events)
    assert events[-1] == {"type": "done", "request_id": 4}
    assert b"printed" in done.stderr
    assert b"written" in done.stderr
