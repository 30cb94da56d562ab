"""Formulas are rendered in a process of their own, which survives what a formula does to it."""

from __future__ import annotations

import gc

import pytest

from app import formula_renderer
from app.formula_renderer import FormulaKey, FormulaRenderer
from app.model.exports.formula import Formula, formula
from tests.waiting import PATIENCE_MS

_FRACTION, _INVALID, _LATER = (FormulaKey(latex, True, 16) for latex in ("\\frac{a}{b}", "\\frac{a", "x^2"))


def _render(renderer: FormulaRenderer, *keys: FormulaKey) -> dict[FormulaKey, Formula | None]:
    for key in keys:
        renderer.render(key)
    # Without a turn of the event loop to take them in.
    return dict(renderer._rendered.get(timeout=PATIENCE_MS / 1000) for _ in keys)  # pyright: ignore[reportPrivateUsage]


def test_a_formula_that_takes_too_long_is_given_up_and_the_next_one_is_rendered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    renderer = FormulaRenderer()
    monkeypatch.setattr(formula_renderer, "_SECONDS", -1.0)
    assert _render(renderer, _FRACTION) == {_FRACTION: None}
    monkeypatch.undo()
    found = _render(renderer, _INVALID, _FRACTION, _LATER)
    assert found[_INVALID] is None
    for key in (_FRACTION, _LATER):
        assert found[key] == formula(key.latex, key.size_px, "black", is_inline=True)
    # Its thread and its process end with the renderer.
    thread = renderer._thread  # pyright: ignore[reportPrivateUsage]
    del renderer
    gc.collect()
    assert thread is not None
    thread.join(PATIENCE_MS / 1000)
    assert not thread.is_alive()
