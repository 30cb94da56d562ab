"""Reports of crashes of this program: found at the next start, few, and without users' texts."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.care.crash_reports import MAX_REPORTS, CrashReports
from tests.driver import ROOT

_SECRET = "the otter hid its letters below the mill"
_PROGRAM = """
import os, signal, sys
from pathlib import Path
from app.care.crash_reports import CrashReports
reports = CrashReports(Path(sys.argv[1]))
reports.begin()
reports.add_facts()
try:
    print("begun", flush=True)
    if sys.argv[2] == "waits":
        sys.stdin.readline()
    elif sys.argv[2] == "raises":
        raise ValueError(sys.argv[3])
    elif sys.argv[2] != "ends":
        os.kill(os.getpid(), int(sys.argv[2]))
except Exception as error:
    reports.note(error)
    raise
finally:
    reports.end()
"""


def _run(folder: Path, how: str) -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(folder), how, _SECRET],
        cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert program.stdout is not None
    assert program.stdout.readline() == "begun\n"
    return program


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (str(int(signal.SIGSEGV)), "Fatal Python error: Segmentation fault"),
        (str(int(signal.SIGABRT)), "Fatal Python error: Aborted"),
        ("raises", "The program ended by an error.\n  <string>:13 in <module>\nValueError\n"),
    ],
)
def test_a_crash_leaves_a_report_for_the_next_start(tmp_path: Path, how: str, says: str) -> None:
    with _run(tmp_path, how) as program:
        assert program.wait(60) != 0
    reports = CrashReports(tmp_path)
    report = reports.collect()
    assert report is not None
    text = report.read_text(encoding="utf-8")
    assert text.startswith("Bough stopped unexpectedly.\nIt was started at ")
    assert "\nBough " in text
    assert says in text
    assert _SECRET not in text
    assert reports.all() == [report]
    assert reports.collect() is None


@pytest.mark.parametrize("how", ["ends", str(int(signal.SIGKILL))])
def test_a_program_that_ends_or_is_killed_leaves_nothing(tmp_path: Path, how: str) -> None:
    with _run(tmp_path, how) as program:
        program.wait(60)
    assert CrashReports(tmp_path).collect() is None
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_runs_is_left_alone(tmp_path: Path) -> None:
    with _run(tmp_path, "waits") as program:
        own = CrashReports(tmp_path)
        own.begin()
        assert own.collect() is None
        assert len(list(tmp_path.iterdir())) == 2
        own.end()
        program.kill()
    assert CrashReports(tmp_path).collect() is None
    assert list(tmp_path.iterdir()) == []


def test_only_the_newest_reports_are_kept_and_only_for_the_user(tmp_path: Path) -> None:
    reports = CrashReports(tmp_path / "reports")
    made = [reports.write(f"It stopped, {number}.", ["a line"]) for number in range(MAX_REPORTS + 3)]
    assert reports.all() == made[3:]
    assert MAX_REPORTS == 10
    assert "It stopped, 12." in reports.all()[-1].read_text(encoding="utf-8")
    assert {path.stat().st_mode & 0o077 for path in (reports.folder, *reports.all())} == {0}


def test_without_a_folder_nothing_is_kept_and_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    reports = CrashReports(tmp_path / "file" / "reports")
    reports.begin()
    reports.add_facts()
    assert reports.collect() is None
    assert reports.write("It stopped.", []) is None
    reports.end()
