"""Adapts Python to PySide6: fast imports, short waits for threads, and garbage collection in the GUI thread only."""

from __future__ import annotations

import builtins
import gc
import sys

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer

_SWITCH_S = 0.001
_INTERVAL_MS = 1000
_MAX_NEW_OBJECTS = 50_000
"""The maximum number of new objects for one collection. Scanning more would block the window for more than 20 ms."""
_MAX_POSTPONED = 60
"""Objects that still exist after this many postponed collections are taken to live long."""


def restore_import() -> None:
    """Undo PySide6's replacement of `import`; call this before the large imports.

    The replacement reads the source of each imported module, to look for `from __feature__ import`. Bough does not use
    it, and the start would be slower.
    """
    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)


def shorten_waits() -> None:
    """Let the GUI thread run within 1 ms after it asks a busy thread for the interpreter.

    PySide6 asks again after many calls of Qt. With Python's usual 5 ms, the window froze for a third of a second while
    a thread made an export. Two busy threads take about 4 % more time.
    """
    sys.setswitchinterval(_SWITCH_S)


class GarbageCollector(QObject):
    """Collects garbage in the GUI thread, in which it must be created, as long as the application runs.

    Otherwise Python collects in any thread that allocates memory. If it destroyed widgets in reference cycles there,
    such as closed windows, Qt would crash.

    While there are very many new objects, for example those of an export of a long text, collecting waits until they
    are gone.
    """

    def __init__(self, application: QCoreApplication) -> None:
        # This is never undone: threads that write exports may outlive the windows.
        super().__init__(application)
        gc.disable()
        # Modules live as long as the program. Scanning them each time would block the window for 25 ms.
        gc.freeze()
        self._timer = QTimer(self, timerType=Qt.TimerType.VeryCoarseTimer)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()
        self._num_postponed = 0

    def collect(self) -> None:
        """Collect garbage if this is due and takes little time."""
        if gc.get_count()[0] <= _MAX_NEW_OBJECTS:
            self._num_postponed = 0
            collect_due_garbage()
            return
        self._num_postponed += 1
        if self._num_postponed > _MAX_POSTPONED:
            # These objects live long, for example the conversations that an import has read. Garbage among them is not
            # collected any more.
            gc.freeze()


def collect_due_garbage() -> None:
    """Collect the oldest generation that is due according to Python's thresholds."""
    due = [count > threshold for count, threshold in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if any(due):
        gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))
