"""The local API's server: who may use it, clients that go, workers that die, and its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.app.serving.conftest import LONG_PIECE
from tests.app.serving.owned import Owned
from tests.app.serving.running import KEY, Bough
from tests.driver import PATIENCE_S, ROOT
from tests.later import openai
from worker.protocol import Chunk, Finished

_MAX_REQUESTS = 3
_TOOL: dict[str, Any] = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
_ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Will it rain in Rome?"}],
    "tools": [{"type": "function", "function": _TOOL}],
    "temperature": 0,
}


@pytest.fixture(scope="module")
def shared(talker: Path) -> Iterator[Owned]:
    with Owned(
        talker,
        allowed_origins=("https://good.example",),
        allowed_hosts=("studio.local",),
        max_body_bytes=100_000,
        max_bodies_bytes=150_000,
        max_connections=20,
        max_requests=_MAX_REQUESTS,
        head_s=1.0,
        body_s=1.0,
        write_s=1.0,
    ) as owned:
        yield owned.ready()


@pytest.fixture
def owned(shared: Owned) -> Owned:
    """The owner that all tests of this module share, without the events of earlier tests."""
    while not shared.events.empty():
        shared.events.get()
    return shared


# --- who may -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:99", 200),
        ("studio.local:2684", 200),
        ("STUDIO.local", 200),
        ("evil.example", 403),
        ("192.168.1.7", 403),
        ("", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example:80", 403),
    ],
)
def test_only_names_of_this_machine_are_served(owned: Owned, host: str, status: int) -> None:
    connection = owned.connection()
    connection.putrequest("GET", "/v1/models", skip_host=True)
    connection.putheader("Host", host)
    connection.putheader("Authorization", f"Bearer {KEY}")
    connection.endheaders()
    assert connection.getresponse().status == status
    connection.close()


def test_web_pages_are_refused_unless_they_are_named(owned: Owned) -> None:
    for origin in ("https://evil.example", "null", "http://localhost:3000", "https://good.example.evil"):
        status, headers, value = owned.request("GET", "/v1/models", Origin=origin)
        assert status == 403
        assert "access-control-allow-origin" not in headers
        assert value["error"]["type"] == "permission_error"
    status, headers, _ = owned.request("GET", "/v1/models", Origin="https://good.example")
    assert (status, headers["access-control-allow-origin"], headers["vary"]) == (200, "https://good.example", "Origin")
    assert "access-control-allow-origin" not in owned.request("GET", "/v1/models")[1]


def test_a_page_asks_first_without_the_key(owned: Owned) -> None:
    asked = {"Origin": "https://good.example", "Access_Control_Request_Headers": "authorization", "Authorization": ""}
    status, headers, _ = owned.request("OPTIONS", "/v1/chat/completions", **asked)
    assert (status, headers["access-control-allow-headers"]) == (204, "authorization")
    assert owned.request("OPTIONS", "/v1/chat/completions", **asked | {"Origin": "https://evil.example"})[0] == 403
    # The page's own request has an origin and needs the key.
    assert owned.request("GET", "/v1/models", Origin="https://good.example", Authorization="")[0] == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": ""},
        {"Authorization": f"Basic {KEY}"},
        {"Authorization": f"Bearer {KEY}x"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer ключ".encode().decode("latin-1")},
        {"Authorization": "", "x_api_key": KEY[:-1]},
    ],
    ids=str,
)
def test_without_the_key_nothing_is_answered(owned: Owned, headers: dict[str, str]) -> None:
    for method, path in (("GET", "/v1/models"), ("POST", "/v1/chat/completions"), ("GET", "/nowhere")):
        status, found, value = owned.request(method, path, **headers)
        assert (status, found["www-authenticate"]) == (401, "Bearer")
        assert value["error"]["message"]
        assert KEY not in str(value)


def test_both_headers_can_carry_the_key(owned: Owned) -> None:
    assert owned.request("GET", "/v1/models", Authorization="", x_api_key=KEY)[0] == 200
    assert owned.request("GET", "/v1/models", Authorization=f"bearer {KEY}")[0] == 200


def test_a_body_that_is_too_large_is_refused_before_it_is_read(owned: Owned) -> None:
    status, headers, value = owned.request("POST", "/v1/chat/completions", b" " * 100_001)
    assert (status, headers["connection"]) == (413, "close")
    assert value["error"]["type"] == "invalid_request_error"
    # Without a length, it is refused while it is read.
    connection = owned.connection()
    connection.request(
        "POST",
        "/v1/chat/completions",
        iter([b"x" * 60_000] * 2),
        {"Authorization": f"Bearer {KEY}"},
        encode_chunked=True,
    )
    assert connection.getresponse().status == 413
    connection.close()


def test_a_client_that_offers_http_2_is_answered_in_http_1(owned: Owned) -> None:
    """Java's client does this, which the plug-ins of some editors use."""
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2_Settings": "AAEAAEAAAAIAAAAB"}
    body = {**_ASKED, "model": owned.status.model.id, "max_tokens": 2}
    assert owned.request("POST", "/v1/chat/completions", body, **offer)[0] == 200


