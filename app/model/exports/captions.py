"""Headings, titles and statistics of exported messages, and the parts of their texts. Independent of the format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from app.model.attachment import fenced_file, split_file
from app.model.exports.excerpt import Excerpt, Options, Section
from app.model.message import Message, MessageId, Record, State, is_part
from app.model.text import as_title, language_of, plain_words
from app.model.thoughts import thought_of
from worker.sentence import size_text

ROLES = {"system": "System", "user": "You", "assistant": "Answer"}

_PICTURE = re.compile(r"!\[(?P<name>[^\]\n]*)\]\((?P<address>data:[^\s()]+)\)")
_FIRST_WORDS = 60
_MAX_SAMPLE = 4_000
"""The maximum number of characters from which the language of a conversation is recognised."""
_ENDINGS: dict[State, str] = {
    "stopped": "The answer was stopped before its end",
    "cut": "The answer was cut off at the maximum number of tokens",
    "failed": "The answer failed",
    "streaming": "The answer was still being written",
}


class AnswerParts(NamedTuple):
    """A message's reasoning (empty except in answers), and the rest of its text."""

    reasoning: str
    answer: str


class Note(NamedTuple):
    """The content of a note: text, or a file in a `data:` address."""

    label: str
    text: str
    file_name: str = ""
    file_address: str = ""

    @property
    def is_picture(self) -> bool:
        return self.file_address.startswith("data:image/")


def heading(message: Message) -> str:
    """Return the heading of a message: its role, and for answers the model and the time; empty for a text inside one.

    The other parts of a message have their label as a heading.
    """
    if is_part(message):
        return as_title(split_note(message).label) if is_folded(message) else ""
    if is_folded(message):
        return f"{'Note' if message.role == 'note' else 'File'}: {as_title(split_note(message).label)}"
    name = ROLES.get(message.role, message.role.capitalize())
    if message.role == "assistant" and message.record is not None and message.record.model:
        name += f" · {as_title(message.record.model)} · {when(message.created_ms)}"
    return name


def marks(message: Message) -> str:
    """Return in one line what the user marked: the name of the branch that begins here, a star, a pin; may be empty."""
    name = as_title(message.name)
    starred = "" if message.starred_ms is None else "Starred"
    pinned = "" if message.pinned_ms is None else "Pinned"
    return " · ".join(part for part in (f"Branch “{name}”" if name else "", starred, pinned) if part)


def ending(message: Message) -> str:
    """Return a sentence that an answer was stopped, cut off or failed, and why; empty if it is complete.

    Every export for readers shows it below the answer.
    """
    error = "" if message.record is None or not message.record.error else message.record.error.strip()
    state = _ENDINGS.get(message.state, "") if message.role == "assistant" else ""
    if state and error:
        return f"{state}: {error}"
    return error or (f"{state}." if state else "")


def when(ms: int) -> str:
    """Format a time to the minute."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"


def title(excerpt: Excerpt) -> str:
    return as_title(excerpt.conversation.name) or "Conversation"


def language(excerpt: Excerpt, options: Options) -> str:
    """Return the language of a conversation as a tag for files: by its letters, else the user's language."""
    sample = excerpt.conversation.name
    for message in excerpt.path or excerpt.messages:
        if len(sample) >= _MAX_SAMPLE:
            break
        sample += message.text[:_MAX_SAMPLE]
    return language_of(sample[:_MAX_SAMPLE], options.language)


def first_words(message: Message) -> str:
    """Return the beginning of a message in one line, without marks of Markdown."""
    line = as_title(plain_words(split_reasoning(message).answer[: 20 * _FIRST_WORDS]))
    return line if len(line) <= _FIRST_WORDS else f"{line[:_FIRST_WORDS].rstrip()}…"


def split_reasoning(message: Message) -> AnswerParts:
    """Split a message into its reasoning and the rest."""
    thought = thought_of(message)
    return (
        AnswerParts("", message.text)
        if thought is None
        else AnswerParts(thought.text, message.text[thought.answer_start :])
    )


def is_folded(message: Message) -> bool:
    """Return whether a message is a note or an attached file: a label, with content that is shown folded."""
    return message.role in {"note", "file"}


def split_note(message: Message) -> Note:
    """Split a note or a file into its label, which is its first line, and its content as Markdown."""
    if message.role == "file":
        name, text = split_file(message)
        return Note(name, fenced_file(name, text))
    label, _, text = message.text.partition("\n")
    text = text.strip("\n")
    found = _PICTURE.fullmatch(text)
    if found is None:
        return Note(label, text)
    name, address = found["name"], found["address"]
    return Note(label, "", name, address)


