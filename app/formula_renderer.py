"""Renders formulas in a process of their own: a thread of Python would hold up the window. Independent of Qt."""

from __future__ import annotations

import queue
import threading
import weakref
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from app.model.exports.formula import Formula, formula

if TYPE_CHECKING:
    from worker.trial import TrialProcess

_SECONDS = 30.0
"""The time for one formula. An ordinary one takes some hundredths of a second, the first one half a second."""
_MEMORY_BYTES = 1 << 30
_RESULT_BYTES = 16 << 20
_IDLE_S = 60.0
"""A process that has been idle for this time is ended, because it takes about 45 MB."""


class FormulaKey(NamedTuple):
    """Identifies the picture of a formula."""

    latex: str
    is_inline: bool
    size_px: int


_Rendered: TypeAlias = tuple[FormulaKey, Formula | None]


class FormulaRenderer:
    """Renders formulas one after another. Its process starts with the first one."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[FormulaKey | None] = queue.SimpleQueue()
        """The formulas to render; None ends the thread."""
        self._rendered: queue.SimpleQueue[_Rendered] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        weakref.finalize(self, self._asked.put, None)

    def render(self, key: FormulaKey) -> None:
        """Render a formula in the background."""
        self._asked.put(key)
        if self._thread is None:
            # The thread that starts the process must live as long as the process.
            self._thread = threading.Thread(
                target=_work, args=(self._asked, self._rendered), name="formulas", daemon=True
            )
            self._thread.start()

    def take(self) -> list[_Rendered]:
        """Return the formulas that were rendered since the last call. None means that one can't be rendered."""
        return [self._rendered.get() for _ in range(self._rendered.qsize())]


def _work(asked: queue.SimpleQueue[FormulaKey | None], rendered: queue.SimpleQueue[_Rendered]) -> None:
    from worker.trial import TrialProcess

    process = TrialProcess()
    while True:
        try:
            key = asked.get(timeout=None if process.pid is None else _IDLE_S)
        except queue.Empty:
            process.close()
            continue
        if key is None:
            process.close()
            return
        rendered.put((key, _rendered(key, process)))


def _rendered(key: FormulaKey, process: TrialProcess) -> Formula | None:
    from worker.trial import Limits, TrialError

    limits = Limits(seconds=_SECONDS, memory_bytes=_MEMORY_BYTES, result_bytes=_RESULT_BYTES)
    try:
        found = process.run(limits, _plain, key.latex, key.size_px, is_inline=key.is_inline)
    except TrialError:
        # It takes too much time or memory, or crashes the process: its source is shown.
        return None
    return None if found is None else Formula(*found)


def _plain(latex: str, size_px: int, *, is_inline: bool) -> tuple[str, float, float, float] | None:
    """Render a formula in black, and return the fields of its picture as plain data."""
    drawn = formula(latex, size_px, "black", is_inline=is_inline)
    return None if drawn is None else (drawn.svg, drawn.width_px, drawn.height_px, drawn.below_px)
