"""Attacks on the local API: damaged HTTP, hostile numbers, clients that come and go, deaths of its processes."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.app.serving.owned import Owned
from tests.app.serving.running import KEY, Bough
from tests.driver import PATIENCE_S
from tests.later import openai
from tests.long import in_long_runs

_STRESS_S = float(os.environ.get("BOUGH_STRESS_S", "60"))
_MAX_SERVER_BYTES = 100 << 20
_HUGE = 10**30


@pytest.fixture(scope="module")
def bough(endless_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bough]:
    """`bough serve`. Whatever is sent to it, it prints no error and never the key."""
    with Bough(tmp_path_factory.mktemp("serving"), model=endless_model) as bough:
        bough.wait_until_ready()
        yield bough
        assert bough.end() == 0
        assert bough.errors == []
        assert KEY not in "\n".join(bough.lines)


@pytest.fixture
def model(bough: Bough) -> str:
    return bough.wait_until_ready()


# --- bytes -----------------------------------------------------------------------------------------------

_BODY = b'{"model": "x", "prompt": "a", "max_tokens": 2}'
_WHO = f"Host: localhost\r\nAuthorization: Bearer {KEY}\r\n".encode()
_GET = b"GET /v1/models HTTP/1.1\r\n" + _WHO
_POST = b"POST /v1/completions HTTP/1.1\r\n" + _WHO
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"


def _replies(bough: Bough, data: bytes, *, ends: bool = False) -> list[int]:
    """Send bytes, and the end of the connection if it `ends`; return the statuses of the replies until its end."""
    host, port = bough.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
        reply = b""
        try:
            connection.sendall(data)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(1 << 16):
                reply += part
        except ConnectionError:
            pass  # It refuses more than it reads.
    return [int(status) for status in re.findall(rb"HTTP/1.1 (\d{3})", reply)]


@pytest.mark.parametrize(
    ("data", "allowed"),
    [
        (_POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{", [400]),
        (_CHUNKED + b"-1\r\n\r\n", [400]),
        (_GET + b"Host: evil.example\r\n\r\n", [400]),
        (b"GET /v1/models HTTP/1.0\r\n\r\n", [403]),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 403]),
        (_GET + b"X: " + b"a" * 200_000 + b"\r\n\r\n", [400]),
        (_GET + b"Authorization: Bearer \xff\x1b[31m\r\nOrigin: \xff\r\n\r\n", [403]),
        (_GET.replace(b"localhost", b"127.0.0.1.evil.example") + b"\r\n", [403]),
        (_POST.replace(b"Bearer ", b"Bearer x") + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n", [401]),
        *in_long_runs(
            (_GET.replace(b"localhost", host) + b"\r\n", [400, 403])
            for host in (b"", b"2130706433", b"0.0.0.0", b"localhost.evil.example", b"localhost\x00", b"192.168.1.5")
        ),
    ],
)
def test_damaged_and_foreign_requests_are_refused(bough: Bough, data: bytes, allowed: Sequence[int]) -> None:
    assert [status in allowed for status in _replies(bough, data)] == [True]


def test_requests_cut_and_damaged_anywhere_harm_no_other(bough: Bough) -> None:
    rng = random.Random(1)
    whole = _POST + b"Content-Length: %d\r\n\r\n" % len(_BODY) + _BODY
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(rng.randrange(6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        for status in _replies(bough, bytes(data[: rng.randrange(len(data) + 1)]), ends=True):
            assert status < 500
    assert _replies(bough, _GET + b"Connection: close\r\n\r\n") == [200]


@pytest.mark.parametrize(
    ("size", "headers", "status"),
    [
        (33 << 20, {}, 413),
        (16 << 20, {"Authorization": "Bearer wrong"}, 401),
        *in_long_runs(
            [
                (33 << 20, {"Transfer-Encoding": "chunked"}, 413),
                (16 << 20, {"Origin": "https://evil.example"}, 403),
                (200 << 20, {}, 413),
            ]
        ),
    ],
)
def test_a_client_that_sends_everything_before_it_reads_gets_the_reason_of_the_refusal(
    bough: Bough, size: int, headers: dict[str, str], status: int
) -> None:
    connection = http.client.HTTPConnection(bough.url.removeprefix("http://"), timeout=PATIENCE_S)
    part = b" " * (1 << 20)
    length = {} if "Transfer-Encoding" in headers else {"Content-Length": str(size)}
    sent = {"Authorization": f"Bearer {KEY}"} | length | headers
    connection.request("POST", "/v1/completions", (part for _ in range(size >> 20)), sent, encode_chunked=not length)
    reply = connection.getresponse()
    assert (reply.status, bool(json.loads(reply.read())["error"]["message"])) == (status, True)
    connection.close()


@pytest.mark.long
def test_a_refused_request_without_end_is_cut_off(bough: Bough) -> None:
    host, port = bough.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
        connection.sendall(_POST + b"Content-Length: 900000000000\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 413 ")
        data = b" " * (1 << 29)
        with pytest.raises(ConnectionError):
            connection.sendall(data)


# --- values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("completions", {"max_tokens": _HUGE}),
        ("chat/completions", {"top_k": _HUGE}),
        ("messages", {"max_tokens": _HUGE}),
        *in_long_runs(
            [
                ("responses", {"max_output_tokens": _HUGE}),
                ("messages", {"max_tokens": 1, "tools": [{"name": "a", "input_schema": {"maximum": _HUGE}}]}),
                ("messages/count_tokens", {"tools": [{"name": "a", "input_schema": {"maximum": -_HUGE}}]}),
            ]
        ),
    ],
)
def test_numbers_without_end_are_refused(bough: Bough, model: str, path: str, changes: Any) -> None:
    body = {"model": model, "prompt": "a", "input": "a", "messages": [{"role": "user", "content": "a"}], **changes}
    assert _posted(bough, path, body) == (400, "invalid_request_error")


@pytest.mark.parametrize("path", ["chat/completions", "messages"])
@pytest.mark.parametrize("text", ["\ud800", "a\udc00b"])
def test_a_lone_surrogate_is_named_with_its_place(bough: Bough, model: str, path: str, text: str) -> None:
    body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 1}
    status, error = _refused(bough, path, body)
    assert status == 400
    assert "`messages[0].content` holds a lone surrogate" in error["message"]


@pytest.mark.parametrize("path", ["chat/completions", "messages", "completions"])
def test_a_very_long_name_is_not_repeated(bough: Bough, path: str) -> None:
    messages = [{"role": "user", "content": "a"}]
    status, error = _refused(
        bough, path, {"model": "m" * 1_000_000, "prompt": "a", "messages": messages, "max_tokens": 1}
    )
    assert status == 404
    assert len(error["message"]) < 1100
    assert "There is no model “mmm" in error["message"]
    assert "GET /v1/models lists all." in error["message"]


def _posted(bough: Bough, path: str, body: Any) -> tuple[int, str]:
    """Send a request that is refused; return the status, and the type of the error."""
    status, error = _refused(bough, path, body)
    return status, error["type"]


def _refused(bough: Bough, path: str, body: Any) -> tuple[int, dict[str, Any]]:
    """Send a request that is refused; return the status and the error."""
    connection = http.client.HTTPConnection(bough.url.removeprefix("http://"), timeout=PATIENCE_S)
    connection.request("POST", f"/v1/{path}", json.dumps(body), {"Authorization": f"Bearer {KEY}"})
    reply = connection.getresponse()
    value = json.loads(reply.read())
    connection.close()
    return reply.status, value["error"]


def _deep(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


def _call(arguments: str) -> list[dict[str, Any]]:
    call = {"id": "i", "type": "function", "function": {"name": "a", "arguments": arguments}}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [{"role": "user", "content": "a"}, answer, {"role": "tool", "content": "a", "tool_call_id": "i"}]


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": _call(_deep(900))},
        {"messages": _call(_deep(100_000))},
        {"chat_template_kwargs": json.loads(_deep(900))},
        {"tools": [{"type": "function", "function": {"name": "a", "parameters": json.loads(_deep(900))}}]},
    ],
    ids=["arguments", "deeper arguments", "options", "tools"],
)
def test_values_that_are_nested_deeply_are_refused(bough: Bough, model: str, changes: Any) -> None:
    body = {"model": model, "messages": [{"role": "user", "content": "a"}], "max_tokens": 1, **changes}
    assert _posted(bough, "chat/completions", body) == (400, "invalid_request_error")


# --- clients ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lasts_s", [1.5, *in_long_runs([_STRESS_S])])
def test_eight_clients_that_come_and_go_at_any_moment(bough: Bough, model: str, lasts_s: float) -> None:
    """BOUGH_STRESS_S says how many seconds the long run takes."""
    ends = time.monotonic() + lasts_s
    problems: list[BaseException] = []

    def use(number: int) -> None:
        rng = random.Random(number)
        try:
            with bough.openai() as client:
                while time.monotonic() < ends:
                    _come_and_go(bough, client, model, rng)
        except BaseException as error:  # noqa: BLE001 (reported below)
            problems.append(error)

    _at_once([lambda number=number: use(number) for number in range(8)])
    assert problems == []
    server = _server_of(bough)
    assert server.memory_info().rss <= _MAX_SERVER_BYTES
    assert {at.status for at in server.net_connections()} <= {psutil.CONN_LISTEN, psutil.CONN_CLOSE_WAIT}
    # All places are free again.
    with bough.openai() as client:
        assert client.completions.create(model=model, prompt="a", max_tokens=3, temperature=0).choices[0].text == "bab"


def _come_and_go(bough: Bough, client: openai.OpenAI, model: str, rng: random.Random) -> int:
    """Send a request of a random kind, and check its answer. Return the number of its kind."""
    length = rng.randrange(1, 60)
    asked: Any = {"model": model, "prompt": f"{rng.random()} a", "temperature": 0}
    match kind := rng.randrange(6):
        case 0:
            text = client.completions.create(**asked, max_tokens=length).choices[0].text
            assert text == ("ba" * 30)[:length]
        case 1:
            chunks = client.completions.create(**asked, max_tokens=length, stream=True)
            assert "".join(chunk.choices[0].text for chunk in chunks) == ("ba" * 30)[:length]
        case 2:
            with client.completions.create(**asked, max_tokens=900_000, stream=True) as stream:
                for _ in zip(range(length), stream, strict=False):
                    pass
        case 3:
            with pytest.raises(openai.APITimeoutError):
                client.with_options(timeout=rng.random() / 10).completions.create(**asked, max_tokens=900_000)
        case 4:
            # It reads slowly, and leaves what the server still holds for it.
            with _sent(bough, {**asked, "max_tokens": 900_000, "stream": True, "n": 4}) as connection:
                for _ in range(20 * length):
                    assert connection.recv(16)
        case _:
            # It leaves before its request is whole.
            _sent(bough, asked, missing=length).close()
    return kind


def _sent(bough: Bough, body: Any, *, missing: int = 0) -> socket.socket:
    """Send a request without its last bytes; return its connection, which holds few bytes that are not read."""
    host, port = bough.url.removeprefix("http://").split(":")
    connection = socket.socket()
    connection.settimeout(PATIENCE_S)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((host, int(port)))
    data = json.dumps(body).encode()
    data = _POST + b"Content-Length: %d\r\n\r\n" % len(data) + data
    connection.sendall(data[: len(data) - missing])
    return connection


def _at_once(uses: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=use) for use in uses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _server_of(bough: Bough) -> psutil.Process:
    """Return the process that listens."""
    port = int(bough.url.rpartition(":")[2])
    children = psutil.Process(bough.process.pid).children(recursive=True)
    return next(
        child
        for child in children
        if any(at.laddr.port == port and at.status == psutil.CONN_LISTEN for at in child.net_connections())
    )


@pytest.mark.long
def test_a_client_that_does_not_read_is_disconnected(endless_model: Path) -> None:
    """Its connection is closed although it holds bytes that it did not read."""
    with Owned(endless_model, write_s=0.5) as owned:
        owned.ready()
        body = json.dumps(
            {"model": owned.status.model.id, "prompt": "a", "max_tokens": 900_000, "stream": True, "n": 16}
        ).encode()
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(owned.address)
            deaf.sendall(_POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            server = psutil.Process(owned.relay.pid)
            while owned.exchange().finished.choices[0].reason != "cancelled":
                pass
            assert [at.status for at in server.net_connections()] == [psutil.CONN_LISTEN]


@pytest.mark.long
def test_a_thousand_connections_under_a_low_limit_of_open_files(endless_model: Path, tmp_path: Path) -> None:
    before = ("sh", "-c", 'ulimit -Sn 160 && exec "$@"', "sh")
    with Bough(tmp_path, model=endless_model, before=before) as bough:
        bough.wait_until_ready()
        host, port = bough.url.removeprefix("http://").split(":")
        for _ in range(10):
            opened = [socket.create_connection((host, int(port)), PATIENCE_S) for _ in range(100)]
            for connection in opened:
                connection.close()
        opened = [socket.create_connection((host, int(port)), PATIENCE_S) for _ in range(600)]
        # Connections beyond the limit are closed at once, and nothing is printed.
        assert opened[-1].recv(1) == b""
        for connection in opened:
            connection.close()
        assert _replies(bough, _GET + b"Connection: close\r\n\r\n") == [200]
        assert bough.end() == 0
        assert bough.errors == []


# --- deaths ----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_every_request_ends_when_the_worker_dies_at_any_moment(endless_model: Path) -> None:
    """Also one that arrives while the next worker is being started."""
    rng = random.Random(3)
    with Owned(endless_model) as owned:
        name = owned.ready().status.model.id
        is_over = threading.Event()
        problems: list[BaseException] = []
        answered = threading.Semaphore(0)

        def use() -> None:
            try:
                with owned.openai() as client:
                    while not is_over.is_set():
                        try:
                            client.completions.create(model=name, prompt="a", max_tokens=5, temperature=0)
                        except openai.InternalServerError:
                            continue
                        answered.release()
            except BaseException as error:  # noqa: BLE001 (reported below)
                problems.append(error)

        clients = [threading.Thread(target=use) for _ in range(4)]
        for client in clients:
            client.start()
        for _ in range(6):
            for _ in range(rng.randrange(1, 20)):
                assert answered.acquire(timeout=PATIENCE_S)
            assert owned.worker_pid is not None
            os.kill(owned.worker_pid, signal.SIGKILL)
        for _ in range(20):
            assert answered.acquire(timeout=PATIENCE_S)
        is_over.set()
        for client in clients:
            client.join(PATIENCE_S)
        assert problems == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_two_servers_of_one_data_folder_end_under_load(endless_model: Path, tmp_path: Path, number: int) -> None:
    with Bough(tmp_path, model=endless_model) as one, Bough(tmp_path, model=endless_model) as other:
        for bough in (one, other):
            name = bough.wait_until_ready()
            chat: Any = {"model": name, "messages": [{"role": "user", "content": "Hi"}]}
            clients = [bough.openai() for _ in range(4)]
            for client in clients:
                assert client.chat.completions.create(**chat, max_tokens=4).choices[0].finish_reason == "length"
            streams = [client.chat.completions.create(**chat, stream=True) for client in clients]
            for stream in streams:
                next(iter(stream))
            children = psutil.Process(bough.process.pid).children(recursive=True)
            assert bough.end(number) == (0 if number == signal.SIGTERM else -number)
            assert psutil.wait_procs(children, PATIENCE_S)[1] == []
            # After SIGKILL, Python itself warns of semaphores.
            assert number == signal.SIGKILL or bough.errors == []
            for client in clients:
                client.close()
