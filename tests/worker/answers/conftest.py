"""Models for tests of answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.architectures import small_gemma3, small_lfm2, small_llama, write_random_model
from tests.driver import StdioWorker
from tests.models import chain, write_scripted_model
from tests.tokenizers import piecewise_tokenizer
from tests.worker.answers.hooked import read
from tests.worker.answers.said import Said, eos_of
from worker.language_model import LanguageModel
from worker.text.token_bytes import token_bytes


@pytest.fixture(scope="module", params=["llama", "gemma3", "lfm2"])
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer
) -> LanguageModel:
    made: dict[str, Callable[[], dict[str, Any]]] = {
        "llama": lambda: small_llama(byte_level.get_vocab_size()),
        "gemma3": lambda: small_gemma3(window=12),
        "lfm2": small_lfm2,
    }
    folder = tmp_path_factory.mktemp("models") / request.param
    return read(write_random_model(folder, byte_level, made[request.param]()))


@pytest.fixture(scope="module")
def llama(random_llama: Path) -> LanguageModel:
    return read(random_llama)


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> LanguageModel:
    """A model that writes the alphabet over and over: "abc…xyzabc…"."""
    letters = [byte_level.encode(letter).ids[0] for letter in "abcdefghijklmnopqrstuvwxyz"]
    successor = dict(zip(letters, letters[1:] + letters[:1], strict=True))
    return read(write_scripted_model(tmp_path_factory.mktemp("models") / "counting", byte_level, successor))


@pytest.fixture
def say(shared_worker: StdioWorker, tmp_path: Path) -> Callable[..., Said]:
    """Load a model that writes these pieces after a "?", then ends. The pieces must differ from each other."""

    def load(*pieces: str | bytes) -> Said:
        spelled = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
        tokenizer = piecewise_tokenizer([piece for piece in spelled if len(piece) > 1])
        table = {data: token_id for token_id, data in enumerate(token_bytes(tokenizer))}
        prompt, *ids = [table[piece] for piece in [b"?", *spelled]]
        shared_worker.load(
            write_scripted_model(tmp_path / "model", tokenizer, chain([prompt, *ids, eos_of(tokenizer)]))
        )
        return Said(shared_worker, [prompt], ids)

    return load
