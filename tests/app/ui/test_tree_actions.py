"""What changes the tree, by menu and by key, and how it is taken back."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QMenu, QWidget

from app.model.message import MessageId
from app.ui.menus import key_of
from app.ui.message.message_editor import MessageEditor
from app.ui.theme import icon, system_scheme, theme
from tests.app.ui.conftest import Person


def _texts(person: Person) -> list[str]:
    return [message.text for message in person.controller.shown.path[1:]]


def _undo(person: Person) -> None:
    person.window.composer.text.setFocus()
    person.bot.keyClick(person.window.composer.text, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)


def _redo(person: Person) -> None:
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    person.bot.keyClick(person.window.composer.text, Qt.Key.Key_Z, modifiers)


def test_control_z_takes_back_what_was_asked_and_brings_it_again(person: Person) -> None:
    first = person.ask("What is a branch?")
    person.ask("How do I fork a message?")
    whole = _texts(person)
    assert person.window.action("undo").text() == "Undo: Send"
    _undo(person)
    assert _texts(person) == ["What is a branch?", first.text]
    _redo(person)
    assert _texts(person) == whole
    assert person.texts[1:] == whole


@pytest.mark.parametrize("key", ["d", "v"])
def test_what_needs_several_versions_says_so_where_there_is_one(person: Person, key: str) -> None:
    answer = person.ask("What is a branch?")
    person.press(answer.id, key)
    assert person.window.banner.isVisible()
    assert "one version only" in person.window.banner.label.text()


def test_control_z_in_the_composer_takes_back_what_was_typed_first(person: Person) -> None:
    person.ask("What is a branch?")
    whole = _texts(person)
    person.type("half a thought")
    _undo(person)
    assert person.window.composer.text.content == ""
    assert _texts(person) == whole
    _undo(person)
    assert _texts(person) == []


def test_an_answer_that_is_undone_while_it_streams_is_stopped_and_can_be_gone_on_with(person: Person) -> None:
    person.type("Tell me all about branches.")
    person.bot.keyClick(person.window.composer.text, Qt.Key.Key_Return)
    person.bot.waitUntil(lambda: bool(person.controller.shown.path[-1].text), timeout=60_000)
    person.controller.undo()
    person.bot.waitUntil(lambda: _texts(person) == [], timeout=60_000)
    person.controller.redo()
    assert [message.role for message in person.controller.shown.path[1:]] == ["user", "assistant"]
    assert person.controller.shown.path[-1].text
    assert person.controller.shown.path[-1].state in {"stopped", "complete"}


def test_delete_prunes_what_stands_below_and_the_banner_brings_it_back(person: Person) -> None:
    person.ask("What is a branch?")
    second = person.ask("How do I fork a message?")
    whole = _texts(person)
    question = person.controller.shown.path[-2]
    person.view(question.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    # How much goes is said before it does, in the menu and in the palette; the action keeps its name.
    person.window.menus.menu("Message").aboutToShow.emit()
    assert re.fullmatch(r"Prune \(2 .+\)\tDel", person.window.action("prune").text())
    person.window.menus.update_all()
    assert key_of(person.window.action("prune")) == "Del"
    person.window.action("prune").trigger()
    assert _texts(person) == whole[:2]
    assert person.window.banner.label.text() == "2 messages were pruned."
    person.bot.mouseClick(person.button(person.window.banner, "Undo"), Qt.MouseButton.LeftButton)
    assert _texts(person) == whole
    assert person.controller.shown.path[-1].id == second.id


def test_only_one_of_three_versions_is_kept_and_all_come_back(person: Person) -> None:
    answer = person.ask("What is a branch?")
    person.controller.regenerate(answer.id, 2)
    person.window.side_by_side.close_page()
    person.answer()
    versions = list(person.controller.shown.siblings(answer.id))
    assert len(versions) == 3
    person.view(versions[1]).text.setFocus(Qt.FocusReason.TabFocusReason)
    person.window.menus.menu("Message").aboutToShow.emit()
    assert person.window.action("keep_only").text().startswith("Keep only this version (prune 2 ")
    person.window.action("keep_only").trigger()
    assert list(person.controller.shown.siblings(versions[1])) == [versions[1]]
    person.window.action("undo").trigger()
    # A version that still grew is stopped first, and comes back once it has ended.
    person.bot.waitUntil(lambda: list(person.controller.shown.siblings(versions[1])) == versions, timeout=60_000)


def test_a_star_and_a_name_are_remembered(person: Person) -> None:
    answer = person.ask("What is a branch?")
    person.window.action("star").trigger()
    assert person.controller.shown.message(answer.id).starred_ms is not None
    person.window.menus.menu("Message").aboutToShow.emit()
    check = icon("check", theme(system_scheme()).accent)
    assert person.window.action("star").icon().cacheKey() == check.cacheKey()
    assert person.window.action("edit").icon().cacheKey() != check.cacheKey()
    person.controller.name_branch(answer.id, "  the good\nway ")
    assert person.controller.shown.message(answer.id).name == "the good way"
    assert person.controller.shown.conversation is not None
    person.controller.shown.open_conversation(person.controller.shown.conversation.id)
    stored = person.controller.shown.message(answer.id)
    assert (stored.starred_ms is not None, stored.name) == (True, "the good way")
    person.window.action("undo").trigger()
    person.window.action("undo").trigger()
    stored = person.controller.shown.message(answer.id)
    assert (stored.starred_ms is not None, stored.name) == (False, "")


def test_a_replaced_text_is_what_the_model_reads_and_the_old_one_comes_back(person: Person) -> None:
    person.ask("What is a branch?")
    question, answer = person.controller.shown.path[1:]
    person.controller.replace(question.id, "What is a sibling?")
    assert _texts(person) == ["What is a sibling?", answer.text]
    person.window.action("undo").trigger()
    assert _texts(person) == ["What is a branch?", answer.text]


def test_control_enter_in_the_editor_puts_the_text_in_the_old_ones_place(person: Person) -> None:
    person.ask("What is a branch?")
    question, answer = person.controller.shown.path[1:]
    person.press(question.id, "e")
    editor = person.window.findChild(MessageEditor)
    assert editor is not None
    editor.text.setPlainText("What is a sibling?")
    person.bot.keyClick(editor.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert [message.id for message in person.controller.shown.path[1:]] == [question.id, answer.id]
    assert _texts(person) == ["What is a sibling?", answer.text]


def _marks(person: Person, message_id: MessageId) -> set[str]:
    """What stands under a message, as a screen reader has it."""
    shown = {label.accessibleName() for label in person.view(message_id).findChildren(QLabel) if label.isVisible()}
    return shown & {"Starred", "Pinned"}


def test_a_pin_is_remembered_and_taken_back_and_set_again_by_name(person: Person) -> None:
    answer = person.ask("What is a branch?")
    pin, undo, redo = (person.window.action(name) for name in ("pin_branch", "undo", "redo"))
    pin.trigger()
    assert person.controller.shown.message(answer.id).pinned_ms is not None
    person.window.menus.menu("Message").aboutToShow.emit()
    assert (pin.isChecked(), undo.text()) == (True, "Undo: Pin branch")
    assert person.controller.shown.conversation is not None
    person.controller.shown.open_conversation(person.controller.shown.conversation.id)
    pinned_ms = person.controller.shown.message(answer.id).pinned_ms
    assert pinned_ms is not None
    pin.trigger()
    assert undo.text() == "Undo: Unpin branch"
    undo.trigger()
    # When it was pinned, too: pins stand in that order.
    assert person.controller.shown.message(answer.id).pinned_ms == pinned_ms
    undo.trigger()
    assert person.controller.shown.message(answer.id).pinned_ms is None
    assert redo.text() == "Redo: Pin branch"
    redo.trigger()
    assert person.controller.shown.message(answer.id).pinned_ms == pinned_ms


def _named_mine(_parent: QWidget, _name: str) -> str:
    return "Mine"


def test_letters_star_pin_name_and_prune_the_message_that_has_the_focus(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = person.ask("What is a branch?")
    person.press(answer.id, "s")
    assert person.controller.shown.message(answer.id).starred_ms is not None
    assert _marks(person, answer.id) == {"Starred"}
    person.press(answer.id, "p")
    assert person.controller.shown.message(answer.id).pinned_ms is not None
    assert _marks(person, answer.id) == {"Starred", "Pinned"}
    person.press(answer.id, "s")
    assert _marks(person, answer.id) == {"Pinned"}
    monkeypatch.setattr("app.ui.dialogs.questions.ask_branch_name", _named_mine)
    person.press(answer.id, "n")
    assert person.controller.shown.message(answer.id).name == "Mine"
    assert "Mine" in {label.text() for label in person.view(answer.id).findChildren(QLabel) if label.isVisible()}
    person.bot.keyClick(person.view(answer.id).text, Qt.Key.Key_Delete)
    assert _texts(person) == ["What is a branch?"]


def test_more_actions_open_the_menu_of_the_message_they_stand_under(person: Person) -> None:
    person.ask("What is a branch?")
    question = person.controller.shown.path[1]
    person.view(question.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    more = person.button(person.view(question.id), "More actions")
    person.bot.mouseClick(more, Qt.MouseButton.LeftButton)
    menu = next(menu for menu in person.window.findChildren(QMenu) if menu.isVisible())
    assert not person.window.action("continue").isEnabled()
    assert person.window.action("prune").isEnabled()
    person.bot.keyClick(menu, Qt.Key.Key_Escape)
