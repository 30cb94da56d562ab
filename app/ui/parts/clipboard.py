"""The clipboard at the end of the program."""

from __future__ import annotations

import shiboken6
from PySide6.QtGui import QGuiApplication


def leave_plain_text() -> None:
    """Let plain text alone stay there: what Python made can't outlive it, and Qt would ask for it (and crash)."""
    clipboard = QGuiApplication.clipboard()
    if shiboken6.createdByPython(clipboard.mimeData()):
        clipboard.setText(clipboard.text())
