"""Actions that change the tree, by menu and by key, with undo and redo."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMenu, QWidget

from app.model.message import MessageId
from app.ui.menus import key_of
from app.ui.theme import icon, system_scheme, theme
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS


def _texts(user: User) -> list[str]:
    return [message.text for message in user.controller.shown.path[1:]]


def _undo(user: User) -> None:
    user.window.composer.text.setFocus()
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)


def _redo(user: User) -> None:
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Z, modifiers)


def test_ctrl_z_undoes_a_sent_message_and_redo_restores_it(user: User) -> None:
    first = user.ask("What is a branch?")
    user.ask("How do I fork a message?")
    whole = _texts(user)
    assert user.window.action("undo").text() == "Undo: Send"
    _undo(user)
    assert _texts(user) == ["What is a branch?", first.text]
    _redo(user)
    assert _texts(user) == whole
    assert user.texts[1:] == whole


@pytest.mark.parametrize("key", ["d", "v"])
def test_actions_on_versions_show_a_notice_if_there_is_only_one(user: User, key: str) -> None:
    answer = user.ask("What is a branch?")
    user.press(answer.id, key)
    assert user.window.banner.isVisible()
    assert "only one version" in user.window.banner.label.text()


def test_ctrl_z_in_the_composer_undoes_typing_first(user: User) -> None:
    user.ask("What is a branch?")
    whole = _texts(user)
    user.type("half a thought")
    _undo(user)
    assert user.window.composer.text.content == ""
    assert _texts(user) == whole
    _undo(user)
    assert _texts(user) == []


def test_undoing_a_streaming_answer_stops_it_and_redo_restores_it(user: User) -> None:
    user.type("Tell me all about branches.")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    user.bot.waitUntil(lambda: bool(user.controller.shown.path[-1].text), timeout=PATIENCE_MS)
    user.controller.undo()
    user.bot.waitUntil(lambda: _texts(user) == [], timeout=PATIENCE_MS)
    user.controller.redo()
    assert [message.role for message in user.controller.shown.path[1:]] == ["user", "assistant"]
    assert user.controller.shown.path[-1].text
    assert user.controller.shown.path[-1].state in {"stopped", "complete"}


def test_delete_prunes_a_message_with_its_subtree_and_the_banner_restores_it(user: User) -> None:
    user.ask("What is a branch?")
    second = user.ask("How do I fork a message?")
    whole = _texts(user)
    question = user.controller.shown.path[-2]
    user.view(question.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    # The number of messages is shown beforehand, in the menu and in the palette. The action keeps its name.
    user.window.menus.menu("Message").aboutToShow.emit()
    assert re.fullmatch(r"Prune \(2 .+\)\tDel", user.window.action("prune").text())
    user.window.menus.update_all()
    assert key_of(user.window.action("prune")) == "Del"
    user.window.action("prune").trigger()
    assert _texts(user) == whole[:2]
    assert user.window.banner.label.text() == "2 messages were pruned."
    user.bot.mouseClick(user.button(user.window.banner, "Undo"), Qt.MouseButton.LeftButton)
    assert _texts(user) == whole
    assert user.controller.shown.path[-1].id == second.id


def test_keep_only_prunes_the_other_versions_and_undo_restores_them(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.controller.regenerate(answer.id, 2)
    user.window.side_by_side.close_page()
    user.answer()
    versions = list(user.controller.shown.siblings(answer.id))
    assert len(versions) == 3
    user.view(versions[1]).text.setFocus(Qt.FocusReason.TabFocusReason)
    user.window.menus.menu("Message").aboutToShow.emit()
    assert user.window.action("keep_only").text().startswith("Keep only this version (prune 2 ")
    user.window.action("keep_only").trigger()
    assert list(user.controller.shown.siblings(versions[1])) == [versions[1]]
    user.window.action("undo").trigger()
    # A version that is still streaming is stopped first and restored once it has ended.
    user.bot.waitUntil(lambda: list(user.controller.shown.siblings(versions[1])) == versions, timeout=PATIENCE_MS)


def test_a_star_and_a_name_are_stored(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.window.action("star").trigger()
    assert user.controller.shown.message(answer.id).starred_ms is not None
    user.window.menus.menu("Message").aboutToShow.emit()
    check = icon("check", theme(system_scheme()).accent)
    assert user.window.action("star").icon().cacheKey() == check.cacheKey()
    assert user.window.action("edit").icon().cacheKey() != check.cacheKey()
    user.controller.name_branch(answer.id, "  the good\nway ")
    assert user.controller.shown.message(answer.id).name == "the good way"
    assert user.controller.shown.conversation is not None
    user.controller.shown.open_conversation(user.controller.shown.conversation.id)
    stored = user.controller.shown.message(answer.id)
    assert (stored.starred_ms is not None, stored.name) == (True, "the good way")
    user.window.action("undo").trigger()
    user.window.action("undo").trigger()
    stored = user.controller.shown.message(answer.id)
    assert (stored.starred_ms is not None, stored.name) == (False, "")


def test_a_replaced_text_can_be_undone(user: User) -> None:
    user.ask("What is a branch?")
    question, answer = user.controller.shown.path[1:]
    user.controller.replace(question.id, "What is a sibling?")
    assert _texts(user) == ["What is a sibling?", answer.text]
    user.window.action("undo").trigger()
    assert _texts(user) == ["What is a branch?", answer.text]


def _marks(user: User, message_id: MessageId) -> set[str]:
    """Return the marks shown below a message, by their accessible names."""
    shown = {label.accessibleName() for label in user.view(message_id).findChildren(QLabel) if label.isVisible()}
    return shown & {"Starred", "Pinned"}


def test_a_pin_is_stored_removed_and_set_again_by_undo_and_redo(user: User) -> None:
    answer = user.ask("What is a branch?")
    pin, undo, redo = (user.window.action(name) for name in ("pin_branch", "undo", "redo"))
    pin.trigger()
    assert user.controller.shown.message(answer.id).pinned_ms is not None
    user.window.menus.menu("Message").aboutToShow.emit()
    assert (pin.isChecked(), undo.text()) == (True, "Undo: Pin branch")
    assert user.controller.shown.conversation is not None
    user.controller.shown.open_conversation(user.controller.shown.conversation.id)
    pinned_ms = user.controller.shown.message(answer.id).pinned_ms
    assert pinned_ms is not None
    pin.trigger()
    assert undo.text() == "Undo: Unpin branch"
    undo.trigger()
    # The time of pinning is restored too, because it decides the order of the pins.
    assert user.controller.shown.message(answer.id).pinned_ms == pinned_ms
    undo.trigger()
    assert user.controller.shown.message(answer.id).pinned_ms is None
    assert redo.text() == "Redo: Pin branch"
    redo.trigger()
    assert user.controller.shown.message(answer.id).pinned_ms == pinned_ms


def _named_mine(_parent: QWidget, _name: str) -> str:
    return "Mine"


def test_letter_keys_star_pin_name_and_prune_the_focused_message(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = user.ask("What is a branch?")
    user.press(answer.id, "s")
    assert user.controller.shown.message(answer.id).starred_ms is not None
    assert _marks(user, answer.id) == {"Starred"}
    user.press(answer.id, "p")
    assert user.controller.shown.message(answer.id).pinned_ms is not None
    assert _marks(user, answer.id) == {"Starred", "Pinned"}
    user.press(answer.id, "s")
    assert _marks(user, answer.id) == {"Pinned"}
    monkeypatch.setattr("app.ui.dialogs.questions.ask_branch_name", _named_mine)
    user.press(answer.id, "n")
    assert user.controller.shown.message(answer.id).name == "Mine"
    assert "Mine" in {label.text() for label in user.view(answer.id).findChildren(QLabel) if label.isVisible()}
    user.bot.keyClick(user.view(answer.id).text, Qt.Key.Key_Delete)
    assert _texts(user) == ["What is a branch?"]


def test_more_actions_opens_the_menu_of_its_message(user: User) -> None:
    user.ask("What is a branch?")
    question = user.controller.shown.path[1]
    user.view(question.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    more = user.button(user.view(question.id), "More actions")
    user.bot.mouseClick(more, Qt.MouseButton.LeftButton)
    menu = next(menu for menu in user.window.findChildren(QMenu) if menu.isVisible())
    assert not user.window.action("continue").isEnabled()
    assert user.window.action("prune").isEnabled()
    user.bot.keyClick(menu, Qt.Key.Key_Escape)
