"""The beginning and the end of what serves, with a worker for each test."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.serving.headless import Awake, Gone, Loaded, Restarted, Silent
from app.serving.messages import NotListening, ServedModel
from tests.app.serving.owned import Owned
from tests.app.serving.running import Bough
from tests.driver import PATIENCE_S
from tests.later import openai
from worker.protocol import Finished

pytestmark = pytest.mark.long
_HI: list[Any] = [{"role": "user", "content": "Hi"}]


def test_the_owner_notices_that_the_server_process_has_died(talker: Path) -> None:
    with Owned(talker).ready() as owned, owned.openai() as client:
        stream = owned.endless(client)
        assert owned.relay.pid is not None
        os.kill(owned.relay.pid, signal.SIGKILL)
        with pytest.raises(openai.APIError):
            list(stream)
        assert owned.event(Finished).choices[0].reason == "cancelled"
        while not isinstance(owned.news.get(timeout=PATIENCE_S), Gone):
            pass


def test_a_server_process_that_does_not_respond_is_reported(talker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.serving.headless._PING_S", 0.2)
    with Owned(talker).ready() as owned:
        assert owned.relay.pid is not None
        os.kill(owned.relay.pid, signal.SIGSTOP)
        assert "does not respond" in owned.wait(Silent).why
        os.kill(owned.relay.pid, signal.SIGCONT)
        owned.wait(Awake)
        with owned.openai() as client:
            owned.endless(client).close()


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_worker_that_does_not_respond_is_replaced(talker: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr("app.serving.headless._PATIENCE_S", 3.0)
    with Owned(talker).ready() as owned, owned.openai() as client:
        stream = owned.endless(client)
        assert owned.worker_pid is not None
        os.kill(owned.worker_pid, number)
        with pytest.raises(openai.APIError, match="stopped while it answered"):
            list(stream)
        assert ("did not respond for 3 seconds" in owned.wait(Restarted).why) == (number == signal.SIGSTOP)
        owned.endless(client).close()


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_bough_silently(tmp_path: Path, number: int) -> None:
    with Bough(tmp_path) as bough:
        assert bough.url
        assert bough.end(number) == 0
        assert bough.errors == []


def test_another_model_is_loaded_if_the_user_allows_it(talker: Path) -> None:
    other = ServedModel(id="other", names=(str(talker),))
    with Owned("guide", models=[other], allows_load=True).ready() as owned, owned.openai() as client:
        assert [model.id for model in client.models.list().data] == ["guide", "other"]
        stream = client.chat.completions.create(model="other", messages=_HI, stream=True)
        assert next(iter(stream)).model == "other"
        stream.close()
        assert owned.status.model == other
        with pytest.raises(openai.NotFoundError, match="“other” is loaded"):
            client.chat.completions.create(model="third", messages=_HI)


def test_a_model_that_does_not_load_leaves_the_previous_one_loaded(tmp_path: Path) -> None:
    broken = ServedModel(id="broken", names=(str(tmp_path),))
    with Owned("guide", models=[broken], allows_load=True).ready() as owned, owned.openai() as client:
        with pytest.raises(openai.InternalServerError) as found:
            client.chat.completions.create(model="broken", messages=_HI)
        assert found.value.status_code == 503
        assert "config.json" in found.value.message
        assert client.chat.completions.create(model="guide", messages=_HI, max_tokens=1).model == "guide"


def test_requests_do_not_wait_long_for_a_model(talker: Path) -> None:
    other = ServedModel(id="other", names=(str(talker),))
    with Owned("guide", models=[other], allows_load=True, load_s=0.0).ready() as owned:
        owned.seen = [news for news in owned.seen if not isinstance(news, Loaded)]
        status, headers, value = owned.request("POST", "/v1/chat/completions", {"model": "other", "messages": _HI})
        assert (status, headers["retry-after"]) == (503, "5")
        assert "being loaded" in value["error"]["message"]
        owned.wait(Loaded)
        assert owned.status.model == other


def test_an_address_of_another_machine_is_refused() -> None:
    with Owned("guide", host="203.0.113.7") as owned:
        while not isinstance(news := owned.news.get(timeout=PATIENCE_S), NotListening):
            pass
        assert "203.0.113.7" in news.why


def test_eight_clients_come_and_go(talker: Path) -> None:
    """Each answer is whole, unless its client has disconnected.

    Afterwards no request is running and no file is open.
    """
    with Owned(talker).ready() as owned:
        problems: list[BaseException] = []

        def use(number: int) -> None:
            try:
                with owned.openai() as client:
                    for turn in range(12):
                        if (number + turn) % 3 == 0:
                            owned.endless(client).close()
                            continue
                        chunks = client.completions.create(
                            model=owned.status.model.id,
                            prompt=f"{number} {turn} a",
                            max_tokens=5 + turn,
                            temperature=0,
                            stream=True,
                        )
                        text = "".join(chunk.choices[0].text for chunk in chunks)
                        assert text == ("ba" * 20)[: 5 + turn]
            except BaseException as error:  # noqa: BLE001 (reported below)
                problems.append(error)

        clients = [threading.Thread(target=use, args=(number,)) for number in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert problems == []
        for _ in range(8 * 12):
            owned.event(Finished)
        assert list(owned.relay.served) == []
