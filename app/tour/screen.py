"""An offscreen display large enough for the window and its popovers, and pictures of windows."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QEvent, QMessageLogContext, QPoint, Qt, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

OFFSCREEN = "offscreen"
"""Qt's platform without a display; its screen has 800 × 800 pixels by default."""
_NOT_SUPPORTED = "This plugin does not support "
"""The beginning of the warnings that the platform prints for calls that need a window manager."""
_FLOATING = frozenset({Qt.WindowType.Popup, Qt.WindowType.ToolTip})


def offscreen_of(folder: Path, width_px: int = 1600, height_px: int = 1000) -> str:
    """Write a file that describes such a screen; return the value of `QT_QPA_PLATFORM` that uses it."""
    density = {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}
    screen = {"name": "screen", "x": 0, "y": 0, "width": width_px, "height": height_px, **density}
    file = folder / "screen.json"
    file.write_text(json.dumps({"screens": [screen]}), encoding="utf-8")
    return f"{OFFSCREEN}:configfile={file}"


@contextmanager
def no_window_manager_warnings() -> Generator[None]:
    """Silence Qt's warnings that the offscreen platform can't raise windows."""

    def print_others(_kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
        if not message.startswith(_NOT_SUPPORTED):
            print(message, file=sys.stderr)  # noqa: T201

    # The local variable keeps the handler alive while Qt may call it.
    before = qInstallMessageHandler(print_others)
    try:
        yield
    finally:
        qInstallMessageHandler(before)


def photograph(window: QWidget) -> QPixmap:
    """Return a picture of a window with the popups and tool tips over it."""
    # Painting waits for pending layout, but taking a picture does not.
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    picture = window.grab()
    painter = QPainter(picture)
    for widget in QApplication.topLevelWidgets():
        if widget.isVisible() and widget.windowType() in _FLOATING:
            painter.drawPixmap(window.mapFromGlobal(widget.mapToGlobal(QPoint())), widget.grab())
    painter.end()
    return picture
