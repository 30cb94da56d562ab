"""The command palette: every enabled action and every conversation can be found by a few letters."""

from __future__ import annotations

from PySide6.QtCore import Qt

from app.ui.menus import key_of, label
from app.ui.palette import Palette
from tests.app.ui.conftest import User


def _open(user: User) -> Palette:
    user.bot.keyClick(user.window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = user.window.findChild(Palette)
    assert isinstance(palette, Palette)
    assert palette.isVisible()
    assert palette.field.hasFocus()
    return palette


def _choose(user: User, typed: str) -> None:
    palette = _open(user)
    user.bot.keyClicks(palette.field, typed)
    user.bot.keyClick(palette.field, Qt.Key.Key_Return)
    assert not palette.isVisible()


def test_the_palette_lists_every_enabled_action_with_its_key(user: User) -> None:
    user.ask("What is a branch?")
    palette = _open(user)
    rows = {(choice.text, choice.aside) for choice in palette.shown}
    actions = {(label(action), key_of(action)) for name, action in user.window.menus if name != "palette"}
    assert rows >= {
        (text, key)
        for text, key in actions
        if text in {"New conversation", "Edit", "Copy message", "Settings…", "Dark", "Quit", "Next message"}
    }
    assert len([row for row in rows if row in actions]) > 20
    impossible = [label(action) for _, action in user.window.menus if not action.isEnabled()]
    assert impossible
    assert not {choice.text for choice in palette.shown} & set(impossible)
    user.bot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible()


def test_a_checked_action_is_shown_as_checked(user: User) -> None:
    user.ask("What is a branch?")
    for is_pinned in (False, True):
        palette = _open(user)
        (pin,) = (choice for choice in palette.shown if choice.text == "Pin conversation")
        assert pin.is_checked == is_pinned
        model = palette.list.model()
        row = palette.shown.index(pin)
        spoken = model.data(model.index(row, 0), Qt.ItemDataRole.AccessibleTextRole)
        assert spoken == ("Pin conversation, checked, Ctrl+Shift+P" if is_pinned else "Pin conversation, Ctrl+Shift+P")
        user.bot.keyClick(palette.field, Qt.Key.Key_Escape)
        user.window.action("pin").trigger()


def test_a_conversation_is_opened_by_its_name(user: User) -> None:
    user.ask("What is a branch?")
    first = user.controller.shown.conversation
    assert first is not None
    user.controller.program.conversations.rename(first.id, "Zebra crossing")
    user.controller.shown.new_conversation()
    _choose(user, "zebr")
    assert user.controller.shown.conversation is not None
    assert user.controller.shown.conversation.id == first.id


def test_after_a_conversation_is_chosen_the_next_letters_are_a_message(user: User) -> None:
    answer = user.ask("What is a branch?")
    user.view(answer.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    # It is open already.
    _choose(user, "what is a branch")
    assert user.window.composer.text.hasFocus()
    user.bot.keyClick(_open(user).field, Qt.Key.Key_Escape)
    assert user.window.composer.text.hasFocus()


def test_closing_the_palette_gives_the_focus_to_the_field_if_nothing_had_it(user: User) -> None:
    user.window.composer.text.clearFocus()
    user.bot.keyClick(_open(user).field, Qt.Key.Key_Escape)
    assert user.window.composer.text.hasFocus()


def test_an_action_applies_to_the_widget_that_had_the_focus(user: User) -> None:
    first = user.ask("What is a branch?")
    user.ask("How do I fork?")
    user.view(first.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    _choose(user, "regener")
    user.answer()
    assert len(user.controller.shown.siblings(first.id)) == 2


def test_arrow_keys_choose_among_the_matches_and_a_theme_is_found_by_name(user: User) -> None:
    palette = _open(user)
    user.bot.keyClicks(palette.field, "dark")
    assert palette.shown[0].text == "Dark"
    user.bot.keyClick(palette.field, Qt.Key.Key_Return)
    assert user.controller.program.settings.theme == "dark"
    palette = _open(user)
    user.bot.keyClicks(palette.field, "light")
    row = palette.list.currentIndex().row()
    user.bot.keyClick(palette.field, Qt.Key.Key_Down)
    user.bot.keyClick(palette.field, Qt.Key.Key_Up)
    assert palette.list.currentIndex().row() == row
    user.bot.keyClick(palette.field, Qt.Key.Key_Return)
    assert user.controller.program.settings.theme == "light"
    user.controller.program.set_theme("system")


def test_text_without_a_match_shows_an_empty_list(user: User) -> None:
    palette = _open(user)
    user.bot.keyClicks(palette.field, "qqqqqq")
    assert palette.shown == []
    assert not palette.list.isVisible()
    # Enter does nothing.
    user.bot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    user.bot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert user.window.composer.text.hasFocus() or user.window.focusWidget() is not palette.field
