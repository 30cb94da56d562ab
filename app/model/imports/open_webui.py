"""Reads Open WebUI's export: a list of chats, each with a `history` of messages by id."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Open WebUI"

_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant"}
_DETAILS = re.compile(
    r'<details type="(?P<kind>[\w-]+)"(?P<attributes>[^>]*)>\s*(?:<summary>.*?</summary>)?(?P<inner>.*?)</details>\s*',
    re.DOTALL,
)
_END = "</details>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


def is_one(item: dict[str, Json]) -> bool:
    return "history" in _chat(item)


def _chat(item: dict[str, Json]) -> dict[str, Json]:
    return object_of(item["chat"]) if isinstance(item.get("chat"), dict) else item


def conversation(item: dict[str, Json]) -> ForeignConversation:
    """Read one chat."""
    chat = _chat(item)
    history = object_of(chat["history"])
    remarks: Counter[Sentence] = Counter()
    messages: list[ForeignMessage] = []
    system = text_of(object_of(chat.get("params")).get("system")) or text_of(chat.get("system"))
    top: str | None = None
    if system:
        top = "system prompt"
        messages.append(ForeignMessage(id=top, parent=None, role="system", text=system))
    for message_id, found in object_of(history.get("messages")).items():
        theirs = object_of(found)
        if not theirs:
            remarks[blocks.EMPTY_MESSAGES] += 1
            continue
        role = _ROLES.get(text_of(theirs.get("role")), "note")
        text, notes = _content(theirs, remarks)
        if role == "note":
            text = blocks.other_note(text_of(theirs.get("role")).capitalize() or "Unknown role", text, remarks)
        messages.append(
            ForeignMessage(
                id=message_id,
                parent=id_of(theirs.get("parentId")) or top,
                role=role,
                text=text,
                created_ms=ms_of(theirs.get("timestamp")),
                model=text_of(theirs.get("model")),
                state="stopped" if theirs.get("done") is False else "complete",
                notes=notes,
            )
        )
    return ForeignConversation(
        name=text_of(item.get("title")) or text_of(chat.get("title")),
        messages=messages,
        id=id_of(item.get("id")) or id_of(chat.get("id")) or "",
        current=id_of(history.get("currentId")),
        created_ms=ms_of(item.get("created_at")) or ms_of(chat.get("timestamp")),
        updated_ms=ms_of(item.get("updated_at")),
        remarks=remarks,
    )


def _content(theirs: dict[str, Json], remarks: Counter[Sentence]) -> tuple[str, list[str]]:
    notes: list[str] = []
    output = list_of(theirs.get("output"))
    text = _output_text(output, notes, remarks) if output else ""
    if not text:
        notes.clear()
        text = _without_details(blocks.joined_text(theirs.get("content"), remarks, notes), notes, remarks)
    for found in list_of(theirs.get("files")):
        file = object_of(found)
        inner = object_of(file.get("file"))
        name = text_of(file.get("name")) or text_of(inner.get("filename"))
        words = text_of(object_of(inner.get("data")).get("content")) or text_of(file.get("content"))
        if text_of(file.get("type")) == "image" or text_of(file.get("url")).startswith("data:image/"):
            notes.append(blocks.picture_note(name, text_of(file.get("url")), remarks))
        elif words:
            text = f"{text}\n\n{blocks.file_text(name, words, remarks)}"
        else:
            notes.append(blocks.missing_file_note(name, remarks))
    return text, notes


def _output_text(output: list[Json], notes: list[str], remarks: Counter[Sentence]) -> str:
    thoughts: list[str] = []
    texts: list[str] = []
    for found in output:
        block = object_of(found)
        match text_of(block.get("type")):
            case "message":
                texts.append(blocks.joined_text(block.get("content"), remarks, notes))
            case "reasoning":
                thoughts.append(blocks.joined_text(block.get("content"), remarks, notes))
            case "function_call":
                notes.append(blocks.tool_call_note(text_of(block.get("name")), block.get("arguments"), remarks))
            case "function_call_output":
                notes.append(blocks.tool_result_note("", block.get("output"), remarks))
            case kind if block:
                notes.append(blocks.other_note(kind or "Unknown block", block, remarks))
            case _:
                pass
    return blocks.with_reasoning("\n\n".join(thoughts), "\n\n".join(texts))


def _without_details(text: str, notes: list[str], remarks: Counter[Sentence]) -> str:
    """Turn the `<details>` elements of a text into reasoning and notes, and return the rest."""
    thoughts: list[str] = []

    def take(found: re.Match[str]) -> str:
        attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(found["attributes"])}
        inner = unescape(found["inner"]).strip()
        match found["kind"]:
            case "reasoning":
                thoughts.append(re.sub(r"^> ?", "", inner, flags=re.MULTILINE))
            case "tool_calls":
                remarks[blocks.KEPT_AS_NOTES] += 1
                words = "\n\n".join(
                    part for part in (attributes.get("arguments"), attributes.get("result"), inner) if part
                )
                notes.append(note(f"Tool: {attributes.get('name', '')}".rstrip(": "), words))
            case kind:
                notes.append(blocks.other_note(kind, inner, remarks))
        return ""

    # Only up to the last end tag: after that, each start tag would cost a search to the end of the text.
    end = text.rfind(_END) + len(_END) if _END in text else 0
    left = _DETAILS.sub(take, text[:end]) + (text[end:].lstrip() if end else text)
    return blocks.with_reasoning("\n\n".join(thoughts), left)