def text_of(message: Message, options: Options) -> str:
    """Return a message's text, without reasoning if the options say so."""
    return message.text if options.reasoning else split_reasoning(message).answer


def is_shown(message: Message, options: Options) -> bool:
    """Return whether a message is exported: not the root, nor an empty or unwanted system prompt."""
    if message.role == "system":
        return options.system_prompts and bool(message.text.strip())
    return message.role != "root"


def shown_sections(excerpt: Excerpt, options: Options) -> list[Section]:
    """Return the sections with the messages that are exported, without empty sections.

    The parent of each section is its nearest ancestor that is exported, or None.
    """
    found: list[Section] = []
    # By the id of each message: itself if it is exported, otherwise its nearest ancestor that is.
    nearest: dict[MessageId | None, MessageId | None] = {None: None}
    for parent_id, messages in excerpt.sections():
        above = nearest.get(parent_id)
        section = Section(above, [message for message in messages if is_shown(message, options)])
        for message in messages:
            above = nearest[message.id] = message.id if is_shown(message, options) else above
        if section.messages:
            found.append(section)
    return found


class Whole(NamedTuple):
    """The messages of a section, each with all its parts; `parent_id` is the first part of the message above."""

    parent_id: MessageId | None
    messages: list[list[Message]]


def in_wholes(sections: Iterable[Section]) -> list[Whole]:
    """Group the parts of each message. If the parts of a message fork, the message ends there."""
    found: list[Whole] = []
    first: dict[MessageId | None, MessageId | None] = {}
    sections = list(sections)
    forks = {section.parent_id for section in sections}
    for section in sections:
        whole = Whole(first.get(section.parent_id, section.parent_id), [])
        for message in section.messages:
            if is_part(message) and whole.messages and whole.messages[-1][-1].id not in forks:
                whole.messages[-1].append(message)
            else:
                whole.messages.append([message])
            first[message.id] = whole.messages[-1][0].id
        found.append(whole)
    return found


def branch_title(excerpt: Excerpt, section: Section, number: int) -> str:
    """Return the title of a branch, with the user's name for it. The first branch, which is visible, needs none."""
    name = as_title(section.messages[0].name)
    named = f" “{name}”" if name else ""
    after = "" if section.parent_id is None else f", after “{first_words(excerpt.tree[section.parent_id])}”"
    return f"Branch {number}{named}{after}"


def statistics(message: Message) -> str:
    """Return an answer's settings, token counts and times in one line; empty for other messages."""
    record = message.record
    if message.role != "assistant" or record is None:
        return ""
    figures = record.figures
    parts = [
        *_settings(record),
        f"{figures.new_tokens:,} tokens written" if figures.new_tokens else "",
        f"{figures.prompt_tokens:,} in the prompt" if figures.prompt_tokens else "",
        f"{figures.kept_tokens:,} of them kept" if figures.kept_tokens else "",
        f"first word after {figures.first_word_ms / 1000:.2f} s" if figures.first_word_ms else "",
        f"{figures.tokens_per_s:.1f} tokens/s" if figures.tokens_per_s else "",
        f"{size_text(figures.memory_bytes)} memory" if figures.memory_bytes else "",
    ]
    return " · ".join(part for part in parts if part)


def _settings(record: Record) -> Iterator[str]:
    # Imported answers have no settings.
    if record.seed is None and not record.ended_ms:
        return
    sampling = record.sampling
    yield f"temperature {sampling.temperature:g}"
    yield f"top-p {sampling.top_p:g}"
    if sampling.top_k:
        yield f"top-k {sampling.top_k}"
    if sampling.min_p:
        yield f"min-p {sampling.min_p:g}"
    if sampling.repetition_penalty != 1:
        yield f"repetition penalty {sampling.repetition_penalty:g}"
    if sampling.presence_penalty:
        yield f"presence penalty {sampling.presence_penalty:g}"
    if sampling.frequency_penalty:
        yield f"frequency penalty {sampling.frequency_penalty:g}"
    yield f"at most {sampling.max_tokens:,} tokens"
    if sampling.stop:
        yield f"stop strings {', '.join(json.dumps(text, ensure_ascii=False) for text in sampling.stop)}"
    if record.constraint is not None:
        yield f"answer format: {record.constraint.kind.replace('_', ' ')}"
    if record.hooks:
        yield f"hooks: {', '.join(record.hooks)}"
    if record.kv_bits is not None:
        yield f"cache in {record.kv_bits} bits"
    if record.seed is not None:
        yield f"seed {record.seed}"
