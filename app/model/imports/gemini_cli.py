"""Reads Gemini CLI's sessions: JSON with `projectHash` and messages, each with its thoughts and tool calls."""

from __future__ import annotations

from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Gemini CLI"

_ROLES: dict[str, ForeignRole] = {"user": "user", "gemini": "assistant", "model": "assistant"}


def is_one(item: dict[str, Json]) -> bool:
    return "sessionId" in item and "projectHash" in item and isinstance(item.get("messages"), list)


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one session."""
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    last: str | None = None
    for number, found in enumerate(list_of(item["messages"])):
        theirs = object_of(found)
        kind = text_of(theirs.get("type")) or text_of(theirs.get("role"))
        role = _ROLES.get(kind, "note")
        pieces = Pieces(role)
        for thought in list_of(theirs.get("thoughts")):
            parts = (text_of(object_of(thought).get(key)) for key in ("subject", "description"))
            pieces.add_thought("\n\n".join(part for part in parts if part))
        text = _text(theirs.get("content"))
        if role == "note":
            remarks[blocks.KEPT_AS_NOTES] += 1
            text = note(kind.capitalize() or "Unknown role", text)
        pieces.add_text(text)
        for found_part in list_of(theirs.get("content")):
            _add_other(object_of(found_part), pieces, remarks)
        for called in list_of(theirs.get("toolCalls")):
            call = object_of(called)
            name = text_of(call.get("displayName")) or text_of(call.get("name"))
            pieces.add_note(blocks.tool_call_note(name, call.get("args"), remarks))
            if call.get("result") is not None:
                pieces.add_note(blocks.tool_result_note(name, _result(call["result"]), remarks))
        if not pieces.all:
            remarks[blocks.EMPTY_MESSAGES] += 1
            continue
        message_id = id_of(theirs.get("id")) or f"#{number}"
        messages.append(
            ForeignMessage(
                id=message_id,
                parent=last,
                role=role,
                text="",
                pieces=pieces.all,
                created_ms=ms_of(theirs.get("timestamp")),
                model=text_of(theirs.get("model")),
            )
        )
        last = message_id
    return ForeignConversation(
        name=text_of(item.get("summary")),
        messages=messages,
        id=id_of(item.get("sessionId")) or "",
        current=last,
        created_ms=ms_of(item.get("startTime")),
        updated_ms=ms_of(item.get("lastUpdated")),
        remarks=remarks,
    )


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(object_of(content).get("text"))
    parts = (part if isinstance(part, str) else text_of(object_of(part).get("text")) for part in list_of(content))
    return "\n\n".join(part for part in parts if part)


def _add_other(part: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    """Add a part of a message that is not text: a picture, a file, or a part of another kind."""
    inline, file = object_of(part.get("inlineData")), object_of(part.get("fileData"))
    if data := text_of(inline.get("data")):
        url = f"data:{text_of(inline.get('mimeType'))};base64,{data}"
        pieces.add_note(blocks.picture_note(text_of(inline.get("displayName")), url, remarks))
    elif file:
        pieces.add_note(blocks.missing_file_note(text_of(file.get("fileUri")), remarks))
    elif others := {key: value for key, value in part.items() if key not in {"text", "thought", "thoughtSignature"}}:
        pieces.add_note(blocks.other_note(", ".join(sorted(others)), others, remarks))


def _result(found: Json) -> Json:
    """Return the text of a tool's result; the whole result if one of its parts has no text."""
    parts = [object_of(object_of(part).get("functionResponse")).get("response") for part in list_of(found)]
    outputs = [object_of(part).get("output") for part in parts]
    if outputs and all(isinstance(output, str) for output in outputs):
        return "\n\n".join(map(text_of, outputs))
    return found
