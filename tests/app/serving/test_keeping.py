"""Requests of other programs kept as conversations: one tree for a session, and exactly the turns that were sent."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from app.answers.prompt import generate as window_generate
from app.answers.prompt import tools, turns
from app.model import kept_requests
from app.model.kept_requests import Kept
from app.model.message import Message as StoredMessage
from app.model.message import Record
from app.model.store import Store
from app.places import Places
from app.serving.keeping import FOLDER, kept_request
from app.serving.messages import Client, Compared
from app.serving.relay import Exchange
from app.serving.turns import Turns, turn_of
from tests.app.serving.owned import Owned
from tests.app.serving.running import Bough
from worker.protocol import (
    Choice,
    Finished,
    Generate,
    Message,
    ModelLoaded,
    NamedTool,
    Plan,
    Planned,
    Prompt,
    Timing,
    Tool,
    Usage,
)
from worker.tools.forms import form_named
from worker.tools.turn_parts import TurnReader
from worker.values import ReasoningMarks

_LOADED = ModelLoaded(
    request_id="load",
    model="guide",
    architecture="llama",
    num_parameters=1,
    context_length=4096,
    vocab_size=100,
    weights_bytes=1,
    kv_bytes_per_token=1,
    cache_kind="trimmable",
    identity="one",
    tool_form="json_tools",
    reasoning=ReasoningMarks("<think>", "</think>"),
)
_TOOLS = [[], [Tool(name="weather", parameters={"type": "object"})]]
_CLIENT = Client(program="OpenCode/1.2 ai-sdk")
_WORDS = ["fork", "leaf", "root", "a note:\n\n```py\nprint()\n```", "  spaced  ", "tail\n"]
_CALL = '<tool_call>\n{"name": "weather", "arguments": {"days": %d}}\n</tool_call>'


@pytest.fixture
def store(tmp_path: Path) -> Any:
    found = Store(tmp_path / "bough.sqlite3")
    yield found
    found.close()


class _Server:
    """Answers requests as the server process does: returned turns get the ids that the model wrote."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._turns = Turns(None)
        self._numbers = itertools.count(1)

    def exchange(self, messages: Sequence[Message], offered: list[Tool], texts: Sequence[str]) -> Exchange:
        """Return a request with these answers."""
        given = self._turns.recalled(_LOADED, offered, messages)
        request = Generate(
            request_id=f"api-{next(self._numbers)}", messages=given, tools=offered, identity="one", n=len(texts)
        )
        choices = [self._choice(text) for text in texts]
        for choice in choices:
            turn = answer_of(choice.text)
            self._turns.add(_LOADED, offered, given, turn, choice.text, choice.turn_token_ids)
        finished = Finished(request_id=request.request_id, choices=choices, usage=Usage(), timing=Timing())
        return Exchange(_CLIENT, "guide", Compared(), (), request, finished, loaded=_LOADED)

    def _choice(self, text: str) -> Choice:
        sizes = [len(text)] if text else []
        if len(text) > 4 and self._rng.random() < 0.5:
            sizes = [len(text) // 3, 0, len(text) - len(text) // 3]
        ids = [self._rng.randrange(100) for _ in sizes]
        return Choice(
            text=text, token_ids=ids, num_recut=0, seed=1, reason="eos", turn_token_ids=ids, turn_token_chars=sizes
        )

    def close(self) -> None:
        self._turns.close()


def answer_of(text: str) -> Message:
    reader = TurnReader(form_named("json_tools"), _LOADED.reasoning, {})
    return turn_of([*reader.feed(text), *reader.end()]) or Message(role="assistant", content=text)


def as_written(choice: Choice) -> Message:
    """Return an answer as the server recalls it when its client returns it."""
    turn = answer_of(choice.text)
    is_plain = turn.content == choice.text and not turn.tool_calls
    ids = choice.turn_token_ids
    return replace(turn, token_ids=ids, written=UNSET if is_plain else choice.text) if choice.text else turn


def as_returned(text: str) -> Message:
    """Return an answer as clients return it: without reasoning and outer spaces, with call ids of their own."""
    turn = answer_of(text)
    return Message(role="assistant", content=turn.content.strip(), tool_calls=turn.tool_calls)


def _keep(store: Store, exchange: Exchange, *, in_parts: bool = False) -> Kept:
    request = kept_request(exchange)
    assert request is not None
    kept = store.keep_request(request, is_whole=not in_parts)
    while kept.rest is not None:
        kept = store.keep_request(kept.rest, is_whole=False)
    return kept


def _stored(store: Store) -> dict[int, StoredMessage]:
    found = store.conversations.all()
    return {message.id: message for one in found for message in store.messages.shown_by(one.id)}


def _lineages(messages: dict[int, StoredMessage]) -> dict[int, list[StoredMessage]]:
    lines: dict[int, list[StoredMessage]] = {}
    for message_id, message in sorted(messages.items()):
        above = [] if message.parent_id is None else lines[message.parent_id]
        lines[message_id] = [*above, message]
    return lines


def _random_text(rng: random.Random, *, has_tools: bool) -> str:
    thought = rng.choice(["", "", "<think>\nLet me see.\n</think>\n\n"])
    calls = "\n".join(_CALL % rng.randrange(3) for _ in range(rng.choice([0, 0, 1, 2]))) if has_tools else ""
    return thought + rng.choice([*_WORDS, ""]) + calls or "x"


def _ask(rng: random.Random, messages: list[Message]) -> None:
    """Add what a client adds: results of the calls, a question, sometimes two, or a system text."""
    last = messages[-1] if messages else None
    if last is not None and last.tool_calls:
        messages += [
            Message(role="tool", content=rng.choice(_WORDS), tool_call_id=call.id, name=call.name)
            for call in last.tool_calls
        ]
        if rng.random() < 0.5:
            return
    if messages and rng.random() < 0.1:
        messages.append(Message(role="system", content=rng.choice(_WORDS)))
    for _ in range(rng.choice([1, 1, 1, 2])):
        messages.append(Message(role="user", content=rng.choice(_WORDS)))


def _change(rng: random.Random, messages: list[Message]) -> None:
    """Cut, change or insert something in the middle."""
    at = rng.randrange(len(messages))
    match rng.randrange(3):
        case 0:
            del messages[at + 1 :]
        case 1:
            messages[at] = Message(role=messages[at].role if not messages[at].tool_calls else "user", content="changed")
        case _:
            messages[at:at] = [Message(role="user", content="put in between")]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 9))])
