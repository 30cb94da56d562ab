"""Walks by Tab alone: every stop has a name, its focus is seen, and the order is that on the screen."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QApplication, QCheckBox, QDialog, QListWidget, QWidget

from app.notices import Notice
from app.ui.composer.sampling_panel import SamplingPanel
from app.ui.dialogs.project_window import ProjectWindow
from app.ui.settings.settings_window import SettingsWindow
from tests.app.ui.conftest import User
from tests.app.ui.ways import focus, keys, name_of, tab_to
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS
from worker.sentence import verbatim

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
def test_what_lies_over_the_page_goes_when_the_focus_leaves_it(user: User, action: str) -> None:
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
