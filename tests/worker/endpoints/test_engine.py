"""A process for endpoints answers commands through real HTTP. It runs about two seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.driver import PATIENCE_S
from tests.endpoint_server import EndpointServer, Event, Fault, Script, error, json_reply
from tests.worker.endpoints.asking import Asking
from worker.protocol import (
    Answered,
    Cancel,
    CheckEndpoint,
    Chunk,
    Constraint,
    Continuation,
    Endpoint,
    EndpointChecked,
    Failed,
    Message,
    ModelLoaded,
    Sampling,
    ServerFacts,
    ToolCall,
)

_TEXT = "".join(Script().pieces)


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with Asking() as started:
        yield started


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    with EndpointServer() as started:
        yield started


def _connect(asking: Asking, server: EndpointServer) -> None:
    asking.loaded(server.url)
    # What the server can do has been tried out.
    server.requests.clear()
    while not server.arrived.empty():
        server.arrived.get()


def test_an_answer_is_streamed_and_its_usage_is_known(asking: Asking, server: EndpointServer) -> None:
    _connect(asking, server)
    request = asking.ask()
    finished = asking.finished(request)
    assert finished.choices[0].text == asking.shown(request) == _TEXT
    assert finished.choices[0].reason == "eos"
    assert finished.usage.prompt_tokens > 0
    assert finished.usage.generated_tokens == len(Script().pieces)


def test_equal_beginnings_are_equal_bytes_so_that_the_server_keeps_them(asking: Asking, server: EndpointServer) -> None:
    _connect(asking, server)
    first = asking.answer("What is a tree?")
    again = asking.answer("What is a tree?")
    assert again.usage.cached_tokens == first.usage.prompt_tokens - 1 or again.usage.cached_tokens > 0
    bodies = [request.body for request in server.requests_of("POST")]
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("stop", ["laufen", "世界 👩", ",\n世", "ß"])
def test_text_ends_before_a_stop_string_that_pieces_share(asking: Asking, server: EndpointServer, stop: str) -> None:
    _connect(asking, server)
    request = asking.ask(stop=[stop])
    choice = asking.finished(request).choices[0]
    assert choice.text == asking.shown(request) == _TEXT.partition(stop)[0]
    assert (choice.reason, choice.stop) == ("stop", stop)


def test_each_of_several_answers_has_its_seed_and_its_end(asking: Asking, server: EndpointServer) -> None:
    _connect(asking, server)
    request = asking.ask(n=3, sampling=Sampling(seed=40, temperature=0.5, top_k=5))
    finished = asking.finished(request)
    assert [choice.seed for choice in finished.choices] == [40, 41, 42]
    assert {choice.text for choice in finished.choices} == {_TEXT}
    sent = [each.json for each in server.requests_of("POST")]
    assert sorted(each["seed"] for each in sent) == [40, 41, 42]
    assert {(each["temperature"], each["top_k"]) for each in sent} == {(0.5, 5)}
    ended = [each for each in asking.events if isinstance(each, Answered) and each.request_id == request]
    assert len(ended) == 2


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "text"])
def test_reasoning_stands_before_the_answer_and_no_stop_string_ends_it(asking: Asking, field: str) -> None:
    script = Script(reasoning=("I ", "stop", " here."), reasoning_in=field)  # pyright: ignore[reportArgumentType]
    with EndpointServer({"script": script}) as server:
        _connect(asking, server)
        finished = asking.answer(stop=["here", "groß"] if field != "text" else ["groß"])
    shown = _TEXT.partition("groß")[0]
    marks = ("<think>", "</think>") if field == "text" else ("<think>\n", "\n</think>\n\n")
    assert finished.choices[0].text == f"{marks[0]}I stop here.{marks[1]}{shown}"


def test_a_cancelled_answer_keeps_its_text_and_frees_the_server(asking: Asking, server: EndpointServer) -> None:
    _connect(asking, server)
    server.fail("POST", Fault(end="stall", after_bytes=900))
    request = asking.ask()
    while not asking.shown(request):
        asking.next()
    asking.send(Cancel(request_id="stop-1", target=request))
    choice = asking.finished(request).choices[0]
    assert choice.reason == "cancelled"
    assert choice.text == asking.shown(request)
    assert _TEXT.startswith(choice.text)
    assert server.requests_of("POST")[0].over.wait(20)
    assert server.requests_of("POST")[0].ended == "by client"


def test_a_request_that_is_cancelled_at_once_ends_once(asking: Asking, server: EndpointServer) -> None:
    _connect(asking, server)
    requests = [asking.ask() for _ in range(5)]
    for number, request in enumerate(requests):
        asking.send(Cancel(request_id=f"stop-now-{number}", target=request))
    for request in requests:
        assert asking.finished(request).choices[0].reason in {"cancelled", "eos"}
    assert asking.answer().choices[0].text == _TEXT


def test_a_cut_answer_fails_with_a_sentence_and_its_text_so_far_is_shown(
    asking: Asking, server: EndpointServer
) -> None:
    _connect(asking, server)
    server.fail("POST", Fault(end="cut", after_bytes=900))
    request = asking.ask()
    failed = asking.end(request)
    assert isinstance(failed, Failed)
    assert failed.kind == "endpoint_failed"
    assert "The text so far is kept" in failed.message
    assert _TEXT.startswith(asking.shown(request))
    assert asking.shown(request)


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (error(401, "no"), "refused the key"),
        (error(400, "The field `top_k` is unknown"), "`top_k` is unknown"),
        (error(404, "no such model"), "does not know the model"),
    ],
)
def test_a_refusal_is_a_sentence(asking: Asking, server: EndpointServer, reply: Fault, word: str) -> None:
    _connect(asking, server)
    server.fail("POST", Fault(reply=reply))  # pyright: ignore[reportArgumentType]
    failed = asking.failure()
    assert word in failed.message
    assert failed.kind == "endpoint_failed"
    assert len(server.requests_of("POST")) == 1


def test_a_busy_server_is_asked_again(asking: Asking, server: EndpointServer) -> None:
    _connect(asking, server)
    server.fail("POST", Fault(reply=error(429, "slow down", retry_after="0.01")), times=2)
    assert asking.answer().choices[0].text == _TEXT
    assert len(server.requests_of("POST")) == 3


def test_requests_that_a_server_does_not_support_are_refused_before_anything_is_sent(
    asking: Asking, server: EndpointServer
) -> None:
    _connect(asking, server)
    failed = asking.failure(constraint=Constraint(kind="regex", value="a+"))
    assert failed.kind == "unsupported"
    assert asking.failure(hooks=["length"]).kind == "unsupported"
    assert not server.requests_of("POST")


_NUMBERS = "1 2 3 4 5 6 7 8 9 10 11 12"


@pytest.mark.parametrize("field", ["", "continue_final_message"])
def test_servers_that_can_continue_an_answer_are_recognised(asking: Asking, field: str) -> None:
    with EndpointServer({"script": Script((_NUMBERS,), given_answer="rest", continue_field=field)}) as server:
        loaded = asking.load(server.url)
        assert isinstance(loaded, ModelLoaded)
        assert "continue" in (loaded.capabilities or [])
        # Also in the middle of a word, and with a stop string of which the beginning is given.
        for given, stop in (("1 2 3", "8 9"), ("1 2 3 4 5 6 7 8 9 1", "11 1"), ("1 2 3 4", "3 4 5 6"), ("", "5")):
            continuation = Continuation(text=given) if given else None
            request = asking.ask(continuation=continuation, stop=[stop])
            choice = asking.finished(request).choices[0]
            # Only new text is cut.
            end = max(_NUMBERS.index(stop), len(given))
            assert choice.text == asking.shown(request) == _NUMBERS[len(given) : end]
            assert (choice.reason, choice.stop) == ("stop", stop)
        turns = server.requests_of("POST")[2].json["messages"]
        assert turns == [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "1 2 3"}]


@pytest.mark.parametrize("given_answer", ["anew", "echo", "refused"])
def test_a_server_that_may_be_unable_to_continue_an_answer_gets_no_beginning(asking: Asking, given_answer: Any) -> None:
    with EndpointServer({"script": Script((_NUMBERS,), given_answer=given_answer, continue_field="")}) as server:
        loaded = asking.load(server.url)
        assert isinstance(loaded, ModelLoaded)
        assert "continue" not in (loaded.capabilities or [])
        server.requests.clear()
        assert asking.failure(continuation=Continuation(text="1 2 3")).kind == "unsupported"
        assert not server.requests_of("POST")


@pytest.mark.parametrize(
    ("way", "script"),
    [
        ("fields", Script((_NUMBERS,), given_answer="rest")),
        ("fields", Script((_NUMBERS,), given_answer="rest", refuses_fields=frozenset({"logprobs"}))),
        ("fields_without_thinking", Script((_NUMBERS,), given_answer="rest", continue_field="chat_template_kwargs")),
        (
            "message",
            Script(
                (_NUMBERS,), given_answer="rest", continue_field="", refuses_fields=frozenset({"add_generation_prompt"})
            ),
        ),
    ],
)
def test_the_way_in_which_a_server_continues_is_found_out_once(asking: Asking, way: str, script: Script) -> None:
    with EndpointServer({"script": script}) as server:
        loaded = asking.load(server.url)
        assert isinstance(loaded, ModelLoaded)
        facts = loaded.server
        assert facts is not None
        assert (facts.continued_by, facts.keeps_end) == (way, True)
        assert facts.has_logprobs is not bool(script.refuses_fields & {"logprobs"})
        server.requests.clear()
        again = asking.load(server.url, known=facts)
        assert isinstance(again, ModelLoaded)
        assert (again.server, again.capabilities) == (facts, loaded.capabilities)
        assert not server.requests_of("POST")
        assert asking.answer(continuation=Continuation(text="1 2 3")).choices[0].text == _NUMBERS[5:]
        # Another model behind the same name, or another version of the server, is tried again.
        server.models["script"] = replace(script, context_length=2048)
        assert asking.load(server.url, known=facts) != again
        assert len(server.requests_of("POST")) > 1


def test_a_try_that_did_not_end_is_made_again(asking: Asking) -> None:
    with EndpointServer({"script": Script((_NUMBERS,), given_answer="rest")}) as server:
        server.fail("POST", Fault(end="cut"), times=20)
        loaded = asking.load(server.url)
        server.forget_faults()
        assert isinstance(loaded, ModelLoaded)
        assert loaded.server == ServerFacts("")
        again = asking.load(server.url, known=loaded.server)
        assert isinstance(again, ModelLoaded)
        assert "continue" in (again.capabilities or [])


def test_a_server_that_refuses_what_it_could_do_is_reported(asking: Asking) -> None:
    with EndpointServer({"script": Script((_NUMBERS,), given_answer="rest")}) as server:
        _connect(asking, server)
        server.fail("POST", Fault(reply=error(400, "Too long.")))  # pyright: ignore[reportArgumentType]
        assert not asking.failure().is_outdated
        server.models["script"] = Script((_NUMBERS,), refuses_fields=frozenset({"continue_final_message"}))
        failed = asking.failure(continuation=Continuation(text="1 2 3"))
        assert failed.is_outdated
        assert failed.kind == "endpoint_failed"


def test_a_server_that_leaves_out_spaces_is_asked_for_nothing_inexact(asking: Asking) -> None:
    with EndpointServer({"script": Script((_NUMBERS,), given_answer="rest", keeps_end=False)}) as server:
        loaded = asking.load(server.url)
        assert isinstance(loaded, ModelLoaded)
        assert loaded.server is not None
        assert not loaded.server.keeps_end
        server.requests.clear()
        failed = asking.failure(continuation=Continuation(text="1 2 3 "))
        assert failed.kind == "unsupported"
        assert "spaces and line ends" in failed.message
        assert not server.requests_of("POST")
        assert asking.answer(continuation=Continuation(text="1 2 3")).choices[0].text == _NUMBERS[5:]


@pytest.mark.parametrize("stop", ["", "laufen", "世界 👩"])
@pytest.mark.parametrize("reasoning", [(), ("I ", "think.")])
def test_the_tokens_of_a_server_spell_its_answer(asking: Asking, stop: str, reasoning: tuple[str, ...]) -> None:
    with EndpointServer({"script": Script(reasoning=reasoning)}) as server:
        _connect(asking, server)
        request = asking.ask(stop=[stop] if stop else [], top_logprobs=3)
        text = asking.finished(request).choices[0].text
        tokens = [
            token
            for event in asking.events
            if isinstance(event, Chunk) and event.request_id == request
            for token in event.tokens
        ]
        assert {token.id for token in tokens} == {-1}
        assert sum(token.num_chars for token in tokens) >= len(text)
        described = [token for token in tokens if token.logprob is not None]
        own = ["".join(other.text for other in token.top if other.id == -1) for token in described]
        assert text.endswith("".join(own).partition(stop)[0] if stop else "".join(own))
        assert all(token.logprob == -0.25 for token in described)
        assert {other.text for token in described for other in token.top} >= {"alternative 1", "alternative 2"}
        assert server.requests_of("POST")[0].json["top_logprobs"] == 3


def test_tokens_are_known_whatever_a_server_sends_with_them(asking: Asking) -> None:
    """Parts of characters, tokens without text, text without tokens, and text that the server holds back."""

    def entry(data: bytes, logprob: float = -1.0) -> dict[str, Any]:
        other = {"token": "other", "logprob": -2.0, "bytes": None}
        return {"token": "\ufffd", "logprob": logprob, "bytes": list(data), "top_logprobs": [other]}

    world = "世".encode()
    sent: list[tuple[str, list[dict[str, Any]]]] = [
        ("", [entry(b"<think>"), entry(b"")]),
        ("Hel", [entry(b"Hello")]),
        ("lo", []),
        ("", [entry(world[:2])]),
        ("世 x", [entry(world[2:]), entry(b" x", -9999.0)]),
        (" unknown", []),
        (" end", [entry(b" end")]),
        ("", [entry(b"<|im_end|>")]),
    ]

    def change(events: Sequence[Event]) -> list[Event]:
        return [
            *(
                {"choices": [{"index": 0, "delta": {"content": text}, "logprobs": {"content": logprobs}}]}
                for text, logprobs in sent
            ),
            *events[-3:],
        ]

    with EndpointServer() as server:
        _connect(asking, server)
        server.fail("POST", Fault(change=change))
        request = asking.ask(top_logprobs=2)
        assert asking.finished(request).choices[0].text == "Hello世 x unknown end"
        chunks = [event for event in asking.events if isinstance(event, Chunk) and event.request_id == request]
        found = [(token.num_chars, token.logprob) for chunk in chunks for token in chunk.tokens]
        assert found == [(3, -1.0), (2, None), (0, -1.0), (1, -1.0), (2, None), (8, None), (4, -1.0)]


def test_tool_calls_are_sent_in_openai_s_shape_or_as_text(asking: Asking, server: EndpointServer) -> None:
    _connect(asking, server)

    def asked(*calls: ToolCall, results: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
        turns = [
            Message(role="user", content="The weather?"),
            Message(role="assistant", content="I look.", tool_calls=list(calls)),
            *(Message(role="tool", content="18 °C", tool_call_id=each, name="weather") for each in results),
            Message(role="user", content="And?"),
        ]
        finished = asking.answer(messages=turns)
        return server.requests_of("POST")[-1].json["messages"], len(finished.notices)

    one, two = (ToolCall("weather", {"city": "Köln"}, each) for each in ("call-1", "call-2"))
    turns, num_notices = asked(one, two, results=["call-2", "call-1"])
    assert num_notices == 0
    assert [turn["role"] for turn in turns] == ["user", "assistant", "tool", "tool", "user"]
    assert turns[1]["tool_calls"][0] == {
        "id": "call-1",
        "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Köln"}'},
    }
    # A call without a result, a result without a call, a call without an id, an id that occurs twice.
    unnamed = msgspec.structs.replace(one, id="")
    for calls, results in (((one,), ()), ((), ("call-1",)), ((unnamed,), ("",)), ((one, one), ("call-1",))):
        turns, num_notices = asked(*calls, results=results)
        assert num_notices == 1
        assert {turn["role"] for turn in turns} == {"user", "assistant"}
        assert not any("tool_calls" in turn for turn in turns)
        text = "\n".join(turn["content"] for turn in turns)
        assert text.count('weather({"city": "Köln"})') == len(calls)
        assert text.count("18 °C") == len(results)


def test_a_server_that_answers_once_at_a_time_is_asked_once_at_a_time(asking: Asking) -> None:
    """llama-cpp-python shows itself by its list of models."""
    listed = {"id": "script", "object": "model", "owned_by": "me", "permissions": []}
    with EndpointServer() as server:
        server.fail("models", Fault(reply=json_reply({"object": "list", "data": [listed]})))
        _connect(asking, server)
        server.fail("POST", Fault(end="stall", after_bytes=900))
        request = asking.ask(n=3)
        first = server.arrived.get(timeout=PATIENCE_S)
        assert first.stalled.wait(PATIENCE_S)
        assert len(server.requests_of("POST")) == 1
        first.go_on()
        assert {choice.text for choice in asking.finished(request).choices} == {_TEXT}
        assert len(server.requests_of("POST")) == 3


def test_only_a_beginning_in_plain_text_is_continued(asking: Asking) -> None:
    with EndpointServer({"script": Script((_NUMBERS,), given_answer="rest")}) as server:
        _connect(asking, server)
        schema = Constraint(kind="json_schema", value={"type": "object"})
        refused: tuple[dict[str, Any], ...] = (
            {"continuation": Continuation(token_ids=[1, 2])},
            {"continuation": Continuation(text="<think>\nSo")},
            {"continuation": Continuation(text="{"), "constraint": schema},
        )
        for options in refused:
            assert asking.failure(**options).kind == "unsupported"
        assert not server.requests_of("POST")


def test_the_models_are_listed_and_a_wrong_key_is_reported(asking: Asking) -> None:
    with EndpointServer({"b": Script(), "a": Script()}, key="sesame") as server:
        listed = asking.end(asking.send(CheckEndpoint(request_id="list", endpoint=_endpoint(server.url, "sesame"))))
        assert isinstance(listed, EndpointChecked)
        assert listed.models == ["a", "b"]
        refused = asking.end(
            asking.send(CheckEndpoint(request_id="list-2", endpoint=_endpoint(server.url, "open-1234")))
        )
        assert isinstance(refused, Failed)
        assert "refused the key" in refused.message
        assert "open-1234" not in refused.message


def test_a_server_that_does_not_stream_or_does_not_exist_is_reported(asking: Asking, server: EndpointServer) -> None:
    server.fail("POST", Fault(ignores_stream=True))
    refused = asking.end(asking.send(CheckEndpoint(request_id="whole", endpoint=_endpoint(server.url))))
    assert isinstance(refused, Failed)
    assert "does not stream" in refused.message
    gone = asking.end(asking.send(CheckEndpoint(request_id="gone", endpoint=_endpoint("http://127.0.0.1:9/v1"))))
    assert isinstance(gone, Failed)
    assert "can't be reached" in gone.message


def test_earlier_reasoning_is_left_out_of_the_prompt(asking: Asking, server: EndpointServer) -> None:
    _connect(asking, server)
    turns = [
        Message(role="user", content="Hi"),
        Message(role="assistant", content="<think>\nHm.\n</think>\n\nHello."),
        Message(role="user", content="And?"),
    ]
    asking.answer(messages=turns)
    assert [turn["content"] for turn in server.requests_of("POST")[0].json["messages"]] == ["Hi", "Hello.", "And?"]


def _endpoint(url: str, key: str | None = None) -> Endpoint:
    from worker.protocol import Secret

    return Endpoint(url=url, name="", key=None if key is None else Secret(text=key))