def test_a_random_walk_of_requests_makes_the_same_trees_as_an_oracle(
    store: Store, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_requests, "_TURNS_AT_ONCE", 2)
    rng = random.Random(seed)
    server = _Server(rng)
    sessions: list[tuple[list[Tool], list[Message]]] = []
    # By histories: how often each turn was answered, or 1 for a turn that a client sent.
    oracle: dict[tuple[Any, ...], int] = {}
    asked: list[tuple[list[Tool], list[Message], Message]] = []
    for _ in range(40):
        if not sessions or rng.random() < 0.15:
            messages = [Message(role="system", content=rng.choice(["Be brief.", " "]))] if rng.random() < 0.7 else []
            sessions.append((rng.choice(_TOOLS), messages))
        offered, messages = rng.choice(sessions)
        messages = [*messages]
        if len(messages) > 3 and rng.random() < 0.3:
            _change(rng, messages)
        _ask(rng, messages)
        texts = [_random_text(rng, has_tools=bool(offered)) for _ in range(rng.choice([1, 1, 2]))]
        exchange = server.exchange(messages, offered, texts)
        assert exchange.generate.messages is not UNSET
        _keep(store, exchange, in_parts=rng.random() < 0.5)
        given = [_exact(message) for message in exchange.generate.messages]
        if not messages or messages[0].role != "system":
            given.insert(0, "no system text")
        histories = [(len(offered), *given[:end]) for end in range(2, len(given) + 1)]
        for history in histories:
            oracle.setdefault(history, 1)
        for choice in exchange.finished.choices:
            turn = as_written(choice)
            # An answer that came before has one sibling more.
            oracle[*histories[-1], _exact(turn)] = oracle.get((*histories[-1], _exact(turn)), 0) + 1
            asked.append((offered, exchange.generate.messages, turn))
        sessions.append((offered, [*messages, as_returned(texts[0])]))

    messages_by_id = _stored(store)
    branches = {
        (tuple(tool.name for tool in tools(line)), tuple(map(_exact, turns(line))))
        for line in _lineages(messages_by_id).values()
    }
    for offered, prompt, answer in asked:
        # The window sends exactly the same prompt, with the same ids and tools; the answer is below it.
        assert (tuple(tool.name for tool in offered), tuple(map(_exact, [*prompt, answer]))) in branches
    # Nothing is stored twice.
    assert len(store.conversations.all()) == len({history[:3] for history in oracle})
    num_stored = sum(_is_turn(message) for message in messages_by_id.values())
    assert num_stored == sum(oracle.values())
    server.close()


