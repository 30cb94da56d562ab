"""Divides the time between prefill and decoding while prompts wait beside running answers.

A prompt that is processed early joins the batch early, and a step of many answers takes little longer than a step of
one. So most of the time goes to prefill until all prompts are processed, but no answer stops for long.
"""

from __future__ import annotations

_LEAST, _MOST = 4, 8
"""Prefill may take the time of the last decoding step once for each waiting prompt, within these limits."""

_LONGEST_STEP_S = 5.0
"""A step that took longer, as on a machine that was stopped, counts as this long."""


class Turns:
    """Decides whether the next step processes prompts or decodes (`is_for_decoding`)."""

    def __init__(self) -> None:
        self._left_s = 0.0
        """How long prefill may still take before the next decoding step."""

    @property
    def is_for_decoding(self) -> bool:
        """Whether the next step decodes."""
        return self._left_s <= 0

    def note_decoded(self, took_s: float, num_waiting: int) -> None:
        """Note that a decoding step took `took_s`, while `num_waiting` prompts wait or are in prefill."""
        self._left_s = min(took_s, _LONGEST_STEP_S) * min(max(num_waiting, _LEAST), _MOST)

    def note_read(self, took_s: float) -> None:
        """Note that a step of prefill took `took_s`."""
        self._left_s -= took_s

    def note_joined(self) -> None:
        """Note that a prompt is processed. Its first token is sampled next."""
        self._left_s = 0.0
