"""A message as a view is to show it; it knows no widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.model.message import Message
from app.ui.message_actions import ActionName
from app.ui.reading_modes import ReadingModes


@dataclass(frozen=True)
class Shown:
    """A message with what depends on its surroundings."""

    message: Message
    siblings: Sequence[int]
    actions: Sequence[ActionName]
    is_streaming: bool
    is_last: bool
    modes: ReadingModes | None = None
    """How it is read; None: as every message is at first."""
