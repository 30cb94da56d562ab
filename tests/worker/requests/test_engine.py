"""The engine with a real model in this process: log-probabilities, failing steps, memory that is released."""

from __future__ import annotations

import gc
import json
import logging
import math
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from tokenizers import Tokenizer
from typing_extensions import override

from tests.architectures import small_gemma3, small_lfm2, small_llama, small_mamba, write_random_model
from tests.long import in_long_runs
from tests.trials import TRIALS
from tests.worker.rounding import agree
from worker.errors import LoadCancelledError, ModelInvalidError, ModelNotLoadedError
from worker.host import ModelHost
from worker.inbox import EndOfInput, Inbox, Incoming
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.protocol import (
    CacheStats,
    Cancel,
    Chunk,
    Command,
    Constraint,
    Continuation,
    Done,
    Event,
    Failed,
    Finished,
    Generate,
    LoadModel,
    ModelLoaded,
    PrefillProgress,
    Sampling,
    Tokenize,
    UnloadModel,
)
from worker.requests.engine import Engine
from worker.requests.request import Request, Ticket
from worker.server import Server
from worker.text.tokenizing import Patience

CONFIGS: dict[str, Callable[[int], dict[str, Any]]] = {
    "llama": small_llama,
    "gemma3": lambda _: small_gemma3(window=24),
    "lfm2": lambda _: small_lfm2(),
    "mamba": lambda _: small_mamba(),
}


def loaded(folder: Path) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(folder)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    return model


@pytest.fixture(scope="module")
def model(random_llama: Path) -> LanguageModel:
    return loaded(random_llama)


def events_of(engine: Engine, request: Generate) -> Iterator[Event]:
    engine.add(request, Ticket("r"))
    while engine.is_busy:
        yield from engine.step()


def answer(engine: Engine, **fields: Any) -> tuple[list[Chunk], Finished]:
    events = list(events_of(engine, Generate(request_id="r", **fields)))
    finished = events[-1]
    assert isinstance(finished, Finished)
    return [event for event in events if isinstance(event, Chunk)], finished


def test_peak_memory_is_that_of_the_request(model: LanguageModel) -> None:
    engine = Engine(model)
    _, short = answer(engine, token_ids=[1, 2, 3], max_tokens=2)
    assert short.usage.peak_memory_bytes >= model.weights_bytes
    _, long = answer(engine, token_ids=[index % 50 + 1 for index in range(1500)], max_tokens=2)
    assert long.usage.peak_memory_bytes > short.usage.peak_memory_bytes
    _, short_again = answer(engine, token_ids=[3, 2, 1], max_tokens=2)
    # The long request's working memory is released; only the tokens it read are kept.
    assert short_again.usage.peak_memory_bytes < long.usage.peak_memory_bytes


def test_the_whole_sequence_is_written_down_once_an_answer(model: LanguageModel, monkeypatch: pytest.MonkeyPatch):
    """This goes through all tokens, so an answer of n tokens would take n² steps if each token did it."""
    written: list[int] = []
    write = Request.written

    def counted(request: Request, choice: int) -> Any:
        written.append(choice)
        return write(request, choice)

    monkeypatch.setattr(Request, "written", counted)
    _, finished = answer(Engine(model), token_ids=[1, 2, 3], max_tokens=30, sampling=Sampling(temperature=0))
    assert len(finished.choices[0].token_ids) > 2
    assert len(written) <= 2


def replies_to(commands: Sequence[Incoming]) -> list[Event]:
    """Return the events of a server in this process whose commands all arrive at once."""
    inbox = Inbox()
    for command in (*commands, EndOfInput()):
        inbox.put(command)
    events: list[Event] = []
    Server(inbox, events.append).run()
    return events


def end_of(events: list[Event], request_id: str) -> Event:
    ends = (Finished, Failed, ModelLoaded)
    return next(event for event in events if event.request_id == request_id and isinstance(event, ends))


# --- log-probabilities -----------------------------------------------------------------------------------------


