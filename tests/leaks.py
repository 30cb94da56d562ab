"""Finds what a test leaves behind: threads, processes, windows."""

from __future__ import annotations

import threading

import psutil
from PySide6.QtWidgets import QApplication

from tests.forking import server_pid


class Leaks:
    """Remembers what existed when it was made."""

    def __init__(self) -> None:
        self._threads = set(threading.enumerate())
        self._processes = _processes()

    def check(self) -> None:
        """Fail if there is more now."""
        for thread in threading.enumerate():
            if thread.name == "file writer":
                thread.join()  # It ends once its file is written.
        assert set(threading.enumerate()) <= self._threads
        assert _processes() <= self._processes
        assert [window for window in QApplication.topLevelWidgets() if window.isVisible()] == []


def _processes() -> set[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    # These processes live until the end of this one.
    return {
        child
        for child in children
        if child.pid != server_pid() and not any("resource_tracker" in word for word in _command_line(child))
    }


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return ["resource_tracker"]
