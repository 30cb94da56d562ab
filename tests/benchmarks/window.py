"""Long conversations in the window, against the plain Qt way: one `QTextBrowser` and `setMarkdown` for each chunk."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

import psutil
from PySide6.QtCore import QEvent, QEventLoop, QObject, Qt, QTimer
from PySide6.QtWidgets import QTextBrowser, QWidget

from app.application import make_qt_application
from app.model.exports.markdown import to_markdown
from app.model.message import Figures, Message, Record
from app.model.queries import encoded
from app.model.search_index import indexed, signs
from app.model.store import Store
from app.ui.window import MainWindow
from tests.app.desk import Desk
from tests.app.ui.waiting import is_at_rest
from tests.benchmarks.measure import Row, alone, meets
from tests.driver import ROOT
from worker.protocol import Alternative, Chunk, Token

_AREA = "window"
_PEER = "one QTextBrowser, setMarkdown"
_TOKEN_MS = 1000 / 300
_NUM_TOKENS = 1200
_NUM_PEER_TOKENS = 3
"""The plain way renders 2,000 messages again for each token, so a few tokens suffice to measure it."""
_BEAT_MS = 1
_IDLE_MS = 0.2
"""Shorter turns of the event loop had nothing to do."""
_ROUNDS = 5
_PATIENCE_S = 120
_SIZE = (1180, 780)
_LONG, _SHORT = 1, 2
"""The ids of the conversations in the store."""
_RECORD = Record(
    model="guide", token_ids=tuple(range(1000, 1120)), origins="s" * 120, figures=Figures(prompt_tokens=900)
)
_SENTENCE = "A message is read once, and what was read is kept for every branch that goes on from it. "
_ANSWER = (
    f"## What is kept\n\n{_SENTENCE * 3}\n\n- `one` thing\n- **another** thing\n\n"
    f"```python\ndef kept(tokens):\n    return tokens\n```\n\n{_SENTENCE * 2}\n"
)


def rows() -> Iterator[Row]:
    _ = make_qt_application([])
    yield from _streaming()
    yield _opening()
    yield _switching()
    yield _resizing()
    yield _memory()


# --- measurements --------------------------------------------------------------------------------------------


def _streaming() -> list[Row]:
    """Measure how long the GUI thread is blocked while an answer streams in at 300 tokens per second."""
    with _bough(2000) as bough:
        bough.show(_LONG)
        markdown = bough.markdown()
        plain = [bough.blocks_of_an_answer() for _ in range(_ROUNDS)]
        bough.window.transcript.modes.show_tokens(True)
        tinted = [bough.blocks_of_an_answer() for _ in range(_ROUNDS)]
    with _browser() as browser:
        texts = [markdown]

        def append(token: str) -> None:
            texts.append(token)
            browser.setMarkdown("".join(texts))

        peer = _blocks(_words(_ANSWER)[:_NUM_PEER_TOKENS], append)
    return [
        _beside("streaming into 2,000 messages, longest block, ms", _longest(plain), max(peer), "<= 50"),
        _beside("the same, 95th percentile of blocks, ms", _p95(plain), max(peer), "<= 8"),
        alone(_AREA, "the same with tinted tokens, longest block, ms", _longest(tinted), "<= 50"),
        alone(_AREA, "the same with tinted tokens, 95th percentile of blocks, ms", _p95(tinted), "<= 8"),
    ]


def _longest(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [max(blocks) for blocks in rounds]


def _p95(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.quantiles(blocks, n=20)[-1] for blocks in rounds]


def _opening() -> Row:
    with _bough(10_000) as bough:
        times: list[float] = []
        for _ in range(_ROUNDS):
            bough.show(_SHORT)
            times.append(_ms_to_paint(bough.page, lambda: bough.desk.controller.shown.open_conversation(_LONG)))
            bough.settle()
        markdown = bough.markdown()
    with _browser() as browser:
        peer = _ms_to_paint(browser.viewport(), lambda: browser.setMarkdown(markdown))
    return _beside("opening 10,000 messages, to the first paint, ms", times, peer, "<= 150")


def _switching() -> Row:
    with _bough(5000) as bough:
        bough.show(_LONG)
        question = bough.desk.controller.shown.path[1]
        assert question.parent_id is not None
        bough.desk.store.add(_LONG, question.parent_id, "user", "Another question")
        bough.show(_SHORT)
        bough.show(_LONG)
        transcript = bough.window.transcript
        times: list[float] = []
        for _ in range(_ROUNDS):
            other = transcript.message_ids[1]
            transcript.reveal(other)
            bough.settle()
            times.append(_ms_to_paint(bough.page, lambda other=other: transcript.step_sibling(other, -1)))
            bough.settle()
            assert len(transcript.message_ids) > 4990
            transcript.step_sibling(question.id, 1)
            bough.settle()
    return alone(_AREA, "switching to a sibling with 5,000 messages below it, to the paint, ms", times, "<= 50")


def _resizing() -> Row:
    """Measure the longest block over several widths, as when the user drags the edge of the window."""
    widths = range(620, 1020, 40)
    with _bough(2000) as bough:
        bough.show(_LONG)
        markdown = bough.markdown()
        rounds: list[float] = []
        for _ in range(_ROUNDS):
            bough.scroll_to_middle()
            rounds.append(
                max(_ms_to_paint(bough.page, lambda width=width: bough.window.resize(width, 700)) for width in widths)
            )
            bough.settle()
    with _browser() as browser:
        browser.setMarkdown(markdown)
        peer = max(
            _ms_to_paint(browser.viewport(), lambda width=width: browser.resize(width, 700)) for width in widths[:3]
        )
    return _beside("resizing with 2,000 messages, longest block, ms", rounds, peer, "<= 50")


def _memory() -> Row:
    """Measure a process's additional memory for 10,000 messages compared with two."""
    used = [_child_mb(10_000) - _child_mb(2) for _ in range(2)]
    return alone(_AREA, "memory for 10,000 messages, MB", used)


