"""Uncertain pause: when the model is unsure about a token, chooses that token again at a lower temperature.

A token whose probability is below `threshold` is sampled again at a lower `temperature`, and the second token is kept.
Options: `threshold` (0…1), `temperature`.
"""

from __future__ import annotations

from worker.decision import Decision
from worker.step import Step


class Hook:
    """Samples unlikely tokens a second time."""

    def __init__(self, threshold: float = 0.1, temperature: float = 0.3) -> None:
        if not 0 <= threshold <= 1:
            raise ValueError(f"`threshold` is {threshold}; a probability from 0 to 1 is meant")
        self._threshold = threshold
        self._temperature = temperature
        self._again_at: int | None = None

    def __call__(self, step: Step) -> Decision | None:
        if step.phase == "before":
            return None
        is_second = self._again_at == step.position
        self._again_at = None
        if is_second or step.probability >= self._threshold:
            return None
        self._again_at = step.position
        return Decision(resample=True, temperature=self._temperature)
