"""Formulas in a message: recognising, drawing and copying them."""

from __future__ import annotations

import re

import pytest
from PySide6.QtGui import QColor, QTextCursor, QTextDocument
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.formula_renderer import FormulaKey
from app.model.exports.formula import formula
from app.model.markdown_parser import DISPLAY, INLINE, parsed
from app.ui.text.document_text import copied_text
from app.ui.text.formulas import formulas
from app.ui.text.markdown_document import MarkdownDocument
from app.ui.text.message_text import MessageText
from app.ui.theme import theme
from tests.app.ui.waiting import are_formulas_rendered, is_idle
from tests.waiting import PATIENCE_MS


def _found(source: str) -> list[tuple[str, str]]:
    tokens = parsed(source, {})
    return [
        (token.type, token.content)
        for top in tokens
        for token in (top, *(top.children or []))
        if token.type in {INLINE, DISPLAY}
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("let $x_1$ be", [(INLINE, "x_1")]),
        (r"and \(a+b\) too", [(INLINE, "a+b")]),
        ("so $$x^2$$ follows", [(DISPLAY, "x^2")]),
        ("text:\n$$\na\n\\\\\nb\n$$\nmore", [(DISPLAY, "a\n\\\\\nb")]),
        ("text:\n\\[\nx\n\\]\nmore", [(DISPLAY, "x")]),
        ("- item\n\n  \\[ y \\]\n- other", [(DISPLAY, "y")]),
        (
            "so\n\\begin{align*}\na&=b\\\\\n\nc&=d\n\\end{align*}.\nmore",
            [(DISPLAY, "\\begin{align*}\na&=b\\\\\n\nc&=d\n\\end{align*}")],
        ),
        (r"\begin{equation}x\end{equation}", [(DISPLAY, r"\begin{equation}x\end{equation}")]),
        ("\\begin{gather}\nx", []),
        ("\\begin{itemize}\nx\n\\end{itemize}", []),
        ("    \\begin{align}\n    x\n    \\end{align}", []),
        ("> $$q$$", [(DISPLAY, "q")]),
        ("| a |\n|---|\n| $z$ |", [(INLINE, "z")]),
        ("$a\\$b$", [(INLINE, "a\\$b")]),
        ("between $5 and $6 today", []),
        ("US$5-$6, or $7/$8", []),
        ("costs $5,000–$10,000 and $y$", [(INLINE, "y")]),
        ("a $ b $ c", []),
        ("`$a$` and\n\n    $b$", []),
        (r"escaped \$a\$ and \\(no\\)", []),
        ("$$ open\n\nno end", []),
        ("$$$$", []),
    ],
)
def test_formulas_are_distinguished_from_prices_and_text(source: str, found: list[tuple[str, str]]) -> None:
    assert _found(source) == found


@pytest.fixture
def text(qapp: QApplication, qtbot: QtBot) -> MessageText:
    assert qapp is not None
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.resize(400, 100)
    text.show()
    return text


def _wait(qtbot: QtBot, text: MessageText | None = None) -> None:
    qtbot.waitUntil(lambda: are_formulas_rendered() and (text is None or is_idle(text)), timeout=PATIENCE_MS)


def _all_of(text: MarkdownDocument) -> str:
    cursor = QTextCursor(text.document)
    cursor.select(QTextCursor.SelectionType.Document)
    return copied_text(cursor, text.placed_formulas)


def test_invalid_latex_is_shown_as_source(text: MessageText, qtbot: QtBot) -> None:
    text.set_text("good $x^2$ and broken $\\frac{a}{$, $\\unknown{x$, \\(y}\\) and\n\n$$\\begin{nothing}$$")
    _wait(qtbot, text)
    shown = text.toPlainText()
    assert all(source in shown for source in ("$\\frac{a}{$", "$\\unknown{x$", "\\(y}\\)"))
    assert "$$\\begin{nothing}$$" in shown
    assert shown.count("\ufffc") == 1


def test_text_in_a_formula_is_as_wide_as_its_characters_in_every_supported_script() -> None:
    for latex, words in (
        (r"v_{\text{平均}} = \frac{\text{路程 s}}{\text{时间（小时）}}", "平均路程时间（小时）"),
        (r"\text{きょり、ソ한글}", "きょり、ソ한글"),
    ):
        drawn = formula(latex, 20, "black", is_inline=False)
        assert drawn is not None
        assert "".join(re.findall(r"<text [^>]*>(.)</text>", drawn.svg)) == words
    drawn = formula(r"\text{面积}", 20, "black", is_inline=True)
    assert drawn is not None
    assert 40 <= drawn.width_px <= 44
    assert 20 <= drawn.height_px <= 30
    # Latin and Cyrillic letters are in the formula font.
    latin = formula(r"\text{площадь é ß}", 20, "black", is_inline=True)
    assert latin is not None
    assert "<text" not in latin.svg


def test_a_formula_with_unsupported_letters_is_shown_as_source(text: MessageText, qtbot: QtBot) -> None:
    source = r"$\text{مساحة} = x$ and $\text{क्षेत्र}$ and $\text{面}$"
    text.set_text(source)
    _wait(qtbot, text)
    assert text.toPlainText() == source.replace(r"$\text{面}$", "\ufffc")


