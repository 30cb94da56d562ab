"""Real workers that restart on one folder: after an orderly end or a kill, they give the same answers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.architectures import small_lfm2, small_llama, write_random_model
from tests.driver import Event, StdioWorker
from tests.long import in_long_runs

CONFIGS: dict[str, Callable[[int], dict[str, Any]]] = {"llama": small_llama, "lfm2": lambda _: small_lfm2()}


@pytest.fixture(scope="module", params=["lfm2", *in_long_runs(["llama"])])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    size = byte_level.get_vocab_size(with_added_tokens=True)
    return write_random_model(
        tmp_path_factory.mktemp("models") / request.param, byte_level, CONFIGS[request.param](size)
    )


def load(worker: StdioWorker, model: Path, **cache: Any) -> None:
    event = worker.result("load_model", model=str(model), cache=cache)
    assert event["type"] == "model_loaded", event


def prompts(rng: Random, number: int) -> list[list[int]]:
    """Return prompts that fork in the middle."""
    ids = [rng.randrange(50, 400) for _ in range(300)]
    return [[*ids[: rng.randrange(20, 300)], 10 + each, *ids[:20]] for each in range(number)]


def answer(worker: StdioWorker, prompt: list[int]) -> Event:
    event = worker.result("generate", token_ids=prompt, max_tokens=8, top_logprobs=3)
    assert event["type"] == "finished", event
    return event


def kept_and_tokens(worker: StdioWorker, prompt: list[int]) -> tuple[int, list[Any]]:
    """Return the number of cached tokens, and all data of the answer's tokens including log-probabilities."""
    events = worker.ask("generate", token_ids=prompt, max_tokens=8, top_logprobs=3)
    assert events[-1]["type"] == "finished", events[-1]
    tokens = [token for event in events if event["type"] == "chunk" for token in event["tokens"]]
    return events[-1]["usage"]["cached_tokens"], tokens


def size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # renamed meanwhile
            total += path.stat().st_size if path.is_file() else 0
    return total


def stats_and_size(worker: StdioWorker, folder: Path) -> tuple[Event, int]:
    """Return the worker's figures and the folder's size at the same moment: the worker writes when it is idle."""
    while True:
        before, size, after = worker.result("cache_stats"), size_of(folder), worker.result("cache_stats")
        if before["disk_bytes"] == after["disk_bytes"]:
            return before, size


def tier(worker: StdioWorker, prompt: list[int]) -> str:
    (plan,) = worker.result("plan", prompts=[{"token_ids": prompt}])["plans"]
    return plan["tier"]


def test_evicted_tokens_come_back_bit_for_bit_after_a_restart(model: Path, tmp_path: Path):
    asked = prompts(Random(1), 12)
    with StdioWorker(tmp_path) as worker:
        load(worker, model, limit_bytes=0)
        for prompt in asked:
            kept_and_tokens(worker, prompt)
        stats, size = stats_and_size(worker, tmp_path)
        assert stats["disk_bytes"] == size
        assert stats["disk_tokens"] > stats["tokens"]
        assert stats["limit_bytes"] == 0
        assert tier(worker, asked[0]) == "disk"
        assert tier(worker, [*asked[0], 7, 8]) == "cold"
        first = [kept_and_tokens(worker, prompt) for prompt in asked]
        assert [num_kept for num_kept, _ in first] == [len(prompt) - 1 for prompt in asked]
        assert worker.close_input() == 0
    with StdioWorker(tmp_path) as worker:
        load(worker, model, limit_bytes=0)
        assert worker.result("cache_stats")["tokens"] == 0
        for prompt, (_, expected) in zip(asked, first, strict=True):
            assert tier(worker, prompt) == "disk"
            assert kept_and_tokens(worker, prompt) == (len(prompt) - 1, expected)
            assert tier(worker, [*prompt, *(token["id"] for token in expected)]) == "warm"


@pytest.mark.parametrize(("seed", "num_kills"), [(0, 1), *in_long_runs((seed, 3) for seed in range(2))])
def test_a_worker_killed_while_it_writes_leaves_nothing_wrong_behind(
    model: Path, tmp_path: Path, seed: int, num_kills: int
):
    rng = Random(seed)
    asked = prompts(rng, 10)
    with StdioWorker(tmp_path / "none") as worker:
        load(worker, model, disk_limit_bytes=0)
        expected = [answer(worker, prompt)["choices"][0]["token_ids"] for prompt in asked]
    num_kept = 0
    for _ in range(num_kills):
        with StdioWorker(tmp_path / "cache") as worker:
            load(worker, model, limit_bytes=0)
            for _ in range(3):
                number = rng.randrange(len(asked))
                finished = answer(worker, asked[number])
                assert finished["choices"][0]["token_ids"] == expected[number]
                num_kept += finished["usage"]["cached_tokens"]
            # Each request leaves a branch, which is then written; the kill comes in the middle of one.
            for prompt in rng.sample(asked, 4):
                worker.send("generate", token_ids=prompt, max_tokens=2)
            for _ in range(rng.randrange(1, 12)):
                worker.next_event()
    assert num_kept > 0
    with StdioWorker(tmp_path / "cache") as worker:
        load(worker, model, limit_bytes=0)
        for prompt, token_ids in zip(asked, expected, strict=True):
            assert answer(worker, prompt)["choices"][0]["token_ids"] == token_ids
        stats, size = stats_and_size(worker, tmp_path / "cache")
        assert stats["disk_bytes"] == size
        assert worker.close_input() == 0
        assert not list((tmp_path / "cache").rglob("*.part"))
        assert not [line for line in worker.errors if "Traceback" in line]


def test_nothing_is_written_when_the_disk_cache_is_off(model: Path, tmp_path: Path):
    with StdioWorker(tmp_path) as worker:
        load(worker, model, limit_bytes=0, disk_limit_bytes=0)
        for prompt in prompts(Random(2), 4):
            answer(worker, prompt)
        stats = worker.result("cache_stats")
        assert (stats["disk_tokens"], stats["disk_bytes"]) == (0, 0)
    assert size_of(tmp_path) == 0


def test_other_weights_do_not_find_the_tokens(model: Path, tmp_path: Path, byte_level: Tokenizer):
    prompt = prompts(Random(3), 1)[0]
    size = byte_level.get_vocab_size(with_added_tokens=True)
    other = write_random_model(tmp_path / "other", byte_level, CONFIGS[model.name](size), seed=1)
    with StdioWorker(tmp_path / "cache") as worker:
        load(worker, model, limit_bytes=0)
        answer(worker, prompt)
        answer(worker, [5, 6, 7])
        assert tier(worker, prompt) == "disk"
        load(worker, other, limit_bytes=0)
        assert worker.result("cache_stats")["disk_tokens"] == 0
        assert tier(worker, prompt) == "cold"
        load(worker, model, limit_bytes=0)
        assert tier(worker, prompt) == "disk"
