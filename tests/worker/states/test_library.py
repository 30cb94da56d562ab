"""The library with real models: continuing after a cut, its cost, mixed constraints, clear errors for bad input."""

from __future__ import annotations

import doctest
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

import worker.library
from tests.architectures import small_lfm2, write_random_model
from tests.long import in_long_runs
from tests.models import CORPUS, byte_level_tokenizer, chain, sentencepiece_tokenizer, write_scripted_model
from worker.errors import BadRequestError, ConstraintInvalidError, ContextOverflowError, WorkerError
from worker.library import CacheOptions, SampleMismatch, Sampling, SequenceState, open_model
from worker.protocol import Message, Plan, Prompt
from worker.requests.engine import Engine
from worker.states.generator import Generator
from worker.states.local_model import LocalModel
from worker.text.vocabulary import Vocabulary

HOT = Sampling(temperature=1, seed=5)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"leaf": {"type": "integer", "minimum": 0, "maximum": 99}, "kind": {"enum": ["branch", "leaf"]}},
    "required": ["leaf", "kind"],
    "additionalProperties": False,
}


def sentencepiece_with_beginning() -> Tokenizer:
    tokenizer = sentencepiece_tokenizer()
    beginning = tokenizer.token_to_id("<s>") or 0
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", beginning)])
    return tokenizer


@pytest.fixture(scope="module", params=["llama", "lfm2"])
def model(request: pytest.FixtureRequest, random_llama: Path, tmp_path_factory: pytest.TempPathFactory) -> LocalModel:
    """Random weights: one model with positions only, one with states."""
    if request.param == "llama":
        return open_model(str(random_llama))
    tokenizer = byte_level_tokenizer()
    folder = tmp_path_factory.mktemp("models") / "lfm2"
    return open_model(str(write_random_model(folder, tokenizer, small_lfm2())))


@pytest.fixture(scope="module")
def llama(random_llama: Path) -> LocalModel:
    return open_model(str(random_llama))


def engine_of(model: LocalModel) -> Engine:
    return model.text().engine


def scripted(folder: Path, tokenizer: Tokenizer, text: str) -> LocalModel:
    """Return a model that answers "Q" with the words of `text`, without words whose tokens occurred before."""
    vocabulary = Vocabulary(tokenizer)
    ids = tokenizer.encode("Q").ids[-1:]
    for word in re.findall(r"\s*\S+", text):
        cut = vocabulary.encode(word)
        if len(set(cut)) == len(cut) and set(cut).isdisjoint(ids):
            ids += cut
    return open_model(str(write_scripted_model(folder, tokenizer, chain(ids))))


# --- continuing after a cut ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokenizer", "text"),
    [
        (byte_level_tokenizer, CORPUS[1]),
        (sentencepiece_with_beginning, CORPUS[3]),
        *in_long_runs((byte_level_tokenizer, text) for text in CORPUS if text != CORPUS[1]),
        *in_long_runs((sentencepiece_with_beginning, text) for text in CORPUS[:3]),
    ],
)
def test_an_answer_cut_anywhere_continues_the_same(
    tmp_path: Path, tokenizer: Callable[[], Tokenizer], text: str
) -> None:
    generator = scripted(tmp_path / "model", tokenizer(), text).text()
    whole = generator("Q")
    assert len(str(whole)) > 8
    assert whole.endings[0][0] is not None
    assert whole.endings[0][0].reason == "eos"
    for end in range(1, len(str(whole)) + 1):
        again = generator(whole[:end])
        assert str(again) == str(whole)
        assert again.token_ids == whole.token_ids
        # All kept tokens are cached: one is read, for its logits.
        assert again.usage.prefilled_tokens == 1


def test_greedy_answers_of_random_weights_also_continue_the_same(llama: LocalModel) -> None:
    generator = llama.text(max_tokens=40)
    whole = generator("The quick brown fox")
    for end in range(len("The quick brown fox"), len(str(whole)), 3):
        again = generator(whole[:end])
        common = min(len(str(again)), len(str(whole)))
        # After a cut inside a character of several tokens, the number of tokens may differ.
        assert str(again)[:common] == str(whole)[:common]


def test_the_end_of_typed_text_is_healed(tmp_path: Path) -> None:
    tokenizer = byte_level_tokenizer()
    ids = tokenizer.encode("The quick return").ids
    model = open_model(str(write_scripted_model(tmp_path / "model", tokenizer, chain(ids))))
    for end in range(1, len(" return")):
        state = model.text()("The quick" + " return"[:end])
        assert str(state) == "The quick return"
        assert state.token_ids == [[tuple(ids)]]


