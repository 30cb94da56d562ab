"""Reads Jan's threads: `messages.jsonl` with a line per message, beside `thread.json`; and its export of one thread."""

from __future__ import annotations

from collections import Counter

import msgspec

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.bundle import NOTHING_NEARBY, Nearby
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole, UnreadableError
from app.model.imports.json_stream import Json
from app.model.imports.line_formats import JAN
from app.model.imports.pieces import Pieces
from app.model.message import State
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Jan"
THREAD_FILE = "thread.json"
LINES = "messages.jsonl"

_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant"}
_STATES: dict[str, State] = {"error": "failed", "stopped": "stopped", "pending": "stopped"}


def is_one(item: dict[str, Json]) -> bool:
    first = object_of(next(iter(list_of(item.get("messages"))), None))
    is_export = "exported_at" in item and {"id", "role", "content", "created_at"} <= first.keys()
    return JAN in item or is_export or _is_thread(item)


def _is_thread(item: dict[str, Json]) -> bool:
    return item.get("object") == "thread" and "assistants" in item


def conversation(item: dict[str, Json], nearby: Nearby = NOTHING_NEARBY) -> ForeignConversation:
    """Read one thread. Raises `UnreadableError`."""
    if _is_thread(item):
        raise UnreadableError(
            Sentence("it describes a thread of Jan, whose messages are in “messages.jsonl” in the same folder, if any")
        )
    lines = [object_of(line) for line in list_of(item.get(JAN) or item.get("messages"))]
    thread = _thread(nearby) if JAN in item else item
    remarks: Counter[Sentence] = Counter()
    model = _model(thread)
    messages: list[ForeignMessage] = []
    assistant = object_of(next(iter(list_of(thread.get("assistants"))), None))
    top: str | None = None
    if system := text_of(assistant.get("instructions")):
        top = "system prompt"
        messages.append(ForeignMessage(id=top, parent=None, role="system", text=system))
    is_tree = any(isinstance(object_of(line.get("metadata")).get("parentId"), str) for line in lines)
    last = question = top
    replies: dict[str | None, str] = {}
    """The answers without a parent, by the questions below which Jan shows them."""
    for number, theirs in enumerate(lines):
        message = _message(theirs, f"#{number}", model, remarks)
        messages.append(message)
        message.parent = last
        if is_tree:
            # Some versions of Jan did not store which question an answer belongs to, and put the next question below
            # the last one. Like Jan, take the question before the answer, and the answer before the question.
            parent = id_of(object_of(theirs.get("metadata")).get("parentId"))
            if message.role == "assistant" and parent is None:
                replies[question] = message.id
                parent = question
            elif message.role == "user" and parent is not None and parent == question:
                parent = replies.get(question, parent)
            message.parent = parent or top
        last = message.id
        question = last if message.role == "user" else question
    metadata = object_of(thread.get("metadata"))
    return ForeignConversation(
        name=text_of(thread.get("title")) or text_of(metadata.get("title")),
        messages=messages,
        id=id_of(thread.get("id")) or next((found for line in lines if (found := id_of(line.get("thread_id")))), ""),
        current=_shown(lines, messages, text_of(metadata.get("activeRootId"))) if is_tree else last,
        created_ms=ms_of(thread.get("created")),
        updated_ms=ms_of(thread.get("updated")),
        is_pinned=metadata.get("is_favorite") is True or metadata.get("isFavorite") is True,
        folder=text_of(object_of(metadata.get("project")).get("name")),
        default_model=model,
        remarks=remarks,
    )


