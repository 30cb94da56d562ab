"""The button below an answer of the guide: it does what the menu entry does that the answer names."""

from __future__ import annotations

from typing import Literal

import pytest
from corpus import Corpus
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.model.message import Message
from app.ui.dialogs.recovery_windows import BackupsWindow
from app.ui.menus import opened_entry
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.long import in_long_runs
from tests.waiting import PATIENCE_MS

Way = Literal["mouse", "keys", "reader"]


def _asked(user: User, question: str) -> Message:
    """Ask the guide, and wait until its answer is shown as finished."""
    answer = user.ask(question)
    user.bot.waitUntil(lambda: not user.view(answer.id).shown.is_streaming, timeout=PATIENCE_MS)
    return answer


def _press(user: User, way: Way, view: QWidget, button: QAbstractButton) -> None:
    match way:
        case "mouse":
            user.bot.mouseClick(button, Qt.MouseButton.LeftButton)
        case "keys":
            while user.window.focusWidget() is not button:
                user.bot.keyClick(user.window.focusWidget(), Qt.Key.Key_Tab)
            user.bot.keyClick(button, Qt.Key.Key_Space)
        case "reader":
            screen_reader.press(user.bot, view, button.text())


@pytest.mark.parametrize("way", ["mouse", *in_long_runs(["keys", "reader"])])
def test_the_window_that_an_answer_names_is_one_press_away(user: User, way: Way):
    answer = _asked(user, "Are there backups?")
    view = user.view(answer.id)
    button = view.footer.opener
    assert button is not None
    assert button.isVisible()
    assert button.text() == "Backups…"
    view.text.setFocus()
    _press(user, way, view, button)
    user.bot.waitUntil(lambda: bool(user.window.findChildren(BackupsWindow)), timeout=PATIENCE_MS)
    (sheet,) = user.window.findChildren(BackupsWindow)
    sheet.close()
    user.bot.waitUntil(lambda: not user.window.findChildren(BackupsWindow), timeout=PATIENCE_MS)


def test_only_the_last_answer_has_the_button_and_only_if_it_names_something_to_open(user: User):
    first = _asked(user, "Are there backups?")
    second = _asked(user, "What is a branch?")
    for message_id in (first.id, second.id):
        opener = user.view(message_id).footer.opener
        assert opener is None or not opener.isVisible()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Open **Models → Models…** (`Ctrl+M`).", "models"),
        ("First **File → Import…**, then **File → Trash…**.", "trash"),
        ("Then **Edit → Undo**, after **File → Settings…**.", "settings"),
        ("Choose **Message → Regenerate with…**.", None),
        ("**Edit → Undo** takes it back.", None),
        ("**File → Telepathy…**", None),
        ("", None),
    ],
)
def test_the_last_entry_that_opens_something_counts(text: str, name: str | None):
    entry = opened_entry(text)
    assert (None if entry is None else entry.name) == name


def test_whatever_an_answer_of_the_guide_offers_can_be_used_in_its_conversation(user: User):
    _asked(user, "What is a branch?")
    user.window.menus.update_all()
    entries = [opened_entry(text) for written in Corpus().answers.values() for text in written]
    names = {entry.name for entry in entries if entry is not None}
    assert len(names) > 10
    assert {name for name in names if not user.window.menus[name].isEnabled()} == set()
