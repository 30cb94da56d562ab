"""Updates a store of an older version before the window opens. A small window says so if this takes long."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEventLoop, Qt, QTimer
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QLabel, QProgressBar, QVBoxLayout, QWidget
from typing_extensions import override

from app.model.migrations import MIGRATIONS
from app.model.store import Store
from app.ui.languages import Language, language_in_use

_PATIENCE_MS = 300
"""Most updates are finished by then, and no window is shown."""
_LOOK_MS = 10
_WIDTH_PX = 420
_VERSION_BYTES = slice(60, 64)
"""The bytes of the version in the header of a SQLite file."""


def update_store(path: Path, language: str, *, was_used: bool, patience_ms: int = _PATIENCE_MS) -> None:
    """Back up and update a store of an older version, in a thread. Return when that is done, or has failed.

    After `patience_ms` a small window says so in the user's `language`. A failure is raised when the store is opened.
    """
    if not _is_older(path):
        return
    loop, look = QEventLoop(), QTimer(interval=_LOOK_MS)
    thread = threading.Thread(target=_update, args=(path, was_used), name="update of the store")
    shown = Language()
    shown.switch_to(language_in_use(language))
    window = _UpdateWindow()
    patience = QTimer(interval=patience_ms, singleShot=True)
    patience.timeout.connect(window.show)
    look.timeout.connect(lambda: None if thread.is_alive() else loop.quit())
    thread.start()
    patience.start()
    look.start()
    loop.exec()
    patience.stop()
    look.stop()
    window.hide()
    window.deleteLater()
    shown.switch_to("en")


def _is_older(path: Path) -> bool:
    # Opening a pipe would wait for ever.
    if not path.is_file():
        return False
    with contextlib.suppress(OSError), path.open("rb") as file:
        head = file.read(_VERSION_BYTES.stop)
        return 0 < int.from_bytes(head[_VERSION_BYTES], "big") < len(MIGRATIONS)
    return False


def _update(path: Path, was_used: bool) -> None:
    # Any error happens again when the store is opened, and is reported there.
    with contextlib.suppress(Exception):
        Store(path, was_used=was_used).close()


class _UpdateWindow(QWidget):
    """Says that the store is being updated. It can't be closed, because the update is necessary."""

    def __init__(self) -> None:
        super().__init__(None, Qt.WindowType.Dialog | Qt.WindowType.CustomizeWindowHint | Qt.WindowType.WindowTitleHint)
        self.setObjectName("update_window")
        self.setWindowTitle("Bough")
        # The event loop of the program has not begun yet.
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)
        text = QCoreApplication.translate(
            "Updating",
            "Bough makes a backup of your conversations and updates them to this version. This happens once. "
            "The window opens by itself afterwards.",
        )
        label = QLabel(text)
        label.setWordWrap(True)
        label.setMinimumWidth(_WIDTH_PX)
        bar = QProgressBar()
        bar.setRange(0, 0)
        bar.setAccessibleName(text)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 24)
        column.setSpacing(16)
        column.addWidget(label)
        column.addWidget(bar)

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()