def _beside(name: str, ours: Sequence[float], peer: float, goal: str) -> Row:
    """Return a row whose goal applies to our own median, with the plain way for comparison."""
    row = alone(_AREA, name, ours, goal)
    median = statistics.median(ours)
    return {**row, "peer_name": _PEER, "peer": peer, "ratio": median / peer, "met": meets(median, goal)}


# --- the window and the browser ----------------------------------------------------------------------------


class _Bough:
    """The real window over a store with a long and a short conversation, with a scripted worker."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.window = MainWindow(desk.controller, desk.folder)
        self.window.resize(*_SIZE)
        self.window.show()
        self.page = self.window.transcript.viewport()

    def show(self, conversation_id: int) -> None:
        self.desk.controller.shown.open_conversation(conversation_id)
        self.settle()

    def settle(self) -> None:
        """Wait until all pending work of the transcript is done."""
        _run_until(lambda: is_at_rest(self.window.transcript))

    def blocks_of_an_answer(self) -> list[float]:
        """Stream an answer to its end; return the blocks of the event loop meanwhile."""
        self.desk.controller.send("And then?")
        request = self.desk.link.asked[-1]
        other = Alternative(id=2, text="other", logprob=-2.0)

        def say(text: str) -> None:
            token = Token(id=1, logprob=-0.5, top=[other], num_chars=len(text))
            self.desk.link.say(Chunk(request_id=request.request_id, choice=0, text=text, tokens=[token]))

        blocks = _blocks(itertools.islice(itertools.cycle(_words(_ANSWER)), _NUM_TOKENS), say)
        self.desk.link.finished(request, "")
        self.settle()
        return blocks

    def scroll_to_middle(self) -> None:
        transcript = self.window.transcript
        transcript.reveal(transcript.message_ids[len(transcript.message_ids) // 2])
        self.settle()

    def markdown(self) -> str:
        return to_markdown("", self.desk.controller.shown.path)


@contextlib.contextmanager
def _bough(num_messages: int) -> Generator[_Bough]:
    with tempfile.TemporaryDirectory() as folder:
        _plant(Path(folder) / "conversations.sqlite3", num_messages)
        desk = Desk(Path(folder))
        bough = _Bough(desk)
        try:
            bough.settle()
            yield bough
        finally:
            bough.window.close()
            bough.window.deleteLater()
            _run_until(lambda: True)
            desk.close()


@contextlib.contextmanager
def _browser() -> Generator[QTextBrowser]:
    browser = QTextBrowser()
    browser.resize(*_SIZE)
    browser.show()
    yield browser
    browser.close()
    browser.deleteLater()
    _run_until(lambda: True)


def _plant(path: Path, num_messages: int) -> None:
    Store(path).close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN")
        for conversation, (first, number) in enumerate(((1, num_messages), (num_messages + 2, 2)), 1):
            database.executemany(
                "INSERT INTO message (id, parent_id, role, text, indexed, signs, state, created_ms, record, model) "
                "VALUES (?, ?, ?, ?, ?, ?, 'complete', ?, ?, ?)",
                (_row(first, position) for position in range(number + 1)),
            )
            database.execute(
                "INSERT INTO conversation (name, root_id, created_ms, updated_ms) VALUES (?, ?, 1, 1)",
                (f"conversation {conversation}", first),
            )
        database.execute("COMMIT")


def _row(first: int, position: int) -> tuple[object, ...]:
    if position == 0:
        return first, None, "root", "", "", None, 1, None, None
    is_answer = position > 1 and position % 2 == 1
    role = "system" if position == 1 else "assistant" if is_answer else "user"
    text = {"system": "", "user": _SENTENCE, "assistant": _ANSWER}[role]
    record = encoded(_RECORD) if is_answer else None
    model = "guide" if is_answer else None
    return first + position, first + position - 1, role, text, indexed(text), signs(text), 1, record, model


def _words(text: str) -> list[str]:
    return [f"{word} " for word in text.split(" ")]


# --- time --------------------------------------------------------------------------------------------------


def _blocks(tokens: Iterator[str] | Sequence[str], take: Callable[[str], object]) -> list[float]:
    """Return the milliseconds of each block of the event loop while tokens come in, without idle turns."""
    blocks: list[float] = []
    waiting = iter(tokens)
    began = beaten = time.perf_counter()
    num_taken = itertools.count(1)
    loop = QEventLoop()
    tokens_timer = QTimer(timerType=Qt.TimerType.PreciseTimer, singleShot=True)
    heart = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=_BEAT_MS)

    def on_token() -> None:
        token = next(waiting, None)
        if token is None:
            loop.quit()
            return
        take(token)
        # Each token comes at its time, or as soon as possible after it.
        due_ms = (began - time.perf_counter()) * 1000 + next(num_taken) * _TOKEN_MS
        tokens_timer.start(max(0, round(due_ms)))

    def on_beat() -> None:
        nonlocal beaten
        now = time.perf_counter()
        blocks.append((now - beaten) * 1000 - _BEAT_MS)
        beaten = now

    tokens_timer.timeout.connect(on_token)
    heart.timeout.connect(on_beat)
    heart.start()
    tokens_timer.start(0)
    loop.exec()
    on_beat()
    return [block for block in blocks if block >= _IDLE_MS]


class _PaintWatch(QObject):
    """Records whether a widget was painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.was_painted = False
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.was_painted = True
        return False


