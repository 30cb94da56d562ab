"""Measures how long hostile texts block the window.

    python -m tests.attacks.measure_texts [--ways open,stream] [--texts "long answer;fences"] [--limit 50] [--times 3]

Prints the longest step of each text and way in milliseconds of the GUI thread's processor time, the longest by the
clock, and where it was; then the processor time of all steps.
Each text has a process of its own. The limit is that of what is explained; 0 explains all. Other programs make steps
seem longer, so of several times, the one with the shortest longest step counts.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import NamedTuple

from app.application import make_qt_application
from app.ui.text.formulas import formulas
from tests.attacks.gui import ACTS, WAYS, Stage, stage
from tests.attacks.texts import TEXTS
from tests.attacks.watchdog import Watchdog

_PATIENCE_S = 180
_NUM_STACKS = 4
_SHORT = "A short text.\n\n```python\nx = 1\n```\n\n|a|\n|-|\n|$b$|"


def main() -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    parser = argparse.ArgumentParser()
    parser.add_argument("--ways", default=",".join((*WAYS, *ACTS)))
    parser.add_argument("--texts", default="", help="parts of their names, with semicolons between them")
    parser.add_argument("--limit", type=float, default=50)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--alone", action="store_true", help="only the text with this name, in this process")
    options = parser.parse_args()
    if options.alone:
        _Measurement(options.texts, options.limit, options.times).measure(options.ways.split(","))
        return
    parts = options.texts.split(";")
    for name in TEXTS:
        if any(part in name for part in parts):
            _measure_alone(name, options)


def _measure_alone(name: str, options: argparse.Namespace) -> None:
    arguments = ["--ways", options.ways, "--texts", name, "--limit", str(options.limit), "--times", str(options.times)]
    command = [sys.executable, "-m", "tests.attacks.measure_texts", *arguments, "--alone"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"! {name}: exit {done.returncode}\n{done.stderr[-3000:]}", flush=True)


class _Measurement:
    """Measures one text."""

    def __init__(self, name: str, limit: float, num_times: int) -> None:
        self._name = name
        self._limit = limit
        self._num_times = num_times

    def measure(self, ways: Sequence[str]) -> None:
        qt = make_qt_application([])
        text = TEXTS[self._name]()
        for way in ways:
            if way in WAYS:
                self._print(way, [got_in(way, text) for _ in range(self._num_times)])
        acts = [way for way in ways if way in ACTS]
        if acts:
            with text_on_stage(text, acts) as on_stage:
                for way in acts:
                    self._print(way, [acted(way, on_stage) for _ in range(self._num_times)])
        # Without the slow end of the program.
        assert qt is not None
        sys.stdout.flush()
        os._exit(0)

    def _print(self, way: str, times: Sequence[Watched]) -> None:
        best = min(times, key=lambda watched: watched.watchdog.longest.cpu_ms)
        watchdog, cpu_ms = best.watchdog, best.watchdog.longest.cpu_ms
        mark = "!" if cpu_ms > 50 else " "
        in_all = f"in all {best.cpu_s:6.1f} of {best.wall_s:6.1f} s"
        wall = f"(wall {watchdog.longest_wall_ms:6.0f})"
        print(f"{mark} {way:9} {self._name:30} {cpu_ms:8.0f} ms {wall}   {in_all}", flush=True)
        if cpu_ms > self._limit:
            for place, count in watchdog.stacks.most_common(_NUM_STACKS):
                print(f"      {count:5} {place}", flush=True)


class Watched(NamedTuple):
    """The measurements of a watchdog."""

    watchdog: Watchdog
    cpu_s: float
    wall_s: float


def got_in(way: str, text: str) -> Watched:
    """Measure how a text gets into the window. Imports, and widgets that are made once, are not counted."""
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as on_stage:
        with Watchdog() as watchdog:
            WAYS[way](on_stage, _SHORT)(watchdog)
        # Pictures of formulas are drawn again.
        formulas.cache_clear()
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as on_stage:
        return _watched(WAYS[way](on_stage, text))


@contextlib.contextmanager
def text_on_stage(text: str, acts: Sequence[str]) -> Generator[Stage]:
    """Show a text in a window in which each action was done once with a short text."""
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as on_stage:
        on_stage.show(on_stage.plant(_SHORT))
        for way in acts:
            ACTS[way](on_stage)
        on_stage.show(on_stage.plant(text))
        yield on_stage


def acted(way: str, on_stage: Stage) -> Watched:
    """Measure what the user does with the text on the page."""
    return _watched(lambda _: ACTS[way](on_stage))


def _watched(run: Callable[[Watchdog], None]) -> Watched:
    faulthandler.dump_traceback_later(_PATIENCE_S, exit=True)
    began, began_cpu = time.perf_counter(), time.thread_time()
    with Watchdog() as watchdog:
        run(watchdog)
    faulthandler.cancel_dump_traceback_later()
    return Watched(watchdog, time.thread_time() - began_cpu, time.perf_counter() - began)


if __name__ == "__main__":
    main()
