"""Colours that can be read, icons that can be drawn."""

from __future__ import annotations

import importlib.resources
import re
from pathlib import Path

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication

from app.ui.theme import Scheme, icon, icon_file, theme

_TEXT_GROUNDS = ("page", "surface", "sunken", "hover", "accent_wash")


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""

    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    rgb = QColor(colour)
    return 0.2126 * linear(rgb.redF()) + 0.7152 * linear(rgb.greenF()) + 0.0722 * linear(rgb.blueF())


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ground", _TEXT_GROUNDS)
@pytest.mark.parametrize("text", ["text", "quiet_text"])
def test_text_can_be_read_on_every_ground(scheme: Scheme, ground: str, text: str) -> None:
    colours = theme(scheme)
    assert _contrast(getattr(colours, text), getattr(colours, ground)) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "surface"])
@pytest.mark.parametrize("text", ["accent", "warning", "danger", "information"])
def test_coloured_text_can_be_read_on_page_and_card(scheme: Scheme, ground: str, text: str) -> None:
    colours = theme(scheme)
    assert _contrast(getattr(colours, text), getattr(colours, ground)) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_on_the_accent_can_be_read(scheme: Scheme) -> None:
    colours = theme(scheme)
    assert _contrast(colours.on_accent, colours.accent) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "surface", "sunken"])
@pytest.mark.parametrize("mark", ["control_line", "accent"])
def test_marks_and_controls_stand_out(scheme: Scheme, ground: str, mark: str) -> None:
    colours = theme(scheme)
    assert _contrast(getattr(colours, mark), getattr(colours, ground)) >= 3


def test_every_icon_is_drawn_in_its_colour(qapp: QApplication) -> None:
    folder = Path(str(importlib.resources.files("resources") / "icons"))
    names = sorted(file.stem for file in folder.glob("*.svg") if file.stem != "bough")
    assert len(names) >= 15
    for name in names:
        image = icon(name, "#ff0000").pixmap(24, 24).toImage()
        colours = {
            image.pixelColor(x, y).name()
            for x in range(image.width())
            for y in range(image.height())
            if image.pixelColor(x, y).alpha() > 200
        }
        assert colours == {"#ff0000"}, name


def test_the_window_icon_is_there(qapp: QApplication) -> None:
    from PySide6.QtGui import QIcon

    assert not QIcon(str(icon_file())).isNull()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_style_sheet_names_no_colour_of_its_own(scheme: Scheme) -> None:
    source = (importlib.resources.files("resources") / "themes" / "window.qss").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9A-Fa-f]{6}\b", source)
    assert "$" not in theme(scheme).style_sheet()
