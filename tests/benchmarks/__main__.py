"""`make bench`: measure Bough and its peers in turn; print a table and write the same rows to build/bench.json.

Each area runs in its own process. Rows are printed and written as they arrive.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.benchmarks.area import rows_of
from tests.benchmarks.measure import Row

_AREAS = {
    "decode": 180,
    "latency": 15,
    "start": 80,
    "text_stream": 25,
    "texts": 400,
    "prefill": 30,
    "prompt_cache": 60,
    "several": 120,
    "real_weights": 300,
    "serving": 180,
    "plan": 25,
    "projects": 15,
    "drafts": 10,
    "store": 120,
    "search": 90,
    "control": 240,
    "export": 170,
    "fetch": 60,
    "fit": 180,
    "tree_view": 15,
    "window": 60,
}
"""The approximate duration of each area in seconds, on two idle cores."""
_OUT = Path("build/bench.json")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure Bough against its peers.")
    parser.add_argument("--only", choices=_AREAS, metavar="AREA", help=f"one of {', '.join(_AREAS)}")
    parser.add_argument("--long", action="store_true", help="measure what takes minutes, too: a million messages")
    chosen = parser.parse_args()
    if chosen.long:
        os.environ["BOUGH_BENCH_LONG"] = "1"
    rows: list[Row] = []
    try:
        for row in _measured([chosen.only] if chosen.only else list(_AREAS)):
            rows.append(row)
            _write(rows)
            print("  ".join(_cells(row)), flush=True)
    except KeyboardInterrupt:
        print("\nStopped.")
    print()
    for line in _table(rows):
        print(line)
    print(f"\nThe same rows are in {_OUT}.")
    return 1 if any(row["failure"] for row in rows) else 0


def _measured(areas: Sequence[str]) -> Iterator[Row]:
    """Measure the areas one after another; print the remaining time before each."""
    began, done_s = time.monotonic(), 0
    for number, area in enumerate(areas):
        left_s = sum(_AREAS[later] for later in areas[number:])
        if done_s:
            left_s *= (time.monotonic() - began) / done_s
        print(f"\n[{number + 1} of {len(areas)}] {area}: about {max(1, round(left_s / 60))} min left", flush=True)
        yield from rows_of(area)
        done_s += _AREAS[area]


def _write(rows: Sequence[Row]) -> None:
    """Write all rows so far. A reader never sees half a file."""
    _OUT.parent.mkdir(exist_ok=True)
    beside = _OUT.with_suffix(".new")
    beside.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(_OUT)


def _table(rows: Iterable[Row]) -> list[str]:
    lines = [("area", "name", "Bough", "peer", "", "ratio", "spread", "goal", "met"), *map(_cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row["area"],
        f"FAILED: {row['failure']}" if row["failure"] else row["name"],
        _figure(row["bough"]),
        _figure(row["peer"]),
        row["peer_name"] or "",
        _figure(row["ratio"]),
        f"{row['spread']:.0%}" if row["spread"] is not None else "",
        row["goal"] or "",
        {True: "yes", False: "NO", None: ""}[row["met"]],
    )


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


if __name__ == "__main__":
    sys.exit(main())