def test_endless_headers_are_refused_and_a_request_in_several_parts_is_answered(owned: Owned) -> None:
    """Send two requests on one connection, both in pieces; then send an endless head."""
    connection = owned.connection()
    data = json.dumps({**_ASKED, "model": owned.status.model.id, "max_tokens": 2}).encode()
    for _ in range(2):
        connection.request(
            "POST",
            "/v1/chat/completions",
            iter([data[:9], data[9:]]),
            {"Authorization": f"Bearer {KEY}"},
            encode_chunked=True,
        )
        reply = connection.getresponse()
        assert reply.status == 200
        reply.read()
    connection.close()
    with socket.create_connection(owned.address, PATIENCE_S) as endless:
        endless.sendall(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX: ")
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                endless.sendall(b"a" * 10_000)
        with contextlib.suppress(ConnectionError):
            assert endless.recv(1000)[:13] in {b"", b"HTTP/1.1 400 "}


def test_a_connection_without_a_request_is_closed(owned: Owned) -> None:
    with socket.create_connection(owned.address, PATIENCE_S) as slow, socket.create_connection(owned.address) as silent:
        slow.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: loc")
        assert slow.recv(1000) == b""
        silent.settimeout(PATIENCE_S)
        assert silent.recv(1000) == b""
    lines = "POST /v1/chat/completions HTTP/1.1", "Host: localhost", f"Authorization: Bearer {KEY}", "Content-Length: 9"
    head = "\r\n".join((*lines, "", ""))
    with socket.create_connection(owned.address, PATIENCE_S) as slow:
        slow.sendall(head.encode() + b"{")
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_connections_are_limited(owned: Owned) -> None:
    opened = [socket.create_connection(owned.address, PATIENCE_S) for _ in range(25)]
    try:
        # The last ones are closed at once, long before the others.
        assert opened[-1].recv(10) == b""
    finally:
        for connection in opened:
            connection.close()
    assert owned.request("GET", "/v1/models")[0] == 200


def test_unknown_paths_and_methods_are_reported_as_the_original_does(owned: Owned) -> None:
    for method, path in (("GET", "/v1/nothing"), ("GET", "/v1/chat/completions"), ("DELETE", "/v1/models")):
        status, _, value = owned.request(method, path)
        assert (status, value["error"]["code"]) == (404, "unknown_url")


# --- reasoning and calls of tools ----------------------------------------------------------------------------


@pytest.fixture
def client(owned: Owned) -> Iterator[openai.OpenAI]:
    with owned.openai() as client:
        yield client


def test_calls_and_reasoning_stand_apart_from_the_content(owned: Owned, client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model=owned.status.model.id, **_ASKED)
    choice = whole.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "I ask for it."
    assert choice.message.model_extra == {"reasoning_content": "Let me see."}
    assert choice.message.tool_calls is not None
    call: Any = choice.message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Rome", "days": 2})
    streamed = _joined(client.chat.completions.create(model=owned.status.model.id, **_ASKED, stream=True))
    assert streamed == (
        {"content": "I ask for it.", "reasoning_content": "Let me see."},
        [("weather", call.function.arguments)],
        "tool_calls",
    )
    assert whole.usage is not None
    assert whole.usage.completion_tokens_details is not None
    assert 0 < (whole.usage.completion_tokens_details.reasoning_tokens or 0) < whole.usage.completion_tokens


def _joined(stream: Any) -> tuple[dict[str, str], list[tuple[str, str]], str]:
    """Return the texts of a streamed answer by field, its calls, and why it ended."""
    texts: dict[str, str] = {}
    calls: list[tuple[str, str]] = []
    reason = ""
    for chunk in stream:
        delta = chunk.choices[0].delta
        for name in ("content", "reasoning_content"):
            text = getattr(delta, name, None)
            if text:
                texts[name] = texts.get(name, "") + text
        for call in delta.tool_calls or []:
            if call.function.name:
                assert call.id
                calls.append((call.function.name, ""))
            name, arguments = calls[call.index]
            calls[call.index] = (name, arguments + (call.function.arguments or ""))
        reason = chunk.choices[0].finish_reason or reason
    return texts, calls, reason


def test_the_result_of_a_call_goes_back(owned: Owned, client: openai.OpenAI) -> None:
    first = client.chat.completions.create(model=owned.status.model.id, **_ASKED)
    message = first.choices[0].message
    assert message.tool_calls is not None
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Rain."}
    again: dict[str, Any] = {**_ASKED, "messages": [*_ASKED["messages"], message.model_dump(exclude_none=True), result]}
    second = client.chat.completions.create(model=owned.status.model.id, **again)
    assert second.usage is not None
    assert first.usage is not None
    assert second.usage.prompt_tokens > first.usage.prompt_tokens
    again["messages"][-1]["tool_call_id"] = "another"
    with pytest.raises(openai.BadRequestError) as found:
        client.chat.completions.create(model=owned.status.model.id, **again)
    assert found.value.param == "messages[2].tool_call_id"


def test_a_stop_string_ends_the_text_and_never_a_call(owned: Owned, client: openai.OpenAI) -> None:
    for stops in (["Rome"], ["}"], ["weather", "days"], ["</tool_call>"], ["name", "never"]):
        answer = client.chat.completions.create(model=owned.status.model.id, **_ASKED, stop=stops).choices[0]
        (call,) = answer.message.tool_calls or []
        assert call.type == "function"
        assert json.loads(call.function.arguments) == {"city": "Rome", "days": 2}
        assert (answer.finish_reason, answer.message.content) == ("tool_calls", "I ask for it.")
    for stops in (["for"], ["it."], ["Rome", "ask for"]):
        answer = client.chat.completions.create(model=owned.status.model.id, **_ASKED, stop=stops).choices[0]
        assert (answer.finish_reason, answer.message.tool_calls) == ("stop", None)
        assert "<" not in (answer.message.content or "")


def test_without_tools_or_with_none_chosen_nothing_is_called(owned: Owned, client: openai.OpenAI) -> None:
    plain = client.chat.completions.create(
        model=owned.status.model.id, messages=_ASKED["messages"], temperature=0, max_tokens=6
    )
    assert plain.choices[0].message.tool_calls is None
    asked: dict[str, Any] = {**_ASKED, "tool_choice": {"type": "function", "function": {"name": "other"}}}
    with pytest.raises(openai.BadRequestError) as found:
        client.chat.completions.create(model=owned.status.model.id, **asked)
    assert found.value.param == "tool_choice"


def test_a_response_has_an_item_for_each(owned: Owned, client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {
        "model": owned.status.model.id,
        "input": "Will it rain in Rome?",
        "tools": [{"type": "function", **_TOOL}],
        "temperature": 0,
    }
    whole = client.responses.create(**asked)
    assert [item.type for item in whole.output] == ["reasoning", "message", "function_call"]
    with client.responses.stream(**asked) as stream:
        events = list(stream)
        final = stream.get_final_response()
    call: Any = final.output[2]
    assert json.loads(call.arguments) == {"city": "Rome", "days": 2}
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(deltas) == call.arguments
    thoughts = [event.delta for event in events if event.type == "response.reasoning_text.delta"]
    assert "".join(thoughts) == "Let me see."
    assert final.output_text == whole.output_text == "I ask for it."
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "Rain."}
    again: dict[str, Any] = {**asked, "input": [result], "previous_response_id": final.id}
    second = client.responses.create(**again)
    assert second.usage is not None
    assert whole.usage is not None
    assert second.usage.input_tokens > whole.usage.input_tokens


# --- clients, workers and the server -------------------------------------------------------------------


def test_a_client_that_disconnects_frees_its_place(owned: Owned) -> None:
    with owned.openai() as client:
        stream = owned.endless(client)
        assert [served.client.api for served in owned.relay.served] == ["openai"]
        assert owned.relay.served[0].client.program.startswith("OpenAI/Python")
        assert owned.relay.served[0].num_tokens > 0
        stream.close()
        ended = owned.event(Finished)
        assert ended.choices[0].reason == "cancelled"
        assert list(owned.relay.served) == []
        # So does one that waits for a whole answer.
        body = json.dumps({"model": owned.status.model.id, "prompt": "a", "max_tokens": 900_000}).encode()
        lines = "POST /v1/completions HTTP/1.1", "Host: localhost", f"Authorization: Bearer {KEY}"
        head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", ""))
        with socket.create_connection(owned.address, PATIENCE_S) as connection:
            connection.sendall(head.encode() + body)
            owned.event(Chunk)
        assert owned.event(Finished).choices[0].reason == "cancelled"


def test_the_user_can_stop_a_request(owned: Owned) -> None:
    with owned.openai() as client:
        stream = owned.endless(client)
        owned.relay.stop_request(owned.relay.served[0].request_id)
        with pytest.raises(openai.APIError, match="stopped this answer"):
            list(stream)
        owned.event(Finished)


def test_a_client_that_does_not_read_delays_no_other(owned: Owned) -> None:
    with owned.openai() as client:
        body = json.dumps(
            {"model": owned.status.model.id, "prompt": LONG_PIECE, "max_tokens": 900_000, "stream": True, "n": 8}
        ).encode()
        lines = "POST /v1/completions HTTP/1.1", "Host: localhost", f"Authorization: Bearer {KEY}"
        head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", ""))
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(owned.address)
            deaf.sendall(head.encode() + body)
            stream = owned.endless(client)
            for _ in zip(range(20), stream, strict=False):
                pass
            stream.close()
            # It is disconnected after a while, and its answers are cancelled.
            ended = [owned.event(Finished), owned.event(Finished)]
            assert sorted(len(each.choices) for each in ended) == [1, 8]
            assert {choice.reason for each in ended for choice in each.choices} == {"cancelled"}


def test_large_requests_beyond_the_total_limit_get_a_retry_time(owned: Owned) -> None:
    asked: dict[str, Any] = {"model": owned.status.model.id, "prompt": "a" * 80_000 + "b", "max_tokens": 900_000}
    small = {**asked, "prompt": "b", "max_tokens": 1}
    with owned.openai() as client:
        stream = client.completions.create(**asked, stream=True)
        next(iter(stream))
        for path, status, kind in (("completions", 503, "server_error"), ("messages", 529, "overloaded_error")):
            found = owned.request("POST", f"/v1/{path}", asked)
            assert (found[0], found[1]["retry-after"], found[2]["error"]["type"]) == (status, "1", kind)
        assert owned.request("POST", "/v1/completions", small)[0] == 200
        stream.close()
        owned.event(Finished, lambda event: event.choices[0].reason == "cancelled")
        assert owned.request("POST", "/v1/completions", {**asked, "max_tokens": 1})[0] == 200


def test_requests_beyond_the_limit_get_a_retry_time(owned: Owned) -> None:
    with owned.openai() as client:
        streams = [owned.endless(client) for _ in range(_MAX_REQUESTS)]
        status, headers, value = owned.request("GET", "/v1/models")
        assert (status, headers["retry-after"], value["error"]["code"]) == (429, "1", "rate_limit_exceeded")
        for stream in streams:
            stream.close()
            owned.event(Finished)


def test_the_server_process_imports_neither_qt_nor_mlx() -> None:
    code = "import sys, app.serving.process, app.serving.server; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {
        "PySide6",
        "mlx",
        "mlx_lm",
        "transformers",
        "tokenizers",
        "numpy",
        "huggingface_hub",
        "pydantic",
        "keyring",
    }
    assert set(done.stdout.split()) & heavy == set()


