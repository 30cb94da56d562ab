"""Reads Chatbox's exported data: sessions with threads, whose messages are lists that fork."""

from __future__ import annotations

from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.message import State
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Chatbox"

_SESSION = "Chatbox session"
_KEY = "session:"
_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant"}
_THREADS = Sentence("names of threads of Chatbox, left out")


def conversations_of(item: dict[str, Json]) -> list[Json] | None:
    """Return the sessions of an export; None if the value is not an export."""
    if "__exported_items" not in item and "chat-sessions-list" not in item and "chat-sessions" not in item:
        return None
    sessions = [value for key, value in item.items() if key.startswith(_KEY)] + list_of(item.get("chat-sessions"))
    return [{_SESSION: session, "name": object_of(session).get("name")} for session in sessions]


def is_one(item: dict[str, Json]) -> bool:
    return _SESSION in item


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one session. Its threads begin at the top, and the current thread is shown."""
    session = object_of(item[_SESSION])
    found = ForeignConversation(
        name=text_of(session.get("name")),
        messages=[],
        id=id_of(session.get("id")) or "",
        is_pinned=session.get("starred") is True,
        default_model=text_of(object_of(session.get("settings")).get("modelId")),
    )
    for one in list_of(session.get("threads")):
        thread = object_of(one)
        if thread.get("name"):
            found.remarks[_THREADS] += 1
        _add(found, list_of(thread.get("messages")), None)
    found.current = _add(found, list_of(session.get("messages")), None)
    for message_id, one in object_of(session.get("messageForksHash")).items():
        # The list of the shown branch is empty: its messages are those of the session.
        for other in list_of(object_of(one).get("lists")):
            _add(found, list_of(object_of(other).get("messages")), message_id)
    return found


def _add(found: ForeignConversation, messages: list[Json], above: str | None) -> str | None:
    """Add messages below each other, the first below `above`; return the last one's id."""
    last = above
    for one in messages:
        theirs = object_of(one)
        role = _ROLES.get(text_of(theirs.get("role")), "note")
        pieces = _pieces(theirs, role, found.remarks)
        message_id = id_of(theirs.get("id")) or f"#{len(found.messages)}"
        found.messages.append(
            ForeignMessage(
                id=message_id,
                parent=last,
                role=role,
                text="",
                pieces=pieces.all,
                created_ms=ms_of(theirs.get("timestamp")),
                model=text_of(theirs.get("model")) if role == "assistant" else "",
                state=_state(theirs),
            )
        )
        last = message_id
    return last


def _state(theirs: dict[str, Json]) -> State:
    if theirs.get("error"):
        return "failed"
    if theirs.get("generating") is True:
        return "stopped"
    return "cut" if theirs.get("finishReason") == "length" else "complete"


def _pieces(theirs: dict[str, Json], role: ForeignRole, remarks: Counter[Sentence]) -> Pieces:
    pieces = Pieces(role)
    pieces.add_thought(text_of(theirs.get("reasoningContent")))
    parts = list_of(theirs.get("contentParts"))
    if not parts:
        # The first versions had one text.
        parts = [{"type": "text", "text": theirs.get("content")}]
    for one in parts:
        part = object_of(one)
        text = text_of(part.get("text"))
        match text_of(part.get("type")):
            case "text" if role == "note" or theirs.get("isSummary") is True:
                label = "Summary" if theirs.get("isSummary") is True else text_of(theirs.get("role")).capitalize()
                pieces.add_note(blocks.other_note(label or "Unknown role", text, remarks))
            case "text":
                pieces.add_text(text)
            case "reasoning":
                pieces.add_thought(text)
            case "info":
                pieces.add_note(blocks.other_note("Notice", text, remarks))
            case "image":
                pieces.add_note(blocks.missing_file_note(text_of(part.get("storageKey")), remarks))
                pieces.add_text(text_of(part.get("ocrResult")))
            case "tool-call":
                name = text_of(part.get("toolName"))
                pieces.add_note(blocks.tool_call_note(name, part.get("args"), remarks))
                if part.get("result") is not None:
                    pieces.add_note(blocks.tool_result_note(name, part["result"], remarks))
            case kind:
                pieces.add_note(blocks.other_note(kind or "Unknown part", part, remarks))
    for one in list_of(theirs.get("files")) + list_of(theirs.get("pictures")):
        file = object_of(one)
        if url := text_of(file.get("url")):
            pieces.add_note(blocks.picture_note(text_of(file.get("name")), url, remarks))
        else:
            name = text_of(file.get("name")) or text_of(file.get("storageKey"))
            pieces.add_note(blocks.missing_file_note(name, remarks))
    for one in list_of(theirs.get("links")):
        link = object_of(one)
        pieces.add_note(note(f"Link: {text_of(link.get('title'))}".rstrip(": "), text_of(link.get("url"))))
    if error := text_of(theirs.get("error")):
        pieces.add_note(note("Error", error))
    return pieces
