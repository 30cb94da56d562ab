"""Python's garbage collector, run in the GUI thread alone; it knows nothing of what is collected.

Python collects in whichever thread allocates next. A widget that lies in a cycle with Python's own objects (a closed
window, say) would be destroyed there, and Qt crashes.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QCoreApplication, QObject, Qt, QTimer

_LOOK_MS = 1000


class Collecting(QObject):
    """From its making on, as long as there is a Qt application; to be made in the GUI thread."""

    def __init__(self, application: QCoreApplication) -> None:
        # Never switched back: the threads that draw formulas or write exports may outlive every window.
        super().__init__(application)
        gc.disable()
        self._timer = QTimer(self, timerType=Qt.TimerType.VeryCoarseTimer)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(collect_what_is_due)
        self._timer.start()


def collect_what_is_due() -> None:
    """Collect the oldest generation whose time has come, by Python's own thresholds."""
    due = [count > threshold for count, threshold in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if any(due):
        gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))
