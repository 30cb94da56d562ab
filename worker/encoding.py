"""Messages as bytes: JSON lines (headless) and MessagePack frames (in the app).

Invalid input becomes the `failed` event that answers it, with the sender's request id if that can be read.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import cast

import msgspec

from worker.protocol import Command, Event, Failed, RequestId

_command_from_json = msgspec.json.Decoder(Command)
_command_from_msgpack = msgspec.msgpack.Decoder(Command)
_event_from_msgpack = msgspec.msgpack.Decoder(Event)
_json = msgspec.json.Encoder()
_msgpack = msgspec.msgpack.Encoder()
_id = msgspec.json.Decoder(RequestId)


class Head(msgspec.Struct, frozen=True):
    """A message's type and id, without its contents. A field that can't be read keeps its default."""

    type: object = ""
    request_id: RequestId | None = None


_head_from_json = msgspec.json.Decoder(Head)
_head_from_msgpack = msgspec.msgpack.Decoder(Head)

MAX_MESSAGE_BYTES = 64 << 20
"""Longer lines and frames are refused. A prompt of a million tokens has about a tenth of this."""

_MAX_EXPLAINED_BYTES = 1 << 20
"""Errors are located only in shorter lines, because that takes many times the memory of the line."""

_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_JSON_MARK = re.compile(rf"{_STRING}|[\[\]{{}}:]", re.DOTALL)
_JSON_ID = re.compile(rf"\s*({_STRING}|-?\d{{1,19}})", re.DOTALL)
_MAX_MARKS = 100_000
"""How many strings and brackets of a too deeply nested line are searched for its id."""


def command_from_json(line: bytes) -> Command | Failed:
    """Decode one line. An invalid one becomes the `failed` event that answers it."""
    try:
        return _command_from_json.decode(line)
    except _UNREADABLE as error:
        return _refusal(line, error)


def command_from_msgpack(frame: bytes) -> Command | Failed:
    """Decode one frame. An invalid one becomes the `failed` event that answers it."""
    try:
        return _command_from_msgpack.decode(frame)
    except _UNREADABLE as error:
        return _failed(head_of_msgpack(frame).request_id, _sentence(error))


def head_of_json(line: bytes) -> Head:
    """Return the head of a line, using little memory. For an invalid or incomplete line, only the id is found."""
    try:
        return _head_from_json.decode(line)
    except _UNREADABLE:
        return Head(request_id=_outermost_id(line[:_MAX_EXPLAINED_BYTES].decode("utf-8", "surrogateescape")))


def head_of_msgpack(frame: bytes) -> Head:
    """Return the head of a frame, using little memory."""
    try:
        return _head_from_msgpack.decode(frame)
    except _UNREADABLE:
        return Head()


def too_long(request_id: RequestId | None) -> Failed:
    """Return the event that refuses a message that is too long."""
    limit = MAX_MESSAGE_BYTES >> 20
    return _failed(request_id, f"The message has more than {limit} MiB. Nothing was done; send a shorter one.")


def event_from_msgpack(frame: bytes) -> Event:
    """Decode one frame from a worker. Raises `msgspec.MsgspecError` if it is invalid."""
    return _event_from_msgpack.decode(frame)


def to_json(message: Command | Event) -> bytes:
    """Encode a message as one line of JSON, without the line break."""
    return _json.encode(message)


def to_msgpack(message: Command | Event) -> bytes:
    """Encode a message as one MessagePack frame (a MessagePack map; the transport keeps frames apart)."""
    return _msgpack.encode(message)


def _refusal(line: bytes, error: Exception) -> Failed:
    """Explain what is wrong with a line. The standard library accepts more than msgspec, so it usually finds the id."""
    if len(line) > _MAX_EXPLAINED_BYTES:
        return _failed(head_of_json(line).request_id, _sentence(error))
    # Invalid UTF-8 becomes lone surrogates, which the parser accepts.
    text = line.decode("utf-8", "surrogateescape")
    try:
        message: object = json.loads(text, strict=False, parse_int=_int)
    except RecursionError:
        return _failed(
            _outermost_id(text), "The message is nested too deeply. Nothing was done; send a flat JSON object."
        )
    except ValueError:
        return _failed(None, f"Not a JSON object on one line: {error}.")
    path = _path_of_invalid_text(message)
    if path is not None:
        return _failed(
            _id_in(message),
            f"The text at `{path}` holds a lone surrogate or bytes that are no UTF-8. "
            "Nothing was done; correct it and send it again.",
        )
    return _failed(_id_in(message), _sentence(error))


def _failed(request_id: RequestId | None, message: str) -> Failed:
    return Failed(request_id=request_id, kind="bad_request", message=message)


def _sentence(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "The message is nested too deeply. Nothing was done; send it flat."
    if isinstance(error, UnicodeDecodeError):
        return "The message holds bytes that are no UTF-8. Nothing was done; send UTF-8."
    return f"{error}. Nothing was done; correct it and send it again."


def place_of_invalid_text(data: bytes) -> str | None:
    """Return the path of the first text of a JSON document that is not valid Unicode.

    None if there is none, or if the document is long, nested deeply or no JSON.
    """
    if len(data) > _MAX_EXPLAINED_BYTES:
        return None
    try:
        return _path_of_invalid_text(json.loads(data.decode("utf-8", "surrogateescape"), parse_int=_int))
    except (ValueError, RecursionError):
        return None


def _path_of_invalid_text(message: object) -> str | None:
    """Return the path of the first text that is not valid Unicode; None if there is none."""
    waiting = [("$", message)]
    for path, value in waiting:
        match value:
            case str():
                if not _is_unicode(value):
                    return path
            case dict():
                for key, part in cast("dict[str, object]", value).items():
                    if not _is_unicode(key):
                        return path
                    if isinstance(part, str | dict | list):
                        waiting.append((f"{path}.{key}", part))
            case list():
                parts = enumerate(cast("list[object]", value))
                waiting += [(f"{path}[{index}]", part) for index, part in parts if isinstance(part, str | dict | list)]
            case _:
                pass
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _outermost_id(text: str) -> RequestId | None:
    """Return the `request_id` of the outermost object, without parsing nested values."""
    depth = 0
    before = ""
    for found in itertools.islice(_JSON_MARK.finditer(text), _MAX_MARKS):
        mark = found.group()
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        elif mark == ":" and depth == 1 and before == '"request_id"':
            value = _JSON_ID.match(text, found.end())
            return _id_in({"request_id": json.loads(value.group(1), strict=False)}) if value else None
        before = mark
    return None


def _int(digits: str) -> int | None:
    """Parse a number, unless it is too long for a message (parsing thousands of digits is slow)."""
    return int(digits) if len(digits) <= 20 else None


def _id_in(message: object) -> RequestId | None:
    if not isinstance(message, dict):
        return None
    found = cast("dict[object, object]", message).get("request_id")
    try:
        # Escapes of two lone surrogates would make one character, which the sender did not write.
        return _id.decode(json.dumps(found, ensure_ascii=False).encode())
    except (*_UNREADABLE, TypeError):
        return None