def test_a_stream_ends_with_an_error_when_the_worker_dies(owned: Owned) -> None:
    with owned.openai() as client:
        stream = owned.endless(client)
        before = owned.worker_pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        with pytest.raises(openai.APIError, match="stopped"):
            list(stream)
        # The next request waits for the fresh one.
        owned.endless(client).close()
        assert owned.worker_pid != before


def test_streams_end_properly_when_serving_stops(owned: Owned) -> None:
    address = owned.address
    with owned.openai() as client:
        stream = owned.endless(client)
        pids = [pid for pid in (owned.relay.pid, owned.worker_pid) if pid is not None]
        owned.stop()
        with pytest.raises(openai.APIError, match="stops serving"):
            list(stream)
    assert not any(psutil.pid_exists(pid) for pid in pids)
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(address)


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux shows which threads are confined.")
def test_the_server_process_is_confined_as_the_worker_is(bough: Bough) -> None:
    """This checks every thread of both processes. The worker's tests check whether the system supports confinement."""
    started = [one for one in psutil.Process(bough.process.pid).children() if "spawn_main" in " ".join(one.cmdline())]
    found = [
        {line.split()[1] for line in status.read_text().splitlines() if line.startswith("Seccomp:")}
        for process in started
        for status in Path(f"/proc/{process.pid}/task").glob("*/status")
    ]
    assert len(started) == 2
    assert len(found) > 4
    assert all(each == found[0] for each in found)
