"""Hostile texts in the window: the longest step of the GUI thread in each way in which a text is shown or used.

Each text is measured in a process of its own, so a text that hangs is one failed row.
`python -m tests.attacks.measure_texts` says where a step was.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

from app.application import make_qt_application
from tests.attacks.gui import ACTS, WAYS
from tests.attacks.measure_texts import Watched, acted, got_in, text_on_stage
from tests.attacks.texts import TEXTS
from tests.benchmarks.measure import Row, alone, failed

_AREA = "texts"
_GOAL = "<= 50"
_NUM_ROUNDS = 3
_TEXTS = ("long answer", "100 formulas", "zalgo", "table of 2,000 × 50", "every kind")
"""A typical answer, and texts that are expensive for different reasons."""
_BUDGET_S = 180
"""A round that would probably end later than this does not begin. Each text is measured at least once."""
_PATIENCE_S = 400
"""A text that needs longer for one way is taken to hang. Its process ends earlier by itself, and says where it was."""


class Step(NamedTuple):
    """The longest step of one way."""

    cpu_ms: float
    wall_ms: float


def rows() -> Iterator[Row]:
    """Yield the worst way of each text as soon as it is measured, then the worst text of each way."""
    found: dict[str, dict[str, list[Step]]] = defaultdict(lambda: defaultdict(list))
    texts = list(_TEXTS)
    began = time.monotonic()
    for number in range(1, _NUM_ROUNDS + 1):
        for name in list(texts):
            print(f"round {number} of at most {_NUM_ROUNDS}: {name}", flush=True)
            failure = ""
            for way, step in _in_own_process(name):
                if isinstance(step, str):
                    failure = f"{name}, {way}: {step}"
                else:
                    found[way][name].append(step)
            if failure:
                texts.remove(name)
                yield failed(_AREA, failure)
            if number == 1 and any(name in of_texts for of_texts in found.values()):
                yield from _worst(name, {way: of_texts[name] for way, of_texts in found.items() if name in of_texts})
        if (time.monotonic() - began) * (number + 1) / number > _BUDGET_S:
            break
    for way, of_texts in found.items():
        yield from _worst(way, of_texts)


def _in_own_process(name: str) -> Iterator[tuple[str, Step | str]]:
    """Yield each way with its longest step; if the process dies or hangs, the way it was in, and what happened."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(name, sender))
    process.start()
    sender.close()
    way = "start"
    try:
        with contextlib.suppress(EOFError):
            while receiver.poll(_PATIENCE_S):
                way, step = receiver.recv()
                if way == "end":
                    return
                if step is not None:
                    yield way, step
        process.kill()
        process.join()
        yield way, f"its process ended with exit code {process.exitcode}"
    finally:
        process.kill()


def _send(name: str, sender: Connection) -> None:
    """Send each way before it begins, and with its longest step when it has ended."""
    qt = make_qt_application([])
    text = TEXTS[name]()
    for way in WAYS:
        sender.send((way, None))
        sender.send((way, _step(got_in(way, text))))
    with text_on_stage(text, [*ACTS]) as on_stage:
        for way in ACTS:
            sender.send((way, None))
            sender.send((way, _step(acted(way, on_stage))))
    assert qt is not None
    sender.send(("end", None))
    # Without the slow end of the program.
    os._exit(0)


def _step(watched: Watched) -> Step:
    return Step(watched.watchdog.longest.cpu_ms, watched.watchdog.longest_wall_ms)


def _worst(name: str, found: Mapping[str, Sequence[Step]]) -> Iterator[Row]:
    """Yield rows of the longest step: in processor time, and by the clock. Each names the highest median of `found`."""
    cpu_ms = {each: [step.cpu_ms for step in steps] for each, steps in found.items()}
    wall_ms = {each: [step.wall_ms for step in steps] for each, steps in found.items()}
    for unit, figures in (("CPU ms", cpu_ms), ("by the clock, ms", wall_ms)):
        worst = max(figures, key=lambda each: statistics.median(figures[each]))
        yield alone(_AREA, f"{name}, longest step, {unit} ({worst})", figures[worst], _GOAL)
