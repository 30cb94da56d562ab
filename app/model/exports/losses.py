"""Counts the messages that exports leave out or join, with the reasons, so that a sentence reports each loss.

Independent of the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from app.model.exports.captions import split_note
from app.model.exports.excerpt import Excerpt
from app.model.exports.files import ReadableFormat
from app.model.message import MessageId
from worker.sentence import Sentence

Loss: TypeAlias = Literal[
    "calls",
    "files",
    "incomplete",
    "joined",
    "late_system",
    "long",
    "marks",
    "named_files",
    "notes",
    "project",
    "reasoning",
    "system",
    "unanswered",
    "unasked",
    "unpaired",
    "with_tools",
    "words",
]


class Losses:
    """The messages that were joined or left out, each counted once for a reason."""

    def __init__(self) -> None:
        self._found: dict[Loss, set[MessageId]] = {}

    def add(self, loss: Loss, *message_ids: MessageId) -> None:
        """Count messages, or for `project` the conversation's id. No ids count nothing."""
        if message_ids:
            self._found.setdefault(loss, set()).update(message_ids)

    def __contains__(self, loss: Loss) -> bool:
        return loss in self._found

    def add_all(self, other: Losses) -> None:
        for loss, found in other._found.items():
            self.add(loss, *found)

    def sentences(self) -> Iterator[Sentence]:
        for loss, found in sorted(self._found.items()):
            yield _sentence(loss, len(found))


def add_readable(losses: Losses, excerpt: Excerpt, format_: ReadableFormat) -> None:
    """Count what a format for readers leaves out. Its options are the user's choice, so they are no loss.

    The folder is the conversation's place here, and nothing that a reader of a shared page should see; Markdown, which
    Bough reads back, has it in a comment.
    """
    if excerpt.project is not None:
        losses.add("project", excerpt.conversation.id)
    if format_ in {"txt", "pdf", "docx"}:
        losses.add("named_files", *_files(excerpt, with_pictures=format_ == "txt"))


def _files(excerpt: Excerpt, *, with_pictures: bool) -> Iterable[MessageId]:
    for message in excerpt.messages:
        if message.role == "note":
            note = split_note(message)
            if note.file_address and (with_pictures or not note.is_picture):
                yield message.id


def _sentence(loss: Loss, num: int) -> Sentence:
    match loss:
        case "incomplete":
            return Sentence("Answers left out, because they are stopped, cut off, failed or empty: {num}.", num=num)
        case "joined":
            return Sentence(
                "Messages joined with the previous message, because chat templates require questions and answers to "
                "alternate: {num}.",
                num=num,
            )
        case "unasked":
            return Sentence("Answers left out, because there is no question before them: {num}.", num=num)
        case "unanswered":
            return Sentence(
                "Questions and results of tools left out, because no finished answer follows them: {num}.", num=num
            )
        case "unpaired":
            return Sentence("Messages left out, because they belong to no pair of answers: {num}.", num=num)
        case "late_system":
            return Sentence(
                "System texts left out, because chat templates allow them only at the beginning: {num}.", num=num
            )
        case "notes":
            return Sentence("Notes left out, because training records have no field for them: {num}.", num=num)
        case "files":
            return Sentence("Pictures and files left out, because training records contain only text: {num}.", num=num)
        case "marks":
            return Sentence(
                "Messages exported without the name of their branch, their star or their pin, because training "
                "records have no field for them: {num}.",
                num=num,
            )
        case "calls":
            return Sentence("Tool calls without a result, and results without a call, left out: {num}.", num=num)
        case "words":
            return Sentence(
                "Answers exported without their text beside a tool call, because lines of this kind have no field "
                "for both: {num}.",
                num=num,
            )
        case "long":
            return Sentence(
                "Branches left out, because a line of this kind holds only one question and one answer as text: {num}.",
                num=num,
            )
        case "system":
            return Sentence(
                "System prompts left out, because lines of this kind have no field for them: {num}.", num=num
            )
        case "reasoning":
            return Sentence(
                "Answers exported without their reasoning, because lines of this kind have no field for it: {num}.",
                num=num,
            )
        case "with_tools":
            return Sentence(
                "Answers left out, because lines of this kind have no field for tool calls: {num}.", num=num
            )
        case "named_files":
            return Sentence("Pictures and files exported only by name, without their content: {num}.", num=num)
        case "project":
            return Sentence(
                "Conversations exported without the settings of their project, which only the format “Bough” keeps: "
                "{num}.",
                num=num,
            )
