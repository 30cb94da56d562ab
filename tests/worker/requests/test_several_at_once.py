"""Several answers at once, of one request and of several: each as if it were alone, and nothing is read twice.

The guarantee: with the same seed, an answer in a batch equals the one generated alone within rounding. Afterwards each
answer is a branch of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import mlx.core as mx
import msgspec
import pytest
from tokenizers import Tokenizer

from tests.architectures import small_gemma3, small_lfm2, small_llama, small_mamba, write_random_model
from tests.driver import StdioWorker, shown_text
from tests.long import in_long_runs
from tests.trials import TRIALS
from tests.worker.rounding import agree
from worker.answers.writing import Writing
from worker.batch import Batch
from worker.cache.branch_in_use import BranchInUse
from worker.cache.disk_cache import DiskCache
from worker.cache.prompt_cache import PromptCache
from worker.decoding.branch import Branch
from worker.decoding.chunk import CHUNK
from worker.decoding.sampled_token import SampledToken
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.protocol import (
    Answered,
    Choice,
    Chunk,
    Continuation,
    Failed,
    Finished,
    Generate,
    PrefillProgress,
    Sampling,
    Segment,
)
from worker.protocol import Event as WorkerEvent
from worker.requests.engine import Engine
from worker.requests.request import Request, Ticket
from worker.requests.turns import Turns

CONFIGS: dict[str, Callable[[int], dict[str, Any]]] = {
    "llama": small_llama,
    "gemma3": lambda _: small_gemma3(window=24),
    "lfm2": lambda _: small_lfm2(),
    "mamba": lambda _: small_mamba(),
}
NewEngine = Callable[[LanguageModel], Engine]
PROMPT: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello there, how are the branches today?"}]}


@pytest.fixture(scope="module", params=["llama", "lfm2", *in_long_runs(sorted(CONFIGS.keys() - {"llama", "lfm2"}))])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Path:
    size = byte_level.get_vocab_size(with_added_tokens=True)
    return write_random_model(
        tmp_path_factory.mktemp("several") / request.param, byte_level, CONFIGS[request.param](size)
    )


@pytest.fixture
def llama(random_llama: Path) -> LanguageModel:
    return loaded(random_llama)


@pytest.fixture(params=[True, *in_long_runs([False, None])], ids=["looks ahead", "looks at each token", "in turns"])
def new_engine(request: pytest.FixtureRequest) -> NewEngine:
    """In turns: as on a CPU whose steps vary between short and long."""
    looks_ahead: bool | None = request.param

    def new(model: LanguageModel) -> Engine:
        engine = Engine(model, looks_ahead=bool(looks_ahead))
        if looks_ahead is None:
            decoder = engine._decoder  # pyright: ignore[reportPrivateUsage]
            step, dice = decoder.step, Random(1)

            def step_randomly() -> list[tuple[Branch, SampledToken]]:
                decoder._looks_ahead = dice.random() < 0.5  # pyright: ignore[reportPrivateUsage]
                return step()

            decoder.step = step_randomly
        return engine

    return new


def loaded(folder: Path) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(folder)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    return model


def events_of(engine: Engine, *requests: Generate) -> Iterator[WorkerEvent]:
    for request in requests:
        engine.add(request, Ticket(request.request_id))
    while engine.is_busy:
        yield from engine.step()


def ended(events: list[WorkerEvent]) -> dict[Any, Finished]:
    return {event.request_id: event for event in events if isinstance(event, Finished)}


# --- the same as alone ---------------------------------------------------------------------------------------


def test_each_of_several_answers_equals_the_one_generated_alone(shared_worker: StdioWorker, folder: Path):
    fields: dict[str, Any] = {**PROMPT, "max_tokens": 40, "stop": ["fo"]}
    asked: dict[str, Any] = {**fields, "n": 5, "sampling": {"temperature": 1, "seed": 11}}
    shared_worker.load(folder, disk_limit_bytes=0)
    together = shared_worker.ask("generate", **asked)
    finished = together[-1]
    alone: list[Any] = []
    for choice, answer in enumerate(finished["choices"]):
        shared_worker.load(folder, disk_limit_bytes=0)
        one = shared_worker.result("generate", sampling={"temperature": 1, "seed": 11 + choice}, **fields)
        alone += one["choices"]
        assert shown_text(together, choice) == answer["text"]
    command = msgspec.convert({"request_id": 1, **asked}, Generate)
    assert agree(loaded(folder), command, *msgspec.convert((finished["choices"], alone), tuple[list[Choice], ...]))
    assert len({answer["text"] for answer in finished["choices"]}) > 2
    # An `answered` event reports the end of each answer except the last.
    answered = [event for event in together if event["type"] == "answered"]
    assert len(answered) == 4
    for event in answered:
        answer = finished["choices"][event["choice"]]
        assert (event["reason"], event["stop"]) == (answer["reason"], answer["stop"])


def test_a_prompt_is_read_once_for_all_its_answers_and_each_becomes_a_branch(shared_worker: StdioWorker, folder: Path):
    shared_worker.load(folder, disk_limit_bytes=0)
    fields: dict[str, Any] = {**PROMPT, "n": 4, "max_tokens": 20, "sampling": {"temperature": 1, "seed": 3}}
    finished = shared_worker.result("generate", **fields)
    usage = finished["usage"]
    assert usage["prefilled_tokens"] == usage["prompt_tokens"]
    assert usage["generated_tokens"] >= sum(len(answer["token_ids"]) for answer in finished["choices"])
    again = shared_worker.result("generate", **fields)
    assert again["usage"]["prefilled_tokens"] == 1
    command = msgspec.convert({"request_id": 1, **fields}, Generate)
    choices = msgspec.convert((finished["choices"], again["choices"]), tuple[list[Choice], ...])
    assert agree(loaded(folder), command, *choices)
    prompts: list[dict[str, Any]] = []
    for answer in finished["choices"]:
        said = {"role": "assistant", "content": answer["text"], "token_ids": answer["turn_token_ids"]}
        prompts.append({"messages": [*PROMPT["messages"], said, {"role": "user", "content": "Go on"}]})
    for plan, answer in zip(shared_worker.result("plan", prompts=prompts)["plans"], finished["choices"], strict=True):
        if answer["reason"] == "eos":
            assert plan["cached_tokens"] >= usage["prompt_tokens"] + len(answer["token_ids"])
        else:  # it may end inside a character, after which the states cannot be used
            assert plan["cached_tokens"] >= usage["prompt_tokens"] - 1


@pytest.mark.parametrize("num_first", [1, 260], ids=["short prompts", "shared prompts"])
def test_requests_that_join_others_get_the_same_answers_as_alone(new_engine: NewEngine, folder: Path, num_first: int):
    """Several answers to a long prompt share its keys. The others, and the answers to compare with, do not."""
    model = loaded(folder)
    requests = [
        Generate(
            request_id=number,
            token_ids=[*range(40 + number, 40 + number + num_first), *range(50, 50 + 7 * number)],
            max_tokens=10 + 5 * number,
            sampling=Sampling(temperature=1, seed=number),
            n=1 + number % 3,
        )
        for number in range(4)
    ]
    alone: list[Finished] = []
    model.__dict__["can_share"] = False
    for request in requests:
        *_, finished = events_of(new_engine(model), request)
        assert isinstance(finished, Finished)
        alone.append(finished)
    del model.__dict__["can_share"]
    engine = new_engine(model)
    events: list[WorkerEvent] = []
    waiting = list(requests)
    max_at_once = saved_bytes = 0
    while waiting or engine.is_busy:
        if waiting and len(events) >= 9 * (len(requests) - len(waiting)):
            request = waiting.pop(0)
            engine.add(request, Ticket(request.request_id))
        events += engine.step()
        max_at_once = max(max_at_once, len(engine._running))  # pyright: ignore[reportPrivateUsage]
        saved_bytes = max(saved_bytes, engine._decoder.saved_bytes)  # pyright: ignore[reportPrivateUsage]
    assert max_at_once > 2
    assert bool(saved_bytes) == (num_first > 1 and model.can_share)
    for request, expected in zip(requests, alone, strict=True):
        finished = ended(events)[request.request_id]
        assert agree(model, request, finished.choices, expected.choices)
        if finished.choices == expected.choices:
            assert finished.usage.generated_tokens == expected.usage.generated_tokens


def test_stop_strings_cost_nothing_when_they_do_not_occur(new_engine: NewEngine, folder: Path):
    """The state after the end of the turn, if it was read, is kept as without them."""
    model = loaded(folder)
    prompt = list(range(40, 60))

    def kept_after(stop: list[str]) -> tuple[list[int], int]:
        engine = new_engine(model)
        first = Generate(request_id=1, token_ids=prompt, max_tokens=20, stop=stop)
        said = ended(list(events_of(engine, first)))[1].choices[0].token_ids
        list(events_of(engine, Generate(request_id=2, token_ids=[300, 301], max_tokens=1)))
        return said, engine.cache.num_kept([*prompt, *said, *model.vocabulary.eos_ids, 7])

    said, _ = kept_after([])
    model.vocabulary.eos_ids = frozenset({next(token_id for token_id in said[5:] if token_id not in said[:5])})
    assert kept_after(["never said"]) == kept_after([])


# --- streaming goes on ---------------------------------------------------------------------------------------


def test_an_answer_streams_on_while_another_prompt_is_read(llama: LanguageModel):
    """All steps take equally long here, so a step of the answer follows each four steps of the prompt."""
    engine = Engine(llama, looks_ahead=False, turns=StepsOfASecond())
    engine.add(Generate(request_id="answers", token_ids=[5, 6, 7], max_tokens=100), Ticket("answers"))
    while not any(isinstance(event, Chunk) for event in engine.step()):
        assert engine.is_busy
    events = list(events_of(engine, Generate(request_id="reads", token_ids=[9] * 7 * CHUNK, max_tokens=1)))
    progress = [number for number, event in enumerate(events) if isinstance(event, PrefillProgress)]
    between = [event for event in events[progress[0] : progress[-1]] if isinstance(event, Chunk)]
    assert len(progress) > 5
    assert len(between) > 1
    assert all(event.request_id == "answers" for event in between)
    assert ended(events).keys() == {"answers", "reads"}


class StepsOfASecond(Turns):
    """Simulates a machine on which each step takes a second."""

    def note_decoded(self, took_s: float, num_waiting: int) -> None:
        super().note_decoded(1, num_waiting)

    def note_read(self, took_s: float) -> None:
        super().note_read(1)


def test_prompts_that_come_at_once_are_read_first_and_answered_together(llama: LanguageModel, monkeypatch: Any):
    """The last token of each is read in a step of the answers that run, not in a step of its own."""
    shapes: list[tuple[int, ...]] = []
    forward = llama.forward

    def noted(tokens: mx.array, layers: Any) -> mx.array:
        shapes.append(tokens.shape)
        return forward(tokens, layers)

    assert llama.can_batch
    monkeypatch.setattr(llama, "forward", noted)
    requests = [
        Generate(request_id=number, token_ids=list(range(40 + number, 80 + number)), max_tokens=12)
        for number in range(8)
    ]
    events = list(events_of(Engine(llama, looks_ahead=False, turns=ReadsFirst()), *requests))
    answers = ended(events)
    for request in requests:
        *_, alone = events_of(Engine(llama), request)
        assert isinstance(alone, Finished)
        assert agree(llama, request, answers[request.request_id].choices, alone.choices)
        assert answers[request.request_id].usage.prefilled_tokens == 40
    kinds = [type(event) for event in events if not isinstance(event, PrefillProgress)]
    assert kinds.index(Finished) >= 8 * 2
    steps = [shape for shape in shapes if shape[1] == 1][: len(kinds)]
    assert steps[:9] == [(1, 1), *((rows, 1) for rows in range(2, 9)), (8, 1)]


class ReadsFirst(Turns):
    """A prompt is read without a pause, and each answer gets its first token at once."""

    def note_decoded(self, took_s: float, num_waiting: int) -> None:
        super().note_decoded(1, num_waiting)

    def note_read(self, took_s: float) -> None:
        pass


def test_reading_takes_a_multiple_of_the_time_of_a_step():
    turns = Turns()
    for num_waiting, num_read in ((0, 4), (1, 4), (6, 6), (7, 7), (100, 8)):
        turns.note_decoded(0.5, num_waiting)
        for _ in range(num_read):
            assert not turns.is_for_decoding
            turns.note_read(0.5)
        assert turns.is_for_decoding
    turns.note_decoded(0.5, 1)
    turns.note_joined()
    assert turns.is_for_decoding
    turns.note_decoded(1e6, 1)
    turns.note_read(60)
    assert turns.is_for_decoding


def test_two_requests_stream_side_by_side(shared_worker: StdioWorker, endless_model: Path):
    shared_worker.load(endless_model)
    asked = [shared_worker.send("generate", text=text) for text in ("Hello", "Well then")]
    for request_id in (*asked, *asked, *asked):
        shared_worker.wait_for(request_id, "chunk")
    for request_id in asked:
        shared_worker.result("cancel", target=request_id)
        assert shared_worker.events_until_end(request_id)[-1]["choices"][0]["reason"] == "cancelled"


def test_one_of_several_answers_can_be_cancelled(shared_worker: StdioWorker, endless_model: Path):
    shared_worker.load(endless_model)
    request_id = shared_worker.send("generate", text="Hello", n=3)
    shared_worker.wait_for(request_id, "chunk")
    assert shared_worker.result("cancel", target=request_id, choice=1)["type"] == "done"
    answered = shared_worker.wait_for(request_id, "answered")
    assert (answered["choice"], answered["reason"]) == (1, "cancelled")
    start = len(shared_worker.events)
    while {event.get("choice") for event in shared_worker.events[start:] if event["type"] == "chunk"} != {0, 2}:
        shared_worker.next_event()
    shared_worker.result("cancel", target=request_id, choice=7)  # does not exist
    shared_worker.result("cancel", target=request_id)
    events = shared_worker.events_until_end(request_id)
    assert [choice["reason"] for choice in events[-1]["choices"]] == ["cancelled"] * 3
    for choice, answer in enumerate(events[-1]["choices"]):
        assert shown_text(events, choice) == answer["text"] != ""


def test_an_answer_cancelled_before_it_begins_never_begins(shared_worker: StdioWorker, endless_model: Path):
    shared_worker.load(endless_model)
    request_id = shared_worker.send("generate", text="Hello there " * 2000, n=3, max_tokens=5)
    shared_worker.wait_for(request_id, "prefill_progress")
    shared_worker.result("cancel", target=request_id, choice=1)
    events = shared_worker.events_until_end(request_id)
    answers = events[-1]["choices"]
    assert [answer["reason"] for answer in answers] == ["length", "cancelled", "length"]
    assert answers[1]["text"] == ""
    assert Counter(event["choice"] for event in events if event["type"] == "answered") == {0: 1, 1: 1} or Counter(
        event["choice"] for event in events if event["type"] == "answered"
    ) == {1: 1, 2: 1}


def test_another_model_is_loaded_after_all_answers_have_ended(shared_worker: StdioWorker, random_llama: Path):
    shared_worker.load(random_llama)
    asked = [shared_worker.send("generate", text="Hello", n=2, max_tokens=9) for _ in range(3)]
    load = shared_worker.send("load_model", model="guide")
    shared_worker.events_until_end(load)
    order = [event["request_id"] for event in shared_worker.events if event["type"] in {"finished", "model_loaded"}]
    assert order.index(load) > max(order.index(request_id) for request_id in asked)


# --- memory ----------------------------------------------------------------------------------------------------


def test_afterwards_the_cache_holds_the_bytes_of_the_distinct_tokens(new_engine: NewEngine, random_llama: Path):
    model = loaded(random_llama)
    engine = new_engine(model)
    request = Generate(
        request_id=1, token_ids=list(range(40, 340)), n=6, max_tokens=30, sampling=Sampling(temperature=1)
    )
    max_bytes = 0
    engine.add(request, Ticket(1))
    while engine.is_busy:
        engine.step()
        max_bytes = max(max_bytes, engine.num_bytes)
    a_token = model.kv_bytes_per_token
    num_tokens = engine.cache.num_tokens
    assert num_tokens <= 300 + 6 * 30
    assert max_bytes > 6 * 300 * a_token
    assert engine.num_bytes <= (num_tokens + 255) * a_token
    assert engine.cache.reserved_bytes == 0


def test_idle_tokens_are_evicted_for_running_answers(new_engine: NewEngine, llama: LanguageModel):
    engine = new_engine(llama)
    limit_bytes = engine.cache.limit_bytes = 7 * llama.num_bytes_at(100 + 256)
    for first in range(10, 40):
        list(events_of(engine, Generate(request_id=first, token_ids=[first, *range(40, 340)], max_tokens=1)))
    assert engine.num_bytes > limit_bytes * 0.8
    engine.add(Generate(request_id=1, token_ids=list(range(40, 140)), n=6, max_tokens=200), Ticket(1))
    max_at_once = 0
    while engine.is_busy:
        engine.step()
        max_at_once = max(max_at_once, len(engine._running))  # pyright: ignore[reportPrivateUsage]
        assert engine.num_bytes <= limit_bytes
    assert max_at_once == 6


@pytest.mark.parametrize("num_rows", [1, 2, 3.5])
def test_answers_that_do_not_fit_in_memory_together_run_one_after_another(
    new_engine: NewEngine, llama: LanguageModel, num_rows: float
):
    request = Generate(
        request_id=1, token_ids=list(range(40, 140)), n=5, max_tokens=20, sampling=Sampling(temperature=1, seed=1)
    )
    *_, expected = events_of(new_engine(llama), request)
    engine = new_engine(llama)
    engine.cache.limit_bytes = int((num_rows + 1) * llama.num_bytes_at(100 + 256))
    engine.add(request, Ticket(1))
    events: list[WorkerEvent] = []
    max_at_once = 0
    while engine.is_busy:
        events += engine.step()
        max_at_once = max(max_at_once, len(engine._running))  # pyright: ignore[reportPrivateUsage]
        assert engine.num_bytes <= max(engine.cache.limit_bytes, 2 * llama.num_bytes_at(512))
    assert max_at_once == int(num_rows)
    assert isinstance(expected, Finished)
    assert agree(llama, request, ended(events)[1].choices, expected.choices)


def test_answers_to_one_long_prompt_fit_in_memory_together(new_engine: NewEngine, llama: LanguageModel):
    """The prompt is held once, so six answers take little more memory than one."""
    engine = new_engine(llama)
    limit_bytes = engine.cache.limit_bytes = 4 * llama.num_bytes_at(1000 + 256)
    prompt = [50 + number % 400 for number in range(1000)]
    engine.add(Generate(request_id=1, token_ids=prompt, n=6, max_tokens=20), Ticket(1))
    max_at_once = 0
    while engine.is_busy:
        engine.step()
        max_at_once = max(max_at_once, len(engine._running))  # pyright: ignore[reportPrivateUsage]
        assert engine.num_bytes <= limit_bytes
    assert max_at_once == 6


@pytest.mark.parametrize("looks_ahead", [True, *in_long_runs([False])])
@pytest.mark.parametrize("name", ["llama", *in_long_runs(["lfm2"])])
def test_answers_that_outgrow_the_memory_wait_and_continue_later(
    looks_ahead: bool, name: str, tmp_path: Path, byte_level: Tokenizer
):
    size = byte_level.get_vocab_size(with_added_tokens=True)
    model = loaded(write_random_model(tmp_path / "model", byte_level, CONFIGS[name](size)))
    model.vocabulary.eos_ids = frozenset()
    request = Generate(
        request_id=1, token_ids=list(range(40, 60)), n=3, max_tokens=300, sampling=Sampling(temperature=1, seed=1)
    )
    *_, expected = events_of(Engine(model, looks_ahead=looks_ahead), request)
    assert isinstance(expected, Finished)
    # Enough for all three at first, and for one at the end. Waiting answers go to disk.
    limit_bytes = 4 * model.num_bytes_at(20 + 256)
    cache = PromptCache(model.new_layers, limit_bytes, DiskCache(tmp_path / "cache", "key"))
    engine = Engine(model, cache, looks_ahead=looks_ahead)
    engine.add(request, Ticket(1))
    events: list[WorkerEvent] = []
    numbers: set[int] = set()
    while engine.is_busy:
        events += engine.step()
        numbers.add(len(engine._running))  # pyright: ignore[reportPrivateUsage]
        assert engine.num_bytes <= limit_bytes + 2 * model.num_bytes_at(256)
    assert {1, 2, 3} <= numbers
    assert agree(model, request, ended(events)[1].choices, expected.choices)
    if name == "llama" or not looks_ahead:  # otherwise there is no state before the last token, so it is read again
        assert ended(events)[1].usage.prefilled_tokens == expected.usage.prefilled_tokens == 20


def test_an_answer_is_continued_without_reading_it_again_however_it_ended(new_engine: NewEngine, folder: Path):
    model = loaded(folder)
    model.vocabulary.eos_ids = frozenset()
    token_ids = list(range(40, 70))
    asked: dict[str, Any] = {"token_ids": token_ids, "max_tokens": 12, "sampling": Sampling(temperature=1, seed=1)}
    *_, whole = events_of(Engine(model), Generate(request_id=1, **asked))
    assert isinstance(whole, Finished)
    said = whole.choices[0].token_ids
    last = said[next(index for index in range(9, 4, -1) if said[index] not in said[:index])]
    for end, n in (("eos", 1), ("eos", 2), ("cancelled", 1), ("length", 2)):
        model.vocabulary.eos_ids = frozenset({last} if end == "eos" else ())
        engine = new_engine(model)
        ticket = Ticket(1)
        engine.add(Generate(request_id=1, n=n, **asked), ticket)
        events: list[WorkerEvent] = []
        while engine.is_busy:
            events += engine.step()
            if end == "cancelled" and sum(len(event.tokens) for event in events if isinstance(event, Chunk)) > 6:
                ticket.cancel()
        answer = ended(events)[1].choices[0]
        assert answer.reason == end
        continued = Generate(request_id=2, continuation=Continuation(token_ids=answer.token_ids), **asked)
        *_, more = events_of(engine, continued)
        assert isinstance(more, Finished)
        # Only the last token, for the logits after it, and tokens that were cut.
        assert more.usage.prefilled_tokens <= 1 + answer.num_recut, (end, n)


def test_a_model_that_cannot_be_batched_answers_one_request_after_another(
    new_engine: NewEngine, tmp_path: Path, byte_level: Tokenizer
):
    size = byte_level.get_vocab_size(with_added_tokens=True)
    folder = write_random_model(tmp_path / "model", byte_level, small_gemma3() | {"model_type": "gemma2"})
    model = loaded(folder)
    assert size
    assert not model.can_batch
    request = Generate(
        request_id=1, token_ids=list(range(40, 60)), n=3, max_tokens=8, sampling=Sampling(temperature=1, seed=1)
    )
    other = Generate(request_id=2, token_ids=[7, 8, 9], max_tokens=5)
    events = list(events_of(new_engine(model), request, other))
    order = [event.choice for event in events if isinstance(event, Chunk) and event.request_id == 1]
    assert order == sorted(order)
    assert set(ended(events)) == {1, 2}


# --- failures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [5, *in_long_runs([4, 9])])
@pytest.mark.parametrize(
    "error", [ValueError("odd"), RuntimeError("[malloc] Unable to allocate")], ids=["bug", "memory"]
)
def test_when_a_batch_fails_its_answers_continue_one_after_another(
    new_engine: NewEngine,
    llama: LanguageModel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: int,
    error: Exception,
):
    requests = [
        Generate(
            request_id=name,
            token_ids=[name, *range(50, 90)],
            n=2,
            max_tokens=15,
            sampling=Sampling(temperature=1, seed=1),
        )
        for name in (20, 21)
    ]
    expected = ended(list(events_of(new_engine(llama), *requests)))
    forward = LanguageModel.forward
    num_batched = 0

    def failing(self: LanguageModel, tokens: mx.array, layers: Any) -> mx.array:
        nonlocal num_batched
        if tokens.shape[0] > 1:
            num_batched += 1
            if num_batched == number:
                raise error
        return forward(self, tokens, layers)

    monkeypatch.setattr(LanguageModel, "forward", failing)
    engine = new_engine(llama)
    events = list(events_of(engine, *requests))
    assert num_batched == number  # no batch afterwards
    (message,) = caplog.messages
    assert str(error) in message
    caplog.clear()
    assert not [event for event in events if isinstance(event, Failed)]
    for name, finished in ended(events).items():
        assert agree(llama, requests[name - 20], finished.choices, expected[name].choices)
        for choice, answer in enumerate(finished.choices):
            chunks = [event for event in events if isinstance(event, Chunk) and event.request_id == name]
            assert "".join(chunk.text for chunk in chunks if chunk.choice == choice) == answer.text
    # The next requests are batched again.
    answered = [event for event in events_of(engine, *requests) if isinstance(event, Answered)]
    assert len(answered) == 2
    assert num_batched > number


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (PromptCache, "enter"),
        (BranchInUse, "unmark"),
        (Batch, "add"),
        (Request, "take"),
        *in_long_runs([(PromptCache, "rewind_to"), (Batch, "remove"), (Batch, "row"), (Request, "ended")]),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_after_any_failure_each_request_ends_once_and_the_next_ones_are_answered(
    new_engine: NewEngine,
    llama: LanguageModel,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    owner: type,
    name: str,
):
    """One of the first calls fails, as when memory runs out in the middle of it."""
    requests = [
        Generate(
            request_id=number,
            token_ids=[10 + number, *range(50, 54 + 9 * number)],
            max_tokens=[4, 9, 1, 14][number],
            n=1 + number % 3,
            sampling=Sampling(temperature=1, seed=number),
        )
        for number in range(4)
    ]
    expected = ended([event for request in requests for event in events_of(new_engine(llama), request)])
    original = getattr(owner, name)
    for number in (1, 7):
        num_calls = 0

        def failing(self: object, *args: Any, last: int = number, **options: Any) -> Any:
            nonlocal num_calls
            num_calls += 1
            if num_calls == last:
                raise RuntimeError("[malloc] Unable to allocate")
            return original(self, *args, **options)

        engine = new_engine(llama)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, failing)
            ends: Counter[Any] = Counter()
            tickets = [Ticket(request.request_id) for request in requests]
            num_steps = 0
            while num_steps < 9 or engine.is_busy:
                if num_steps % 3 == 0 and num_steps < 12:
                    engine.add(requests[num_steps // 3], tickets[num_steps // 3])
                if num_steps == 10:
                    tickets[0].cancel()
                    tickets[2].cancel(1)
                ends.update(event.request_id for event in engine.step() if isinstance(event, Finished | Failed))
                num_steps += 1
        assert ends == dict.fromkeys(range(4), 1)
        assert engine.cache.reserved_bytes == 0
        for request in requests:
            again = ended(list(events_of(engine, request)))
            choices = again[request.request_id].choices
            assert agree(llama, request, choices, expected[request.request_id].choices)
    caplog.clear()


def test_a_segment_that_fails_to_begin_fails_only_its_request(
    new_engine: NewEngine, llama: LanguageModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    segments = [Segment(max_tokens=2), Segment(max_tokens=3)]
    good = Generate(request_id=1, token_ids=[20, 50, 51], max_tokens=12, sampling=Sampling(seed=1))
    bad = Generate(request_id=2, token_ids=[21, 50, 51], segments=segments, n=2)

    def failing(*_: object) -> None:
        raise KeyError("oddity")

    monkeypatch.setattr(Writing, "begin_next_segment", failing)
    events = list(events_of(new_engine(llama), good, bad))
    assert [event.request_id for event in events if isinstance(event, Failed)] == [2]
    assert list(ended(events)) == [1]
    caplog.clear()


def test_a_request_that_fails_alone_does_not_affect_the_others(
    new_engine: NewEngine, llama: LanguageModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    good = [
        Generate(request_id=name, token_ids=[name, 50, 51], n=2, max_tokens=12, sampling=Sampling(seed=1))
        for name in (20, 21)
    ]
    bad = Generate(request_id=22, token_ids=[22, 50, 51], n=2, max_tokens=12)
    expected = ended(list(events_of(new_engine(llama), *good)))
    forward = LanguageModel.forward

    def failing(self: LanguageModel, tokens: mx.array, layers: Any) -> mx.array:
        if tokens.shape[1] > 1 and tokens[0, 0].item() == 22:
            raise KeyError("oddity")
        return forward(self, tokens, layers)

    monkeypatch.setattr(LanguageModel, "forward", failing)
    events = list(events_of(new_engine(llama), good[0], bad, good[1]))
    assert [event.request_id for event in events if isinstance(event, Failed)] == [22]
    assert {name: finished.choices for name, finished in ended(events).items()} == {
        name: finished.choices for name, finished in expected.items()
    }
    assert len(caplog.records) == 1
    caplog.clear()
