"""Contrast of the colours, and drawing of the icons."""

from __future__ import annotations

import importlib.resources
import re
from pathlib import Path

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication

from app.ui.text.highlight import highlighted, readable
from app.ui.theme import Scheme, icon, icon_file, theme

_TEXT_GROUNDS = ("page", "surface", "sunken", "hover", "accent_wash")


def _luminance(colour: str) -> float:
    """Return the relative luminance as defined by WCAG 2."""

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
def test_text_is_readable_on_every_background(scheme: Scheme, ground: str, text: str) -> None:
    colours = theme(scheme)
    assert _contrast(getattr(colours, text), getattr(colours, ground)) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "surface"])
@pytest.mark.parametrize("text", ["accent", "warning", "danger", "information"])
def test_coloured_text_is_readable_on_page_and_card(scheme: Scheme, ground: str, text: str) -> None:
    colours = theme(scheme)
    assert _contrast(getattr(colours, text), getattr(colours, ground)) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_on_the_accent_colour_is_readable(scheme: Scheme) -> None:
    colours = theme(scheme)
    assert _contrast(colours.on_accent, colours.accent) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["page", "surface", "sunken"])
@pytest.mark.parametrize("mark", ["control_line", "accent"])
def test_marks_and_controls_have_enough_contrast(scheme: Scheme, ground: str, mark: str) -> None:
    colours = theme(scheme)
    assert _contrast(getattr(colours, mark), getattr(colours, ground)) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_code_colour_is_readable_on_its_background(scheme: Scheme) -> None:
    colours = theme(scheme)
    code = """# a comment\n@decorated\nclass A(B):\n    x: int = 0x1F + 2.5\n    def f(self):
        \"\"\"Words.\"\"\"\n        return f"{self.x!r} \\n" if None is not True else len(r'\\d+')\n"""
    pieces = [
        *highlighted(code, "python", colours.code_style, colours.sunken),
        *highlighted("- gone\n+ new\n@@ 1 @@\n", "diff", colours.code_style, colours.sunken),
        # YAML's brackets are of a kind that no style has.
        *highlighted("- {a: b}\n", "yaml", colours.code_style, colours.sunken),
        *highlighted("<!-- c --><p class='x'>&amp;</p>", "html", colours.code_style, colours.sunken),
    ]
    assert len({piece.colour for piece in pieces}) >= 6
    for piece in pieces:
        if piece.colour is not None:
            assert _contrast(piece.colour, colours.sunken) >= 4.5, piece


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_last_line_of_code_is_highlighted_as_if_it_ended_with_a_line_break(scheme: Scheme) -> None:
    colours = theme(scheme)
    for language, code in (("diff", "- gone\n+ new"), ("make", "all:\n\techo"), ("python", "x = 1  # one")):
        found = highlighted(code, language, colours.code_style, colours.sunken)
        assert "".join(piece.text for piece in found) == code
        ended = highlighted(f"{code}\n", language, colours.code_style, colours.sunken)
        assert found[-1].colour == next(piece.colour for piece in reversed(ended) if not piece.text.isspace())
    gone, new = (highlighted(line, "diff", colours.code_style, colours.sunken)[0] for line in ("- gone", "+ new"))
    assert gone.colour != new.colour


def test_a_readable_colour_is_not_changed() -> None:
    assert readable("#4070a0", "#f3f1eb") == "#4070a0"
    assert _contrast(readable("#808080", "#808080"), "#808080") >= 4.5


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


def test_the_window_icon_exists(qapp: QApplication) -> None:
    from PySide6.QtGui import QIcon

    assert not QIcon(str(icon_file())).isNull()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_style_sheet_contains_no_literal_colours(scheme: Scheme) -> None:
    source = (importlib.resources.files("resources") / "themes" / "window.qss").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9A-Fa-f]{6}\b", source)
    assert "$" not in theme(scheme).style_sheet()
