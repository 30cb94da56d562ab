"""Greedy answers to fifty questions are mlx-lm's, token for token."""

from __future__ import annotations

from typing import Any, cast

import mlx.core as mx
import pytest
from mlx_lm.generate import stream_generate

from tests.driver import Event, StdioWorker
from tests.real.conftest import LONGEST_S, NUM_TOKENS, Reference, ask_all, asked
from tests.real.questions import QUESTIONS

_AT_A_TIME = 10
"""Questions in one of the long tests, so that a run that is cut short has proven some of them."""
_TIE = 1e-4
"""Logits this close are equal within rounding, so either token may be the best one."""


def _ids(end: Event) -> list[int]:
    """Return the ids of a finished answer, with its end if it has one."""
    return end["choices"][0]["token_ids"]


def _first_difference(end: Event, expected: list[int], logits: mx.array, eos_ids: set[int]) -> tuple[int, float] | None:
    """Return where an answer leaves `expected`, and how far the two logits there are apart."""
    written: list[int | None] = list(_ids(end))
    if end["choices"][0]["reason"] == "eos":
        written.append(None)
    for position, (one, other) in enumerate(zip(written, expected, strict=False)):
        if one == other or (one is None and other in eos_ids):
            continue
        ours = max(eos_ids) if one is None else one
        return position, abs(cast("float", (logits[position, ours] - logits[position, other]).item()))
    return None


def _assert_equal_but_for_ties(differences: dict[str, tuple[int, float]]) -> None:
    for question, (position, apart) in differences.items():
        print(f"{question}: another token at position {position}, where the best logits are {apart:.1e} apart")
    assert {question: found for question, found in differences.items() if found[1] > _TIE} == {}


def test_the_prompts_are_the_same_tokens(worker: StdioWorker, reference: Reference):
    for question in QUESTIONS:
        tokenized = worker.result("tokenize", messages=asked(question))
        assert tokenized["token_ids"] == reference.prompt_ids(question)


def test_each_token_is_the_best_one_after_those_before_it(reference: Reference, greedy: list[Event]):
    """All answers were written at once; mlx-lm reads each afresh and finds the same best token after each position."""
    differences: dict[str, tuple[int, float]] = {}
    num_tokens = 0
    for question, end in zip(QUESTIONS, greedy, strict=True):
        prompt, written = reference.prompt_ids(question), _ids(end)
        assert end["usage"]["prompt_tokens"] == len(prompt)
        assert end["choices"][0]["reason"] == "eos" or len(written) == NUM_TOKENS
        logits = reference.logits(prompt + written, len(prompt) - 1)
        best = cast("list[int]", mx.argmax(logits, axis=-1).tolist())
        found = _first_difference(end, best, logits, reference.eos_ids)
        if found is not None:
            differences[question] = found
        num_tokens += len(written)
    assert num_tokens > 800
    _assert_equal_but_for_ties(differences)


@pytest.mark.parametrize(
    ("questions", "length"),
    [
        (QUESTIONS[::12], NUM_TOKENS),
        *(
            pytest.param(QUESTIONS[first:][:_AT_A_TIME], 100, marks=[pytest.mark.long, pytest.mark.timeout(LONGEST_S)])
            for first in range(0, len(QUESTIONS), _AT_A_TIME)
        ),
    ],
    ids=["some", *(f"all from {first + 1}" for first in range(0, len(QUESTIONS), _AT_A_TIME))],
)
def test_an_answer_alone_equals_mlx_lms_stream(
    worker: StdioWorker, reference: Reference, questions: list[str], length: int
):
    differences: dict[str, tuple[int, float]] = {}
    for question in questions:
        (end,) = ask_all(worker, [{"messages": asked(question), "max_tokens": length, "draft": "off"}])
        prompt = reference.prompt_ids(question)
        stream: Any = stream_generate(reference.model, reference.tokenizer, prompt, max_tokens=length)
        expected = [response.token for response in stream]
        if _ids(end) != [token for token in expected if token not in reference.eos_ids]:
            logits = reference.logits(prompt + expected, len(prompt) - 1)
            found = _first_difference(end, expected, logits, reference.eos_ids)
            assert found is not None
            differences[question] = found
    _assert_equal_but_for_ties(differences)
