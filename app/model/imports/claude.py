"""Reads Claude's export: `conversations.json`, a list of conversations with `chat_messages` in content blocks."""

from __future__ import annotations

from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, Piece
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
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
        pieces = _pieces(theirs, role, remarks)
        if role == "note":
            pieces = [Piece("note", note(sender.capitalize() or "Unknown role", piece.text)) for piece in pieces]
        messages.append(
            ForeignMessage(
                id=message_id,
                parent=None if parent == _NO_PARENT else parent or last,
                role=role,
                text="",
                pieces=pieces,
                created_ms=ms_of(theirs.get("created_at")),
                model=text_of(theirs.get("model")) or text_of(item.get("model")),
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
        is_pinned=item.get("is_starred") is True,
        folder=text_of(object_of(item.get("project")).get("name")),
        default_model=text_of(item.get("model")),
        remarks=remarks,
    )


def _pieces(theirs: dict[str, Json], role: ForeignRole, remarks: Counter[Sentence]) -> list[Piece]:
    pieces = Pieces(role)
    has_text = False
    for found in list_of(theirs.get("content")):
        block = object_of(found)
        kind = text_of(block.get("type"))
        match kind:
            case "text":
                has_text = True
                pieces.add_text(_with_citations(block))
            case "thinking":
                pieces.add_thought(text_of(block.get("thinking")))
            case "tool_use":
                pieces.add_note(blocks.tool_call_note(text_of(block.get("name")), block.get("input"), remarks))
            case "tool_result":
                pieces.add_note(blocks.tool_result_note(text_of(block.get("name")), block.get("content"), remarks))
            case _ if block:
                pieces.add_note(blocks.other_note(kind or "Unknown block", block, remarks))
            case _:
                pass
    if not has_text:
        pieces.add_text(text_of(theirs.get("text")))
    named: set[str] = set()
    notes: list[str] = []
    for found in list_of(theirs.get("attachments")):
        attachment = object_of(found)
        name = text_of(attachment.get("file_name")) or "without a name"
        named.add(name)
        words = text_of(attachment.get("extracted_content"))
        if words:
            pieces.add_text(blocks.file_text(name, words, remarks))
        else:
            notes.append(blocks.missing_file_note(name, remarks))
    for key in ("files", "files_v2"):
        for found in list_of(theirs.get(key)):
            name = text_of(object_of(found).get("file_name")) or "without a name"
            if name not in named:
                named.add(name)
                notes.append(blocks.missing_file_note(name, remarks))
    for words in notes:
        pieces.add_note(words)
    return pieces.all


def _with_citations(block: dict[str, Json]) -> str:
    """Return the text of a block with the sources that it cites as links behind it."""
    text = text_of(block.get("text"))
    links: dict[str, str] = {}
    for found in list_of(block.get("citations")):
        details = object_of(object_of(found).get("details")) or object_of(found)
        url = text_of(details.get("url")) or text_of(object_of(found).get("url"))
        if url:
            links[url] = text_of(object_of(found).get("title")) or text_of(details.get("title")) or url
    return blocks.with_links(text, links)
