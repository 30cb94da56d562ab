"""Beam search: against all possible sequences and against a plain search without a cache; what it reads and keeps."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mlx.core as mx
import numpy as np
import numpy.typing as npt
import pytest
from tokenizers import Tokenizer

from tests.architectures import small_gemma3, small_lfm2, small_llama, write_random_model
from tests.long import in_long_runs
from tests.models import chain, write_scripted_model
from tests.tokenizers import bare_tokenizer
from worker.errors import BadRequestError, ConstraintInvalidError, ContextOverflowError
from worker.language_model import LanguageModel
from worker.library import CacheOptions, SampleMismatch, SequenceState, open_model
from worker.protocol import Constraint, Generate
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.states.local_model import LocalModel

PROMPT = "abcbbcaacbacabcbabcc"
"""Longer than a window; token healing does not change its end."""
ANSWERS = ["ab", "abba", "babb", "bba", "c"]

Logprobs = Callable[[tuple[int, ...]], npt.NDArray[np.float64]]


@pytest.fixture(scope="module", params=["llama", "lfm2", *in_long_runs(["gemma3"])])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights over seven tokens, with positions only, windows or states."""
    tokenizer = bare_tokenizer(["a", "b", "c", "ab", "ba"])
    made: dict[str, Callable[[], dict[str, Any]]] = {
        "llama": lambda: small_llama(tokenizer.get_vocab_size()),
        "gemma3": lambda: small_gemma3(window=12),
        "lfm2": small_lfm2,
    }
    return write_random_model(tmp_path_factory.mktemp("models") / request.param, tokenizer, made[request.param]())


@pytest.fixture(scope="module")
def model(folder: Path) -> LocalModel:
    return open_model(str(folder))


@pytest.fixture
def llama(random_llama: Path) -> LocalModel:
    return open_model(str(random_llama))


def engine_of(model: LocalModel) -> Engine:
    return model.text().engine


def language_model_of(model: LocalModel) -> LanguageModel:
    return engine_of(model).model


# --- plain searches --------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A sequence that has ended."""

    logprob: float
    ids: tuple[int, ...]
    text: str
    reason: str
    num_drawn: int


class Oracle:
    """Computes which tokens may follow and which sequences end, by reading every sequence from its beginning."""

    def __init__(self, model: LocalModel, prompt: str, answers: list[str] | None, stop: str | None, max_tokens: int):
        self.model = language_model_of(model)
        self.prompt = self.model.vocabulary.encode(prompt)
        self.answers, self.stop, self.max_tokens = answers, stop, max_tokens
        self._known: dict[tuple[int, ...], npt.NDArray[np.float64]] = {}

    def logprobs(self, ids: tuple[int, ...]) -> npt.NDArray[np.float64]:
        if ids not in self._known:
            layers = self.model.new_layers()
            logits = np.array(self.model.forward(mx.array([[*self.prompt, *ids]]), layers))[0].astype(np.float64)
            self._known[ids] = logits - logits.max() - math.log(np.exp(logits - logits.max()).sum())
        return self._known[ids]

    def may_come(self, text: str, token_id: int) -> bool:
        if self.answers is None:
            return True
        if token_id in self.model.vocabulary.eos_ids:
            return text in self.answers
        longer = text + self.model.vocabulary.text_of([token_id])
        is_control = token_id in self.model.vocabulary.control_ids
        return not is_control and any(answer.startswith(longer) for answer in self.answers)

    def next(self, logprob: float, ids: tuple[int, ...]) -> Iterator[tuple[float, tuple[int, ...], Found | None]]:
        """Yield all possible next steps: the log-probability, the tokens, and the ended sequence if it ends there."""
        text = self.model.vocabulary.text_of(ids)
        for token_id, own_logprob in enumerate(self.logprobs(ids)):
            if not self.may_come(text, token_id):
                continue
            if token_id in self.model.vocabulary.eos_ids:
                yield logprob + own_logprob, ids, Found(logprob + own_logprob, ids, text, "eos", len(ids) + 1)
                continue
            longer = (*ids, token_id)
            longer_text = self.model.vocabulary.text_of(longer)
            ended: Found | None = None
            if self.stop is not None and self.stop in longer_text:
                cut = longer_text[: longer_text.index(self.stop)]
                ended = Found(logprob + own_logprob, longer, cut, "stop", len(longer))
            elif self.answers and [each for each in self.answers if each.startswith(longer_text)] == [longer_text]:
                ended = Found(logprob + own_logprob, longer, longer_text, "constraint", len(longer))
            elif len(longer) == self.max_tokens:
                ended = Found(logprob + own_logprob, longer, longer_text, "length", len(longer))
            yield logprob + own_logprob, longer, ended

    def all_there_are(self, logprob: float = 0.0, ids: tuple[int, ...] = ()) -> Iterator[Found]:
        for more, longer, ended in self.next(logprob, ids):
            if ended is not None:
                yield ended
            else:
                yield from self.all_there_are(more, longer)

    def beam_search(self, width: int) -> list[Found]:
        """Collect the sequences that end among the best continuations of each step; no beam is given up early."""
        beams: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        found: list[Found] = []
        while beams:
            candidates = [each for beam in beams for each in self.next(*beam)]
            beams = []
            for logprob, ids, ended in sorted(candidates, key=lambda each: -each[0]):
                if len(beams) == width:
                    break
                if ended is None:
                    beams.append((logprob, ids))
                else:
                    found.append(ended)
        return found


