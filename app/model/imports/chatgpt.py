"""Reads ChatGPT's export: `conversations.json`, a list of message trees (`mapping`) with models and times."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from app.model.imports import blocks
from app.model.imports.blocks import formatted, id_of, list_of, ms_of, object_of, text_of
from app.model.imports.bundle import NOTHING_NEARBY, FindFile, Nearby
from app.model.imports.foreign import (
    ForeignConversation,
    ForeignMessage,
    ForeignRole,
    UnreadableError,
    join_answers,
)
from app.model.imports.json_stream import Json
from app.model.message import State
from app.model.notes import fenced, note
from worker.sentence import Sentence

NAME = "ChatGPT"

_STATES: dict[str, State] = {"max_tokens": "cut", "interrupted": "stopped"}
_MARK = re.compile("\\ue200[^\\ue201]*(?:\\ue201|$)")
"""A mark for sources or other things that ChatGPT shows."""
_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant"}


def is_one(item: dict[str, Json]) -> bool:
    return "mapping" in item


def conversation(item: dict[str, Json], nearby: Nearby = NOTHING_NEARBY) -> ForeignConversation:
    """Read one conversation. Raises `UnreadableError`."""
    mapping = object_of(item["mapping"])
    if not mapping:
        raise UnreadableError(Sentence("its messages are missing"))
    remarks: Counter[Sentence] = Counter()
    kept: dict[str, ForeignMessage] = {}
    for node_id, node in mapping.items():
        if (message := _message(node_id, object_of(node), remarks, nearby.find)) is not None:
            kept[node_id] = message
    for node_id, message in kept.items():
        message.parent = _nearest_kept_parent(mapping, kept, node_id)
    current = id_of(item.get("current_node"))
    if current is not None and current not in kept:
        current = _nearest_kept_parent(mapping, kept, current)
    join_answers(list(kept.values()))
    return ForeignConversation(
        name=text_of(item.get("title")),
        messages=list(kept.values()),
        id=id_of(item.get("conversation_id")) or id_of(item.get("id")) or "",
        current=current,
        created_ms=ms_of(item.get("create_time")),
        updated_ms=ms_of(item.get("update_time")),
        is_pinned=item.get("is_starred") is True or bool(item.get("pinned_time")),
        is_archived=item.get("is_archived") is True,
        default_model=text_of(item.get("default_model_slug")).removeprefix("auto"),
        remarks=remarks,
    )


def _nearest_kept_parent(mapping: dict[str, Json], kept: dict[str, ForeignMessage], node_id: str) -> str | None:
    """Return the nearest ancestor that is kept; empty nodes are left out."""
    seen = {node_id}
    parent = id_of(object_of(mapping.get(node_id)).get("parent"))
    while parent is not None and parent not in kept and parent in mapping and parent not in seen:
        seen.add(parent)
        parent = id_of(object_of(mapping[parent]).get("parent"))
    return parent


def _message(
    node_id: str, node: dict[str, Json], remarks: Counter[Sentence], find_file: FindFile
) -> ForeignMessage | None:
    message = object_of(node.get("message"))
    author, content = object_of(message.get("author")), object_of(message.get("content"))
    metadata = object_of(message.get("metadata"))
    role = text_of(author.get("role"))
    if not message or not content:
        return None
    kind = text_of(content.get("content_type")) or "text"
    text, notes = _text(kind, content, metadata, remarks, find_file)
    text = _with_links(text, metadata)
    if not text.strip() and not notes:
        # Most trees begin with empty system messages.
        if role != "system":
            remarks[blocks.EMPTY_MESSAGES] += 1
        return None
    ours: ForeignRole = _ROLES.get(role, "note")
    recipient = text_of(message.get("recipient"))
    if kind == "user_editable_context":
        ours, text = "note", note("Custom instructions", text)
    elif ours == "assistant" and recipient.startswith("canmore.") and (canvas := _canvas(content)) is not None:
        ours, text = "note", canvas
    elif ours == "assistant" and recipient not in {"", "all"}:
        ours, text = "note", note(f"Tool call: {recipient}", text)
    elif kind in {"thoughts", "reasoning_recap"}:
        ours, text = "note", note("Reasoning", text)
    elif ours == "note":
        label = "Tool result" if role == "tool" else role.capitalize() or "Unknown role"
        name = text_of(author.get("name"))
        text = note(f"{label}: {name}" if name else label, text)
    if ours == "note":
        remarks[blocks.KEPT_AS_NOTES] += 1
    return ForeignMessage(
        id=node_id,
        parent=None,
        role=ours,
        text=text,
        created_ms=ms_of(message.get("create_time")),
        model=text_of(metadata.get("model_slug")),
        state=_state(message, metadata),
        notes=notes,
    )


def _state(message: dict[str, Json], metadata: dict[str, Json]) -> State:
    if text_of(message.get("status")) == "in_progress":
        return "stopped"
    return _STATES.get(text_of(object_of(metadata.get("finish_details")).get("type")), "complete")


def _with_links(text: str, metadata: dict[str, Json]) -> str:
    """Return a text with links to its sources in place of ChatGPT's marks for them."""
    for found in list_of(metadata.get("content_references")):
        reference = object_of(found)
        mark = text_of(reference.get("matched_text"))
        if _MARK.fullmatch(mark):
            text = text.replace(mark, _links(reference))
    for found in list_of(metadata.get("citations")):
        source = object_of(object_of(found).get("metadata"))
        extra = object_of(source.get("extra"))
        number = extra.get("cited_message_idx")
        url = text_of(source.get("url"))
        if isinstance(number, int) and url:
            mark = re.compile(rf"【{number}†[^】]*】")
            title = text_of(source.get("title")) or url
            text = mark.sub(lambda _, url=url, title=title: blocks.with_links("", {url: title}), text)
    return _MARK.sub("", text)


