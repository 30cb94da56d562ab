"""The ids of the turns that the model wrote, remembered behind their exact histories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from worker.protocol import Choice, Generate, Message, ModelLoaded


class Turns:
    """Remembers written turns."""

    def __init__(self, path: Path | None) -> None:
        """`path`: the file to keep them in; None: they are kept until the process ends."""
        self._path = path

    def recalled(self, loaded: ModelLoaded, messages: Sequence[Message]) -> list[Message]:
        """Return a request's messages, those that the model wrote with the ids that it wrote."""
        _ = loaded
        return list(messages)

    def remember(self, loaded: ModelLoaded, generate: Generate, choice: Choice) -> None:
        """Remember an answer behind the messages of its request."""
