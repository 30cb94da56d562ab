"""LaTeX formulas as SVG: supported environments, and fallback for others."""

from __future__ import annotations

import pytest

from app.model.exports.formula import formula


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (r"\begin{alignat}{2} a &= b \\ c &= d \end{alignat}", r"\begin{align*} a &= b \\ c &= d \end{align*}"),
        (r"\begin{eqnarray*} a &=& b \end{eqnarray*}", r"\begin{align*} a &=& b \end{align*}"),
        (r"x = \begin{dcases} 1 & y \\ 2 \end{dcases}", r"x = \begin{cases} 1 & y \\ 2 \end{cases}"),
    ],
)
def test_equivalent_environments_are_drawn_alike(written: str, same: str) -> None:
    found = formula(written, 15, "black", is_inline=False)
    assert found is not None
    assert found == formula(same, 15, "black", is_inline=False)


@pytest.mark.parametrize("name", ["rcases", "tikzpicture", "CD"])
def test_a_formula_with_an_unknown_environment_is_not_drawn(name: str) -> None:
    latex = rf"x = \begin{{{name}}} y \end{{{name}}}"
    assert formula(latex, 15, "black", is_inline=False) is None
    assert formula("x = y", 15, "black", is_inline=False) is not None
