"""Reads Claude Code's sessions: a line per message, tool call or result, each with its parent."""

from __future__ import annotations

from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, Piece
from app.model.imports.json_stream import Json
from app.model.imports.line_formats import CLAUDE_CODE
from app.model.imports.pieces import Pieces
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Claude Code"

_LEFT_OUT = Sentence("lines of Claude Code that are not messages, left out")


def is_one(item: dict[str, Json]) -> bool:
    return CLAUDE_CODE in item


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one session. A line without an id follows the line before it."""
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    tools: dict[str, str] = {}
    names: dict[str, str] = {}
    parents: dict[str, str | None] = {}
    """The parents of lines that are no messages, by their ids."""
    last: str | None = None
    shown: str | None = None
    session = name = ""
    for number, line in enumerate(list_of(item[CLAUDE_CODE])):
        theirs = object_of(line)
        session = session or (id_of(theirs.get("sessionId")) or "")
        if theirs.get("type") == "summary":
            names[id_of(theirs.get("leafUuid")) or ""] = text_of(theirs.get("summary"))
            continue
        if theirs.get("type") in {"custom-title", "ai-title"}:
            name = text_of(theirs.get("customTitle")) or text_of(theirs.get("aiTitle")) or name
            continue
        line_id = id_of(theirs.get("uuid")) or f"#{number}"
        parent = id_of(theirs.get("parentUuid")) or id_of(theirs.get("logicalParentUuid"))
        if "parentUuid" not in theirs and "uuid" not in theirs:
            parent = last
        pieces = _pieces(theirs, tools, remarks)
        if not pieces:
            parents[line_id] = parent
            continue
        inner = object_of(theirs.get("message"))
        messages.append(
            ForeignMessage(
                id=line_id,
                parent=parent,
                role=pieces[0].role,
                text="",
                pieces=pieces,
                created_ms=ms_of(theirs.get("timestamp")),
                model=text_of(inner.get("model")),
                state="cut" if inner.get("stop_reason") == "max_tokens" else "complete",
            )
        )
        last = line_id
        if theirs.get("isSidechain") is not True:
            shown = line_id
    for message in messages:
        message.parent = _kept(message.parent, parents)
    return ForeignConversation(
        name=name or next((names[message.id] for message in reversed(messages) if message.id in names), ""),
        messages=messages,
        id=session,
        current=shown or last,
        created_ms=next((message.created_ms for message in messages if message.created_ms is not None), None),
        remarks=remarks,
    )


def _kept(parent: str | None, parents: dict[str, str | None]) -> str | None:
    """Return the nearest ancestor that is a message."""
    seen: set[str] = set()
    while parent is not None and parent in parents and parent not in seen:
        seen.add(parent)
        parent = parents[parent]
    return parent


def _pieces(theirs: dict[str, Json], tools: dict[str, str], remarks: Counter[Sentence]) -> list[Piece]:
    kind = text_of(theirs.get("type"))
    if kind == "system" and text_of(theirs.get("content")):
        remarks[blocks.KEPT_AS_NOTES] += 1
        return [Piece("note", note("System", text_of(theirs["content"])))]
    if kind not in {"user", "assistant"}:
        remarks[_LEFT_OUT] += 1
        return []
    role: ForeignRole = "user" if kind == "user" else "assistant"
    pieces = Pieces(role)
    content = object_of(theirs.get("message")).get("content")
    if isinstance(content, str):
        pieces.add_text(content)
    for found in list_of(content):
        block = object_of(found)
        match text_of(block.get("type")):
            case "text":
                pieces.add_text(text_of(block.get("text")))
            case "thinking":
                pieces.add_thought(text_of(block.get("thinking")))
            case "tool_use":
                tools[text_of(block.get("id"))] = text_of(block.get("name"))
                pieces.add_note(blocks.tool_call_note(text_of(block.get("name")), block.get("input"), remarks))
            case "tool_result":
                name = tools.get(text_of(block.get("tool_use_id")), "")
                pieces.add_note(blocks.tool_result_note(name, block.get("content"), remarks))
            case "image":
                url = blocks.source_url(object_of(block.get("source")))
                pieces.add_note(blocks.picture_note("", url, remarks))
            case other if block:
                pieces.add_note(blocks.other_note(other or "Unknown block", block, remarks))
            case _:
                pass
    found_pieces = pieces.all
    if theirs.get("isMeta") is True:
        # The program wrote these, not the user.
        remarks[blocks.KEPT_AS_NOTES] += 1
        found_pieces = [Piece("note", note("Claude Code", piece.text)) for piece in found_pieces]
    return found_pieces
