"""Reads exports of llama.cpp's web page: `{"conv", "messages"}` or a list of these, with parents and attachments."""

from __future__ import annotations

from collections import Counter

import msgspec

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, join_answers
from app.model.imports.json_stream import Json
from worker.sentence import Sentence

NAME = "llama.cpp"

_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant"}


def is_one(item: dict[str, Json]) -> bool:
    return "conv" in item and "messages" in item


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one conversation."""
    conv = object_of(item["conv"])
    remarks: Counter[Sentence] = Counter()
    found = [object_of(one) for one in list_of(item["messages"]) if object_of(one)]
    if num_other := len(list_of(item["messages"])) - len(found):
        remarks[Sentence("lines of llama.cpp that are not messages, left out")] += num_other
    roots = {id_of(theirs.get("id")) for theirs in found if text_of(theirs.get("type")) == "root"}
    if not roots and found:
        # The conversation that is shown is exported without its root.
        roots = {id_of(found[0].get("parent"))} - {id_of(theirs.get("id")) for theirs in found}
    messages: list[ForeignMessage] = []
    for number, theirs in enumerate(found):
        message_id = id_of(theirs.get("id")) or f"#{number}"
        if message_id in roots:
            continue
        parent = id_of(theirs.get("parent"))
        messages.append(_message(theirs, message_id, None if parent in roots or parent == "-1" else parent, remarks))
    join_answers(messages)
    return ForeignConversation(
        name=text_of(conv.get("name")),
        messages=messages,
        id=id_of(conv.get("id")) or "",
        current=id_of(conv.get("currNode")),
        updated_ms=ms_of(conv.get("lastModified")),
        is_pinned=conv.get("pinned") is True,
        remarks=remarks,
    )


def _message(
    theirs: dict[str, Json], message_id: str, parent: str | None, remarks: Counter[Sentence]
) -> ForeignMessage:
    notes: list[str] = []
    role = _ROLES.get(text_of(theirs.get("role")), "note")
    text = blocks.joined_text(theirs.get("content"), remarks, notes)
    reasoning = text_of(theirs.get("reasoningContent")) or text_of(theirs.get("thinking"))
    if role == "note":
        text = blocks.tool_result_note(text_of(theirs.get("toolCallId")), text, remarks)
    else:
        text = blocks.with_reasoning(reasoning, text)
    for called in list_of(_decoded(theirs.get("toolCalls"))):
        function = object_of(object_of(called).get("function"))
        notes.append(blocks.tool_call_note(text_of(function.get("name")), function.get("arguments"), remarks))
    for found in list_of(theirs.get("extra")):
        words = _attached(object_of(found), notes, remarks)
        text = f"{text}\n\n{words}".lstrip() if words else text
    return ForeignMessage(
        id=message_id,
        parent=parent,
        role=role,
        text=text,
        created_ms=ms_of(theirs.get("timestamp")),
        model=text_of(theirs.get("model")),
        notes=notes,
    )


def _attached(extra: dict[str, Json], notes: list[str], remarks: Counter[Sentence]) -> str:
    """Return the text of an attachment, which the model has processed; add its files to `notes`."""
    kind, name, words = text_of(extra.get("type")), text_of(extra.get("name")), text_of(extra.get("content"))
    num_before = len(notes)
    if url := text_of(extra.get("base64Url")):
        notes.append(blocks.picture_note(name, url, remarks))
    if data := text_of(extra.get("base64Data")):
        media = text_of(extra.get("mimeType")) or ("application/pdf" if kind == "PDF" else "")
        notes.append(blocks.data_note(name, media, data, remarks))
    if kind == "PDF" and extra.get("processedAsImages") is True:
        # The model has seen the pages as pictures, and not the text.
        pages = enumerate(map(text_of, list_of(extra.get("images"))), 1)
        notes.extend(blocks.picture_note(f"{name}, page {number}", page, remarks) for number, page in pages)
        words = ""
    if source := {key: extra[key] for key in ("uri", "serverName", "promptName", "arguments") if extra.get(key)}:
        notes.append(blocks.other_note(f"Source: {name}".rstrip(": "), source, remarks))
    if not words and len(notes) == num_before:
        notes.append(blocks.missing_file_note(name, remarks))
    return blocks.file_text(name, words, remarks) if words else ""


def _decoded(value: Json) -> Json:
    """Decode tool calls, which are JSON in a string."""
    if not isinstance(value, str) or not value:
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return [{"function": {"name": "", "arguments": value}}]
