"""The starter behind `bough serve`, as a model of an endpoint, answers as the starter here does, token for token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.app.serving.running import KEY, Bough
from tests.driver import StdioWorker
from tests.long import in_long_runs
from tests.real.questions import QUESTIONS
from tests.worker.endpoints.asking import Asking
from worker.protocol import Continuation, Finished, Message, ModelLoaded, Sampling

_MAX_TOKENS = 40


@pytest.fixture(scope="module")
def elsewhere(starter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    with Bough(tmp_path_factory.mktemp("elsewhere"), model=starter) as bough, Asking() as asking:
        loaded = asking.load(f"{bough.url}/v1", model=bough.wait_until_ready(), key=KEY)
        assert isinstance(loaded, ModelLoaded)
        # It counts on from a given answer, so it was found out that this server continues answers.
        assert {"continue", "alternatives"} <= {*(loaded.capabilities or [])}
        assert loaded.server is not None
        assert loaded.server.keeps_end
        yield asking


@pytest.fixture(scope="module")
def here(starter: Path) -> Iterator[StdioWorker]:
    with StdioWorker() as worker:
        worker.load(starter, disk_limit_bytes=0)
        # Chunks of later prompts end where earlier ones did, so what was read before decides how they are rounded.
        # Elsewhere this was asked first, to find out whether the server continues answers.
        for given, between, begin in (
            ("1 2 3 4 5 6", "a space between the numbers", " 7"),
            ("1\n2\n3\n4\n5\n6\n", "each number on a line of its own", "7"),
        ):
            turns = [{"role": "user", "content": f"Count from 1 to 12, with {between}."}]
            continuation = {"text": given}
            end = worker.result(
                "generate", messages=turns, continuation=continuation, sampling={"seed": 1}, max_tokens=6
            )
            assert end["choices"][0]["text"].startswith(begin)
        yield worker


@pytest.mark.parametrize(
    ("seed", "temperature"), [(1, 0.0), (2, 1.0), *in_long_runs([(n, n % 2) for n in range(3, 9)])]
)
def test_answers_and_the_answers_below_them_are_the_same(
    elsewhere: Asking, here: StdioWorker, seed: int, temperature: float
) -> None:
    """Text decides the ids: the server makes them of the messages, as the worker does with those of a conversation.

    Where the text of an answer gives other ids than the model wrote, the prompt below it has other ids, too. Then the
    answers may differ; the questions in which that happens are printed.
    """
    messages = [Message(role="user", content=QUESTIONS[seed])]
    for _ in range(2):
        sampling = Sampling(temperature=temperature, seed=seed)
        request: dict[str, Any] = {"messages": messages, "sampling": sampling, "max_tokens": _MAX_TOKENS}
        given_here = here.result("generate", **msgspec.to_builtins(request))
        end = elsewhere.end(elsewhere.ask(**request))
        assert isinstance(end, Finished), end
        choice = given_here["choices"][0]
        assert end.choices[0].text == choice["text"]
        assert end.choices[0].reason == choice["reason"]
        assert end.usage.prompt_tokens == given_here["usage"]["prompt_tokens"]
        assert end.usage.generated_tokens == given_here["usage"]["generated_tokens"]
        again = here.result("tokenize", text=choice["text"])["token_ids"]
        if again != choice["token_ids"]:
            print(f"{QUESTIONS[seed]}: its text gives {len(again)} ids, the model wrote {len(choice['token_ids'])}")
        messages += [Message(role="assistant", content=choice["text"]), Message(role="user", content="Tell me more.")]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_given_beginning_is_continued_as_here(elsewhere: Asking, here: StdioWorker, temperature: float) -> None:
    """Also in the middle of a word, where both begin with the tokens before it."""
    for given in ("The capital of France is", "The capital of France is Par"):
        request: dict[str, Any] = {
            "messages": [Message(role="user", content=QUESTIONS[0])],
            "continuation": Continuation(text=given),
            "sampling": Sampling(temperature=temperature, seed=3),
            "max_tokens": 12,
        }
        given_here = here.result("generate", **msgspec.to_builtins(request))
        end = elsewhere.finished(elsewhere.ask(**request))
        assert end.choices[0].text == given_here["choices"][0]["text"] != ""
