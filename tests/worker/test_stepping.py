"""Logits from elsewhere: the same tokens, texts, retracts and ends as the engine's own, by its model and its seeds."""

from __future__ import annotations

import doctest
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

import worker.stepping
from worker.answers.hook_chain import Hook
from worker.answers.hook_folder import HookFolder
from worker.cache.prompt_cache import PromptCache
from worker.decision import Decision, Splice, Verdict
from worker.errors import HookFailedError
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.protocol import Choice, Chunk, Constraint, Event, Finished, Forked, Generate, Retract, Sampling
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.step import Step
from worker.stepping import Advance, Stepping

PLENTY = 1 << 30
PROMPT = [40, 41, 42, 43, 44]


@pytest.fixture(scope="module")
def model(random_llama: Path) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(random_llama))).read()
    assert isinstance(model, LanguageModel)
    return model


def test_the_examples_of_the_page_say_what_they_say() -> None:
    results = doctest.testmod(worker.stepping)
    assert results.attempted > 20
    assert results.failed == 0


# --- the two ways to have an answer ----------------------------------------------------------------------------


@dataclass
class Heard:
    """What somebody heard of one answer."""

    text: str = ""
    """What is shown."""
    told: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """What was taken back and shown, a time each."""
    choice: Choice | None = None
    forks: list[Heard] = field(default_factory=list["Heard"])

    def hear(self, num_chars_back: int, text: str) -> None:
        if num_chars_back or text:
            assert num_chars_back <= len(self.text)
            self.text = self.text[: len(self.text) - num_chars_back] + text
            self.told.append((num_chars_back, text))

    def all(self) -> list[tuple[object, ...]]:
        """This answer and those that forked from it, in the order of the forks."""
        assert self.choice is not None
        num_taken_back = sum(number for number, _ in self.told)
        own = (self.choice.token_ids, self.choice.text, num_taken_back, self.choice.reason, self.choice.stop)
        assert self.text == self.choice.text
        return [own, *(each for fork in self.forks for each in fork.all())]


def by_engine(
    model: LanguageModel, hooks: Mapping[str, Callable[..., Hook]], **fields: Any
) -> tuple[Heard, list[Event]]:
    engine = Engine(model, PromptCache(model.new_layers, PLENTY), HookFolder(given=hooks, slow_s=math.inf))
    engine.add(Generate(request_id=1, token_ids=PROMPT, hooks=list(hooks), **fields), Ticket(1))
    events: list[Event] = []
    heard = {0: Heard()}
    while engine.is_busy:
        for event in engine.step():
            events.append(event)
            match event:
                case Chunk():
                    heard[event.choice].hear(0, event.text)
                case Retract():
                    heard[event.choice].hear(event.num_chars, "")
                case Forked():
                    heard[event.choice] = Heard(heard[event.parent].text[: event.num_chars])
                    heard[event.parent].forks.append(heard[event.choice])
                case Finished():
                    for number, choice in enumerate(event.choices):
                        heard[number].choice = choice
                case _:
                    pass
    return heard[0], events


def by_stepping(model: LanguageModel, stepping: Stepping, *, as_numpy: bool = True) -> tuple[Heard, int]:
    """Drive it with a model that reads everything from the beginning; also return how often that was asked."""
    num_calls = 0
    heard = Heard()
    running = [(stepping, list(PROMPT), heard)]
    while running:
        stepping, sequence, shown = running.pop(0)
        if stepping.reason is not None:
            shown.choice = stepping.choice()
            assert stepping.text == shown.choice.text
            continue
        num_calls += 1
        logits = model.forward(mx.array([sequence]), model.new_layers())[0]
        before, text_before = list(sequence), shown.text
        advance = stepping.take(np.array(logits) if as_numpy else logits)
        follow(stepping, advance, sequence, shown)
        running.append((stepping, sequence, shown))
        begun = [(advance, shown, fork) for fork in advance.forks]
        while begun:
            _, parent, fork = begun.pop(0)
            own = list(before)
            of_fork = Heard(text_before)
            parent.forks.append(of_fork)
            follow(fork.stepping, fork.advance, own, of_fork)
            running.append((fork.stepping, own, of_fork))
            begun += [(fork.advance, of_fork, each) for each in fork.advance.forks]
    return heard, num_calls


def follow(stepping: Stepping, advance: Advance, sequence: list[int], shown: Heard) -> None:
    """Do what an advance says, as its caller does."""
    assert advance.num_back or advance.token_ids or advance.reason is not None
    assert len(sequence) - advance.num_back >= len(PROMPT)
    del sequence[len(sequence) - advance.num_back :]
    sequence += advance.token_ids
    shown.hear(advance.num_chars_back, advance.text)
    assert sequence[len(PROMPT) :] == stepping.token_ids
    assert shown.text == stepping.text
    assert advance.reason == stepping.reason


