"""Real servers behind the process for endpoints: mlx-lm, Bough itself, and llama-cpp-python where it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app.serving.running import KEY, Bough
from tests.driver import ROOT, StdioWorker
from tests.real_servers import LLAMA_CPP_PYTHON, llama_cpp_python, llama_cpp_server, mlx_lm_server
from tests.worker.endpoints.asking import Asking
from tests.worker.gguf.files import write_llama
from worker.protocol import Cancel, Finished, Message, Sampling

pytestmark = pytest.mark.long

_GUIDE = ROOT / "resources" / "guide"
_QUESTIONS = ("What is a branch?", "How do I delete a message?", "Grüße! Was kannst du?")
_MAX_TOKENS = 40


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with Asking() as started:
        yield started


@pytest.fixture(scope="module", params=["mlx-lm", "bough", "llama-cpp-python"])
def connected(
    request: pytest.FixtureRequest, asking: Asking, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server whose model is loaded; the server's name."""
    match request.param:
        case "mlx-lm":
            with mlx_lm_server(_GUIDE) as url:
                asking.loaded(url, model=str(_GUIDE.resolve()))
                yield request.param
        case "bough":
            with Bough(tmp_path_factory.mktemp("serving")) as bough:
                name = bough.wait_until_ready()
                asking.loaded(f"{bough.url}/v1", model=name, key=KEY)
                yield request.param
        case _:
            python = llama_cpp_python()
            if python is None:
                pytest.skip(f"no Python with llama-cpp-python: {LLAMA_CPP_PYTHON} is not set")
            model = write_llama(tmp_path_factory.mktemp("models") / "tiny.gguf", "F16")
            with llama_cpp_server(python, model) as url:
                asking.loaded(url, model="tiny")
                yield request.param


def _answer(asking: Asking, messages: Sequence[Message], seed: int, **options: Any) -> tuple[Finished, str]:
    sampling = Sampling(seed=seed, temperature=0.8)
    request_id = asking.ask(messages=list(messages), sampling=sampling, max_tokens=_MAX_TOKENS, **options)
    end = asking.end(request_id)
    assert isinstance(end, Finished), end
    return end, asking.shown(request_id)


def _asked(question: str) -> list[Message]:
    return [Message(role="user", content=question)]


@settings(max_examples=20)
@given(seed=st.integers(0, 5), question=st.sampled_from(_QUESTIONS), data=st.data())
def test_no_stop_string_is_shown_and_none_stops_wrongly(
    connected: str, asking: Asking, seed: int, question: str, data: st.DataObject
) -> None:
    """The plain oracle is the same answer without stop strings, cut before the one that ends first."""
    whole, _ = _answer(asking, _asked(question), seed)
    text = whole.choices[0].text
    starts = data.draw(st.lists(st.integers(0, max(0, len(text) - 1)), min_size=1, max_size=4))
    stops = sorted({text[at : at + data.draw(st.integers(1, 12))] for at in starts} - {""})
    end, shown = _answer(asking, _asked(question), seed, stop=stops)
    found = [(text.index(stop) + len(stop), -len(stop), stop) for stop in stops if stop in text]
    assert not any(stop in shown for stop in stops)
    assert end.choices[0].text == shown
    if found:
        at, negative, _ = min(found)
        assert (shown, end.choices[0].reason) == (text[: at + negative], "stop")
    else:
        assert shown == text


def test_a_cancelled_answer_ends_and_the_server_answers_again(connected: str, asking: Asking) -> None:
    request_id = asking.ask("Tell me a story.", sampling=Sampling(seed=1, temperature=1.0), max_tokens=1500)
    while not asking.shown(request_id) and not any(
        isinstance(event, Finished) and event.request_id == request_id for event in asking.events
    ):
        asking.next()
    asking.send(Cancel(request_id=f"{request_id}-cancel", target=request_id))
    end = asking.end(request_id)
    assert isinstance(end, Finished)
    assert end.choices[0].text == asking.shown(request_id)
    _answer(asking, _asked("What is a branch?"), 1)


def test_several_answers_are_those_that_each_seed_gives_alone(connected: str, asking: Asking) -> None:
    several, _ = _answer(asking, _asked("What is a branch?"), 3, n=3)
    alone = [_answer(asking, _asked("What is a branch?"), 3 + number)[0] for number in range(3)]
    assert [choice.text for choice in several.choices] == [each.choices[0].text for each in alone]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_bough_elsewhere_gives_the_answers_of_bough_here(
    asking: Asking, tmp_path_factory: pytest.TempPathFactory, temperature: float
) -> None:
    with Bough(tmp_path_factory.mktemp("elsewhere")) as bough, StdioWorker() as here:
        asking.loaded(f"{bough.url}/v1", model=bough.wait_until_ready(), key=KEY)
        here.load("guide")
        for seed, question in enumerate(_QUESTIONS):
            messages = _asked(question)
            for _ in range(2):
                sampling = Sampling(temperature=temperature, seed=seed)
                request: dict[str, Any] = {"messages": messages, "sampling": sampling, "max_tokens": _MAX_TOKENS}
                given_here = here.result("generate", **msgspec.to_builtins(request))
                request_id = asking.ask(**request)
                end = asking.end(request_id)
                assert isinstance(end, Finished), end
                text = given_here["choices"][0]["text"]
                assert end.choices[0].text == text
                assert end.usage.prompt_tokens == given_here["usage"]["prompt_tokens"]
                messages += [Message(role="assistant", content=text), Message(role="user", content="And then?")]
