"""What all tests share: a fast BLAS, no display, no network, and models that they make themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tokenizers import Tokenizer

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["HF_HUB_OFFLINE"] = "1"

from worker.blas import preload

preload()

# A machine may be busy: no test is one of time.
settings.register_profile("bough", deadline=None)
settings.load_profile("bough")

from tests.driver import StdioWorker
from tests.models import byte_level_tokenizer, sentencepiece_tokenizer, write_random_llama


@pytest.fixture(scope="session")
def byte_level() -> Tokenizer:
    return byte_level_tokenizer()


@pytest.fixture(scope="session")
def sentencepiece() -> Tokenizer:
    return sentencepiece_tokenizer()


@pytest.fixture(scope="session")
def random_llama(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    """A folder with a small llama of random weights."""
    return write_random_llama(tmp_path_factory.mktemp("models") / "random-llama", byte_level)


@pytest.fixture
def stdio_worker() -> Iterator[StdioWorker]:
    """A worker of one's own, driven over its standard input and output."""
    with StdioWorker() as worker:
        yield worker


@pytest.fixture(scope="module")
def shared_worker() -> Iterator[StdioWorker]:
    """A worker for all tests of a module that leave nothing running."""
    with StdioWorker() as worker:
        yield worker