def test_a_long_history_is_stored_in_linear_time(store: Store) -> None:
    server = _Server(random.Random(1))
    steps: list[int] = []
    for num_turns in (100, 400):
        messages = [Message(role="user", content=f"{num_turns} {number}") for number in range(num_turns)]
        exchange = server.exchange(messages, [], ["An answer"])
        steps.append(0)

        def count() -> int:
            steps[-1] += 1
            return 0

        store._database._connection.set_progress_handler(count, 100)  # pyright: ignore[reportPrivateUsage]
        _keep(store, exchange)
    assert steps[1] < 6 * steps[0]
    server.close()


def test_an_answer_that_the_limit_cut_in_a_marker_is_found_again_without_it(store: Store) -> None:
    server = _Server(random.Random(1))
    offered, messages = _TOOLS[1], [Message(role="user", content="Rain?")]
    exchange = server.exchange(messages, offered, ['Well.\n<tool_call>\n{"na'])
    (choice,) = exchange.finished.choices
    _keep(
        store,
        dataclasses.replace(exchange, finished=replace(exchange.finished, choices=[replace(choice, reason="length")])),
    )
    messages += [Message(role="assistant", content="Well."), Message(role="user", content="Go on.")]
    _keep(store, server.exchange(messages, offered, ["Sun."]))
    (line,) = [line for line in _lineages(_stored(store)).values() if line[-1].text == "Sun."]
    # The user sees all that the model wrote; it reads what the client sees.
    assert [message.text for message in line[-4:]] == ["Rain?", 'Well.\n<tool_call>\n{"na', "Go on.", "Sun."]
    assert [message.content for message in turns(line)][-4:] == ["Rain?", "Well.", "Go on.", "Sun."]
    server.close()


@pytest.mark.parametrize("choice", ["auto", "none", "required", NamedTool(name="weather")])
def test_an_answer_is_replayed_with_its_choice_of_tools(store: Store, choice: Any) -> None:
    server = _Server(random.Random(1))
    exchange = server.exchange([Message(role="user", content="Rain?")], _TOOLS[1], ["Well."])
    asked = replace(exchange.generate, tool_choice=choice, parallel_tool_calls=False)
    _keep(store, dataclasses.replace(exchange, generate=asked))
    (line,) = [line for line in _lineages(_stored(store)).values() if line[-1].text == "Well."]
    again = window_generate("replay", line[-1], line[:-1])
    assert (again.tools, again.tool_choice, again.parallel_tool_calls) == (_TOOLS[1], choice, False)
    # Without the system prompt that has the tools, there is nothing to choose.
    assert window_generate("replay", line[-1], []).tool_choice == "auto"
    server.close()


def _is_turn(message: StoredMessage) -> bool:
    sent = None if message.record is None else message.record.sent
    return message.role in {"user", "assistant"} or (sent is not None and bool(sent.role))


def _exact(message: Message) -> str:
    """Return everything of a message but the ids of its calls, which clients may choose."""
    calls = [replace(call, id="") for call in message.tool_calls]
    return msgspec.json.encode(replace(message, tool_calls=calls, tool_call_id="")).decode()


