"""Measures how long hostile texts block the window.

    python -m tests.attacks.measure_texts [--ways open,stream] [--texts "long answer;fences"] [--limit 50]

Prints the longest step of each text and way in milliseconds of the GUI thread's processor time, and where it was.
Each text has a process of its own. The limit is that of what is explained; 0 explains all.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

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
    parser.add_argument("--alone", action="store_true", help="only the text with this name, in this process")
    options = parser.parse_args()
    if options.alone:
        _measure(options.texts, options.ways.split(","), options.limit)
        return
    parts = options.texts.split(";")
    for name in TEXTS:
        if any(part in name for part in parts):
            _measure_alone(name, options)


def _measure_alone(name: str, options: argparse.Namespace) -> None:
    arguments = ["--ways", options.ways, "--texts", name, "--limit", str(options.limit), "--alone"]
    command = [sys.executable, "-m", "tests.attacks.measure_texts", *arguments]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"! {name}: exit {done.returncode}\n{done.stderr[-3000:]}", flush=True)


def _measure(name: str, ways: Sequence[str], limit: float) -> None:
    qt = make_qt_application([])
    text = TEXTS[name]()
    # Imports, and widgets that are made once, are no matter of the text.
    for way in ways:
        if way in WAYS:
            with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as on_stage:
                with Watchdog() as watchdog:
                    WAYS[way](on_stage, _SHORT)(watchdog)
                # Pictures of formulas are drawn again.
                formulas.cache_clear()
            with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as on_stage:
                _watch(way, name, limit, WAYS[way](on_stage, text))
    acts = [way for way in ways if way in ACTS]
    if acts:
        with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as on_stage:
            on_stage.show(on_stage.plant(_SHORT))
            for way in acts:
                ACTS[way](on_stage)
            on_stage.show(on_stage.plant(text))
            for way in acts:
                _watch(way, name, limit, _act(way, on_stage))
    # Without the slow end of the program.
    assert qt is not None
    sys.stdout.flush()
    os._exit(0)


def _act(way: str, on_stage: Stage) -> Callable[[Watchdog], None]:
    return lambda _: ACTS[way](on_stage)


def _watch(way: str, name: str, limit: float, run: Callable[[Watchdog], None]) -> None:
    faulthandler.dump_traceback_later(_PATIENCE_S, exit=True)
    began = time.perf_counter()
    with Watchdog() as watchdog:
        run(watchdog)
    took = time.perf_counter() - began
    faulthandler.cancel_dump_traceback_later()
    cpu_ms = watchdog.longest.cpu_ms
    mark = "!" if cpu_ms > 50 else " "
    print(f"{mark} {way:9} {name:30} {cpu_ms:8.0f} ms   in all {took:6.1f} s", flush=True)
    if cpu_ms > limit:
        for place, count in watchdog.stacks.most_common(_NUM_STACKS):
            print(f"      {count:5} {place}", flush=True)


if __name__ == "__main__":
    main()
