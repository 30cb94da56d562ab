"""Steps that are built before their token is known: the answer and the cache are the same, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tests.worker.answers.hooked import PLENTY, PROMPT, once, read, told
from worker.answers.hook_folder import HookFolder
from worker.cache.prompt_cache import PromptCache
from worker.decision import Decision, Splice
from worker.decoding.decode import Decoder
from worker.language_model import LanguageModel
from worker.layers import Layers
from worker.protocol import Constraint, Event, Finished, Generate, Sampling
from worker.requests.engine import Engine
from worker.requests.request import Ticket

CASES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled, with log-probabilities": {"sampling": Sampling(temperature=1, seed=3), "top_logprobs": 2},
    "a constraint that forces": {"constraint": Constraint(kind="regex", value="leaf [a-z]{2,9} and the end")},
    "a draft": {"draft": "tree", "token_ids": PROMPT * 4},
    "a stop string": {"sampling": Sampling(temperature=1, seed=3), "stop": ["a", "e"]},
    "rejected": {"given": {"hook": once(3, Decision(resample=True))}},
    "taken back": {"given": {"hook": once(5, Decision(backtrack=2))}},
    "spliced": {"given": {"hook": once(4, Decision(splices=[Splice([], 1, [30, 31])]))}},
    "forked": {"given": {"hook": once(4, [Decision(token=30), Decision(token=31)])}},
    "two": {"n": 2, "sampling": Sampling(temperature=1, seed=3)},
}


@pytest.fixture(scope="module")
def model(random_llama: Path) -> LanguageModel:
    return read(random_llama)


@pytest.mark.parametrize("name", CASES)
def test_answer_and_cache_are_the_same(model: LanguageModel, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = _answered(model, **CASES[name])
    monkeypatch.setattr(Decoder, "_prepare", _prepare_nothing)
    plain = _answered(model, **CASES[name])
    assert told(prepared[0]) == told(plain[0])
    assert prepared[1] == plain[1]
    for one, other in zip(prepared[2], plain[2], strict=True):
        assert np.array_equal(one, other)


def test_each_step_is_built_once(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    forward, built = model.forward, list[bool]()

    def counting(tokens: mx.array, layers: Layers) -> mx.array:
        built.append(is_preparing)
        return forward(tokens, layers)

    prepare, is_preparing = Decoder._prepare, False  # pyright: ignore[reportPrivateUsage]

    def preparing(decoder: Decoder) -> None:
        nonlocal is_preparing
        is_preparing = True
        prepare(decoder)
        is_preparing = False

    monkeypatch.setattr(model, "forward", counting)
    monkeypatch.setattr(Decoder, "_prepare", preparing)
    events, *_ = _answered(model, max_tokens=12)
    assert isinstance(events[-1], Finished)
    assert events[-1].usage.generated_tokens == 12
    # Steps of the prompt, its last token and the answer's first one are built at once. Its last one is never read.
    assert built == [False] * 3 + [True] * 10


def _prepare_nothing(_: Decoder) -> None:
    pass


def _answered(model: LanguageModel, **fields: Any) -> tuple[list[Event], list[int], list[np.ndarray]]:
    """Return the events, and then the tokens in the working layers with their keys and values."""
    given = fields.pop("given", {})
    cache = PromptCache(model.new_layers, PLENTY)
    engine = Engine(model, cache, HookFolder(given=given), looks_ahead=False)
    asked: dict[str, Any] = {"token_ids": PROMPT, "max_tokens": 16, "hooks": list(given), **fields}
    engine.add(Generate(request_id=1, **asked), Ticket(1))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    held = [np.array(part) for layer in cache.branch.layers for part in layer.state]
    return events, list(cache.branch.token_ids), held
