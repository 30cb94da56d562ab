"""The local API against mlx-lm's server: speed, an agent's session, stop strings, calls of tools.

Both serve the same folder with the same BLAS, each with its own processes, and take turns. All requests are streams
over HTTP at temperature 0. The first token of a request through Bough's API is compared with that of the same request
to the worker, too.
"""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol, Self

import psutil

from tests.app.serving.agent import Agent, Oracle, Session, random_text
from tests.app.serving.owned import Owned
from tests.app.serving.running import KEY
from tests.benchmarks.measure import Row, alone, compared, in_turn
from tests.benchmarks.serving_calls import ARGUMENTS, TEXT, TOOL, WAYS, write_caller
from tests.driver import PATIENCE_S, ROOT
from tests.real.weights import WITHOUT, starter_folder, unpacked_folder
from worker.protocol import Chunk, Finished, Generate, Message, Sampling, Tokenize, Tokenized

_AREA = "serving"
_PEER = "mlx_lm.server"
_GUIDE = ROOT / "resources" / "guide"
_ROUNDS = 3
_MANY_ROUNDS = 41
_SOME_ROUNDS = 15
_REST_S = 0.01
"""The time in which the worker and the server end their work on the last answer."""
_NUM_CLIENTS = 8
_NUM_TOKENS = 32
_NUM_WORDS = 150
_NUM_REQUESTS = 30
_NUM_STOPS = 60
_QUESTION = [{"role": "user", "content": "How do I fork a conversation?"}]


class _Answer(NamedTuple):
    """One streamed answer, as a client sees it."""

    began_s: float
    first_s: float
    ended_s: float
    num_tokens: int
    num_prompt: int
    num_cached: int
    text: str
    called: Any
    """The arguments of its call; None if it has none, or if they are no JSON value."""

    @property
    def first_ms(self) -> float:
        return (self.first_s - self.began_s) * 1e3

    @property
    def tokens_per_s(self) -> float:
        """How fast the answer grew after its first token, in tokens per second."""
        return (self.num_tokens - 1) / (self.ended_s - self.first_s)


class _Server(Protocol):
    """A server with the API of OpenAI."""

    name: str
    """The name of its model."""

    @property
    def address(self) -> tuple[str, int]: ...


def rows() -> Iterator[Row]:
    starter = starter_folder()
    if starter is None:
        raise FileNotFoundError(WITHOUT)
    for label, folder in (("guide", _GUIDE), ("starter", unpacked_folder(starter))):
        with Owned(folder) as owned, _Peer(folder) as peer:
            yield from _speeds(label, _Bough(owned.ready()), peer)
            yield from _beside_the_worker(label, owned, _MANY_ROUNDS if folder == _GUIDE else _SOME_ROUNDS)
            if folder == _GUIDE:
                yield _session(owned, peer)
                yield _stops(_Bough(owned), peer)
            rss = psutil.Process(owned.relay.pid).memory_info().rss
            yield alone(_AREA, f"{label}: memory of the server process, MB", [rss / 1e6], "<= 100")
    with TemporaryDirectory() as scratch:
        folder = write_caller(Path(scratch) / "caller")
        with Owned(folder) as owned, _Peer(folder) as peer:
            yield _calls(_Bough(owned.ready()), peer)
            yield _session(owned, peer, ", whose template drops reasoning")


class _Bough:
    def __init__(self, owned: Owned) -> None:
        self.name = owned.status.model.id
        self.address = owned.address


