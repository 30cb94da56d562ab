"""Reads Bough's Markdown transcripts, with comments (see app/model/exports/markdown.py) or without."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from app.model.exports.captions import ROLES
from app.model.exports.markdown import FORMAT, HEADING, VERSION, unescaped
from app.model.imports.blocks import chained, id_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, UnreadableError
from app.model.imports.json_stream import Json
from app.model.message import State
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Markdown"

_FIRST_MARK = re.compile(r"<!-- (?P<key>bough(?:-\d+)?) (?P<values>\{.*\}) -->\n")
_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant", "file": "file"}
_STATES: dict[str, State] = {"stopped": "stopped", "streaming": "stopped", "cut": "cut", "failed": "failed"}
_NAMES = {name: role for role, name in ROLES.items()}


def conversation(text: str) -> ForeignConversation:
    """Read a transcript. Raises `UnreadableError` if Bough did not write it."""
    text = text.removeprefix("\ufeff")
    first = _FIRST_MARK.match(text)
    found = _plain(text) if first is None else _marked(text, first)
    if not found.messages:
        raise UnreadableError(Sentence("it is not a transcript from Bough: no heading names a speaker"))
    return found


def _plain(text: str) -> ForeignConversation:
    name = ""
    starts: list[tuple[re.Match[str], int, int]] = []
    """The headings, each with its start and the start of the text after it."""
    position = 0
    for line in text.split("\n"):
        if not starts and not name and line.startswith("# "):
            name = unescaped(line[2:])
        elif (heading := HEADING.fullmatch(line)) is not None:
            starts.append((heading, position, position + len(line) + 1))
        position += len(line) + 1
    messages: list[ForeignMessage] = []
    for number, (heading, _, begin) in enumerate(starts):
        end = starts[number + 1][1] if number + 1 < len(starts) else len(text)
        messages.append(
            ForeignMessage(
                id="",
                parent=None,
                role=_ROLES[_NAMES[heading["role"]]],
                text=text[begin:end].strip("\n"),
                model=unescaped(heading["model"] or ""),
                created_ms=_ms(heading["when"]),
            )
        )
    chained(messages)
    return ForeignConversation(name=name, messages=messages, current=messages[-1].id if messages else None)


def _marked(text: str, first: re.Match[str]) -> ForeignConversation:
    head = object_of(_values(first["values"]))
    version = head.get("version")
    if head.get("format") != FORMAT or not isinstance(version, int) or version > VERSION:
        raise UnreadableError(Sentence("it comes from a newer version of Bough; import it with that version"))
    mark = re.compile(rf"^<!-- {first['key']} (?P<values>\{{.*\}}) -->\n", re.MULTILINE)
    marks = list(mark.finditer(text, first.end()))
    messages = [
        _message(object_of(_values(found["values"])), number, text, found.end(), _end(text, marks, number))
        for number, found in enumerate(marks)
    ]
    shown = id_of(head.get("shown"))
    return ForeignConversation(
        name=text_of(head.get("name")),
        messages=sorted(messages, key=_place),
        is_in_order=True,
        current=shown or _end_of_first_branch(messages),
        created_ms=_whole(head.get("created_ms")),
        updated_ms=_whole(head.get("updated_ms")),
        folder=text_of(head.get("folder")),
        default_model=text_of(head.get("model")),
    )


def _message(values: dict[str, Json], number: int, text: str, begin: int, end: int) -> ForeignMessage:
    """Return the message with these values, whose head begins at `begin`, and whose text ends at `end`."""
    lines, closed = values.get("lines"), values.get("closed")
    for _ in range(lines if isinstance(lines, int) else 2):
        begin = text.find("\n", begin) + 1
    content = text[begin : max(begin, end)]
    if isinstance(closed, int) and closed > 0:
        content = content[: max(0, len(content) - closed)]
    role_name = text_of(values.get("role"))
    is_known = role_name in {*_ROLES, "note"}
    return ForeignMessage(
        id=id_of(values.get("id")) or f"#{number}",
        parent=id_of(values.get("parent")),
        role=_ROLES.get(role_name, "note"),
        text=content if is_known else note(role_name.capitalize() or "Unknown role", content),
        model=text_of(values.get("model")),
        created_ms=_whole(values.get("ms")),
        state=_STATES.get(text_of(values.get("state")), "complete"),
        error=text_of(values.get("error")),
        name=text_of(values.get("name")),
        starred_ms=_whole(values.get("starred_ms")),
        pinned_ms=_whole(values.get("pinned_ms")),
        is_part=values.get("part") is True,
    )


def _end(text: str, marks: list[re.Match[str]], number: int) -> int:
    """Return the end of a message's text: before a line break and an empty line; in the last message, a line break."""
    if number + 1 < len(marks):
        return marks[number + 1].start() - 2
    return len(text) - text.endswith("\n")


def _place(message: ForeignMessage) -> int:
    # Ids grow with the age of messages.
    return int(message.id) if message.id.isascii() and message.id.isdigit() else 0


def _end_of_first_branch(messages: list[ForeignMessage]) -> str | None:
    """Return the end of the visible branch in documents that do not name it."""
    current: str | None = None
    for message in messages:
        if current is not None and message.parent != current:
            break
        current = message.id
    return current


def _values(encoded: str) -> object:
    try:
        return msgspec.json.decode(encoded)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
        raise UnreadableError(Sentence("a comment between its messages is damaged")) from error


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _ms(when: str | None) -> int | None:
    try:
        found = datetime.strptime(when or "", "%Y-%m-%d %H:%M UTC").replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(found.timestamp() * 1000)