@pytest.mark.parametrize(
    ("numbered", "plain"),
    [
        (r"\begin{align} x &= 1 \\ y &= 2 \end{align}", r"\begin{align*} x &= 1 \\ y &= 2 \end{align*}"),
        (r"\begin{align} x &= 1 \nonumber \end{align}", r"\begin{align*} x &= 1  \end{align*}"),
        (r"\begin{gather}x \label{eq:x}\end{gather}", r"\begin{gather*}x \end{gather*}"),
        (r"x = 1 \tag{2}", r"x = 1 \qquad\text{(2)}"),
        (r"\begin{align} x &= 1 \tag*{A} \end{align}", r"\begin{align*} x &= 1 \qquad\text{A} \end{align*}"),
    ],
)
def test_equations_have_only_the_numbers_given_by_tag(numbered: str, plain: str) -> None:
    drawn = formula(numbered, 15, "black", is_inline=False)
    assert drawn is not None
    assert drawn == formula(plain, 15, "black", is_inline=False)


def test_a_formula_is_copied_as_source(text: MessageText, qtbot: QtBot) -> None:
    text.set_text("so $x^2$ and\n\n\\[ y^2 \\]\n\n| a | b |\n|---|---|\n| $z$ | 2 |\n\nend")
    text.selectAll()
    assert text.createMimeDataFromSelection().text() == "so $x^2$ and\n$$y^2$$\na\tb\n$z$\t2\nend"
    _wait(qtbot, text)


def test_a_formula_is_aligned_with_the_baseline_of_its_text(text: MessageText, qtbot: QtBot) -> None:
    key = FormulaKey("\\frac{a}{b}", True, 15)
    text.set_text("text $\\frac{a}{b}$ text")
    _wait(qtbot, text)
    picture = formulas().picture(key)
    assert picture is not None
    line = text.document().begin().layout().lineAt(0)
    assert line.descent() >= picture.below_px
    assert line.ascent() >= picture.height_px - picture.below_px
    assert line.height() < 2 * picture.height_px + 22


def test_a_formula_wider_than_the_page_is_scaled_down(text: MessageText, qtbot: QtBot) -> None:
    text.set_text("$$" + "+".join(f"a_{{{i}}}" for i in range(60)) + "$$")
    _wait(qtbot, text)
    assert text.document().begin().layout().lineAt(0).naturalTextWidth() <= 400


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_formula_is_drawn_in_its_colour_at_the_resolution_of_the_screen(qtbot: QtBot, scale: float) -> None:
    key = FormulaKey("x = y", True, 15)
    formulas().picture(key)
    _wait(qtbot)
    pixmap = formulas().pixmap(key, QColor("#ff0000"), scale)
    picture = formulas().picture(key)
    assert pixmap is not None
    assert picture is not None
    assert abs(pixmap.width() - picture.width_px * scale) <= 1
    image = pixmap.toImage()
    seen = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert "#ff0000" in seen


def test_streamed_formulas_look_like_formulas_set_as_a_whole(qapp: QApplication, qtbot: QtBot) -> None:
    assert qapp is not None
    source = "# a $x$\n\nb $y^2$ and $\\broken{$ c\n\n- \\(z\\)\n- \\[ w \\]\n\nend $v$\n"
    source += "\\begin{align}\n  a&=b\\\\\n  c&=d\n\\end{align}\nlast"
    grown, whole = (MarkdownDocument(QTextDocument(), theme("light")) for _ in range(2))
    for character in source:
        grown.append(character)
    whole.set_source(source)
    _wait(qtbot)
    qtbot.waitUntil(lambda: is_idle(grown) and is_idle(whole), timeout=PATIENCE_MS)
    assert _all_of(grown) == _all_of(whole)
    in_grown, in_whole = (
        [placed.position for placed in document._formulas]  # pyright: ignore[reportPrivateUsage]
        for document in (grown, whole)
    )
    assert in_grown == in_whole
    assert len(in_grown) == 6


def test_formulas_are_described_to_screen_readers(text: MessageText, qtbot: QtBot) -> None:
    text.set_text("so $x^2$ and")
    assert text.accessibleDescription() == "With the formulas $x^2$"
    text.set_text("none")
    assert text.accessibleDescription() == ""
    text.set_caret(True)
    text.append(" then $y$")
    text.set_caret(False)
    assert text.accessibleDescription() == "With the formulas $y$"
    _wait(qtbot, text)


def test_all_of_many_formulas_are_drawn(qtbot: QtBot) -> None:
    text = MessageText(theme("light"), is_markdown=True)
    qtbot.addWidget(text)
    text.resize(600, 400)
    text.show()
    latex = [f"z_{{{number}}}" for number in range(120)]
    text.set_text(" ".join(f"${each}$" for each in latex))

    def drawn() -> set[str]:
        return {key.latex for key, _, _ in formulas()._pixmaps}  # pyright: ignore[reportPrivateUsage]

    qtbot.waitUntil(lambda: drawn().issuperset(latex), timeout=PATIENCE_MS)
