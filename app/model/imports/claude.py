"""Reads Claude's export: `conversations.json`, a list of conversations with `chat_messages` in content blocks."""

from __future__ import annotations

from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Claude"

_NO_PARENT = "00000000-0000-4000-8000-000000000000"
_ROLES: dict[str, ForeignRole] = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}


def is_one(item: dict[str, Json]) -> bool:
    return "chat_messages" in item


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one conversation. A message without a parent follows the message before it."""
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    last: str | None = None
    for number, found in enumerate(list_of(item["chat_messages"])):
        theirs = object_of(found)
        message_id = id_of(theirs.get("uuid")) or f"#{number}"
        parent = id_of(theirs.get("parent_message_uuid"))
        sender = text_of(theirs.get("sender"))
        role = _ROLES.get(sender, "note")
        text, notes = _content(theirs, remarks)
        if role == "note":
            text = note(sender.capitalize() or "Unknown role", text)
        messages.append(
            ForeignMessage(
                id=message_id,
                parent=None if parent == _NO_PARENT else parent or last,
                role=role,
                text=text,
                created_ms=ms_of(theirs.get("created_at")),
                model=text_of(theirs.get("model")) or text_of(item.get("model")),
                notes=notes,
            )
        )
        last = message_id
    return ForeignConversation(
        name=text_of(item.get("name")),
        messages=messages,
        id=id_of(item.get("uuid")) or "",
        current=id_of(item.get("current_leaf_message_uuid")) or last,
        created_ms=ms_of(item.get("created_at")),
        updated_ms=ms_of(item.get("updated_at")),
        remarks=remarks,
    )


def _content(theirs: dict[str, Json], remarks: Counter[Sentence]) -> tuple[str, list[str]]:
    texts: list[str] = []
    thoughts: list[str] = []
    notes: list[str] = []
    for found in list_of(theirs.get("content")):
        block = object_of(found)
        kind = text_of(block.get("type"))
        match kind:
            case "text":
                texts.append(text_of(block.get("text")))
            case "thinking":
                thoughts.append(text_of(block.get("thinking")))
            case "tool_use" | "tool_result":
                name = text_of(block.get("name"))
                if kind == "tool_use":
                    notes.append(blocks.tool_call_note(name, block.get("input"), remarks))
                else:
                    notes.append(blocks.tool_result_note(name, block.get("content"), remarks))
            case _ if block:
                notes.append(blocks.other_note(kind or "Unknown block", block, remarks))
            case _:
                pass
    text = "\n\n".join(piece for piece in texts if piece) or ("" if texts else text_of(theirs.get("text")))
    if thoughts:
        text = blocks.with_reasoning("\n\n".join(thoughts), text)
    named: set[str] = set()
    for found in list_of(theirs.get("attachments")):
        attachment = object_of(found)
        name = text_of(attachment.get("file_name")) or "without a name"
        named.add(name)
        words = text_of(attachment.get("extracted_content"))
        if words:
            text = f"{text}\n\n{blocks.file_text(name, words, remarks)}"
        else:
            notes.append(blocks.missing_file_note(name, remarks))
    for key in ("files", "files_v2"):
        for found in list_of(theirs.get(key)):
            name = text_of(object_of(found).get("file_name")) or "without a name"
            if name not in named:
                named.add(name)
                notes.append(blocks.missing_file_note(name, remarks))
    return text.removeprefix("\n\n"), notes
