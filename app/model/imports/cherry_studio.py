"""Reads Cherry Studio's backups: topics with lists of messages, whose parts are in a table of blocks.

Backups of versions 1 to 3 have no table of blocks, so each message has its parts. Version 1 has all tables in one list.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.bundle import Nearby
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.message import State
from app.model.notes import fenced, note
from worker.sentence import Sentence

NAME = "Cherry Studio"

_TOPIC = "Cherry Studio topic"
_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant"}
_STATES: dict[str, State] = {
    "paused": "stopped", "processing": "stopped", "pending": "stopped", "searching": "stopped", "sending": "stopped",
    "error": "failed",
}  # fmt: skip
_DELETED = Sentence("topics that were deleted in Cherry Studio but are in its backup; they are archived")
_SOURCES = ("groundingMetadata", "annotations", "citations", "webSearch", "tavily", "webSearchInfo", "knowledge")
"""The keys of an answer's sources in messages without blocks."""


def conversations_of(item: dict[str, Json]) -> list[Json] | None:
    """Return the topics of a backup, each with its assistant and its blocks; None if the value is not a backup."""
    tables = object_of(item.get("indexedDB")) or _tables_of_first_version(list_of(item.get("indexedDB")))
    if "topics" not in tables:
        return None
    places: dict[str, tuple[Json, Json]] = {}
    for one in _assistants(object_of(item.get("localStorage"))):
        assistant = object_of(one)
        for topic in list_of(assistant.get("topics")):
            places[text_of(object_of(topic).get("id"))] = assistant, topic
    by_message: dict[str, list[Json]] = {}
    for block in list_of(tables.get("message_blocks")):
        by_message.setdefault(text_of(object_of(block).get("messageId")), []).append(block)
    found: list[Json] = []
    for one in list_of(tables["topics"]):
        topic = object_of(one)
        assistant, head = places.get(text_of(topic.get("id")), ({}, {}))
        messages = list_of(topic.get("messages"))
        own = {
            text_of(object_of(block).get("id")): block
            for message in messages
            for block in by_message.get(text_of(object_of(message).get("id")), [])
        }
        name = object_of(head).get("name")
        is_deleted = bool(places) and not head
        found.append(
            {_TOPIC: topic, "head": head, "assistant": assistant, "blocks": own, "name": name, "deleted": is_deleted}
        )
    return found


def _tables_of_first_version(entries: list[Json]) -> dict[str, Json]:
    values = [
        object_of(entry).get("value") for entry in entries if text_of(object_of(entry).get("key")).startswith("topic:")
    ]
    return {"topics": values} if values else {}


def _assistants(storage: dict[str, Json]) -> list[Json]:
    """Return the assistants of the program's state, which is JSON in JSON."""
    state = _decoded(_decoded(storage.get("persist:cherry-studio")).get("assistants"))
    return [*list_of(state.get("assistants")), state.get("defaultAssistant")]


def _decoded(text: Json) -> dict[str, Json]:
    try:
        return object_of(msgspec.json.decode(text_of(text).encode("utf-8", "replace")))
    except (msgspec.MsgspecError, RecursionError):
        return {}


def is_one(item: dict[str, Json]) -> bool:
    return _TOPIC in item


def conversation(item: dict[str, Json], nearby: Nearby) -> ForeignConversation:
    """Read one topic. Several models' answers to a question are siblings; the next message follows the chosen one."""
    topic, head, assistant = (object_of(item[key]) for key in (_TOPIC, "head", "assistant"))
    found = ForeignConversation(
        name=text_of(head.get("name")),
        messages=[],
        id=id_of(topic.get("id")) or "",
        created_ms=ms_of(head.get("createdAt")),
        updated_ms=ms_of(head.get("updatedAt")),
        is_pinned=head.get("pinned") is True,
        folder=text_of(assistant.get("name")),
        default_model=text_of(object_of(assistant.get("model")).get("id")),
    )
    if item["deleted"] is True:
        found.is_archived = True
        found.remarks[_DELETED] += 1
    last: str | None = None
    if system := text_of(assistant.get("prompt")):
        last = "system prompt"
        found.messages.append(ForeignMessage(id=last, parent=None, role="system", text=system))
    asked: str | None = None
    rank = 0
    for number, one in enumerate(list_of(topic.get("messages"))):
        theirs = object_of(one)
        message = _message(theirs, number, object_of(item["blocks"]), nearby, found.remarks)
        ask_id = id_of(theirs.get("askId"))
        is_sibling = message.role == "assistant" and ask_id is not None and ask_id == asked
        message.parent = asked if is_sibling else last
        found.messages.append(message)
        if message.role == "user":
            asked, rank = message.id, 0
        own_rank = _rank(theirs) if is_sibling else 0
        if not is_sibling or own_rank > rank:
            last, rank = message.id, own_rank
    found.current = last
    return found


def _rank(answer: dict[str, Json]) -> int:
    """Return the rank of an answer among those to one question; the conversation continues below the highest."""
    return 3 if answer.get("useful") is True else 2 if answer.get("foldSelected") is True else 1