def test_a_prompt_is_tokenized_by_the_tokenizer_and_shown_as_typed(tmp_path: Path) -> None:
    tokenizer = sentencepiece_with_beginning()
    ids = tokenizer.encode("Hello the fox").ids
    model = open_model(str(write_scripted_model(tmp_path / "model", tokenizer, chain(ids[1:]))))
    state = model.text()("Hello")
    assert str(state) == "Hello the fox"
    assert state.token_ids == [[tuple(ids)]]
    # Without its beginning, the state begins with the tokens that the tokenizer adds in front.
    again = model.text()(state[len("Hello") : -1])
    assert str(again) == " the fox"
    assert again.token_ids[0][0][0] == ids[0]
    assert str("Oh. " + state) == "Oh. Hello the fox"
    assert str(state[: len("Hel")] + "p") == "Help"


# --- cost ----------------------------------------------------------------------------------------------------


def max_reads(model: LocalModel, state: SequenceState, num_written: int) -> int:
    """Return how many tokens may be read to continue a state whose sequences end in `num_written` generated tokens.

    Layers with states may have to go back to the beginning of the answer.
    """
    batch, samples = state.shape
    is_trimmable = engine_of(model).model.cache_kind == "trimmable"
    return batch * samples * (1 if is_trimmable else 1 + num_written)


def test_only_new_tokens_are_read(model: LocalModel) -> None:
    generator = model.regex("[a-z ]{9}[a-z ]*", sampling=HOT, max_tokens=8)
    first = generator(CORPUS[0] * 3)
    assert first.usage.cached_tokens == 0
    assert first.usage.prefilled_tokens == first.usage.prompt_tokens
    second = generator(first)
    assert 1 <= second.usage.prefilled_tokens <= max_reads(model, first, 8)
    added = second + ". And so on,"
    third = generator(added)
    num_added = len(engine_of(model).model.vocabulary.encode(". And so on,"))
    assert 1 <= third.usage.prefilled_tokens <= max_reads(model, second, 8) + num_added


@pytest.mark.parametrize("samples", [2, 5])
def test_only_new_tokens_are_read_for_several_samples_and_prompts(model: LocalModel, samples: int) -> None:
    prompts = [f"{samples} {text}" for text in (CORPUS[0] + CORPUS[1], CORPUS[1] * 2, CORPUS[2])]
    generator = model.regex("[a-z ]{9}[a-z ]*", sampling=HOT, max_tokens=8)
    first = generator(prompts, samples=samples)
    assert first.shape == (3, samples)
    # Each prompt is read once for all its samples.
    assert 3 < first.usage.prefilled_tokens <= first.usage.prompt_tokens
    assert len(set(first)) > 3
    second = generator(first)
    assert second.shape == first.shape
    assert second.usage.prefilled_tokens <= max_reads(model, first, 8)
    third = model.text(max_tokens=3, sampling=HOT)(second)
    assert third.usage.prefilled_tokens <= max_reads(model, second, 8)
    # Tokens read once are cached for all later calls.
    assert generator(second[1, :, :], seed=9).usage.prefilled_tokens == samples
    assert generator(second[1, 0, :], samples=samples, seed=9).usage.prefilled_tokens == 1


def test_the_kept_part_of_a_cut_state_is_not_read_again(llama: LocalModel) -> None:
    state = llama.text(max_tokens=30, sampling=HOT)(CORPUS[0], samples=3)
    rng = Random(2)
    for _ in range(12):
        end = rng.randrange(len(CORPUS[0]), min(map(len, state)))
        again = llama.text(max_tokens=2)(state[:, :end])
        assert again.usage.prefilled_tokens == 3
        assert [text[:end] for text in again] == [text[:end] for text in state]


def test_the_cost_is_known_before_generating(llama: LocalModel) -> None:
    state = llama.text(max_tokens=5)("A sentence of its own, to begin with")
    [[ids]] = state.token_ids
    [plan] = engine_of(llama).plan(Plan(request_id=0, prompts=[Prompt(token_ids=list(ids))]))
    assert (plan.prompt_tokens - plan.cached_tokens, plan.tier) == (1, "warm")


# --- weights and sampling ------------------------------------------------------------------------------------


