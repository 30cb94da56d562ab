"""Where things stand: nothing covers, squeezes or hides anything else, whatever is written and however small it is."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractSpinBox, QLabel, QLineEdit, QToolButton, QWidget

from app.ui.asking.asking_panel import AskingPanel
from app.ui.message.message_actions import MessageActions
from tests.app.ui.conftest import PATIENCE_MS, Person


def _left(person: Person, widget: QWidget) -> int:
    return widget.mapTo(person.window, QPoint(0, 0)).x()


def _popover(person: Person) -> AskingPanel:
    person.bot.mouseClick(person.window.composer.sampling_button, Qt.MouseButton.LeftButton)
    popover = person.window.findChild(AskingPanel)
    assert popover is not None
    # The list of hooks comes from the worker, and the panel grows with it.
    person.bot.waitUntil(lambda: "Looking for hooks …" not in _words(popover), timeout=PATIENCE_MS)
    return popover


def _words(widget: QWidget) -> set[str]:
    return {label.text() for label in widget.findChildren(QLabel)}


def test_what_a_field_says_while_it_is_empty_can_be_read(person: Person) -> None:
    popover = _popover(person)
    quiet = QGuiApplication.palette().placeholderText().color()
    assert quiet.alpha() == 255
    for field in (person.window.composer.text, popover.seed, popover.stop.field):
        assert field.palette().placeholderText().color() == quiet
    popover.close()


def test_many_lines_in_a_low_window_cover_nothing(person: Person) -> None:
    window, composer = person.window, person.window.composer
    window.resize(520, 420)
    person.bot.waitUntil(lambda: window.height() == 420, timeout=PATIENCE_MS)
    composer.text.setPlainText("line\n" * 40)
    person.bot.waitUntil(lambda: composer.text.height() > 60, timeout=PATIENCE_MS)

    def nothing_is_covered() -> bool:
        below = composer.sampling_button.mapTo(composer, QPoint(0, 0)).y()
        return composer.text.mapTo(composer, QPoint(0, composer.text.height())).y() <= below

    person.bot.waitUntil(nothing_is_covered, timeout=PATIENCE_MS)
    tall = composer.text.height()
    window.resize(1100, 760)
    person.bot.waitUntil(lambda: composer.text.height() > tall, timeout=PATIENCE_MS)


def test_a_wrong_seed_squeezes_nothing(person: Person) -> None:
    popover = _popover(person)
    fields = (popover.stop, popover.seed, popover.temperature)
    before, height = [field.height() for field in fields], popover.height()
    popover.seed.setText("x")
    person.bot.waitUntil(lambda: popover.height() > height, timeout=PATIENCE_MS)
    assert [field.height() for field in fields] == before
    popover.close()


def test_numbers_in_the_popover_are_in_sight(person: Person) -> None:
    popover = _popover(person)
    for spin in (popover.temperature, popover.top_p, popover.max_tokens):
        assert isinstance(spin, QAbstractSpinBox)
        edit = spin.findChild(QLineEdit)
        assert edit is not None
        assert edit.width() >= edit.fontMetrics().horizontalAdvance(edit.text()) + 16
        assert spin.rect().contains(edit.geometry())
    popover.close()


def test_the_actions_icons_stand_under_the_edge_of_the_text(person: Person) -> None:
    answer = person.ask("What is a branch?")
    view = person.view(answer.id)
    button = person.button(view, "Edit")
    reach = _left(person, view.text) - _left(person, button)
    # A button's padding and border, and the room that every icon has around its lines.
    assert 6 <= reach <= 10


def test_actions_without_room_for_all_their_words_show_icons_from_the_last_one_on(person: Person) -> None:
    answer = person.ask("What is a branch?")
    row = person.view(answer.id).findChild(MessageActions)
    assert row is not None
    layout = row.layout()
    assert layout is not None
    names = ("Edit", "Regenerate", "Fork", "Copy")
    buttons = [button for name in names if isinstance(button := person.button(row, name), QToolButton)]
    enough = layout.sizeHint().width()
    for width, num_icons in ((enough, 0), (enough - 1, 1), (enough - buttons[-1].width(), 2), (enough + 1, 0)):
        row.resize(width, row.height())
        icons = [button.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly for button in buttons]
        assert icons == [False] * (4 - num_icons) + [True] * num_icons
    # What they do is still said.
    assert [button.text() for button in buttons] == list(names)
