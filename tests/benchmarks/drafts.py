"""The tree as a draft: answers to questions in which one word was changed, with and without siblings as drafts.

The guide model answers each pair of questions with only the first answer in the cache. Where the answers have the same
text, guesses are right and eight positions are read at once; where they differ, guesses cost time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Literal

from tests.benchmarks.measure import Row, compared
from worker.cache.prompt_cache import PromptCache
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.protocol import Chunk, Finished, Generate, Message
from worker.requests.engine import Engine
from worker.requests.request import Ticket

_ROUNDS = 4
_MANY_BYTES = 1 << 30
_SAME = (
    ("How do I delete a conversation?", "How do I delete a chat?"),
    ("What are stop strings?", "What are the stop strings?"),
    ("How do I load another model?", "How do I open another model?"),
    ("Is anything sent to a cloud?", "Is something sent to a cloud?"),
    ("What does kept mean?", "What does kept say?"),
)
_OTHER = (
    ("How do I fork a message, please?", "How do I fork a message, friend?"),
    ("How can I regenerate an answer?", "How could I regenerate an answer?"),
    ("What is a branch in Bough?", "What is a branch in here?"),
    ("Where are my conversations stored?", "Where are my conversations kept?"),
    ("How do I stop an answer?", "How do I stop the answer?"),
)


def rows() -> Iterator[Row]:
    *_, model = UnreadModel(find_model("guide")).read()
    assert isinstance(model, LanguageModel)
    yield _row(model, _SAME, "same answer after a one-word edit: tokens/s, the tree as draft", ">= 1.5")
    yield _row(model, _OTHER, "another answer after a one-word edit", None)


def _row(model: LanguageModel, pairs: Sequence[tuple[str, str]], name: str, goal: str | None) -> Row:
    drafted: list[float] = []
    plain: list[float] = []
    for number in range(_ROUNDS):
        for first, edited in pairs:
            sides: list[tuple[Literal["tree", "off"], list[float]]] = [("tree", drafted), ("off", plain)]
            for draft, figures in sides if number % 2 else reversed(sides):
                engine = Engine(model, PromptCache(model.new_layers, _MANY_BYTES))
                _tokens_per_s(engine, first, "off")
                figures.append(_tokens_per_s(engine, edited, draft))
    return compared("drafts", name, drafted, "without a draft", plain, goal)


def _tokens_per_s(engine: Engine, question: str, draft: Literal["tree", "off"]) -> float:
    message = Message(role="user", content=question)
    engine.add(Generate(request_id=1, messages=[message], draft=draft, max_tokens=200), Ticket(1))
    first = 0.0
    while engine.is_busy:
        for event in engine.step():
            if isinstance(event, Chunk) and not first:
                first = time.perf_counter()
            if isinstance(event, Finished):
                return (event.usage.generated_tokens - 1) / (time.perf_counter() - first)
    raise AssertionError("no answer")