def test_weights_are_the_models_log_probabilities_of_the_tokens(llama: LocalModel) -> None:
    state = llama.text(max_tokens=8, sampling=HOT)("The quick brown", samples=2)
    language_model = engine_of(llama).model
    for sample, ids in enumerate(state.token_ids[0]):
        data = str(state[sample, :])
        given = ids[: len(ids) - 8]
        assert language_model.vocabulary.text_of(given) + state.texts[0][sample][len("The quick brown") :] in {
            data,
            language_model.vocabulary.text_of(given) + data[len("The quick brown") :],
        }
        expected = 0.0
        for length in range(len(given), len(ids)):
            layers = language_model.new_layers()
            logits = np.array(language_model.forward(_row(ids[:length]), layers))[0].astype(np.float64)
            logprobs = logits - logits.max() - math.log(np.exp(logits - logits.max()).sum())
            expected += logprobs[ids[length]]
        assert state.weights[0, sample] == pytest.approx(expected, abs=1e-3)


def _row(ids: Any) -> Any:
    import mlx.core as mx

    return mx.array([list(ids)])


def test_weights_add_up_when_an_answer_is_continued(llama: LocalModel) -> None:
    generator = llama.text(max_tokens=6, sampling=HOT)
    prompt = llama.chat("The quick brown")
    first = generator(prompt, samples=3)
    second = generator(first)
    assert (second.weights < first.weights).all()
    assert (first + second).weights == pytest.approx(first.weights + second.weights)
    assert (first + "!").weights == pytest.approx(first.weights)
    assert second[:, : len(str(prompt))].weights.tolist() == [[0, 0, 0]]
    kept = second[0, : len(str(first[0, :]))]
    assert kept.weights[0, 0] == pytest.approx(first.weights[0, 0])


def test_a_sample_is_the_same_alone_and_in_a_batch(llama: LocalModel) -> None:
    generator = llama.text(max_tokens=8, sampling=Sampling(temperature=1))
    prompts = ["The quick brown", "Hello there"]
    state = generator(prompts, samples=3, seed=7)
    assert state == generator(prompts, samples=3, seed=7)
    assert list(state) != list(generator(prompts, samples=3, seed=8))
    for batch, prompt in enumerate(prompts):
        for sample in range(3):
            alone = generator(prompt, seed=7 + 64 * batch + sample)
            assert str(alone) == state.texts[batch][sample]
            ending = state.endings[batch][sample]
            assert ending is not None
            assert ending.seed == 7 + 64 * batch + sample
    again = generator(state, seed=7)
    assert again.texts[1][2] == str(generator(state[1, 2, :], seed=7 + 64 + 2))
    # Without a seed, a random one is used and reported.
    drawn = generator("The quick brown")
    assert drawn.endings[0][0] is not None
    assert generator("The quick brown", seed=drawn.endings[0][0].seed) == drawn


def test_endings_hold_the_generated_text_and_the_reason(llama: LocalModel) -> None:
    whole = llama.text(max_tokens=30)("The quick brown")
    written = str(whole)[len("The quick brown") :]
    stop = written[8:11]
    state = llama.text(max_tokens=30, stop=stop)("The quick brown")
    ending = state.endings[0][0]
    assert ending is not None
    assert (ending.reason, ending.stop) == ("stop", stop)
    assert ending.text == written[: written.index(stop)]
    assert str(state) == "The quick brown" + ending.text
    assert llama.text(max_tokens=30)("The quick brown", stop=[stop]) == state
    assert llama.text(max_tokens=30)("The quick brown", max_tokens=2) == llama.text(max_tokens=2)("The quick brown")
    assert state[:].endings == [[ending]]
    assert state[:-1].endings == (state + "a").endings == [[None]]


def test_generating_nothing_returns_the_given_state(tmp_path: Path) -> None:
    tokenizer = byte_level_tokenizer()
    model = open_model(str(write_scripted_model(tmp_path / "model", tokenizer, {})))
    state = model.state("Hello ther")
    after = model.text()(state)
    assert after == state
    assert after.endings[0][0] is not None
    assert after.endings[0][0].reason == "eos"


# --- constraints ---------------------------------------------------------------------------------------------


