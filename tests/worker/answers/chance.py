"""A hook that decides at random, and a record of each token that was sampled."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from worker.decision import Decision, Splice, Verdict
from worker.step import Step


@dataclass
class Draws:
    """Everything that was sampled: after which sequence, at which visit with which seed, how, and with what result."""

    made: list[tuple[list[int], int, int, Any, float | None, int]] = field(
        default_factory=list[tuple[list[int], int, int, Any, float | None, int]]
    )

    def __deepcopy__(self, _memo: object) -> Draws:
        """The hooks of forks record here, too."""
        return self


class Chance:
    """A hook that decides at random and records how each token was sampled."""

    def __init__(self, seed: int, draws: Draws, size: int) -> None:
        self.random = random.Random(seed)
        self.draws = draws
        self.size = size
        self.num_forks = 0
        self.branch: int | None = None
        self.visits: dict[int, int] = {}
        self.visits_before: dict[int, int] = {}
        """Visits by position. Those before the fork were made with the parent's seed."""
        self.mask: Any = None
        self.temperature: float | None = None
        self.tried: list[int] = []
        self.place = 0

    def _forget(self, place: int) -> None:
        self.mask = self.temperature = None
        self.tried = []
        self.place = place

    def __call__(self, step: Step) -> Verdict:
        chance, chosen = self.random, self.random.random()
        if self.branch != step.branch:
            self.branch, self.visits_before = step.branch, self.visits
        if step.phase == "before":
            self._forget(step.position)
            if chosen < 0.06:
                return Decision(backtrack=chance.randint(1, 6))
            if chosen < 0.07:
                return Decision(backtrack=step.position + 2)
            if chosen < 0.1:
                return Decision(token=chance.randrange(40, self.size))
            if chosen < 0.14:
                ff_tokens = [chance.randrange(40, self.size) for _ in range(chance.randint(0, 4))]
                return Decision(splices=[Splice(backtrack=chance.randint(0, 4), ff_tokens=ff_tokens)])
            if chosen < 0.3:
                self.mask = np.array([chance.random() < 0.5 for _ in range(self.size)])
                self.temperature = chance.choice([None, 0.0, 0.5, 2.0])
                return Decision(mask=self.mask, temperature=self.temperature)
            if chosen < 0.32 and self.num_forks < 2:
                self.num_forks += 1
                return [Decision(), Decision(token=chance.randrange(40, self.size))]
            return None
        if step.position != self.place:
            self._forget(step.position)  # This is another position, for which no hook was asked.
        left = np.ones(self.size, dtype=np.bool_) if self.mask is None else self.mask.copy()
        left[self.tried] = False
        visit = step.visit - self.visits_before.get(step.position, 0)
        self.visits = {**self.visits, step.position: step.visit + 1}
        self.draws.made.append(([*step.given, *step.tokens], step.branch, visit, left, self.temperature, step.token))
        if chosen < 0.15:
            self.tried.append(step.token)
            return Decision(resample=True)
        if chosen < 0.2:
            self._forget(-1)
            return Decision(backtrack=chance.randint(1, 5))
        if chosen < 0.23:
            return Decision(token=chance.randrange(40, self.size))
        if chosen < 0.25 and self.num_forks < 2:
            self.num_forks += 1
            return [Decision(), Decision(backtrack=1)]
        return None
