"""How long servers are waited for, when they are asked again, and what happens when the machine sleeps. One second."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.driver import PATIENCE_S
from tests.endpoint_faults import ENDLESS
from tests.endpoint_server import EndpointServer, Fault, Reply, Script, error
from worker.endpoints import patience
from worker.endpoints.answer import Answer
from worker.endpoints.patience import Patience, SilenceError, asked_wait_s
from worker.endpoints.server import Server
from worker.errors import EndpointError
from worker.protocol import Endpoint

_BODY = {"model": "script", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
_TEXT = "".join(Script().pieces)


def _ask(
    server: EndpointServer, *, silence_s: float = 300.0, stall_s: float = 120.0
) -> tuple[str, EndpointError | None]:
    """Return the text that came, and the failure if there was one."""
    text = ""

    async def ask() -> EndpointError | None:
        nonlocal text
        endpoint = Endpoint(url=server.url, name="Test", model="script", silence_s=silence_s, stall_s=stall_s)
        asked = Server(endpoint)
        answer = Answer("Test", (), 0)
        try:
            async for event in asked.events(_BODY):
                text += answer.take(event)
        except EndpointError as failure:
            return failure
        finally:
            await asked.close()
        return None

    failure = asyncio.run(ask())
    return text, failure


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EndpointServer]:
    """A server. As soon as it stalls, the machine sleeps for two minutes between any two looks."""
    clock = itertools.count(120, 120)
    with EndpointServer() as started:

        def slept_s() -> float:
            return next(clock) if any(each.stalled.is_set() for each in started.requests_of("chat")) else 0.0

        monkeypatch.setattr(patience, "slept_s", slept_s)
        monkeypatch.setattr(patience, "_LOOK_S", 0.05)
        monkeypatch.setattr(patience, "_AWAKE_S", 0.01)
        yield started


@pytest.mark.parametrize("fault", [name for name in ENDLESS if "stall" in name])
def test_a_connection_that_did_not_outlast_the_machine_s_sleep_is_given_up(server: EndpointServer, fault: str) -> None:
    server.fail("chat", ENDLESS[fault])
    text, failure = _ask(server)
    assert _TEXT.startswith(text)
    assert failure is not None
    assert "This computer slept for" in failure.sentence.template
    assert "Ask again, or continue the answer" in str(failure)
    request = server.requests_of("chat")[0]
    assert request.over.wait(PATIENCE_S)
    assert (request.ended, len(server.requests_of("chat"))) == ("by client", 1)


def test_a_connection_that_outlasts_the_machine_s_sleep_goes_on(
    server: EndpointServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "_AWAKE_S", PATIENCE_S)
    server.fail("chat", Fault(end="stall", after_bytes=900))

    sleeps, slept = patience.slept_s, threading.Event()

    def slept_s() -> float:
        seconds = sleeps()
        if seconds:
            slept.set()
        return seconds

    monkeypatch.setattr(patience, "slept_s", slept_s)

    def go_on() -> None:
        assert slept.wait(PATIENCE_S)
        server.requests_of("chat")[0].go_on()

    thread = threading.Thread(target=go_on)
    thread.start()
    text, failure = _ask(server)
    thread.join()
    assert (text, failure) == (_TEXT, None)


def test_a_request_that_a_server_may_be_working_on_is_sent_once() -> None:
    with EndpointServer() as server:
        server.fail("chat", ENDLESS["a stall before the headers"], times=5)
        text, failure = _ask(server, silence_s=0.2)
        assert (text, len(server.requests_of("chat"))) == ("", 1)
        assert "has sent nothing" in str(failure)


def test_silence_in_an_answer_has_a_shorter_limit_than_silence_before_it() -> None:
    with EndpointServer() as server:
        server.fail("chat", ENDLESS["a stall in the text"])
        text, failure = _ask(server, stall_s=0.2)
        assert text
        assert "has sent nothing for 0 seconds" in str(failure)


@pytest.mark.parametrize(
    ("reply", "num_tries"),
    [
        (error(429, "slow", retry_after="0.01"), 3),
        (error(503, "loading", retry_after="0.01"), 3),
        (error(429, "slow", retry_after="61"), 1),
        (error(429, "slow", retry_after=format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)), 1),
        (error(400, "no"), 1),
        (error(401, "no", retry_after="0.01"), 1),
    ],
)
def test_a_server_is_asked_again_only_if_that_can_help(reply: Reply, num_tries: int) -> None:
    with EndpointServer() as server:
        server.fail("chat", Fault(reply=reply), times=10)
        _, failure = _ask(server)
        assert failure is not None
        assert len(server.requests_of("chat")) == num_tries
        server.forget_faults()
        server.requests.clear()
        server.fail("chat", Fault(reply=reply), times=2)
        assert (_ask(server)[0] == _TEXT) is (num_tries == 3)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2", 2.0), ("0.5", 0.5), ("-5", None), ("0", None), ("soon", None), ("", None), ("nan", None), ("inf", None)],
)
def test_the_wait_that_a_server_asks_for(text: str, seconds: float | None) -> None:
    assert asked_wait_s({"retry-after": text}) == seconds


def test_a_date_as_the_wait() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=30)
    wait_s = asked_wait_s({"retry-after": format_datetime(soon, usegmt=True)})
    assert wait_s is not None
    assert 0 < wait_s <= 30
    assert asked_wait_s({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}) is None


def test_an_answer_that_comes_is_returned_and_an_error_is_raised() -> None:
    async def run() -> None:
        waits = Patience(60, 60)
        assert await waits.wait(asyncio.sleep(0, "piece")) == "piece"

        async def fail() -> None:
            raise ConnectionResetError

        with pytest.raises(ConnectionResetError):
            await waits.wait(fail())
        never = asyncio.get_running_loop().create_future()
        waits.begin_text()
        with pytest.raises(SilenceError):
            await Patience(0.0, 60).wait(never)
        assert never.cancelled()

    asyncio.run(run())
