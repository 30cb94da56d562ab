"""Buttons and lists whose text fits: the longest text of several, lines, and the beginning of a name."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStyleOptionComboBox, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.ui.composer.chips import Chips
from app.ui.parts.buttons import FittingButton, NameBox, WrappingButton, WrappingCheckBox, WrappingToolButton
from app.ui.theme import theme

_WORDINGS = ("Sampling: Precise and more", "Precise and more", "Precise")


@pytest.mark.parametrize("is_modest", [True, False])
def test_the_longest_text_that_fits_is_shown(qtbot: QtBot, *, is_modest: bool) -> None:
    row = QWidget()
    qtbot.addWidget(row)
    layout = QHBoxLayout(row)
    button = FittingButton(is_modest=is_modest)
    layout.addWidget(button, 1)
    layout.addStretch(1)
    button.show_texts(*_WORDINGS, ending=" ▾")
    row.show()
    asked = button.sizeHint(), button.minimumSizeHint()
    seen: list[str] = []
    for width in range(700, 0, -1):
        row.resize(width, 60)
        layout.activate()
        if not seen or seen[-1] != button.text():
            seen.append(button.text())
        assert button.fontMetrics().horizontalAdvance(button.text()) <= button.width()
        assert (button.sizeHint(), button.minimumSizeHint()) == asked
    assert seen[:3] == [f"{words} ▾" for words in _WORDINGS]
    assert all("…" in text and text.endswith(" ▾") for text in seen[3:])
    row.resize(700, 60)
    layout.activate()
    assert button.text() == seen[0]
    # New texts are shown at once.
    button.show_texts("Other words & signs", "Other")
    assert button.text() == "Other words && signs"


def test_a_chip_with_a_long_name_fits_a_narrow_page(qtbot: QtBot) -> None:
    chips = Chips("Files", theme("light"))
    qtbot.addWidget(chips)
    chips.show_texts(["a long name " * 9 + ".txt", "b long name " * 9 + ".pdf"], openable={1})
    assert chips.minimumSizeHint().width() <= 200
    chips.resize(200, 90)
    chips.show()
    for button in (*chips.buttons, chips.openers[1]):
        assert button.mapTo(chips, button.rect().bottomRight()).x() < 200
    assert chips.openers[1].text().endswith("…")
    label = chips.findChildren(QLabel)[0]
    assert label.text().endswith("txt")
    assert label.fontMetrics().horizontalAdvance(label.text()) <= label.width()


@pytest.mark.parametrize("kind", [WrappingButton, WrappingCheckBox, WrappingToolButton])
def test_a_text_is_broken_into_lines_that_fit(qtbot: QtBot, kind: type[WrappingCheckBox]) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    column = QVBoxLayout(page)
    button = kind("Leave out the_words_of_a_very_long_list & others")
    column.addWidget(button)
    column.addStretch(1)
    page.show()
    for width in (900, 180, 260, 900):
        page.resize(width, 400)
        column.activate()
        lines = button.text().replace("&&", "&").split("\n")
        assert (len(lines) == 1) == (width == 900)
        assert "".join(lines).replace(" ", "") == "Leaveoutthe_words_of_a_very_long_list&others"
        assert all(button.fontMetrics().horizontalAdvance(line) < button.width() for line in lines)
        assert button.height() >= len(lines) * button.fontMetrics().height()
        assert button.accessibleName() == "Leave out the_words_of_a_very_long_list & others"
    # Code that changes the text need not know that it is broken.
    button.setText("Close")
    page.resize(180, 400)
    assert button.text() == "Close"


def test_a_name_that_does_not_fit_ends_in_an_ellipsis_and_is_whole_in_the_list(qtbot: QtBot) -> None:
    box = NameBox()
    qtbot.addWidget(box)
    name = "A model with a rather long name, 4 bits, and what its owner thinks of it"
    box.addItems(["Short", name])
    box.resize(160, 32)
    box.show()
    shown: list[str] = []
    for index in range(2):
        box.setCurrentIndex(index)
        option = QStyleOptionComboBox()
        box.initStyleOption(option)
        shown.append(option.currentText)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert shown[0] == "Short"
    assert shown[1].endswith("…")
    assert name.startswith(shown[1][:-1])
    box.showPopup()
    assert box.view().width() > box.fontMetrics().horizontalAdvance(name)
    assert box.screen().availableGeometry().contains(box.view().window().geometry())
    box.hidePopup()
