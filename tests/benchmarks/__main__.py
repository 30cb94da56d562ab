"""`make bench`: peers and Bough in turn, in one run; a table on screen and the same rows in build/bench.json."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.benchmarks.measure import Row
from worker.blas import preload

_AREAS = (
    "decode",
    "latency",
    "start",
    "text_stream",
    "prompt_cache",
    "several",
    "plan",
    "drafts",
    "store",
    "control",
    "export",
    "tree_view",
    "window",
)
_OUT = Path("build/bench.json")


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure Bough against its peers.")
    parser.add_argument("--only", help="an area, or a part of a measurement's name")
    parser.add_argument("--long", action="store_true", help="measure what takes minutes, too: a million messages")
    chosen = parser.parse_args()
    if chosen.long:
        os.environ["BOUGH_BENCH_LONG"] = "1"
    preload()
    only: str | None = chosen.only
    areas = [only] if only in _AREAS else list(_AREAS)
    rows: list[Row] = []
    for area in areas:
        rows += importlib.import_module(f"tests.benchmarks.{area}").rows()
    if only is not None and only not in _AREAS:
        rows = [row for row in rows if only in row["name"]]
    _OUT.parent.mkdir(exist_ok=True)
    _OUT.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for line in _table(rows):
        print(line)
    print(f"\nThe same rows are in {_OUT}.")
    return 0


def _table(rows: Iterable[Row]) -> list[str]:
    heads = ("area", "name", "Bough", "peer", "", "ratio", "spread", "goal", "met")
    cells = [heads] + [
        (
            row["area"],
            row["name"],
            _figure(row["bough"]),
            _figure(row["peer"]),
            row["peer_name"] or "",
            _figure(row["ratio"]),
            f"{row['spread']:.0%}" if row["spread"] is not None else "",
            row["goal"] or "",
            {True: "yes", False: "NO", None: ""}[row["met"]],
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


if __name__ == "__main__":
    sys.exit(main())
