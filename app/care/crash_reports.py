"""Crash reports: text files on this computer, which are never sent. They contain no text of the user.

While the program runs, it has a file that Python writes to when the program crashes. The next start finds it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO

from app.model.own_files import make_folder, open_own

MAX_REPORTS = 10
_MAX_BYTES = 1 << 20
_RUNNING = ".running"
_MARKS = ("\nFatal Python error", "\nThe program ended by an error")
"""Lines with which a crash begins, in the file of a running program."""


class CrashReports:
    """The reports in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: IO[str] | None = None

    def begin(self) -> None:
        """Record a crash of this process in a file from now on. Do nothing if the folder can't be written."""
        with contextlib.suppress(OSError):
            make_folder(self.folder)
            path = self.folder / f"{_now():%Y-%m-%d %H-%M-%S} bough {os.getpid()}{_RUNNING}"
            file = open(path, "w", encoding="utf-8", opener=open_own)  # noqa: SIM115 (open until the end)
            with contextlib.suppress(OSError):  # the file system has no locks
                # It is released when this process ends, however it ends.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(f"Bough stopped unexpectedly.\nIt was started at {_now():%c}.\n")
            file.flush()
            faulthandler.enable(file)
            self._running = file

    def add_facts(self) -> None:
        """Add facts about this program and this computer to the file. This takes time, so it is not done in `begin`."""
        if self._running is not None:
            with contextlib.suppress(OSError):
                self._running.write("\n".join([*_facts(), "", ""]))
                self._running.flush()

    def note(self, error: BaseException) -> None:
        """Record an exception that ends the program."""
        # Slow to import, and few starts end like this.
        from worker.logs import lines_of

        if self._running is not None:
            with contextlib.suppress(OSError):
                self._running.write("\n".join(["The program ended by an error.", *lines_of(error), ""]))
                self._running.flush()

    def end(self) -> None:
        """Stop recording, because the program ends normally."""
        file, self._running = self._running, None
        if file is not None:
            faulthandler.disable()
            with contextlib.suppress(OSError):
                if not _has_crash(Path(file.name).read_text("utf-8", "replace")):
                    Path(file.name).unlink()
                file.close()

    def collect(self) -> Path | None:
        """Turn the files of crashed programs into reports. Return the newest report; None if there is none."""
        newest: Path | None = None
        for path in self._files(_RUNNING):
            with contextlib.suppress(OSError, ValueError), path.open("r+", encoding="utf-8", errors="replace") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    # That program is still running.
                    continue
                if _has_crash(file.read(_MAX_BYTES)):
                    newest = path.rename(path.with_suffix(".txt"))
                else:
                    # It was killed, or the power failed.
                    path.unlink()
        self._keep_few()
        return newest

    def write(self, what: str, lines: Iterable[str]) -> Path | None:
        """Write a report with the first line `what`. Return its path; None if it can't be written."""
        now = _now()
        path = self.folder / f"{now:%Y-%m-%d %H-%M-%S} model process {now.microsecond:06}.txt"
        try:
            make_folder(self.folder)
            with open(path, "w", encoding="utf-8", errors="backslashreplace", opener=open_own) as file:
                file.write("\n".join([what, f"That was at {now:%c}.", *_facts(), "", *lines, ""]))
        except OSError:
            return None
        self._keep_few()
        return path

    def all(self) -> list[Path]:
        """Return the reports, oldest first."""
        return self._files(".txt")

    def _files(self, suffix: str) -> list[Path]:
        with contextlib.suppress(OSError):
            return sorted(path for path in self.folder.iterdir() if path.suffix == suffix and path.is_file())
        return []

    def _keep_few(self) -> None:
        reports: Sequence[Path] = self.all()
        for path in reports[: max(len(reports) - MAX_REPORTS, 0)]:
            with contextlib.suppress(OSError):
                path.unlink()


def _facts() -> list[str]:
    """Return lines about this program and this computer."""
    import platform

    from worker.surroundings import program_version

    return [
        f"Bough {program_version()}, Python {platform.python_version()}",
        f"{platform.system()} {platform.release()} {platform.machine()}",
    ]


def _has_crash(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


def _now() -> datetime:
    return datetime.now().astimezone()
