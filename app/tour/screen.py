"""A screen where there is none, large enough for the window and what opens over it."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

OFFSCREEN = "offscreen"
"""Qt's platform without a display; by itself its screen has 800 × 800 pixels."""
_CAN_NOT = "This plugin does not support "
"""So it says of what needs a window manager."""


def offscreen_of(folder: Path, width_px: int = 1600, height_px: int = 1000) -> str:
    """Describe such a screen in a file; return the platform as Qt is to be told of it."""
    dots = {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}
    screen = {"name": "screen", "x": 0, "y": 0, "width": width_px, "height": height_px, **dots}
    file = folder / "screen.json"
    file.write_text(json.dumps({"screens": [screen]}), encoding="utf-8")
    return f"{OFFSCREEN}:configfile={file}"


@contextmanager
def without_a_manager() -> Generator[None]:
    """Let Qt not tell that windows can't be raised where there is nobody who raises them."""

    def tell(_kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
        if not message.startswith(_CAN_NOT):
            print(message, file=sys.stderr)  # noqa: T201

    # Held here as long as Qt may call it.
    before = qInstallMessageHandler(tell)
    try:
        yield
    finally:
        qInstallMessageHandler(before)
