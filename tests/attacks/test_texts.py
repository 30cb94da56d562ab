"""Hostile texts in the real window: none may keep it from answering the user."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.ui.text.slices import next_slice
from tests.attacks.gui import WAYS, Stage, stage
from tests.attacks.texts import TEXTS
from tests.attacks.watchdog import Watchdog
from tests.long import in_long_runs

_LIMIT_MS = 500
"""Ten times what a text may take of the GUI thread at a time, because machines differ. Before, these took seconds."""
_FAST = [("open", "100 formulas"), ("open", "2,000 fences")]
_OF_EACH_KIND = (
    *("long answer", "200 formulas", "20,000 fences", "table of 2,000 × 50", "quotes that deepen", "no spaces"),
    *("zalgo", "a million newlines", "links", "brackets", "100,000 paragraphs", "every kind"),
)
_LONG = [
    case
    for case in (*itertools.product(("open", "stream"), TEXTS), *itertools.product(WAYS, _OF_EACH_KIND))
    if case not in _FAST
]


@pytest.fixture
def on_stage(qapp: QApplication, tmp_path: Path) -> Iterator[Stage]:
    assert qapp is not None
    with stage(tmp_path) as on_stage:
        yield on_stage


@pytest.mark.parametrize(("way", "name"), [*_FAST, *in_long_runs(sorted(set(_LONG)))])
def test_no_text_blocks_the_window(on_stage: Stage, way: str, name: str) -> None:
    run = WAYS[way](on_stage, TEXTS[name]())
    with Watchdog() as watchdog:
        run(watchdog)
    assert watchdog.longest.cpu_ms < _LIMIT_MS, watchdog.stacks.most_common(3)


@pytest.mark.parametrize("name", TEXTS)
def test_slices_make_up_the_whole_text(name: str) -> None:
    text = waiting = TEXTS[name]()[:20_000]
    slices: list[str] = []
    while waiting:
        length, cost = next_slice(waiting)
        assert length > 0
        assert cost > 0
        slices.append(waiting[:length])
        waiting = waiting[length:]
    assert "".join(slices) == text
    assert max(map(len, slices)) <= 2_000