class _Peer:
    """`mlx_lm.server` as a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address: tuple[str, int] = free.getsockname()
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, "--model", str(folder), "--port", str(self.address[1])],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        ends_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(self.address).close()
            except ConnectionRefusedError:
                if self._process.poll() is not None or time.monotonic() > ends_s:
                    self._process.kill()
                    raise
                time.sleep(0.1)
            else:
                return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


# --- clients ---------------------------------------------------------------------------------------------


def _asked(
    server: _Server,
    messages: Sequence[Any],
    max_tokens: int = _NUM_TOKENS,
    connection: http.client.HTTPConnection | None = None,
    **more: Any,
) -> _Answer:
    """Send a chat and read the stream of its answer.

    `connection`: one that stays open, or None for a new one. `more`: further fields of the request.
    """
    body = {
        "model": server.name,
        "messages": list(messages),
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        **more,
    }
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    used = connection or _connection(server)
    began = time.perf_counter()
    used.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    reply = used.getresponse()
    text, arguments, usage, first, last = "", "", {}, 0.0, 0.0
    while line := reply.readline():
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line.removeprefix(b"data: "))
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            for call in choice["delta"].get("tool_calls") or []:
                arguments += call["function"].get("arguments") or ""
            if new := choice["delta"].get("content"):
                text += new
                last = time.perf_counter()
                first = first or last
    if connection is None:
        used.close()
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return _Answer(
        began, first, last, usage["completion_tokens"], usage["prompt_tokens"], cached, text, _json(arguments)
    )


def _connection(server: _Server) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(*server.address, timeout=PATIENCE_S)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


class _Chats:
    """New chats, so that nothing of them is cached."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)

    def next(self) -> list[Any]:
        return [{"role": "user", "content": random_text(self._rng, _NUM_WORDS)}]


def _speeds(label: str, bough: _Server, peer: _Server) -> Iterator[Row]:
    """Compare the first token and the speed, for one client and for eight."""
    ones: dict[str, list[_Answer]] = {bough.name: [], peer.name: []}
    # Both get the same chats.
    chats = {server.name: _Chats(1) for server in (bough, peer)}

    def one(server: _Server) -> float:
        answer = _asked(server, chats[server.name].next())
        ones[server.name].append(answer)
        return answer.first_ms

    first = in_turn(_ROUNDS + 2, lambda: one(bough), lambda: one(peer))
    yield compared(_AREA, f"{label}, one client: first token, ms", first[0], _PEER, first[1])
    # The first ones warmed up.
    speeds = [[answer.tokens_per_s for answer in ones[server.name][1:]] for server in (bough, peer)]
    yield compared(_AREA, f"{label}, one client: tokens/s", speeds[0], _PEER, speeds[1])

    firsts: dict[str, list[float]] = {bough.name: [], peer.name: []}

    def eight(server: _Server) -> float:
        asked = [chats[server.name].next() for _ in range(_NUM_CLIENTS)]
        with ThreadPoolExecutor(_NUM_CLIENTS) as clients:
            answers = list(clients.map(partial(_asked, server), asked))
        firsts[server.name].append(statistics.median(answer.first_ms for answer in answers))
        took = max(answer.ended_s for answer in answers) - min(answer.began_s for answer in answers)
        return sum(answer.num_tokens for answer in answers) / took

    speeds = in_turn(_ROUNDS, lambda: eight(bough), lambda: eight(peer))
    yield compared(
        _AREA,
        f"{label}, {_NUM_CLIENTS} clients: first token, ms",
        firsts[bough.name][1:],
        _PEER,
        firsts[peer.name][1:],
    )
    yield compared(_AREA, f"{label}, {_NUM_CLIENTS} clients: tokens/s, with prompts", speeds[0], _PEER, speeds[1])


def _beside_the_worker(label: str, owned: Owned, rounds: int) -> Iterator[Row]:
    """Compare the first token with that of the same request to the worker.

    The official clients keep their connection open between requests, and so does this one; a second row opens one for
    each request.
    """
    bough = _Bough(owned)
    kept = _connection(bough)
    first = f"{label}: first token through the API"

    def of_worker(chats: _Chats) -> float:
        messages = [Message(role="user", content=chats.next()[0]["content"])]
        while not owned.events.empty():
            owned.events.get()
        time.sleep(_REST_S)
        began = time.perf_counter()
        owned.send(Generate(request_id="bench", messages=messages, max_tokens=2, sampling=Sampling(temperature=0)))
        owned.event(Chunk, lambda event: event.request_id == "bench")
        took_ms = (time.perf_counter() - began) * 1e3
        owned.event(Finished, lambda event: event.request_id == "bench")
        return took_ms

    def of_api(chats: _Chats, connection: http.client.HTTPConnection | None) -> float:
        time.sleep(_REST_S)
        return _asked(bough, chats.next(), 2, connection).first_ms

    for name, connection, goal, seed in ((", ms", kept, "<= 1.1", 2), (" and a new connection, ms", None, None, 4)):
        chats, same = _Chats(seed), _Chats(seed + 1)
        ours, theirs = in_turn(
            rounds,
            partial(of_api, chats, connection),
            partial(of_worker, same),
            warm_up=2,
        )
        yield compared(_AREA, first + name, ours, "the worker", theirs, goal)
    kept.close()


