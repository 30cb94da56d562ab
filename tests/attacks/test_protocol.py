"""Attacks by a client of the worker: floods of commands, messages that are too long, signals."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tokenizers import Tokenizer
from typing_extensions import override

from tests.driver import PATIENCE_S, TERMINAL, StdioWorker
from tests.long import in_long_runs
from tests.models import write_scripted_model
from worker.encoding import MAX_MESSAGE_BYTES
from worker.inbox import Inbox, Incoming
from worker.protocol import Cancel, Command, Event, Failed, Generate, Shutdown
from worker.server import MAX_WAITING, Server


def _answering(worker: StdioWorker, model: Path) -> StdioWorker:
    """Let a worker write an answer without an end, as the request "busy"."""
    worker.load(model)
    worker.send("generate", request_id="busy", text="Hello")
    worker.wait_for("busy", "chunk")
    return worker


@pytest.fixture
def answering(shared_worker: StdioWorker, endless_model: Path) -> StdioWorker:
    """The module's worker, which writes an answer. The test must end it."""
    return _answering(shared_worker, endless_model)


@pytest.fixture
def ending(stdio_worker: StdioWorker, endless_model: Path) -> StdioWorker:
    """A worker for one test, which writes an answer."""
    return _answering(stdio_worker, endless_model)


def flood(worker: StdioWorker, commands: list[dict[str, Any]]) -> threading.Thread:
    """Send many commands at once, while the test reads the events."""
    lines = b"\n".join(json.dumps(command).encode() for command in commands)
    sender = threading.Thread(target=worker.send_line, args=(lines,), daemon=True)
    sender.start()
    return sender


def ends_of(worker: StdioWorker, num_ends: int) -> dict[str, dict[str, Any]]:
    """Wait for this many terminal events. Return each by its request; no request has two."""
    ends: dict[str, dict[str, Any]] = {}
    while len(ends) < num_ends:
        event = worker.next_event()
        if event["type"] in TERMINAL:
            assert event["request_id"] not in ends
            ends[event["request_id"]] = event
    return ends


# --- floods ------------------------------------------------------------------------------------------------


def test_requests_beyond_the_limit_are_overloaded_and_the_others_wait(ending: StdioWorker):
    # A load waits for the running answer, and all requests behind it wait for the load.
    load = {"type": "load_model", "request_id": "load", "model": "guide"}
    waiting = [{"type": "generate", "request_id": f"{number}", "text": "Hello"} for number in range(1000)]
    sender = flood(ending, [load, *waiting, {"type": "cancel", "request_id": "cancel", "target": "0"}])
    num_refused = 1 + 1000 - MAX_WAITING
    ends = ends_of(ending, num_refused + 2)
    sender.join()
    assert Counter(end.get("kind") for end in ends.values()) == {"overloaded": num_refused, None: 2}
    assert ends["0"]["choices"][0]["reason"] == "cancelled"
    assert "Wait until" in ends["999"]["message"]
    ending.send("shutdown", request_id="shutdown")
    ends = ends_of(ending, 1 + 1 + MAX_WAITING - 1)
    assert {end["choices"][0]["reason"] for end in ends.values() if end["type"] == "finished"} == {"cancelled"}
    assert (ends["load"]["kind"], ends["shutdown"]["type"]) == ("cancelled", "done")
    assert ending.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("kind", ["tokenize", *in_long_runs(["cancel", "nonsense"])])
