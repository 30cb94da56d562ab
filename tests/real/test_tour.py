"""The tour with the starter: it begins with a real model, and continues with the guide beside it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.end_to_end.test_tour import STEPS, tour


def test_the_tour_begins_with_the_starter(starter: Path, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "SmolLM2-135M-Instruct").symlink_to(starter, target_is_directory=True)
    done = tour(tmp_path / "tour", data=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    steps = json.loads((tmp_path / "tour" / "tour.json").read_text())["steps"]
    assert [step["step"] for step in steps] == [STEPS[0], "starter", *STEPS[1:]]
    assert steps[0]["parameters"] > 100_000_000
    assert list(starter.iterdir()) != []
