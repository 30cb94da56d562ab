"""Starts of processes: standard streams may be closed, the working folder may be gone, Ctrl+C may come at any time.

Also the version of the program that starts.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

_STANDARD = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def program_version() -> str:
    """Return Bough's version, as its installed metadata give it; "unknown" if Bough runs without being installed."""
    # Slow to import, and rarely needed.
    import importlib.metadata

    try:
        return importlib.metadata.version("bough")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def is_bundle() -> bool:
    """Return whether this is an installed bundle, which has a Python of its own."""
    return getattr(sys, "frozen", False)


def restore_library_path() -> None:
    """Let programs that Bough starts, such as the browser, use the system's libraries instead of the bundle's.

    On Linux, a bundle's start sets the variable and runs the program again, so that the linker sees it. Further
    processes of Bough would take the variable for granted, so they are asked to begin as the first one did.
    """
    if sys.platform == "linux" and is_bundle():
        before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
        os.environ.pop("LD_LIBRARY_PATH", None)
        if before is not None:
            os.environ["LD_LIBRARY_PATH"] = before
        # PyInstaller's name. A process that begins so removes it from its own environment.
        os.environ["PYINSTALLER_RESET_ENVIRONMENT"] = "1"


def open_missing_streams() -> None:
    """Open the null device in place of closed standard streams.

    Otherwise files that are opened later, such as the conversations, would get their descriptors, and what libraries
    print would be written into these files.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < len(_STANDARD):
        pass
    os.close(descriptor)
    for number, (name, mode) in enumerate(_STANDARD):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 (open until the end)


def has_folder() -> bool:
    """Return whether the working folder still exists. Without one, Python can't start a process."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def start(process: BaseProcess) -> None:
    """Start a spawned process. It does not get the Ctrl+C of the terminal, and needs no working folder.

    Raises `OSError`.
    """
    if not has_folder():
        os.chdir("/")
    # The child inherits the blocked signal, so Ctrl+C does not end it even while Python starts there.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