def _message(
    theirs: dict[str, Json], number: int, table: dict[str, Json], nearby: Nearby, remarks: Counter[Sentence]
) -> ForeignMessage:
    role = _ROLES.get(text_of(theirs.get("role")), "note")
    pieces = Pieces(role)
    if theirs.get("type") == "clear":
        pieces.add_note(note("The context was cleared here.", ""))
    if "blocks" in theirs:
        for block_id in list_of(theirs["blocks"]):
            _add_block(object_of(table.get(text_of(block_id))), pieces, nearby, remarks)
    else:
        for block in _older_blocks(theirs):
            _add_block(block, pieces, nearby, remarks)
    return ForeignMessage(
        id=id_of(theirs.get("id")) or f"#{number}",
        parent=None,
        role=role,
        text="",
        pieces=pieces.all,
        created_ms=ms_of(theirs.get("createdAt")),
        model=(text_of(object_of(theirs.get("model")).get("id")) or text_of(theirs.get("modelId")))
        if role == "assistant"
        else "",
        state=_STATES.get(text_of(theirs.get("status")), "complete"),
    )


def _older_blocks(theirs: dict[str, Json]) -> list[dict[str, Json]]:
    """Return the parts of a message without blocks as blocks."""
    metadata = object_of(theirs.get("metadata"))
    found: list[dict[str, Json]] = [{"type": "thinking", "content": theirs.get("reasoning_content")}]
    for tool in list_of(metadata.get("mcpTools")):
        response = object_of(tool).get("response")
        found.append({"type": "tool", "content": response, "metadata": {"rawMcpToolResponse": tool}})
    found.append({"type": "main_text", "content": theirs.get("content")})
    if text_of(theirs.get("translatedContent")):
        found.append({"type": "translation", "content": theirs.get("translatedContent")})
    found += [{"type": "file", "file": file} for file in list_of(theirs.get("files"))]
    # The first versions had pictures as addresses.
    found += [{"type": "image", "url": url} for url in list_of(theirs.get("images"))]
    if made := metadata.get("generateImage"):
        found.append({"type": "image", "metadata": {"generateImageResponse": made}})
    if sources := {key: value for key in _SOURCES if (value := metadata.get(key))}:
        found.append({"type": "citation", "response": next(iter(sources.values())) if len(sources) == 1 else sources})
    if error := object_of(theirs.get("error")):
        found.append({"type": "error", "error": error})
    return found


def _add_block(block: dict[str, Json], pieces: Pieces, nearby: Nearby, remarks: Counter[Sentence]) -> None:
    content = text_of(block.get("content"))
    match text_of(block.get("type")):
        case "main_text":
            pieces.add_text(content)
        case "compact":
            pieces.add_text(content)
            if words := text_of(block.get("compactedContent")):
                pieces.add_note(blocks.other_note("Summary", words, remarks))
        case "thinking":
            pieces.add_thought(content)
        case "code":
            pieces.add_text(fenced(content, text_of(block.get("language"))))
        case "translation":
            label = f"Translation: {text_of(block.get('targetLanguage'))}".rstrip(": ")
            pieces.add_note(blocks.other_note(label, content, remarks))
        case "tool":
            raw = object_of(object_of(block.get("metadata")).get("rawMcpToolResponse"))
            name = text_of(block.get("toolName")) or text_of(object_of(raw.get("tool")).get("name"))
            arguments = block.get("arguments") if block.get("arguments") is not None else raw.get("arguments")
            result = block.get("content") if block.get("content") is not None else raw.get("response")
            pieces.add_note(blocks.tool_call_note(name, arguments, remarks))
            if result is not None:
                pieces.add_note(blocks.tool_result_note(name, result, remarks))
        case "image" | "file" | "video":
            _add_files(block, pieces, nearby, remarks)
        case "citation":
            found = [value for key in ("response", "knowledge", "memories") if (value := block.get(key))]
            pieces.add_note(blocks.other_note("Sources", found[0] if len(found) == 1 else found, remarks))
        case "error":
            _add_error(block, pieces)
        case "" if not block:
            pieces.add_note(blocks.missing_file_note("a part of the message", remarks))
        case kind:
            pieces.add_note(blocks.other_note(kind or "Unknown block", block, remarks))
    if block.get("type") != "error" and block.get("error"):
        _add_error(block, pieces)


def _add_error(block: dict[str, Json], pieces: Pieces) -> None:
    error = object_of(block.get("error"))
    pieces.add_note(note("Error", text_of(error.get("message")) or blocks.formatted(error)))


def _add_files(block: dict[str, Json], pieces: Pieces, nearby: Nearby, remarks: Counter[Sentence]) -> None:
    """Add the file of a block, and generated pictures. Uploaded files are beside the backup's JSON."""
    file = object_of(block.get("file"))
    name = text_of(file.get("origin_name")) or text_of(file.get("name")) or text_of(block.get("filePath"))
    made = object_of(object_of(block.get("metadata")).get("generateImageResponse"))
    urls = [text_of(url) for url in [block.get("url"), *list_of(made.get("images"))] if text_of(url)]
    for url in urls:
        is_bare = made.get("type") == "base64" and not url.startswith("data:")
        pieces.add_note(blocks.picture_note(name, f"data:image/png;base64,{url}" if is_bare else url, remarks))
    if urls:
        return
    attached = nearby.find(text_of(file.get("id")))
    if attached is None:
        pieces.add_note(blocks.missing_file_note(name, remarks))
    else:
        pieces.add_note(blocks.file_note(name or attached.name, attached.data, remarks))
