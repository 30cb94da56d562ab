"""Finds out whether a window can be opened, without Qt, which would end the program if there is no display."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
from pathlib import Path

_PATIENCE_S = 3.0
_FIRST_X_PORT = 6000
_X_NAME = re.compile(r"(?P<host>[^:/]*):(?P<number>\d{1,4})(?:\.\d+)?")


def has_display() -> bool:
    """Return whether a display server responds; True if only Qt can find this out."""
    if sys.platform != "linux" or "QT_QPA_PLATFORM" in os.environ:
        return True
    wayland, x = os.environ.get("WAYLAND_DISPLAY"), os.environ.get("DISPLAY")
    return bool((wayland and _answers_as_wayland(wayland)) or (x and _answers_as_x(x)))


def named_displays() -> str:
    """Return the displays that the environment names, as text; empty if there are none."""
    names = (name for name in ("WAYLAND_DISPLAY", "DISPLAY") if os.environ.get(name))
    return ", ".join(f"{name}={os.environ[name]}" for name in names)


def _answers_as_wayland(name: str) -> bool:
    return _answers(str(Path(os.environ.get("XDG_RUNTIME_DIR", "/"), name)))


def _answers_as_x(name: str) -> bool:
    parts = _X_NAME.fullmatch(name)
    if parts is None:
        return True
    if parts["host"] in {"", "unix"}:
        path = f"/tmp/.X11-unix/X{parts['number']}"  # noqa: S108 (fixed by X)
        return _answers(f"\0{path}") or _answers(path)
    with contextlib.suppress(OSError):
        address = (parts["host"], _FIRST_X_PORT + int(parts["number"]))
        with socket.create_connection(address, timeout=_PATIENCE_S):
            return True
    return False


def _answers(path: str) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE_S)
        connection.connect(path)
        return True
    return False
