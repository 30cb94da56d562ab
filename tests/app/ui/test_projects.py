"""Projects in the real window: their page, what their conversations begin with, and what a change does."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt

from app.ui.dialogs.project_window import ProjectWindow
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS

_INSTRUCTIONS = "You explain Bough to gardeners. " * 30
_NOTES = "Branches are versions. " * 60


def _page(user: User) -> ProjectWindow:
    user.bot.waitUntil(lambda: bool(_pages(user)), timeout=PATIENCE_MS)
    return _pages(user)[0]


def _pages(user: User) -> list[ProjectWindow]:
    return [page for page in user.window.findChildren(ProjectWindow) if page.isVisible()]


def _make(user: User, name: str, tmp_path: Path) -> None:
    """Make a project by keys alone, apart from the dialog of the system that chooses files."""
    user.window.action("new_project").trigger()
    page = _page(user)
    user.bot.waitUntil(page.name.hasFocus, timeout=PATIENCE_MS)
    user.bot.keyClicks(page.name, name)
    user.bot.keyClick(page.name, Qt.Key.Key_Tab)
    assert page.instructions.hasFocus()
    page.instructions.insertPlainText(_INSTRUCTIONS)
    notes = tmp_path / "notes.txt"
    notes.write_text(_NOTES)
    page.files.add([notes])
    user.bot.keyClick(page.instructions, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    user.bot.waitUntil(lambda: not _pages(user), timeout=PATIENCE_MS)


def test_a_project_is_read_once_for_all_its_conversations_and_a_change_makes_siblings(
    user: User, tmp_path: Path
) -> None:
    _make(user, "Garden", tmp_path)
    controller = user.controller
    assert controller.shown.conversation is None
    assert user.window.header.title.accessibleName() == "New conversation in “Garden”"
    first = user.ask("What is a branch?")
    roles = [message.role for message in controller.shown.path]
    assert roles == ["system", "file", "user", "assistant"]
    assert controller.shown.path[0].text == _INSTRUCTIONS
    # The next conversation reads its question alone.
    controller.begin_in("Garden")
    second = user.ask("How do I edit a message?")
    assert first.record is not None
    assert second.record is not None
    assert first.record.figures.read_tokens > 400
    assert second.record.figures.read_tokens < 40

    # Another text: the branch stays, and the edited first question begins below a version of the system prompt.
    user.window.action("project").trigger()
    page = _page(user)
    page.instructions.set_content("Be brief.")
    user.bot.mouseClick(page.save_button, Qt.MouseButton.LeftButton)
    user.bot.waitUntil(lambda: not _pages(user), timeout=PATIENCE_MS)
    assert controller.shown.path[-1].id == second.id
    more = user.ask("And then?")
    assert controller.shown.path[0].text == _INSTRUCTIONS
    old = controller.shown.path[0].id
    controller.edit(controller.shown.path[2].id, "How do I fork a message?")
    user.answer()
    assert [message.text for message in controller.shown.path[:3]][::2] == ["Be brief.", "How do I fork a message?"]
    assert controller.shown.siblings(controller.shown.path[0].id)[0] == old
    controller.shown.go_to(more.id)
    assert controller.shown.path[0].text == _INSTRUCTIONS
    # The present text is there already: it gets the question, and no version is added.
    controller.renew_beginning()
    user.answer()
    assert len(controller.shown.siblings(controller.shown.path[0].id)) == 2
    assert controller.shown.path[2].text == "How do I edit a message?"
