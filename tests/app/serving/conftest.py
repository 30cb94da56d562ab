"""A server that the tests of the local API share."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from tests.app.serving.running import Bough


@pytest.fixture(scope="package")
def bough(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bough]:
    """`bough serve` with the guide. Tests leave nothing running."""
    with Bough(tmp_path_factory.mktemp("serving")) as running:
        running.wait_until_ready()
        yield running
        assert running.end() == 0
        assert running.errors == []


@pytest.fixture
def client(bough: Bough) -> Iterator[openai.OpenAI]:
    with bough.openai() as client:
        yield client
