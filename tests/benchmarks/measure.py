"""Rows of the benchmark table: medians over alternating rounds of one run, with their spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import TypedDict


class Row(TypedDict):
    """One line of the table. `spread` is (highest - lowest) / median of the values behind `ratio` (or `bough`)."""

    area: str
    name: str
    bough: float | None
    """None if the measurement failed; then `failure` holds the reason."""
    peer_name: str | None
    peer: float | None
    ratio: float | None
    spread: float | None
    goal: str | None
    met: bool | None
    failure: str | None


def in_turn(
    rounds: int, bough: Callable[[], float], peer: Callable[[], float], warm_up: int = 1
) -> tuple[list[float], list[float]]:
    """Take both figures `rounds` times in alternation, so that a change of the machine's speed affects both."""
    for _ in range(warm_up):
        bough()
        peer()
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(rounds):
        # The order changes from round to round.
        for side in (0, 1) if number % 2 else (1, 0):
            if side:
                ours.append(bough())
            else:
                theirs.append(peer())
    return ours, theirs


def compared(
    area: str, name: str, ours: Sequence[float], peer_name: str, theirs: Sequence[float], goal: str | None = None
) -> Row:
    """Return a row with the median of the pairwise ratios. `goal` applies to the ratio, for example ">= 0.97"."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    return Row(
        area=area,
        name=name,
        bough=statistics.median(ours),
        peer_name=peer_name,
        peer=statistics.median(theirs),
        ratio=ratio,
        spread=spread(ratios),
        goal=goal,
        met=None if goal is None else meets(ratio, goal),
        failure=None,
    )


def alone(area: str, name: str, figures: Sequence[float], goal: str | None = None) -> Row:
    """Return a row without a peer; `goal` applies to the median."""
    median = statistics.median(figures)
    return Row(
        area=area,
        name=name,
        bough=median,
        peer_name=None,
        peer=None,
        ratio=None,
        spread=spread(figures),
        goal=goal,
        met=None if goal is None else meets(median, goal),
        failure=None,
    )


def failed(area: str, failure: str) -> Row:
    """Return a row for an area that ended early."""
    return Row(
        area=area,
        name="",
        bough=None,
        peer_name=None,
        peer=None,
        ratio=None,
        spread=None,
        goal=None,
        met=None,
        failure=failure,
    )


def spread(figures: Sequence[float]) -> float:
    median = statistics.median(figures)
    return (max(figures) - min(figures)) / median if median else 0.0


def meets(value: float, goal: str) -> bool:
    sign, number = goal.split()
    return value >= float(number) if sign == ">=" else value <= float(number)
