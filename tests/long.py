"""More rounds of the same test, for `make test-long`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

_T = TypeVar("_T")


def in_long_runs(cases: Iterable[object]) -> list[ParameterSet]:
    """Return parameters of a test that `make test-long` runs alone. A tuple is one case of several parameters."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)  # pyright: ignore[reportUnknownArgumentType]
        for case in cases
    ]


def every_third(cases: Iterable[_T], first: int = 0) -> list[ParameterSet | _T]:
    """Return parameters of which each third one, from `first` on, runs always and the rest in `make test-long`."""
    return [
        case if number % 3 == first else pytest.param(case, marks=pytest.mark.long) for number, case in enumerate(cases)
    ]
