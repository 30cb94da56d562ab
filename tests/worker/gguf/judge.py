"""llama.cpp as a judge of tokenizers and models, in a process of its own.

`BOUGH_LLAMA_CPP` names a Python that has the package llama-cpp-python, `BOUGH_GGUF_VOCABULARIES` a folder with
llama.cpp's own vocabularies (`models/ggml-vocab-*.gguf` in its sources), and `BOUGH_GGUF_MODELS` a folder with models
as they are published. Tests that need them are skipped without.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest


class Judge:
    """A process that has llama.cpp."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).with_name("judge_process.py")
        self._process = subprocess.Popen(
            [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def close(self) -> None:
        self._process.communicate()

    def ids(
        self,
        model: Path,
        texts: Sequence[str],
        overrides: Mapping[str, Any] | None = None,
        *,
        add_special: bool = False,
        parse_special: bool = True,
    ) -> list[list[int]]:
        """Return the token ids of each text. `overrides` replace values of the file's metadata."""
        return self._ask(
            "tokenize",
            model=str(model),
            texts=list(texts),
            overrides=overrides,
            add_special=add_special,
            parse_special=parse_special,
        )["ids"]

    def logits(
        self, model: Path, prompts: Sequence[Sequence[int]], num_positions: int = 512
    ) -> list[npt.NDArray[np.float32]]:
        """Return the logits of each prompt, each of the shape (tokens, vocabulary)."""
        found = self._ask("logits", model=str(model), prompts=prompts, num_positions=num_positions)
        return [
            np.frombuffer(base64.b64decode(each), np.float32).reshape(-1, found["size"]) for each in found["logits"]
        ]

    def greedy(self, model: Path, ids: Sequence[int], count: int, num_positions: int = 512) -> list[int]:
        """Return the `count` likeliest ids after these."""
        return self._ask("greedy", model=str(model), ids=ids, count=count, num_positions=num_positions)["ids"]

    def render(self, template: str, messages: Sequence[Mapping[str, str]], bos: str, eos: str) -> str | None:
        """Return a conversation as a chat template writes it; None if it can't."""
        return self._ask("render", template=template, messages=messages, bos=bos, eos=eos)["text"]

    def _ask(self, ask: str, **fields: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"ask": ask, **fields}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"llama.cpp ended with {self._process.wait()} at {ask}"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer


def judge_python() -> str:
    """Return the Python that has llama.cpp. Skips the test if there is none."""
    named = os.environ.get("BOUGH_LLAMA_CPP")
    if named is None and importlib.util.find_spec("llama_cpp") is not None:
        named = sys.executable
    if named is None:
        pytest.skip("BOUGH_LLAMA_CPP does not name a Python that has llama-cpp-python")
    return named


def vocabulary_file(name: str) -> Path:
    """Return the file of a vocabulary: llama.cpp's own, or that of a model. Skips the test if it is not here."""
    return _file("BOUGH_GGUF_VOCABULARIES", f"ggml-vocab-{name}.gguf")


def model_file(pattern: str) -> Path:
    """Return the model whose file has a name like `pattern`. Skips the test if it is not here."""
    return _file("BOUGH_GGUF_MODELS", pattern)


def _file(variable: str, pattern: str) -> Path:
    folder = os.environ.get(variable)
    if folder is None:
        pytest.skip(f"{variable} does not name a folder with GGUF files")
    found = sorted(Path(folder).glob(pattern))
    if not found:
        pytest.skip(f"no {pattern} is in {variable}")
    return found[0]
