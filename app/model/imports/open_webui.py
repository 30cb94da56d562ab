"""Reads Open WebUI's export: a list of chats, each with a `history` of messages by id."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, Piece
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.notes import fenced, note
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
        pieces = _pieces(theirs, role, remarks)
        if role == "note":
            label = text_of(theirs.get("role")).capitalize() or "Unknown role"
            pieces = [Piece("note", blocks.other_note(label, piece.text, remarks)) for piece in pieces]
        messages.append(
            ForeignMessage(
                id=message_id,
                parent=id_of(theirs.get("parentId")) or top,
                role=role,
                text="",
                pieces=pieces,
                created_ms=ms_of(theirs.get("timestamp")),
                model=text_of(theirs.get("model")),
                starred_ms=(ms_of(theirs.get("timestamp")) or 0) if theirs.get("favorite") is True else None,
                state="failed" if theirs.get("error") else "stopped" if theirs.get("done") is False else "complete",
            )
        )
    return ForeignConversation(
        name=text_of(item.get("title")) or text_of(chat.get("title")),
        messages=messages,
        id=id_of(item.get("id")) or id_of(chat.get("id")) or "",
        current=id_of(history.get("currentId")),
        created_ms=ms_of(item.get("created_at")) or ms_of(chat.get("timestamp")),
        updated_ms=ms_of(item.get("updated_at")),
        is_pinned=item.get("pinned") is True,
        is_archived=item.get("archived") is True,
        folder=text_of(object_of(item.get("folder")).get("name")),
        default_model=next((text_of(model) for model in list_of(chat.get("models"))), ""),
        remarks=remarks,
    )


def _pieces(theirs: dict[str, Json], role: ForeignRole, remarks: Counter[Sentence]) -> list[Piece]:
    pieces = Pieces(role)
    searches = _searches(theirs, remarks)
    for words in searches:
        pieces.add_note(words)
    for found in list_of(theirs.get("output")):
        _add_output(object_of(found), pieces, remarks)
    if not any(piece.role == role for piece in pieces.all):
        pieces = Pieces(role)
        for words in searches:
            pieces.add_note(words)
        notes: list[str] = []
        _add_details(blocks.joined_text(theirs.get("content"), remarks, notes), pieces, remarks)
        for words in notes:
            pieces.add_note(words)
    for found in list_of(theirs.get("code_executions")):
        run = object_of(found)
        name = text_of(run.get("name")) or "code"
        pieces.add_note(blocks.tool_call_note(name, text_of(run.get("code")), remarks))
        if run.get("result"):
            pieces.add_note(blocks.tool_result_note(name, run["result"], remarks))
    if merged := text_of(object_of(theirs.get("merged")).get("content")):
        pieces.add_note(blocks.other_note("Merged answer", merged, remarks))
    for found in list_of(theirs.get("embeds")):
        pieces.add_note(blocks.other_note("Embedded page", fenced(text_of(found), "html"), remarks))
    if links := _sources(theirs):
        pieces.add_note(note("Sources", "\n".join(f"- [{title}]({url})" for url, title in links.items())))
    for found in list_of(theirs.get("files")):
        file = object_of(found)
        inner = object_of(file.get("file"))
        name = text_of(file.get("name")) or text_of(inner.get("filename"))
        words = text_of(object_of(inner.get("data")).get("content")) or text_of(file.get("content"))
        if text_of(file.get("type")) == "image" or text_of(file.get("url")).startswith("data:image/"):
            pieces.add_note(blocks.picture_note(name, text_of(file.get("url")), remarks))
        elif words:
            pieces.add_text(blocks.file_text(name, words, remarks))
        else:
            pieces.add_note(blocks.missing_file_note(name, remarks))
    if error := object_of(theirs.get("error")):
        pieces.add_note(note("Error", text_of(error.get("content")) or blocks.formatted(error)))
    return pieces.all


def _searches(theirs: dict[str, Json], remarks: Counter[Sentence]) -> list[str]:
    """Return a note for each search before an answer, with its query and its results."""
    found: list[str] = []
    for one in list_of(theirs.get("statusHistory")):
        status = object_of(one)
        queries = [text_of(status.get("query")), *map(text_of, list_of(status.get("queries")))]
        links = {text_of(url): text_of(url) for url in list_of(status.get("urls"))}
        for item in map(object_of, list_of(status.get("items"))):
            links[text_of(item.get("link"))] = text_of(item.get("title")) or text_of(item.get("link"))
        lines = [query for query in queries if query]
        lines += [f"[{blocks.link_title(title)}]({url})" for url, title in links.items() if url]
        if lines:
            remarks[blocks.KEPT_AS_NOTES] += 1
            found.append(note("Search", "\n".join(f"- {line}" for line in lines)))
    return found


def _sources(theirs: dict[str, Json]) -> dict[str, str]:
    """Return the web pages that an answer cites: their titles by their addresses."""
    links: dict[str, str] = {}
    for found in list_of(theirs.get("sources")):
        for meta in list_of(object_of(found).get("metadata")):
            url = text_of(object_of(meta).get("source")) or text_of(object_of(meta).get("url"))
            if url.startswith(("http://", "https://")):
                title = text_of(object_of(meta).get("title")) or text_of(object_of(meta).get("name")) or url
                links[url] = blocks.link_title(title)
    return links


def _add_output(block: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    notes: list[str] = []
    match text_of(block.get("type")):
        case "message":
            pieces.add_text(blocks.joined_text(block.get("content"), remarks, notes))
        case "reasoning":
            pieces.add_thought(blocks.joined_text(block.get("content"), remarks, notes))
        case "function_call":
            notes.append(blocks.tool_call_note(text_of(block.get("name")), block.get("arguments"), remarks))
        case "function_call_output":
            notes.append(blocks.tool_result_note("", block.get("output"), remarks))
        case kind if block:
            notes.append(blocks.other_note(kind or "Unknown block", block, remarks))
        case _:
            pass
    for words in notes:
        pieces.add_note(words)


def _add_details(text: str, pieces: Pieces, remarks: Counter[Sentence]) -> None:
    """Add a text. Its `<details>` elements become reasoning and notes where they stand."""
    # Search only up to the last end tag. After it, each start tag would cost a search to the end of the text.
    end = text.rfind(_END) + len(_END) if _END in text else 0
    begin = 0
    for found in _DETAILS.finditer(text[:end]):
        pieces.add_text(text[begin : found.start()].strip("\n") if begin or found.start() else "")
        begin = found.end()
        attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(found["attributes"])}
        inner = unescape(found["inner"]).strip()
        match found["kind"]:
            case "reasoning":
                pieces.add_thought(re.sub(r"^> ?", "", inner, flags=re.MULTILINE))
            case "tool_calls":
                remarks[blocks.KEPT_AS_NOTES] += 1
                words = "\n\n".join(
                    part for part in (attributes.get("arguments"), attributes.get("result"), inner) if part
                )
                pieces.add_note(note(f"Tool: {attributes.get('name', '')}".rstrip(": "), words))
            case kind:
                pieces.add_note(blocks.other_note(kind, inner, remarks))
    pieces.add_text(text[begin:].lstrip("\n") if begin else text)