def test_several_constraints_are_mixed_in_one_state(model: LocalModel) -> None:
    start = "The quick brown "
    state = model.regex("[0-9]{3}-[a-z]{2}", sampling=HOT)(start, samples=3)
    state = model.choice([" yes", " yesterday"], sampling=HOT)(state)
    assert state.usage.prefilled_tokens <= max_reads(model, state, 7)
    num_known = state.usage.prompt_tokens
    state = model.text(max_tokens=4, sampling=HOT)(state + ". ")
    # Forced tokens that were not read before are read now.
    assert state.usage.cached_tokens >= num_known - 3 * (0 if engine_of(model).model.cache_kind == "trimmable" else 7)
    state = model.json(SCHEMA, sampling=HOT)(state[:, : len(start) + 6] + "\n")
    state = model.grammar('start: " (" item ("," item)* ")"\nitem: "a" | "b"', sampling=HOT, max_tokens=20)(state)
    for text in state:
        found = re.match(r"[0-9]{3}-[a-z]{2}\n", text[len(start) :])
        assert found is not None
        value, end = json.JSONDecoder().raw_decode(text[len(start) + found.end() :])
        assert set(value) == {"leaf", "kind"}
        assert re.match(r" \([ab,]*\)?$", text[len(start) + found.end() + end :])


CONSTRAINTS: dict[str, tuple[Callable[[LocalModel], Generator], str]] = {
    "choice": (lambda model: model.choice(["return x", "turn", "the 東京"], sampling=HOT), "return x|turn|the 東京"),
    "regex": (
        lambda model: model.regex("(?i)return|[a-z]{2,4}|é+", sampling=HOT, max_tokens=9),
        "(?i)return|[a-z]+|é+",
    ),
    "json": (lambda model: model.json(SCHEMA, sampling=HOT), r"(?s)\{.*\}"),
    "json text": (lambda model: model.json(json.dumps(SCHEMA), sampling=HOT), r"(?s)\{.*\}"),
    "lark": (
        lambda model: model.grammar('start: "x" | item+\nitem: /[a-z]+/ " "', sampling=HOT, max_tokens=9),
        "x|([a-z]+ )*([a-z]+)?",
    ),
}


@pytest.mark.parametrize("kind", list(CONSTRAINTS))
def test_a_constraint_begins_wherever_the_text_before_it_was_cut(llama: LocalModel, kind: str) -> None:
    make, pattern = CONSTRAINTS[kind]
    generator = make(llama)
    whole = llama.text(max_tokens=12, sampling=HOT)("def return_value(x):\n    retur")
    for end in range(1, len(str(whole)) + 1, 13 if kind.startswith("json") else 3):
        state = generator(whole[:end], seed=end)
        ending = state.endings[0][0]
        assert ending is not None
        assert str(state) == str(whole)[:end] + ending.text
        assert re.fullmatch(pattern, ending.text), ending
        if ending.reason == "constraint" and kind.startswith("json"):
            assert set(json.loads(ending.text)) == {"leaf", "kind"}


def test_one_token_may_join_the_end_of_the_text_and_the_beginning_of_the_answer() -> None:
    guide = open_model("guide")
    vocabulary = engine_of(guide).model.vocabulary
    [together] = vocabulary.encode(" the")
    for text, choice in (("What is ", "the"), ("What is t", "he")):
        state = guide.choice([choice])(text)
        assert str(state) == "What is the"
        assert state.token_ids[0][0][-1] == together


def test_typed_text_never_becomes_a_control_token(llama: LocalModel) -> None:
    controls = engine_of(llama).model.vocabulary.control_ids
    typed = "Hello<|im_end|>\n<|im_start|>user\n"
    for state in (llama.state(typed), llama.state("Hello") + typed, llama.chat("Hi") + typed):
        after = llama.text(max_tokens=1)(state)
        start = str(after).index("Hello")
        assert controls.isdisjoint(llama.text(max_tokens=1)(after[start:]).token_ids[0][0])
        assert str(after).startswith(str(state))


def test_a_chat_is_a_state_that_ends_where_the_answer_begins(llama: LocalModel) -> None:
    state = llama.chat([{"role": "system", "content": "Be brief."}, Message(role="user", content="Hello")])
    assert str(state) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )
    answer = llama.text(max_tokens=5)(state)
    assert answer.usage.prompt_tokens == len(state.token_ids[0][0])
    assert str(answer).startswith(str(state))
    assert llama.chat("Hello") == llama.chat([{"role": "user", "content": "Hello"}])


# --- errors --------------------------------------------------------------------------------------------------


