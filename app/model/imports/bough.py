"""Reads Bough's own files, `.bough`. Conversations are restored unchanged, with their ids if these are free."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from app.model.exports.bough_file import FORMAT, VERSION
from app.model.grafts import Graft, GraftError, checked
from app.model.imports.blocks import id_of, list_of, object_of
from app.model.imports.foreign import UnreadableError
from app.model.imports.json_stream import Json
from app.model.message import Conversation, Message, MessageId, Record
from app.model.project import Project
from app.model.sources import OURS, Origin, Source, of_content
from app.model.text import clean
from app.model.valid_parts import with_valid_fields
from worker.sentence import Sentence, verbatim

NAME = "Bough"

_FIELDS = {field.name for field in msgspec.structs.fields(Message)}
_RECORD_FIELDS = {field.name for field in msgspec.structs.fields(Record)}
_DIGITS = re.compile(r"[0-9a-f]{16}")
_HEAD = {field.name for field in msgspec.structs.fields(Conversation)}


def check_head(head: dict[str, Json]) -> None:
    """Raise `UnreadableError` if a file's format or version can't be read."""
    version = head.get("version")
    if head.get("format") != FORMAT or not isinstance(version, int):
        raise UnreadableError(Sentence("its format version is missing"))
    if version > VERSION:
        raise UnreadableError(Sentence("it comes from a newer version of Bough; import it with that version"))


def conversation(item: dict[str, Json], remarks: Counter[Sentence]) -> Graft:
    """Read one conversation. Raises `UnreadableError`."""
    messages = [_message(object_of(found), remarks) for found in list_of(item.get("messages"))]
    choices: dict[MessageId, MessageId | None] = {}
    for pair in list_of(item.get("choices")):
        match pair:
            case [int(parent), int() | None as child]:
                choices[parent] = child
            case _:
                remarks[Sentence("unreadable records of which branch was shown")] += 1
    try:
        head = msgspec.convert({key: item[key] for key in _HEAD & item.keys()} | {"name": item["name"]}, Conversation)
        graft = checked(
            Graft(
                name=clean(head.name),
                messages=messages,
                root_id=head.root_id,
                choices=choices,
                created_ms=head.created_ms,
                updated_ms=head.updated_ms,
                pinned_ms=head.pinned_ms,
                folder=clean(head.folder),
                project=_project(item.get("project"), remarks),
                archived_ms=head.archived_ms,
                model=clean(head.model),
                id=head.id,
                origin=_origin(item.get("origin"), remarks),
            )
        )
        source = Source(OURS, clean(head.uid)) if head.uid else of_content(NAME, _content(graft))
        return msgspec.structs.replace(graft, source=source)
    except KeyError as error:
        raise UnreadableError(Sentence("its field “{name}” is missing", name=error.args[0])) from error
    except GraftError as error:
        raise UnreadableError(error.sentence) from error
    except ValueError as error:
        raise UnreadableError(verbatim(str(error))) from error


def _content(graft: Graft) -> Iterator[str]:
    """Yield the whole content of a conversation from a file without lasting ids."""
    # The origin was added later, and digests must stay the same.
    fields: dict[str, Json] = msgspec.to_builtins(graft)
    del fields["origin"]
    yield msgspec.json.encode(fields).decode()


def _origin(found: Json, remarks: Counter[Sentence]) -> Origin | None:
    """Read where a conversation comes from; None if the file does not say."""
    if found is None:
        return None
    try:
        origin = msgspec.convert(found, Origin, strict=False)
        is_valid = all(_DIGITS.fullmatch(key) and _DIGITS.fullmatch(digest) for key, digest, _ in origin.messages)
    except msgspec.ValidationError:
        is_valid, origin = False, None
    if origin is None or not is_valid or origin.program == OURS:
        remarks[Sentence("unreadable origins in other programs, left out")] += 1
        return None
    return msgspec.structs.replace(origin, program=clean(origin.program), key=clean(origin.key))


def _project(found: Json, remarks: Counter[Sentence]) -> Project | None:
    """Read the project of a conversation's folder; None if there is none."""
    if found is None:
        return None
    left_out: list[str] = []
    project = with_valid_fields(Project, found, "", left_out)
    if left_out:
        remarks[Sentence("unreadable parts of projects ({names})", names=", ".join(left_out)[:100])] += 1
    return project.cleaned


def _message(found: dict[str, Json], remarks: Counter[Sentence]) -> Message:
    unknown = found.keys() - _FIELDS
    if unknown:
        remarks[Sentence("unknown message fields ({names})", names=", ".join(sorted(unknown))[:100])] += 1
    unknown_in_record = object_of(found.get("record")).keys() - _RECORD_FIELDS
    if unknown_in_record:
        names = ", ".join(sorted(unknown_in_record))[:100]
        remarks[Sentence("unknown fields of answer records ({names})", names=names)] += 1
    found = {key: value for key, value in found.items() if key not in unknown}
    try:
        message = msgspec.convert(found, Message)
    except msgspec.ValidationError as error:
        if found.get("record") is None:
            message_id = id_of(found.get("id"))
            raise UnreadableError(
                Sentence("message {id} can't be read ({error})", id=message_id, error=error)
            ) from error
        remarks[Sentence("unreadable answer records")] += 1
        return _message(found | {"record": None}, remarks)
    text = clean(message.text)
    return message if text == message.text else msgspec.structs.replace(message, text=text)