def _ms_to_paint(widget: QWidget, act: Callable[[], object]) -> float:
    """Return the milliseconds from an action until the widget and its children are painted."""
    loop, watch = QEventLoop(), _PaintWatch(widget)
    watch.was_painted = False
    began = time.perf_counter()
    act()
    while not watch.was_painted:
        loop.processEvents(QEventLoop.ProcessEventsFlag.AllEvents)
        if time.perf_counter() - began > _PATIENCE_S:
            raise TimeoutError("Nothing was painted")
    took = (time.perf_counter() - began) * 1000
    widget.removeEventFilter(watch)
    watch.deleteLater()
    return took


def _run_until(holds: Callable[[], bool]) -> None:
    loop = QEventLoop()
    deadline = time.monotonic() + _PATIENCE_S
    loop.processEvents()
    while not holds():
        loop.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)
        assert time.monotonic() < deadline


# --- memory ------------------------------------------------------------------------------------------------


def _child_mb(num_messages: int) -> float:
    command = [sys.executable, "-m", "tests.benchmarks.window", str(num_messages)]
    return float(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()[-1])


def _print_memory(num_messages: int) -> None:
    _ = make_qt_application([])
    with _bough(num_messages) as bough:
        bough.show(_LONG)
        message: Message = bough.desk.controller.shown.path[-1]
        assert message.text
        print(psutil.Process().memory_info().rss / 1e6)


if __name__ == "__main__":
    _print_memory(int(sys.argv[1]))
