"""GGUF files as models that compute."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import numpy.typing as npt
from mlx_lm.utils import dequantize_model, load_model
from tokenizers import Tokenizer

from worker.gguf.conversion import convert
from worker.gguf.gguf_file import read_files
from worker.gguf.words import word_files


def converted(file: Path, into: Path | None = None) -> Path:
    """Make a folder of a GGUF file, beside it or in another folder."""
    folder = (into or file.parent) / "converted"
    for _ in convert(file, folder):
        pass
    return folder


def logits(folder: Path, inputs: Sequence[Sequence[int]]) -> list[npt.NDArray[np.float32]]:
    model = loaded(folder)
    return [np.array(model(mx.array([ids]))[0]) for ids in inputs]


def loaded(folder: Path) -> Any:
    """Return the model, unpacked and with 32 bits, as the worker loads it on a CPU."""
    mx.disable_compile()
    model, _ = load_model(folder, lazy=True)
    model.set_dtype(mx.float32)
    return dequantize_model(model)


def tokenizer_of(file: Path) -> Tokenizer:
    """Return the tokenizer of a GGUF file."""
    return Tokenizer.from_str(word_files(read_files(file).metadata)["tokenizer.json"])
