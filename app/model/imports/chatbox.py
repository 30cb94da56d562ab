"""Reads Chatbox's exported data: sessions with threads, whose messages are lists that fork.

Older versions export one JSON value without pictures and files; newer ones an archive with a file for each session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import cast

from app.model.imports import blocks
from app.model.imports.blocks import id_of, list_of, ms_of, object_of, text_of
from app.model.imports.bundle import NOTHING_NEARBY, Nearby
from app.model.imports.foreign import ForeignConversation, ForeignMessage, ForeignRole
from app.model.imports.json_stream import Json
from app.model.imports.pieces import Pieces
from app.model.message import State
from app.model.notes import note
from worker.sentence import Sentence

NAME = "Chatbox"

_SESSION = "Chatbox session"
_KEY = "session:"
_ROLES: dict[str, ForeignRole] = {"system": "system", "user": "user", "assistant": "assistant"}
_THREADS = Sentence("names of threads of Chatbox, left out")


def conversations_of(item: dict[str, Json]) -> list[Json] | None:
    """Return the sessions of an export; None if the value is not an export."""
    if "__exported_items" not in item and "chat-sessions-list" not in item and "chat-sessions" not in item:
        return None
    sessions = [value for key, value in item.items() if key.startswith(_KEY)] + list_of(item.get("chat-sessions"))
    return [{_SESSION: session, "name": object_of(session).get("name")} for session in sessions]


def sessions_in(paths: Sequence[str]) -> list[str]:
    """Return the files of the sessions in an archive; none if the archive is not from Chatbox."""
    found = [path for path in paths if path.startswith("sessions/") and path.endswith("/session.json")]
    return found if "manifest.json" in paths else []


def is_one(item: dict[str, Json]) -> bool:
    first = object_of(next(iter(list_of(item.get("messages"))), None))
    return _SESSION in item or ({"id", "name"} <= item.keys() and "contentParts" in first)


def conversation(item: dict[str, Json], nearby: Nearby = NOTHING_NEARBY) -> ForeignConversation:
    """Read one session. Its threads begin at the top, and the current thread is shown."""
    session = object_of(item[_SESSION]) if _SESSION in item else item
    session_id = id_of(session.get("id")) or ""
    files = _Files(nearby)
    found = ForeignConversation(
        name=text_of(session.get("name")),
        messages=[],
        id=session_id,
        is_pinned=session.get("starred") is True,
        is_archived=bool(session.get("archivedAt")),
        created_ms=ms_of(files.about(session_id).get("createdAt")),
        default_model=text_of(object_of(session.get("settings")).get("modelId")),
    )
    for one in (*list_of(session.get("threads")), {"name": session.get("threadName")}):
        thread = object_of(one)
        if thread.get("name"):
            found.remarks[_THREADS] += 1
        _add(found, list_of(thread.get("messages")), None, files)
    found.current = _add(found, list_of(session.get("messages")), None, files)
    for message_id, one in object_of(session.get("messageForksHash")).items():
        # The list of the shown branch is empty: its messages are those of the session.
        for other in list_of(object_of(one).get("lists")):
            _add(found, list_of(object_of(other).get("messages")), message_id, files)
    return found


class _Files:
    """The files that belong to messages, by the keys that messages have for them."""

    def __init__(self, nearby: Nearby) -> None:
        self._find = nearby.find
        self._manifest = cast("dict[str, Json]", nearby.listed())

    def about(self, session_id: str) -> dict[str, Json]:
        """Return the archive's entry for a session."""
        sessions = map(object_of, list_of(self._manifest.get("sessions")))
        return next((object_of(one.get("meta")) for one in sessions if one.get("id") == session_id), {})

    def data(self, key: str) -> bytes | None:
        """Return the content of a file; None if it is not in the archive."""
        name = self._names.get(key)
        found = None if not name else self._find(f"{name}.")
        return None if found is None else found.data

    def text(self, key: str) -> str:
        """Return the text in a file; empty if there is none."""
        data = self.data(key)
        return "" if data is None else data.decode("utf-8", "replace")

    @cached_property
    def _names(self) -> dict[str, str]:
        return {
            text_of(key): text_of(one.get("id"))
            for one in map(object_of, list_of(self._manifest.get("resources")))
            for key in list_of(one.get("originalStorageKeys"))
        }


