"""The operations of the window by mouse, by keys alone, and through the accessibility tree."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from pypdf import PdfReader
from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, Qt, QUrl
from PySide6.QtGui import QAccessible, QDragEnterEvent, QDropEvent, QHelpEvent
from PySide6.QtPrintSupport import QPrintDialog
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QFileDialog,
    QInputDialog,
    QLineEdit,
    QMessageBox,
    QToolTip,
    QWidget,
)

from app.answers.answer_stream import Reading
from app.answers.sessions import GUIDE
from app.model.project import Project
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.composer.writing_field import WritingField
from app.ui.dialogs.project_window import ProjectWindow
from app.ui.pages import Welcome
from app.ui.parts.popover import Popover
from app.ui.settings.settings_window import SettingsWindow
from app.ui.theme import theme
from app.ui.tree.tree_view import TreeView
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.app.ui.ways import (
    Way,
    button,
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
    press,
    tab_to,
    while_open,
)
from tests.waiting import PATIENCE_MS


@pytest.fixture
def narrow(user: User) -> User:
    """A user of a window with 360 pixels of width, whose menus are in one button."""
    user.window.resize(360, 700)
    user.bot.waitUntil(user.window.sidebar.isHidden, timeout=PATIENCE_MS)
    return user


# --- a narrow window -----------------------------------------------------------------------------------------


@each_way
def test_the_menus_of_a_narrow_window_are_in_one_button(narrow: User, way: Way) -> None:
    window = narrow.window
    assert not window.menuBar().isVisible()
    was_checked = window.action("tokens").isChecked()
    choose_from(narrow, way, window.header, "Menus", "View", "Tokens")
    assert window.action("tokens").isChecked() is not was_checked
    window.action("tokens").trigger()


@each_way
def test_the_sidebar_over_a_narrow_page_opens_a_conversation_and_goes(narrow: User, way: Way) -> None:
    store, window = narrow.application.store, narrow.window
    conversation, _ = store.create_conversation("Trees", "", "What is a branch?")
    narrow.controller.program.conversations.changed.emit()
    press(narrow, way, window.header, "Show the sidebar")
    rows = window.sidebar.list
    assert window.sidebar.isVisible()
    assert focus(narrow) is rows
    assert name_of(button(window.header, "Hide the sidebar"))
    match way:
        case "mouse":
            place = rows.visualRect(rows.rows.index_of(conversation.id)).center()
            narrow.bot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=place)
        case "keys":
            narrow.bot.keyClicks(rows, "Trees")
            keys(narrow, "Return")
        case "reader":
            while screen_reader.focused(rows) != "Trees":
                keys(narrow, "Down")
            keys(narrow, "Return")
    opened = narrow.controller.shown.conversation
    assert opened is not None
    assert opened.id == conversation.id
    assert not window.sidebar.isVisible()
    assert button(window.header, "Show the sidebar")


# --- below an answer -----------------------------------------------------------------------------------------


@mostly("keys")
def test_the_figure_of_an_answer_shows_all_figures_in_a_tool_tip_and_in_a_panel(user: User, way: Way) -> None:
    answer = user.ask("What is a branch?")
    figure = user.view(answer.id).footer.figure
    assert figure is not None
    name = name_of(figure)
    assert name.endswith("tokens/s")
    if way == "mouse":
        QApplication.sendEvent(figure, QHelpEvent(QEvent.Type.ToolTip, QPoint(4, 4), figure.mapToGlobal(QPoint(4, 4))))
        assert "tokens, " in QToolTip.text()
    if way == "keys":
        user.view(answer.id).text.setFocus(Qt.FocusReason.TabFocusReason)
        tab_to(user, name)
        assert "tokens, " in QToolTip.text()
    if way == "reader":
        described = screen_reader.found(user.view(answer.id), QAccessible.Role.Button)[name]
        assert "tokens, " in described.text(QAccessible.Text.Description)
    press(user, way, user.view(answer.id), name)
    panel = QApplication.activePopupWidget()
    assert isinstance(panel, Popover)
    (text,) = (one for one in screen_reader.found(panel, QAccessible.Role.StaticText) if "first word" in one)
    assert "tokens, " in text
    assert name_of(focus(user)) == text
    keys(user, "Esc")
    assert QApplication.activePopupWidget() is None


@mostly("mouse")
def test_the_menu_at_a_message_has_at_most_nine_entries(user: User, way: Way) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    answer = user.answer()
    view = user.view(answer.id)
    view.text.setFocus(Qt.FocusReason.TabFocusReason)
    press(user, way, view, "More actions")
    menu = QApplication.activePopupWidget()
    assert menu is not None
    assert 5 < len(screen_reader.found(menu, QAccessible.Role.MenuItem)) <= 9
    choose(user, way, "Star")
    assert user.controller.shown.message(answer.id).starred_ms is not None


# --- sampling ------------------------------------------------------------------------------------------------


@each_way
def test_the_folded_parts_of_sampling_open_and_fold(user: User, way: Way) -> None:
    press(user, way, user.window.composer, "Sampling")
    panel = QApplication.activePopupWidget()
    assert isinstance(panel, SamplingPanel)
    spins = screen_reader.found(panel, QAccessible.Role.SpinBox)
    assert set(spins) == {"Temperature", "Top-p", "Top-k", "Maximum tokens", "Answers at once"}
    press(user, way, panel, "Advanced")
    assert "Min-p" in screen_reader.found(panel, QAccessible.Role.SpinBox)
    assert screen_reader.found(panel, QAccessible.Role.CheckBox)["Advanced"].state().checked
    press(user, way, panel, "Advanced")
    assert "Min-p" not in screen_reader.found(panel, QAccessible.Role.SpinBox)
    panel.close()


# --- first page ----------------------------------------------------------------------------------------------


def test_a_screen_reader_chooses_who_answers_on_the_first_page(user: User) -> None:
    welcome = Welcome(theme("light"))
    user.bot.addWidget(welcome)
    welcome.show_choices(GUIDE, "another", is_starter=False)
    welcome.show()
    with user.bot.waitSignal(welcome.model_chosen, timeout=PATIENCE_MS) as chosen:
        screen_reader.press(user.bot, welcome, "Chat with another")
    assert chosen.args == ["another"]


# --- files, in the dialogs of the system ---------------------------------------------------------------------


@mostly("reader")
def test_settings_go_to_one_file_and_come_from_one(user: User, way: Way, tmp_path: Path) -> None:
    preferences, file = user.controller.program.preferences, tmp_path / "mine.json"
    preferences.change(text_percent=110)
    while_open(
        user,
        QFileDialog,
        lambda dialog: fill(user, way, file, "Save", dialog),
        lambda: from_menu(user, way, "File", "Export settings…"),
    )
    assert file.exists()
    preferences.change(text_percent=100)
    while_open(
        user,
        QFileDialog,
        lambda dialog: fill(user, way, file, "Open", dialog),
        lambda: from_menu(user, way, "File", "Import settings…"),
    )
    assert preferences.settings.text_percent == 110
    assert "settings before import" in user.window.banner.label.text()
    preferences.change(text_percent=100)


@mostly("keys")
def test_a_branch_is_printed(user: User, way: Way, tmp_path: Path) -> None:
    user.ask("What is a branch?")
    file = tmp_path / "branch.pdf"
    while_open(
        user,
        QPrintDialog,
        lambda dialog: fill(user, way, file, "Print", dialog),
        lambda: from_menu(user, way, "File", "Print branch…"),
    )
    user.bot.waitUntil(user.window.banner.isVisible, timeout=PATIENCE_MS)
    assert "sent to the printer" in user.window.banner.label.text()
    assert "What is a branch?" in " ".join(PdfReader(file).pages[0].extract_text().split())


# --- projects ------------------------------------------------------------------------------------------------


def _write(user: User, way: Way, page: ProjectWindow, name: str, text: str) -> None:
    match way:
        case "mouse":
            fields = [field for field in page.findChildren(QWidget) if field.isVisible() and name_of(field) == name]
            field = next(field for field in fields if isinstance(field, QLineEdit | WritingField))
            target = field.viewport() if isinstance(field, WritingField) else field
            user.bot.mouseClick(target, Qt.MouseButton.LeftButton)
            user.bot.keyClicks(field, text)
        case "keys":
            user.bot.keyClicks(tab_to(user, name), text)
        case "reader":
            screen_reader.write(page, name, text)


@mostly("mouse")
def test_a_project_is_made_and_opened_again(user: User, way: Way, tmp_path: Path) -> None:
    folder, file = f"Garden of {way}", tmp_path / "notes.txt"
    file.write_text("Apples are red.")
    from_menu(user, way, "File", "New project…")
    page = _project_page(user)
    _write(user, way, page, "Name", folder)
    _write(user, way, page, "Instructions", "Be brief.")
    while_open(
        user,
        QFileDialog,
        lambda dialog: fill(user, way, file, "Open", dialog),
        lambda: press(user, way, page, "Add files…"),
    )
    user.bot.waitUntil(lambda: len(page.files.files) == 1, timeout=PATIENCE_MS)
    if way == "mouse":
        # Another one is dropped.
        other = tmp_path / "more.txt"
        other.write_text("Pears are green.")
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(other))])
        how = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        for event in (QDragEnterEvent(QPoint(5, 5), *how), QDropEvent(QPoint(5, 5), *how)):
            QApplication.sendEvent(page, event)
        assert [one.name for one in page.files.files] == ["notes.txt", "more.txt"]
    page.activateWindow()
    user.bot.waitUntil(page.isActiveWindow, timeout=PATIENCE_MS)
    press(user, way, page, "Save")
    user.bot.waitUntil(lambda: not page.isVisible(), timeout=PATIENCE_MS)
    project = user.controller.program.projects.get(folder)
    assert project is not None
    assert project.instructions == "Be brief."
    assert user.controller.project.folder == folder
    # Its section in the sidebar has a menu.
    user.window.activateWindow()
    open_section_menu(user, way, folder)
    choose(user, way, "Project…")
    again = _project_page(user)
    assert again.folder == folder
    press(user, way, again, "Cancel")
    user.window.activateWindow()
    user.controller.program.projects.remove(folder)


def _project_page(user: User) -> ProjectWindow:
    def pages() -> list[ProjectWindow]:
        return [page for page in user.window.findChildren(ProjectWindow) if page.isVisible()]

    user.bot.waitUntil(lambda: bool(pages()), timeout=PATIENCE_MS)
    (page,) = pages()
    page.activateWindow()
    user.bot.waitUntil(page.isActiveWindow, timeout=PATIENCE_MS)
    return page


# --- asking and editing --------------------------------------------------------------------------------------


@mostly("keys")
def test_a_question_is_edited_and_asked_again(user: User, way: Way) -> None:
    user.ask("What is a branch?")
    question = user.controller.shown.path[-2]
    edit(user, way, question, "How do I fork?")
    press(user, way, user.view(question.id), "Ask again")
    user.answer()
    assert user.controller.shown.path[-2].text == "How do I fork?"
    assert len(user.controller.shown.siblings(question.id)) == 2
    assert user.controller.shown.message(question.id).text == "What is a branch?"


@pytest.mark.long
@each_way
def test_an_edited_answer_is_saved(user: User, way: Way) -> None:
    answer = user.ask("What is a branch?")
    edit(user, way, answer, "Mine.")
    press(user, way, user.view(answer.id), "Save")
    assert user.controller.shown.path[-1].text == "Mine."
    assert len(user.controller.shown.siblings(answer.id)) == 2


@pytest.mark.long
@each_way
def test_another_system_prompt_is_saved_as_a_branch(user: User, way: Way) -> None:
    user.ask("What is a branch?")
    press(user, way, user.window.composer, "System prompt")
    panel = QApplication.activePopupWidget()
    assert panel is not None
    if way == "reader":
        screen_reader.write(panel, "System prompt", "Be brief.")
    else:
        user.bot.keyClicks(focus(user), "Be brief.")
    press(user, way, panel, "Save as new branch")
    user.answer()
    assert [one.text for one in user.controller.shown.path[:2]] == ["Be brief.", "What is a branch?"]


@mostly("reader")
def test_an_answer_is_continued_from_the_cursor(user: User, way: Way) -> None:
    answer = user.ask("What is a branch?")
    view = user.view(answer.id)
    if way == "mouse":
        user.bot.mouseClick(view.text.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(60, 10))
    else:
        view.text.setFocus(Qt.FocusReason.TabFocusReason)
        keys(user, "Ctrl+Home", "Ctrl+Right", "Ctrl+Right")
        text = QAccessible.queryAccessibleInterface(view.text).textInterface()
        assert text is not None
        assert text.cursorPosition() == view.text.textCursor().position() > 0
    kept = answer.text[: view.text.source_position]
    assert 0 < len(kept) < len(answer.text)
    press(user, way, view, "Continue from here")
    version = user.answer()
    assert version.id != answer.id
    assert version.text.startswith(kept)


@mostly("reader")
def test_a_file_is_attached_and_removed(user: User, way: Way, tmp_path: Path) -> None:
    composer, file = user.window.composer, tmp_path / "notes.txt"
    file.write_text("Apples are red.")
    while_open(
        user,
        QFileDialog,
        lambda dialog: fill(user, way, file, "Open", dialog),
        lambda: press(user, way, composer, "Attach files"),
    )
    user.window.activateWindow()
    user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: "token" in name_of(composer.attachments.buttons[0]), timeout=PATIENCE_MS)
    chip = name_of(composer.attachments.buttons[0])
    assert chip.startswith("Remove notes.txt · ")
    user.bot.waitUntil(
        lambda: chip.removeprefix("Remove ") in screen_reader.found(composer, QAccessible.Role.StaticText),
        timeout=PATIENCE_MS,
    )
    press(user, way, composer, chip)
    assert composer.attachments.buttons == []


# --- stopping ------------------------------------------------------------------------------------------------


def _press_stop(user: User, way: Way) -> None:
    if way == "keys":
        keys(user, "Esc")
    else:
        press(user, way, user.window.composer, "Stop")


@mostly("mouse")
def test_an_answer_is_stopped_while_its_prompt_is_read(user: User, way: Way) -> None:
    pid = user.application.link.pid
    assert pid is not None
    field = user.window.composer.text
    # Not one that is kept from another test.
    field.setPlainText(f"By {way}: " + "What is a branch? " * 90)
    field.setFocus()
    reported: list[Reading] = []

    def pause(_message_id: int, reading: Reading) -> None:
        os.kill(pid, signal.SIGSTOP)
        reported.append(reading)

    connection = user.controller.shown.reading.connect(pause)
    keys(user, "Return")
    user.bot.waitUntil(lambda: bool(reported), timeout=PATIENCE_MS)
    QObject.disconnect(connection)
    try:
        answer = user.controller.shown.path[-1]
        done, total = reported[0].done, reported[0].total
        assert done < total
        line = f"reading {done:,} of {total:,}"

        def is_said() -> bool:
            words = screen_reader.found(user.view(answer.id), QAccessible.Role.StaticText)
            return any(text.startswith(line) for text in words)

        user.bot.waitUntil(is_said, timeout=PATIENCE_MS)
        _press_stop(user, way)
        assert "stopping…" in screen_reader.found(user.view(answer.id), QAccessible.Role.StaticText)
        assert name_of(user.window.composer.send_button) == "Stopping…"
    finally:
        os.kill(pid, signal.SIGCONT)
    stopped = user.answer()
    assert (stopped.state, stopped.text) == ("stopped", "")


# --- the tree ------------------------------------------------------------------------------------------------


@mostly("reader")
def test_the_tree_keeps_its_places_and_shows_no_stale_cost_after_an_undo(user: User, way: Way) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    second = user.answer()
    user.window.action("tree").trigger()
    tree, card = user.window.tree_dock.view, user.window.tree_dock.card
    try:
        user.bot.waitUntil(lambda: bool(_places(tree)), timeout=PATIENCE_MS)
        before = _places(tree)
        view = user.view(second.id)
        view.text.setFocus(Qt.FocusReason.TabFocusReason)
        if way == "keys":
            keys(user, "Alt+Left")
        else:
            press(user, way, view, "Previous version")
        assert user.controller.shown.path[-1].id == first.id
        assert _places(tree) == before
        # An undone change makes the costs unknown until the worker has said them again.
        user.controller.prune(second.id)
        if way == "keys":
            keys(user, "Ctrl+Z")
        else:
            press(user, way, user.window.banner, "Undo")
        # The tree was smaller meanwhile, so it may be scrolled otherwise.
        user.bot.waitUntil(lambda: _from_corner(_places(tree)) == _from_corner(before), timeout=PATIENCE_MS)
        match way:
            case "mouse":
                assert tree.layout_shown is not None
                QTest.mouseMove(tree.viewport(), tree.rect_of(tree.layout_shown[second.id]).center())
                said = card.cost_text
            case "keys":
                keys(user, "F6", "End")
                said = card.cost_text
            case "reader":
                said = _descriptions(tree)[-1]
        assert said in {"…", "Cost not known yet"} or user.controller.costs.get(second.id) is not None
        user.bot.waitUntil(lambda: user.controller.costs.get(second.id) is not None, timeout=PATIENCE_MS)
        assert "kept" in _descriptions(tree)[-1] or "read" in _descriptions(tree)[-1]
    finally:
        user.window.action("tree").trigger()


def _places(tree: TreeView) -> dict[str, tuple[int, int]]:
    """Return where the accessible nodes of the tree are, by their names without the mark of the visible branch."""
    interface = QAccessible.queryAccessibleInterface(tree)
    found = [interface.child(number) for number in range(interface.childCount())]
    return {one.text(QAccessible.Text.Name): one.rect().topLeft().toTuple() for one in found if one is not None}


def _from_corner(places: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Return places as distances from the leftmost and the topmost of them."""
    left, top = (min((place[axis] for place in places.values()), default=0) for axis in (0, 1))
    return {name: (x - left, y - top) for name, (x, y) in places.items()}


