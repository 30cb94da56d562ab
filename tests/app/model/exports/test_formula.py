"""LaTeX as lines: what is set, and what stays as it was written."""

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
def test_environments_that_look_like_others_are_set_like_these(written: str, same: str) -> None:
    found = formula(written, 15, "black", is_inline=False)
    assert found is not None
    assert found == formula(same, 15, "black", is_inline=False)


@pytest.mark.parametrize("name", ["rcases", "tikzpicture", "CD"])
def test_an_environment_that_is_not_known_is_not_drawn_without_what_it_means(name: str) -> None:
    latex = rf"x = \begin{{{name}}} y \end{{{name}}}"
    assert formula(latex, 15, "black", is_inline=False) is None
    assert formula("x = y", 15, "black", is_inline=False) is not None
