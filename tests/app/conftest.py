"""Fixtures for the tests of the front end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from tests.app.desk import Desk
from tests.leaks import Leaks


@pytest.fixture
def nothing_leaks(qapp: QApplication) -> Iterator[None]:
    """Fails a test that leaves threads, processes or windows behind."""
    leaks = Leaks()
    yield
    leaks.check()


@pytest.fixture
def desk(qapp: QApplication, tmp_path: Path) -> Iterator[Desk]:
    """A controller with a real store and a scripted worker, its model loaded."""
    desk = Desk(tmp_path)
    yield desk
    desk.close()
