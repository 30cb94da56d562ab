"""Reads LibreChat's export: one conversation, with messages in a list or nested in `children`."""

from __future__ import annotations

from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.message import State
from worker.sentence import Sentence

NAME = "LibreChat"

_NO_PARENT = "00000000-0000-0000-0000-000000000000"


def is_one(item: dict[str, Json]) -> bool:
    return "conversationId" in item and ("messages" in item or "messagesTree" in item)


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one conversation."""
    remarks: Counter[Sentence] = Counter()
    options = object_of(item.get("options"))
    messages: list[ForeignMessage] = []
    system = text_of(options.get("promptPrefix")) or text_of(options.get("system"))
    top: str | None = None
    if system:
        top = "system prompt"
        messages.append(ForeignMessage(id=top, parent=None, role="system", text=system))
    found = list_of(item.get("messagesTree")) or list_of(item.get("messages"))
    is_tree = item.get("recursive") is True or any("children" in object_of(one) for one in found)
    has_parents = any(id_of(object_of(one).get("parentMessageId")) for one in found)
    pending: list[tuple[Json, str | None]] = [(one, top) for one in reversed(found)]
    last = top
    while pending:
        one, outer = pending.pop()
        theirs = object_of(one)
        message_id = id_of(theirs.get("messageId")) or f"#{len(messages)}"
        parent = id_of(theirs.get("parentMessageId"))
        if is_tree:
            parent = outer
        elif not has_parents:
            parent = last
        elif parent is None or parent == _NO_PARENT:
            parent = top
        pending += [(child, message_id) for child in reversed(list_of(theirs.get("children")))]
        if not theirs:
            remarks[blocks.EMPTY_MESSAGES] += 1
            continue
        messages.append(_message(theirs, message_id, parent, remarks))
        last = message_id
    current = max(messages, key=lambda message: message.created_ms or 0, default=None) if messages else None
    return ForeignConversation(
        name=text_of(item.get("title")),
        messages=messages,
        id=id_of(item.get("conversationId")) or "",
        current=None if current is None or current.created_ms is None else current.id,
        created_ms=ms_of(item.get("createdAt")) or ms_of(options.get("createdAt")),
        updated_ms=ms_of(item.get("updatedAt")) or ms_of(options.get("updatedAt")),
        is_archived=item.get("isArchived") is True or options.get("isArchived") is True,
        folder=next((text_of(tag) for tag in list_of(item.get("tags") or options.get("tags"))), ""),
        default_model=text_of(options.get("model")),
        remarks=remarks,
    )


def _message(
    theirs: dict[str, Json], message_id: str, parent: str | None, remarks: Counter[Sentence]
) -> ForeignMessage:
    is_question = theirs.get("isCreatedByUser") is True or text_of(theirs.get("sender")) == "User"
    role: ForeignRole = "user" if is_question else "assistant"
    pieces = Pieces(role)
    for found in list_of(theirs.get("content")):
        block = object_of(found)
        kind = text_of(block.get("type"))
        if kind == "think":
            inner = block.get("think")
            pieces.add_thought(inner if isinstance(inner, str) else text_of(object_of(inner).get("value")))
        elif kind == "tool_call":
            called = object_of(block.get("tool_call"))
            name = text_of(called.get("name")) or text_of(object_of(called.get("function")).get("name"))
            pieces.add_note(blocks.tool_call_note(name, called.get("args"), remarks))
            if called.get("output") is not None:
                pieces.add_note(blocks.tool_result_note(name, called.get("output"), remarks))
        else:
            notes: list[str] = []
            pieces.add_text(blocks.joined_text([found], remarks, notes))
            for words in notes:
                pieces.add_note(words)
    if not any(piece.role == role for piece in pieces.all):
        pieces.add_text(text_of(theirs.get("text")))
    for found in list_of(theirs.get("files")):
        file = object_of(found)
        pieces.add_note(blocks.missing_file_note(text_of(file.get("filename")), remarks))
    return ForeignMessage(
        id=message_id,
        parent=parent,
        role=role,
        text="",
        pieces=pieces.all,
        created_ms=ms_of(theirs.get("createdAt")),
        model="" if is_question else text_of(theirs.get("model")) or text_of(theirs.get("sender")),
        state=_state(theirs),
    )


def _state(theirs: dict[str, Json]) -> State:
    if theirs.get("error") is True:
        return "failed"
    if theirs.get("unfinished") is True:
        return "stopped"
    return "cut" if text_of(theirs.get("finish_reason")) in {"incomplete", "length", "max_tokens"} else "complete"
