"""The server with which endpoints are tested does what the names of its faults say."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
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
    split_at,
)
from tests.endpoint_server import (
    EndpointServer,
    Fault,
    Script,
    ToolCall,
    redirect,
    refused_url,
    text_of,
    write_certificate,
)

_ASKED = {"model": "script", "messages": [{"role": "user", "content": "Hello"}]}
_STREAM = {**_ASKED, "stream": True, "stream_options": {"include_usage": True}}
_TEXT = "".join(Script().pieces)


@pytest.fixture(scope="module")
def shared() -> Iterator[EndpointServer]:
    with EndpointServer() as server:
        yield server


@pytest.fixture
def server(shared: EndpointServer) -> EndpointServer:
    shared.forget_faults()
    shared.requests.clear()
    while not shared.arrived.empty():
        shared.arrived.get()
    return shared


def _connect(server: EndpointServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE_S)


def _ask(
    server: EndpointServer, body: Any = None, fault: Fault | None = None, *, path: str = "/v1/chat/completions"
) -> tuple[http.client.HTTPResponse, bytes]:
    """Ask for a stream; return the reply and as much of its body as came."""
    if fault is not None:
        server.fail(path, fault)
    connection = _connect(server)
    connection.request("GET" if path == "/v1/models" else "POST", path, json.dumps(body or _STREAM))
    reply = connection.getresponse()
    try:
        return reply, reply.read()
    except (http.client.IncompleteRead, ConnectionError) as why:
        return reply, why.partial if isinstance(why, http.client.IncompleteRead) else b""
    finally:
        connection.close()


def _data(body: bytes) -> list[str]:
    """Read server-sent events as their specification says."""
    lines = body.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line.removeprefix("data:").removeprefix(" ") for line in lines if line.startswith("data:")]


def _chunks(body: bytes) -> list[dict[str, Any]]:
    found = [json.loads(data) for data in _data(body) if data.startswith("{") and data.endswith("}")]
    return [chunk for chunk in found if isinstance(chunk, dict)]


def _text(chunks: Sequence[dict[str, Any]], choice: int = 0) -> str:
    return "".join(text_of(chunk, choice) for chunk in chunks)


def _unpacked(reply: http.client.HTTPResponse, body: bytes) -> bytes:
    return gzip.decompress(body) if reply.getheader("Content-Encoding") == "gzip" else body


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_text_can_be_read_in_spite_of_a_fault(server: EndpointServer, name: str) -> None:
    reply, body = _ask(server, fault=WHOLE[name])
    assert reply.status == 200
    (request,) = server.requests
    assert request.over.wait(PATIENCE_S)
    assert request.ended == "whole"
    if name == "JSON instead of a stream":
        assert json.loads(body)["choices"][0]["message"]["content"] == _TEXT
        return
    read = _text(_chunks(_unpacked(reply, body))).encode("utf-16", "surrogatepass").decode("utf-16")
    doubled = "".join(piece * 2 for piece in Script().pieces)
    assert read == {"duplicated events": doubled, "text after [DONE]": _TEXT * 2}.get(name, _TEXT)


@pytest.mark.parametrize("name", BEGINNING)
def test_a_beginning_can_be_read_before_a_fault(server: EndpointServer, name: str) -> None:
    _, body = _ask(server, fault=BEGINNING[name])
    (request,) = server.requests
    assert request.over.wait(PATIENCE_S)
    assert request.ended == ("cut" if BEGINNING[name].end != "whole" else "whole")
    assert "[DONE]" not in _data(body)[:-1] or name == "an error in the stream"
    if name != "a reset":  # the machine may throw away what came before
        beginning = "".join(text_of(json.loads(data)) for data in _data(body)[:2])
        assert _TEXT.startswith(beginning)
        assert 0 < len(beginning) < len(_TEXT)


@pytest.mark.parametrize("name", NOTHING)
def test_faults_that_end_a_reply_before_its_text(server: EndpointServer, name: str) -> None:
    fault = NOTHING[name]
    reply, body = _ask(server, fault=fault)
    assert not any(has.get("choices") for has in _chunks(body))
    if fault.reply is not None:
        assert reply.status == fault.reply.status
        for header, text in fault.reply.headers.items():
            assert reply.getheader(header) == text


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_reply_ends_when_the_client_leaves(server: EndpointServer, name: str) -> None:
    server.fail("chat", ENDLESS[name])
    connection = _connect(server)
    connection.request("POST", "/v1/chat/completions", json.dumps(_STREAM))
    request = server.arrived.get(timeout=PATIENCE_S)
    if name != "a stall before the headers":
        reply = connection.getresponse()
        if "after" not in name:
            reply.read(500)
        reply.close()
    if "stall" in name:
        assert request.stalled.wait(PATIENCE_S)
    assert not request.over.is_set()
    connection.close()
    assert request.over.wait(PATIENCE_S)
    assert request.ended == "by client"
    assert request.ended_at is not None


def test_a_stall_ends_on_demand(server: EndpointServer) -> None:
    server.fail("chat", Fault(end="stall", after_bytes=700))
    connection = _connect(server)
    connection.request("POST", "/v1/chat/completions", json.dumps(_STREAM))
    reply = connection.getresponse()
    first = reply.read(700)
    (request,) = server.requests
    assert request.stalled.wait(PATIENCE_S)
    assert request.num_sent == 700
    request.go_on()
    assert _text(_chunks(first + reply.read())) == _TEXT
    connection.close()


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_reply_comes_until_the_client_leaves(server: EndpointServer, name: str) -> None:
    server.fail("chat", HUGE[name])
    connection = _connect(server)
    connection.request("POST", "/v1/chat/completions", json.dumps(_STREAM))
    reply = connection.getresponse()
    assert len(reply.read(3 << 20)) == 3 << 20
    reply.close()
    connection.close()
    (request,) = server.requests
    assert request.over.wait(PATIENCE_S)
    assert request.ended == "by client"


def test_a_list_of_models_without_an_end(server: EndpointServer) -> None:
    server.fail("models", Fault(reply=endless_models()))
    connection = _connect(server)
    connection.request("GET", "/v1/models")
    reply = connection.getresponse()
    begin = reply.read(1 << 20)
    assert begin.count(b'"object": "model"') > 20_000
    reply.close()
    connection.close()
    assert server.requests[0].over.wait(PATIENCE_S)


@given(st.lists(st.integers(1, 3000)), st.sampled_from(["chunks", "length", "close"]))
def test_pieces_are_cut_where_a_test_says(shared: EndpointServer, positions: list[int], framing: Any) -> None:
    _, whole = _ask(shared)
    reply, body = _ask(shared, fault=Fault(split=split_at(*positions), framing=framing))
    assert reply.status == 200
    assert body == whole


@given(st.integers(0, 2000), st.sampled_from(["chunks", "length", "close"]))
def test_a_connection_is_cut_at_any_byte(shared: EndpointServer, at: int, framing: Any) -> None:
    _, whole = _ask(shared)
    _, body = _ask(shared, fault=Fault(end="cut", after_bytes=at, framing=framing))
    assert body == whole[:at]
    assert shared.requests[-1].over.wait(PATIENCE_S)
    assert shared.requests[-1].num_sent == min(at, len(whole))


def test_the_answer_follows_the_request(server: EndpointServer) -> None:
    def ask(**fields: Any) -> list[dict[str, Any]]:
        return _chunks(_ask(server, {**_STREAM, **fields})[1])

    stopped = ask(stop=["世"])
    assert (_text(stopped), stopped[-2]["choices"][0]["finish_reason"]) == ("Füße laufen,\n", "stop")
    short = ask(max_tokens=2)
    assert (_text(short), short[-2]["choices"][0]["finish_reason"]) == ("Füße laufen", "length")
    several = ask(n=3)
    assert [_text(several, index) for index in range(3)] == [_TEXT, f"{_TEXT} (1)", f"{_TEXT} (2)"]
    assert [chunk["choices"][0]["index"] for chunk in several[:6]] == [0, 1, 2, 0, 1, 2]
    (first, *_) = (chunk["choices"][0] for chunk in ask(logprobs=True, top_logprobs=2) if text_of(chunk))
    (token,) = first["logprobs"]["content"]
    assert token["token"] == "Füße"
    assert len(token["top_logprobs"]) == 2
    usage = short[-1]["usage"]
    assert usage["completion_tokens"] == 2
    assert usage["prompt_tokens_details"]["cached_tokens"] > 0
    _, late = _ask(server, {**_STREAM, "stop": ["世"]}, Fault(ignores_stop=True))
    assert _text(_chunks(late)) == _TEXT


def test_a_given_answer_is_continued_as_the_script_says() -> None:
    body = {**_STREAM, "messages": [*_ASKED["messages"], {"role": "assistant", "content": "Füße "}]}
    scripts = {kind: Script(given_answer=kind) for kind in ("anew", "rest", "echo", "refused")}
    with EndpointServer(scripts) as server:
        texts: dict[str, list[str]] = {}
        for kind in scripts:
            for flags in ({}, {"continue_final_message": True}):
                texts.setdefault(kind, []).append(_text(_chunks(_ask(server, {**body, "model": kind, **flags})[1])))
    assert texts == {
        "anew": [_TEXT, _TEXT],
        "rest": [_TEXT, _TEXT.removeprefix("Füße ")],
        "echo": [_TEXT, _TEXT],
        "refused": ["", ""],
    }


def test_reasoning_and_calls_of_tools_come_in_pieces() -> None:
    names = ("reasoning_content", "reasoning", "text")
    scripts = {name: Script(reasoning=("Let ", "me see."), reasoning_in=name) for name in names}
    with EndpointServer({**scripts, "caller": Script(tool_calls=(ToolCall(), ToolCall(id="call_2")))}) as server:
        for name in names[:2]:
            chunks = _chunks(_ask(server, {**_STREAM, "model": name})[1])
            deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
            assert "".join(delta.get(name, "") for delta in deltas) == "Let me see."
        assert _text(_chunks(_ask(server, {**_STREAM, "model": "text"})[1])).startswith("<think>Let me see.</think>")
        chunks = _chunks(_ask(server, {**_STREAM, "model": "caller"})[1])
    calls = [call for chunk in chunks for each in chunk["choices"] for call in each["delta"].get("tool_calls", ())]
    for index in range(2):
        arguments = "".join(call["function"]["arguments"] for call in calls if call["index"] == index)
        assert json.loads(arguments) == {"city": "Köln", "days": 3}


def test_a_wrong_key_is_refused_and_models_are_listed_under_any_name() -> None:
    with EndpointServer({name: Script() for name in HOSTILE_NAMES}, key="right") as server:
        assert _ask(server, path="/v1/models")[0].status == 401
        connection = _connect(server)
        connection.request("GET", "/v1/models", headers={"Authorization": "Bearer right"})
        assert [model["id"] for model in json.loads(connection.getresponse().read())["data"]] == [*HOSTILE_NAMES]
        connection.close()


def test_a_redirect_names_another_host() -> None:
    with EndpointServer() as other, EndpointServer() as server:
        reply, _ = _ask(server, fault=Fault(reply=redirect(f"{other.url}/chat/completions")))
        assert (reply.status, reply.getheader("Location")) == (307, f"{other.url}/chat/completions")
        assert not other.requests


def test_ipv6() -> None:
    with EndpointServer(host="::1") as server:
        connection = http.client.HTTPConnection("::1", server.port, timeout=PATIENCE_S)
        connection.request("GET", "/v1/models")
        assert connection.getresponse().status == 200
        connection.close()


def test_an_unknown_certificate_is_refused(tmp_path: Path) -> None:
    unknown_certificate = write_certificate(tmp_path)
    with EndpointServer(certificate=unknown_certificate) as server:
        with pytest.raises(ssl.SSLCertVerificationError):
            http.client.HTTPSConnection(server.host, server.port, timeout=PATIENCE_S).request("GET", "/v1/models")
        known = ssl.create_default_context(cafile=str(unknown_certificate))
        known.check_hostname = False
        with (
            socket.create_connection((server.host, server.port), PATIENCE_S) as plain,
            known.wrap_socket(plain) as connection,
        ):
            connection.sendall(b"GET /v1/models HTTP/1.0\r\n\r\n")
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
            connection.sendall(b"x")


def test_a_refused_connection() -> None:
    port = urlsplit(refused_url()).port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port or 0), PATIENCE_S)
