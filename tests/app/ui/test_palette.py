"""The command palette: all that can be done or opened, by a few letters and Enter."""

from __future__ import annotations

from PySide6.QtCore import Qt

from app.ui.menus import key_of, label
from app.ui.palette import Palette
from tests.app.ui.conftest import Person


def _open(person: Person) -> Palette:
    person.bot.keyClick(person.window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = person.window.findChild(Palette)
    assert isinstance(palette, Palette)
    assert palette.isVisible()
    assert palette.field.hasFocus()
    return palette


def _choose(person: Person, typed: str) -> None:
    palette = _open(person)
    person.bot.keyClicks(palette.field, typed)
    person.bot.keyClick(palette.field, Qt.Key.Key_Return)
    assert not palette.isVisible()


def test_it_has_every_action_that_is_possible_with_its_key(person: Person) -> None:
    person.ask("What is a branch?")
    palette = _open(person)
    rows = {(choice.text, choice.aside) for choice in palette.shown}
    actions = {(label(action), key_of(action)) for name, action in person.window.menus if name != "palette"}
    assert rows >= {
        (text, key)
        for text, key in actions
        if text in {"New conversation", "Edit", "Copy message", "Settings…", "Dark", "Quit", "Next version"}
    }
    assert len([row for row in rows if row in actions]) > 20
    impossible = [label(action) for _, action in person.window.menus if not action.isEnabled()]
    assert impossible
    assert not {choice.text for choice in palette.shown} & set(impossible)
    person.bot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible()


def test_what_holds_already_is_checked_as_in_the_menus(person: Person) -> None:
    person.ask("What is a branch?")
    for is_pinned in (False, True):
        palette = _open(person)
        (pin,) = (choice for choice in palette.shown if choice.text == "Pin conversation")
        assert pin.is_checked == is_pinned
        model = palette.list.model()
        row = palette.shown.index(pin)
        said = model.data(model.index(row, 0), Qt.ItemDataRole.AccessibleTextRole)
        assert said == ("Pin conversation, checked, Ctrl+Shift+P" if is_pinned else "Pin conversation, Ctrl+Shift+P")
        person.bot.keyClick(palette.field, Qt.Key.Key_Escape)
        person.window.action("pin").trigger()


def test_a_conversation_is_opened_by_its_name(person: Person) -> None:
    person.ask("What is a branch?")
    first = person.controller.shown.conversation
    assert first is not None
    person.controller.program.conversations.rename(first.id, "Zebra crossing")
    person.controller.shown.new_conversation()
    _choose(person, "zebr")
    assert person.controller.shown.conversation is not None
    assert person.controller.shown.conversation.id == first.id


def test_an_action_is_done_where_the_focus_was(person: Person) -> None:
    first = person.ask("What is a branch?")
    person.ask("How do I fork?")
    person.view(first.id).text.setFocus(Qt.FocusReason.TabFocusReason)
    _choose(person, "regener")
    person.answer()
    assert len(person.controller.shown.siblings(first.id)) == 2


def test_arrows_choose_among_what_fits_and_a_theme_is_chosen_by_its_name(person: Person) -> None:
    palette = _open(person)
    person.bot.keyClicks(palette.field, "dark")
    assert palette.shown[0].text == "Dark"
    person.bot.keyClick(palette.field, Qt.Key.Key_Return)
    assert person.controller.program.settings.theme == "dark"
    palette = _open(person)
    person.bot.keyClicks(palette.field, "light")
    row = palette.list.currentIndex().row()
    person.bot.keyClick(palette.field, Qt.Key.Key_Down)
    person.bot.keyClick(palette.field, Qt.Key.Key_Up)
    assert palette.list.currentIndex().row() == row
    person.bot.keyClick(palette.field, Qt.Key.Key_Return)
    assert person.controller.program.settings.theme == "light"
    person.controller.program.set_theme("system")


def test_what_nothing_is_called_like_is_said_to_be_nothing(person: Person) -> None:
    palette = _open(person)
    person.bot.keyClicks(palette.field, "qqqqqq")
    assert palette.shown == []
    assert not palette.list.isVisible()
    # Enter has nothing to do.
    person.bot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    person.bot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert person.window.composer.text.hasFocus() or person.window.focusWidget() is not palette.field
