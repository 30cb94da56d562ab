"""Converts parts of other programs' messages: JSON values of uncertain types, reasoning, tool calls, and files."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from collections import Counter
from datetime import datetime
from typing import cast

import msgspec

from app.model.imports.foreign import ForeignMessage
from app.model.imports.json_stream import Json
from app.model.notes import fenced, note
from worker.sentence import Sentence

KEPT_AS_NOTES = Sentence("tool calls, tool results and messages of other roles, kept as notes")
NOT_IN_THE_FILE = Sentence("pictures and files that the file does not contain, replaced by placeholders")
KEPT_ATTACHMENTS = Sentence("pictures and files, stored with their messages")
EMPTY_MESSAGES = Sentence("empty messages, left out")

_SUFFIXES = {
    re.compile(rb"\x89PNG\r\n"): ".png",
    re.compile(rb"\xff\xd8\xff"): ".jpg",
    re.compile(rb"GIF8[79]a"): ".gif",
    re.compile(rb"RIFF....WEBP", re.DOTALL): ".webp",
    re.compile(rb"%PDF-"): ".pdf",
}


def object_of(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else ""


def id_of(value: Json) -> str | None:
    """Return an id, which may be a number."""
    if isinstance(value, str) and value:
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def ms_of(value: Json) -> int | None:
    """Return a time in milliseconds, from seconds, milliseconds or an ISO 8601 text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # A smaller number is in seconds: it reaches the year 5138, and as milliseconds only 1973.
        factor = 1000 if abs(value) < 100_000_000_000 else 1
        return round(value * factor) if value == value and abs(value) < 1e18 else None
    if isinstance(value, str):
        try:
            return round(datetime.fromisoformat(value).timestamp() * 1000)
        except (ValueError, OverflowError, OSError):
            return None
    return None


def formatted(value: Json) -> str:
    """Return a JSON value as indented text."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError, TypeError):
        try:
            return repr(value)
        except RecursionError:
            return "(too deep to be shown)"


def with_reasoning(reasoning: str, text: str) -> str:
    """Return an answer after its reasoning in `<think>` tags, as models write it."""
    return f"<think>\n{reasoning.strip()}\n</think>\n\n{text}" if reasoning.strip() else text


def with_links(text: str, links: dict[str, str]) -> str:
    """Return a text followed by links. `links` are titles by their addresses."""
    shown = [f"[{link_title(title)}]({url})" for url, title in links.items()]
    return f"{text} ({', '.join(shown)})" if shown else text


def link_title(text: str) -> str:
    """Return a text that can be the title of a Markdown link: one line, without square brackets."""
    return " ".join(text.split()).replace("[", "(").replace("]", ")")


def tool_call_note(name: str, arguments: Json, remarks: Counter[Sentence]) -> str:
    """Return a note with a tool call."""
    remarks[KEPT_AS_NOTES] += 1
    return note(f"Tool call: {name}".rstrip(": "), _as_code(arguments))


def tool_result_note(name: str, value: Json, remarks: Counter[Sentence]) -> str:
    """Return a note with a tool's result."""
    remarks[KEPT_AS_NOTES] += 1
    text = joined_text(value, remarks) if is_blocks(value) else _as_code(value)
    return note(f"Tool result: {name}".rstrip(": "), text)


def other_note(label: str, value: Json, remarks: Counter[Sentence]) -> str:
    """Return a note with a value of another kind."""
    remarks[KEPT_AS_NOTES] += 1
    return note(label, value if isinstance(value, str) else fenced(formatted(value), "json"))


def missing_file_note(name: str, remarks: Counter[Sentence]) -> str:
    """Return a note in place of a file that is not in the export."""
    remarks[NOT_IN_THE_FILE] += 1
    return note(f"File: {name or 'without a name'}", "It is not in the file that was imported.")


def picture_note(name: str, url: str, remarks: Counter[Sentence]) -> str:
    """Return a note with a picture, or with its address if it is not in the export."""
    name = link_title(name) or "picture"
    head, _, data = url.partition(",")
    if head.startswith("data:") and _is_base64(data):
        remarks[KEPT_ATTACHMENTS] += 1
        return note(f"Picture: {name}", f"![{name}]({head},{data.strip()})")
    remarks[NOT_IN_THE_FILE] += 1
    return note(f"Picture: {name}", url if url and not head.startswith("data:") else "It is not in the file.")


