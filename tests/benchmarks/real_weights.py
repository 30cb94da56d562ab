"""A real model: prompts, answers, and four answers over one long prompt, against mlx-lm and llama.cpp.

Bough and mlx-lm use the weights of the starter in float32 and the same BLAS. llama.cpp computes with the packed weights
of its GGUF file. It takes part if `BOUGH_LLAMA_CPP` names a Python that has llama-cpp-python, and `BOUGH_GGUF_MODELS` a
folder with the file. Each program runs in its own process, and they take turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.benchmarks.measure import Row, compared
from tests.driver import ROOT, StdioWorker
from tests.real.weights import TEXT, WITHOUT, starter_folder, unpacked_folder

_AREA = "real weights"
_ROUNDS = 3
_PROMPT_TOKENS = 512
_ANSWER_TOKENS = 48
_LONG_TOKENS = 4096

Speeds = tuple[float, float]
"""Tokens per second of a prompt, and of the answer to it."""


def rows() -> Iterator[Row]:
    starter = starter_folder()
    if starter is None:
        raise FileNotFoundError(WITHOUT)
    folder = unpacked_folder(starter)
    with StdioWorker() as worker, ExitStack() as peers:
        worker.load(folder, disk_limit_bytes=0)
        processes = {"mlx-lm": peers.enter_context(_Peer([sys.executable, "-m", __name__, str(folder)]))}
        python, models = os.environ.get("BOUGH_LLAMA_CPP"), os.environ.get("BOUGH_GGUF_MODELS")
        file = next(Path(models).glob("SmolLM2-135M*.gguf"), None) if models else None
        if python and file:
            command = [python, str(Path(__file__).with_name("llama_cpp_peer.py")), str(file), str(_ANSWER_TOKENS)]
            processes["llama.cpp, 4 bits"] = peers.enter_context(_Peer(command))
        yield from _compared(worker, processes)
    # A worker of its own: the others' memory is free again.
    with StdioWorker() as worker:
        worker.load(folder, disk_limit_bytes=0)
        yield _together(worker)


def _compared(worker: StdioWorker, peers: dict[str, _Peer]) -> Iterator[Row]:
    text = _ids(worker)
    ours: list[Speeds] = []
    theirs: dict[str, list[Speeds]] = {name: [] for name in peers}
    for number in range(_ROUNDS + 1):
        # Each begins with other words, so that nothing of it is cached.
        ids = text[100 * number : 100 * number + _PROMPT_TOKENS]
        measured = _of_worker(worker, ids), {name: peer.speeds(ids) for name, peer in peers.items()}
        if number:
            ours.append(measured[0])
            for name, speeds in measured[1].items():
                theirs[name].append(speeds)
    for index, label in enumerate((f"prompt of {_PROMPT_TOKENS} tokens: tokens/s", "answer: tokens/s")):
        for name, speeds in theirs.items():
            goal = ">= 0.97" if name == "mlx-lm" else None
            yield compared(_AREA, label, [each[index] for each in ours], name, [each[index] for each in speeds], goal)


def _ids(worker: StdioWorker) -> list[int]:
    return worker.result("tokenize", text=TEXT)["token_ids"]


def _of_worker(worker: StdioWorker, ids: list[int]) -> Speeds:
    finished = worker.result("generate", token_ids=ids, max_tokens=_ANSWER_TOKENS, draft="off", sampling={"seed": 1})
    timing = finished["timing"]
    return len(ids) / timing["prefill_ms"] * 1e3, timing["decode_tokens_per_s"]


def _together(worker: StdioWorker) -> Row:
    """Compare four answers over one long prompt with one."""
    prompt = _ids(worker)[:_LONG_TOKENS]

    def tokens_per_s(n: int) -> float:
        sampling = {"temperature": 1, "seed": 5}
        finished = worker.result("generate", token_ids=prompt, n=n, max_tokens=_ANSWER_TOKENS, sampling=sampling)
        return finished["timing"]["decode_tokens_per_s"]

    tokens_per_s(4)
    fours: list[float] = []
    ones: list[float] = []
    for _ in range(_ROUNDS):
        ones.append(tokens_per_s(1))
        fours.append(tokens_per_s(4))
    return compared(_AREA, f"n = 4 over {_LONG_TOKENS:,} tokens: tokens/s", fours, "n = 1", ones, ">= 3.2")


class _Peer:
    """A program in its own process. It reads prompts as lines of ids and prints its two speeds."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def speeds(self, ids: Sequence[int]) -> Speeds:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, ids)) + "\n")
        self._process.stdin.flush()
        prompt, answer = self._process.stdout.readline().split()
        return float(prompt), float(answer)


def _be_mlx_lm(path: str) -> None:
    from worker.blas import preload

    preload()
    from mlx_lm.generate import stream_generate
    from mlx_lm.utils import load_model, load_tokenizer

    model, tokenizer = load_model(Path(path))[0], load_tokenizer(Path(path))
    # It writes up to the limit.
    tokenizer.eos_token_ids = set()
    for line in sys.stdin:
        stream: Any = stream_generate(model, tokenizer, list(map(int, line.split())), max_tokens=_ANSWER_TOKENS)
        first = next(stream)
        # `generation_tps` counts the first token, which the prompt's time includes, so it is too high by a token.
        began = time.perf_counter()
        num_steps = sum(1 for _ in stream)
        print(first.prompt_tps, num_steps / (time.perf_counter() - began), flush=True)


if __name__ == "__main__":
    _be_mlx_lm(sys.argv[1])
