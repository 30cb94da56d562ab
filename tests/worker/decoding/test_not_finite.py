"""Models whose weights hold NaN or infinity: the request fails with a sentence, and nothing of it is kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from tests.models import write_random_llama, write_scripted_model
from tests.trials import TRIALS
from worker.cache.disk_cache import DiskCache
from worker.cache.prompt_cache import PromptCache
from worker.errors import ModelInvalidError, NotFiniteError
from worker.language_model import LanguageModel, UnreadModel
from worker.layers import arrays_in
from worker.library import open_model
from worker.models.folder import find_model
from worker.protocol import Chunk, Event, Failed, Finished, Generate, Sampling
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.stepping import Stepping

Damage = Callable[[dict[str, np.ndarray]], None]
PROMPT = list(range(20, 60))


def change_weights(folder: Path, damage: Damage) -> None:
    weights = load_file(folder / "model.safetensors")
    damage(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})


def damaged(folder: Path, damage: Damage) -> LanguageModel:
    change_weights(folder, damage)
    *_, model = UnreadModel(find_model(str(folder)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    return model


def events_of(engine: Engine, *commands: Generate) -> list[Event]:
    for command in commands:
        engine.add(command, Ticket(command.request_id))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    return events


def put(name: str, value: float) -> Damage:
    def damage(weights: dict[str, np.ndarray]) -> None:
        weights[name][3, 5] = value

    return damage


def put_row(token_id: int) -> Damage:
    def damage(weights: dict[str, np.ndarray]) -> None:
        weights["model.embed_tokens.weight"][token_id] = math.nan

    return damage


@pytest.mark.parametrize("value", [math.nan, math.inf], ids=str)
@pytest.mark.parametrize(
    "name",
    [
        "model.embed_tokens.weight",
        "model.layers.0.self_attn.k_proj.weight",
        "model.layers.1.self_attn.v_proj.weight",
        "model.layers.1.mlp.down_proj.weight",
    ],
)
def test_an_answer_of_a_damaged_model_fails_and_nothing_of_it_is_kept(
    tmp_path: Path, byte_level: Tokenizer, name: str, value: float
):
    model = damaged(write_random_llama(tmp_path / "model", byte_level), put(name, value))
    disk = DiskCache(tmp_path / "cache", "damaged", None)
    engine = Engine(model, PromptCache(model.new_layers, 1 << 28, disk))
    for sampling in (Sampling(), Sampling(temperature=1)):
        events = events_of(engine, Generate(request_id="r", token_ids=[3, *PROMPT], max_tokens=5, sampling=sampling))
        assert isinstance(events[-1], Failed), events
        assert events[-1].kind == "model_invalid"
        assert "Download it again" in events[-1].message
    while engine.cache.save_some():
        pass
    kept = [array for run in engine.cache._tree.runs() for array in arrays_in([run.kept.parts, run.kept.states])]  # pyright: ignore[reportPrivateUsage]
    assert all(mx.isfinite(array).all() for array in kept)
    assert engine.cache.num_kept([3, *PROMPT, 7]) == 0 or name.endswith("down_proj.weight")


@pytest.mark.parametrize("num_answers", [1, 3])
@pytest.mark.parametrize("looks_ahead", [False, True])
def test_the_text_before_the_first_such_token_is_kept(
    tmp_path: Path, byte_level: Tokenizer, num_answers: int, looks_ahead: bool
):
    a, b, c = (byte_level.encode(letter).ids[0] for letter in "abc")
    folder = write_scripted_model(tmp_path / "model", byte_level, {a: b, b: c, c: a})

    model = damaged(folder, put_row(c))
    engine = Engine(model, looks_ahead=looks_ahead)
    command = Generate(request_id="r", token_ids=[a], max_tokens=8, n=num_answers)
    other = Generate(request_id="other", token_ids=[a], max_tokens=1)
    events = events_of(engine, command, other)
    failed = next(event for event in events if isinstance(event, Failed))
    assert (failed.request_id, failed.kind) == ("r", "model_invalid")
    for choice in range(num_answers):
        chunks = [event for event in events if isinstance(event, Chunk) and event.request_id == "r"]
        assert "".join(chunk.text for chunk in chunks if chunk.choice == choice) == "bc"
    assert [event.request_id for event in events if isinstance(event, Finished)] == ["other"]
    # The finite part of the cache is used again.
    again = events_of(engine, Generate(request_id="again", token_ids=[a], max_tokens=2))[-1]
    assert isinstance(again, Finished)
    assert again.choices[0].text == "bc"


def test_a_logit_of_minus_infinity_is_legal(tmp_path: Path, byte_level: Tokenizer):
    a, b = (byte_level.encode(letter).ids[0] for letter in "ab")
    model = damaged(write_scripted_model(tmp_path / "model", byte_level, {a: b, b: a}), lambda _: None)
    forward = model.forward

    def masked(tokens: mx.array, layers: list[object]) -> mx.array:
        logits = forward(tokens, layers)
        return mx.where(mx.arange(logits.shape[-1]) == 7, -mx.inf, logits)

    model.forward = masked
    [*_, finished] = events_of(Engine(model), Generate(request_id="r", token_ids=[a], max_tokens=3))
    assert isinstance(finished, Finished)
    assert finished.choices[0].text == "bab"


@pytest.mark.parametrize("can_batch", [True, False])
def test_a_search_that_meets_such_a_token_fails_and_nothing_of_it_is_kept(
    tmp_path: Path, byte_level: Tokenizer, can_batch: bool
):
    a, b, c = (byte_level.encode(letter).ids[0] for letter in "abc")
    folder = write_scripted_model(tmp_path / "model", byte_level, {a: b, b: c, c: a})
    change_weights(folder, put_row(c))
    model = open_model(str(folder))
    engine = model.text().engine
    engine.model.__dict__["can_batch"] = can_batch
    with pytest.raises(NotFiniteError, match="Download it again"):
        model.beams(width=3, max_tokens=8)("a")
    cache = engine.cache
    assert cache.num_kept([a, b, c, a]) <= 2
    kept = [array for run in cache._tree.runs() for array in arrays_in([run.kept.parts, run.kept.states])]  # pyright: ignore[reportPrivateUsage]
    assert all(mx.isfinite(array).all() for array in kept)
    # The finite part of the cache is used again.
    assert model.text(max_tokens=2)("a").texts == [["abc"]]
    with pytest.raises(ModelInvalidError, match="Download it again"):
        model.text(max_tokens=8)("a")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_logits_of_the_caller_are_checked_too(tmp_path: Path, byte_level: Tokenizer, value: float):
    model = damaged(write_scripted_model(tmp_path / "model", byte_level, {}), lambda _: None)
    stepping = Stepping(model.vocabulary, [1])
    logits = np.zeros(len(model.vocabulary))
    logits[7] = -math.inf
    stepping.take(logits)
    before = stepping.token_ids
    logits[7] = value
    with pytest.raises(NotFiniteError, match="not finite numbers"):
        stepping.take(logits)
    assert (stepping.reason, stepping.token_ids) == ("cancelled", before)
