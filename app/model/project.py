"""Projects: the instructions, files, model and sampling that the conversations of a folder have in common.

A branch keeps the instructions and files with which it began. A first question that is sent or edited after the project
changed begins a new branch, below a new version of the system prompt with the project's present instructions and files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from app.model.attachment import Attachment, file_message
from app.model.generation_settings import GenerationSettings
from app.model.message import Message, Record, Role
from app.model.text import clean


class Project(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The beginning that the new conversations of a folder share. The folder's path is its name."""

    instructions: str = ""
    """The system prompt. If it is empty, conversations begin with the system prompt of their model."""
    files: tuple[Attachment, ...] = ()
    model: str = ""
    """The model of its conversations; empty means the model that is chosen for new conversations."""
    generation: GenerationSettings | None = None
    """None means the default settings."""

    @property
    def file_texts(self) -> list[str]:
        """The texts of the messages of the role `file` with which the project's conversations begin."""
        return [file_message(file) for file in self.files]

    @property
    def cleaned(self) -> Project:
        """This project with texts that can be stored and sent."""
        return structs.replace(
            self,
            instructions=clean(self.instructions),
            files=tuple(file.cleaned for file in self.files),
            model=clean(self.model),
            generation=None if self.generation is None else self.generation.cleaned,
        )


class Beginning(NamedTuple):
    """The messages of a branch down to its first question."""

    system: Message
    project_files: list[str]
    """The texts of the files that came from the project."""
    own_files: list[str]
    """The texts of the files that were attached to the first question."""
    question: Message | None


def beginning_of(path: Sequence[Message]) -> Beginning | None:
    """Return a branch's system prompt, files and first question; None if it begins otherwise, as some imports do."""
    messages = [message for message in path if message.role != "root"]
    if not messages or messages[0].role != "system":
        return None
    shared: list[str] = []
    own: list[str] = []
    for message in messages[1:]:
        if message.role == "file":
            (shared if is_of_project(message) and not own else own).append(message.text)
        elif message.role == "user":
            return Beginning(messages[0], shared, own, message)
        else:
            return None
    return Beginning(messages[0], shared, own, None)


def unsent_beginning(instructions: str, file_texts: Sequence[str]) -> list[Message]:
    """Return the messages with which a conversation begins. They are not stored yet."""
    turn: list[tuple[Role, str]] = [("system", instructions), *(("file", text) for text in file_texts)]
    record = Record(is_of_project=True)
    return [Message(id=0, parent_id=None, role=role, text=text, record=record) for role, text in turn]


def is_of_project(message: Message) -> bool:
    """Return whether a system prompt or a file came from the project of its conversation."""
    return message.record is not None and message.record.is_of_project