def logprobs_by_oracle(model: LanguageModel, token_ids: Sequence[int]) -> list[np.ndarray]:
    """Return the log-softmax after each prefix, computed without a cache and in double precision."""
    rows: list[np.ndarray] = []
    for length in range(1, len(token_ids) + 1):
        logits = np.array(model.forward(mx.array([list(token_ids[:length])]), model.new_layers()))[0].astype(np.float64)
        rows.append(logits - (logits.max() + np.log(np.exp(logits - logits.max()).sum())))
    return rows


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=1.5, seed=3),
        Sampling(temperature=1, seed=3, top_k=3, top_p=0.5),
        Sampling(repetition_penalty=5, presence_penalty=3, frequency_penalty=2),
        Sampling(logit_bias={40: 100.0, 41: 100.0}, presence_penalty=3, penalty_covers="new"),
    ],
    ids=["greedy", "hot", "filtered", "penalized", "biased"],
)
def test_log_probabilities_are_the_models_own_before_any_filter(model: LanguageModel, sampling: Sampling):
    prompt = list(range(20, 60))
    chunks, finished = answer(Engine(model), token_ids=prompt, max_tokens=12, top_logprobs=20, sampling=sampling)
    tokens = [token for chunk in chunks for token in chunk.tokens]
    sampled = [token.id for token in tokens]
    assert sampled[: len(finished.choices[0].token_ids)] == finished.choices[0].token_ids
    rows = logprobs_by_oracle(model, prompt + sampled)[len(prompt) - 1 : -1]
    for token, row in zip(tokens, rows, strict=True):
        assert token.logprob == pytest.approx(row[token.id], abs=1e-3)
        assert len(token.top) == 20
        likeliest = np.sort(row)[::-1][:20]
        assert [top.logprob for top in token.top] == pytest.approx(likeliest.tolist(), abs=1e-3)
        for top in token.top:
            assert top.logprob == pytest.approx(row[top.id], abs=1e-3)
            assert top.text == model.vocabulary.text_of([top.id])
        assert all((a.logprob or 0) >= (b.logprob or 0) for a, b in pairwise(token.top))


def test_a_temperature_of_zero_takes_the_argmax_of_each_step(model: LanguageModel):
    prompt = list(range(100, 130))
    _, finished = answer(Engine(model), token_ids=prompt, max_tokens=15)
    sampled = finished.choices[0].token_ids
    rows = logprobs_by_oracle(model, prompt + sampled)[len(prompt) - 1 : -1]
    assert sampled == [int(np.argmax(row)) for row in rows]


def test_without_top_logprobs_no_log_probabilities_are_computed(model: LanguageModel):
    chunks, _ = answer(Engine(model), token_ids=[30, 31], max_tokens=5)
    for chunk in chunks:
        assert all(token.logprob is None and token.top == [] for token in chunk.tokens)


def test_impossible_tokens_have_a_top_logprob_of_null(model: LanguageModel, monkeypatch: pytest.MonkeyPatch):
    forward = LanguageModel.forward

    def certain(self: LanguageModel, tokens: mx.array, layers: Any) -> mx.array:
        logits = forward(self, tokens, layers)
        return mx.where(mx.arange(logits.shape[-1]) == 40, logits, -mx.inf)

    monkeypatch.setattr(LanguageModel, "forward", certain)
    chunks, finished = answer(Engine(model), token_ids=[30, 31], max_tokens=3, top_logprobs=2)
    assert finished.choices[0].token_ids == [40, 40, 40]
    # JSON has no number for minus infinity, so it becomes null.
    for token in (token for chunk in chunks for token in chunk.tokens):
        assert token.logprob == 0
        assert [top.logprob for top in token.top] == [0, None]


# --- failing steps -------------------------------------------------------------------------------------------


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Exception], None]:
    """Return a function that lets the n-th step of any model raise an error, once."""

    def break_at(number: int, error: Exception) -> None:
        forward = LanguageModel.forward
        num_calls = 0

        def failing_forward(self: LanguageModel, tokens: mx.array, layers: Any) -> mx.array:
            nonlocal num_calls
            num_calls += 1
            logits = forward(self, tokens, layers)
            if num_calls == number:
                raise error
            return logits

        monkeypatch.setattr(LanguageModel, "forward", failing_forward)

    return break_at