def _links(reference: dict[str, Json]) -> str:
    links: dict[str, str] = {}
    for found in list_of(reference.get("items")):
        one = object_of(found)
        for page in (one, *map(object_of, list_of(one.get("supporting_websites")))):
            if url := text_of(page.get("url")):
                links.setdefault(url, text_of(page.get("title")) or text_of(page.get("attribution")) or url)
    if links:
        return blocks.with_links("", links)
    name = text_of(reference.get("alt")) or text_of(reference.get("name"))
    return f" ({name})" if name else ""


def _canvas(content: dict[str, Json]) -> str | None:
    """Return a note with the document that the model wrote into the canvas; None if it is not readable."""
    parts = [part for part in list_of(content.get("parts")) if isinstance(part, str)]
    try:
        document = object_of(msgspec.json.decode(text_of(content.get("text")) or "".join(parts)))
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    words, kind = text_of(document.get("content")), text_of(document.get("type"))
    if not words:
        return None
    language = kind.removeprefix("code/")
    return note(f"Canvas: {text_of(document.get('name'))}", words if language == kind else fenced(words, language))


def _text(
    kind: str, content: dict[str, Json], metadata: dict[str, Json], remarks: Counter[Sentence], find_file: FindFile
) -> tuple[str, list[str]]:
    parts: list[str] = []
    notes: list[str] = []
    attachments = [object_of(found) for found in list_of(metadata.get("attachments"))]
    names = {text_of(found.get("id")): text_of(found.get("name")) for found in attachments}
    match kind:
        case "code":
            language = text_of(content.get("language"))
            code = text_of(content.get("text"))
            parts.append(fenced(code, "" if language == "unknown" else language) if code else "")
        case "execution_output":
            output = text_of(content.get("text"))
            parts.append(fenced(output) if output else "")
        case "thoughts":
            for thought in list_of(content.get("thoughts")):
                summary, words = (text_of(object_of(thought).get(key)) for key in ("summary", "content"))
                parts.append("\n\n".join(piece for piece in (summary, words) if piece))
            parts += filter(None, map(text_of, list_of(content.get("parts"))))
        case "reasoning_recap":
            parts += filter(None, map(text_of, [content.get("content"), *list_of(content.get("parts"))]))
        case "user_editable_context":
            parts += [text_of(content.get(key)) for key in ("user_profile", "user_instructions")]
        case "tether_quote":
            source = " · ".join(text_of(content.get(key)) for key in ("title", "domain", "url"))
            parts.append("\n\n".join(piece for piece in (source.strip(" ·"), text_of(content.get("text"))) if piece))
        case _ if isinstance(content.get("parts"), list):
            for part in list_of(content["parts"]):
                is_text = isinstance(part, str)
                parts.append(part if is_text else _other_part(object_of(part), names, notes, remarks, find_file))
        case _ if isinstance(content.get("text"), str):
            parts.append(text_of(content["text"]))
        case _:
            rest = {key: value for key, value in content.items() if key != "content_type"}
            parts.append(fenced(formatted(rest), "json") if any(rest.values()) else "")
    in_parts = {_file_id(object_of(part)) for part in list_of(content.get("parts"))}
    notes += [
        _attachment(text_of(found.get("name")), text_of(found.get("id")), remarks, find_file)
        for found in attachments
        if text_of(found.get("id")) not in in_parts
    ]
    return "\n\n".join(part for part in parts if part), notes


def _other_part(
    part: dict[str, Json], names: dict[str, str], notes: list[str], remarks: Counter[Sentence], find_file: FindFile
) -> str:
    if isinstance(part.get("text"), str):
        return text_of(part["text"])
    kind = text_of(part.get("content_type"))
    inner = {key: object_of(part.get(f"{key}_asset_pointer")) for key in ("audio", "video_container")}
    notes += [
        _attachment(f"{key} {_file_id(found)}", _file_id(found), remarks, find_file)
        for key, found in inner.items()
        if found
    ]
    if kind == "audio_asset_pointer":
        notes.append(_attachment(f"audio {_file_id(part)}", _file_id(part), remarks, find_file))
        return ""
    if kind == "real_time_user_audio_video_asset_pointer":
        return ""
    if "asset_pointer" in part:
        file_id = _file_id(part)
        name = names.get(file_id) or file_id
        notes.append(_attachment(name, file_id, remarks, find_file))
        if prompt := text_of(object_of(object_of(part.get("metadata")).get("dalle")).get("prompt")):
            notes.append(note("Prompt of the picture", prompt))
        return f"[file: {name or 'without a name'}]"
    return fenced(formatted(part), "json") if part else ""


def _file_id(part: dict[str, Json]) -> str:
    return text_of(part.get("asset_pointer")).rpartition("/")[2]


def _attachment(name: str, file_id: str, remarks: Counter[Sentence], find_file: FindFile) -> str:
    found = find_file(file_id) if file_id else None
    if found is None:
        return blocks.missing_file_note(name, remarks)
    return blocks.file_note(name if "." in name else found.name, found.data, remarks)
