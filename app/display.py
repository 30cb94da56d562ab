"""Whether a window can be opened here; no Qt, which ends the program where it can't."""

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
    """Whether a display answers; where nobody can tell, Qt is to find out."""
    if sys.platform != "linux" or "QT_QPA_PLATFORM" in os.environ:
        return True
    wayland, x = os.environ.get("WAYLAND_DISPLAY"), os.environ.get("DISPLAY")
    return bool((wayland and _answers_as_wayland(wayland)) or (x and _answers_as_x(x)))


def named_displays() -> str:
    """Return what the environment names as displays, to be told; empty if it names none."""
    names = (name for name in ("WAYLAND_DISPLAY", "DISPLAY") if os.environ.get(name))
    return ", ".join(f"{name}={os.environ[name]}" for name in names)


def _answers_as_wayland(name: str) -> bool:
    return _answers(str(Path(os.environ.get("XDG_RUNTIME_DIR", "/"), name)))


def _answers_as_x(name: str) -> bool:
    named = _X_NAME.fullmatch(name)
    if named is None:
        return True
    if named["host"] in {"", "unix"}:
        place = f"/tmp/.X11-unix/X{named['number']}"  # noqa: S108 (where X has it)
        return _answers(f"\0{place}") or _answers(place)
    with contextlib.suppress(OSError):
        address = (named["host"], _FIRST_X_PORT + int(named["number"]))
        with socket.create_connection(address, timeout=_PATIENCE_S):
            return True
    return False


def _answers(place: str) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_PATIENCE_S)
        connection.connect(place)
        return True
    return False
