"""Reads SillyTavern's chats: a line about the chat, then a line per message, each with its other versions (swipes)."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

from app.model.imports import blocks
from app.model.imports.blocks import list_of, ms_of, object_of, text_of
from app.model.imports.dates import date_in
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.line_formats import SILLY_TAVERN
from app.model.imports.pieces import Pieces
from app.model.notes import fenced, note
from worker.sentence import Sentence

NAME = "SillyTavern"

_NAMES = Sentence("names of speakers in a group, put before their messages")

_OLD_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@(\d{1,2})h ?(\d{1,2})m ?(?:(\d{1,2})s)? ?(?:(\d{1,3})ms)?")


def is_one(item: dict[str, Json]) -> bool:
    return SILLY_TAVERN in item


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one chat. The next message follows the version that was shown."""
    head, *lines = [object_of(line) for line in list_of(item[SILLY_TAVERN])]
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    last: str | None = None
    speakers = {text_of(theirs.get("name")) for theirs in lines if _role(theirs) == "assistant"}
    for number, theirs in enumerate(lines):
        name = text_of(theirs.get("name")) if len(speakers) > 1 and _role(theirs) == "assistant" else ""
        if name:
            remarks[_NAMES] += 1
        versions, shown = _versions(theirs, f"{number}", last, name, remarks)
        messages += versions
        last = versions[shown].id
    partner = text_of(head.get("character_name"))
    return ForeignConversation(
        name=partner if partner != "unused" else text_of(object_of(head.get("chat_metadata")).get("name")),
        messages=messages,
        current=last,
        created_ms=_ms(head.get("create_date")),
        remarks=remarks,
    )


def _role(theirs: dict[str, Json]) -> ForeignRole:
    if theirs.get("is_system") is True:
        return "note"
    return "user" if theirs.get("is_user") is True else "assistant"


def _versions(
    theirs: dict[str, Json], number: str, parent: str | None, name: str, remarks: Counter[Sentence]
) -> tuple[list[ForeignMessage], int]:
    """Return a message and its swipes, and the index of the shown one.

    `name`: the name of the speaker; may be empty.
    """
    extra = object_of(theirs.get("extra"))
    role = _role(theirs)
    shown = text_of(theirs.get("mes"))
    swipes = [text_of(swipe) for swipe in list_of(theirs.get("swipes"))]
    infos = [object_of(info) for info in list_of(theirs.get("swipe_info"))]
    versions = list(zip(swipes, infos + [{}] * (len(swipes) - len(infos)), strict=False))
    if shown not in swipes:
        # A message that was edited after it was written differs from its swipes.
        versions.append((shown, {}))
    chosen = theirs.get("swipe_id")
    if not isinstance(chosen, int) or not 0 <= chosen < len(versions) or versions[chosen][0] != shown:
        chosen = next(index for index, (text, _) in enumerate(versions) if text == shown)
    found: list[ForeignMessage] = []
    for index, (text, info) in enumerate(versions):
        more = object_of(info.get("extra")) or (extra if index == chosen else {})
        pieces = Pieces(role)
        if role == "note":
            pieces.add_note(note(text_of(theirs.get("name")) or "System", text))
            remarks[blocks.KEPT_AS_NOTES] += 1
        else:
            pieces.add_thought(text_of(more.get("reasoning")))
            pieces.add_text(f"{name}: {text}" if name else text)
        _add_extra(more, pieces, remarks)
        when = info.get("gen_finished") or info.get("send_date") or theirs.get("send_date")
        found.append(
            ForeignMessage(
                id=f"#{number}.{index}",
                parent=parent,
                role=role,
                text="",
                pieces=pieces.all,
                created_ms=_ms(when),
                model=text_of(more.get("model")),
            )
        )
    return found, chosen


def _add_extra(extra: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    """Add a message's translation, tool calls, pictures and files."""
    if words := text_of(extra.get("display_text")):
        pieces.add_note(blocks.other_note("Translation", words, remarks))
    for found in list_of(extra.get("tool_invocations")):
        call = object_of(found)
        name = text_of(call.get("name")) or text_of(call.get("displayName"))
        pieces.add_note(blocks.tool_call_note(name, call.get("parameters"), remarks))
        pieces.add_note(blocks.tool_result_note(name, call.get("result"), remarks))
    pictures = [extra.get("image"), extra.get("video"), *list_of(extra.get("image_swipes"))]
    names = {text: "" for found in pictures if (text := text_of(found))}
    for found in list_of(extra.get("media")):
        names[text_of(object_of(found).get("url"))] = text_of(object_of(found).get("title"))
    for url, title in names.items():
        pieces.add_note(blocks.picture_note(title, url, remarks))
    for found in [extra.get("file"), *list_of(extra.get("files"))]:
        file = object_of(found)
        if words := text_of(file.get("text")):
            pieces.add_note(note(f"File: {text_of(file.get('name'))}", fenced(words)))
        elif file:
            pieces.add_note(blocks.missing_file_note(text_of(file.get("name")), remarks))


def _ms(when: Json) -> int | None:
    """Return a time in milliseconds; SillyTavern has written it in many ways."""
    found = ms_of(when)
    if found is not None or not isinstance(when, str):
        return found
    if (old := _OLD_DATE.match(when)) is not None:
        year, month, day, hour, minute, second, millisecond = (int(part or 0) for part in old.groups())
        try:
            moment = datetime(year, month, day, hour, minute, second, millisecond * 1000, tzinfo=UTC)
        except ValueError:
            return None
        return round(moment.timestamp() * 1000)
    spoken = date_in(when)
    return None if spoken is None else round(spoken.timestamp() * 1000)