def test_a_session_with_calls_reads_nothing_again_when_it_continues_in_the_window(talker: Path, store: Store) -> None:
    parameters = {
        "type": "object",
        "properties": {"city": {"enum": ["Rome"]}, "days": {"const": 2}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    offered: Any = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    messages: list[Any] = [{"role": "system", "content": "Help."}, {"role": "user", "content": "How is it in Rome?"}]
    with Owned(talker) as owner, owner.ready().openai() as client:
        exchanges: list[Exchange] = []
        for _ in range(3):
            reply = client.chat.completions.create(
                model=owner.status.model.id, messages=messages, tools=offered, temperature=0
            )
            exchanges.append(owner.exchange())
            _keep(store, exchanges[-1])
            calls = reply.choices[0].message.tool_calls
            assert calls
            messages += [
                reply.choices[0].message.to_dict(),
                {"role": "tool", "tool_call_id": calls[0].id, "content": "Sunny"},
            ]
        exchange = exchanges[-1]
        (conversation,) = store.conversations.all()
        assert conversation.folder == FOLDER
        assert conversation.name == "OpenAI/Python: How is it in Rome?"
        path = store_path(store, conversation.id)
        assert [message.text.partition("\n")[0] for message in path if message.role == "note"] == [
            "Tool call: weather",
            "Tool result: weather",
            "Tool call: weather",
            "Tool result: weather",
            "Tool call: weather",
        ]
        answer = next(message for message in reversed(path) if message.role == "assistant")
        assert "Let me see." in answer.text
        assert "I ask for it." in answer.text
        assert "tool_call" not in answer.text
        record = answer.record
        assert record is not None
        assert (record.model, record.client, record.reason) == (str(talker), "OpenAI/Python", "eos")
        assert record.figures.new_tokens == exchange.finished.usage.generated_tokens
        assert record.figures.read_tokens
        assert record.ended_ms
        prompt = path[: path.index(answer)]
        asked = StoredMessage(id=0, parent_id=None, role="assistant", text="", record=Record())
        again = window_generate("again", asked, prompt)
        assert again.messages == exchange.generate.messages
        assert again.tools == exchange.generate.tools
        owner.send(Plan(request_id="plan", prompts=[Prompt(messages=again.messages, tools=again.tools)]))
        (plan,) = owner.event(Planned).plans
        assert plan.prompt_tokens == exchange.finished.usage.prompt_tokens
        assert plan.cached_tokens >= plan.prompt_tokens - 1


def store_path(store: Store, conversation_id: int) -> list[StoredMessage]:
    from app.model.open_conversation import OpenConversation

    return OpenConversation(store, store.conversations.get(conversation_id)).path


@pytest.mark.long
def test_bough_serve_keeps_requests_beside_an_open_window_and_reports_those_it_could_not_keep(tmp_path: Path) -> None:
    messages: list[Any] = [{"role": "user", "content": "How do I fork a message?"}]
    with Bough(tmp_path, "--port", "0", "--keep") as bough, bough.openai() as client:
        model = bough.wait_until_ready()

        def ask() -> None:
            client.chat.completions.create(model=model, messages=messages, max_tokens=4, temperature=0)

        ask()
        bough.line("(wrote 4)")
        # As a window does, which has the same conversations open.
        with contextlib.closing(Store(Places.under(tmp_path).store)) as store:
            (conversation,) = store.conversations.all()
            assert conversation.name == "OpenAI/Python: How do I fork a message?"
            bough.lines.clear()
            ask()
            bough.line("(wrote 4)")
            with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                ask()
                error = bough.error_line()
                other.execute("ROLLBACK")
        assert "The request of OpenAI/Python was answered, but not kept." in error
        assert "Another program is writing" in error
        assert bough.end() == 0
    with contextlib.closing(Store(Places.under(tmp_path).store)) as store:
        (found,) = store.conversations.all()
        # Two answers to the same question.
        assert [message.role for message in store.messages.shown_by(found.id)].count("assistant") == 2
