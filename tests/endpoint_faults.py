"""The faults that servers of models are known to have, by name. All can be combined with others by `replace`."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from tests.endpoint_server import Event, Fault, Json, Reply, error, json_reply, text_of

_HTML = Reply(200, b"<!doctype html><title>Sign in</title><p>Please sign in.</p>", {"Content-Type": "text/html"})
_BAD_GATEWAY = Reply(502, b"<html><h1>502 Bad Gateway</h1>nginx</html>", {"Content-Type": "text/html"})

Change = Callable[[Sequence[Event]], Iterable[Event]]


def each_text(change: Callable[[Json], Iterable[Event]]) -> Change:
    """Return what replaces each event that carries text by others."""

    def changed(events: Sequence[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, dict) and has_text(event):
                yield from change(event)
            else:
                yield event

    return changed


def has_text(event: Event) -> bool:
    return isinstance(event, dict) and any(text_of(event, each.get("index", 0)) for each in event.get("choices", ()))


def before_text(*added: Event, number: int = 2) -> Change:
    """Return what puts events before one of those that carry text."""

    def changed(events: Sequence[Event]) -> Iterator[Event]:
        count = 0
        for event in events:
            count += has_text(event)
            if count == number and has_text(event):
                yield from added
            yield event

    return changed


def only_before_text(*added: Event, number: int = 2) -> Change:
    """Return what ends the stream at one of the events that carry text, with other events."""

    def changed(events: Sequence[Event]) -> Iterator[Event]:
        texts = [at for at, event in enumerate(events) if has_text(event)]
        yield from events[: texts[number - 1]]
        yield from added

    return changed


def with_delta(event: Json, **fields: Any) -> Json:
    """Return an event with other fields in each delta."""
    choices = [{**each, "delta": {**each.get("delta", {}), **fields}} for each in event["choices"]]
    return {**event, "choices": choices}


def with_choice(event: Event, **fields: Any) -> Event:
    """Return an event with other fields in each choice."""
    if not isinstance(event, dict):
        return event
    return {**event, "choices": [{**each, **fields} for each in event["choices"]]}


def without(field: str) -> Change:
    return lambda events: [
        {name: value for name, value in event.items() if name != field} if isinstance(event, dict) else event
        for event in events
    ]


def _without_usage(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if not (isinstance(event, dict) and "usage" in event)]


def _usage_everywhere(events: Sequence[Event]) -> list[Event]:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return [{**event, "usage": event.get("usage", usage)} if isinstance(event, dict) else event for event in events]


def ends_with(reason: object) -> Change:
    """Return what gives another reason for the answer's end."""

    def changed(events: Sequence[Event]) -> list[Event]:
        return [
            with_choice(event, finish_reason=reason)
            if isinstance(event, dict) and any(each.get("finish_reason") for each in event["choices"])
            else event
            for event in events
        ]

    return changed


def _no_finish(events: Sequence[Event]) -> list[Event]:
    return [
        event
        for event in events
        if not (isinstance(event, dict) and any(each.get("finish_reason") for each in event["choices"]))
    ]


def _without_done(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event != "[DONE]"]


def _after_done(events: Sequence[Event]) -> list[Event]:
    return [*events, *(event for event in events if has_text(event)), "[DONE]"]


def endless_text(events: Sequence[Event]) -> Iterator[Event]:
    """An answer without an end."""
    texts = [event for event in events if has_text(event)]
    return itertools.chain(events[:1], itertools.cycle(texts))


def endless_comments(events: Sequence[Event]) -> Iterator[Event]:
    """A beginning, and then only comments, which keep the connection awake."""
    return itertools.chain(events[:2], itertools.repeat(b": keep-alive\n\n"))


