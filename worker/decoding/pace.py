"""How fast prompts are read, by what was read lately; it reads none."""

from __future__ import annotations

_LATELY = 1 << 14
"""Tokens after which what was measured before counts half."""


class Pace:
    """What one model takes to read, chunk by chunk."""

    def __init__(self) -> None:
        self.last_tokens_per_s = 0.0
        """Of the last chunk alone."""
        self._num_tokens = 0.0
        self._took_s = 0.0

    def note(self, num_tokens: int, took_s: float) -> None:
        """Note a chunk that was read."""
        self.last_tokens_per_s = num_tokens / took_s
        self._num_tokens += num_tokens
        self._took_s += took_s
        if self._num_tokens > _LATELY:
            self._num_tokens /= 2
            self._took_s /= 2

    @property
    def tokens_per_s(self) -> float | None:
        """Of all that was read lately; None: nothing was."""
        return self._num_tokens / self._took_s if self._took_s else None
