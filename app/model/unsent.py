"""What a person has written and not sent: words, files, a system prompt; values alone."""

from __future__ import annotations

from msgspec import Struct, structs

from app.model.typed_text import clean


class Attachment(Struct, frozen=True, kw_only=True):
    """A text file that goes with a message, as it was when it was chosen."""

    name: str
    text: str


class Unsent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What lies in a composer."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    system_prompt: str = ""
    """Of the conversation that is yet to begin."""

    @property
    def num_chars(self) -> int:
        return len(self.text) + len(self.system_prompt) + sum(len(one.text) for one in self.attachments)

    @property
    def cleaned(self) -> Unsent:
        """The same as text that can be stored and sent."""
        attachments = tuple(Attachment(name=clean(one.name), text=clean(one.text)) for one in self.attachments)
        return structs.replace(
            self, text=clean(self.text), attachments=attachments, system_prompt=clean(self.system_prompt)
        )


NOTHING = Unsent()
