"""Servers with every known fault: what is shown equals a plain reading of what the server sent, and nothing is lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.driver import PATIENCE_S
from tests.endpoint_faults import (
    BEGINNING,
    ENDLESS,
    HOSTILE_NAMES,
    HUGE,
    NOTHING,
    WHOLE,
    endless_models,
    only_before_text,
    split_at,
)
from tests.endpoint_server import EndpointServer, Fault, Received, Reply, Script, error, redirect, refused_url, text_of
from tests.worker.endpoints.asking import Asking
from worker.protocol import (
    Cancel,
    CheckEndpoint,
    Endpoint,
    EndpointChecked,
    Failed,
    Finished,
    ListHooks,
    RequestId,
    Secret,
)

KEY = "sk-of-the-tests-1234"
_TEXT = "".join(Script().pieces)
_MAX_BYTES = 64 << 20
"""The most bytes that a client may read of a reply that is too long."""


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with Asking() as started:
        yield started
        assert KEY not in repr(started.events)


@pytest.fixture(scope="module")
def shared(asking: Asking) -> Iterator[EndpointServer]:
    with EndpointServer(key=KEY) as server:
        asking.loaded(server.url, key=KEY)
        yield server


@pytest.fixture
def server(shared: EndpointServer, asking: Asking) -> EndpointServer:
    _begin(asking, shared)
    return shared


def _begin(asking: Asking, server: EndpointServer) -> None:
    """Forget what came before."""
    server.forget_faults()
    server.requests.clear()
    asking.events.clear()
    while not server.arrived.empty():
        server.arrived.get()


def _plain_text(sent: bytes, *, has_last: bool) -> str:
    """Read a stream of events in the plainest way. `has_last`: also the event that no empty line has ended."""
    lines = re.split(r"\r\n|\n|\r", sent.decode("utf-8", "replace").removeprefix("\ufeff"))
    text, data = "", ""
    for line in [*lines[:-1], *([lines[-1], ""] if has_last else [])]:
        if line.startswith("data:"):
            data = line.removeprefix("data:").strip()
        if line or not data:
            continue
        if data == "[DONE]":
            break
        try:
            event: Any = json.loads(data)
        except (ValueError, RecursionError):
            break
        data = ""
        if not isinstance(event, dict) or "error" in event:
            break
        text += text_of(event)
        if any(each.get("finish_reason") for each in event.get("choices") or ()):
            break
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")


def _readings(request: Received) -> set[str]:
    return {_plain_text(bytes(request.sent), has_last=has_last) for has_last in (False, True)}


def _before(text: str, stops: list[str]) -> str:
    """Return the text before the stop string that ends first."""
    ends = [(text.index(stop) + len(stop), -len(stop)) for stop in stops if stop in text]
    if not ends:
        return text
    end, negative = min(ends)
    return text[: end + negative]


def _ends_once(asking: Asking, request_id: RequestId) -> None:
    """Check that a command ended in one terminal event."""
    hooks = ListHooks(request_id=f"{request_id}-then")
    asking.send(hooks)
    asking.end(hooks.request_id)
    ends = [each for each in asking.events if each.request_id == request_id and isinstance(each, Finished | Failed)]
    assert len(ends) == 1


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_text_is_shown_in_spite_of_a_fault(asking: Asking, server: EndpointServer, name: str) -> None:
    server.fail("chat", WHOLE[name])
    request_id = asking.ask()
    end = asking.end(request_id)
    assert isinstance(end, Finished), end
    doubled = "".join(piece * 2 for piece in Script().pieces)
    assert end.choices[0].text == asking.shown(request_id) == (doubled if name == "duplicated events" else _TEXT)
    _ends_once(asking, request_id)


@pytest.mark.parametrize("name", BEGINNING)
def test_the_beginning_is_kept_and_the_failure_is_reported(asking: Asking, server: EndpointServer, name: str) -> None:
    server.fail("chat", BEGINNING[name])
    request_id = asking.ask()
    end = asking.end(request_id)
    assert isinstance(end, Failed), end
    assert end.kind == "endpoint_failed"
    assert "Test" in end.message
    shown = asking.shown(request_id)
    # After a reset the machine may throw away what came before.
    assert shown in _readings(server.requests_of("chat")[0]) or (name == "a reset" and _TEXT.startswith(shown))
    _ends_once(asking, request_id)


def test_failures_before_the_first_text_are_reported(asking: Asking, shared: EndpointServer) -> None:
    """All faults at once, because the client waits before it tries again."""
    servers: list[EndpointServer] = []
    asked: dict[str, RequestId] = {}
    try:
        for name, fault in NOTHING.items():
            server = EndpointServer(key=KEY)
            servers.append(server)
            server.__enter__()
            asking.loaded(server.url, key=KEY)
            server.requests.clear()
            server.fail("chat", fault, times=10)
            asked[name] = asking.ask()
        for name, request_id in asked.items():
            end = asking.end(request_id)
            assert isinstance(end, Failed), (name, end)
            assert (end.kind, "Test" in end.message) == ("endpoint_failed", True), (name, end)
            assert len(end.message) < 1000, name
            assert not asking.shown(request_id), name
            _ends_once(asking, request_id)
        num_tries = {name: len(server.requests_of("chat")) for name, server in zip(asked, servers, strict=True)}
        assert max(num_tries.values()) <= 3
        assert {num_tries[name] for name in ("400", "401", "403", "404", "HTML instead of JSON")} == {1}
        assert num_tries["503"] > 1
    finally:
        asking.loaded(shared.url, key=KEY)
        for server in servers:
            server.__exit__()


@pytest.mark.parametrize("name", ENDLESS)
def test_a_cancelled_answer_frees_the_server(asking: Asking, server: EndpointServer, name: str) -> None:
    server.fail("chat", ENDLESS[name])
    request_id = asking.ask()
    request = server.arrived.get(timeout=PATIENCE_S)
    if "stall" in name:
        assert request.stalled.wait(PATIENCE_S)
    if name in {"a text without an end", "comments without an end"}:
        while not asking.shown(request_id):
            asking.next()
    asking.send(Cancel(request_id=f"{request_id}-cancel", target=request_id))
    end = asking.end(request_id)
    assert isinstance(end, Finished), end
    assert end.choices[0].reason == "cancelled"
    assert end.choices[0].text == asking.shown(request_id)
    assert request.over.wait(PATIENCE_S)
    assert request.ended == "by client"
    _ends_once(asking, request_id)


@pytest.mark.parametrize("name", [name for name in ENDLESS if "stall" in name])
def test_a_silent_server_is_disconnected(asking: Asking, server: EndpointServer, name: str) -> None:
    asking.loaded(server.url, key=KEY, silence_s=0.2)
    server.fail("chat", ENDLESS[name], times=10)
    request_id = asking.ask()
    end = asking.end(request_id)
    server.forget_faults()
    request = server.requests_of("chat")[-1]
    asking.loaded(server.url, key=KEY)
    assert isinstance(end, Failed), end
    assert "has sent nothing" in end.message
    assert asking.shown(request_id) in _readings(request)
    assert request.over.wait(PATIENCE_S)
    assert request.ended == "by client"


@pytest.mark.parametrize("name", HUGE)
def test_replies_that_are_too_long_are_not_read(asking: Asking, server: EndpointServer, name: str) -> None:
    server.fail("chat", HUGE[name], times=10)
    request_id = asking.ask()
    end = asking.end(request_id)
    assert isinstance(end, Failed), end
    assert end.kind == "endpoint_failed"
    for request in server.requests_of("chat"):
        assert request.over.wait(PATIENCE_S)
        assert request.num_sent < (_MAX_BYTES // 4 if "packed" in name else _MAX_BYTES)
    _ends_once(asking, request_id)


@settings(max_examples=25)
@given(data=st.data())
def test_a_reply_in_any_pieces_and_cut_anywhere_shows_the_text_that_was_sent(
    shared: EndpointServer, asking: Asking, data: st.DataObject
) -> None:
    _begin(asking, shared)
    begin = data.draw(st.lists(st.integers(0, len(_TEXT) - 1), max_size=3))
    stops = [_TEXT[at : at + data.draw(st.integers(1, 6))] for at in begin]
    fault = Fault(
        split=split_at(*data.draw(st.lists(st.integers(1, 2500), max_size=40))),
        line_end=data.draw(st.sampled_from(["\n", "\r\n", "\r"])),
        comment=data.draw(st.sampled_from([None, ": keep-alive"])),
        is_ascii=data.draw(st.booleans()),
        framing=data.draw(st.sampled_from(["chunks", "length", "close"])),
        end=data.draw(st.sampled_from(["whole", "cut"])),
        after_bytes=data.draw(st.integers(1, 2500)),
        change=data.draw(st.sampled_from([WHOLE["no [DONE]"], WHOLE["surrogates apart"], Fault()])).change,
    )
    if fault.change is WHOLE["surrogates apart"].change:
        fault = replace(fault, is_ascii=True)
    shared.fail("chat", fault)
    request_id = asking.ask(stop=stops)
    end = asking.end(request_id)
    request = shared.requests_of("chat")[-1]
    assert request.over.wait(PATIENCE_S)
    shown = asking.shown(request_id)
    assert not any(stop in shown for stop in stops)
    if isinstance(end, Finished):
        assert end.choices[0].text == shown == _before(_TEXT, stops)
    else:
        assert isinstance(end, Failed)
        assert fault.end == "cut", end
        # An answer of which only the usage is missing is whole.
        assert b'"finish_reason": "stop"' not in request.sent
        assert shown in {_before(text, stops) for text in _readings(request)}
        assert not any(stop in _plain_text(bytes(request.sent), has_last=False) for stop in stops)
    _ends_once(asking, request_id)


def test_a_key_does_not_follow_a_redirect(asking: Asking, server: EndpointServer) -> None:
    with EndpointServer(key=KEY) as other:
        server.fail("chat", Fault(reply=redirect(f"{other.url}/chat/completions")), times=10)
        end = asking.end(asking.ask())
        assert isinstance(end, Failed)
        assert other.requests == []


def test_models_with_hostile_names_are_listed(asking: Asking) -> None:
    with EndpointServer({name: Script() for name in HOSTILE_NAMES}, key=KEY) as server:
        endpoint = Endpoint(url=server.url, name="Test", key=Secret(KEY))
        end = asking.end(asking.send(CheckEndpoint(request_id="hostile", endpoint=endpoint)))
        assert isinstance(end, EndpointChecked), end
        assert {"a/b/c", "../../etc/passwd", "%s%n{0}"} <= {*end.models} < {*HOSTILE_NAMES}
        assert not any("\x1b" in name or "\u202e" in name or len(name) > 10_000 for name in end.models)


@pytest.mark.parametrize("what", ["endless", "list", "HTML", "empty", "401", "refused", "deep", "no names"])
def test_an_unreadable_list_of_models_is_reported(asking: Asking, what: str) -> None:
    with EndpointServer(key=KEY) as server:
        url = refused_url() if what == "refused" else server.url
        faults = {
            "endless": Fault(reply=endless_models()),
            "list": NOTHING["a JSON list"],
            "HTML": NOTHING["HTML instead of JSON"],
            "empty": NOTHING["an empty body"],
            "401": NOTHING["401"],
            "refused": Fault(),
            "deep": Fault(reply=replace(_json(""), body=b"[" * 100_000)),
            "no names": Fault(reply=_json('{"data": [{"id": 7}, {"id": null}, 3, {}]}')),
        }
        server.fail("models", faults[what], times=10)
        endpoint = Endpoint(url=url, name="Test", key=Secret(KEY))
        end = asking.end(asking.send(CheckEndpoint(request_id=f"list {what}", endpoint=endpoint)))
        assert isinstance(end, Failed), end
        assert (end.kind, "Test" in end.message) == ("endpoint_failed", True)
        assert all(request.num_sent < _MAX_BYTES for request in server.requests)


def _json(text: str) -> Any:
    return replace(NOTHING["400"].reply or redirect(""), status=200, body=text.encode())


@pytest.mark.parametrize("name", ["in an error", "in the stream", "in HTML", "where an excerpt ends"])
def test_a_key_that_the_server_repeats_is_not_shown(asking: Asking, server: EndpointServer, name: str) -> None:
    said = f"The key {KEY} may not use this model."
    faults = {
        "in an error": Fault(reply=error(400, said)),
        "in the stream": Fault(change=only_before_text({"error": {"message": said}})),
        "where an excerpt ends": Fault(reply=error(400, f"{'a' * 190} {KEY}")),
        "in HTML": Fault(reply=Reply(404, f"<pre>Authorization: Bearer {KEY}</pre>".encode())),
    }
    server.fail("chat", faults[name])
    end = asking.end(asking.ask())
    assert isinstance(end, Failed), end
    assert "Test" in end.message
    assert KEY[:6] not in repr(end)
