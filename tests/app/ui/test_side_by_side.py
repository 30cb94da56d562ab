"""Several answers to one question beside each other."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from app.ui.parts.labels import ElidedLabel
from tests.app.ui.conftest import PATIENCE_MS, Person


def _four(person: Person) -> list[int]:
    """Ask for four answers and wait until they have ended."""
    preparation = person.controller.preparation
    sampling = msgspec.structs.replace(preparation.asking.sampling, temperature=0.8, seed=3)
    preparation.ask_so(msgspec.structs.replace(preparation.asking, n=4, sampling=sampling))
    person.type("What is a branch?")
    person.bot.keyClick(person.window.composer.text, Qt.Key.Key_Return)
    page = person.window.side_by_side
    person.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    versions = list(page.message_ids)
    person.bot.waitUntil(
        lambda: not any(person.controller.shown.is_streaming(version) for version in versions), timeout=PATIENCE_MS
    )
    assert len(versions) == 4
    assert all(person.controller.shown.message(version).text for version in versions)
    return versions


def test_four_answers_stream_side_by_side_and_all_are_kept(person: Person) -> None:
    versions = _four(person)
    person.bot.keyClick(person.window.side_by_side, Qt.Key.Key_Escape)
    assert person.window.transcript.isVisible()
    assert list(person.controller.shown.siblings(versions[0])) == versions
    seeds = {record.seed for version in versions if (record := person.controller.shown.message(version).record)}
    assert seeds == {3, 4, 5, 6}


def test_going_on_with_one_shows_it_and_keeps_the_others(person: Person) -> None:
    versions = _four(person)
    button = person.button(person.window.side_by_side, "Go on with Version 3 of 4")
    person.bot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert person.controller.shown.path[-1].id == versions[2]
    assert list(person.controller.shown.siblings(versions[0])) == versions


def test_keeping_only_one_prunes_the_others_until_that_is_undone(person: Person) -> None:
    versions = _four(person)
    button = person.button(person.window.side_by_side, "Keep only Version 2 of 4")
    assert button.toolTip().startswith("Prunes 3 ")
    button.setFocus()
    person.bot.keyClick(button, Qt.Key.Key_Space)
    assert person.window.transcript.isVisible()
    assert list(person.controller.shown.siblings(versions[1])) == [versions[1]]
    person.window.action("undo").trigger()
    assert list(person.controller.shown.siblings(versions[1])) == versions


def test_answers_beside_earlier_ones_have_the_numbers_of_the_switch_and_leave_those_alone(person: Person) -> None:
    versions = _four(person)
    controller, page = person.controller, person.window.side_by_side
    person.bot.keyClick(page, Qt.Key.Key_Escape)
    preparation = controller.preparation
    preparation.ask_so(msgspec.structs.replace(preparation.asking, n=2))
    controller.regenerate(versions[0])
    person.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    new = list(page.message_ids)
    person.bot.waitUntil(lambda: not any(map(controller.shown.is_streaming, new)), timeout=PATIENCE_MS)
    assert list(controller.shown.siblings(new[0])) == [*versions, *new]
    assert any(label.accessibleName().startswith("2 of 6 versions") for label in page.findChildren(ElidedLabel))
    button = person.button(page, "Keep only Version 6 of 6")
    assert isinstance(button, QPushButton)
    assert button.text() == "Keep only this of 2"
    assert "not shown here stay" in button.toolTip()
    person.bot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert list(controller.shown.siblings(versions[0])) == [*versions, new[1]]


def test_who_only_looks_at_versions_finds_the_focus_at_the_message_again_and_who_chooses_writes(
    person: Person,
) -> None:
    answer = person.ask("What is a branch?")
    person.press(answer.id, "r")
    answer = person.answer()
    window, page = person.window, person.window.side_by_side
    person.press(answer.id, "v")
    assert page.isVisible()
    person.bot.keyClick(page, Qt.Key.Key_Escape)
    assert window.focusWidget() is person.view(answer.id).text
    person.press(answer.id, "v")
    person.bot.mouseClick(person.button(page, "Go on with Version 1 of 2"), Qt.MouseButton.LeftButton)
    assert window.focusWidget() is window.composer.text
    # Who wrote writes again.
    window.composer.text.setFocus()
    window.action("side_by_side").trigger()
    assert page.isVisible()
    person.bot.keyClick(page, Qt.Key.Key_Escape)
    assert window.focusWidget() is window.composer.text


def test_the_page_goes_with_its_conversation(person: Person) -> None:
    _four(person)
    person.controller.shown.new_conversation()
    assert person.window.welcome.isVisible()
    assert person.window.side_by_side.message_ids == ()
