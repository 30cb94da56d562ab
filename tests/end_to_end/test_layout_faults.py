"""Nothing is cut off and nothing overlaps, on common screens and with large text in a low window, in each language."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.driver import ROOT
from tests.long import in_long_runs


@pytest.mark.parametrize(
    ("scale", "language", "percent"),
    [
        ("2", "de", "150"),
        *in_long_runs([("1", "en", "100"), ("1", "de", "150"), ("1", "en", "200"), ("1", "de", "200")]),
    ],
)
def test_nothing_is_cut_off_or_overlaps_in_any_scene(scale: str, language: str, percent: str) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.layout_faults", language, percent],
        cwd=ROOT,
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": scale},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout) == (0, ""), found.stderr[-2000:]
