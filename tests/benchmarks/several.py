"""Several answers at once, and switches between branches of a long conversation, measured by a driver of the worker.

The model is a llama of 8 layers of width 512 with random weights in float32; all goes through standard input and
output.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from tests.architectures import write_endless_random_model
from tests.benchmarks.measure import Row, alone, compared
from tests.driver import Event, StdioWorker
from tests.models import llama_config

_AREA = "several at once"
_ROUNDS = 5
_NUM_TOKENS = 96
_VOCAB_SIZE = 200


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, StdioWorker() as worker:
        worker.load(_model(Path(folder) / "model"))
        yield _together(worker)
        yield from _switched(worker)
        yield from _longest_pause(worker)


def _model(folder: Path) -> Path:
    config = llama_config(0, hidden_size=512, layers=8, head_dim=64, heads=8, intermediate_size=1376)
    config |= {"max_position_embeddings": 32_768, "num_key_value_heads": 4}
    return write_endless_random_model(folder, config)[0]


def _ids(rng: Random, length: int) -> list[int]:
    return [rng.randrange(20, _VOCAB_SIZE) for _ in range(length)]


def _together(worker: StdioWorker) -> Row:
    prompt = _ids(Random(1), 200)

    def tokens_per_s(n: int) -> float:
        finished = worker.result(
            "generate", token_ids=prompt, n=n, max_tokens=_NUM_TOKENS, sampling={"temperature": 1, "seed": 5}
        )
        return finished["timing"]["decode_tokens_per_s"]

    ones: list[float] = []
    fours: list[float] = []
    tokens_per_s(4)
    for _ in range(_ROUNDS):
        ones.append(tokens_per_s(1))
        fours.append(tokens_per_s(4))
    return compared(_AREA, "n = 4: tokens/s ÷ those of one answer", fours, "n = 1", ones, ">= 2.2")


def _switched(worker: StdioWorker) -> list[Row]:
    """Regenerate two branches of 8k tokens, which fork in the middle, in turn."""
    rng = Random(2)
    beginning = _ids(rng, 4096)
    branches = [[*beginning, 10 + branch, *_ids(rng, 4096)] for branch in range(2)]
    for branch in branches:
        worker.result("generate", token_ids=branch, max_tokens=2)
    waits: list[float] = []
    steps: list[float] = []
    for number in range(2 * _ROUNDS):
        begin = time.perf_counter()
        request_id = worker.send("generate", token_ids=branches[number % 2], max_tokens=24)
        _until(worker, request_id, lambda event: event["type"] == "chunk")
        waits.append((time.perf_counter() - begin) * 1e3)
        finished = worker.events_until_end(request_id)[-1]
        assert finished["usage"]["prefilled_tokens"] == 1
        steps.append(1e3 / finished["timing"]["decode_tokens_per_s"])
    return [
        compared(_AREA, "switch at 8k tokens: first token, ms", waits, "one decode step", steps, "<= 1.5"),
    ]


def _longest_pause(worker: StdioWorker) -> list[Row]:
    """Measure a stream's longest pause while 4k tokens of another conversation are read."""
    rng = Random(3)
    pauses: list[float] = []
    steps: list[float] = []
    whole: list[float] = []
    for _ in range(3):
        streaming = worker.send("generate", token_ids=_ids(rng, 100), max_tokens=10_000)
        arrivals: list[float] = []

        def arrived(event: Event, of: str = streaming, at: list[float] = arrivals) -> None:
            if event["request_id"] == of and event["type"] == "chunk":
                at.append(time.perf_counter())

        while len(arrivals) < 30:
            arrived(worker.next_event())
        steps.append(statistics.median(_gaps(arrivals)) * 1e3)
        begin = time.perf_counter()
        asked = worker.send("generate", token_ids=_ids(rng, 4096), max_tokens=1)
        while (event := worker.next_event())["type"] != "finished" or event["request_id"] != asked:
            arrived(event)
        whole.append((time.perf_counter() - begin) * 1e3)
        pauses.append(max(_gaps([at for at in arrivals if at >= begin])) * 1e3)
        worker.result("cancel", target=streaming)
        worker.events_until_end(streaming)
    return [
        compared(_AREA, "longest pause while 4k tokens are read, ms", pauses, "one decode step", steps),
        alone(_AREA, "first token after those 4k, ms", whole),
    ]


def _gaps(times: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(times)]


def _until(worker: StdioWorker, request_id: str, is_it: Callable[[dict[str, Any]], bool]) -> None:
    while not ((event := worker.next_event())["request_id"] == request_id and is_it(event)):
        pass
