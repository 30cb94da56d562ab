"""Garbage is collected in the GUI thread, whichever thread creates it."""

from __future__ import annotations

import gc
import threading

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.qt_runtime import GarbageCollector
from tests.waiting import PATIENCE_MS


class _Widget:
    """Stands for a widget in a cycle, which only the collector destroys."""

    def __init__(self, ended_in: list[int]) -> None:
        self._ended_in = ended_in
        self._me = self

    def __del__(self) -> None:
        self._ended_in.append(threading.get_ident())


def _make_garbage() -> None:
    assert len([[[number]] for number in range(100_000)]) == 100_000


def test_an_object_in_a_cycle_is_destroyed_in_the_gui_thread(qapp: QApplication, qtbot: QtBot) -> None:
    ended_in: list[int] = []
    _Widget(ended_in)
    thread = threading.Thread(target=_make_garbage)
    thread.start()
    thread.join()
    assert ended_in == []
    # Another reason to collect: everything that the thread has made is unreachable.
    kept = [[number] for number in range(2_000)]
    qtbot.waitUntil(lambda: bool(ended_in), timeout=PATIENCE_MS)
    assert ended_in == [threading.get_ident()]
    assert len(kept) == 2_000


def test_garbage_waits_while_a_thread_keeps_very_many_objects(qapp: QApplication) -> None:
    ended_in: list[int] = []
    collector = GarbageCollector(qapp)
    kept = [[number] for number in range(60_000)]
    _Widget(ended_in)
    for _ in range(5):
        collector.collect()
    assert not ended_in
    kept.clear()
    others = [[number] for number in range(2_000)]
    collector.collect()
    assert ended_in
    assert len(others) == 2_000
    collector.deleteLater()


def test_very_many_long_lived_objects_are_not_scanned_again(qapp: QApplication) -> None:
    collector = GarbageCollector(qapp)
    kept = [[number] for number in range(60_000)]
    for _ in range(61):
        collector.collect()
    # Frozen objects are in no generation. Their count is no measure: older ones of other tests may end meanwhile.
    seen = {id(each) for each in gc.get_objects()}
    assert seen.isdisjoint(map(id, kept))
    assert gc.get_count()[0] < len(kept)
    collector.deleteLater()