def _thread(nearby: Nearby) -> dict[str, Json]:
    """Return the contents of `thread.json`; empty if the file is missing or damaged."""
    found = nearby.beside(THREAD_FILE)
    try:
        return object_of(None if found is None else msgspec.json.decode(found.data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


def _model(thread: dict[str, Json]) -> str:
    assistant = object_of(next(iter(list_of(thread.get("assistants"))), None))
    models = (thread.get("model"), assistant.get("model"))
    return next((name for model in models if (name := text_of(model) or text_of(object_of(model).get("id")))), "")


def _message(theirs: dict[str, Json], default_id: str, model: str, remarks: Counter[Sentence]) -> ForeignMessage:
    kind = text_of(theirs.get("role"))
    role = _ROLES.get(kind, "note")
    metadata = object_of(theirs.get("metadata"))
    pieces = Pieces(role)
    for found in list_of(theirs.get("content")):
        _add(object_of(found), pieces, remarks)
    for found in list_of(metadata.get("tool_calls")):
        _add_old_call(object_of(found), pieces, remarks)
    for found in list_of(metadata.get("inline_file_contents")):
        file = object_of(found)
        if words := text_of(file.get("content")):
            pieces.add_text(blocks.file_text(text_of(file.get("name")), words, remarks))
    for found in list_of(theirs.get("attachments")):
        pieces.add_note(blocks.missing_file_note(text_of(object_of(found).get("file_id")), remarks))
    if error := metadata.get("error") or theirs.get("error_code"):
        pieces.add_note(note("Error", text_of(error) or blocks.formatted(error)))
    made = pieces.all
    if role == "note":
        label = kind.capitalize() or "Unknown role"
        made = [piece._replace(text=blocks.other_note(label, piece.text, remarks)) for piece in made]
    own = id_of(metadata.get("model")) or id_of(object_of(metadata.get("model")).get("id"))
    return ForeignMessage(
        id=id_of(theirs.get("id")) or default_id,
        parent=None,
        role=role,
        text="",
        pieces=made,
        created_ms=ms_of(theirs.get("created_at")),
        model=(own or model) if role == "assistant" else "",
        state=_state(theirs, metadata) if role == "assistant" else "complete",
    )


def _state(theirs: dict[str, Json], metadata: dict[str, Json]) -> State:
    return "stopped" if metadata.get("stopped") is True else _STATES.get(text_of(theirs.get("status")), "complete")


def _add(block: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    # The mobile program writes `type_`.
    kind = text_of(block.get("type")) or text_of(block.get("type_"))
    match kind:
        case "text" | "reasoning":
            text = text_of(object_of(block.get("text")).get("value")) or text_of(block.get("text"))
            (pieces.add_text if kind == "text" else pieces.add_thought)(text)
        case "image_url":
            pieces.add_note(blocks.picture_note("", text_of(object_of(block.get("image_url")).get("url")), remarks))
        case "input_audio":
            audio = object_of(block.get("input_audio"))
            form = text_of(audio.get("format"))
            pieces.add_note(blocks.data_note(f"voice.{form}", f"audio/{form}", text_of(audio.get("data")), remarks))
        case "tool_call":
            name = text_of(block.get("tool_name"))
            pieces.add_note(blocks.tool_call_note(name, block.get("input"), remarks))
            if block.get("output") is not None:
                pieces.add_note(blocks.tool_result_note(name, _result(block["output"]), remarks))
        case _ if block:
            pieces.add_note(blocks.other_note(kind or "Unknown block", block, remarks))
        case _:
            pass


def _add_old_call(called: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence]) -> None:
    """Add a tool call as versions before 0.7 kept it: beside the message's text."""
    function = object_of(object_of(called.get("tool")).get("function"))
    name = text_of(function.get("name"))
    pieces.add_note(blocks.tool_call_note(name, function.get("arguments"), remarks))
    if called.get("response") is not None:
        pieces.add_note(blocks.tool_result_note(name, _result(called["response"]), remarks))


def _result(found: Json) -> Json:
    """Return the content blocks of a tool's result; the whole result if it has none."""
    content = object_of(found).get("content")
    return content if blocks.is_blocks(content) else found


def _shown(lines: list[dict[str, Json]], messages: list[ForeignMessage], root: str) -> str | None:
    """Return the last message that was shown.

    From the root down, each message names the shown child; if it names none, the newest one was shown.
    """
    active = {id_of(line.get("id")): id_of(object_of(line.get("metadata")).get("activeChildId")) for line in lines}
    children: dict[str | None, list[ForeignMessage]] = {}
    for message in messages:
        children.setdefault(message.parent, []).append(message)
    shown: str | None = None
    seen: set[str | None] = set()
    while (below := children.get(shown)) and shown not in seen:
        seen.add(shown)
        wanted = root if shown in {None, "system prompt"} else active.get(shown)
        newest = max(below, key=lambda message: message.created_ms or 0)
        shown = next((message.id for message in below if message.id == wanted), newest.id)
    return shown
