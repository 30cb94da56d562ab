"""Results of a run of random attacks: its faults and the figures that are printed."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

_NUM_SLOWEST = 5


@dataclass
class Figures:
    """Each fault and each slow round names the attack that repeats it."""

    num_rounds: int = 0
    ends: Counter[str] = field(default_factory=Counter[str])
    """How often requests ended in each way."""
    faults: list[str] = field(default_factory=list[str])
    slowest: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    largest: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """Peaks of memory in MB; 0 where it was not measured."""
    _began_at: float = field(default_factory=time.monotonic)

    def add(self, end: str, seconds: float, megabytes: float, attack: str) -> None:
        """Add a round that ended."""
        self.num_rounds += 1
        self.ends[end] += 1
        self.slowest = sorted([*self.slowest, (round(seconds, 2), attack)], reverse=True)[:_NUM_SLOWEST]
        self.largest = sorted([*self.largest, (round(megabytes), attack)], reverse=True)[:_NUM_SLOWEST]

    def blame(self, fault: str) -> None:
        """Add a fault, and print it at once, as a long run may be ended."""
        self.faults.append(fault)
        print("FAULT", fault, flush=True)

    def __str__(self) -> str:
        lines = [f"{self.num_rounds} rounds in {time.monotonic() - self._began_at:.0f} s, {len(self.faults)} faults"]
        lines += [f"  {number} × {end}" for end, number in self.ends.most_common()]
        lines += [f"  {seconds} s: {attack}" for seconds, attack in self.slowest]
        lines += [f"  {megabytes:.0f} MB: {attack}" for megabytes, attack in self.largest if megabytes]
        return "\n".join(lines)
