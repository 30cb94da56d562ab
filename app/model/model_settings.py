"""The user's settings for one model: how new conversations with it begin, its cache, its reasoning marks, and notes."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, structs

from app.model.message import ThoughtMarks
from app.model.text import clean

_MAX_MARK_CHARS = 200
_Text: TypeAlias = Annotated[str, Meta(max_length=2_000_000)]


class ModelSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings of one model."""

    system_prompt: _Text = ""
    """The system prompt of new conversations with the model."""
    stop: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """More stop strings for new conversations."""
    kv_bits: Literal[4, 8, 16] | None = None
    """The precision of the model's cache in bits; 16 means full precision, None that of the general settings."""
    thought_marks: ThoughtMarks = ("", "")
    """The marks of a model's reasoning, if they are unusual. If the second is empty, the usual marks are used."""
    notes: _Text = ""

    @property
    def cleaned(self) -> ModelSettings:
        """These settings with texts that can be stored and sent."""
        first, last = (clean(mark)[:_MAX_MARK_CHARS] for mark in self.thought_marks)
        return structs.replace(
            self,
            system_prompt=clean(self.system_prompt),
            stop=tuple(clean(text) for text in self.stop),
            thought_marks=(first, last),
            notes=clean(self.notes),
        )

    @property
    def own_marks(self) -> ThoughtMarks | None:
        """The marks of the model's reasoning; None means the usual marks."""
        return self.thought_marks if self.thought_marks[1] else None
