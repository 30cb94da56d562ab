"""Fixtures of GGUF tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.worker.gguf.judge import Judge, judge_python


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """Yield llama.cpp; the test is skipped where it is not here."""
    judge = Judge(judge_python())
    yield judge
    judge.close()
