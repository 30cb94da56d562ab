"""Who may use the local API: names of this machine, web pages, keys, sizes and numbers of requests."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.app.serving.owned import Owned
from tests.app.serving.running import KEY
from tests.driver import PATIENCE_S


@pytest.fixture(scope="module")
def owned() -> Iterator[Owned]:
    with Owned(
        "guide",
        allowed_origins=("https://good.example",),
        allowed_hosts=("studio.local",),
        max_body_bytes=100_000,
        max_connections=20,
        head_s=1.0,
        body_s=1.0,
    ) as owned:
        yield owned.ready()


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


def test_what_does_not_come_is_not_waited_for(owned: Owned) -> None:
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
