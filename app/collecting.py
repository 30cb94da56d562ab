"""Python's garbage collector, run in the GUI thread alone; it knows nothing of what is collected.

Python collects in whichever thread allocates next. A widget that lies in a cycle with Python's own objects (a closed
window, say) would be destroyed there, and Qt crashes.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, Qt, QTimer

_LOOK_MS = 1000


class Collecting(QObject):
    """From its making on until `stop`; to be made and stopped in the GUI thread."""

    def __init__(self) -> None:
        super().__init__()
        # Where there are several, the first one decides.
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._timer = QTimer(self, timerType=Qt.TimerType.VeryCoarseTimer)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(_collect_what_is_due)
        self._timer.start()

    def stop(self) -> None:
        """Let Python collect by itself again: no other thread that touches what is Qt's is left."""
        self._timer.stop()
        if self._was_enabled:
            gc.enable()


def _collect_what_is_due() -> None:
    """Collect the oldest generation whose time has come, by Python's own thresholds."""
    due = [count > threshold for count, threshold in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if any(due):
        gc.collect(max(generation for generation, is_due in enumerate(due) if is_due))
