"""Bough restores a backup: `python -m tests.end_to_end.run_restoring FOLDER BACKUP`.

It opens the window without a display and restores the backup as the backups window does. When the window is open again,
it prints the conversations and the notice to standard output.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer


def main() -> int:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from app import application
    from app.__main__ import open_window
    from app.places import Places

    folder, backup = Path(sys.argv[1]), Path(sys.argv[2])
    opened: list[application.Application] = []

    class Bough(application.Application):
        def __init__(self, places: Places, **options: Any) -> None:
            super().__init__(places, **options)
            opened.append(self)
            QTimer.singleShot(0, self._restore if len(opened) == 1 else self._say)

        def _restore(self) -> None:
            self.program.restore_requested.emit(backup)

        def _say(self) -> None:
            print(" ".join(conversation.name for conversation in self.program.conversations.all))
            print(self.window.banner.label.text())
            self.window.close()

    application.Application = Bough
    return open_window(folder)


if __name__ == "__main__":
    sys.exit(main())
