"""Reads Google AI Studio's prompts, as its folder in Google Drive and Takeout hold them: `chunkedPrompt` in JSON."""

from __future__ import annotations

from collections import Counter

from app.model.imports import blocks
from app.model.imports.blocks import chained, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.notes import fenced, note
from worker.sentence import Sentence

NAME = "Google AI Studio"

_BRANCHES = Sentence("branches of prompts in Google AI Studio, imported as conversations of their own")
"""A branch is a file of its own, which repeats what is before it and does not say which file it comes from."""
_DRIVE = ("driveDocument", "driveImage", "driveVideo", "driveAudio", "youtubeVideo")
_KNOWN = {"text", "role", "isThought", "tokenCount", "finishReason", "createTime", "parts", "thoughtSignatures"} | {
    "thinkingBudget", "safetyRatings", "isGeneratedUsingApiKey", "errorMessage", "branchChildren", "branchParent",
    "inlineFile", "inlineData", "inlineImage", "executableCode", "codeExecutionResult", "grounding", *_DRIVE,
}  # fmt: skip


def is_one(item: dict[str, Json]) -> bool:
    return "chunks" in object_of(item.get("chunkedPrompt"))


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one prompt. Chunks of the same role that follow each other are one message."""
    remarks: Counter[Sentence] = Counter()
    model = text_of(object_of(item.get("runSettings")).get("model")).removeprefix("models/")
    messages: list[ForeignMessage] = []
    system = object_of(item.get("systemInstruction"))
    words = text_of(system.get("text")) or blocks.joined_text(_as_blocks(system.get("parts")), remarks)
    if words:
        messages.append(ForeignMessage(id="", parent=None, role="system", text=words))
    open_role: ForeignRole | None = None
    pieces = Pieces("user")
    for found in list_of(object_of(item["chunkedPrompt"])["chunks"]):
        chunk = object_of(found)
        role: ForeignRole = "assistant" if chunk.get("role") == "model" else "user"
        if role != open_role:
            open_role, pieces = role, Pieces(role)
            messages.append(
                ForeignMessage(
                    id="",
                    parent=None,
                    role=role,
                    text="",
                    created_ms=ms_of(chunk.get("createTime")),
                    model=model if role == "assistant" else "",
                )
            )
        _add(chunk, pieces, remarks)
        if chunk.get("branchParent"):
            remarks[_BRANCHES] += 1
        messages[-1].pieces = pieces.all
        if chunk.get("finishReason") == "MAX_TOKENS":
            messages[-1].state = "cut"
        if text_of(chunk.get("errorMessage")):
            messages[-1].state = "failed"
    messages = chained([message for message in messages if message.pieces or message.text])
    return ForeignConversation(
        name=text_of(item.get("title")),
        messages=messages,
        current=messages[-1].id if messages else None,
        created_ms=next((message.created_ms for message in messages if message.created_ms is not None), None),
        remarks=remarks,
    )


def _add(chunk: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    text = text_of(chunk.get("text")) or blocks.joined_text(_as_blocks(chunk.get("parts")), remarks)
    if chunk.get("isThought") is True:
        pieces.add_thought(text)
    else:
        pieces.add_text(_with_sources(text, object_of(chunk.get("grounding"))))
    if code := text_of(object_of(chunk.get("executableCode")).get("code")):
        language = text_of(object_of(chunk["executableCode"]).get("language")).lower()
        pieces.add_note(note("Tool call: code", fenced(code, language)))
    if result := object_of(chunk.get("codeExecutionResult")):
        pieces.add_note(note("Tool result: code", fenced(text_of(result.get("output")))))
    for key in ("inlineFile", "inlineData", "inlineImage"):
        inline = object_of(chunk.get(key))
        if data := text_of(inline.get("data")):
            pieces.add_note(blocks.picture_note("", f"data:{text_of(inline.get('mimeType'))};base64,{data}", remarks))
    for key in _DRIVE:
        if found := object_of(chunk.get(key)):
            pieces.add_note(blocks.missing_file_note(text_of(found.get("name")) or text_of(found.get("id")), remarks))
    if words := text_of(chunk.get("errorMessage")):
        pieces.add_note(note("Error", words))
    if others := {key: value for key, value in chunk.items() if key not in _KNOWN and value}:
        pieces.add_note(blocks.other_note(", ".join(sorted(others)), others, remarks))


def _with_sources(text: str, grounding: dict[str, Json]) -> str:
    sources = [object_of(found) for found in list_of(grounding.get("groundingSources"))]
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
