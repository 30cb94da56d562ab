"""The link: events and the end of a worker always reach the GUI thread in order."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest
from PySide6.QtCore import QObject, Signal
from pytestqt.qtbot import QtBot

from app.answers.worker_link import WorkerLink
from tests.waiting import PATIENCE_MS
from worker.process import WorkerExitedError
from worker.protocol import Command, Done, Event, Heartbeat, Shutdown

pytestmark = pytest.mark.usefixtures("nothing_leaks")


class _Client:
    """A worker without a process: it sends what is put into `said`; an exception ends it."""

    def __init__(self) -> None:
        self.said: SimpleQueue[Event | Exception] = SimpleQueue()
        self.sent: list[Command] = []
        self.num_killed = 0
        self.pid = 1

    def send(self, command: Command) -> None:
        self.sent.append(command)

    def receive(self) -> Event:
        said = self.said.get()
        if isinstance(said, Exception):
            raise said
        return said

    @property
    def heartbeat(self) -> Heartbeat | None:
        return None

    @property
    def last_words(self) -> list[str]:
        return []

    def stop(self, timeout_s: float = 2.0) -> None:
        self.end()

    def end(self) -> None:
        self.said.put(WorkerExitedError())

    def kill(self) -> int | None:
        self.num_killed += 1
        return -9


class _Ear:
    """Records what a link emits, in order, and in which thread."""

    def __init__(self, link: WorkerLink) -> None:
        self.heard: list[object] = []
        self.threads: set[int] = set()
        link.received.connect(self.hear)
        link.exited.connect(self.hear)

    def hear(self, what: object) -> None:
        self.heard.append(what)
        self.threads.add(threading.get_ident())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("end", [WorkerExitedError(), ValueError("what it said is no event")])
def test_all_events_of_a_worker_arrive_before_its_end_in_the_gui_thread(qtbot: QtBot, end: Exception) -> None:
    clients: list[_Client] = []

    def start() -> _Client:
        clients.append(_Client())
        return clients[-1]

    link = WorkerLink(start)
    ear = _Ear(link)
    for number in range(3):
        link.start()
        assert link.is_started
        events = [Done(request_id=request_id) for request_id in range(100)]
        for event in events:
            clients[number].said.put(event)
        clients[number].said.put(end)
        with qtbot.waitSignal(link.exited, timeout=PATIENCE_MS):
            pass
        assert ear.heard == [*events, -9]
        ear.heard.clear()
        assert not link.is_started
        assert not link.send(Shutdown(request_id=1))
        assert clients[number].num_killed == 1
    assert ear.threads == {threading.get_ident()}
    link.stop()


def test_a_worker_that_was_asked_to_end_does_not_count_as_dead(qtbot: QtBot) -> None:
    client = _Client()
    link = WorkerLink(lambda: client)
    ear = _Ear(link)
    link.start()
    assert link.send(Shutdown(request_id=1))
    client.said.put(Done(request_id=1))
    link.stop()
    link.stop()
    qtbot.waitUntil(lambda: ear.heard == [Done(request_id=1)], timeout=PATIENCE_MS)
    assert not link.send(Shutdown(request_id=2))
    assert client.sent == [Shutdown(request_id=1)]


class _Signals(QObject):
    truth = Signal(bool)
    thing = Signal(object)
    numbers = Signal(int, int, int, int)
    text = Signal(int, str)


def test_thousands_of_signals_from_other_threads_arrive_whole_and_in_order(qtbot: QtBot) -> None:
    """PySide6 6.12.0 on Python 3.11 lost a reference to True with each emit and aborted after some six hundred."""
    num = 5000
    signals = _Signals()
    heard: dict[str, list[object]] = {"truth": [], "thing": [], "numbers": [], "text": []}
    signals.truth.connect(lambda truth: heard["truth"].append(truth))  # pyright: ignore[reportUnknownLambdaType]
    signals.thing.connect(lambda thing: heard["thing"].append(thing))  # pyright: ignore[reportUnknownLambdaType]
    signals.numbers.connect(lambda *numbers: heard["numbers"].append(numbers))  # pyright: ignore[reportUnknownLambdaType]
    signals.text.connect(lambda *text: heard["text"].append(text))  # pyright: ignore[reportUnknownLambdaType]

    def emit_truths() -> None:
        for number in range(num):
            signals.truth.emit(number % 3 == 0)
            signals.thing.emit(None if number % 5 == 0 else Done(request_id=number))

    def emit_numbers() -> None:
        for number in range(num):
            signals.numbers.emit(number, -1, 0, 1)
            signals.text.emit(number, "\0😀" * (number % 7))

    threads = [threading.Thread(target=emit) for emit in (emit_truths, emit_numbers)]
    for thread in threads:
        thread.start()
    for number in range(num):
        signals.truth.emit(number % 3 == 0)
    qtbot.waitUntil(lambda: sum(map(len, heard.values())) == 5 * num, timeout=PATIENCE_MS)
    for thread in threads:
        thread.join()
    truths = [number % 3 == 0 for number in range(num)]
    assert heard["truth"].count(True) == 2 * truths.count(True)
    assert heard["thing"] == [None if number % 5 == 0 else Done(request_id=number) for number in range(num)]
    assert heard["numbers"] == [(number, -1, 0, 1) for number in range(num)]
    assert heard["text"] == [(number, "\0😀" * (number % 7)) for number in range(num)]
