"""Reads the chats of text-generation-webui: rows of a question and an answer, with metadata about each of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from html import unescape
from pathlib import PurePosixPath

from app.model.imports import blocks
from app.model.imports.blocks import list_of, object_of, text_of
from app.model.imports.bundle import NOTHING_NEARBY, Nearby
from app.model.imports.dates import date_in
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from worker.sentence import Sentence

NAME = "text-generation-webui"

_NO_QUESTION = "<|BEGIN-VISIBLE-CHAT|>"
"""This text replaces the question above a character's greeting."""
_SHOWN = "shown"
_FILE_NAME = re.compile(r"\d{8}-\d\d-\d\d-\d\d")
_SIDES: tuple[tuple[str, ForeignRole], ...] = (("user", "user"), ("assistant", "assistant"))


def is_one(item: dict[str, Json]) -> bool:
    return _rows(item) is not None


def _rows(item: dict[str, Json]) -> tuple[list[Json], list[Json]] | None:
    """Return the rows as the model processed them, and as they were shown."""
    for internal, visible in (("internal", "visible"), ("data", "data_visible")):
        if isinstance(item.get(internal), list) and isinstance(item.get(visible), list):
            return list_of(item[internal]), list_of(item[visible])
    return None


def conversation(item: dict[str, Json], nearby: Nearby = NOTHING_NEARBY) -> ForeignConversation:
    """Read one chat. The next message follows the version that was shown.

    The chat's id is its file's name if the program chose it, which is the time at which the chat began; a name that the
    user gave the file is the chat's name.
    """
    internal, visible = _rows(item) or ([], [])
    metadata = object_of(item.get("metadata"))
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    last: str | None = None
    for number, row in enumerate(internal):
        for side, (name, role) in enumerate(_SIDES):
            text = _cell(row, side)
            shown = unescape(_cell(visible[number], side)) if number < len(visible) else ""
            if role == "user" and text == _NO_QUESTION:
                continue
            about = object_of(metadata.get(f"{name}_{number}"))
            parent = last
            for message in _versions(about, role, text, shown, remarks):
                if message.id == _SHOWN:
                    last = f"#{number}.{side}.{message.id}"
                message.id, message.parent = f"#{number}.{side}.{message.id}", parent
                messages.append(message)
    stem = PurePosixPath(nearby.path).stem
    is_id = _FILE_NAME.fullmatch(stem) is not None
    return ForeignConversation(
        name="" if is_id else stem,
        messages=messages,
        id=stem if is_id else "",
        has_message_ids=False,
        current=last,
        created_ms=_begun(stem) if is_id else None,
        remarks=remarks,
    )


def _versions(
    about: dict[str, Json], role: ForeignRole, text: str, shown: str, remarks: Counter[Sentence]
) -> Iterator[ForeignMessage]:
    """Yield the versions of a message. The shown version has the id `_SHOWN`. Empty versions are left out."""
    versions = [object_of(version) for version in list_of(about.get("versions"))]
    index = about.get("current_version_index")
    current = index if isinstance(index, int) and 0 <= index < len(versions) else len(versions) - 1
    if not versions or text_of(versions[current].get("content")) != text:
        # A message that was changed otherwise differs from its versions.
        versions.append({"content": text, "visible_content": shown, **about})
        current = len(versions) - 1
    for number, version in enumerate(versions):
        pieces = Pieces(role)
        _add_tools(version, pieces, remarks)
        words = text_of(version.get("content"))
        if not words and not pieces.all:
            words = unescape(text_of(version.get("visible_content")))
        pieces.add_text(words)
        if number == current:
            _add_attachments(about, pieces, remarks)
        if not pieces.all:
            continue
        yield ForeignMessage(
            id=_SHOWN if number == current else str(number),
            parent=None,
            role=role,
            text="",
            pieces=pieces.all,
            created_ms=_ms(version.get("timestamp") or about.get("timestamp")),
            # The file has only the model that wrote the latest version.
            model=text_of(about.get("model_name")) if role == "assistant" and number == len(versions) - 1 else "",
        )


def _add_tools(version: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    names: dict[str, str] = {}
    for found in list_of(version.get("tool_sequence")):
        step = object_of(found)
        pieces.add_text(text_of(step.get("content")) if "tool_calls" in step else "")
        for called in list_of(step.get("tool_calls")):
            call = object_of(called)
            function = object_of(call.get("function"))
            names[text_of(call.get("id"))] = text_of(function.get("name"))
            pieces.add_note(blocks.tool_call_note(text_of(function.get("name")), function.get("arguments"), remarks))
        if step.get("role") == "tool":
            name = names.get(text_of(step.get("tool_call_id")), "")
            pieces.add_note(blocks.tool_result_note(name, step.get("content"), remarks))


def _add_attachments(about: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    for found in list_of(about.get("attachments")):
        attached = object_of(found)
        name = text_of(attached.get("name")) or text_of(attached.get("url"))
        if text_of(attached.get("image_data")):
            pieces.add_note(blocks.picture_note(name, text_of(attached["image_data"]), remarks))
        elif text_of(attached.get("content")):
            pieces.add_text(blocks.file_text(name, text_of(attached["content"]), remarks))
        else:
            pieces.add_note(blocks.missing_file_note(name, remarks))


def _cell(row: Json, side: int) -> str:
    cells = list_of(row)
    return text_of(cells[side]) if side < len(cells) else ""


def _ms(when: Json) -> int | None:
    """Return a time in milliseconds. The program writes the time of its machine, without a zone."""
    found = date_in(text_of(when), None)
    return None if found is None else round(found.timestamp() * 1000)


def _begun(stem: str) -> int | None:
    try:
        return round(datetime.strptime(stem, "%Y%m%d-%H-%M-%S").astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
