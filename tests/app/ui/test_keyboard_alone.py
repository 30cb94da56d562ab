"""Keyboard only: where the focus goes while the user asks, reads, forks, opens panels and returns; walks by Tab."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QDialog, QListWidget, QRadioButton, QWidget

from app.notices import Notice
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.dialogs.project_window import ProjectWindow
from app.ui.dialogs.recovery_windows import BackupsWindow, TrashWindow
from app.ui.parts.overlay import Overlay
from app.ui.parts.popover import Popover
from app.ui.settings.settings_window import SettingsWindow
from app.ui.text.message_text import MessageText
from tests.app.ui.conftest import User
from tests.app.ui.waiting import is_at_rest
from tests.app.ui.ways import focus, keys, name_of, tab_to
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim


def _keys(user: User, *sequences: str) -> None:
    """Press keys in the main window."""
    for sequence in sequences:
        user.window.activateWindow()
        user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
        keys(user, sequence)


def test_the_focus_moves_to_the_new_answer_after_regenerating(user: User) -> None:
    user.ask("What is a branch?")
    _keys(user, "Alt+Up", "R")
    second = user.answer()
    assert focus(user) is user.view(second.id).text
    _keys(user, "R")
    third = user.answer()
    assert len(user.controller.shown.siblings(third.id)) == 3
    _keys(user, "Alt+Left")
    assert focus(user) is user.view(second.id).text
    _keys(user, "Del")
    assert focus(user) is user.view(user.controller.shown.path[-1].id).text
    _keys(user, "Ctrl+Z")
    assert len(user.controller.shown.siblings(third.id)) == 3
    _keys(user, "Alt+Down")
    assert focus(user) is user.window.composer.text


def test_an_answer_without_text_takes_the_focus_and_is_regenerated(user: User) -> None:
    user.ask("What is a branch?")
    pid = user.application.link.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        user.type("How do I fork?")
        _keys(user, "Return", "Esc")
    finally:
        os.kill(pid, signal.SIGCONT)
    stopped = user.answer()
    assert (stopped.state, stopped.text) == ("stopped", "")
    _keys(user, "Alt+Up")
    assert focus(user) is user.view(stopped.id).text
    _keys(user, "Alt+Up")
    assert focus(user) is user.view(user.controller.shown.path[-2].id).text
    _keys(user, "Alt+Down", "R")
    assert user.answer().text
    assert len(user.controller.shown.siblings(stopped.id)) == 2


def test_the_composer_has_the_focus_after_a_fork_and_an_edited_question(user: User) -> None:
    answer = user.ask("What is a branch?")
    _keys(user, "Alt+Up", "Alt+Up", "E")
    QTest.keyClicks(focus(user), " ")
    QTest.keyClick(focus(user), Qt.Key.Key_Return)
    user.answer()
    assert focus(user) is user.window.composer.text
    _keys(user, "Alt+Up", "F")
    assert user.controller.shown.path[-1].id != answer.id
    assert focus(user) is user.window.composer.text


def test_the_tree_is_entered_and_left_by_keys(user: User) -> None:
    answer = user.ask("What is a branch?")
    _keys(user, "F6")
    view = user.window.tree_dock.view
    assert focus(user) is view
    _keys(user, "Up", "Return")
    assert view.hasFocus()
    _keys(user, "F6")
    assert focus(user) is user.window.composer.text
    _keys(user, "F6", "Ctrl+T")
    assert focus(user) is user.window.composer.text
    assert user.controller.shown.path[-1].id == answer.id


@pytest.mark.parametrize("action", ["export", "settings", "backups", "trash", "find", "search_all", "palette"])
def test_escape_restores_the_previous_focus(user: User, action: str) -> None:
    user.ask("What is a branch?")
    _keys(user, "Alt+Up")
    before = focus(user)
    QTest.keySequence(focus(user), user.window.action(action).shortcut())
    user.bot.waitUntil(lambda: focus(user) is not before, timeout=PATIENCE_MS)
    QTest.keyClick(focus(user), Qt.Key.Key_Escape)
    assert not any(opened.isVisible() for kind in (QDialog, Overlay) for opened in user.window.findChildren(kind))
    user.window.activateWindow()
    user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
    assert focus(user) is before


@pytest.mark.parametrize("action", ["sampling", "answer_format", "system_prompt"])
def test_a_panel_is_walked_by_tab_and_closed_by_escape(user: User, action: str) -> None:
    user.ask("What is a branch?")
    QTest.keySequence(focus(user), user.window.action(action).shortcut())
    user.bot.waitUntil(lambda: QApplication.activePopupWidget() is not None, timeout=PATIENCE_MS)
    panel = QApplication.activePopupWidget()
    assert isinstance(panel, Popover)
    first, seen = focus(user), set[QWidget]()
    while focus(user) not in seen:
        seen.add(focus(user))
        assert panel.isAncestorOf(focus(user))
        QTest.keyClick(focus(user), Qt.Key.Key_Tab)
    assert first in seen
    QTest.keyClick(focus(user), Qt.Key.Key_Escape)
    user.window.activateWindow()
    user.bot.waitUntil(user.window.isActiveWindow, timeout=PATIENCE_MS)
    assert focus(user) is user.window.composer.text


def test_escape_closes_side_by_side_and_the_comparison(user: User) -> None:
    user.ask("What is a branch?")
    _keys(user, "Alt+Up", "R")
    answer = user.answer()
    _keys(user, "D")
    user.bot.waitUntil(lambda: QApplication.activeWindow() is not user.window, timeout=PATIENCE_MS)
    QTest.keyClick(focus(user), Qt.Key.Key_Escape)
    _keys(user, "V")
    page = user.window.side_by_side
    assert page.isVisible()
    assert page.isAncestorOf(focus(user))
    # Escape works from the buttons and from the texts.
    while not isinstance(focus(user), MessageText):
        assert page.isAncestorOf(focus(user))
        _keys(user, "Shift+Tab")
    QTest.keyClick(focus(user), Qt.Key.Key_Escape)
    assert not page.isVisible()
    assert focus(user).isVisible()
    assert user.controller.shown.path[-1].id == answer.id


def test_enter_presses_the_focused_button_in_the_window_and_in_a_panel(user: User) -> None:
    # A closed search must not take keys.
    user.window.action("search_all").trigger()
    QTest.keyClick(focus(user), Qt.Key.Key_Escape)
    answer = user.ask("What is a branch?")
    regenerate = user.button(user.view(answer.id), "Regenerate")
    user.bot.waitUntil(regenerate.isVisible, timeout=PATIENCE_MS)
    regenerate.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(focus(user), Qt.Key.Key_Return)
    assert len(user.controller.shown.siblings(user.answer().id)) == 2
    _keys(user, "Ctrl+J")
    panel = QApplication.activePopupWidget()
    assert panel is not None
    choice = panel.findChildren(QRadioButton)[1]
    choice.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(choice, Qt.Key.Key_Enter)
    assert choice.isChecked()
    panel.close()


def test_page_keys_scroll_the_conversation_from_the_composer(user: User) -> None:
    user.ask("What is a branch?")
    answer = user.controller.shown.path[-1]
    user.controller.replace(answer.id, "A paragraph.\n\n" * 200)
    bar = user.window.transcript.verticalScrollBar()
    # The page grows after the text is written. Each paragraph is at least 20 pixels high.
    user.bot.waitUntil(lambda: is_at_rest(user.window.transcript) and bar.maximum() > 200 * 20, timeout=PATIENCE_MS)
    bar.setValue(bar.maximum())
    _keys(user, "Ctrl+L")
    end = bar.value()
    _keys(user, "PgUp")
    user.bot.waitUntil(lambda: is_at_rest(user.window.transcript) and bar.value() < end, timeout=PATIENCE_MS)
    _keys(user, "PgDown")
    user.bot.waitUntil(lambda: bar.value() == end, timeout=PATIENCE_MS)
    assert focus(user) is user.window.composer.text
    # A text longer than its field is scrolled instead.
    field = user.window.composer.text
    field.setPlainText("line\n" * 100)
    user.bot.waitUntil(lambda: field.verticalScrollBar().maximum() > 0, timeout=PATIENCE_MS)
    _keys(user, "Ctrl+End", "PgUp")
    # The field has grown and the page has become lower, but its end stays in sight.
    user.bot.waitUntil(lambda: is_at_rest(user.window.transcript) and bar.value() == bar.maximum(), timeout=PATIENCE_MS)
    assert field.textCursor().blockNumber() < 99


def test_clicking_a_conversation_focuses_the_composer(user: User) -> None:
    user.ask("What is a branch?")
    user.controller.shown.new_conversation()
    rows = user.window.sidebar.list
    rows.setFocus()
    opened = rows.rows.index(0, 0, rows.rows.index(0, 0))
    QTest.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=rows.visualRect(opened).center())
    assert user.controller.shown.conversation is not None
    assert focus(user) is user.window.composer.text


# --- walks by Tab --------------------------------------------------------------------------------------------

_RING_PX = 20
"""The ring around a message is at the edge of its card."""


def _walk(user: User) -> list[QWidget]:
    """Press Tab until the focus comes back; return the stops. Each must be visible, have a name and show its focus."""
    stops: list[QWidget] = []
    while (stop := focus(user)) not in stops:
        stops.append(stop)
        window = stop.window()
        around = QRect(stop.mapTo(window, QPoint()), stop.size()).adjusted(-_RING_PX, -_RING_PX, _RING_PX, _RING_PX)
        assert window.rect().intersects(around), name_of(stop)
        assert name_of(stop), stop
        focused = window.grab(around).toImage()
        keys(user, "Tab")
        if focus(user) is not stop and window.isVisible():
            assert window.grab(around).toImage() != focused, f"No focus is seen on {name_of(stop)!r}"
    return stops


def _names(stops: list[QWidget]) -> list[str]:
    return [name_of(stop) for stop in stops]


def test_tab_reaches_every_part_of_the_window(user: User) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    user.answer()
    user.window.action("tree").trigger()
    user.window.composer.text.setFocus()
    names = _names(_walk(user))
    user.window.action("tree").trigger()
    for group in (
        ["Message", "Attach files", "System prompt", "Answer format", "Sampling"],
        ["Search", "New conversation", "Conversations", "Settings"],
        ["Add a system prompt", "More actions", "You", "Edit", "Fork", "Copy", "More actions"],
        ["Previous version", "Edit", "Regenerate", "Fork", "Continue", "Copy", "More actions"],
        ["Fit tree to view", "Close the tree", "Tree of the conversation"],
        ["Hide the sidebar", "Model: Guide", "Hide the tree"],
    ):
        begin = names.index(group[0])
        assert names[begin : begin + len(group)] == group
    assert "Answer, version 2 of 2" in names


def test_tab_goes_from_an_editor_to_the_next_message(user: User) -> None:
    user.ask("What is a branch?")
    question, answer = user.controller.shown.path[-2:]
    user.press(question.id, "e")
    walked: list[str] = []
    while focus(user) is not user.view(answer.id).text:
        walked.append(name_of(focus(user)))
        keys(user, "Tab")
    assert walked == ["New version", "Cancel", "Ask again"]
    tab_to(user, "New version", "Shift+Tab")
    keys(user, "Esc")


def test_tab_follows_the_folded_parts_of_sampling(user: User) -> None:
    user.window.action("sampling").trigger()
    panel = QApplication.activePopupWidget()
    assert isinstance(panel, SamplingPanel)
    names = _names(_walk(user))
    # With one model on this computer there is no field for several.
    place = names.index("Advanced")
    assert names[place - 1 : place + 2] == ["Answers at once", "Advanced", "Hooks and drafts"]
    for part in ("Advanced", "Hooks and drafts"):
        tab_to(user, part)
        keys(user, "Space")
    user.bot.waitUntil(lambda: len(panel.hooks.switches) > 2, timeout=PATIENCE_MS)
    tab_to(user, "Temperature")
    opened = _names(_walk(user))
    opened = opened[opened.index("Advanced") :]
    assert opened[1:9] == [
        *("Min-p", "Repetition penalty", "Seed", "Presence penalty", "Frequency penalty"),
        *("Stop strings", "Add", "Hooks and drafts"),
    ]
    hooks = [name_of(switch) for switch in panel.hooks.switches.values()]
    assert opened[9 : 9 + len(hooks)] == hooks
    assert opened[10 + len(hooks) : 12 + len(hooks)] == ["Reset to default", "Make default"]
    keys(user, "Esc")
    assert focus(user) is user.window.composer.text


def test_tab_goes_from_the_files_of_a_project_to_the_button_that_adds_some(user: User, tmp_path: Path) -> None:
    user.window.action("new_project").trigger()
    (page,) = (found for found in user.window.findChildren(ProjectWindow) if found.isVisible())
    file = tmp_path / "notes.txt"
    file.write_text("Apples")
    page.files.add([file])
    user.bot.waitUntil(lambda: "token" in name_of(page.files.chips.buttons[0]), timeout=PATIENCE_MS)
    page.activateWindow()
    names = _names(_walk(user))
    place = names.index("Instructions")
    assert names[place + 1].startswith("Remove notes.txt · ")
    assert names[place + 2] == "Add files…"
    keys(user, "Esc")
    assert not page.isVisible()


def test_esc_closes_a_notice_that_has_the_focus(user: User) -> None:
    banner = user.window.banner
    user.controller.program.notices.post(Notice(verbatim("It is so.")))
    user.window.composer.text.setFocus()
    tab_to(user, "Close notice")
    keys(user, "Esc")
    assert not banner.isVisible()
    assert focus(user) is user.window.composer.text


@pytest.mark.parametrize("action", ["sidebar", "tree"])
def test_panels_over_the_page_close_when_the_focus_leaves_them(user: User, action: str) -> None:
    user.ask("What is a branch?")
    user.window.resize(400, 700)
    dock = user.window.sidebar if action == "sidebar" else user.window.tree_dock
    user.bot.waitUntil(dock.isHidden, timeout=PATIENCE_MS)
    for leave in (partial(keys, user, "Esc"), partial(_tab_out_of, user, dock)):
        user.window.composer.text.setFocus()
        keys(user, "Ctrl+B" if action == "sidebar" else "Ctrl+T")
        assert dock.isVisible()
        assert dock.isAncestorOf(focus(user))
        leave()
        assert dock.isHidden()
        assert focus(user).isVisible()
    user.window.resize(1100, 760)


def _tab_out_of(user: User, dock: QWidget) -> None:
    while dock.isAncestorOf(focus(user)):
        keys(user, "Tab")


_WINDOWS = ("export", "export_many", "trash", "backups", "settings", "models", "shortcuts", "about", "new_project")


@pytest.mark.parametrize("action", in_long_runs(_WINDOWS))
def test_tab_reaches_every_part_of_a_window_and_esc_closes_it(user: User, action: str) -> None:
    user.ask("What is a branch?")
    user.window.action(action).trigger()

    def opened() -> QWidget | None:
        return next((found for found in user.window.findChildren(QDialog) if found.isVisible()), None)

    user.bot.waitUntil(lambda: opened() is not None, timeout=PATIENCE_MS)
    dialog = opened()
    assert dialog is not None
    dialog.activateWindow()
    user.bot.waitUntil(lambda: dialog.isAncestorOf(focus(user)), timeout=PATIENCE_MS)
    if isinstance(dialog, TrashWindow | BackupsWindow):
        # A list without rows shows no focus.
        user.bot.waitUntil(lambda: dialog.list.count() > 0 or dialog.empty.isVisible(), timeout=PATIENCE_MS)
    stops = _walk(user)
    assert [name_of(stop) for stop in stops if not dialog.isAncestorOf(stop)] == []
    if isinstance(dialog, SettingsWindow):
        pages = dialog.findChildren(QListWidget)[0]
        for _ in range(pages.count() - 1):
            tab_to(user, "Pages")
            keys(user, "Down")
            assert len(_walk(user)) > 1
            assert not [box for box in dialog.findChildren(QCheckBox) if box.isVisible() and not name_of(box)]
    keys(user, "Esc")
    user.bot.waitUntil(lambda: opened() is None, timeout=PATIENCE_MS)
