"""Drafts: an answer with guesses equals the answer without them, and rejected guesses leave no trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.architectures import small_gemma3, small_lfm2, small_llama, write_random_model
from tests.driver import StdioWorker
from tests.long import in_long_runs
from tests.models import write_random_llama
from tests.trials import TRIALS
from tests.worker.answers.chance import Chance, Draws
from tests.worker.answers.hooked import finished, on_screen
from tests.worker.rounding import agree
from worker.answers.hook_chain import Hook
from worker.answers.hook_folder import HookFolder
from worker.cache.prompt_cache import PromptCache
from worker.decoding.draft import DraftModel
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.protocol import Chunk, Constraint, Event, Failed, Finished, Forked, Generate, Sampling
from worker.requests.engine import Engine
from worker.requests.request import Ticket

PLENTY = 1 << 30
PROMPT = list(range(40, 80))
CONSTRAINTS: dict[str, Constraint | None] = {
    "free": None,
    "regex": Constraint(kind="regex", value="([a-z]{2,5} )*end"),
    "json": Constraint(
        kind="json_schema",
        value={"type": "object", "properties": {"leaf": {"type": "string"}}, "required": ["leaf"]},
    ),
}


def read(folder: Path) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(folder)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    return model


@pytest.fixture(scope="module")
def llama(random_llama: Path) -> LanguageModel:
    return read(random_llama)


@pytest.fixture(scope="module")
def other_llama(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> LanguageModel:
    """A model with the same vocabulary but other weights, whose guesses are mostly wrong."""
    config = small_llama(byte_level.get_vocab_size()) | {"num_hidden_layers": 1, "hidden_size": 48}
    return read(write_random_model(tmp_path_factory.mktemp("models") / "other", byte_level, config))


def engine_of(
    model: LanguageModel, draft: LanguageModel | None = None, given: Mapping[str, Callable[..., Hook]] | None = None
) -> Engine:
    drafts = None if draft is None else DraftModel(draft, PromptCache(draft.new_layers, PLENTY))
    return Engine(
        model,
        PromptCache(model.new_layers, PLENTY),
        HookFolder(given=given, slow_s=math.inf),
        drafts,
        looks_ahead=False,
    )


def ask(engine: Engine, **fields: Any) -> list[Event]:
    asked: dict[str, Any] = {"token_ids": PROMPT, "max_tokens": 40, **fields}
    engine.add(Generate(request_id=1, **asked), Ticket(1))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    return events


def origins(events: list[Event]) -> list[str]:
    return [token.origin for event in events if isinstance(event, Chunk) for token in event.tokens]


def is_same(model: LanguageModel, one: list[Event], other: list[Event], **fields: Any) -> bool:
    """Return whether two answers to the same request are equal within rounding."""
    asked: dict[str, Any] = {"token_ids": PROMPT, **fields}
    command = Generate(request_id=1, **asked)
    return agree(model, command, finished(one).choices, finished(other).choices)


# --- a draft model ------------------------------------------------------------------------------------------------


_CHANGED: tuple[dict[str, Any], ...] = (
    {},
    {"logit_bias": {12: 4.0, 40: -100.0}},
    {"presence_penalty": 1.5, "penalty_covers": "new"},
)


@pytest.mark.parametrize("form", CONSTRAINTS)
@pytest.mark.parametrize("seed", [0, *in_long_runs([1, 2])])
def test_an_answer_with_a_draft_model_equals_the_one_without(
    llama: LanguageModel, other_llama: LanguageModel, form: str, seed: int
) -> None:
    for temperature in (0.0, 1.0):
        asked: dict[str, Any] = {
            "constraint": CONSTRAINTS[form],
            "sampling": Sampling(temperature=temperature, seed=seed, **_CHANGED[seed]),
            "token_ids": PROMPT[seed:],
        }
        plain = ask(engine_of(llama), **asked)
        for draft in (llama, other_llama):
            guessed = ask(engine_of(llama, draft), **asked)
            assert finished(guessed).usage.draft_tokens > 0
            assert is_same(llama, plain, guessed, **asked)


def test_answers_sampled_with_a_draft_equal_those_without(llama: LanguageModel) -> None:
    # This implies the same distribution: with the same seed the answer does not depend on the guesses.
    plain, guessing = engine_of(llama), engine_of(llama, llama)
    num_guessed = num_right = 0
    for seed in range(60):
        asked: dict[str, Any] = {"sampling": Sampling(temperature=0.4, seed=seed), "max_tokens": 6}
        guessed = ask(guessing, **asked)
        assert is_same(llama, guessed, ask(plain, **asked), **asked)
        num_guessed += finished(guessed).usage.draft_tokens
        num_right += finished(guessed).usage.accepted_tokens
    assert 0 < num_right < num_guessed


def test_the_model_as_its_own_draft_always_guesses_right(llama: LanguageModel) -> None:
    events = ask(engine_of(llama, llama))
    usage = finished(events).usage
    assert usage.draft_tokens == usage.accepted_tokens >= 30
    assert origins(events).count("draft") == usage.accepted_tokens
    assert usage.generated_tokens == 40


@pytest.mark.parametrize("form", ["regex", "json"])
def test_guesses_obey_the_constraint(llama: LanguageModel, other_llama: LanguageModel, form: str) -> None:
    described = CONSTRAINTS[form]
    assert described is not None
    constraint = llama.constraints.new(described)
    draft = DraftModel(other_llama, PromptCache(other_llama.new_layers, PLENTY))
    sequence = list(PROMPT)
    for _ in range(5):
        before = constraint.mask().copy()
        guesses = draft.guess(sequence, 7, constraint)
        assert np.array_equal(constraint.mask(), before)
        assert guesses
        assert constraint.consume(guesses)
        sequence += guesses


@pytest.mark.parametrize("seed", [0, *in_long_runs(range(1, 4))])
def test_hooks_work_with_drafts(llama: LanguageModel, other_llama: LanguageModel, seed: int) -> None:
    all_events: list[list[Event]] = []
    all_draws: list[Draws] = []
    for draft in (None, llama, other_llama):
        draws = Draws()
        all_draws.append(draws)
        hooks = {"chance": lambda draws=draws: Chance(seed, draws, len(llama.vocabulary))}
        sampling = Sampling(temperature=1.0, seed=seed)
        all_events.append(ask(engine_of(llama, draft, hooks), hooks=["chance"], sampling=sampling))
    if any(isinstance(event, Forked) for event in all_events[0]):
        # The request ids of forks, and with them their seeds, depend on which answer forks first.
        assert all(isinstance(events[-1], Finished) for events in all_events)
        assert [made[0] for made in all_draws[0].made[:5]] == [made[0] for made in all_draws[1].made[:5]]
        return
    texts = {finished(events).choices[0].text for events in all_events}
    assert len(texts) == 1
    assert {on_screen(events)[0].text for events in all_events} == texts


def test_the_draft_model_reads_only_new_tokens(llama: LanguageModel, other_llama: LanguageModel) -> None:
    engine = engine_of(llama, other_llama)
    answer = finished(ask(engine)).choices[0]
    draft = engine._draft_model  # pyright: ignore[reportPrivateUsage]
    assert draft is not None
    held = list(draft.cache.branch.token_ids)
    assert held[: len(PROMPT)] == PROMPT
    again = finished(ask(engine, token_ids=PROMPT + answer.token_ids + [77, 78]))
    assert again.usage.prefilled_tokens <= 4
    assert list(draft.cache.branch.token_ids)[: len(held) - 8] == held[: len(held) - 8]


def test_rejected_guesses_are_not_cached(llama: LanguageModel, other_llama: LanguageModel) -> None:
    engine = engine_of(llama, other_llama)
    for number in range(6):
        answer = finished(ask(engine, sampling=Sampling(temperature=1, seed=number), max_tokens=5 + number))
        asked: dict[str, Any] = {"token_ids": PROMPT + answer.choices[0].token_ids, "max_tokens": 6}
        assert is_same(llama, ask(engine, **asked), ask(engine_of(llama), **asked), **asked)
    cache = engine.cache
    position_bytes = llama.kv_bytes_per_token
    assert cache.num_bytes <= (cache.num_tokens + 2 * 256 + 16) * position_bytes


# --- the tree as a draft ------------------------------------------------------------------------------------------


def test_a_sibling_with_the_same_text_serves_as_a_draft(llama: LanguageModel) -> None:
    engine = engine_of(llama)
    first = ask(engine)
    again = ask(engine, draft="tree")
    assert is_same(llama, again, first)
    usage = finished(again).usage
    assert usage.accepted_tokens >= 30
    assert usage.accepted_tokens == usage.draft_tokens
    assert finished(ask(engine)).usage.draft_tokens == 0


def test_an_answer_to_an_edited_question_serves_as_a_draft(llama: LanguageModel) -> None:
    engine = engine_of(llama)
    said = [*range(100, 160)]
    # The question that follows differs from this one in one token.
    engine.add(Generate(request_id=1, token_ids=[*PROMPT, *said], max_tokens=1), Ticket(1))
    while engine.is_busy:
        engine.step()
    edited = [*PROMPT[:20], 99, *PROMPT[21:]]
    [*_, text] = ["".join(chr(number + 300) for number in said)]
    assert text
    guesses = engine.cache.beside(edited, 1000)
    assert list(guesses[0])[-len(said) :][:50] == said[:50]


@pytest.mark.parametrize("form", CONSTRAINTS)
def test_an_answer_with_the_tree_as_draft_equals_the_one_without(llama: LanguageModel, form: str) -> None:
    for seed in range(4):
        asked: dict[str, Any] = {
            "constraint": CONSTRAINTS[form],
            "sampling": Sampling(temperature=1.0, seed=seed),
            "token_ids": PROMPT * 3,
        }
        engine = engine_of(llama)
        for other in range(seed):
            ask(engine, **{**asked, "sampling": Sampling(temperature=1.0, seed=other)})
        plain, guessed = ask(engine_of(llama), **asked), ask(engine, **asked, draft="tree")
        assert is_same(llama, plain, guessed, **asked)


# --- without drafts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gemma3", "lfm2"])
def test_a_model_whose_layers_cannot_be_trimmed_answers_without_drafts(
    tmp_path: Path, byte_level: Tokenizer, random_llama: Path, name: str
) -> None:
    config = {"gemma3": lambda: small_gemma3(window=12), "lfm2": small_lfm2}[name]()
    folder = write_random_model(tmp_path / name, byte_level, config)
    model = read(folder)
    plain, guessed = (ask(engine_of(model), draft=draft, max_tokens=30) for draft in ("off", "tree"))
    assert is_same(model, plain, guessed)
    with StdioWorker() as worker:
        loaded = worker.result("load_model", model=str(folder), draft_model=str(random_llama))
        assert (loaded["type"], loaded["draft_model"]) == ("model_loaded", None)
        assert "answers without a draft model" in loaded["draft_refused"]
        loaded = worker.result("load_model", model=str(random_llama), draft_model=str(folder))
        assert loaded["draft_model"] is None
        assert "can't be a draft model" in loaded["draft_refused"]


def test_a_draft_model_is_loaded_and_used_over_the_protocol(
    tmp_path: Path, byte_level: Tokenizer, sentencepiece: Tokenizer, random_llama: Path
) -> None:
    other = write_random_llama(tmp_path / "other", sentencepiece)
    with StdioWorker() as worker:
        failed = worker.result("load_model", model=str(random_llama), draft_model=str(other))
        assert (failed["type"], failed["kind"]) == ("failed", "bad_request")
        assert "different vocabulary" in failed["message"]
        failed = worker.result("load_model", model=str(random_llama), draft_model="no-such-model")
        assert failed["kind"] == "model_not_found"
        loaded = worker.result("load_model", model=str(random_llama), draft_model=str(random_llama))
        assert (loaded["draft_model"], loaded["draft_refused"]) == (str(random_llama), "")
        stages = {event["stage"] for event in worker.events if event["type"] == "model_loading"}
        assert any(stage.startswith("draft model: ") for stage in stages)
        prompt = {"messages": [{"role": "user", "content": "Hello there"}]}
        answers = [worker.result("generate", max_tokens=30, draft=draft, **prompt) for draft in ("off", "auto")]
        assert answers[0]["choices"][0]["text"] == answers[1]["choices"][0]["text"]
        assert answers[0]["usage"]["draft_tokens"] == 0
        assert answers[1]["usage"]["accepted_tokens"] > 20
        worker.load(random_llama)
        failed = worker.result("generate", draft="model", **prompt)
        assert (failed["type"], failed["kind"]) == ("failed", "bad_request")


def test_changing_only_the_draft_model_keeps_the_cache(
    tmp_path: Path, byte_level: Tokenizer, sentencepiece: Tokenizer, random_llama: Path
) -> None:
    small = write_random_llama(tmp_path / "small", byte_level, layers=1, seed=1)
    unfit = write_random_llama(tmp_path / "unfit", sentencepiece)
    prompt = {"messages": [{"role": "user", "content": "Hello there"}]}
    with StdioWorker() as worker:

        def num_read() -> int:
            return worker.result("generate", max_tokens=4, **prompt)["usage"]["prefilled_tokens"]

        worker.load(random_llama)
        assert num_read() > 1
        loaded = worker.result("load_model", model=str(random_llama), draft_model=str(small))
        assert (loaded["type"], loaded["draft_model"]) == ("model_loaded", str(small))
        assert num_read() == 1
        for draft in (str(unfit), str(tmp_path / "nothing")):
            failed = worker.result("load_model", model=str(random_llama), draft_model=draft)
            assert (failed["type"], failed["still_loaded"]) == ("failed", True)
        assert worker.result("generate", max_tokens=30, draft="model", **prompt)["usage"]["draft_tokens"] > 0
        loaded = worker.result("load_model", model=str(random_llama))
        assert (loaded["type"], loaded["draft_model"]) == ("model_loaded", None)
        assert num_read() == 1
        assert worker.result("generate", max_tokens=30, **prompt)["usage"]["draft_tokens"] == 0
        # A change of the model or of its cache loads everything; a refusal then leaves nothing loaded.
        assert not worker.result("load_model", model=str(small), draft_model=str(unfit))["still_loaded"]
        assert worker.result("generate", **prompt)["kind"] == "model_not_loaded"


def test_requesting_a_draft_model_when_none_is_loaded_is_refused(llama: LanguageModel) -> None:
    [event] = ask(engine_of(llama), draft="model")
    assert isinstance(event, Failed)
    assert event.kind == "bad_request"