@pytest.mark.parametrize("architecture", CONFIGS)
@pytest.mark.parametrize("number", [3, *in_long_runs([2, 6])], ids="step {}".format)
def test_after_a_failed_step_the_same_request_gives_the_same_text(
    number: int,
    architecture: str,
    failing: Callable[[int, Exception], None],
    tmp_path: Path,
    byte_level: Tokenizer,
    caplog: pytest.LogCaptureFixture,
):
    size = byte_level.get_vocab_size(with_added_tokens=True)
    folder = write_random_model(tmp_path / "model", byte_level, CONFIGS[architecture](size))
    # Two chunks of prompt, then tokens: the first three steps read, the others sample.
    request: dict[str, Any] = {"token_ids": list(range(50, 250)) * 4, "max_tokens": 8}
    model = loaded(folder)
    _, expected = answer(Engine(model), **request)
    failing(number, ValueError("a step that broke"))
    engine = Engine(model)
    with caplog.at_level(logging.CRITICAL, logger="worker.errors"):
        *_, failed = events_of(engine, Generate(request_id="r", **request))
    _, again = answer(engine, **request)
    _, kept = answer(engine, **request)
    assert isinstance(failed, Failed)
    assert failed.kind == "internal"
    assert "a step that broke" in failed.message
    for each in (again, kept):
        assert agree(model, Generate(request_id="r", **request), each.choices, expected.choices)
    # Positions and copies of states that were kept before the failed step are unchanged.
    assert again.usage.cached_tokens <= 799
    assert kept.usage.prefilled_tokens == 1


def test_a_bug_is_logged_with_its_traceback(
    failing: Callable[[int, Exception], None], random_llama: Path, caplog: pytest.LogCaptureFixture
):
    failing(1, KeyError("oddity"))
    replies_to([LoadModel(request_id="load", model=str(random_llama)), Generate(request_id="r", text="Hello")])
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], KeyError)


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("[malloc] Unable to allocate 5 bytes."), RuntimeError("[METAL] Out of memory")],
    ids=str,
)
def test_too_little_memory_for_an_answer_is_reported_as_such(
    error: Exception,
    failing: Callable[[int, Exception], None],
    random_llama: Path,
    caplog: pytest.LogCaptureFixture,
):
    failing(2, error)
    asked = [Generate(request_id=f"{n}", text="Hello", max_tokens=4) for n in range(2)]
    events = replies_to([LoadModel(request_id="load", model=str(random_llama)), *asked])
    failed = end_of(events, "0")
    assert isinstance(failed, Failed)
    assert failed.kind == "out_of_memory"
    assert "Shorten" in failed.message
    assert isinstance(end_of(events, "1"), Finished)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize(
    ("error", "kind"),
    [(RuntimeError("[malloc] Unable to allocate."), "out_of_memory"), (ValueError("odd weights"), "model_invalid")],
    ids=str,
)
def test_a_failed_load_reports_that_no_model_is_loaded(
    error: Exception, kind: str, random_llama: Path, monkeypatch: pytest.MonkeyPatch
):
    load = LoadModel(request_id="load", model=str(random_llama))
    evaluate = mx.eval
    num_calls = 0

    def failing_eval(*arrays: Any) -> None:
        nonlocal num_calls
        num_calls += 1
        if num_calls > 35:
            raise error
        evaluate(*arrays)

    monkeypatch.setattr(mx, "eval", failing_eval)
    other, asked = LoadModel(request_id="other", model="guide"), Tokenize(request_id="asked", text="a")
    events = replies_to([load, CacheStats(request_id="between"), other, asked])
    assert num_calls > 35
    failed = end_of(events, "other")
    assert isinstance(failed, Failed)
    assert failed.kind == kind
    assert "No model is loaded now." in failed.message
    refused = end_of(events, "asked")
    assert isinstance(refused, Failed)
    assert refused.kind == "model_not_loaded"


def test_a_load_cancelled_after_any_step_reports_what_is_loaded(random_llama: Path):
    host = ModelHost(trials=TRIALS)
    load = LoadModel(request_id="load", model=str(random_llama))
    num_steps = len(list(host.load(load, Ticket("load"))))
    assert num_steps > 5
    for is_loaded in (True, False):
        for num_before in (1, 2, 3, num_steps - 1):
            if is_loaded:
                assert isinstance([*host.load(load, Ticket("load"))][-1], ModelLoaded)
            else:
                assert isinstance([*host.unload(UnloadModel(request_id="unload"))][-1], Done)
            ticket = Ticket("load")
            steps = host.load(load, ticket)
            for _ in range(num_before):
                next(steps)
            ticket.is_cancelled = True
            with pytest.raises(LoadCancelledError) as refused:
                next(steps)
            # The previous model stays until the first weights are read.
            stays = is_loaded and num_before <= 2
            assert ("The previous model is still loaded." in str(refused.value)) == stays
            assert ("No model is loaded now." in str(refused.value)) == (not stays)
            if stays:
                assert host.reply(CacheStats(request_id="stats"))
            else:
                with pytest.raises(ModelNotLoadedError):
                    host.reply(CacheStats(request_id="stats"))