def huge_event(num_bytes: int, before: bytes, block: bytes = b"a" * (1 << 20)) -> Change:
    """Return a fault that sends an event of at least this many bytes as the third event."""
    count = -(-num_bytes // len(block))
    return lambda events: itertools.chain(events[:2], [before], itertools.repeat(block, count), events[2:])


def huge_body(num_bytes: int, before: bytes = b'{"object": "list", "data": [{"id": "') -> Reply:
    """Return JSON with one field of this many bytes."""
    block = b"a" * (1 << 20)
    return Reply(
        200,
        lambda: itertools.chain([before], itertools.repeat(block, -(-num_bytes // len(block)))),
        {"Content-Type": "application/json"},
    )


def packed_body(num_bytes: int) -> Reply:
    """Return JSON with one field, packed by gzip to an eighth of its `num_bytes`."""

    def packed() -> Iterator[bytes]:
        packer = zlib.compressobj(1, wbits=31)
        yield packer.compress(b'{"object": "list", "data": [{"id": "')
        for number in range(num_bytes >> 20):
            blocks = (random.Random(f"{number} {each}").randbytes(4096) for each in range(32))
            yield packer.compress(b"".join(block * 8 for block in blocks))

    return Reply(200, packed, {"Content-Type": "application/json", "Content-Encoding": "gzip"})


def endless_models() -> Reply:
    """Return a list of models without an end."""
    entries = (b'{"id": "m%d", "object": "model"}, ' % number for number in itertools.count())
    return Reply(
        200,
        lambda: itertools.chain([b'{"object": "list", "data": ['], (b"".join(each) for each in _many(entries))),
        {"Content-Type": "application/json"},
    )


def _many(entries: Iterator[bytes]) -> Iterator[list[bytes]]:
    while True:
        yield list(itertools.islice(entries, 1000))


def bytewise(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Send each byte alone."""
    return (bytes([byte]) for piece in pieces for byte in piece)


def together(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Send all events at once."""
    yield b"".join(pieces)


def split_at(*positions: int) -> Callable[[Iterator[bytes]], Iterator[bytes]]:
    """Return what cuts the body at these positions alone."""

    def split(pieces: Iterator[bytes]) -> Iterator[bytes]:
        body = b"".join(pieces)
        ends = sorted({0, len(body), *(at for at in positions if 0 < at < len(body))})
        return (body[begin:end] for begin, end in itertools.pairwise(ends))

    return split


def in_characters(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Cut within each character beyond ASCII."""
    rest = b""
    for piece in pieces:
        for byte in piece:
            rest += bytes([byte])
            if byte >= 0x80:
                yield rest
                rest = b""
        yield rest
        rest = b""


def _half_events(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        yield rest + piece[: len(piece) // 2]
        rest = piece[len(piece) // 2 :]
    yield rest


def _surrogates(event: Json) -> Iterator[Event]:
    """Send the halves of surrogate pairs in different events."""
    for character in text_of(event):
        units = character.encode("utf-16-be", "surrogatepass")
        for at in range(0, len(units), 2):
            yield with_delta(event, content=units[at : at + 2].decode("utf-16-be", "surrogatepass"))


_FAILURE = {"error": {"message": "The worker ran out of memory.", "type": "server_error", "code": 500}}
_DELTA = b'data: {"choices": [{"index": 0, "delta": {"content": "'

WHOLE: Mapping[str, Fault] = {
    "split in each byte": Fault(split=bytewise),
    "split in characters": Fault(split=in_characters),
    "half events": Fault(split=_half_events),
    "all events in one packet": Fault(split=together),
    "CRLF": Fault(line_end="\r\n"),
    "CRLF in each byte": Fault(line_end="\r\n", split=bytewise),
    "CR": Fault(line_end="\r"),
    "comments": Fault(comment=": keep-alive"),
    "named events": Fault(comment="event: message\nid: 7\nretry: 1"),
    "no space behind the colon": Fault(space=""),
    "escapes": Fault(is_ascii=True),
    "a byte order mark": Fault(change=lambda events: [b"\xef\xbb\xbf", *events]),
    "a length": Fault(framing="length"),
    "the connection's end as the end": Fault(framing="close"),
    "gzip": Fault(is_packed=True),
    "no usage": Fault(change=_without_usage),
    "usage in each event": Fault(change=_usage_everywhere),
    "usage is null": Fault(change=lambda events: [{"usage": None, **e} if isinstance(e, dict) else e for e in events]),
    "no reason at the end": Fault(change=ends_with(None)),
    "an unknown reason": Fault(change=ends_with("end_of_turn")),
    "a number as the reason": Fault(change=ends_with(7)),
    "no last event": Fault(change=_no_finish),
    "no [DONE]": Fault(change=_without_done),
    "text after [DONE]": Fault(change=_after_done),
    "a reason in each event": Fault(change=lambda events: [with_choice(event, finish_reason="") for event in events]),
    "role alone": Fault(change=each_text(lambda event: [with_delta(event, role="assistant", content=None), event])),
    "content is null": Fault(change=each_text(lambda event: [with_delta(event, content=None), event])),
    "delta is null": Fault(change=each_text(lambda event: [with_choice(event, delta=None), event])),
    "empty choices": Fault(change=each_text(lambda event: [{**event, "choices": []}, event])),
    "choices are null": Fault(change=each_text(lambda event: [{**event, "choices": None}, event])),
    "no id and no model": Fault(change=lambda events: without("id")(list(without("model")(events)))),
    "no object": Fault(change=without("object")),
    "duplicated events": Fault(change=each_text(lambda event: [event, event])),
    "surrogates apart": Fault(change=each_text(_surrogates), is_ascii=True),
    "the text goes on behind a stop string": Fault(ignores_stop=True),
    "JSON instead of a stream": Fault(ignores_stream=True),
    "unknown fields": Fault(change=each_text(lambda event: [{**event, "timings": {"cache_n": 3}, "x": [None]}])),
}
"""Faults after which a client can show all that the model wrote."""

BEGINNING: Mapping[str, Fault] = {
    "an error in the stream": Fault(change=only_before_text(_FAILURE, "[DONE]")),
    "an error as text": Fault(change=only_before_text({"error": "The worker ran out of memory."})),
    "an error event": Fault(change=only_before_text(b'event: error\ndata: {"message": "Overloaded"}\n\n')),
    "no JSON": Fault(change=only_before_text("{this is no JSON")),
    "HTML in the stream": Fault(change=only_before_text("<html>502</html>")),
    "a number as an event": Fault(change=only_before_text("7")),
    "deep JSON": Fault(change=only_before_text("[" * 200_000)),
    "a long number": Fault(change=only_before_text('{"choices": [{"index": ' + "9" * 10_000 + "}]}")),
    "bytes that are no UTF-8": Fault(
        change=only_before_text(b'data: {"choices": [{"delta": {"content": "\xff"}}]}\n\n')
    ),
    "a cut": Fault(end="cut", after_bytes=700),
    "a cut before the length": Fault(end="cut", after_bytes=700, framing="length"),
    "a reset": Fault(end="reset", after_bytes=700),
    "an end of the connection as the end, too early": Fault(end="cut", after_bytes=700, framing="close"),
}
"""Faults after which a client can show the beginning, and must say that the rest is missing."""


def _status(status: int, message: str, **headers: str) -> Fault:
    return Fault(reply=error(status, message, **headers))


def retry_date(seconds: int) -> str:
    """Return a date for Retry-After."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


NOTHING: Mapping[str, Fault] = {
    "400": _status(400, "top_k is no known field."),
    "400 in vLLM's shape": Fault(reply=json_reply({"object": "error", "message": "The prompt is too long."}, 400)),
    "400 as a text in JSON": Fault(reply=json_reply({"error": "The prompt is too long."}, 400)),
    "422 in FastAPI's shape": Fault(reply=json_reply({"detail": [{"loc": ["body"], "msg": "Field required"}]}, 422)),
    "401": _status(401, "Incorrect API key provided."),
    "403": _status(403, "This key may not use this model."),
    "404": _status(404, "The model does not exist."),
    "413": _status(413, "The body is too large."),
    "429": _status(429, "Too many requests."),
    "429 with seconds": _status(429, "Too many requests.", retry_after="1"),
    "429 with hours": _status(429, "Too many requests.", retry_after="7200"),
    "429 with a date": Fault(reply=error(429, "Too many requests.", retry_after="Thu, 01 Jan 2099 00:00:00 GMT")),
    "429 with a date that has passed": _status(429, "Too many requests.", retry_after="Thu, 01 Jan 1970 00:00:00 GMT"),
    "429 with nonsense": _status(429, "Too many requests.", retry_after="soon"),
    "429 with a negative time": _status(429, "Too many requests.", retry_after="-5"),
    "500": _status(500, "The server failed."),
    "500 without a body": Fault(reply=Reply(500)),
    "502 with HTML": Fault(reply=_BAD_GATEWAY),
    "503": _status(503, "The model is being loaded.", retry_after="1"),
    "HTML instead of JSON": Fault(reply=_HTML),
    "an empty body": Fault(reply=Reply(200, b"", {"Content-Type": "text/event-stream"})),
    "204": Fault(reply=Reply(204)),
    "a JSON list": Fault(reply=json_reply([])),
    "a JSON error with status 200": Fault(reply=json_reply(_FAILURE)),
    "a redirect to itself": Fault(reply=Reply(307, b"", {"Location": "/v1/chat/completions"})),
    "an unknown packing": Fault(reply=Reply(200, b"\0\1\2", {"Content-Encoding": "gzip"})),
    "a cut before the first byte": Fault(end="cut"),
    "a reset before the first byte": Fault(end="reset"),
}
"""Faults after which a client can show nothing, and must say why."""

ENDLESS: Mapping[str, Fault] = {
    "a stall before the headers": Fault(stalls_before_headers=True),
    "a stall after the headers": Fault(end="stall"),
    "a stall in the text": Fault(end="stall", after_bytes=700),
    "a text without an end": Fault(change=endless_text),
    "comments without an end": Fault(change=endless_comments),
}
"""Replies that end only when the client leaves. It must free the server then."""

HUGE: Mapping[str, Fault] = {
    "gigabytes in a field": Fault(
        change=huge_event(4 << 30, b'data: {"choices": [{"index": 0, "delta": {"content": "')
    ),
    "gigabytes in a line": Fault(change=huge_event(4 << 30, b": ")),
    "gigabytes in a reply": Fault(reply=huge_body(4 << 30)),
    "gigabytes in a packed reply": Fault(reply=packed_body(4 << 30)),
    "gigabytes in an error": Fault(reply=Reply(500, huge_body(4 << 30).body, {"Content-Type": "application/json"})),
}
"""More than a client may read."""

HOSTILE_NAMES = (
    "",
    " ",
    "a/b/c",
    "../../etc/passwd",
    "\x1b]0;owned\x07\x1b[31mred",
    "user\u202egnp.exe",
    "line\nbreak\r\n\ttab",
    "\0nul",
    "<b>bold</b><img src='http://127.0.0.1/x'>",
    "%s%n{0}",
    "\ud800",
    "👩‍👩‍👧" * 100,
    "e" + "\u0301" * 1000,
    "m" * 1_000_000,
)
"""Names of models that no server should give, but some do."""