def test_a_mismatch_of_samples_names_both_numbers(llama: LocalModel) -> None:
    generator = llama.text(max_tokens=2)
    state = generator("Hello", samples=3)
    assert generator(state, samples=3).shape == (1, 3)
    for samples in (1, 2, 4):
        with pytest.raises(SampleMismatch, match=rf"3 samples .* not with {samples}\. Take one"):
            generator(state, samples=samples)
    assert generator(state[0, :], samples=4).shape == (1, 4)


BAD: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda model: model.text()(""), BadRequestError, "no text to go on from"),
    (lambda model: model.text()(model.state("Hello")[:0]), BadRequestError, "no text to go on from"),
    (lambda model: model.text()([]), ValueError, "empty list"),
    (lambda model: model.text()(5), TypeError, "not from int"),
    (lambda model: model.text()([5]), TypeError, "this one is int"),
    (lambda model: model.text()("a", samples=0), BadRequestError, "1 to 64 samples of a prompt, not 0"),
    (lambda model: model.text()("a", samples=65), BadRequestError, "not 65"),
    (lambda model: model.text()("a", seed=-1), BadRequestError, r">= 0 - at `\$\.sampling\.seed`"),
    (lambda model: model.text()("a", max_tokens=0), BadRequestError, r">= 1 - at `\$\.max_tokens`"),
    (lambda model: model.text(stop=["a", ""]), BadRequestError, r"at `\$\.stop\[1\]`"),
    (lambda model: model.text(max_tokens=0), BadRequestError, r"at `\$\.max_tokens`"),
    (lambda model: model.text(sampling=Sampling(top_p=3)), BadRequestError, r"at `\$\.sampling\.top_p`"),
    (lambda model: model.regex("a("), ConstraintInvalidError, "unclosed group"),
    (lambda model: model.choice([]), ConstraintInvalidError, "Enter at least one"),
    (lambda model: model.choice("yes"), ConstraintInvalidError, "A choice must be a list of texts"),
    (lambda model: model.json("{"), ConstraintInvalidError, "is not valid JSON"),
    (lambda model: model.json({"const": b"a"}), ConstraintInvalidError, "is not valid JSON"),
    (lambda model: model.grammar("start: a"), ConstraintInvalidError, "unknown name"),
    (
        lambda model: model.chat([{"role": "nobody", "content": ""}]),
        BadRequestError,
        r"at `\$\.messages\[0\]\.role`",
    ),
    (lambda model: model.text()("a b " * 9999), ContextOverflowError, "holds 4,096"),
    (lambda _: open_model("/no/such/model"), WorkerError, "no/such"),
    (lambda _: open_model(cache=CacheOptions(kv_bits=cast("Any", 3))), BadRequestError, r"`\$\.kv_bits`"),
]


@pytest.mark.parametrize(("ask", "error", "words"), BAD)
def test_bad_input_is_refused_with_a_clear_message(
    llama: LocalModel, ask: Callable[[LocalModel], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ask(llama)


def test_a_state_of_another_model_is_refused(llama: LocalModel, random_llama: Path) -> None:
    other = open_model(str(random_llama))
    with pytest.raises(ValueError, match="another model"):
        llama.text()(other.state("Hello"))


def test_a_prompt_that_fails_raises_after_the_others_are_done(llama: LocalModel) -> None:
    generator = llama.text(max_tokens=3)
    with pytest.raises(ContextOverflowError, match="holds 4,096 tokens"):
        generator(["Hello", "a b " * 9999, "there"])
    assert generator("Hello").usage.prefilled_tokens == 1


def test_after_an_interruption_new_requests_work(llama: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_of(llama)
    steps = iter(range(4))
    step = engine.step

    def interrupted() -> Any:
        if next(steps, None) == 2:
            raise KeyboardInterrupt
        return step()

    monkeypatch.setattr(engine, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        llama.text(max_tokens=2000)(["Hello", "there"], samples=2)
    assert not engine.is_busy
    assert isinstance(llama.text(max_tokens=3)("Hello"), SequenceState)


def test_the_examples_in_the_docstrings_are_right() -> None:
    results = doctest.testmod(worker.library, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert results.attempted > 25
    assert results.failed == 0


def test_the_example_in_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    found = re.search(r"## As a library\n\n```python\n(.*?)```", readme, re.DOTALL)
    assert found is not None
    exec(found[1], {})  # noqa: S102 (our own page)
    assert re.match(r"(?s)A branch is.* Is that so\? (Yes|No)\.\n$", capsys.readouterr().out)
