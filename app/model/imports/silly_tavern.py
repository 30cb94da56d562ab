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
from app.model.notes import note
from worker.sentence import Sentence

NAME = "SillyTavern"

_OLD_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@(\d{1,2})h ?(\d{1,2})m ?(?:(\d{1,2})s)? ?(?:(\d{1,3})ms)?")


def is_one(item: dict[str, Json]) -> bool:
    return SILLY_TAVERN in item


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one chat. The next message follows the version that was shown."""
    head, *lines = [object_of(line) for line in list_of(item[SILLY_TAVERN])]
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    last: str | None = None
    for number, theirs in enumerate(lines):
        shown = last
        for message in _versions(theirs, f"{number}", last, remarks):
            messages.append(message)
            if shown == last or message.text == text_of(theirs.get("mes")):
                shown = message.id
        last = shown
    partner = text_of(head.get("character_name"))
    return ForeignConversation(
        name=partner if partner != "unused" else text_of(object_of(head.get("chat_metadata")).get("name")),
        messages=messages,
        current=last,
        created_ms=_ms(head.get("create_date")),
        remarks=remarks,
    )


def _versions(
    theirs: dict[str, Json], number: str, parent: str | None, remarks: Counter[Sentence]
) -> list[ForeignMessage]:
    extra = object_of(theirs.get("extra"))
    role: ForeignRole = "user" if theirs.get("is_user") is True else "assistant"
    if theirs.get("is_system") is True:
        role = "note"
    shown = text_of(theirs.get("mes"))
    swipes = [text_of(swipe) for swipe in list_of(theirs.get("swipes"))]
    infos = [object_of(info) for info in list_of(theirs.get("swipe_info"))]
    versions = list(zip(swipes, infos + [{}] * (len(swipes) - len(infos)), strict=False))
    if shown not in swipes:
        # A message that was edited after it was written differs from its swipes.
        versions.append((shown, {}))
    found: list[ForeignMessage] = []
    for index, (text, info) in enumerate(versions):
        more = object_of(info.get("extra")) or (extra if text == shown else {})
        words = blocks.with_reasoning(text_of(more.get("reasoning")), text)
        if role == "note":
            words = note(text_of(theirs.get("name")) or "System", text)
            remarks[blocks.KEPT_AS_NOTES] += 1
        when = info.get("gen_finished") or info.get("send_date") or theirs.get("send_date")
        notes = [blocks.picture_note("", text_of(more["image"]), remarks)] if text_of(more.get("image")) else []
        found.append(
            ForeignMessage(
                id=f"#{number}.{index}",
                parent=parent,
                role=role,
                text=words,
                created_ms=_ms(when),
                model=text_of(more.get("model")),
                notes=notes,
            )
        )
    return found


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