def test_a_refused_model_reports_what_is_loaded(random_llama: Path, tmp_path: Path):
    odd = shutil.copytree(random_llama, tmp_path / "odd")
    config = json.loads((odd / "config.json").read_text())
    (odd / "config.json").write_text(json.dumps(config | {"hidden_size": 32}))
    host = ModelHost(trials=TRIALS)
    load = LoadModel(request_id="load", model=str(random_llama))
    for outcome in ("No model is loaded now.", "The previous model is still loaded."):
        with pytest.raises(ModelInvalidError, match=re.escape(outcome)):
            list(host.load(LoadModel(request_id="odd", model=str(odd)), Ticket("odd")))
        list(host.load(load, Ticket("load")))


@pytest.mark.parametrize("num_steps", range(9))
def test_tokens_read_before_a_cancel_are_kept(model: LanguageModel, num_steps: int):
    request: dict[str, Any] = {"token_ids": list(range(60, 90)), "max_tokens": 30}
    _, expected = answer(Engine(model), **request)
    engine = Engine(model)
    ticket = Ticket("r")
    engine.add(Generate(request_id="r", **request), ticket)
    events = [event for _ in range(num_steps) for event in engine.step()]
    ticket.cancel()
    events += engine.step()
    assert not engine.is_busy
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.choices[0].reason == "cancelled"
    assert expected.choices[0].text.startswith(finished.choices[0].text)
    _, finished = answer(engine, **request)
    assert agree(model, Generate(request_id="r", **request), finished.choices, expected.choices)
    # The first step looks up the cache, the next ones read all but the prompt's last token, layer by layer.
    is_read = any(isinstance(event, PrefillProgress) and event.done == 29 for event in events)
    assert finished.usage.prefilled_tokens == (1 if is_read else 30)


# --- events ----------------------------------------------------------------------------------------------------


def test_prefill_progress_counts_up_to_the_token_before_the_last(model: LanguageModel):
    engine = Engine(model)
    events = list(events_of(engine, Generate(request_id="r", token_ids=[50] * 1300, max_tokens=1)))
    progress = [event for event in events if isinstance(event, PrefillProgress)]
    assert [event.done for event in progress if not event.partly] == [0, 512, 1024, 1299]
    assert {event.total for event in progress} == {1300}
    assert {event.cached for event in progress} == {0}
    events = list(events_of(engine, Generate(request_id="r", token_ids=[50] * 1302, max_tokens=1)))
    progress = [event for event in events if isinstance(event, PrefillProgress)]
    assert [(event.done, event.cached) for event in progress] == [(1300, 1300), (1301, 1300)]