FORMS: dict[str, Constraint | None] = {
    "any": None,
    "regex": Constraint(kind="regex", value="[a-z ]+[.] (The end|Nothing more)[.]"),
    "json": Constraint(
        kind="json_schema",
        value={
            "type": "object",
            "properties": {"leaf": {"type": "integer"}, "kind": {"enum": ["branch", "leaf"]}},
            "required": ["leaf", "kind"],
            "additionalProperties": False,
        },
    ),
}


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("stop", [[], ["e", "re"], [" t"]])
@pytest.mark.parametrize("seed", range(3))
def test_without_hooks_it_says_what_the_engine_says(
    model: LanguageModel, form: str, stop: list[str], seed: int
) -> None:
    described = FORMS[form]
    sampling = Sampling(temperature=1.0, seed=seed, top_p=0.95, repetition_penalty=1.1)
    expected, _ = by_engine(model, {}, max_tokens=24, stop=stop, constraint=described, sampling=sampling)
    stepping = Stepping(
        model.vocabulary,
        PROMPT,
        sampling=sampling,
        constraint=None if described is None else model.constraints.new(described),
        stop=stop,
        max_tokens=24,
    )
    heard, num_calls = by_stepping(model, stepping, as_numpy=seed > 0)
    assert heard.all() == expected.all()
    assert heard.choice == expected.choice
    assert num_calls <= len(stepping.token_ids) + 1
    assert heard.told == expected.told


class Chance:
    """A hook that decides anything.

    With `may_fork` nothing that depends on an answer's seed, with `is_formed` nothing that a constraint could forbid.
    """

    def __init__(self, seed: int, size: int, *, may_fork: bool = False, is_formed: bool = False) -> None:
        self.random = random.Random(seed)
        self.size = size
        self.may_fork = may_fork
        self.is_formed = is_formed
        self.num_forks = 0

    def __call__(self, step: Step) -> Verdict:
        chance, chosen = self.random, self.random.random()
        if step.phase == "before":
            if chosen < 0.06:
                return Decision(backtrack=chance.randint(1, 6))
            if chosen < 0.1:
                return Decision(token=chance.randrange(40, self.size), feed_constraint=False)
            if chosen < 0.14:
                ff_tokens = [chance.randrange(40, self.size) for _ in range(chance.randint(0, 4))]
                ff_tokens = [] if self.is_formed else ff_tokens
                return Decision(splices=[Splice(backtrack=chance.randint(0, 4), ff_tokens=ff_tokens)])
            if chosen < 0.3 and not self.is_formed:
                temperature = None if self.may_fork else chance.choice([None, 0.0, 0.5, 2.0])
                return Decision(
                    mask=np.array([chance.random() < 0.5 for _ in range(self.size)]), temperature=temperature
                )
            if chosen < 0.36:
                return self.forked(Decision(), Decision(token=chance.randrange(40, self.size)))
            return None
        if chosen < 0.15:
            return Decision(resample=True)
        if chosen < 0.2:
            return Decision(backtrack=chance.randint(1, 5))
        if chosen < 0.23:
            return Decision(token=chance.randrange(40, self.size), feed_constraint=False)
        if chosen < 0.25:
            ff_tokens = [] if self.is_formed else [50, 60]
            return Decision(splices=[Splice(when_sampled=[step.token], backtrack=2, ff_tokens=ff_tokens)])
        if chosen < 0.28:
            return self.forked(Decision(), Decision(backtrack=1))
        if chosen < 0.3:
            return self.forked(Decision(resample=True), Decision())
        if chosen < 0.305:
            return []
        return None

    def forked(self, *decisions: Decision) -> Verdict:
        self.num_forks += 1
        return list(decisions) if self.may_fork and self.num_forks < 3 else None


@pytest.mark.parametrize("stop", [[], ["e", "re", "th"]])
@pytest.mark.parametrize("form", ["any", "regex"])
@pytest.mark.parametrize("seed", range(10))
def test_whatever_hooks_decide_it_says_what_the_engine_says(
    model: LanguageModel, seed: int, form: str, stop: list[str]
) -> None:
    described, size = FORMS[form], len(model.vocabulary)
    sampling = Sampling(temperature=1.0, seed=seed * 100)
    make = lambda: Chance(seed, size, is_formed=described is not None)  # noqa: E731
    expected, _ = by_engine(model, {"chance": make}, max_tokens=24, stop=stop, constraint=described, sampling=sampling)
    stepping = Stepping(
        model.vocabulary,
        PROMPT,
        sampling=sampling,
        constraint=None if described is None else model.constraints.new(described),
        hooks=[make()],
        slow_s=math.inf,
        stop=stop,
        max_tokens=24,
    )
    heard, _ = by_stepping(model, stepping)
    assert heard.all() == expected.all()
    assert heard.choice == expected.choice


