"""A program that opens the window in a folder and prints, as JSON, what exists when it is first painted.

It imports as little as the program itself.
"""

from __future__ import annotations

import builtins
import json
import linecache
import os
import sys
from pathlib import Path

from PySide6.QtCore import QEvent, QObject

from app.qt_runtime import restore_import

restore_import()

from app.application import Application, Places, make_qt_application


class _Watch(QObject):
    """Prints, and ends the program before anything else happens."""

    def __init__(self, application: Application) -> None:
        super().__init__(application.window)
        self._application = application
        application.window.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            window = self._application.window
            seen = (window.sidebar, window.header, window.welcome, *window.welcome.questions, window.composer)
            told = {
                "model": window.header.model_button.text(),
                "hint": window.composer.text.placeholderText(),
                "modules": sorted(sys.modules),
                "seen": [type(part).__name__ for part in seen if part.isVisible() and not part.size().isEmpty()],
                "sources_read": [name for name in linecache.cache if f"{os.sep}app{os.sep}ui{os.sep}" in name],
                "import": getattr(builtins.__import__, "__name__", ""),
                "has_worker": self._application.link.is_started,
            }
            print(json.dumps(told), flush=True)
            os._exit(0)
        return False


def main() -> None:
    qt_application = make_qt_application([])
    application = Application(Places.under(Path(sys.argv[1])))
    _Watch(application)
    application.window.show()
    qt_application.exec()


if __name__ == "__main__":
    main()
