"""From a token sampled in the worker to its text in the view's model; the repaint comes with the next tick."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QObject, QTimer

from app.application import Application, Places, make_qt_application
from tests.benchmarks.decode import endless_guide
from tests.benchmarks.measure import Row, alone
from worker.protocol import Chunk, Event

_NUM_ANSWERS = 5


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        model = endless_guide(Path(folder) / "guide")
        _ = make_qt_application([])
        application = Application(Places.under(Path(folder) / "data"))
        try:
            p95, median = _latencies(application, model)
        finally:
            application.window.close()
            application.close()
    return [
        alone("latency", "sampled token → view's model, p95, ms", p95, "<= 1"),
        alone("latency", "sampled token → view's model, median, ms", median),
    ]


def _latencies(application: Application, model: Path) -> tuple[list[float], list[float]]:
    """Of several answers, the 95th percentile and the median, in milliseconds."""
    controller = application.controller
    application.window.show()
    controller.load_model(str(model))
    _wait_until(lambda: application.session.state == "ready")
    latencies: list[float] = []

    def measure(event: Event) -> None:
        # Connected last, so the view has taken the text when this is called.
        if isinstance(event, Chunk) and event.text:
            latencies.append((time.monotonic_ns() - event.sampled_ns) / 1e6)

    receiver = _Receiver(measure)
    application.link.received.connect(receiver.receive)
    p95: list[float] = []
    medians: list[float] = []
    for number in range(_NUM_ANSWERS + 1):
        controller.new_conversation()
        latencies.clear()
        controller.send("What is a branch?")
        _wait_until(lambda: controller.streaming_message is None)
        if number:
            p95.append(statistics.quantiles(latencies, n=20)[-1])
            medians.append(statistics.median(latencies))
    return p95, medians


class _Receiver(QObject):
    """Lives in the GUI thread, so that its slot is called there."""

    def __init__(self, slot: Callable[[Event], None]) -> None:
        super().__init__()
        self._slot = slot

    def receive(self, event: Event) -> None:
        self._slot(event)


def _wait_until(holds: Callable[[], bool]) -> None:
    """Run the event loop until `holds` does; looking every 50 ms leaves the processor to those who are measured."""
    deadline = time.monotonic() + 120
    loop, look = QEventLoop(), QTimer()

    def on_look() -> None:
        if holds() or time.monotonic() > deadline:
            loop.quit()

    look.timeout.connect(on_look)
    look.start(50)
    loop.exec()
    assert holds()