@pytest.mark.parametrize("stop", [[], ["e", "re", "th"]])
@pytest.mark.parametrize("seed", range(12))
def test_whatever_forks_says_what_the_engines_forks_say(model: LanguageModel, seed: int, stop: list[str]) -> None:
    size = len(model.vocabulary)
    make = lambda: Chance(seed, size, may_fork=True)  # noqa: E731
    expected, _ = by_engine(model, {"chance": make}, max_tokens=16, stop=stop)
    stepping = Stepping(model.vocabulary, PROMPT, slow_s=math.inf, hooks=[make()], stop=stop, max_tokens=16)
    heard, _ = by_stepping(model, stepping)
    assert heard.all() == expected.all()


def test_random_hooks_do_fork_take_back_and_end_answers(model: LanguageModel) -> None:
    """What the tests above compare is there."""
    size = len(model.vocabulary)
    num_forks = num_back = 0
    reasons: set[object] = set()
    for seed in range(12):
        stepping = Stepping(
            model.vocabulary, PROMPT, slow_s=math.inf, hooks=[Chance(seed, size, may_fork=True)], max_tokens=16
        )
        heard, _ = by_stepping(model, stepping)
        num_forks += len(heard.all()) - 1
        num_back += sum(number for number, _ in heard.told)
        reasons |= {each[3] for each in heard.all()}
    assert num_forks > 10
    assert num_back > 10
    assert reasons >= {"length", "hook"}


def test_a_token_is_drawn_again_from_the_same_logits(model: LanguageModel) -> None:
    drawn: list[int] = []

    def hook(step: Step) -> Verdict:
        if step.phase == "after" and step.position == 0 and len(drawn) < 3:
            drawn.append(step.token)
            return Decision(resample=True)
        return None

    logits = np.random.default_rng(1).normal(size=len(model.vocabulary)).astype(np.float32)
    stepping = Stepping(model.vocabulary, PROMPT, slow_s=math.inf, hooks=[hook])
    advance = stepping.take(logits)
    ranked = np.argsort(-logits)[:4].tolist()
    assert drawn == ranked[:3]
    assert advance == Advance(token_ids=(ranked[3],), text=model.vocabulary.text_of([ranked[3]]))
    assert logits.flags.writeable


def test_a_fork_knows_nothing_of_what_becomes_of_the_other(model: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        return [Decision(), Decision(token=70)] if step.phase == "before" and step.position == 2 else None

    stepping = Stepping(model.vocabulary, PROMPT, slow_s=math.inf, hooks=[hook], max_tokens=6)
    logits = np.zeros(len(model.vocabulary), dtype=np.float32)
    for token_id in (60, 61):
        logits[:] = 0
        logits[token_id] = 9
        advance = stepping.take(logits)
    [fork] = advance.forks  # pyright: ignore[reportPossiblyUnbound]
    assert fork.advance.token_ids == (61, 70)
    assert stepping.token_ids == [60, 61]
    stepping.take(logits)
    assert fork.stepping.token_ids == [60, 61, 70]
    fork.stepping.end()
    assert stepping.reason is None


def test_forms_that_begin_with_forced_tokens_begin_with_them(model: LanguageModel) -> None:
    constraint = model.constraints.new(Constraint(kind="regex", value="The end[.!]"))
    stepping = Stepping(model.vocabulary, PROMPT, constraint=constraint)
    logits = np.zeros(len(model.vocabulary), dtype=np.float32)
    advance = stepping.take(logits)
    assert advance.text == "The end"
    advance = stepping.take(logits)
    assert (advance.text in {".", "!"}, advance.reason) == (True, "constraint")


def test_bad_input_is_refused_in_words(model: LanguageModel) -> None:
    stepping = Stepping(model.vocabulary, PROMPT, max_tokens=1)
    for shape in ((7,), (1, len(model.vocabulary))):
        with pytest.raises(ValueError, match="one a token is meant"):
            stepping.take(np.zeros(shape))
    stepping.take(np.zeros(len(model.vocabulary)))
    with pytest.raises(ValueError, match=r"has ended \(length\)"):
        stepping.take(np.zeros(len(model.vocabulary)))
    with pytest.raises(ValueError, match="`max_tokens` is 0"):
        Stepping(model.vocabulary, PROMPT, max_tokens=0)


def test_a_hook_that_raises_ends_it_and_what_was_said_is_kept(model: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        if step.position == 2:
            raise RuntimeError("on purpose")
        return None

    stepping = Stepping(model.vocabulary, PROMPT, slow_s=math.inf, hooks=[hook])
    logits = np.zeros(len(model.vocabulary))
    stepping.take(logits)
    with pytest.raises(HookFailedError, match="hook"):
        stepping.take(logits)
    assert stepping.reason == "hook"
    assert len(stepping.token_ids) == 2


def test_it_forks_only_so_often(model: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        return [Decision(), Decision()] if step.phase == "before" else None

    stepping = Stepping(model.vocabulary, PROMPT, slow_s=math.inf, hooks=[hook])
    with pytest.raises(HookFailedError, match="'hook' failed"):
        by_stepping(model, stepping)