def _descriptions(tree: TreeView) -> list[str]:
    interface = QAccessible.queryAccessibleInterface(tree)
    found = [interface.child(number) for number in range(interface.childCount())]
    return [one.text(QAccessible.Text.Description) for one in found if one is not None]


# --- the list of conversations and the trash -----------------------------------------------------------------


@mostly("keys")
def test_emptying_the_trash_asks_first(user: User, way: Way) -> None:
    from_menu(user, way, "File", "Empty trash…")
    box = next(one for one in user.window.findChildren(QMessageBox) if one.isVisible())
    box.activateWindow()
    user.bot.waitUntil(box.isActiveWindow, timeout=PATIENCE_MS)
    # The harmless button has the focus.
    assert name_of(focus(user)) == "Cancel"
    press(user, way, box, "Cancel")
    user.bot.waitUntil(lambda: not box.isVisible(), timeout=PATIENCE_MS)


@mostly("keys")
def test_a_pinned_conversation_is_moved_to_a_known_project_which_its_row_names(user: User, way: Way) -> None:
    projects, store = user.controller.program.projects, user.application.store
    conversation, _ = store.create_conversation("Trees", "", "What is a branch?")
    user.controller.program.conversations.pin(conversation.id)
    projects.put("Garden", Project(instructions="Be brief."))
    user.controller.shown.open_conversation(conversation.id)

    def choose_garden(dialog: QInputDialog) -> None:
        box = dialog.findChild(QComboBox)
        assert isinstance(box, QComboBox)
        assert "Garden" in [box.itemText(index) for index in range(box.count())]
        dialog.activateWindow()
        user.bot.waitUntil(dialog.isActiveWindow, timeout=PATIENCE_MS)
        if way == "keys":
            keys(user, "Ctrl+A")
            user.bot.keyClicks(focus(user), "Garden")
            keys(user, "Return")
        else:
            box.setCurrentText("Garden")
            press(user, way, dialog, "OK")

    while_open(user, QInputDialog, choose_garden, lambda: from_menu(user, way, "File", "Move to project…"))
    rows = screen_reader.found(user.window.sidebar.list, QAccessible.Role.TreeItem)
    assert "Trees · Garden" in rows
    projects.remove("Garden")
    user.controller.program.conversations.delete(conversation.id)


@pytest.mark.long
@each_way
def test_a_setting_shows_all_figures(user: User, way: Way) -> None:
    answer = user.ask("What is a branch?")
    user.window.action("settings").trigger()
    settings = user.window.findChildren(SettingsWindow)[-1]
    settings.show_page(settings.answers)
    settings.activateWindow()
    user.bot.waitUntil(settings.isActiveWindow, timeout=PATIENCE_MS)
    if way == "keys":
        tab_to(user, "One")
        keys(user, "Down")
    else:
        press(user, way, settings, "All")
    settings.close()
    shown = screen_reader.found(user.view(answer.id), QAccessible.Role.StaticText)
    assert any("first" in text and "tokens" in text for text in shown), [*shown]
    user.controller.program.preferences.change(all_figures=False)
