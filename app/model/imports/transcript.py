"""Reads Bough's Markdown transcripts, with comments (see app/model/exports/markdown.py) or without."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

import msgspec

from app.model.exports.captions import ROLES
from app.model.exports.markdown import FORMAT, HEADING, VERSION
from app.model.imports.blocks import chained, id_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, UnreadableError
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Markdown"

_FIRST_MARK = re.compile(r"<!-- (?P<key>bough(?:-\d+)?) (?P<values>\{.*\}) -->\n")
_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant", "file": "file"}
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
            name = line[2:]
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
                model=heading["model"] or "",
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
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    current: str | None = None
    is_first_branch = True
    for number, found in enumerate(marks):
        values = object_of(_values(found["values"]))
        # A text is followed by a line break and an empty line; the last text only by a line break.
        end = marks[number + 1].start() - 2 if number + 1 < len(marks) else len(text) - 1
        lines, closed = values.get("lines"), values.get("closed")
        begin = found.end()
        for _ in range(lines if isinstance(lines, int) else 2):
            begin = text.find("\n", begin) + 1
        content = text[begin : max(begin, end)]
        if isinstance(closed, int) and closed > 0:
            content = content[: max(0, len(content) - closed)]
        role_name = text_of(values.get("role"))
        message_id = id_of(values.get("id")) or f"#{number}"
        parent = id_of(values.get("parent"))
        messages.append(
            ForeignMessage(
                id=message_id,
                parent=parent,
                role=_ROLES.get(role_name, "note"),
                text=content
                if role_name in {*_ROLES, "note"}
                else note(role_name.capitalize() or "Unknown role", content),
                model=text_of(values.get("model")),
                created_ms=ms_of(values.get("ms")),
            )
        )
        if number and parent != current:
            is_first_branch = False
        if is_first_branch:
            current = message_id
    return ForeignConversation(name=text_of(head.get("name")), messages=messages, current=current, remarks=remarks)


def _values(encoded: str) -> object:
    try:
        return msgspec.json.decode(encoded)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
        raise UnreadableError(Sentence("a comment between its messages is damaged")) from error


def _ms(when: str | None) -> int | None:
    try:
        found = datetime.strptime(when or "", "%Y-%m-%d %H:%M UTC").replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(found.timestamp() * 1000)
