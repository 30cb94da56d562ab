"""Decoding: tokens per second through the worker's standard output, against mlx-lm's `stream_generate`.

Both use the same model, the same weights in float32 and the same BLAS; each side runs in its own process and the two
take turns. The worker's figure is measured by the driver, from the first chunk to `finished`. The driver only reads
meanwhile, so that it does not compete with the worker for a core. In the rows "over stdio", mlx-lm prints nothing but
its speed at the end. In the rows "both send each token", it also writes a line of JSON for each token, which the same
driver reads.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from tests.benchmarks.measure import Row, alone, compared, in_turn
from tests.benchmarks.starter import endless_copy, starter
from tests.driver import ROOT
from worker.models.folder import guide_path

_NUM_TOKENS = 512
_ROUNDS = 21
_NUM_REAL_TOKENS = 64
_REAL_ROUNDS = 9
_PEER = "mlx-lm stream_generate"
_PROMPT = "How do I fork a message, and what is a branch?"


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        model = endless_guide(Path(folder) / "guide")
        with _Worker(model) as worker, _Peer(model) as peer:
            ours, theirs = in_turn(_ROUNDS, lambda: worker.decode(_NUM_TOKENS), lambda: peer.decode(_NUM_TOKENS))
            yield compared("decode", "tokens/s over stdio", ours, _PEER, theirs, ">= 1.0")
            ours, theirs = in_turn(_ROUNDS, lambda: worker.decode(_NUM_TOKENS), lambda: peer.send(_NUM_TOKENS))
            yield compared("decode", "tokens/s, both send each token", ours, _PEER, theirs, ">= 1.0")
        real = starter()
        if real is not None:
            yield from _rows_of_starter(endless_copy(real, Path(folder) / "starter"))


def _rows_of_starter(model: Path) -> Iterator[Row]:
    reading: list[float] = []

    def read() -> float:
        reading.append(_gigabytes_per_s())
        return worker.decode(_NUM_REAL_TOKENS)

    with _Worker(model) as worker, _Peer(model) as peer:
        ours, theirs = in_turn(_REAL_ROUNDS, read, lambda: peer.decode(_NUM_REAL_TOKENS))
        gigabytes = worker.weights_bytes / 1e9
    yield compared("decode", "SmolLM2: tokens/s over stdio", ours, _PEER, theirs, ">= 1.0")
    yield alone("decode", "SmolLM2: tokens/s", ours, ">= 18")
    # A step reads every weight once, so this says how near it is to the memory's speed.
    read_by_steps = [tokens_per_s * gigabytes for tokens_per_s in ours]
    yield compared("decode", "SmolLM2: GB of weights/s", read_by_steps, "numpy's dot", reading[-len(ours) :])


def _gigabytes_per_s() -> float:
    """Return how fast one core reads memory that is not in its cache: the best of some rounds."""
    numbers = np.ones(64 << 20, np.float32)
    block = 1 << 20
    took: list[float] = []
    for start in range(0, numbers.size, block):
        part = numbers[start : start + block]
        began = time.perf_counter()
        part.dot(part)
        took.append(time.perf_counter() - began)
    return 4e-9 * block / statistics.median(took)


def endless_guide(folder: Path) -> Path:
    """Copy the guide model with another end-of-answer token, so that it writes up to the limit."""
    shutil.copytree(guide_path(), folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    end = next(token["id"] for token in tokenizer["added_tokens"] if token["content"] == "<|endoftext|>")
    for name in ("config.json", "generation_config.json"):
        config = json.loads((folder / name).read_text(encoding="utf-8"))
        config["eos_token_id"] = end
        (folder / name).write_text(json.dumps(config), encoding="utf-8")
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    config["eos_token"] = "<|endoftext|>"
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


class _Worker:
    """`python -m worker --stdio`, whose output is read in blocks as they arrive."""

    def __init__(self, model: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "worker", "--stdio"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        _, _, said = self._ask({"type": "load_model", "request_id": "load", "model": str(model)}, b'"model_loaded"')
        self.weights_bytes: int = json.loads(said.splitlines()[-1])["weights_bytes"]

    def __enter__(self) -> _Worker:  # noqa: PYI034
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def decode(self, num_tokens: int) -> float:
        command = {"type": "generate", "request_id": "g", "text": _PROMPT, "max_tokens": num_tokens}
        first, end, said = self._ask(command, b'"finished"')
        finished = json.loads(said.splitlines()[-1])
        assert finished["usage"]["generated_tokens"] == num_tokens, finished
        return (num_tokens - 1) / (end - first)

    def _ask(self, command: Mapping[str, object], terminal: bytes) -> tuple[float, float, bytes]:
        """Return the times of the first chunk and of the last event, and the whole output."""
        return _timed(self._process, json.dumps(command).encode() + b"\n", terminal)


def _timed(process: subprocess.Popen[bytes], line: bytes, terminal: bytes) -> tuple[float, float, bytes]:
    """Send a line. Return the times of the first chunk and of the line with `terminal`, and the whole output."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line)
    process.stdin.flush()
    descriptor = process.stdout.fileno()
    first, blocks = 0.0, [b""]
    while not (blocks[-1].endswith(b"\n") and terminal in b"".join(blocks[-2:])):
        blocks.append(os.read(descriptor, 1 << 16))
        assert blocks[-1], "the process ended"
        if not first and b'"chunk"' in blocks[-1]:
            first = time.perf_counter()
    return first, time.perf_counter(), b"".join(blocks)


class _Peer:
    """mlx-lm in its own process. It decodes on request."""

    def __init__(self, model: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.decode", str(model)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> _Peer:  # noqa: PYI034
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def decode(self, num_tokens: int) -> float:
        """Return the tokens per second that it measures itself. It sends nothing meanwhile."""
        _, _, said = _timed(self._process, b"%d silent\n" % num_tokens, b'"finished"')
        return json.loads(said)["tokens_per_s"]

    def send(self, num_tokens: int) -> float:
        """Return the tokens per second of its lines, of which it sends one for each token."""
        first, end, said = _timed(self._process, b"%d sending\n" % num_tokens, b'"finished"')
        assert said.count(b'"chunk"') == num_tokens, said
        return (num_tokens - 1) / (end - first)


def _be_the_peer(model_path: str) -> None:
    from worker.blas import preload

    preload()
    import mlx.core as mx
    from mlx_lm import load, stream_generate
    from mlx_lm.utils import dequantize_model

    loaded = load(model_path, lazy=True)
    model, tokenizer = loaded[0], loaded[1]
    # The same numbers as in the worker: the scales first, as they would round unpacked weights to their own 16 bits.
    model.set_dtype(mx.float32)
    model = dequantize_model(model)
    mx.eval(model.parameters())
    for line in sys.stdin:
        wanted, how = line.split()
        first, num_tokens = 0.0, 0
        for response in stream_generate(model, tokenizer, _PROMPT, max_tokens=int(wanted)):
            num_tokens = response.generation_tokens
            if how == "sending":
                chunk = {"type": "chunk", "choice": 0, "text": response.text, "tokens": [{"id": response.token}]}
                print(json.dumps(chunk), flush=True)
            if not first:
                first = time.perf_counter()
        assert num_tokens == int(wanted), num_tokens
        tokens_per_s = (num_tokens - 1) / (time.perf_counter() - first)
        print(json.dumps({"type": "finished", "tokens_per_s": tokens_per_s}), flush=True)


if __name__ == "__main__":
    _be_the_peer(sys.argv[1])
