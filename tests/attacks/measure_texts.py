"""Measures how long each hostile text blocks the window: `python -m tests.attacks.measure_texts [ways] [texts]`."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from app.application import make_qt_application
from tests.attacks.gui import WAYS, stage
from tests.attacks.texts import TEXTS
from tests.attacks.watchdog import Watchdog

_PATIENCE_S = 120
_NUM_STACKS = 3


def _measure(way: str, name: str) -> None:
    qt = make_qt_application([])
    text = TEXTS[name]()
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as on_stage:
        run = WAYS[way](on_stage, text)
        faulthandler.dump_traceback_later(_PATIENCE_S - 5, exit=True)
        began = time.perf_counter()
        with Watchdog() as watchdog:
            run(watchdog)
        took = time.perf_counter() - began
        faulthandler.cancel_dump_traceback_later()
        longest = watchdog.longest
        wall = max((block.wall_ms for block in watchdog.blocks), default=0)
        mark = "!" if longest.cpu_ms > 50 else " "
        print(
            f"{mark} {way:9} {name:32} cpu {longest.cpu_ms:8.0f} ms  wall {wall:8.0f} ms  in all {took:6.1f} s",
            flush=True,
        )
        if longest.cpu_ms > 50:
            for place, count in watchdog.stacks.most_common(_NUM_STACKS):
                print(f"      {count:5} {place}", flush=True)
    _ = qt


def main() -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    chosen, parts, *one = [*sys.argv[1:], "", ""][:3] if len(sys.argv) < 4 else sys.argv[1:]
    if one == ["alone"]:
        _measure(chosen, parts)
        return
    ways = [way for way in WAYS if not chosen or way in chosen.split(",")]
    names = [name for name in TEXTS if any(part in name for part in parts.split(";"))]
    for way in ways:
        for name in names:
            command = [sys.executable, "-m", "tests.attacks.measure_texts", way, name, "alone"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=2 * _PATIENCE_S, check=False)
            except subprocess.TimeoutExpired:
                print(f"! {way:9} {name:32} never ends", flush=True)
                continue
            print(done.stdout, end="", flush=True)
            if done.returncode:
                print(f"! {way:9} {name:32} exit {done.returncode}\n{done.stderr[-1500:]}", flush=True)


if __name__ == "__main__":
    main()
