"""Models that the worker's tests share."""

from __future__ import annotations

from pathlib import Path

import mlx.core as mx
import pytest
from tokenizers import Tokenizer

from tests.models import write_scripted_model

# As the worker does on a CPU: each fused kernel would cost a run of the C++ compiler.
if mx.default_device() == mx.Device(mx.cpu):
    mx.disable_compile()


@pytest.fixture(scope="session")
def endless_model(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """A model that writes "ababab…" until it is stopped or its context of a million tokens is full."""
    a, b = byte_level.encode("a").ids[0], byte_level.encode("b").ids[0]
    successor = dict.fromkeys(range(byte_level.get_vocab_size(with_added_tokens=True)), a) | {a: b, b: a}
    folder = tmp_path_factory.mktemp("models") / "endless"
    return write_scripted_model(folder, byte_level, successor, context_length=1_000_000)