def best(found: list[Found], num: int, length_penalty: float) -> list[Found]:
    return heapq.nlargest(num, found, key=lambda each: each.logprob / each.num_drawn**length_penalty)


def assert_is(state: SequenceState, expected: list[Found], num_prompt: int) -> None:
    endings = state.endings[0]
    assert [(ending and ending.text, ending and ending.reason) for ending in endings] == [
        (each.text, each.reason) for each in expected
    ]
    assert state.weights[0] == pytest.approx([each.logprob for each in expected], abs=2e-4)
    for ids, each in zip(state.token_ids[0], expected, strict=True):
        if each.reason != "stop":
            assert ids[num_prompt:] == each.ids


CASES: list[tuple[list[str] | None, str | None, float]] = [
    (None, None, 0.0),
    (None, None, 1.0),
    (None, None, -0.5),
    (None, "ba", 0.0),
    (ANSWERS, None, 0.0),
    (ANSWERS, None, 1.0),
    (ANSWERS, "bb", 0.7),
]


@pytest.mark.parametrize(("answers", "stop", "length_penalty"), CASES)
def test_a_wide_search_finds_the_best_of_all_possible_sequences(
    model: LocalModel, answers: list[str] | None, stop: str | None, length_penalty: float
) -> None:
    max_tokens = 3 if answers is None else 6
    oracle = Oracle(model, PROMPT, answers, stop, max_tokens)
    found = list(oracle.all_there_are())
    beams = model.beams(
        width=64,
        samples=min(9, len(found)),
        constraint=None if answers is None else Constraint(kind="choice", value=answers),
        stop=() if stop is None else stop,
        max_tokens=max_tokens,
        length_penalty=length_penalty,
    )
    state = beams(PROMPT)
    assert_is(state, best(found, min(9, len(found)), length_penalty), len(oracle.prompt))


