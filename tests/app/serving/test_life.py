"""The beginning and the end of what serves: clients that go, workers and servers that die, ports in use."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import psutil
import pytest

from app.serving.headless import Gone, Loaded
from app.serving.messages import NotListening, ServedModel
from tests.app.serving.owned import Owned
from tests.app.serving.running import KEY, Bough
from tests.driver import PATIENCE_S, ROOT
from worker.protocol import Finished

_MAX_REQUESTS = 3
_HI: list[Any] = [{"role": "user", "content": "Hi"}]


def _endless(owned: Owned, client: openai.OpenAI) -> Any:
    """Return a stream that does not end by itself, after its first events."""
    stream = client.chat.completions.create(model=owned.status.model.id, messages=_HI, stream=True, temperature=0)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            return stream
    raise AssertionError("the stream ended")


@pytest.fixture(scope="module")
def owned(endless_model: Path) -> Iterator[Owned]:
    with Owned(endless_model, write_s=1.0, max_requests=_MAX_REQUESTS) as owned:
        yield owned.ready()


def test_a_client_that_goes_frees_its_place(owned: Owned) -> None:
    with owned.openai() as client:
        stream = _endless(owned, client)
        assert [served.client.api for served in owned.relay.served] == ["openai"]
        assert owned.relay.served[0].client.program.startswith("OpenAI/Python")
        assert owned.relay.served[0].num_tokens > 0
        stream.close()
        ended = owned.event(Finished)
        assert ended.choices[0].reason == "cancelled"
        assert list(owned.relay.served) == []
        # So does one that waits for a whole answer.
        body = json.dumps({"model": owned.status.model.id, "messages": _HI}).encode()
        lines = "POST /v1/chat/completions HTTP/1.1", "Host: localhost", f"Authorization: Bearer {KEY}"
        head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", ""))
        with socket.create_connection(owned.address, PATIENCE_S) as connection:
            connection.sendall(head.encode() + body)
            owned.event(object, lambda event: type(event).__name__ == "Chunk")
        assert owned.event(Finished).choices[0].reason == "cancelled"


def test_the_user_can_stop_a_request(owned: Owned) -> None:
    with owned.openai() as client:
        stream = _endless(owned, client)
        owned.relay.stop_request(owned.relay.served[0].request_id)
        with pytest.raises(openai.APIError, match="stopped this answer"):
            list(stream)
        owned.event(Finished)


def test_a_client_that_does_not_read_delays_no_other(owned: Owned) -> None:
    with owned.openai() as client:
        body = json.dumps({"model": owned.status.model.id, "messages": _HI, "stream": True, "n": 8}).encode()
        lines = "POST /v1/chat/completions HTTP/1.1", "Host: localhost", f"Authorization: Bearer {KEY}"
        head = "\r\n".join((*lines, f"Content-Length: {len(body)}", "", ""))
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(owned.address)
            deaf.sendall(head.encode() + body)
            stream = _endless(owned, client)
            for _ in zip(range(20), stream, strict=False):
                pass
            stream.close()
            # It is disconnected after a while, and its answers are cancelled.
            ended = [owned.event(Finished), owned.event(Finished)]
            assert sorted(len(each.choices) for each in ended) == [1, 8]
            assert {choice.reason for each in ended for choice in each.choices} == {"cancelled"}


def test_requests_beyond_the_limit_are_asked_to_come_again(owned: Owned) -> None:
    with owned.openai() as client:
        streams = [_endless(owned, client) for _ in range(_MAX_REQUESTS)]
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
        stream = _endless(owned, client)
        before = owned.worker_pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        with pytest.raises(openai.APIError, match="stopped"):
            list(stream)
        # The next request waits for the fresh one.
        _endless(owned, client).close()
        assert owned.worker_pid != before


def test_streams_end_properly_when_serving_stops(owned: Owned) -> None:
    address = owned.address
    with owned.openai() as client:
        stream = _endless(owned, client)
        pids = [pid for pid in (owned.relay.pid, owned.worker_pid) if pid is not None]
        owned.stop()
        with pytest.raises(openai.APIError, match="stops serving"):
            list(stream)
    assert not any(psutil.pid_exists(pid) for pid in pids)
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(address)


# --- with a worker for each test --------------------------------------------------------------------------


@pytest.mark.long
def test_the_owner_notices_that_the_server_process_has_died(endless_model: Path) -> None:
    with Owned(endless_model).ready() as owned, owned.openai() as client:
        stream = _endless(owned, client)
        assert owned.relay.pid is not None
        os.kill(owned.relay.pid, signal.SIGKILL)
        with pytest.raises(openai.APIError):
            list(stream)
        assert owned.event(Finished).choices[0].reason == "cancelled"
        while not isinstance(owned.news.get(timeout=PATIENCE_S), Gone):
            pass


@pytest.mark.long
def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with Bough(tmp_path, "--port", str(port)) as bough:
            assert bough.wait() == 1
        assert bough.errors == [
            f"Another program uses port {port} of 127.0.0.1. Choose another port with --port, or end that program."
        ]


@pytest.mark.long
def test_no_process_is_left_when_bough_is_killed(tmp_path: Path) -> None:
    with Bough(tmp_path, key=None) as bough:
        bough.wait_until_ready()
        # Without a key of the user's, one is made and shown once.
        key = bough.line("The key of this start is (bough-[A-Za-z0-9_-]{32})")
        with bough.openai(key) as client:
            assert client.models.list().data[0].id == "guide"
        children = psutil.Process(bough.process.pid).children(recursive=True)
        bough.process.kill()
        assert psutil.wait_procs(children, PATIENCE_S)[1] == []
        bough.wait()
        assert [line for line in bough.lines + bough.errors if key in line] == [
            f"The key of this start is {key}. To choose one, set BOUGH_API_KEY."
        ]


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_bough_without_a_word(tmp_path: Path, number: int) -> None:
    with Bough(tmp_path) as bough:
        assert bough.url
        assert bough.end(number) == 0
        assert bough.errors == []


@pytest.mark.long
def test_another_model_is_loaded_if_the_user_allows_it(endless_model: Path) -> None:
    other = ServedModel(id="other", names=(str(endless_model),))
    with Owned("guide", models=[other], allows_load=True).ready() as owned, owned.openai() as client:
        assert [model.id for model in client.models.list().data] == ["guide", "other"]
        stream = client.chat.completions.create(model="other", messages=_HI, stream=True)
        assert next(iter(stream)).model == "other"
        stream.close()
        assert owned.status.model == other
        with pytest.raises(openai.NotFoundError, match="“other” is loaded"):
            client.chat.completions.create(model="third", messages=_HI)


@pytest.mark.long
def test_a_model_that_does_not_load_leaves_the_one_before(tmp_path: Path) -> None:
    broken = ServedModel(id="broken", names=(str(tmp_path),))
    with Owned("guide", models=[broken], allows_load=True).ready() as owned, owned.openai() as client:
        with pytest.raises(openai.InternalServerError) as found:
            client.chat.completions.create(model="broken", messages=_HI)
        assert found.value.status_code == 503
        assert "config.json" in found.value.message
        assert client.chat.completions.create(model="guide", messages=_HI, max_tokens=1).model == "guide"


@pytest.mark.long
def test_requests_do_not_wait_long_for_a_model(endless_model: Path) -> None:
    with Owned(endless_model, load_s=0.0) as owned:
        status, headers, value = owned.request(
            "POST", "/v1/chat/completions", {"model": owned.status.model.id, "messages": _HI}
        )
        assert (status, headers["retry-after"]) == (503, "5")
        assert "being loaded" in value["error"]["message"]
        owned.wait(Loaded)


@pytest.mark.long
def test_an_address_of_another_machine_is_refused() -> None:
    with Owned("guide", host="203.0.113.7") as owned:
        while not isinstance(news := owned.news.get(timeout=PATIENCE_S), NotListening):
            pass
        assert "203.0.113.7" in news.why