# --- an agent --------------------------------------------------------------------------------------------


def _session(owned: Owned, peer: _Server, which: str = "") -> Row:
    """Compare the tokens that are read with the least that can be read. Each server's oracle has its own answers."""
    _asked(_Bough(owned), [{"role": "user", "content": "Hi"}], 1)
    while not owned.news.empty():
        owned.news.get()
    session, agent = Session(owned), Agent()
    for _ in range(_NUM_REQUESTS):
        agent.ask()
        agent.take(session.ask(agent.messages))
    ours = session.num_read / session.num_ideal
    oracle, agent = Oracle(), Agent()
    num_read = num_ideal = 0
    for _ in range(_NUM_REQUESTS):
        agent.ask()
        answer = _asked(peer, agent.messages, 12)
        # It gets the text of its answers, so their ids are those of the text.
        prompt = _ids(owned, messages=[Message(**message) for message in agent.messages])
        assert len(prompt) == answer.num_prompt
        num_read += answer.num_prompt - answer.num_cached
        num_ideal += oracle.num_new(prompt, _ids(owned, text=answer.text))
        agent.take(answer.text)
    name = f"an agent's {_NUM_REQUESTS} requests{which}: tokens read ÷ new tokens"
    return _beside(name, ours, num_read / num_ideal, "<= 1.0")


def _beside(name: str, ours: float, theirs: float, goal: str) -> Row:
    """Return a row of two figures, one run each. The goal applies to Bough's figure instead of the ratio."""
    row = alone(_AREA, name, [ours], goal)
    row["peer_name"], row["peer"] = _PEER, theirs
    return row


# --- stop strings and calls ------------------------------------------------------------------------------


def _stops(bough: _Server, peer: _Server) -> Row:
    """Count the answers that are not the text before the first stop string. Each server's own answer is the oracle."""
    wrong: list[float] = []
    for server in (bough, peer):
        rng = Random(5)
        text = _asked(server, _QUESTION, 60).text
        wrong.append(0)
        for _ in range(_NUM_STOPS):
            stops = [_part(text, rng) for _ in range(rng.randrange(1, 4))]
            found = _asked(server, _QUESTION, 60, stop=stops).text
            # The one that is whole first ends the answer.
            first = min(stops, key=lambda stop: (text.index(stop) + len(stop), -len(stop)))
            wrong[-1] += found != text[: text.index(first)]
    return _beside(f"{_NUM_STOPS} streams with stop strings: wrong answers", wrong[0], wrong[1], "<= 0")


def _part(text: str, rng: Random) -> str:
    """Return a part of a text, of up to 12 characters."""
    start = rng.randrange(len(text))
    return text[start : start + rng.randrange(1, 13)]


def _calls(bough: _Server, peer: _Server) -> Row:
    """Count the streams that are the text, then the call, and nothing else."""
    right: list[float] = []
    tools = [{"type": "function", "function": TOOL}]
    for server in (bough, peer):
        answers = [_asked(server, [{"role": "user", "content": way}], 200, tools=tools) for way in WAYS]
        good = [(answer.text.strip(), answer.called) == (TEXT.strip(), ARGUMENTS) for answer in answers]
        right.append(100 * sum(good) / len(WAYS))
    return _beside(f"{len(WAYS)} calls of tools while they stream: right, %", right[0], right[1], ">= 100")


def _ids(owned: Owned, **prompt: Any) -> list[int]:
    owned.send(Tokenize(request_id="oracle", **prompt))
    return owned.event(Tokenized).token_ids


def _be_mlx_lm() -> None:
    from worker.blas import preload

    preload()
    from mlx_lm.server import main

    main()


if __name__ == "__main__":
    _be_mlx_lm()
