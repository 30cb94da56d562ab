"""The user's unsent text, files and system prompt, and the texts of open editors. Reads the files."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, structs

from app.model.text import clean
from worker.regular_file import read_regular
from worker.sentence import Sentence, SentenceError


class Attachment(Struct, frozen=True, kw_only=True):
    """A text file attached to a message, with its text at the time of choosing it."""

    name: str
    text: str


class Edit(Struct, frozen=True, kw_only=True):
    """The changed text in the open editor of a message."""

    message_id: int
    text: str


class Unsent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The contents of a composer, and of the editors in its conversation."""

    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    system_prompt: str | None = None
    """The system prompt of a conversation that has not begun; None means that of the model's settings."""
    edits: tuple[Edit, ...] = ()

    @property
    def num_chars(self) -> int:
        texts = sum(len(one.text) for one in (*self.attachments, *self.edits))
        return len(self.text) + len(self.system_prompt or "") + texts

    def edit_of(self, message_id: int) -> str | None:
        """Return the changed text in the open editor of a message; None without one."""
        return next((edit.text for edit in self.edits if edit.message_id == message_id), None)

    def with_edit(self, message_id: int, text: str | None) -> Unsent:
        """Return the same with this text in the open editor of a message; None means without one."""
        others = tuple(edit for edit in self.edits if edit.message_id != message_id)
        edits = others if text is None else (*others, Edit(message_id=message_id, text=text))
        return structs.replace(self, edits=edits)

    @property
    def cleaned(self) -> Unsent:
        """The same with texts that can be stored and sent."""
        attachments = tuple(Attachment(name=clean(one.name), text=clean(one.text)) for one in self.attachments)
        prompt = None if self.system_prompt is None else clean(self.system_prompt)
        edits = tuple(Edit(message_id=one.message_id, text=clean(one.text)) for one in self.edits)
        return structs.replace(self, text=clean(self.text), attachments=attachments, system_prompt=prompt, edits=edits)


NOTHING = Unsent()


MAX_BYTES = 2_000_000
"""The limit for all files of one message together."""

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LANGUAGE = re.compile(r"[a-z0-9+]{1,12}")
_NAMES = {"txt": "text", "log": "text", "": "text"}


class NotAttachedError(SentenceError):
    """A file can't be attached; the sentence says why and what to do."""


def read_attachment(path: Path, others: Iterable[Attachment] = ()) -> Attachment:
    """Read a text file for a message that has `others` already. Raises `NotAttachedError`."""
    room = MAX_BYTES - sum(len(other.text) for other in others)
    try:
        if path.is_dir():
            raise NotAttachedError(Sentence("“{name}” is a folder. Attach files from it instead.", name=path.name))
        num_bytes = path.stat().st_size
        if num_bytes > room:
            raise NotAttachedError(
                Sentence(
                    "“{name}” has {file_bytes}, but a message can hold only {max_bytes} of files. Attach a part of it.",
                    name=path.name,
                    file_bytes=num_bytes,
                    max_bytes=MAX_BYTES,
                )
            )
        data = read_regular(path, room)
    except OSError as error:
        raise NotAttachedError(
            Sentence("“{name}” can't be read ({error}).", name=path.name, error=error.strerror or error)
        ) from error
    text = _decoded(data)
    if text is None:
        raise NotAttachedError(
            Sentence("“{name}” is not a text file. Save it as text, then attach the text.", name=path.name)
        )
    return Attachment(name=path.name, text=text)


def with_attachments(text: str, attachments: Sequence[Attachment]) -> str:
    """Return the message's text followed by each file under its name, in a code fence longer than any inside it."""
    parts = [text.rstrip()] if text.strip() else []
    for attachment in attachments:
        inside = attachment.text.rstrip("\n")
        longest = max((len(run) for run in re.findall(r"`{3,}", inside)), default=2)
        fence = "`" * (longest + 1)
        parts.append(f"{attachment.name}:\n\n{fence}{_language(attachment.name)}\n{inside}\n{fence}")
    return "\n\n".join(parts) if attachments else text


def _decoded(data: bytes) -> str | None:
    """Decode the bytes, with plain line ends; None if they are not text."""
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        # The most common encoding in the West before UTF-8.
        text = data.decode("cp1252", "replace")
        if "\ufffd" in text:
            return None
    return None if _NO_TEXT.search(text) else text.replace("\r\n", "\n").replace("\r", "\n")


def _language(name: str) -> str:
    suffix = Path(name).suffix.lower().removeprefix(".")
    return _NAMES.get(suffix, suffix if _LANGUAGE.fullmatch(suffix) else "text")
