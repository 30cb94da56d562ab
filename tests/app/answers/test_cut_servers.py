"""Connections are cut and processes killed at random bytes of a server's answers; nothing that came is lost.

One round of each kind runs always, in about three seconds; two hundred rounds in all for `make test-long`.
"""

from __future__ import annotations

import collections
import contextlib
import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.model.endpoints import Endpoint, EndpointModel
from app.model.message import Message
from app.model.store import Store
from tests.app.desk import Desk
from tests.endpoint_server import EndpointServer, Fault, Received, Script
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim

_TEXT = "".join(Script().pieces)
_NUM_BYTES = 3000
"""About the length of an answer as a stream."""
_KINDS = ("cut", "reset", "process killed", "server gone", "program killed")


class _Life:
    """A program without a window, whose conversations go to a server."""

    def __init__(self, desk: Desk, server: EndpointServer, bot: QtBot, folder: Path, seed: int) -> None:
        self._desk = desk
        self._server = server
        self._bot = bot
        self._folder = folder
        self._random = random.Random(seed)
        self._num_rounds = 0
        self._shown: dict[int, str] = collections.defaultdict(str)
        self.outcomes: collections.Counter[tuple[str, str]] = collections.Counter()
        desk.answers.text_appended.connect(self._on_text)
        self._add("0451cafe", server)
        # The window finds out the server's abilities before the first cut.
        self._begin("0451cafe")
        desk.controller.send("Hello")
        assert self._answered().text == _TEXT

    def _on_text(self, message_id: int, text: str) -> None:
        self._shown[message_id] += text

    def _add(self, endpoint_id: str, server: EndpointServer) -> None:
        others = [each for each in self._desk.preferences.settings.endpoints if each.id != endpoint_id]
        added = Endpoint(id=endpoint_id, name="Test", url=server.url, models=("script",))
        self._desk.preferences.change(endpoints=(*others, added))

    def _begin(self, endpoint_id: str) -> None:
        self._desk.controller.shown.new_conversation(EndpointModel(endpoint_id, "script").name)

    def _answered(self) -> Message:
        """Wait for the end of the answer, and return it."""
        self._bot.waitUntil(lambda: not self._desk.answers.has_pending, timeout=PATIENCE_MS)
        return self._desk.controller.shown.path[-1]

    def _stalled(self, server: EndpointServer) -> Received:
        """Wait until the server has sent the beginning of an answer."""
        self._bot.waitUntil(lambda: any(each.stalled.is_set() for each in server.requests), timeout=PATIENCE_MS)
        return next(each for each in server.requests if each.stalled.is_set())

    def play(self, kind: str) -> None:
        """Send a question, let something happen while it is answered, check what is left, and ask again."""
        self._num_rounds += 1
        question = f"Question {self._num_rounds}"
        num_bytes = self._random.randrange(_NUM_BYTES)
        self._desk.preferences.change(tokens_visible=self._random.random() < 0.5)
        self._server.requests.clear()
        if kind == "server gone":
            with EndpointServer() as gone:
                self._add("0451beef", gone)
                self._begin("0451beef")
                # The tries of what it can do come first.
                self._desk.controller.send("Hello")
                assert self._answered().text == _TEXT
                gone.requests.clear()
                gone.fail("chat", Fault(end="stall", after_bytes=num_bytes))
                self._desk.controller.send(question)
                self._stalled(gone)
        else:
            self._begin("0451cafe")
            end = kind if kind == "cut" or kind == "reset" else "stall"
            self._server.fail("chat", Fault(end=end, after_bytes=num_bytes))
            self._desk.controller.send(question)
        if kind == "process killed":
            self._stalled(self._server)
            pid = self._desk.sessions.remote.link.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
        elif kind == "program killed":
            request = self._stalled(self._server)
            self._look_after_a_kill(question)
            # An answer that was sent as a whole has ended already.
            with contextlib.suppress(OSError):
                request.go_on()
        answer = self._answered()
        self._check(kind, question, answer)
        self._server.forget_faults()
        if kind == "server gone":
            # It stays away: the next question is kept, too, and says so.
            self._desk.controller.regenerate(answer.id)
            again = self._answered()
            assert again.record is not None
            assert "can't be reached" in (again.record.error or "")
        elif answer.state != "complete":
            self._desk.controller.regenerate(answer.id)
            assert self._answered().text == _TEXT
        assert self._desk.store.messages.get(answer.id) == answer

    def _check(self, kind: str, question: str, answer: Message) -> None:
        stored = self._desk.store.messages.get(answer.id)
        assert stored == answer
        assert self._desk.controller.shown.path[-2].text == question
        assert _TEXT.startswith(stored.text)
        # All that was shown is in the store, and nothing else.
        assert stored.text == self._shown[answer.id]
        if answer.state == "complete":
            assert stored.text == _TEXT
        else:
            assert stored.record is not None
            assert stored.record.error
        self.outcomes[kind, answer.state] += 1

    def _look_after_a_kill(self, question: str) -> None:
        """Open what a killed program would leave: its files as they are now."""
        answer = self._desk.controller.shown.path[-1]
        self._bot.waitUntil(
            lambda: self._desk.store.messages.get(answer.id).text == self._shown[answer.id], timeout=PATIENCE_MS
        )
        # A short answer may have ended already.
        is_whole = self._desk.store.messages.get(answer.id).state == "complete"
        left = self._folder / f"left {self._num_rounds}"
        left.mkdir()
        for file in self._desk.path.parent.glob(f"{self._desk.path.name}*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, left / file.name)
        store = Store(left / self._desk.path.name)
        store.interrupt_streaming(verbatim("It was killed."))
        found = store.messages.get(answer.id)
        assert store.messages.get(answer.parent_id or 0).text == question
        assert (found.text, found.state) == (self._shown[answer.id], "complete" if is_whole else "stopped")
        store.close()
        shutil.rmtree(left)


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    with EndpointServer() as started:
        yield started


@pytest.mark.parametrize(("num_rounds", "seed"), [(1, 0), *in_long_runs([(40, 1)])])
@pytest.mark.usefixtures("nothing_leaks")
def test_the_text_before_a_cut_or_a_kill_is_kept(
    tmp_path: Path, server: EndpointServer, qtbot: QtBot, num_rounds: int, seed: int
) -> None:
    desk = Desk(tmp_path)
    life = _Life(desk, server, qtbot, tmp_path, seed)
    for _ in range(num_rounds):
        for kind in _KINDS:
            life.play(kind)
        print(dict(life.outcomes), flush=True)
    assert sum(life.outcomes.values()) == num_rounds * len(_KINDS)
    desk.sessions.remote.link.stop()
    desk.program.close()
    desk.close()
