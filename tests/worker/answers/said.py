"""Models that write given pieces, one token each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from tests.driver import Event, StdioWorker, shown_text
from tests.models import EOS


def eos_of(tokenizer: Tokenizer) -> int:
    eos = tokenizer.token_to_id(EOS)
    assert eos is not None
    return eos


@dataclass(frozen=True)
class Said:
    """Return the answer of a model that writes these pieces, one token each."""

    worker: StdioWorker
    prompt: list[int]
    ids: list[int]
    """The ids of the pieces."""

    def events(self, **options: Any) -> list[Event]:
        options.setdefault("token_ids", self.prompt)
        return self.worker.ask("generate", **options)

    def choice(self, **options: Any) -> Event:
        events = self.events(**options)
        assert events[-1]["type"] == "finished", events[-1]
        (choice,) = events[-1]["choices"]
        assert shown_text(events) == choice["text"]
        return choice


Say = Callable[..., Said]
