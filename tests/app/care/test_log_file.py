"""The log: a limited number of files, one for several programs, and none where none can be written."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path

from app.care.log_file import NUM_KEPT, LogFile

_log = logging.getLogger("app.care.test")


def test_lines_have_a_time_a_level_and_a_place(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "logs", "bough.log")
    _log.info("There are %d", 3)
    logging.getLogger("worker.x").warning("A draft failed")
    logging.getLogger("httpx").warning("GET https://example.org")
    log.close()
    _log.info("After the end")
    lines = log.path.read_text(encoding="utf-8").splitlines()
    said = [line.split(" ", 2)[2] for line in lines]
    assert said[0].startswith("INFO    app.care.log_file: Bough begins, process ")
    assert said[1:3] == ["INFO    app.care.test: There are 3", "WARNING worker.x: A draft failed"]
    assert "example.org" not in said[3]
    assert said[4:] == ["INFO    app.care.log_file: Bough ends"]
    assert {path.stat().st_mode & 0o077 for path in (log.path, log.path.parent)} == {0}


def test_full_files_are_replaced_and_the_oldest_go(tmp_path: Path) -> None:
    log, other = (LogFile(tmp_path, "bough.log", max_bytes=2000) for _ in range(2))
    for number in range(300):
        _log.info("Line %d", number)
    for one in (log, other):
        one.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["bough.log", *(f"bough.log.{number}" for number in range(1, NUM_KEPT + 1))]
    assert all(file.stat().st_size <= 2000 for file in files)
    # Both programs wrote their last lines into the present file.
    assert log.path.read_text(encoding="utf-8").count("Line 299\n") == 2


def test_without_a_folder_the_program_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = LogFile(tmp_path / "file" / "logs", "bough.log")
    _log.info("Nobody hears this")
    log.close()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_error_that_nobody_catches_is_logged_and_still_printed(tmp_path: Path) -> None:
    printed: list[object] = []
    before = threading.excepthook
    threading.excepthook = lambda found: printed.append(found.exc_value)
    hooks = sys.excepthook, threading.excepthook
    log = LogFile(tmp_path, "bough.log")
    thread = threading.Thread(target=lambda: int("the otter"))
    thread.start()
    thread.join()
    log.close()
    assert (sys.excepthook, threading.excepthook) == hooks
    threading.excepthook = before
    text = log.path.read_text(encoding="utf-8")
    assert "ERROR   app: An error was not expected in a thread\n" in text
    assert "ValueError" in text
    assert "otter" not in text
    assert [type(error) for error in printed] == [ValueError]