@pytest.mark.parametrize(
    ("width", "can_batch"), [(1, False), (5, True), *in_long_runs([(1, True), (2, True), (2, False), (5, False)])]
)
@pytest.mark.parametrize(("answers", "stop", "length_penalty"), CASES)
def test_a_search_of_any_width_finds_the_same_as_a_plain_one(
    model: LocalModel,
    answers: list[str] | None,
    stop: str | None,
    length_penalty: float,
    width: int,
    can_batch: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(language_model_of(model).__dict__, "can_batch", can_batch)
    max_tokens = 8
    for prompt in (PROMPT, "c"):
        oracle = Oracle(model, prompt, answers, stop, max_tokens)
        found = best(oracle.beam_search(width), width, length_penalty)
        beams = model.beams(
            width=width,
            samples=width,
            constraint=None if answers is None else Constraint(kind="choice", value=answers),
            stop=() if stop is None else stop,
            max_tokens=max_tokens,
            length_penalty=length_penalty,
        )
        assert_is(beams(prompt), found, len(oracle.prompt))


# --- beams and other generators ------------------------------------------------------------------------------


def test_one_beam_equals_greedy_text(llama: LocalModel) -> None:
    for prompt in ("The quick brown", "Hello ther", "def retur"):
        expected = llama.text(max_tokens=12)(prompt)
        state = llama.beams(width=1, max_tokens=12)(prompt)
        assert state == expected
        [[ending]] = state.endings
        assert ending is not None
        # The weight of an incomplete character at the end belongs to no token of the state.
        assert state.weights - ending.logprob == pytest.approx(expected.weights, abs=1e-3)


def test_more_beams_find_a_likelier_sequence_than_one(llama: LocalModel) -> None:
    greedy = llama.text(max_tokens=8)("The quick brown")
    state = llama.beams(width=16, samples=5, max_tokens=8)("The quick brown")
    assert state.shape == (1, 5)
    assert (np.diff(state.weights[0]) <= 0).all()
    assert state.weights[0, 0] > greedy.weights[0, 0]
    assert len(set(state.token_ids[0])) == 5


def test_each_prompt_is_searched_as_if_it_were_alone(llama: LocalModel) -> None:
    beams = llama.beams(width=3, samples=2, max_tokens=6)
    prompts = ["The quick brown", "Hello"]
    state = beams(prompts)
    assert state.shape == (2, 2)
    for batch, prompt in enumerate(prompts):
        alone = beams(prompt)
        assert alone == state[batch, :, :]
        assert alone.weights[0] == pytest.approx(state.weights[batch], abs=1e-4)


def test_a_state_of_several_samples_is_continued_sample_by_sample(llama: LocalModel) -> None:
    state = llama.beams(width=4, samples=3, max_tokens=4)("The quick brown")
    after = llama.beams(width=4, max_tokens=4)(state)
    assert after.shape == (1, 3)
    for sample in range(3):
        alone = llama.beams(width=4, max_tokens=4)(state[sample, :])
        assert alone == after[sample, :]
    assert (after.weights < state.weights).all()
    with pytest.raises(SampleMismatch, match="3 samples"):
        llama.beams(width=4, samples=2)(state)


def test_a_constraint_with_fewer_answers_gives_fewer_samples(model: LocalModel) -> None:
    beams = model.beams(width=8, samples=8, constraint=Constraint(kind="choice", value=["a", "c"]))
    state = beams([PROMPT, "c"])
    assert state.shape == (2, 2)
    assert {sequence[len(PROMPT) :] for sequence in state.texts[0]} == {"a", "c"}


def test_the_weight_includes_the_ending_until_something_follows(model: LocalModel) -> None:
    state = model.beams(width=64, samples=40, max_tokens=3)(PROMPT)
    endings = [ending for ending in state.endings[0] if ending is not None]
    for sample, ending in enumerate(endings):
        assert (ending.logprob < 0) == (ending.reason == "eos")
        without = (state[sample, :] + "c").weights[0, 0]
        assert state.weights[0, sample] == pytest.approx(without + ending.logprob)
    assert {ending.reason for ending in endings} == {"eos", "length"}


def test_a_turn_that_several_tokens_may_end_is_found_once(tmp_path: Path) -> None:
    tokenizer = bare_tokenizer(["a", "b", "c", "ab", "ba"])
    config = small_llama(tokenizer.get_vocab_size()) | {"eos_token_id": [5, 6]}
    model = open_model(str(write_random_model(tmp_path / "model", tokenizer, config)))
    assert language_model_of(model).vocabulary.eos_ids == {5, 6}
    state = model.beams(width=30, samples=30, max_tokens=3)(PROMPT)
    assert sum(ending.reason == "eos" for ending in state.endings[0] if ending) > 3
    assert len(set(state.texts[0])) >= 20
    drawn = [
        (ids[len(PROMPT) :], ending and ending.reason)
        for ids, ending in zip(state.token_ids[0], state.endings[0], strict=True)
    ]
    assert len(set(drawn)) == 30


def test_text_cut_inside_a_token_is_healed(tmp_path: Path, byte_level: Tokenizer) -> None:
    ids = byte_level.encode("The quick return").ids
    model = open_model(str(write_scripted_model(tmp_path / "model", byte_level, chain(ids))))
    for end in range(1, len(" return")):
        state = model.beams(width=3, samples=2)("The quick" + " return"[:end])
        assert str(state[0, :]) == "The quick return"
        assert state.token_ids[0][0] == tuple(ids)


# --- cost and cache ------------------------------------------------------------------------------------------


def count_reads(monkeypatch: pytest.MonkeyPatch, model: LocalModel) -> list[tuple[int, int]]:
    """Return the growing list of the shapes that the model reads from now on, one for each step."""
    calls: list[tuple[int, int]] = []
    language_model = language_model_of(model)
    forward = language_model.forward

    def counting(tokens: mx.array, layers: Any) -> mx.array:
        calls.append((tokens.shape[0], tokens.shape[1]))
        return forward(tokens, layers)

    monkeypatch.setattr(language_model, "forward", counting)
    return calls


def test_a_step_of_the_model_reads_a_token_of_every_beam(llama: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count_reads(monkeypatch, llama)
    _ = language_model_of(llama).can_batch
    calls.clear()
    state = llama.beams(width=5, samples=5, max_tokens=9)("The quick brown fox jumps")
    num_prompt = state.usage.prompt_tokens
    assert [each for each in calls if each[0] == 1] == [(1, num_prompt - 1), (1, 1)]
    assert 1 <= len(calls) - 2 <= 8
    assert all(rows <= 5 and num == 1 for rows, num in calls[2:])


def test_a_cached_prompt_is_not_read_again(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    beams = model.beams(width=4, samples=4, max_tokens=6)
    first = beams(PROMPT * 2)
    assert first.usage.cached_tokens + first.usage.prefilled_tokens == first.usage.prompt_tokens
    assert beams(PROMPT * 2).usage.prefilled_tokens == 1


@pytest.mark.parametrize("can_batch", [True, False])
@pytest.mark.parametrize("stop", [(), ("ba", "cc", "aa")])
def test_continuing_a_beam_reads_only_its_last_token(
    folder: Path, can_batch: bool, stop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(str(folder))
    monkeypatch.setitem(language_model_of(model).__dict__, "can_batch", can_batch)
    state = model.beams(width=6, samples=6, max_tokens=7, stop=stop)(PROMPT)
    assert ("stop" in {ending.reason for ending in state.endings[0] if ending}) == bool(stop)
    for sample, ending in enumerate(state.endings[0]):
        after = model.text(max_tokens=1)(state[sample, :])
        # If a stop string cuts a token, the rest of it is another token.
        assert ending is not None
        assert after.usage.prefilled_tokens <= (2 if ending.reason == "stop" else 1)
    again = model.beams(width=6, max_tokens=3)(state)
    assert again.usage.prefilled_tokens <= 12


def test_afterwards_the_cache_holds_the_prompt_and_the_found_beams(llama: LocalModel) -> None:
    cache = engine_of(llama).cache
    prompt = "The quick brown fox jumps over the lazy dog"
    llama.text(max_tokens=1)(prompt)
    before, num_before = cache.num_bytes, cache.num_tokens
    a_token = language_model_of(llama).kv_bytes_per_token
    never = Constraint(kind="regex", value="[a-z ]{40}")
    state = llama.beams(width=6, samples=4, max_tokens=9, constraint=never)(prompt)
    num_prompt = state.usage.prompt_tokens
    read = {ids[:end] for ids in state.token_ids[0] for end in range(num_prompt + 1, len(ids))}
    assert cache.reserved_bytes == 0
    assert cache.num_tokens == num_before + len(read)
    assert cache.num_bytes == before + len(read) * a_token


def test_displaced_beams_are_forgotten(llama: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = engine_of(llama).cache
    forgotten: list[int] = []
    drop = cache.drop

    def watched(token_ids: Any, start: int) -> None:
        forgotten.append(len(token_ids) - start)
        drop(token_ids, start)

    monkeypatch.setattr(cache, "drop", watched)
    for prompt in ("The quick brown fox", "To be or not", "Hello there", "One two three"):
        llama.text(max_tokens=1)(prompt)
        before, num_before = cache.num_bytes, cache.num_tokens
        constraint = Constraint(kind="regex", value="[abc]{2}(x|[def]{2}(y|[ghi]{3}(z|[jkl]{2})))")
        state = llama.beams(width=12, samples=3, max_tokens=12, constraint=constraint, length_penalty=3.0)(prompt)
        read = {ids[:end] for ids in state.token_ids[0] for end in range(state.usage.prompt_tokens + 1, len(ids))}
        assert cache.num_tokens == num_before + len(read)
        assert cache.num_bytes == before + len(read) * language_model_of(llama).kv_bytes_per_token
    assert sum(forgotten) > 4


def test_the_cached_beams_are_right(model: LocalModel) -> None:
    """The logits after the cached positions equal those of a model that reads the beam alone."""
    engine = engine_of(model)
    state = model.beams(width=5, samples=5, max_tokens=16, constraint=Constraint(kind="regex", value="[abc]{40}"))(
        PROMPT
    )
    for ids in state.token_ids[0]:
        num_kept = engine.cache.rewind_to(ids)
        assert num_kept == len(ids) - 1
        after = engine.model.forward(mx.array([ids[num_kept:]]), engine.cache.branch.layers)
        engine.cache.branch.extend(ids[num_kept:])
        alone = engine.model.forward(mx.array([ids]), engine.model.new_layers())
        assert mx.allclose(after, alone, atol=1e-3)


def test_the_cache_knows_the_log_probability_of_each_token(llama: LocalModel) -> None:
    engine = engine_of(llama)
    state = llama.beams(width=3, samples=2, max_tokens=5)("The quick brown")
    for sample in range(2):
        ids, start = state.token_ids[0][sample], state.usage.prompt_tokens
        notes = engine.cache.tokens(ids, engine.model.vocabulary.bytes, start)
        assert [each.id for each in notes] == list(ids[start : start + len(notes)])
        assert len(notes) >= len(ids) - start - 1
        assert all(each.logprob is not None and each.logprob < 0 for each in notes)


@pytest.mark.parametrize("number", [1, 4])
def test_a_failed_batch_is_read_one_beam_after_another(
    llama: LocalModel, number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    beams = llama.beams(width=4, samples=4, max_tokens=8)
    expected = beams("The quick brown")
    language_model = language_model_of(llama)
    forward = language_model.forward
    calls = itertools.count(1)

    def breaking(tokens: mx.array, layers: Any) -> mx.array:
        if tokens.shape[0] > 1 and next(calls) >= number:
            raise RuntimeError("[malloc] on purpose")
        return forward(tokens, layers)

    monkeypatch.setattr(language_model, "forward", breaking)
    state = beams("The quick brown")
    assert state == expected
    assert state.weights == pytest.approx(expected.weights, abs=1e-3)
    (message,) = caplog.messages
    assert "on purpose" in message


def test_without_memory_for_a_batch_the_beams_are_read_one_after_another(
    random_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roomy = open_model(str(random_llama))
    expected = roomy.beams(width=8, samples=4, max_tokens=8)("The quick brown")
    limit_bytes = 4 * language_model_of(roomy).num_bytes_at(300)
    tight = open_model(str(random_llama), CacheOptions(limit_bytes=limit_bytes))
    assert language_model_of(tight).can_batch
    calls = count_reads(monkeypatch, tight)
    state = tight.beams(width=8, samples=4, max_tokens=8)("The quick brown")
    assert state.texts == expected.texts
    assert all(rows == 1 for rows, _ in calls)


def test_after_an_interruption_the_prompt_is_kept_and_new_requests_work(
    llama: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    language_model, cache = language_model_of(llama), engine_of(llama).cache
    forward = language_model.forward

    def interrupted(tokens: mx.array, layers: Any) -> mx.array:
        if tokens.shape[0] > 1:
            raise KeyboardInterrupt
        return forward(tokens, layers)

    _ = language_model.can_batch
    with monkeypatch.context() as patch:
        patch.setattr(language_model, "forward", interrupted)
        with pytest.raises(KeyboardInterrupt):
            llama.beams(max_tokens=8)("The quick brown")
    assert cache.reserved_bytes == 0
    assert llama.beams(max_tokens=8)("The quick brown").usage.prefilled_tokens == 1


# --- errors --------------------------------------------------------------------------------------------------

BAD: list[tuple[Callable[[LocalModel], Any], type[Exception], str]] = [
    (lambda model: model.beams(width=0), BadRequestError, "1 to 64 beams, not 0"),
    (lambda model: model.beams(width=65), BadRequestError, "not 65"),
    (lambda model: model.beams(width=2, samples=3), BadRequestError, "Of 2 beams 1 to 2"),
    (lambda model: model.beams()("a", samples=5), BadRequestError, "greater width"),
    (lambda model: model.beams(length_penalty=math.nan), BadRequestError, "not nan"),
    (lambda model: model.beams(max_tokens=0), BadRequestError, r"`\$\.max_tokens`"),
    (lambda model: model.beams(constraint=Constraint(kind="regex", value="a(")), ConstraintInvalidError, "unclosed"),
    (lambda model: model.beams()(""), BadRequestError, "no text to go on from"),
    (lambda model: model.beams()("a b " * 9999), ContextOverflowError, "context of the model holds 4,096"),
]


@pytest.mark.parametrize(("ask", "error", "words"), BAD)
def test_bad_input_is_refused_with_a_clear_message(
    llama: LocalModel, ask: Callable[[LocalModel], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ask(llama)


def test_a_search_is_refused_while_the_engine_answers_another_request(llama: LocalModel) -> None:
    engine = engine_of(llama)
    ticket = Ticket(1)
    engine.add(Generate(request_id=1, text="Hello", max_tokens=5), ticket)
    engine.step()
    with pytest.raises(RuntimeError, match="something else"):
        llama.beams()("Hello")
    ticket.cancel()
    while engine.is_busy:
        engine.step()
    assert llama.beams(max_tokens=2)("Hello").shape == (1, 1)