def test_progress_within_a_chunk_only_grows(model: LanguageModel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("worker.requests.engine._PROGRESS_S", -1.0)
    events = list(events_of(Engine(model), Generate(request_id="r", token_ids=[50] * 1300, max_tokens=1)))
    progress = [event for event in events if isinstance(event, PrefillProgress)]
    work = [event.done + event.partly for event in progress]
    assert work == sorted(work)
    assert work[-1] == 1299
    assert any(event.partly for event in progress) == (len(model.new_layers()) > 1)
    assert progress[-1].tokens_per_s


def test_times_are_plausible(model: LanguageModel):
    _, finished = answer(Engine(model), token_ids=[50] * 600, max_tokens=5)
    timing = finished.timing
    assert 0 < timing.prefill_ms <= timing.ttft_ms
    assert timing.queue_ms >= 0
    assert timing.decode_tokens_per_s > 0
    assert all(math.isfinite(value) for value in (timing.queue_ms, timing.prefill_ms, timing.ttft_ms))


# --- memory ----------------------------------------------------------------------------------------------------


def arrays_in(value: Any, seen: set[int]) -> Iterator[mx.array]:
    """Yield each array that an object holds, once."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, mx.array):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from arrays_in(part, seen)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from arrays_in(part, seen)
    elif hasattr(value, "__dict__"):
        yield from arrays_in(vars(value), seen)


@pytest.mark.parametrize("architecture", CONFIGS)
def test_the_cache_reports_the_bytes_of_its_arrays(architecture: str, tmp_path: Path, byte_level: Tokenizer):
    size = byte_level.get_vocab_size(with_added_tokens=True)
    engine = Engine(loaded(write_random_model(tmp_path / "model", byte_level, CONFIGS[architecture](size))))
    for prompt in (range(40, 100), range(40, 120), [7, 8, 9], range(40, 400), [40, 41, 42, 50]):
        answer(engine, token_ids=list(prompt), max_tokens=9)
        cache = engine.cache
        kept = [[run.kept.parts, run.kept.states] for run in cache._tree.runs()]  # pyright: ignore[reportPrivateUsage]
        held = sum(array.nbytes for array in arrays_in([cache.branch.layers, kept], set()))
        assert cache.num_bytes == held > 0


def test_snapshots_are_evicted_to_keep_the_limit(tmp_path: Path, byte_level: Tokenizer):
    model = loaded(write_random_model(tmp_path / "model", byte_level, small_lfm2()))
    engine = Engine(model)
    answer(engine, token_ids=list(range(40, 90)), max_tokens=3)
    engine.cache.limit_bytes = 3 * engine.cache.num_bytes
    for start in range(41, 60):
        _, finished = answer(engine, token_ids=list(range(start, start + 50)), max_tokens=3)
        assert finished.usage.cached_tokens == 0
        assert engine.cache.num_bytes <= engine.cache.limit_bytes
    _, finished = answer(engine, token_ids=list(range(59, 109)), max_tokens=3)
    assert finished.usage.prefilled_tokens == 1


def active_bytes() -> int:
    gc.collect()
    mx.clear_cache()
    return mx.get_active_memory()


def test_swapped_models_release_all_their_memory(random_llama: Path, tmp_path: Path):
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    before = active_bytes()
    host = ModelHost(trials=TRIALS)

    def load(model: Path | str) -> None:
        for _ in host.load(LoadModel(request_id="l", model=str(model)), Ticket("l")):
            pass

    def ask() -> None:
        host.add(Generate(request_id="g", text="Hello", max_tokens=20), Ticket("g"))
        while host.is_answering:
            host.step()

    levels: list[int] = []
    for _ in range(2):
        load("guide")
        ask()
        load(random_llama)
        ask()
        # One model is refused, and one load is abandoned in the middle of the weights.
        with pytest.raises(Exception, match="config"):
            load(damaged)
        given_up = host.load(LoadModel(request_id="l", model="guide"), Ticket("l"))
        for _ in range(5):
            next(given_up)
        del given_up
        load(random_llama)
        levels.append(active_bytes())
    assert max(levels) - min(levels) == 0
    host.add(Generate(request_id="g", text="Hello", max_tokens=3), Ticket("g"))
    host.step()  # not run to its end
    list(host.unload(UnloadModel(request_id="u")))
    assert active_bytes() - before < 10_000


def test_a_server_handles_commands_that_all_arrive_at_once(random_llama: Path):
    """All commands are seen before the first step: requests are cancelled and loads replaced before they begin."""
    commands: list[Command] = [
        LoadModel(request_id="first", model="guide"),
        LoadModel(request_id="second", model=str(random_llama)),
        Generate(request_id="asked", text="Hello", max_tokens=3, continuation=Continuation(text="Well, th")),
        Generate(request_id="given up", text="Hello"),
        Cancel(request_id="c", target="given up"),
    ]
    events = replies_to(commands)
    first, second, asked, given_up = (end_of(events, name) for name in ("first", "second", "asked", "given up"))
    assert isinstance(first, Failed)
    assert first.kind == "superseded"
    assert isinstance(second, ModelLoaded)
    assert isinstance(asked, Finished)
    assert isinstance(given_up, Finished)
    assert given_up.choices[0].reason == "cancelled"
    assert events.index(given_up) < events.index(second)


# --- notes about tokens --------------------------------------------------------------------------------------


@pytest.mark.parametrize("looks_ahead", [False, True])
def test_the_cache_knows_the_origin_and_log_probability_of_each_token(model: LanguageModel, looks_ahead: bool):
    engine = Engine(model, looks_ahead=looks_ahead)
    prompt = list(range(20, 60))
    constraint = Constraint(kind="regex", value="leaf [a-z]{6,20} and the end")
    sampling = Sampling(temperature=1, seed=3)
    chunks, finished = answer(
        engine, token_ids=prompt, max_tokens=30, top_logprobs=1, sampling=sampling, constraint=constraint, n=2
    )
    for number, choice in enumerate(finished.choices):
        streamed = [token for chunk in chunks if chunk.choice == number for token in chunk.tokens]
        assert {token.origin for token in streamed} == {"sampled", "forced"}
        known = engine.cache.tokens(prompt + choice.token_ids, model.vocabulary.bytes)
        assert [token.origin.name for token in known[: len(prompt)]] == ["PROMPT"] * len(prompt)
        # The last tokens have not been read, so they are not in the tree.
        written = known[len(prompt) :]
        assert len(written) >= len(streamed) - 16
        for one, other in zip(written, streamed, strict=False):
            assert (one.id, one.origin.name.lower()) == (other.id, other.origin)
            assert one.bytes == model.vocabulary.bytes[other.id]
            assert one.logprob == (None if other.logprob is None else pytest.approx(other.logprob))


class _Interrupting(Patience):
    """Calls `meanwhile` at each text that is tokenized, as for a very long one."""

    @override
    def note(self, num_chars: int) -> None:
        self._go_on()


@pytest.fixture
def engine_meanwhile(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> tuple[Engine, list[Event], list[bool]]:
    """An engine that does one more step whenever a prompt is made, its events, and `is_beginning` at each token."""
    engine = Engine(model)
    events: list[Event] = []
    while_decoding: list[bool] = []
    decode, is_inside = engine._decode, False  # pyright: ignore[reportPrivateUsage]

    def watched() -> Iterator[Event]:
        while_decoding.append(engine.is_beginning)
        return decode()

    def meanwhile() -> bool:
        nonlocal is_inside
        if engine.is_beginning and not is_inside:
            is_inside = True
            events.extend(engine.step(is_meanwhile=True))
            is_inside = False
            # The prompt is still being made.
            assert engine.is_beginning
        return True

    monkeypatch.setattr(engine, "_decode", watched)
    monkeypatch.setattr(model.vocabulary, "patience", _Interrupting(meanwhile))
    return engine, events, while_decoding


def test_the_end_of_a_cancelled_answer_comes_before_text_that_others_write_while_a_prompt_is_made(
    engine_meanwhile: tuple[Engine, list[Event], list[bool]],
):
    engine, events, _ = engine_meanwhile
    tickets = {name: Ticket(name) for name in ("cancelled", "other", "new")}
    for name in ("cancelled", "other"):
        engine.add(Generate(request_id=name, text="Hello", max_tokens=100), tickets[name])
    while len({event.request_id for event in events if isinstance(event, Chunk)}) < 2:
        events += engine.step()
    tickets["cancelled"].cancel()
    engine.add(Generate(request_id="new", text="And then", max_tokens=2), tickets["new"])
    events.clear()
    while not any(isinstance(event, Finished) and event.request_id == "new" for event in events):
        events += engine.step()
    assert isinstance(events[0], Finished)
    assert events[0].request_id == "cancelled"
    assert {event.request_id for event in events[1:]} == {"other", "new"}


def test_an_answer_that_continues_while_a_prompt_is_made_is_not_mistaken_for_its_beginning(
    engine_meanwhile: tuple[Engine, list[Event], list[bool]],
):
    engine, events, while_decoding = engine_meanwhile
    engine.add(Generate(request_id="other", text="Hello", max_tokens=100), Ticket("other"))
    while not any(isinstance(event, Chunk) for event in events):
        events += engine.step()
    events.clear()
    while_decoding.clear()
    engine.add(Generate(request_id="new", text="And then", max_tokens=2), Ticket("new"))
    while not events:
        engine.step()
    # The answer got a token inside of a step. If it had been stopped there, it would have been broken.
    assert {event.request_id for event in events} == {"other"}
    assert while_decoding
    assert not any(while_decoding)
    assert not engine.is_beginning
