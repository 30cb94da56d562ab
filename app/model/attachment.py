"""Files attached to a message: their text, the parts that the user chose, and the text that is sent to the model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from msgspec import Struct, structs

from app.model.message import Message
from app.model.notes import fenced
from app.model.text import clean

MAX_CHARS = 2_000_000
"""The limit for the characters of all files of one message."""

_LANGUAGE = re.compile(r"[a-z0-9+]{1,12}")
_LANGUAGES = {
    "txt": "text",
    "log": "text",
    "": "text",
    "pdf": "text",
    **dict.fromkeys(("docx", "odt", "epub", "html", "htm", "xhtml"), "markdown"),
    **dict.fromkeys(("xlsx", "xlsm", "xlsb", "xls", "ods"), "csv"),
}
"""The code fence languages for files with these suffixes. For all other files, the suffix is the language."""


class FilePart(Struct, frozen=True, kw_only=True):
    """A page, a sheet or a section of a file."""

    title: str
    text: str


class Attachment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file attached to a message, with its text at the time when it was attached."""

    name: str
    text: str = ""
    """The whole text; empty if the file has parts."""
    parts: tuple[FilePart, ...] = ()
    num_parts: int = 0
    """The number of parts of the file. If all together are too long, the last ones are not in `parts`."""
    is_cut: bool = False
    """Whether the parts are lines of one text. If all are chosen, the text is sent unchanged."""
    left_out: tuple[int, ...] = ()
    """The indices of the parts that are not sent."""

    @property
    def chosen(self) -> str:
        """The text that is sent: the whole text, or the chosen parts, each below its title."""
        if not self.parts:
            return self.text
        if self.is_cut and not self.left_out:
            return "".join(part.text for part in self.parts)
        left_out = set(self.left_out)
        kept = [part for index, part in enumerate(self.parts) if index not in left_out]
        return "\n\n".join(f"[{part.title}]\n{part.text.rstrip()}" for part in kept)

    @property
    def num_chars(self) -> int:
        """The size of the text that is sent, and of the parts that are left out."""
        return len(self.text) + sum(len(part.title) + len(part.text) for part in self.parts)

    @property
    def cleaned(self) -> Attachment:
        """This attachment with texts that can be stored and sent."""
        parts = tuple(FilePart(title=clean(part.title), text=clean(part.text)) for part in self.parts)
        return structs.replace(self, name=clean(self.name), text=clean(self.text), parts=parts)


def file_message(attachment: Attachment) -> str:
    """Return the text of a message of the role `file`: its first line is the file's name."""
    return f"{' '.join(attachment.name.split())}\n{attachment.chosen}"


def split_file(message: Message) -> tuple[str, str]:
    """Split a message of the role `file` into the file's name and its text."""
    name, _, text = message.text.partition("\n")
    return name, text


def text_read(message: Message) -> str:
    """Return the text of a message as it is sent to the model. A file is in a code fence below its name."""
    if message.role != "file":
        return message.text
    name, text = split_file(message)
    return f"{name}:\n\n{fenced_file(name, text)}"


def fenced_file(name: str, text: str) -> str:
    """Return a file's text in a code fence. Its language follows from the name."""
    return fenced(text.rstrip("\n"), _language(name))


def unsent_files(attachments: Sequence[Attachment]) -> list[Message]:
    """Return files as messages that are not stored yet."""
    return [Message(id=0, parent_id=None, role="file", text=file_message(each)) for each in attachments]


def _language(name: str) -> str:
    suffix = PurePath(name).suffix.lower().removeprefix(".")
    return _LANGUAGES.get(suffix, suffix if _LANGUAGE.fullmatch(suffix) else "text")
