"""The estimate of a model's memory against the measured peak of its worker, at three context lengths. Linux only.

The starter, and a llama of random weights that takes 770 MB in float32.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measure import Row, compared
from tests.benchmarks.memory import CONFIGS, measure, write_large_model
from tests.benchmarks.starter import starter

_AREA = "fit"
_LENGTHS = (2048, 4096, 8192)
_MOST_OFF = 0.1


def rows() -> Iterator[Row]:
    if sys.platform != "linux":
        return
    with tempfile.TemporaryDirectory(prefix="bough-fit-") as temporary:
        folders = {"random llama": write_large_model(Path(temporary) / "llama", CONFIGS["llama"])}
        found = starter()
        if found is not None:
            folders["SmolLM2"] = found
        for name, folder in folders.items():
            for length in _LENGTHS:
                yield _row(name, folder, length)


def _row(name: str, folder: Path, length: int) -> Row:
    found = measure(folder, length)
    name = f"memory of {name} at {length:,} tokens, MB"
    row = compared(_AREA, name, [found.estimate / 1e6], "measured peak", [found.peak / 1e6])
    off = abs(found.estimate / found.peak - 1)
    row["goal"], row["met"] = f"within {_MOST_OFF:.0%}", off <= _MOST_OFF
    return row
