"""Hostile texts in the window: the longest step of the GUI thread in each way in which a text is shown or used.

`python -m tests.attacks.measure_texts` says where a step was.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from app.application import make_qt_application
from tests.attacks.gui import ACTS, WAYS
from tests.attacks.measure_texts import Watched, acted, got_in, text_on_stage
from tests.attacks.texts import TEXTS
from tests.benchmarks.measure import Row, alone

_AREA = "texts"
_GOAL = "<= 50"
_NUM_ROUNDS = 3
_TEXTS = ("long answer", "100 formulas", "zalgo", "table of 2,000 × 50", "every kind")
"""A typical answer, and texts that are expensive for different reasons."""
_BUDGET_S = 180
"""A round that would probably end later than this does not begin. Each text is measured at least once."""


def rows() -> Iterator[Row]:
    """Yield the worst way of each text as soon as it is measured, then the worst text of each way."""
    qt = make_qt_application([])
    found: dict[str, dict[str, list[Watched]]] = defaultdict(lambda: defaultdict(list))
    began = time.monotonic()
    for number in range(1, _NUM_ROUNDS + 1):
        for name in _TEXTS:
            for way, watched in _measured(TEXTS[name]()):
                found[way][name].append(watched)
            if number == 1:
                yield from _worst(name, {way: of_texts[name] for way, of_texts in found.items()})
        if (time.monotonic() - began) * (number + 1) / number > _BUDGET_S:
            break
    for way, of_texts in found.items():
        yield from _worst(way, of_texts)
    assert qt is not None


def _measured(text: str) -> Iterator[tuple[str, Watched]]:
    """Yield each way with the measurements of a text."""
    for way in WAYS:
        yield way, got_in(way, text)
    with text_on_stage(text, [*ACTS]) as on_stage:
        for way in ACTS:
            yield way, acted(way, on_stage)


def _worst(name: str, found: Mapping[str, Sequence[Watched]]) -> Iterator[Row]:
    """Yield rows of the longest step: in processor time, and by the clock. Each names the highest median of `found`."""
    cpu_ms = {each: [round_.watchdog.longest.cpu_ms for round_ in rounds] for each, rounds in found.items()}
    wall_ms = {each: [round_.watchdog.longest_wall_ms for round_ in rounds] for each, rounds in found.items()}
    for unit, figures in (("CPU ms", cpu_ms), ("by the clock, ms", wall_ms)):
        worst = max(figures, key=lambda each: statistics.median(figures[each]))
        yield alone(_AREA, f"{name}, longest step, {unit} ({worst})", figures[worst], _GOAL)
