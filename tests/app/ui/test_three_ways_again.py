"""Changes, files and notices by mouse, by keys alone, and through the accessibility tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QInputDialog, QLineEdit, QMessageBox

from app.answers.sessions import GUIDE
from app.model.project import Project
from app.notices import (
    AllowLargeAnswers,
    AskGuide,
    AskWithProject,
    ChatWith,
    Kind,
    Notice,
    NoticeAction,
    OpenMemorySettings,
    OpenModels,
    RestartWorker,
    ShowConversation,
    Undo,
    UndoArchive,
    UndoDelete,
    UndoDeleteProject,
)
from app.ui.comparing.compare_window import CompareWindow
from app.ui.composer.parts_popover import PartsPopover
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.dialogs.export_window import ExportWindow
from app.ui.dialogs.settings_files import SettingsFiles
from app.ui.menus import label
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.app.ui.ways import (
    ALL,
    Way,
    choose,
    choose_from,
    each_way,
    edit,
    fill,
    focus,
    from_menu,
    keys,
    mostly,
    name_of,
    open_section_menu,
    pick,
    press,
    tab_to,
    while_open,
)
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

# --- changes -------------------------------------------------------------------------------------------------


@mostly("reader")
def test_a_question_is_replaced_in_place_and_comes_back(user: User, way: Way) -> None:
    user.ask("What is a branch?")
    question = user.controller.shown.path[-2]
    edit(user, way, question, "How do I fork?")
    from_menu(user, way, "Message", "Replace in place")
    user.bot.waitUntil(lambda: user.view(question.id).text.isVisible(), timeout=PATIENCE_MS)
    assert user.controller.shown.message(question.id).text == "How do I fork?"
    assert user.controller.shown.siblings(question.id) == [question.id]
    user.window.activateWindow()
    from_menu(user, way, "Edit", label(user.window.action("undo")))
    assert user.controller.shown.message(question.id).text == "What is a branch?"


@mostly("reader")
def test_versions_are_compared_word_by_word(user: User, way: Way) -> None:
    answer = user.ask("What is a branch?")
    user.controller.replace(answer.id, "A **branch** is one way.")
    user.controller.edit(answer.id, "A *path* is one way.")
    view = user.view(user.controller.shown.path[-1].id)
    view.text.setFocus(Qt.FocusReason.TabFocusReason)
    if way == "keys":
        keys(user, "D")
    else:
        from_menu(user, way, "Message", "Compare versions")
    window = next(one for one in user.window.findChildren(CompareWindow) if one.isVisible())
    window.activateWindow()
    user.bot.waitUntil(window.isActiveWindow, timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: "1 difference" in _words(window), timeout=PATIENCE_MS)
    press(user, way, window, "Next difference")
    assert "Difference 1 of 1" in _words(window)
    # A reader finds both texts by the names of the versions, without marks.
    texts = {
        name: found.text(QAccessible.Text.Value)
        for name, found in screen_reader.found(window, QAccessible.Role.EditableText).items()
    }
    assert sorted(texts.values()) == ["A branch is one way.", "A path is one way."]
    assert all("ersion" in name for name in texts)
    press(user, way, window, "Close")
    user.window.activateWindow()


def _words(window: CompareWindow) -> Sequence[str]:
    return [*screen_reader.found(window, QAccessible.Role.StaticText)]


@mostly("keys")
def test_the_section_of_a_project_is_renamed_and_deleted_and_comes_back(user: User, way: Way) -> None:
    projects, old, new = user.controller.program.projects, f"Plants of {way}", f"Trees of {way}"
    projects.put(old, Project(instructions="Be brief."))

    def rename(dialog: QInputDialog) -> None:
        dialog.activateWindow()
        user.bot.waitUntil(dialog.isActiveWindow, timeout=PATIENCE_MS)
        field = dialog.findChild(QLineEdit)
        assert isinstance(field, QLineEdit)
        if way == "reader":
            screen_reader.write(dialog, name_of(field), new)
        else:
            keys(user, "Ctrl+A")
            user.bot.keyClicks(focus(user), new)
        press(user, way, dialog, "OK")

    open_section_menu(user, way, old)
    while_open(user, QInputDialog, rename, lambda: choose(user, way, "Rename…"))
    assert new in projects.names
    assert old not in projects.names
    user.window.activateWindow()
    open_section_menu(user, way, new)
    choose(user, way, "Delete project")
    assert new not in projects.names
    user.window.activateWindow()
    user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
    press(user, way, user.window.banner, "Undo")
    assert new in projects.names
    projects.remove(new)


@pytest.mark.long
@each_way
def test_the_model_and_the_sampling_of_a_project_are_chosen(user: User, way: Way) -> None:
    program, folder = user.controller.program, f"Roots of {way}"
    program.preferences.change(recent_models=("another",))
    program.projects.put(folder, Project())
    page = user.window.dialogs.show_project(folder)
    page.activateWindow()
    user.bot.waitUntil(page.isActiveWindow, timeout=PATIENCE_MS)
    pick(user, way, page.model, "another")
    pick(user, way, page.sampling, "Precise")
    press(user, way, page, "Save")
    project = program.projects.get(folder)
    assert project is not None
    assert project.model == "another"
    assert project.generation is not None
    user.window.activateWindow()
    program.projects.remove(folder)
    program.preferences.change(recent_models=())


@pytest.mark.long
@each_way
def test_another_version_is_continued_from_side_by_side(user: User, way: Way) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    second = user.answer()
    if way == "keys":
        user.press(second.id, "v")
    else:
        from_menu(user, way, "Message", "Versions side by side")
    page = user.window.side_by_side
    user.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    user.window.activateWindow()
    # It begins at the visible version.
    assert name_of(focus(user)).startswith("Go on with Version 2 of 2")
    name = next(one for one in screen_reader.found(page, QAccessible.Role.Button) if "Go on with Version 1" in one)
    if way == "keys":
        tab_to(user, name, "Shift+Tab")
    press(user, way, page, name)
    assert not page.isVisible()
    assert user.controller.shown.path[-1].id == first.id


@pytest.mark.long
@each_way
def test_a_hook_is_switched_on_in_its_folded_part(user: User, way: Way) -> None:
    press(user, way, user.window.composer, "Sampling")
    panel = QApplication.activePopupWidget()
    assert isinstance(panel, SamplingPanel)
    press(user, way, panel, "Hooks and drafts")
    user.bot.waitUntil(lambda: len(panel.hooks.switches) > 2, timeout=PATIENCE_MS)
    name, switch = next(iter(panel.hooks.switches.items()))
    press(user, way, panel, name_of(switch))
    assert list(user.controller.preparation.generation.hooks) == [name]
    panel.close()


@pytest.mark.long
@each_way
def test_a_page_without_a_system_prompt_has_a_button_for_one(user: User, way: Way) -> None:
    user.ask("What is a branch?")
    view = user.view(user.controller.shown.path[0].id)
    view.setFocus(Qt.FocusReason.TabFocusReason)
    press(user, way, view, "Add a system prompt")
    panel = QApplication.activePopupWidget()
    if panel is None:
        assert name_of(focus(user)) == "New version"
        keys(user, "Esc")
    else:
        panel.close()


@pytest.mark.long
@each_way
def test_the_tree_over_a_narrow_page_opens_and_closes(user: User, way: Way) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    user.answer()
    user.window.resize(360, 700)
    dock = user.window.tree_dock
    user.bot.waitUntil(dock.isHidden, timeout=PATIENCE_MS)
    press(user, way, user.window.header, "Show the tree")
    user.bot.waitUntil(dock.isVisible, timeout=PATIENCE_MS)
    assert dock.isAncestorOf(focus(user))
    if way == "keys":
        keys(user, "Esc")
    else:
        press(user, way, dock, "Close the tree")
    user.bot.waitUntil(dock.isHidden, timeout=PATIENCE_MS)
    user.window.resize(1100, 760)


@mostly("mouse")
def test_a_project_is_exported_once_it_has_a_conversation(user: User, way: Way) -> None:
    program, folder = user.controller.program, f"Seeds of {way}"
    program.projects.put(folder, Project(instructions="Be brief."))
    open_section_menu(user, way, folder)
    choose(user, way, "New conversation here")
    user.window.activateWindow()
    from_menu(user, way, "File", "Export branch…")
    assert user.window.banner.label.text() == f"“{folder}” has no conversations to export yet."
    conversation, _ = user.application.store.create_conversation("Trees", "", "What is a branch?")
    program.conversations.put_into_folder(conversation.id, folder)
    from_menu(user, way, "File", "Export branch…")
    page = next(one for one in user.window.findChildren(ExportWindow) if one.isVisible())
    page.activateWindow()
    user.bot.waitUntil(page.isActiveWindow, timeout=PATIENCE_MS)
    assert any(name.startswith("This project") for name in screen_reader.found(page, QAccessible.Role.RadioButton))
    press(user, way, page, "Cancel")
    user.window.activateWindow()
    program.conversations.delete(conversation.id)
    program.projects.remove(folder)


# --- files ---------------------------------------------------------------------------------------------------


@mostly("mouse")
def test_the_hooks_of_a_settings_file_are_imported_only_if_the_user_says_so(
    user: User, way: Way, tmp_path: Path
) -> None:
    hook, file = user.controller.program.preferences.folder / "hooks" / f"{way}.py", tmp_path / "mine.json"
    hook.parent.mkdir(parents=True, exist_ok=True)
    hook.write_text("")
    SettingsFiles(user.controller.program, user.window, tmp_path).write(file)
    hook.unlink()

    def import_and(name: str) -> None:
        def answer(box: QMessageBox) -> None:
            box.activateWindow()
            user.bot.waitUntil(box.isActiveWindow, timeout=PATIENCE_MS)
            assert f"The file contains hooks: {way}" in screen_reader.found(box, QAccessible.Role.StaticText)
            # The harmless button has the focus.
            assert name_of(focus(user)) == "Without hooks"
            press(user, way, box, name)

        def give_file() -> None:
            while_open(
                user,
                QFileDialog,
                lambda dialog: fill(user, way, file, "Open", dialog),
                lambda: from_menu(user, way, "File", "Import settings…"),
            )

        while_open(user, QMessageBox, answer, give_file)
        user.window.activateWindow()

    import_and("Without hooks")
    assert not hook.exists()
    import_and("With hooks")
    assert hook.exists()
    hook.unlink()


@mostly("reader")
def test_the_first_parts_that_fit_are_chosen_of_a_file_that_is_too_long(user: User, way: Way, tmp_path: Path) -> None:
    file, composer = tmp_path / "long.html", user.window.composer
    words = "It is about trees and branches and forks. " * 60
    file.write_text("".join(f"<h1>Chapter {number}</h1><p>{words}</p>" for number in range(12)))
    composer.files_given.emit([file])
    chips = composer.attachments
    user.bot.waitUntil(
        lambda: list(chips.openers) == [0] and "tokens" in name_of(chips.openers[0]), timeout=PATIENCE_MS
    )
    composer.text.setFocus()
    press(user, way, composer, name_of(chips.openers[0]))
    popover = QApplication.activePopupWidget()
    assert isinstance(popover, PartsPopover)
    press(user, way, popover, "First ones that fit")
    (said,) = (one for one in screen_reader.found(popover, QAccessible.Role.StaticText) if one.startswith("Chosen"))
    chosen, room = (int(number.replace(",", "")) for number in _numbers(said))
    assert 0 < chosen <= room
    left_out = user.controller.preparation.unsent.attachments[0].left_out
    assert left_out == tuple(range(12 - len(left_out), 12))
    popover.close()
    assert f"{12 - len(left_out)} of 12 parts" in name_of(chips.openers[0])


def _numbers(text: str) -> list[str]:
    return [word.rstrip(".") for word in text.split() if word[0].isdigit()]


@mostly("keys")
def test_a_sent_file_opens_and_folds(user: User, way: Way, tmp_path: Path) -> None:
    file, composer = tmp_path / "notes.py", user.window.composer
    file.write_text("x = 1\n")
    composer.files_given.emit([file])
    user.bot.waitUntil(lambda: bool(user.controller.preparation.unsent.attachments), timeout=PATIENCE_MS)
    user.ask("What is a branch?")
    message = next(one for one in user.controller.shown.path if one.role == "file")
    view = user.view(message.id)

    def chip() -> str:
        names = screen_reader.found(view, QAccessible.Role.CheckBox) | screen_reader.found(
            view, QAccessible.Role.Button
        )
        return next((name for name in names if name.startswith("notes.py") and "token" in name), "")

    user.bot.waitUntil(lambda: bool(chip()), timeout=PATIENCE_MS)
    view.setFocus(Qt.FocusReason.TabFocusReason)
    for is_open in (True, False):
        press(user, way, view, chip())
        texts = screen_reader.found(view, QAccessible.Role.StaticText).values()
        assert any("x = 1" in text.text(QAccessible.Text.Value) for text in texts) is is_open


# --- notices -------------------------------------------------------------------------------------------------

_A = Project(instructions="Be brief.")


@dataclass(frozen=True)
class _Row:
    kind: type[NoticeAction]
    button: str
    begin: Callable[[User, int], object]
    """Called with the id of the open conversation, which has one answer."""
    has_done: Callable[[User, int], bool]


def _post(user: User, action: NoticeAction) -> None:
    user.controller.program.notices.post(Notice(verbatim("It is so."), action=action))


def _is_open(user: User, talk: int) -> bool:
    conversation = user.controller.shown.conversation
    return conversation is not None and conversation.id == talk


_ROWS: list[_Row] = [
    _Row(
        Undo,
        "Undo",
        lambda user, _: user.controller.prune(user.controller.shown.path[-1].id),
        lambda user, _: user.controller.shown.path[-1].role == "assistant",
    ),
    _Row(
        UndoDelete,
        "Undo",
        lambda user, talk: user.controller.program.conversations.delete(talk),
        _is_open,
    ),
    _Row(
        UndoArchive,
        "Undo",
        lambda user, talk: user.controller.program.conversations.archive(talk),
        lambda user, talk: any(
            one.id == talk and one.archived_ms is None for one in user.controller.program.conversations.all
        ),
    ),
    _Row(
        UndoDeleteProject,
        "Undo",
        lambda user, _: (user.controller.program.projects.put("A", _A), user.controller.program.projects.remove("A")),
        lambda user, _: "A" in user.controller.program.projects.names,
    ),
    _Row(
        AskWithProject,
        "Ask again with project",
        lambda user, talk: (
            user.controller.program.projects.put("A", _A),
            user.controller.program.conversations.put_into_folder(talk, "A"),
        ),
        lambda user, _: user.controller.shown.path[0].text == "Be brief.",
    ),
    _Row(
        ShowConversation,
        "Show",
        lambda user, talk: (user.controller.shown.new_conversation(), _post(user, ShowConversation(talk))),
        _is_open,
    ),
    _Row(
        ChatWith,
        "Start a chat",
        lambda user, _: _post(user, ChatWith("another")),
        lambda user, _: user.controller.model.name == "another",
    ),
    _Row(
        AllowLargeAnswers,
        "Allow",
        lambda user, _: _post(user, AllowLargeAnswers(user.controller.model.name)),
        lambda user, _: True,
    ),
    _Row(
        AskGuide,
        "Ask the guide",
        lambda user, _: (user.controller.shown.choose_model("another"), _post(user, AskGuide())),
        lambda user, _: user.controller.model.name == GUIDE,
    ),
    _Row(
        OpenMemorySettings,
        "Open settings",
        lambda user, _: _post(user, OpenMemorySettings()),
        lambda user, _: _has_dialog(user),
    ),
    _Row(OpenModels, "Open Models", lambda user, _: _post(user, OpenModels()), lambda user, _: _has_dialog(user)),
    _Row(
        RestartWorker,
        "Restart",
        lambda user, _: _post(user, RestartWorker()),
        lambda user, _: user.application.session.state == "loading",
    ),
]


def _has_dialog(user: User) -> bool:
    found = [one for one in user.window.findChildren(QDialog) if one.isVisible()]
    for dialog in found:
        dialog.close()
    return bool(found)


def _case(row: _Row, way: Way, first: Way) -> ParameterSet:
    marks = () if way == first and row in _ROWS[::3] else pytest.mark.long
    return pytest.param(row, way, id=f"{row.kind.__name__}-{way}", marks=marks)


_CASES = [_case(row, way, ALL[number // len(ALL) % len(ALL)]) for number, row in enumerate(_ROWS) for way in ALL]
"""`make test` runs each third row by one way."""


@pytest.mark.parametrize(("row", "way"), _CASES)
def test_the_button_of_a_notice_does_what_it_says_and_ends_the_notice(user: User, row: _Row, way: Way) -> None:
    user.ask("What is a branch?")
    conversation = user.controller.shown.conversation
    assert conversation is not None
    row.begin(user, conversation.id)
    banner = user.window.banner
    assert isinstance(banner.action, row.kind)
    press(user, way, banner, row.button)
    user.bot.waitUntil(lambda: row.has_done(user, conversation.id), timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: not banner.has(row.kind), timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)
    user.window.activateWindow()
    user.controller.program.projects.remove("A")


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        *zip(("information", "warning", "danger"), ALL, strict=True),
        *in_long_runs([(kind, way) for kind in ("information", "warning", "danger") for way in ALL]),
    ],
)
def test_a_notice_of_each_kind_is_read_and_closed(user: User, kind: Kind, way: Way) -> None:
    banner = user.window.banner
    while banner.isVisible():
        banner.dismiss()
    user.controller.program.notices.post(Notice(verbatim("It is so."), kind))
    assert "It is so." in screen_reader.found(banner, QAccessible.Role.StaticText)
    user.window.composer.text.setFocus()
    press(user, way, banner, "Close notice")
    assert not banner.isVisible()


@mostly("mouse")
def test_the_notice_of_a_model_that_does_not_load_ends_with_the_next_one(user: User, way: Way, tmp_path: Path) -> None:
    banner = user.window.banner
    user.controller.program.preferences.change(recent_models=(str(tmp_path / "gone"),))
    _choose_model(user, way, "gone")
    user.bot.waitUntil(lambda: banner.has(AskGuide), timeout=PATIENCE_MS)
    assert _placeholder(user) == "Ask anything"
    _choose_model(user, way, "Guide")
    user.bot.waitUntil(lambda: not banner.isVisible(), timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)
    assert _placeholder(user) == "Ask the guide about Bough"
    assert name_of(user.window.header.model_button) == "Model: Guide"
    user.controller.program.preferences.change(recent_models=())


def _choose_model(user: User, way: Way, name: str) -> None:
    user.window.activateWindow()
    user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
    button = name_of(user.window.header.model_button)
    choose_from(user, way, user.window.header, button, name)


def _placeholder(user: User) -> str:
    """Return the placeholder of the composer as a screen reader reads it."""
    field = QAccessible.queryAccessibleInterface(user.window.composer.text)
    return field.text(QAccessible.Text.Description)
