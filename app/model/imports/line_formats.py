"""Formats of one conversation over several JSON lines: llama.cpp's, SillyTavern's, Jan's, and those of coding programs.

The lines of a conversation are gathered into one value, which the format's module reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias, TypeVar

from app.model.imports.blocks import object_of
from app.model.imports.json_stream import Json

_P = TypeVar("_P")
_Kind: TypeAlias = Literal["llama.cpp", "SillyTavern", "Claude Code", "Gemini CLI", "Codex", "Jan"]

SILLY_TAVERN = "SillyTavern chat"
"""The key of a chat's lines."""
CLAUDE_CODE = "Claude Code session"
"""The key of a session's lines."""
CODEX = "Codex session"
"""The key of a session's lines."""
JAN = "Jan thread"
"""The key of a thread's lines."""

_REPEATING: tuple[_Kind, ...] = ("Claude Code", "Codex", "Jan")
"""Formats in which a line like the first one may also occur in the middle of a conversation."""


def gathered(items: Iterable[Json | _P], is_problem: type[_P]) -> Iterator[Json | _P]:
    """Yield the values of a file, with all lines of a conversation gathered into one value."""
    kind: _Kind | None = None
    lines: list[Json] = []
    for item in items:
        if isinstance(item, is_problem):
            yield item
            continue
        found = object_of(item)
        begun = _begun(found)
        if kind is not None and (begun is None or begun == kind in _REPEATING):
            lines.append(item)
            continue
        if kind is not None:
            yield _whole(kind, lines)
        kind, lines = begun, [item]
        if kind is None:
            yield item
    if kind is not None:
        yield _whole(kind, lines)


def _begun(line: dict[str, Json]) -> _Kind | None:
    """Return the format of a conversation that begins with this line; None if no format does."""
    if line.get("type") == "session" and "harness" in line and "message" not in line:
        return "llama.cpp"
    if "character_name" in line or "chat_metadata" in line:
        return "SillyTavern"
    if "sessionId" in line and "projectHash" in line and "messages" not in line:
        return "Gemini CLI"
    if "sessionId" in line and ("parentUuid" in line or "operation" in line or "isSidechain" in line):
        return "Claude Code"
    if "sessionId" in line and "uuid" in line and line.get("type") in {"user", "assistant"} and "message" in line:
        # Some versions give the first line no parent at all.
        return "Claude Code"
    if line.get("object") == "thread.message" and "role" in line:
        return "Jan"
    if line.get("type") == "session_meta" and "payload" in line:
        return "Codex"
    if "instructions" in line and "timestamp" in line and "id" in line and "type" not in line:
        return "Codex"
    if line.get("type") in {"summary", "file-history-snapshot"} and ("leafUuid" in line or "snapshot" in line):
        return "Claude Code"
    return None


def _whole(kind: _Kind, lines: list[Json]) -> Json:
    match kind:
        case "llama.cpp":
            return {"conv": lines[0], "messages": [object_of(line).get("message") for line in lines[1:]]}
        case "Jan":
            return {JAN: lines}
        case "SillyTavern":
            return {SILLY_TAVERN: lines}
        case "Claude Code":
            return {CLAUDE_CODE: lines}
        case "Codex":
            return {CODEX: lines}
        case "Gemini CLI":
            head = object_of(lines[0])
            for line in lines[1:]:
                head |= object_of(object_of(line).get("$set"))
            return head | {"messages": [line for line in lines[1:] if "$set" not in object_of(line)]}
