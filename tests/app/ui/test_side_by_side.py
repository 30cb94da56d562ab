"""Several answers to one question side by side."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QPushButton

from app.ui.parts.labels import ElidedLabel
from tests.app.ui.conftest import User
from tests.waiting import PATIENCE_MS


def _four(user: User) -> list[int]:
    """Ask for four answers, wait until they have ended and return their ids."""
    preparation = user.controller.preparation
    sampling = msgspec.structs.replace(preparation.generation.sampling, temperature=0.8, seed=3)
    preparation.set_generation(msgspec.structs.replace(preparation.generation, n=4, sampling=sampling))
    user.type("What is a branch?")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    page = user.window.side_by_side
    user.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    versions = list(page.message_ids)
    user.bot.waitUntil(
        lambda: not any(user.controller.shown.is_streaming(version) for version in versions), timeout=PATIENCE_MS
    )
    assert len(versions) == 4
    assert all(user.controller.shown.message(version).text for version in versions)
    return versions


def test_four_answers_stream_side_by_side_and_all_are_stored(user: User) -> None:
    versions = _four(user)
    user.bot.keyClick(user.window.side_by_side, Qt.Key.Key_Escape)
    assert user.window.transcript.isVisible()
    assert list(user.controller.shown.siblings(versions[0])) == versions
    seeds = {record.seed for version in versions if (record := user.controller.shown.message(version).record)}
    assert seeds == {3, 4, 5, 6}


def test_continuing_with_one_answer_shows_it_and_keeps_the_others(user: User) -> None:
    versions = _four(user)
    button = user.button(user.window.side_by_side, "Go on with Version 3 of 4")
    user.bot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert user.controller.shown.path[-1].id == versions[2]
    assert list(user.controller.shown.siblings(versions[0])) == versions


def test_keeping_only_one_answer_prunes_the_others_and_can_be_undone(user: User) -> None:
    versions = _four(user)
    button = user.button(user.window.side_by_side, "Keep only Version 2 of 4")
    assert button.toolTip().startswith("Prunes 3 ")
    button.setFocus()
    user.bot.keyClick(button, Qt.Key.Key_Space)
    assert user.window.transcript.isVisible()
    assert list(user.controller.shown.siblings(versions[1])) == [versions[1]]
    user.window.action("undo").trigger()
    assert list(user.controller.shown.siblings(versions[1])) == versions


def test_new_answers_are_numbered_after_earlier_ones_and_leave_those_alone(user: User) -> None:
    versions = _four(user)
    controller, page = user.controller, user.window.side_by_side
    user.bot.keyClick(page, Qt.Key.Key_Escape)
    preparation = controller.preparation
    preparation.set_generation(msgspec.structs.replace(preparation.generation, n=2))
    controller.regenerate(versions[0])
    user.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    new = list(page.message_ids)
    user.bot.waitUntil(lambda: not any(map(controller.shown.is_streaming, new)), timeout=PATIENCE_MS)
    assert list(controller.shown.siblings(new[0])) == [*versions, *new]
    assert any(label.accessibleName().startswith("2 of 6 versions") for label in page.findChildren(ElidedLabel))
    button = user.button(page, "Keep only Version 6 of 6")
    assert isinstance(button, QPushButton)
    assert button.text() == "Keep only this version of 2"
    assert "not shown here are kept" in button.toolTip()
    user.bot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert list(controller.shown.siblings(versions[0])) == [*versions, new[1]]


def test_escape_returns_the_focus_to_the_message_and_choosing_a_version_to_the_composer(
    user: User,
) -> None:
    answer = user.ask("What is a branch?")
    user.press(answer.id, "r")
    answer = user.answer()
    window, page = user.window, user.window.side_by_side
    user.press(answer.id, "v")
    assert page.isVisible()
    user.bot.keyClick(page, Qt.Key.Key_Escape)
    assert window.focusWidget() is user.view(answer.id).text
    user.press(answer.id, "v")
    user.bot.mouseClick(user.button(page, "Go on with Version 1 of 2"), Qt.MouseButton.LeftButton)
    assert window.focusWidget() is window.composer.text
    # If the composer had the focus, it gets it back.
    window.composer.text.setFocus()
    window.action("side_by_side").trigger()
    assert page.isVisible()
    user.bot.keyClick(page, Qt.Key.Key_Escape)
    assert window.focusWidget() is window.composer.text


def test_the_page_closes_with_its_conversation(user: User) -> None:
    _four(user)
    user.controller.shown.new_conversation()
    assert user.window.welcome.isVisible()
    assert user.window.side_by_side.message_ids == ()


def test_the_visible_version_has_the_focus_and_three_cards_fill_their_rows(user: User) -> None:
    first = user.ask("What is a branch?")
    user.press(first.id, "r")
    second = user.answer()
    user.press(second.id, "r")
    user.answer()
    user.window.action("previous_sibling").trigger()
    assert user.controller.shown.path[-1].id == second.id
    user.press(second.id, "v")
    page = user.window.side_by_side
    user.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    focus = user.window.focusWidget()
    assert focus is not None
    assert focus.accessibleName() == "Go on with Version 2 of 3"
    for width in (700, 1000, 1600):
        user.window.resize(width, 760)
        user.bot.waitUntil(lambda width=width: user.window.width() == width, timeout=PATIENCE_MS)
        rows = {
            button.mapTo(page, QPoint()).y() for button in page.findChildren(QPushButton) if "Go on" in button.text()
        }
        assert len(rows) in {1, 3}
    user.bot.keyClick(page, Qt.Key.Key_Escape)
