"""The open window shows what another program adds to the store, such as `bough serve --keep`. 1 s."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.model.generation_settings import GenerationSettings
from app.model.kept_requests import KeptRequest, KeptTurn, NewMessage
from app.model.message import Role
from app.model.open_conversation import OpenConversation
from app.model.store import Store
from app.ui.window import MainWindow
from tests.app.desk import Desk
from tests.waiting import PATIENCE_MS


class _Beside:
    """A window, and another program with the same store."""

    def __init__(self, folder: Path, bot: QtBot) -> None:
        self.desk = Desk(folder)
        self.window = MainWindow(self.desk.controller, folder)
        self.window.show()
        self.desk.program.conversations.looking.setInterval(5)
        self.other = Store(self.desk.path)
        self.bot = bot

    def close(self) -> None:
        self.other.close()
        self.window.close()
        self.window.deleteLater()
        self.desk.close()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)

    def keep(self, *texts: str) -> int:
        """Let the other program keep a request with these turns, the last one an answer; return its conversation."""
        return self.other.keep_request(_request(*texts)).conversation_id

    def wait_for_page(self, *texts: str) -> None:
        def shown() -> list[str]:
            return [view.text.content for view in self.window.transcript.views]

        self.bot.waitUntil(lambda: shown()[-len(texts) :] == list(texts), timeout=PATIENCE_MS)


def _request(*texts: str) -> KeptRequest:
    turns = [_turn(texts[: number + 1], "assistant" if number % 2 else "user") for number in range(len(texts))]
    system = KeptTurn(key="", messages=[NewMessage("system", "")])
    return KeptRequest(
        history=[system, *turns[:-1]],
        answers=turns[-1:],
        name=texts[0],
        folder="Requests",
        model="guide",
        generation=GenerationSettings(),
    )


def _turn(texts: tuple[str, ...], role: Role) -> KeptTurn:
    return KeptTurn(key="/".join(texts), messages=[NewMessage(role, texts[-1])])


@pytest.fixture
def beside(qtbot: QtBot, tmp_path: Path) -> Iterator[_Beside]:
    with contextlib.closing(_Beside(tmp_path, qtbot)) as found:
        yield found


def test_a_kept_request_appears_in_the_list_and_grows_on_the_page(beside: _Beside) -> None:
    kept = beside.keep("A question", "An answer")
    model = beside.window.sidebar.list.model()
    names = ["A question"]
    beside.bot.waitUntil(lambda: [model.data(model.index(0, 0, model.index(0, 0)))] == names, timeout=PATIENCE_MS)
    beside.desk.controller.shown.open_conversation(kept)
    beside.wait_for_page("A question", "An answer")
    beside.keep("A question", "An answer", "And then?", "Then this.")
    beside.wait_for_page("A question", "An answer", "And then?", "Then this.")


def test_the_branch_that_the_user_looks_at_stays(beside: _Beside) -> None:
    kept = beside.keep("A question", "An answer", "And then?", "Then this.")
    shown = beside.desk.controller.shown
    shown.open_conversation(kept)
    conversations = beside.desk.program.conversations
    with beside.bot.waitSignal(conversations.tree_changed, timeout=PATIENCE_MS):
        beside.keep("A question", "An answer", "Or what?", "That.")
    beside.wait_for_page("A question", "An answer", "And then?", "Then this.")
    assert len(shown.siblings(shown.path[-2].id)) == 2


def test_a_branch_that_was_deleted_here_does_not_come_back(beside: _Beside) -> None:
    beside.desk.ask("Mine", "My answer")
    shown = beside.desk.controller.shown
    beside.desk.controller.prune(shown.path[-1].id)
    beside.wait_for_page("Mine")
    # An answer here, which streams while the other program writes, is not read in the middle either.
    beside.desk.controller.regenerate(shown.path[-1].id)
    beside.desk.link.chunk(beside.desk.link.asked[-1], "Grow")
    with beside.bot.waitSignal(beside.desk.program.conversations.changed, timeout=PATIENCE_MS):
        beside.keep("A question", "An answer")
    beside.wait_for_page("Mine", "Grow")
    beside.desk.link.finished(beside.desk.link.asked[-1], "Grown")
    assert len(shown.siblings(shown.path[-1].id)) == 1


def test_a_long_request_is_kept_here_in_parts_while_the_window_works(beside: _Beside) -> None:
    texts = [f"Turn {number}" for number in range(200)]
    conversations, store = beside.desk.program.conversations, beside.desk.store
    conversations.keep_request(_request(*texts))
    conversations.keep_request(_request(*texts, "And then?", "Then this."))
    (kept,) = store.conversations.all()

    def stored() -> list[str]:
        return [message.text for message in OpenConversation(store, kept).path if message.text]

    at_once = stored()
    assert 0 < len(at_once) < len(texts)
    assert at_once == texts[: len(at_once)]
    beside.desk.controller.shown.open_conversation(kept.id)
    with beside.bot.waitSignal(conversations.tree_changed, timeout=PATIENCE_MS):
        pass
    assert len(stored()) > len(at_once)
    conversations.keep_all()
    assert stored() == [*texts, "And then?", "Then this."]
    beside.wait_for_page("And then?", "Then this.")
    assert len(store.conversations.all()) == 1
