"""Greedy answers of the guide model, cut at any character and continued: how often the text stays the same.

In the last full run 1,590 of 1,597 cuts gave the same text (99.6 %). In the other seven, the model had tokenized the
text differently further back than any token reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tests.driver import StdioWorker
from worker.text.healing import num_taken_back
from worker.text.vocabulary import Vocabulary

GUIDE = Path(__file__).parents[3] / "resources" / "guide"
QUESTIONS = (
    "What is a branch?",
    "How do I fork a message?",
    "How do I export a conversation?",
    "What is temperature?",
    "hello",
    "which keys are there",
    "How do I open another model?",
    "Does Bough send anything to the internet?",
    "Where are my conversations stored?",
    "write a poem about the sea",
    "how can i stop an answer",
    "What does the KV cache do?",
)


@dataclass(frozen=True)
class Rate:
    """`num_same` of `num_cuts` continuations give the same text; `num_apart` others begin with tokens of their own."""

    num_cuts: int
    num_same: int
    num_apart: int
    unexplained: list[str]
    """Given texts that the model read with its own tokens, and continued differently."""


def measure(worker: StdioWorker, questions: Sequence[str], every: int) -> Rate:
    vocabulary = Vocabulary(Tokenizer.from_file(str(GUIDE / "tokenizer.json")))
    num_cuts = num_same = num_apart = 0
    unexplained: list[str] = []
    for question in questions:
        messages = [{"role": "user", "content": question}]
        (choice,) = worker.result("generate", messages=messages, max_tokens=120)["choices"]
        text, own_ids = choice["text"], choice["token_ids"]
        for cut in range(1, len(text), every):
            given = text[:cut]
            # Tokens that spell given text again count, too, so allow enough of them to reach the original end.
            (again,) = worker.result("generate", messages=messages, continuation={"text": given}, max_tokens=160)[
                "choices"
            ]
            same = (given + again["text"])[: len(text)] == text
            given_ids = vocabulary.encode(given)
            kept_ids = given_ids[: len(given_ids) - num_taken_back(vocabulary, given_ids)]
            num_cuts += 1
            num_same += same
            if not same and kept_ids == own_ids[: len(kept_ids)]:
                unexplained.append(given)
            elif not same:
                num_apart += 1
    return Rate(num_cuts, num_same, num_apart, unexplained)


def test_an_answer_cut_anywhere_continues_the_same_if_the_tokens_are_the_models_own(
    shared_worker: StdioWorker,
) -> None:
    shared_worker.load(GUIDE)
    rate = measure(shared_worker, QUESTIONS[:3], every=23)
    assert rate.unexplained == []
    assert rate.num_same > 0.9 * rate.num_cuts


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_rate_over_every_character(shared_worker: StdioWorker, capsys: pytest.CaptureFixture[str]) -> None:
    shared_worker.load(GUIDE)
    rate = measure(shared_worker, QUESTIONS, every=1)
    with capsys.disabled():
        print(
            f"\nHealing: {rate.num_same} of {rate.num_cuts} cuts go on the same ({rate.num_same / rate.num_cuts:.2%}); "
            f"{rate.num_apart} others begin with tokens that the model would not have chosen."
        )
    assert rate.unexplained == []
