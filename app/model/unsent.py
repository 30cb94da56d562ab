"""The user's unsent text, files and system prompt, and the texts of open editors."""

from __future__ import annotations

from msgspec import Struct, structs

from app.model.attachment import Attachment
from app.model.text import clean


class Edit(Struct, frozen=True, kw_only=True):
    """The changed text in the open editor of a message."""

    message_id: int
    text: str


class Unsent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The contents of a composer, and of the editors in its conversation."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    system_prompt: str | None = None
    """The system prompt of a conversation that has not begun; None means the system prompt of the model's settings."""
    edits: tuple[Edit, ...] = ()

    @property
    def num_chars(self) -> int:
        texts = sum(one.num_chars for one in self.attachments) + sum(len(one.text) for one in self.edits)
        return len(self.text) + len(self.system_prompt or "") + texts

    def edit_of(self, message_id: int) -> str | None:
        """Return the changed text in the open editor of a message; None if it has no open editor."""
        return next((edit.text for edit in self.edits if edit.message_id == message_id), None)

    def with_edit(self, message_id: int, text: str | None) -> Unsent:
        """Return these contents with `text` in the open editor of a message; None means no open editor."""
        others = tuple(edit for edit in self.edits if edit.message_id != message_id)
        edits = others if text is None else (*others, Edit(message_id=message_id, text=text))
        return structs.replace(self, edits=edits)

    @property
    def cleaned(self) -> Unsent:
        """These contents with texts that can be stored and sent."""
        prompt = None if self.system_prompt is None else clean(self.system_prompt)
        attachments = tuple(one.cleaned for one in self.attachments)
        edits = tuple(Edit(message_id=one.message_id, text=clean(one.text)) for one in self.edits)
        return structs.replace(self, text=clean(self.text), attachments=attachments, system_prompt=prompt, edits=edits)


NOTHING = Unsent()
