"""The worker and the model folder that attacks share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.victim import Victim


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    """A worker for all attacks of a module."""
    with Victim() as victim:
        yield victim


@pytest.fixture
def folder(random_llama: Path, tmp_path: Path) -> Path:
    """A copy of a good model folder, to damage."""
    return Path(shutil.copytree(random_llama, tmp_path / "model"))
