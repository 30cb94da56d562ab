"""Reads Google AI Studio's prompts, as its folder in Google Drive and Takeout hold them: `chunkedPrompt` in JSON.

A branch is a file of its own, which repeats the messages before it. Neither branches nor prompts have ids. So the first
message identifies a prompt and its branches as one conversation, and a message is identified by all messages up to it.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath

from app.model.imports import SUFFIXES, blocks
from app.model.imports.blocks import list_of, ms_of, object_of, text_of
from app.model.imports.bundle import Nearby
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.notes import fenced, note
from app.model.sources import number_of
from worker.sentence import Sentence

NAME = "Google AI Studio"

_BRANCHES = Sentence("branches of prompts in Google AI Studio; each joins its prompt when that is imported too")
_DRAFTS = Sentence("drafts that were not sent yet, left out")
_BRANCH_OF = re.compile(r"^(?:Branch of )+")
_DRIVE = ("driveDocument", "driveImage", "driveVideo", "driveAudio", "youtubeVideo")
_PARTS = ("executableCode", "codeExecutionResult", "inlineData")
"""A chunk with a single part repeats these keys of the part. If a chunk has several parts, only the parts have these
keys."""
_KNOWN = {"text", "role", "isThought", "tokenCount", "finishReason", "createTime", "parts", "thoughtSignatures"} | {
    "thinkingBudget", "safetyRatings", "isEdited", "isGeneratedUsingApiKey", "errorMessage", "branchChildren",
    "branchParent", "id", "inlineFile", "inlineData", "inlineImage", "executableCode", "codeExecutionResult",
    "grounding", *_DRIVE,
}  # fmt: skip


def is_one(item: dict[str, Json]) -> bool:
    return "chunks" in object_of(item.get("chunkedPrompt"))


def conversation(item: dict[str, Json], nearby: Nearby) -> ForeignConversation:
    """Read one prompt. Chunks of the same role that follow each other are one message.

    Old prompts have no times. They are recognised by all of their content, unless they have branches or are a branch.
    """
    remarks: Counter[Sentence] = Counter()
    chunks = [object_of(found) for found in list_of(object_of(item["chunkedPrompt"])["chunks"])]
    messages = _messages(item, chunks, remarks)
    first = next((message for message in messages if message.role != "system"), None)
    parents = [parent for chunk in chunks if "promptId" in (parent := object_of(chunk.get("branchParent")))]
    title = text_of(item.get("title")) or text_of(item.get("displayName")) or _title_of(nearby.path)
    if parents:
        remarks[_BRANCHES] += 1
        if messages and not _BRANCH_OF.match(title):
            messages[-1].name = title
        title = _BRANCH_OF.sub("", text_of(parents[0].get("displayName")))
    drafts = list_of(object_of(item["chunkedPrompt"]).get("pendingInputs"))
    if num_drafts := sum(bool(text_of(object_of(draft).get("text"))) for draft in drafts):
        remarks[_DRAFTS] += num_drafts
    is_known_again = bool(parents) or any(chunk.get("branchChildren") for chunk in chunks)
    return ForeignConversation(
        name=title,
        messages=messages,
        id=_id("", first) if first is not None and (is_known_again or first.created_ms is not None) else "",
        is_part=bool(parents),
        current=messages[-1].id if messages else None,
        created_ms=next((message.created_ms for message in messages if message.created_ms is not None), None),
        remarks=remarks,
    )


def _messages(item: dict[str, Json], chunks: list[dict[str, Json]], remarks: Counter[Sentence]) -> list[ForeignMessage]:
    model = text_of(object_of(item.get("runSettings")).get("model")).removeprefix("models/")
    messages: list[ForeignMessage] = []
    system = object_of(item.get("systemInstruction"))
    words = text_of(system.get("text")) or blocks.joined_text(_as_blocks(system.get("parts")), remarks)
    if words:
        messages.append(ForeignMessage(id="", parent=None, role="system", text=words))
    open_role: ForeignRole | None = None
    pieces = Pieces("user")
    parts: list[tuple[ForeignMessage, Pieces]] = []
    for chunk in chunks:
        role: ForeignRole = "assistant" if chunk.get("role") == "model" else "user"
        if role != open_role:
            open_role, pieces = role, Pieces(role)
            model_of_it = model if role == "assistant" else ""
            messages.append(ForeignMessage(id="", parent=None, role=role, text="", model=model_of_it))
            parts.append((messages[-1], pieces))
        if messages[-1].created_ms is None:
            messages[-1].created_ms = ms_of(chunk.get("createTime"))
        _add(chunk, pieces, remarks)
        if chunk.get("finishReason") == "MAX_TOKENS":
            messages[-1].state = "cut"
        if text_of(chunk.get("errorMessage")):
            messages[-1].state = "failed"
    for message, pieces in parts:
        message.pieces = pieces.all
    messages = [message for message in messages if message.pieces or message.text]
    above: str | None = None
    for message in messages:
        message.parent = above
        above = message.id = _id(above or "", message)
    return messages


def _id(above: str, message: ForeignMessage) -> str:
    """Return an id made from the message and all messages before it."""
    texts = [text for piece in message.pieces for text in piece]
    return str(number_of(above, message.role, str(message.created_ms), message.text, *texts))


def _title_of(path: str) -> str:
    """Return the title of a prompt: the name of its file, which may have got a suffix."""
    name = PurePosixPath(path).name
    return next((name[: -len(suffix)] for suffix in SUFFIXES if name.lower().endswith(suffix)), name)


def _add(chunk: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    parts = [object_of(part) for part in list_of(chunk.get("parts"))]
    grounding = object_of(chunk.get("grounding"))
    if any(key in part and key not in chunk for part in parts for key in _PARTS):
        for part in parts:
            _add_text(text_of(part.get("text")), pieces, is_thought=part.get("thought") is True)
            _add_parts(part, pieces, remarks)
        pieces.add_text(_with_sources("", grounding))
    else:
        text = text_of(chunk.get("text")) or blocks.joined_text(_as_blocks(chunk.get("parts")), remarks)
        _add_text(_with_sources(text, grounding), pieces, is_thought=chunk.get("isThought") is True)
    if queries := list_of(grounding.get("webSearchQueries")):
        pieces.add_note(blocks.tool_call_note("web search", queries, remarks))
    _add_parts(chunk, pieces, remarks)
    for key in _DRIVE:
        if found := object_of(chunk.get(key)):
            pieces.add_note(blocks.missing_file_note(text_of(found.get("name")) or text_of(found.get("id")), remarks))
    if words := text_of(chunk.get("errorMessage")):
        pieces.add_note(note("Error", words))
    if others := {key: value for key, value in chunk.items() if key not in _KNOWN and value}:
        pieces.add_note(blocks.other_note(", ".join(sorted(others)), others, remarks))


def _add_text(text: str, pieces: Pieces, *, is_thought: bool) -> None:
    if is_thought:
        pieces.add_thought(text)
    else:
        pieces.add_text(text)


def _add_parts(found: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    """Add code, its output and pictures, which are in a chunk or in one of its parts."""
    if code := text_of(object_of(found.get("executableCode")).get("code")):
        language = text_of(object_of(found["executableCode"]).get("language")).lower()
        pieces.add_note(note("Tool call: code", fenced(code, language)))
    if result := object_of(found.get("codeExecutionResult")):
        pieces.add_note(note("Tool result: code", fenced(text_of(result.get("output")))))
    for key in ("inlineFile", "inlineData", "inlineImage"):
        inline = object_of(found.get(key))
        if data := text_of(inline.get("data")):
            pieces.add_note(blocks.picture_note("", f"data:{text_of(inline.get('mimeType'))};base64,{data}", remarks))


def _with_sources(text: str, grounding: dict[str, Json]) -> str:
    sources = [object_of(found) for found in list_of(grounding.get("groundingSources"))]
    sources += [object_of(object_of(found).get("web")) for found in list_of(grounding.get("groundingChunks"))]
    return blocks.with_links(
        text,
        {
            uri: text_of(source.get("title")) or uri
            for source in sources
            if (uri := text_of(source.get("uri")) or text_of(source.get("url")))
        },
    )


def _as_blocks(parts: Json) -> list[Json]:
    return [
        {"type": "text", "text": text_of(object_of(part).get("text"))}
        for part in list_of(parts)
        if object_of(part).get("thought") is not True
    ]
