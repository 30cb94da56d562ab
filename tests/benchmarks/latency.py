"""The time from a token sampled in the worker to its text in the view's model. The next tick repaints the view."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from pathlib import Path

from PySide6.QtCore import QEventLoop, QObject, QTimer

from app.application import Application, Places, make_qt_application
from tests.benchmarks.measure import Row, alone
from tests.models import byte_level_tokenizer, chain, write_scripted_model
from worker.protocol import Chunk, Event

_NUM_WORDS = 600
_PARAGRAPH = 60  # words
_NUM_ROUNDS = 6
_QUESTIONS = ("What is a branch?", "How do I edit a message?", "What are stop strings?", "Who wrote Hamlet?")


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        model = _narrator(Path(folder) / "model")
        _ = make_qt_application([])
        application = Application(Places.under(Path(folder) / "data"))
        try:
            p95, median = _latencies(application, str(model), ["Tell me something long."])
            p95_of_guide, _ = _latencies(application, "guide", _QUESTIONS)
        finally:
            application.window.close()
            application.close()
    yield from (
        alone("latency", "sampled token → view's model, p95, ms", p95, "<= 1"),
        alone("latency", "sampled token → view's model, median, ms", median),
        # The first token may come while the window lays out the question, and the answer ends two repaints later.
        alone("latency", "the same with the guide's short answers, p95, ms", p95_of_guide, "<= 1"),
    )


def _narrator(folder: Path) -> Path:
    """Write a model that answers with paragraphs of words."""
    tokenizer = byte_level_tokenizer()
    words = [
        f" {''.join(letters)}" for letters in islice(product("bdfgklmnprstvw", "aeiou", "lmnrst", "aeo"), _NUM_WORDS)
    ]
    for number in range(_PARAGRAPH, _NUM_WORDS, _PARAGRAPH):
        words[number] = f".\n\n{words[number].strip().capitalize()}"
    tokenizer.add_tokens(words)
    newline = tokenizer.encode("\n").ids[0]
    answer_ids = [tokenizer.encode(word).ids[0] for word in words]
    return write_scripted_model(folder, tokenizer, chain([newline, *answer_ids]))


def _latencies(application: Application, model: str, questions: Sequence[str]) -> tuple[list[float], list[float]]:
    """Return the 95th percentile and the median of each round's latencies, in milliseconds."""
    controller = application.controller
    application.window.show()
    controller.program.load_model(model)
    # Otherwise the guide, which the program starts with, might answer.
    _wait_until(lambda: application.session.state == "ready" and application.session.name == model)
    latencies: list[float] = []

    def measure(event: Event) -> None:
        # Connected last, so the view has taken the text before this call.
        if isinstance(event, Chunk) and event.text:
            latencies.append((time.monotonic_ns() - event.sampled_ns) / 1e6)

    receiver = _Receiver(measure)
    application.link.received.connect(receiver.receive)
    p95: list[float] = []
    medians: list[float] = []
    for number in range(_NUM_ROUNDS + 1):
        latencies.clear()
        for question in questions:
            controller.shown.new_conversation()
            controller.send(question)
            _wait_until(lambda: controller.shown.streaming_message is None)
        if number:
            p95.append(statistics.quantiles(latencies, n=20)[-1])
            medians.append(statistics.median(latencies))
    application.link.received.disconnect(receiver.receive)
    return p95, medians


class _Receiver(QObject):
    """Lives in the GUI thread, so that its slot is called there."""

    def __init__(self, slot: Callable[[Event], None]) -> None:
        super().__init__()
        self._slot = slot

    def receive(self, event: Event) -> None:
        self._slot(event)


def _wait_until(holds: Callable[[], bool]) -> None:
    """Run the event loop until `holds` returns True; checking every 50 ms leaves the processor to the measured code."""
    deadline = time.monotonic() + 120
    loop, look = QEventLoop(), QTimer()

    def on_look() -> None:
        if holds() or time.monotonic() > deadline:
            loop.quit()

    look.timeout.connect(on_look)
    look.start(50)
    loop.exec()
    assert holds()