def _add(found: ForeignConversation, messages: list[Json], above: str | None, files: _Files) -> str | None:
    """Add messages below each other, the first below `above`; return the last one's id."""
    last = above
    for one in messages:
        theirs = object_of(one)
        role = _ROLES.get(text_of(theirs.get("role")), "note")
        pieces = _pieces(theirs, role, found.remarks, files)
        message_id = id_of(theirs.get("id")) or f"#{len(found.messages)}"
        found.messages.append(
            ForeignMessage(
                id=message_id,
                parent=last,
                role=role,
                text="",
                pieces=pieces.all,
                created_ms=ms_of(theirs.get("timestamp")),
                model=text_of(theirs.get("model")) if role == "assistant" else "",
                state=_state(theirs),
            )
        )
        last = message_id
    return last


def _state(theirs: dict[str, Json]) -> State:
    if theirs.get("error"):
        return "failed"
    if theirs.get("generating") is True:
        return "stopped"
    return "cut" if theirs.get("finishReason") == "length" else "complete"


def _pieces(theirs: dict[str, Json], role: ForeignRole, remarks: Counter[Sentence], files: _Files) -> Pieces:
    pieces = Pieces(role)
    pieces.add_thought(text_of(theirs.get("reasoningContent")))
    parts = list_of(theirs.get("contentParts"))
    if not parts:
        # The first versions had one text.
        parts = [{"type": "text", "text": theirs.get("content")}]
    for one in parts:
        part = object_of(one)
        text = text_of(part.get("text"))
        match text_of(part.get("type")):
            case "text" if role == "note" or theirs.get("isSummary") is True:
                label = "Summary" if theirs.get("isSummary") is True else text_of(theirs.get("role")).capitalize()
                pieces.add_note(blocks.other_note(label or "Unknown role", text, remarks))
            case "text":
                pieces.add_text(text)
            case "reasoning":
                pieces.add_thought(text)
            case "info":
                pieces.add_note(blocks.other_note("Notice", text, remarks))
            case "image":
                _add_file(part, pieces, remarks, files)
                pieces.add_text(text_of(part.get("ocrResult")))
            case "audio":
                _add_file(part, pieces, remarks, files)
                pieces.add_text(text_of(part.get("transcript")))
            case "tool-call":
                name = text_of(part.get("toolName"))
                pieces.add_note(blocks.tool_call_note(name, part.get("args"), remarks))
                # For a long result, the part contains only the beginning.
                result = files.text(text_of(part.get("resultStorageKey"))) or part.get("result")
                if result is not None:
                    pieces.add_note(blocks.tool_result_note(name, result, remarks))
                if part.get("resultStorageKey") and result == part.get("result"):
                    pieces.add_note(blocks.missing_file_note(text_of(part["resultStorageKey"]), remarks))
            case kind:
                pieces.add_note(blocks.other_note(kind or "Unknown part", part, remarks))
    for one in list_of(theirs.get("files")) + list_of(theirs.get("pictures")):
        file = object_of(one)
        if url := text_of(file.get("url")):
            pieces.add_note(blocks.picture_note(text_of(file.get("name")), url, remarks))
        else:
            _add_file(file, pieces, remarks, files)
    for one in list_of(theirs.get("links")):
        link = object_of(one)
        pieces.add_note(note(f"Link: {text_of(link.get('title'))}".rstrip(": "), text_of(link.get("url"))))
        if words := files.text(text_of(link.get("storageKey"))):
            pieces.add_text(blocks.file_text(text_of(link.get("url")), words, remarks))
    if error := text_of(theirs.get("error")):
        pieces.add_note(note("Error", error))
    return pieces


def _add_file(about: dict[str, Json], pieces: Pieces, remarks: Counter[Sentence], files: _Files) -> None:
    """Add a picture or a file, and its text, which the model has processed."""
    key, raw_key = text_of(about.get("storageKey")), text_of(about.get("rawStorageKey"))
    name = text_of(about.get("name")) or key
    is_file = "name" in about
    data = files.data(raw_key) if is_file else files.data(key)
    words = files.text(key) if is_file else ""
    if data is not None and (not words or data.decode("utf-8", "replace") != words):
        pieces.add_note(blocks.file_note(blocks.name_with_suffix(name, data), data, remarks))
    if words:
        pieces.add_text(blocks.file_text(name, words, remarks))
    if data is None and not words:
        pieces.add_note(blocks.missing_file_note(name, remarks))
