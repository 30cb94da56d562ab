"""A button with shorter and longer texts: it shows the longest that fits, and its size hint stays the same."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.ui.composer.chips import Chips
from app.ui.parts.buttons import FittingButton
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
