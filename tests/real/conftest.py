"""Fixtures for the proofs on real weights: the starter, the same weights in float32, a worker, and mlx-lm beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model, load_tokenizer

from tests.driver import Event, StdioWorker
from tests.real.questions import QUESTIONS
from tests.real.weights import WITHOUT, starter_folder, unpacked_folder
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model

NUM_TOKENS = 20
"""The length of the greedy answers that several tests share."""
LONGEST_S = 4 * 3600
"""The limit of the longest proofs. Alone they take three to ten minutes, beside many programs hours."""
_AT_ONCE = 128
"""Requests; the worker lets 256 wait."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder."""
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def starter() -> Path:
    """The folder of the starter, with packed weights."""
    folder = starter_folder()
    if folder is None:
        pytest.skip(WITHOUT)
    return folder


@pytest.fixture(scope="session")
def unpacked(starter: Path) -> Path:
    """A folder with the starter's weights in float32."""
    return unpacked_folder(starter)


@pytest.fixture(scope="session")
def worker(unpacked: Path) -> Iterator[StdioWorker]:
    """A worker with the weights in float32, for all tests. They must leave nothing running."""
    with StdioWorker() as worker:
        worker.load(unpacked, disk_limit_bytes=0)
        yield worker


class Reference:
    """mlx-lm with the same weights: the judge."""

    def __init__(self, folder: Path) -> None:
        # As in the worker: on a CPU, compiled functions call the C++ compiler, and round differently.
        mx.disable_compile()
        self.model: nn.Module = load_model(folder)[0]
        self.tokenizer: Any = load_tokenizer(folder)

    def prompt_ids(self, question: str) -> list[int]:
        """Return the ids of a conversation with one question."""
        messages = [{"role": "user", "content": question}]
        return self.tokenizer.apply_chat_template(messages, add_generation_prompt=True)

    def logits(self, ids: list[int], first: int = 0) -> mx.array:
        """Read `ids` afresh. Return the logits after each from `first` on, shape [tokens, vocabulary]."""
        layers = make_prompt_cache(self.model)
        read = cast("Any", self.model)
        if first > 1:
            mx.eval(read(mx.array([ids[: first - 1]]), cache=layers)[:, -1:])
        logits = read(mx.array([ids[max(first - 1, 0) :]]), cache=layers)[0]
        return logits[1:] if first > 0 else logits

    @cached_property
    def eos_ids(self) -> set[int]:
        return set(self.tokenizer.eos_token_ids)


@pytest.fixture(scope="session")
def reference(unpacked: Path) -> Reference:
    return Reference(unpacked)


@pytest.fixture(scope="session")
def language_model(unpacked: Path) -> LanguageModel:
    """The worker's own model in this process, for what the protocol does not report."""
    *_, model = UnreadModel(find_model(str(unpacked))).read()
    assert isinstance(model, LanguageModel)
    return model


def asked(question: str) -> list[dict[str, str]]:
    """Return the messages of a conversation with one question."""
    return [{"role": "user", "content": question}]


def ask_all(worker: StdioWorker, requests: list[dict[str, Any]]) -> list[Event]:
    """Send requests at once, as several conversations do, but no more than may wait. Return their ends, in order."""
    return [end for first in range(0, len(requests), _AT_ONCE) for end in _ask(worker, requests[first:][:_AT_ONCE])]


def _ask(worker: StdioWorker, requests: list[dict[str, Any]]) -> list[Event]:
    request_ids = [worker.send("generate", **request) for request in requests]
    pending = set(request_ids)
    ends: dict[str, Event] = {}
    try:
        while pending:
            event = worker.next_event()
            if event["type"] in {"finished", "failed"}:
                assert event["type"] == "finished", event
                ends[event["request_id"]] = event
                pending.discard(event["request_id"])
    finally:
        # After a timeout, the answers that are left would run in one batch with those of the next test, which rounds
        # otherwise than alone.
        for request_id in pending:
            worker.send("cancel", target=request_id)
    return [ends[request_id] for request_id in request_ids]


@pytest.fixture(scope="session")
def greedy(worker: StdioWorker) -> list[Event]:
    """The ends of greedy answers to all questions, written at once."""
    requests = [{"messages": asked(each), "max_tokens": NUM_TOKENS, "draft": "off"} for each in QUESTIONS]
    return ask_all(worker, requests)
