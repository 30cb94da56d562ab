"""`bough tour` as a program: pictures, transcript and report if all is well, otherwise exit code 1."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from readme_pictures import FROM_TOUR, tour_picture

from tests.driver import ROOT

STEPS = (
    "load", "ask", "regenerate", "regenerate with", "compare", "ask on", "edit an earlier question", "switch back",
    "tree", "three side by side", "keep one", "undo and redo", "tokens", "find", "form", "attach", "fork",
    "search everything", "palette", "export", "settings",
)  # fmt: skip
_PICTURES = ROOT / "resources" / "pictures"
_NUM_FLAT = 2
"""With any fonts, this many of the most common colours cover most of a picture."""


def tour(out: Path, *, root: Path = ROOT, data: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Play the tour without a starter, or with the one in the folder `data` of the user's files."""
    environment = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "QT_QPA_PLATFORM"}}
    return subprocess.run(
        [sys.executable, "-m", "app", "--data-dir", str(data or out / "none"), "tour", "--out", str(out)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def test_the_tour_plays_every_step_and_leaves_pictures_transcript_and_report(tmp_path: Path) -> None:
    out = tmp_path / "made" / "tour"
    out.mkdir(parents=True)
    (out / "99-of-an-earlier-tour.png").touch()
    done = tour(out)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((out / "tour.json").read_text())
    assert (report["ok"], report["error"]) == (True, None)
    assert [step["step"] for step in report["steps"]] == list(STEPS)
    pictures = sorted(out.glob("*.png"))
    assert [picture.name[:2] for picture in pictures] == [f"{number:02}" for number in range(1, len(pictures) + 1)]
    assert len(pictures) >= len(STEPS)
    assert not any(QImage(str(picture)).isNull() for picture in pictures)
    transcript = (out / "transcript.md").read_text()
    assert "## You\n\nWhat is a branch?" in transcript
    assert "## Answer · guide · " in transcript
    # README's pictures show the program as it is.
    for name in FROM_TOUR:
        shown, now = QImage(str(_PICTURES / name)), QImage(str(tour_picture(out, name)))
        # Lines are a little higher or lower with other fonts.
        sizes = (shown.width(), pytest.approx(shown.height(), rel=0.05))
        assert (now.width(), now.height()) == sizes, f"`make readme-pictures`: {name} has another size"
        assert _flat_colours(shown) == _flat_colours(now), f"`make readme-pictures`: {name} looks otherwise"


def test_readme_shows_pictures_that_exist() -> None:
    named = set(re.findall(r"resources/pictures/([\w-]+\.png)", (ROOT / "README.md").read_text()))
    assert named == set(FROM_TOUR) == {picture.name for picture in _PICTURES.iterdir()}
    assert all(picture.stat().st_size < 150_000 for picture in _PICTURES.iterdir())


def _flat_colours(picture: QImage) -> set[int]:
    """Return the most common colours of a picture."""
    shown = picture.convertToFormat(QImage.Format.Format_RGB32)
    counted = Counter(memoryview(shown.constBits()).cast("B").cast("I").tolist())
    return {colour for colour, _ in counted.most_common(_NUM_FLAT)}


@pytest.fixture
def broken_checkout(tmp_path: Path) -> Path:
    """The program with a guide model whose weights are cut in the middle."""
    root = tmp_path / "checkout"
    for folder in ("app", "worker", "resources"):
        # With the compiled modules, as compiling them takes seconds; other tests may be writing some at this moment.
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("*.pyc.*"))
    for weights in (root / "resources" / "guide").glob("*.safetensors"):
        weights.write_bytes(weights.read_bytes()[:100_000])
    return root


def test_a_tour_without_a_loadable_model_says_why_and_exits_1(tmp_path: Path, broken_checkout: Path) -> None:
    done = tour(tmp_path / "tour", root=broken_checkout)
    assert done.returncode == 1
    report = json.loads((tmp_path / "tour" / "tour.json").read_text())
    assert (report["ok"], report["steps"]) == (False, [])
    assert "The guide model did not load: " in report["error"]
    assert "bytes are missing at its end" in report["error"]
    assert done.stderr == f"The tour went wrong: {report['error']}\n"


def test_an_exception_in_a_slot_makes_the_tour_exit_1(tmp_path: Path) -> None:
    """Qt survives an exception in a slot; a tour must not."""
    broken = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
import app.tour.play

def fail():
    raise RuntimeError("broken on purpose")

def make(arguments, make=app.tour.play.make_qt_application):
    application = make(arguments)
    QTimer.singleShot(0, fail)
    return application

app.tour.play.make_qt_application = make
if __name__ == "__main__":
    sys.exit(app.tour.play.play_tour(Path(sys.argv[1])))
"""
    script = tmp_path / "broken.py"
    script.write_text(broken)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "tour")],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 1
    assert "broken on purpose" in json.loads((tmp_path / "tour" / "tour.json").read_text())["error"]


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = tour(tmp_path / "file")
    assert done.returncode == 1
    assert done.stderr == f"The tour can't write to {tmp_path / 'file'} (File exists). Name another folder.\n"