def test_an_answer_continues_during_a_flood_of_cheap_commands(answering: StdioWorker, kind: str):
    fields = {"tokenize": {"text": "Hello there"}, "cancel": {"target": "nobody"}, "nonsense": {}}[kind]
    num_commands = 3000
    commands = [{"type": kind, "request_id": f"{number}", **fields} for number in range(num_commands)]
    sender = flood(answering, [*commands, {"type": "cancel", "request_id": "last", "target": "busy"}])
    begin = len(answering.events)
    ends = ends_of(answering, num_commands + 2)
    sender.join()
    assert ends["busy"]["choices"][0]["reason"] == "cancelled"
    types = [event["type"] for event in answering.events[begin:]]
    assert "chunk" in types[: len(types) // 2]


def test_a_cancel_is_obeyed_before_the_questions_that_came_earlier(answering: StdioWorker):
    text = "Hello there, how are you? " * 1000
    questions = [{"type": "tokenize", "request_id": f"{number}", "text": text} for number in range(40)]
    sender = flood(answering, [*questions, {"type": "cancel", "request_id": "cancel", "target": "busy"}])
    order = list(ends_of(answering, 42))
    sender.join()
    assert order.index("busy") < 41


_LONG = "Hello there, how are you? " * 20_000
_OK = {"role": "assistant", "content": "OK"}


@pytest.mark.parametrize(
    "question",
    [
        {"type": "tokenize", "text": _LONG, "counts_only": True},
        *in_long_runs(
            [
                {"type": "plan", "prompts": [{"text": _LONG}]},
                {
                    "type": "plan",
                    "messages": [{"role": "user", "content": "Hello there"}] * 100,
                    "paths": [list(range(1 + number % 100)) for number in range(1000)],
                },
                {"type": "tokenize", "messages": [{"role": "user", "content": _LONG}], "counts_only": True},
                {"type": "tokenize", "text": _LONG},
            ]
        ),
    ],
)
def test_answers_and_other_commands_continue_while_a_long_text_is_tokenized(
    answering: StdioWorker, question: dict[str, Any]
):
    commands = [
        {"request_id": "question", **question},
        {"type": "plan", "request_id": "short", "prompts": [{"text": "Hello"}]},
        {"type": "generate", "request_id": "other", "text": "Hello", "max_tokens": 3},
        {"type": "cancel", "request_id": "cancel", "target": "busy"},
    ]
    num_before = len(answering.events)
    sender = flood(answering, commands)
    ends = ends_of(answering, 5)
    sender.join()
    kinds = {name: end["type"] for name, end in ends.items()}
    assert kinds["question"] in {"tokenized", "planned"}
    assert ends["busy"]["choices"][0]["reason"] == "cancelled"
    assert next(reversed(ends)) == "question"
    assert "other" in {event["request_id"] for event in answering.events[num_before:] if event["type"] == "chunk"}


@pytest.fixture
def short_context_model(tmp_path: Path, byte_level: Tokenizer) -> Path:
    """A model that writes the same token until it is stopped, with a context that long texts exceed."""
    size = byte_level.get_vocab_size(with_added_tokens=True)
    a = byte_level.encode("a").ids[0]
    return write_scripted_model(tmp_path / "model", byte_level, dict.fromkeys(range(size), a), context_length=20_000)


_LONG_MESSAGES = [{"role": "user", "content": _LONG}, _OK, {"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    "prompt",
    [
        {"messages": _LONG_MESSAGES, "overflow": "drop_oldest", "max_tokens": 1},
        *in_long_runs([{"text": _LONG}, {"text": "Hi", "continuation": {"text": _LONG}}]),
    ],
)
def test_answers_and_other_requests_continue_while_a_long_prompt_is_tokenized(
    shared_worker: StdioWorker, short_context_model: Path, prompt: dict[str, Any]
):
    worker = _answering(shared_worker, short_context_model)
    num_before = len(worker.events)
    commands = [
        {"type": "generate", "request_id": "long", **prompt},
        {"type": "plan", "request_id": "short", "prompts": [{"text": "Hello"}]},
        {"type": "generate", "request_id": "other", "text": "Hello", "max_tokens": 3},
        {"type": "cancel", "request_id": "cancel", "target": "busy"},
    ]
    sender = flood(worker, commands)
    ends = ends_of(worker, 5)
    sender.join()
    assert next(reversed(ends)) == "long"
    assert ends["long"]["type"] == "finished" or ends["long"]["kind"] == "context_overflow"
    assert ends["busy"]["choices"][0]["reason"] == "cancelled"
    assert len(ends["other"]["choices"][0]["token_ids"]) == 3
    assert "other" in {event["request_id"] for event in worker.events[num_before:] if event["type"] == "chunk"}


def test_a_request_is_cancelled_while_its_long_prompt_is_tokenized(
    shared_worker: StdioWorker, short_context_model: Path
):
    worker = _answering(shared_worker, short_context_model)
    long = {"messages": _LONG_MESSAGES, "overflow": "drop_oldest"}
    commands = [
        {"type": "generate", "request_id": "long", **long},
        {"type": "plan", "request_id": "short", "prompts": [{"text": "Hello"}]},
        {"type": "cancel", "request_id": "cancel", "target": "long"},
    ]
    sender = flood(worker, commands)
    ends = ends_of(worker, 3)
    sender.join()
    assert ends["long"]["choices"][0]["reason"] == "cancelled"
    # It was cancelled before its prompt was made.
    assert ends["long"]["usage"]["prompt_tokens"] == 0
    worker.wait_for("busy", "chunk")
    worker.send("cancel", request_id="end", target="busy")
    assert ends_of(worker, 2)["busy"]["choices"][0]["reason"] == "cancelled"


def test_a_request_with_very_many_hooks_is_refused_at_once(shared_worker: StdioWorker):
    end = shared_worker.result("generate", text="Hello", hooks=["no repeats"] * 65)
    assert (end["type"], end["kind"]) == ("failed", "bad_request")
    assert "`$.hooks`" in end["message"]


@pytest.mark.parametrize("end", ["load_model", "shutdown"])
def test_a_long_text_holds_up_neither_a_load_nor_the_end(ending: StdioWorker, end: str):
    commands = [
        {"type": "cancel", "request_id": "cancel", "target": "busy"},
        {"type": "tokenize", "request_id": "question", "text": 3 * _LONG},
        {"type": end, "request_id": "end", **({"model": "guide"} if end == "load_model" else {})},
    ]
    sender = flood(ending, commands)
    ends = ends_of(ending, 4)
    sender.join()
    assert next(reversed(ends)) == "end"
    assert ends["question"]["type"] == "failed"
    assert ends["end"]["type"] in {"model_loaded", "done"}
    if end == "shutdown":
        assert ending.process.wait(PATIENCE_S) == 0


@pytest.mark.long
def test_questions_that_wait_for_a_load_count_too(stdio_worker: StdioWorker, endless_model: Path):
    load = {"type": "load_model", "request_id": "load", "model": str(endless_model)}
    unload = [{"type": "unload_model", "request_id": f"u{number}"} for number in range(MAX_WAITING)]
    questions = [{"type": "plan", "request_id": f"{number}", "prompts": []} for number in range(1000)]
    sender = flood(stdio_worker, [load, *unload, *questions])
    ends = ends_of(stdio_worker, 1001 + MAX_WAITING)
    sender.join()
    assert ends["load"]["type"] == "model_loaded"
    assert Counter(end.get("kind") for end in ends.values())["overloaded"] > 0


@pytest.mark.long
def test_ten_thousand_requests_do_not_delay_the_first_answer(stdio_worker: StdioWorker, endless_model: Path):
    stdio_worker.load(endless_model)
    requests = [
        {"type": "generate", "request_id": f"{number}", "text": "Hello", "max_tokens": 4} for number in range(10_000)
    ]
    sender = flood(stdio_worker, requests)
    num_before = len(stdio_worker.events)
    ends = ends_of(stdio_worker, len(requests))
    sender.join()
    assert ends["0"]["type"] == "finished"
    kinds = [event["type"] for event in stdio_worker.events[num_before:]]
    # The first token came long before the last refusal.
    assert kinds.index("chunk") < len(kinds) // 2


class _CountingInbox(Inbox):
    """Counts the steps of Python's interpreter that the server takes for some commands."""

    def __init__(self, *counted: str) -> None:
        super().__init__()
        self.steps = dict.fromkeys(counted, 0)
        self._counted = ""

    @override
    def get(self, timeout_s: float | None = None) -> Incoming:
        sys.settrace(None)
        incoming = super().get(timeout_s)
        self._counted = getattr(incoming, "request_id", None) or ""
        if self._counted in self.steps:
            sys.settrace(self._count)
        return incoming

    def _count(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        frame.f_trace_opcodes = True
        self.steps[self._counted] += event == "opcode"
        return self._count


def test_the_work_to_accept_refuse_or_cancel_a_command_does_not_grow_with_the_queue():
    inbox = _CountingInbox("10", "249", "255", "300", "9999", "cancel 1", "cancel 2")
    requests = [Generate(request_id=f"{number}", text="Hello") for number in range(10_000)]
    commands: list[Command] = [
        *requests[:250],
        Cancel(request_id="cancel 1", target="100"),
        *requests[250:],
        Cancel(request_id="cancel 2", target="101"),
        Shutdown(request_id="shutdown"),
    ]
    for command in commands:
        inbox.put(command)
    events: list[Event] = []
    before = sys.gettrace()
    try:
        Server(inbox, events.append).run()
    finally:
        sys.settrace(before)
    kinds = Counter(event.kind for event in events if isinstance(event, Failed))
    assert kinds["overloaded"] == 10_000 - 1 - MAX_WAITING
    steps = inbox.steps
    assert steps["10"] == steps["249"] == steps["255"] > 0
    assert steps["300"] == steps["9999"] > 0
    assert steps["cancel 1"] == steps["cancel 2"] > 0


# --- sizes -------------------------------------------------------------------------------------------------


def test_a_line_that_is_too_long_is_refused_with_its_id(shared_worker: StdioWorker):
    text = b"x" * MAX_MESSAGE_BYTES
    shared_worker.send_line(b'{"type": "generate", "request_id": "too long", "text": "' + text + b'"}')
    [failed] = shared_worker.events_until_end("too long")
    assert (failed["kind"], "MiB" in failed["message"]) == ("bad_request", True)
    assert shared_worker.result("list_hooks")["type"] == "hooks_listed"


def test_a_cancel_is_accepted_while_the_inbox_is_full(answering: StdioWorker):
    text = "x" * (MAX_MESSAGE_BYTES // 5)
    commands = [{"type": "generate", "request_id": f"{number}", "text": text} for number in range(8)]
    # A load waits for the running answer, and so do all requests behind it.
    load = {"type": "load_model", "request_id": "load", "model": "guide"}
    sender = flood(answering, [load, *commands])
    ends = ends_of(answering, 4)
    assert {end["kind"] for end in ends.values()} == {"overloaded"}
    assert answering.result("cancel", target="busy")["type"] == "done"
    ends = ends_of(answering, 6)
    sender.join()
    assert ends["load"]["type"] == "model_loaded"
    # There is room again.
    assert answering.result("generate", text=text)["kind"] == "context_overflow"


_USER = {"role": "user", "content": "Hi"}


def _calls(number: int) -> dict[str, Any]:
    calls = [{"name": "a", "arguments": {}, "id": f"{each}"} for each in range(number)]
    return {"messages": [_USER, {"role": "assistant", "content": "", "tool_calls": calls}]}


def _tools(*parameters: dict[str, Any]) -> dict[str, Any]:
    tools = [{"name": f"t{number}", "description": "", "parameters": each} for number, each in enumerate(parameters)]
    return {"messages": [_USER], "tools": tools, "tool_choice": "required"}


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (lambda: _calls(20_000), "at least 20,002 tokens"),
        (lambda: _tools(*[{"type": "object"}] * 5_000), "at least 5,001 tokens"),
        (lambda: _tools({"properties": {"a": {"enum": [f"v{each}" for each in range(50_000)]}}}), "about "),
        (lambda: {"messages": [{"role": "user", "content": "word " * 8}] * 2_000}, "about "),
    ],
    ids=["calls", "tools", "a tool", "short messages"],
)
def test_a_request_that_is_far_too_long_is_refused_before_it_is_rendered(
    shared_worker: StdioWorker, prompt: Callable[[], dict[str, Any]], words: str
):
    """Rendering the calls took 26 s, in which no other answer went on; reading the format of the tools took 28 s."""
    shared_worker.load("guide")
    failed = shared_worker.result("generate", **prompt(), max_tokens=1)
    assert failed["kind"] == "context_overflow"
    assert words in failed["message"]


# --- signals -----------------------------------------------------------------------------------------------


def test_sigterm_cancels_each_request_and_the_worker_ends_in_good_order(ending: StdioWorker):
    ending.send("generate", request_id="waiting", text="Hello")
    ending.result("tokenize", text="Hello")  # The request has arrived.
    ending.process.send_signal(signal.SIGTERM)
    ends = ends_of(ending, 2)
    assert {end["choices"][0]["reason"] for end in ends.values()} == {"cancelled"}
    assert ends.keys() == {"busy", "waiting"}
    assert ending.process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert not [line for line in ending.errors if "Traceback" in line]
