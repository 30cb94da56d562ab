"""Chunks of a prompt, read layer by layer: the same bits as at once; an unfinished chunk leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import make_prompt_cache
from typing_extensions import override

from tests.architectures import (
    ARCHITECTURES,
    build_random_model,
    small_gemma3,
    small_lfm2,
    small_llama,
    small_mamba,
    write_random_model,
)
from tests.long import in_long_runs
from tests.trials import TRIALS
from tests.worker.rounding import agree
from worker.cache.branch_in_use import BranchInUse
from worker.cache.prompt_cache import PromptCache
from worker.decoding import chunk
from worker.decoding.chunk import ChunkReader, Portions
from worker.inbox import Inbox
from worker.language_model import LanguageModel, UnreadModel
from worker.layers import Layers, arrays_of, quantized
from worker.models.folder import find_model
from worker.protocol import (
    Cancel,
    Chunk,
    Event,
    Finished,
    Generate,
    LoadModel,
    ModelLoaded,
    PrefillProgress,
    Sampling,
    Shutdown,
)
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.requests.turns import Turns
from worker.server import Server

VOCAB_SIZE = 300
FEW = ("llama", "gemma3_text", "lfm2", "mamba", "llama4_text", "deepseek_v3", "gemma3n")


def _architectures() -> list[Any]:
    few = [name for name in FEW if name in ARCHITECTURES]
    return [*few, *in_long_runs([name for name in ARCHITECTURES if name not in few])]


class Reading:
    """A model in this process with a prompt cache, that reads chunks."""

    def __init__(self, model: Any, bits: int | None = None) -> None:
        self.model = model

        def new_layers() -> Layers:
            layers = make_prompt_cache(model)
            return layers if bits is None else quantized(layers, bits, 32)[0]

        self.cache = PromptCache(new_layers, 1 << 30)
        self.chunks = ChunkReader(self.forward)

    def forward(self, token_ids: Sequence[int], branch: BranchInUse) -> mx.array:
        logits: mx.array = self.model(mx.array([list(token_ids)]), cache=branch.layers)
        return logits[:, -1]

    def read(self, token_ids: Sequence[int]) -> int:
        """Read a chunk. Return how many steps it took."""
        return 1 + sum(1 for _ in self.chunks.read(token_ids, self.cache.branch))

    def stop(self, token_ids: Sequence[int], num_steps: int) -> None:
        """Begin to read a chunk, and give up after this many steps, but before the last one."""
        steps = self.chunks.read(token_ids, self.cache.branch)
        for _ in range(min(num_steps, len(self.cache.branch.layers) - 1)):
            next(steps)
        steps.close()

    def logits_after(self, token_id: int) -> np.ndarray:
        self.cache.branch.make_room(1)
        logits = self.forward([token_id], self.cache.branch)
        self.cache.branch.extend([token_id])
        return np.array(logits[0].astype(mx.float32))


def held_by(reading: Reading) -> list[np.ndarray]:
    layers = reading.cache.branch.layers
    return [np.array(array.astype(mx.float32)) for layer in layers for array in arrays_of(layer)]


@pytest.fixture(autouse=True)
def _each_layer_is_a_step(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chunk, "_STEP_S", 1e-12)


@pytest.mark.parametrize("name", _architectures())
def test_layer_by_layer_gives_the_same_bits_as_at_once(name: str, monkeypatch: pytest.MonkeyPatch):
    model = build_random_model(ARCHITECTURES[name], vocab_size=VOCAB_SIZE)
    token_ids = np.random.default_rng(1).integers(VOCAB_SIZE, size=75).tolist()
    in_steps, at_once, stopped = Reading(model), Reading(model), Reading(model)
    for start, end in ((0, 20), (20, 50), (50, 74)):
        for num_steps in (1, 2):
            stopped.stop(token_ids[start:end], num_steps)
        stopped.read(token_ids[start:end])
        assert in_steps.read(token_ids[start:end]) == len(in_steps.cache.branch.layers)
    monkeypatch.setattr(chunk, "_STEP_S", 1e9)
    for start, end in ((0, 20), (20, 50), (50, 74)):
        assert at_once.read(token_ids[start:end]) <= 1 + len(at_once.cache.branch.layers)
    logits = [reading.logits_after(token_ids[74]) for reading in (at_once, in_steps, stopped)]
    assert np.array_equal(logits[0], logits[1])
    assert np.array_equal(logits[0], logits[2])


@pytest.mark.parametrize("bits", [4, 8])
def test_a_stopped_chunk_leaves_quantized_positions_as_they_were(bits: int):
    config = small_llama(VOCAB_SIZE) | {"head_dim": 32, "hidden_size": 128}
    model = build_random_model(config, vocab_size=VOCAB_SIZE)
    token_ids = np.random.default_rng(1).integers(VOCAB_SIZE, size=75).tolist()
    whole, stopped = Reading(model, bits), Reading(model, bits)
    for start, end in ((0, 40), (40, 74)):
        stopped.stop(token_ids[start:end], 1)
        whole.read(token_ids[start:end])
        stopped.read(token_ids[start:end])
    assert np.array_equal(whole.logits_after(token_ids[74]), stopped.logits_after(token_ids[74]))


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("keys_share", [0.01, 0.25, 1.0])
@pytest.mark.parametrize("layer_s", [0.001, 0.02, 0.04, 0.2, 2.0])
def test_a_step_takes_a_quarter_of_a_second_or_one_layer(
    layer_s: float, keys_share: float, is_known: bool, monkeypatch: pytest.MonkeyPatch
):
    """A step evaluates the layers before its last one, and the keys of that one. Layers may become dearer."""
    monkeypatch.setattr(chunk, "_STEP_S", 0.05)
    costs = [layer_s] * 30 + [3 * layer_s] * 30
    portions = Portions(len(costs), layer_s if is_known else None)
    num_steps = done = 0
    while not portions.is_last:
        coming = portions.begin_next()
        assert coming.start == done < coming.stop
        done, num_steps = coming.stop, num_steps + 1
        whole = [*costs[max(0, coming.start - 1) : coming.stop - 1], keys_share * costs[coming.stop - 1]]
        took_s = sum(whole) - (keys_share * costs[coming.start - 1] if coming.start else 0)
        assert took_s <= max(0.25, 3 * layer_s)
        portions.note(took_s)
    assert done == len(costs)
    assert num_steps <= 8 + sum(costs) / 0.02


# --- through the engine ------------------------------------------------------------------------------------

CONFIGS: dict[str, dict[str, Any]] = {
    "llama": small_llama(0),
    "gemma3": small_gemma3(window=24),
    "lfm2": small_lfm2(),
    "mamba": small_mamba(),
}


@pytest.fixture(scope="module", params=CONFIGS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, byte_level: Any) -> LanguageModel:
    config = {name: value for name, value in CONFIGS[request.param].items() if name != "vocab_size"}
    folder = write_random_model(tmp_path_factory.mktemp(request.param), byte_level, config)
    *_, model = UnreadModel(find_model(str(folder)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    return model


def asked(token_ids: list[int]) -> Generate:
    return Generate(request_id="r", token_ids=token_ids, max_tokens=6, sampling=Sampling(seed=1))


def answer(engine: Engine, token_ids: list[int]) -> Finished:
    engine.add(asked(token_ids), Ticket("r"))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    assert isinstance(events[-1], Finished), events[-1]
    return events[-1]


def test_a_cancel_within_a_chunk_keeps_the_chunks_before_it_and_nothing_else(model: LanguageModel):
    token_ids = [index * 7 % 200 + 20 for index in range(1100)]
    expected = answer(Engine(model), token_ids).choices
    engine = Engine(model)
    before = answer(engine, [*token_ids[:100], 5, 6]).choices
    for num_steps in (3, 6, 9):
        ticket = Ticket("stopped")
        engine.add(Generate(request_id="stopped", token_ids=token_ids), ticket)
        for _ in range(num_steps):
            engine.step()
        assert engine.is_busy
        ticket.cancel()
        [finished] = engine.step()
        assert isinstance(finished, Finished)
        assert finished.choices[0].reason == "cancelled"
        assert not engine.is_busy
    # The branch beside it is as it was, and so is what the stopped request shares with it.
    again = answer(engine, [*token_ids[:100], 5, 6])
    assert (again.choices, again.usage.prefilled_tokens) == (before, 1)
    assert agree(model, asked(token_ids), answer(engine, token_ids).choices, expected)


@pytest.mark.parametrize("at", [1, 4, *in_long_runs([2, 3, 5, 6])])
def test_a_cancel_that_comes_while_a_layer_is_read_is_obeyed_before_the_next_one(
    at: int, random_llama: Path, monkeypatch: pytest.MonkeyPatch
):
    """The prompt has three chunks, and the model has two layers."""
    inbox = Inbox()
    events: list[Event] = []
    begun = 0

    class Cancelling(Portions):
        @override
        def begin_next(self) -> slice:
            nonlocal begun
            begun += any(isinstance(event, ModelLoaded) for event in events)
            if begun == at:
                inbox.put(Cancel(request_id="stop", target="reads"))
            return super().begin_next()

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, Finished):
            inbox.put(Shutdown(request_id="end"))

    monkeypatch.setattr(chunk, "Portions", Cancelling)
    inbox.put(LoadModel(request_id="load", model=str(random_llama)))
    inbox.put(Generate(request_id="reads", token_ids=[20] * (2 * chunk.CHUNK + 2)))
    Server(inbox, emit).run()
    (finished,) = (event for event in events if isinstance(event, Finished))
    assert finished.choices[0].reason == "cancelled"
    assert finished.choices[0].text == ""
    assert begun == at


class InTurn(Turns):
    """A step of decoding after each step of reading."""

    def note_read(self, took_s: float) -> None:
        super().note_read(1e9)


def test_answers_continue_between_the_layers_of_a_chunk(model: LanguageModel):
    if not model.can_batch:
        pytest.skip("answers of this model come one after another")
    engine = Engine(model, turns=InTurn())
    engine.add(Generate(request_id="writes", text="Hello", max_tokens=40), Ticket("writes"))
    while not any(isinstance(event, Chunk) for event in engine.step()):
        pass
    engine.add(Generate(request_id="reads", token_ids=[20] * 500, max_tokens=1), Ticket("reads"))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    reads = [index for index, event in enumerate(events) if isinstance(event, PrefillProgress) and not event.partly]
    between = [event.request_id for event in events[reads[-2] : reads[-1]] if isinstance(event, Chunk)]
    assert between == ["writes"] * len(between)
    assert len(between) >= len(model.new_layers()) - 1
