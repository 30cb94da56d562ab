"""Hostile texts in the window: the longest step of the GUI thread in each way in which a text is shown or used.

`python -m tests.attacks.measure_texts` says where a step was.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterator

from app.application import make_qt_application
from tests.attacks.gui import ACTS, WAYS
from tests.attacks.measure_texts import Watched, acted, got_in, text_on_stage
from tests.attacks.texts import TEXTS
from tests.benchmarks.measure import Row, alone

_AREA = "texts"
_GOAL = "<= 50"
_NUM_ROUNDS = 3
_TEXTS = ("long answer", "100 formulas", "no spaces", "zalgo", "object characters", "table of 2,000 × 50", "every kind")
"""A typical answer, and texts that are expensive for different reasons."""
_BUDGET_S = 180
"""A round that would probably end later than this does not begin."""


def rows() -> Iterator[Row]:
    qt = make_qt_application([])
    texts = {name: TEXTS[name]() for name in _TEXTS}
    found: dict[str, dict[str, list[Watched]]] = defaultdict(lambda: defaultdict(list))
    began = time.monotonic()
    for number in range(1, _NUM_ROUNDS + 1):
        for name, text in texts.items():
            for way, watched in _measured(text):
                found[way][name].append(watched)
        if (time.monotonic() - began) * (number + 1) / number > _BUDGET_S:
            break
    for way, of_texts in found.items():
        cpu_ms = {name: [each.watchdog.longest.cpu_ms for each in rounds] for name, rounds in of_texts.items()}
        wall_ms = {name: [each.watchdog.longest_wall_ms for each in rounds] for name, rounds in of_texts.items()}
        yield _of_worst_text(f"{way}, longest step, CPU ms", cpu_ms)
        yield _of_worst_text(f"{way}, longest step by the clock, ms", wall_ms)
    assert qt is not None


def _measured(text: str) -> Iterator[tuple[str, Watched]]:
    """Yield each way with the measurements of a text."""
    for way in WAYS:
        yield way, got_in(way, text)
    with text_on_stage(text, [*ACTS]) as on_stage:
        for way in ACTS:
            yield way, acted(way, on_stage)


def _of_worst_text(name: str, figures: dict[str, list[float]]) -> Row:
    """Return a row of the text with the highest median."""
    worst = max(figures, key=lambda text: statistics.median(figures[text]))
    return alone(_AREA, f"{name} ({worst})", figures[worst], _GOAL)