def source_url(source: dict[str, Json]) -> str:
    """Return the address of a picture as Claude's programs have it: its data, or where it is; empty if unknown."""
    data = text_of(source.get("data"))
    return f"data:{text_of(source.get('media_type'))};base64,{data}" if data else text_of(source.get("url"))


def file_note(name: str, data: bytes, remarks: Counter[Sentence]) -> str:
    """Return a note with a file."""
    remarks[KEPT_ATTACHMENTS] += 1
    name = link_title(name)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    label = "Picture" if kind.startswith("image/") else "File"
    return note(f"{label}: {name}", f"![{name}](data:{kind};base64,{base64.b64encode(data).decode()})")


def data_note(name: str, kind: str, data: str, remarks: Counter[Sentence]) -> str:
    """Return a note with a file that is given in base64, and its type such as “audio/wav”."""
    if kind.startswith("image/"):
        return picture_note(name, f"data:{kind};base64,{data}", remarks)
    if not _is_base64(data):
        return missing_file_note(name, remarks)
    remarks[KEPT_ATTACHMENTS] += 1
    name = link_title(name) or "without a name"
    return note(f"File: {name}", f"![{name}](data:{kind or 'application/octet-stream'};base64,{data.strip()})")


def file_text(name: str, words: str, remarks: Counter[Sentence]) -> str:
    """Return a text file as a part of its message, because the model has processed it."""
    remarks[KEPT_ATTACHMENTS] += 1
    return f"File: {name or 'without a name'}\n\n{fenced(words)}"


def name_with_suffix(name: str, data: bytes) -> str:
    """Return a file's name with the suffix that fits its content, if that is a picture or a PDF."""
    suffix = next((suffix for begin, suffix in _SUFFIXES.items() if begin.match(data)), "")
    return name if name.lower().endswith(suffix) else f"{name}{suffix}"


def text_in(data: bytes) -> str | None:
    """Return the text in a file without a suffix; None if the content is not text."""
    try:
        return None if b"\0" in data or data.startswith(b"%PDF-") else data.decode()
    except UnicodeDecodeError:
        return None


def is_blocks(value: Json) -> bool:
    blocks = list_of(value)
    return bool(blocks) and all(isinstance(block, str) or "type" in object_of(block) for block in blocks)


def joined_text(value: Json, remarks: Counter[Sentence], notes: list[str] | None = None) -> str:
    """Return the text of content blocks in OpenAI's format.

    Blocks that are not text are appended to `notes`, or to the text if `notes` is None.
    """
    if isinstance(value, str):
        return value
    texts: list[str] = []
    for found in list_of(value):
        if isinstance(found, str):
            texts.append(found)
            continue
        block = object_of(found)
        kind = text_of(block.get("type"))
        inner = block.get("text")
        words = inner if isinstance(inner, str) else text_of(object_of(inner).get("value"))
        match kind:
            case "text" | "input_text" | "output_text":
                texts.append(words)
                continue
            case "think" | "thinking" | "reasoning":
                texts.append(with_reasoning(text_of(block.get("think")) or text_of(block.get("thinking")) or words, ""))
                continue
            case "image_url" | "input_image":
                address = block.get("image_url")
                url = address if isinstance(address, str) else text_of(object_of(address).get("url"))
                found_note = picture_note("", url, remarks)
            case "image" if object_of(block.get("source")):
                found_note = picture_note("", source_url(object_of(block["source"])), remarks)
            case _ if block:
                found_note = other_note(kind or "Unknown block", block, remarks)
            case _:
                continue
        if notes is None:
            texts.append(found_note)
        else:
            notes.append(found_note)
    return "\n\n".join(text for text in texts if text)


def chained(messages: list[ForeignMessage]) -> list[ForeignMessage]:
    """Make each message the parent of the next."""
    for number, message in enumerate(messages):
        message.id = f"#{number}"
        message.parent = f"#{number - 1}" if number else None
    return messages


def _as_code(value: Json) -> str:
    if isinstance(value, str):
        return fenced(value) if value else ""
    return "" if value is None else fenced(formatted(value), "json")


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode(data.strip(), validate=True))
    except (binascii.Error, ValueError):
        return False
