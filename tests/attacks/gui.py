"""The real window over hostile texts, and what a user does with them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

from PySide6.QtCore import QEvent, QEventLoop, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

from app.ui.window import MainWindow
from tests.app.desk import Desk
from tests.app.ui.waiting import are_formulas_rendered, is_at_rest
from tests.attacks.watchdog import Watchdog
from worker.protocol import Alternative, Chunk, Token

_NUM_CHUNKS = 200
_SIZE = (1180, 780)


class Stage:
    """The window, with a scripted worker."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        self.window = MainWindow(self.desk.controller, folder)
        self.window.resize(*_SIZE)
        self.window.show()
        self.turn()
        self.desk.ask("Hello", "Hello.")
        self.short = self._conversation
        self.settle()

    @property
    def _conversation(self) -> int:
        assert self.desk.controller.shown.conversation is not None
        return self.desk.controller.shown.conversation.id

    @property
    def answer(self) -> int:
        return self.desk.controller.shown.path[-1].id

    def turn(self) -> None:
        QEventLoop().processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 10)

    def settle(self, patience_s: float = 120) -> None:
        """Wait until the page is complete."""
        end = time.monotonic() + patience_s
        num_quiet = 0
        while num_quiet < 3:
            self.turn()
            is_quiet = is_at_rest(self.window.transcript) and are_formulas_rendered()
            num_quiet = num_quiet + 1 if is_quiet else 0
            assert time.monotonic() < end, "The page is still not complete"

    def plant(self, text: str) -> int:
        """Store a conversation with two versions of an answer; return its id."""
        self.desk.controller.shown.new_conversation()
        store = self.desk.store
        conversation, question = store.create_conversation("Hostile", "", "Go")
        for version in (text, text + " more"):
            answer = store.add(conversation.id, question.id, "assistant", version)
        assert answer.text
        self.show(self.short)
        return conversation.id

    def show(self, conversation: int) -> None:
        self.desk.controller.shown.open_conversation(conversation)
        self.settle()

    def stream(self, text: str, watchdog: Watchdog) -> None:
        """Answer with a text, piece by piece."""
        self.desk.controller.send("And then?")
        request = self.desk.link.asked[-1]
        step = max(4, len(text) // _NUM_CHUNKS)
        other = Alternative(id=2, text="other", logprob=-2.0)
        for start in range(0, len(text), step):
            piece = text[start : start + step]
            tokens = [Token(id=1, logprob=-0.5, top=[other], num_chars=len(piece))]
            self.desk.link.say(Chunk(request_id=request.request_id, choice=0, text=piece, tokens=tokens))
            self.turn()
        self.desk.link.finished(request, text)
        self.settle()

    def close(self) -> None:
        self.window.close()
        self.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        self.desk.close()

    def press(
        self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier, text: str = ""
    ) -> None:
        focus = QApplication.focusWidget() or self.window.focusWidget()
        for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            QApplication.postEvent(focus, QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier, text))
        self.turn()


@contextlib.contextmanager
def stage(folder: Path) -> Generator[Stage]:
    stage = Stage(folder)
    try:
        yield stage
    finally:
        stage.close()


def _open(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    conversation = stage.plant(text)
    return lambda _: stage.show(conversation)


def _stream(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    return lambda watchdog: stage.stream(text, watchdog)


def _shown(stage: Stage, text: str, act: Callable[[], object]) -> Callable[[Watchdog], None]:
    stage.show(stage.plant(text))

    def run(_: Watchdog) -> None:
        act()
        stage.settle()

    return run


def _resize(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        for width in (*range(1600, 500, -220), *range(520, 1600, 220)):
            stage.window.resize(width, 700)
            stage.settle()

    return _shown(stage, text, act)


def _scroll(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        bar = stage.window.transcript.verticalScrollBar()
        for part in range(9):
            bar.setValue(bar.maximum() * part // 8)
            stage.settle()

    return _shown(stage, text, act)


def _find(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        stage.window.action("find").trigger()
        stage.turn()
        for query in ("a", "an", "x"):
            stage.window.find_bar.field.setText(query)
            stage.settle()
        for _ in range(3):
            stage.window.action("find_next").trigger()
            stage.settle()
        stage.window.find_bar.closed.emit()

    return _shown(stage, text, act)


def _copy(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        view = stage.window.transcript.view(stage.answer)
        assert view is not None
        view.text.selectAll()
        stage.turn()
        view.text.copy()
        stage.turn()
        stage.window.action("select_messages").trigger()
        stage.turn()
        stage.window.action("copy_messages").trigger()

    return _shown(stage, text, act)


def _tint(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    stage.window.transcript.modes.show_tokens(True)
    return lambda watchdog: stage.stream(text, watchdog)


def _raw(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        for _ in range(2):
            view = stage.window.transcript.view(stage.answer)
            assert view is not None
            view.toggle_raw()
            stage.settle()

    return _shown(stage, text, act)


def _edit(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        view = stage.window.transcript.view(stage.answer)
        assert view is not None
        view.begin_edit()
        stage.settle()
        for letter in "abc":
            stage.press(Qt.Key.Key_A, text=letter)
            stage.settle()
        stage.press(Qt.Key.Key_Escape)

    return _shown(stage, text, act)


def _compare(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        stage.window._compare_commands.compare(stage.answer)  # pyright: ignore[reportPrivateUsage]
        stage.settle()

    return _shown(stage, text, act)


def _versions(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        stage.window._message_commands.versions_requested.emit(stage.answer)  # pyright: ignore[reportPrivateUsage]
        stage.settle()

    return _shown(stage, text, act)


def _tree(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        stage.window.action("tree").trigger()
        stage.settle()

    return _shown(stage, text, act)


def _search(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    def act() -> None:
        stage.window.action("search_all").trigger()
        stage.settle()

    return _shown(stage, text, act)


def _send(stage: Stage, text: str) -> Callable[[Watchdog], None]:
    """Paste the text into the composer and send it: it is a question, and the name of the conversation."""

    def act() -> None:
        stage.desk.controller.shown.new_conversation()
        stage.window.composer.text.setPlainText(text)
        stage.settle()
        stage.press(Qt.Key.Key_A, text="a")
        stage.desk.controller.send(text)
        stage.settle()
        stage.desk.answer("Yes.")
        stage.settle()

    def run(_: Watchdog) -> None:
        act()

    return run


WAYS: Mapping[str, Callable[[Stage, str], Callable[[Watchdog], None]]] = {
    "open": _open,
    "stream": _stream,
    "resize": _resize,
    "scroll": _scroll,
    "find": _find,
    "copy": _copy,
    "tint": _tint,
    "raw": _raw,
    "edit": _edit,
    "compare": _compare,
    "versions": _versions,
    "tree": _tree,
    "search": _search,
    "send": _send,
}
"""The user's actions with a text, by name. Each prepares the window and returns the steps to measure."""
