"""Two windows on one conversation and a third on another: each shows the changes that concern it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication

from app.conversation.controller import Controller
from app.ui.window import MainWindow
from tests.app.desk import Desk


class Desktop:
    """Two windows on the desk's conversation, and a third one on its own conversation."""

    def __init__(self, folder: Path) -> None:
        self.desk = desk = Desk(folder)
        self.controllers = [desk.controller, Controller(desk.program), Controller(desk.program)]
        self.windows = [MainWindow(controller, folder) for controller in self.controllers]
        for window in self.windows:
            window.show()
        self.controllers[2].send("elsewhere")
        desk.link.finished(desk.link.asked[-1], "far away")
        desk.ask("u", "a")
        assert desk.controller.shown.conversation is not None
        self.conversation_id = desk.controller.shown.conversation.id
        self.controllers[1].shown.open_conversation(self.conversation_id)

    def action_texts(self, name: str) -> list[str]:
        """Return the text of a menu action in each window."""
        return [window.action(name).text() for window in self.windows]

    def texts(self) -> list[list[str]]:
        """Return the message texts shown in each window."""
        return [[view.text.content for view in window.transcript.views] for window in self.windows]


@pytest.fixture
def desktop(qapp: QApplication, tmp_path: Path) -> Iterator[Desktop]:
    desktop = Desktop(tmp_path)
    yield desktop
    for window in desktop.windows:
        window.close()
        window.deleteLater()
    desktop.desk.close()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def test_both_windows_name_the_same_action_to_undo(desktop: Desktop) -> None:
    first, second, third = desktop.controllers
    first.star(first.shown.path[-1].id)
    assert desktop.action_texts("undo") == ["Undo: Star", "Undo: Star", "Undo: Send"]
    desktop.windows[1].action("undo").trigger()
    assert second.shown.path[-1].starred_ms is first.shown.path[-1].starred_ms is None
    assert desktop.action_texts("undo") == ["Undo: Send"] * 3
    assert desktop.action_texts("redo") == ["Redo: Star", "Redo: Star", "Redo"]
    # A window that opens the conversation later shows it too.
    third.shown.open_conversation(desktop.conversation_id)
    assert desktop.action_texts("redo") == ["Redo: Star"] * 3


def test_a_branch_pruned_in_one_window_disappears_from_both_and_undo_restores_both(desktop: Desktop) -> None:
    first, second, _ = desktop.controllers
    desktop.desk.ask("v", "b")
    question = first.shown.path[-2].id
    for window in desktop.windows[:2]:
        window.action("tree").setChecked(True)
        window.transcript.reveal(question)
    whole = desktop.texts()
    assert whole[0] == whole[1]
    second.prune(question)
    assert [texts[-2:] for texts in desktop.texts()[:2]] == [["u", "a"]] * 2
    assert all(not controller.shown.has(question) for controller in (first, second))
    assert desktop.action_texts("undo")[:2] == ["Undo: Prune"] * 2
    desktop.windows[0].action("undo").trigger()
    assert desktop.texts() == whole
    assert first.shown.path == second.shown.path


def test_a_pruning_notice_is_shown_where_it_can_be_undone(desktop: Desktop) -> None:
    first, second, third = desktop.controllers
    first.prune(first.shown.path[-1].id)
    assert [window.banner.isVisible() for window in desktop.windows] == [True, True, False]
    desktop.windows[1].banner.button.click()
    assert first.shown.path[-1].text == second.shown.path[-1].text == "a"
    assert third.shown.path[-1].text == "far away"
    # Undo in one window removes the notice from the other.
    assert [window.banner.isVisible() for window in desktop.windows] == [False] * 3


def test_both_windows_show_the_new_name_of_a_conversation(desktop: Desktop) -> None:
    desktop.desk.program.conversations.rename(desktop.conversation_id, "Another name")
    titles = [window.windowTitle() for window in desktop.windows]
    assert titles == ["Another name — Bough", "Another name — Bough", "elsewhere — Bough"]
    assert [window.header.title.text() for window in desktop.windows[:2]] == ["Another name"] * 2
