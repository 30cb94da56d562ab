"""Turns of reading prompts and of decoding, while prompts wait beside running answers.

A prompt that is read early joins the batch early, and a step of many answers takes little longer than a step of one.
So most of the time goes to reading until all prompts are read, but no answer stands still.
"""

from __future__ import annotations

_LEAST, _MOST = 4, 8
"""The limits of how many times as long as the last step of decoding prompts are read: once for each waiting one."""

_LONGEST_STEP_S = 5.0
"""A step that took longer, as on a machine that was stopped, counts as this long."""


class Turns:
    """Decides what the next step does. Prompts are read until `is_for_decoding`."""

    def __init__(self) -> None:
        self._left_s = 0.0
        """How long prompts may still be read before the next step of decoding."""

    @property
    def is_for_decoding(self) -> bool:
        """Whether the running answers are due."""
        return self._left_s <= 0

    def note_decoded(self, took_s: float, num_waiting: int) -> None:
        """Note a step of decoding; `num_waiting` prompts wait or are being read."""
        self._left_s = min(took_s, _LONGEST_STEP_S) * min(max(num_waiting, _LEAST), _MOST)

    def note_read(self, took_s: float) -> None:
        """Note a step of reading."""
        self._left_s -= took_s

    def note_joined(self) -> None:
        """Note that a prompt is read. Its first token is due."""
        self._left_s = 0.0
