"""`Stepping`: logits computed elsewhere give the same tokens, texts, retracts and ends as the engine."""

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

import worker.decision
import worker.step
import worker.stepping
from tests.long import in_long_runs
from tests.trials import TRIALS
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
    *_, model = UnreadModel(find_model(str(random_llama)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    return model


def test_the_examples_in_the_docstrings_are_right() -> None:
    for module, num_examples in ((worker.stepping, 20), (worker.step, 8), (worker.decision, 2)):
        results = doctest.testmod(module)
        assert results.attempted >= num_examples
        assert results.failed == 0


# --- answers by the engine and by stepping -------------------------------------------------------------------


@dataclass
class Received:
    """One answer as the caller receives it."""

    text: str = ""
    """The text that is shown."""
    changes: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """The changes of the text: characters taken back, and text added."""
    choice: Choice | None = None
    forks: list[Received] = field(default_factory=list["Received"])

    def change(self, num_chars_back: int, text: str) -> None:
        if num_chars_back or text:
            assert num_chars_back <= len(self.text)
            self.text = self.text[: len(self.text) - num_chars_back] + text
            self.changes.append((num_chars_back, text))

    def all(self) -> list[tuple[object, ...]]:
        """Return this answer and its forks, in the order of forking."""
        assert self.choice is not None
        num_taken_back = sum(number for number, _ in self.changes)
        own = (self.choice.token_ids, self.choice.text, num_taken_back, self.choice.reason, self.choice.stop)
        assert self.text == self.choice.text
        return [own, *(each for fork in self.forks for each in fork.all())]


def by_engine(
    model: LanguageModel, hooks: Mapping[str, Callable[..., Hook]], **fields: Any
) -> tuple[Received, list[Event]]:
    engine = Engine(model, PromptCache(model.new_layers, PLENTY), HookFolder(given=hooks, slow_s=math.inf))
    engine.add(Generate(request_id=1, token_ids=PROMPT, hooks=list(hooks), **fields), Ticket(1))
    events: list[Event] = []
    received = {0: Received()}
    while engine.is_busy:
        for event in engine.step():
            events.append(event)
            match event:
                case Chunk():
                    received[event.choice].change(0, event.text)
                case Retract():
                    received[event.choice].change(event.num_chars, "")
                case Forked():
                    received[event.choice] = Received(received[event.parent].text[: event.num_chars])
                    received[event.parent].forks.append(received[event.choice])
                case Finished():
                    for number, choice in enumerate(event.choices):
                        received[number].choice = choice
                case _:
                    pass
    return received[0], events


def by_stepping(model: LanguageModel, stepping: Stepping, *, as_numpy: bool = True) -> tuple[Received, int]:
    """Run `stepping` with a model that reads everything from the beginning; also count the model's calls."""
    num_calls = 0
    received = Received()
    running = [(stepping, list(PROMPT), received)]
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
        waiting = [(advance, shown, fork) for fork in advance.forks]
        while waiting:
            _, parent, fork = waiting.pop(0)
            own = list(before)
            of_fork = Received(text_before)
            parent.forks.append(of_fork)
            follow(fork.stepping, fork.advance, own, of_fork)
            running.append((fork.stepping, own, of_fork))
            waiting += [(fork.advance, of_fork, each) for each in fork.advance.forks]
    return received, num_calls


def follow(stepping: Stepping, advance: Advance, sequence: list[int], shown: Received) -> None:
    """Apply an advance to the sequence and the text, as a caller does."""
    assert advance.num_back or advance.token_ids or advance.reason is not None
    assert len(sequence) - advance.num_back >= len(PROMPT)
    del sequence[len(sequence) - advance.num_back :]
    sequence += advance.token_ids
    shown.change(advance.num_chars_back, advance.text)
    assert sequence[len(PROMPT) :] == stepping.token_ids
    assert shown.text == stepping.text
    assert advance.reason == stepping.reason


CONSTRAINTS: dict[str, Constraint | None] = {
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


@pytest.mark.parametrize("kind", list(CONSTRAINTS))
@pytest.mark.parametrize("stop", [[], ["e", "re"], [" t"]])
@pytest.mark.parametrize("seed", [1, *in_long_runs([0, 2])])
def test_without_hooks_the_answer_equals_the_engines(
    model: LanguageModel, kind: str, stop: list[str], seed: int
) -> None:
    described = CONSTRAINTS[kind]
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
    received, num_calls = by_stepping(model, stepping, as_numpy=seed > 0)
    assert received.all() == expected.all()
    assert received.choice == expected.choice
    assert num_calls <= len(stepping.token_ids) + 1
    assert received.changes == expected.changes


class Chance:
    """A hook that makes random decisions.

    With `may_fork`, no decision depends on an answer's seed. With `is_constrained`, no constraint could forbid one.
    """

    def __init__(self, seed: int, size: int, *, may_fork: bool = False, is_constrained: bool = False) -> None:
        self.random = random.Random(seed)
        self.size = size
        self.may_fork = may_fork
        self.is_constrained = is_constrained
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
                ff_tokens = [] if self.is_constrained else ff_tokens
                return Decision(splices=[Splice(backtrack=chance.randint(0, 4), ff_tokens=ff_tokens)])
            if chosen < 0.3 and not self.is_constrained:
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
            ff_tokens = [] if self.is_constrained else [50, 60]
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
@pytest.mark.parametrize("kind", ["any", "regex"])
@pytest.mark.parametrize("seed", [*range(2), *in_long_runs(range(2, 10))])
def test_with_any_hook_decisions_the_answer_equals_the_engines(
    model: LanguageModel, seed: int, kind: str, stop: list[str]
) -> None:
    described, size = CONSTRAINTS[kind], len(model.vocabulary)
    sampling = Sampling(temperature=1.0, seed=seed * 100)
    make = lambda: Chance(seed, size, is_constrained=described is not None)  # noqa: E731
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
    received, _ = by_stepping(model, stepping)
    assert received.all() == expected.all()
    assert received.choice == expected.choice


@pytest.mark.parametrize("stop", [[], ["e", "re", "th"]])
@pytest.mark.parametrize("seed", [*range(5), *in_long_runs(range(5, 12))])
def test_forks_equal_the_engines_forks(model: LanguageModel, seed: int, stop: list[str]) -> None:
    size = len(model.vocabulary)
    make = lambda: Chance(seed, size, may_fork=True)  # noqa: E731
    expected, _ = by_engine(model, {"chance": make}, max_tokens=16, stop=stop)
    stepping = Stepping(model.vocabulary, PROMPT, slow_s=math.inf, hooks=[make()], stop=stop, max_tokens=16)
    received, _ = by_stepping(model, stepping)
    assert received.all() == expected.all()


def test_random_hooks_fork_take_back_and_end_answers(model: LanguageModel) -> None:
    """The tests above really compare these cases."""
    size = len(model.vocabulary)
    num_forks = num_back = 0
    reasons: set[object] = set()
    for seed in range(12):
        stepping = Stepping(
            model.vocabulary, PROMPT, slow_s=math.inf, hooks=[Chance(seed, size, may_fork=True)], max_tokens=16
        )
        received, _ = by_stepping(model, stepping)
        num_forks += len(received.all()) - 1
        num_back += sum(number for number, _ in received.changes)
        reasons |= {each[3] for each in received.all()}
    assert num_forks > 10
    assert num_back > 10
    assert reasons >= {"length", "hook"}


def test_a_token_is_sampled_again_from_the_same_logits(model: LanguageModel) -> None:
    sampled: list[int] = []

    def hook(step: Step) -> Verdict:
        if step.phase == "after" and step.position == 0 and len(sampled) < 3:
            sampled.append(step.token)
            return Decision(resample=True)
        return None

    logits = np.random.default_rng(1).normal(size=len(model.vocabulary)).astype(np.float32)
    stepping = Stepping(model.vocabulary, PROMPT, slow_s=math.inf, hooks=[hook])
    advance = stepping.take(logits)
    ranked = np.argsort(-logits)[:4].tolist()
    assert sampled == ranked[:3]
    assert advance == Advance(token_ids=(ranked[3],), text=model.vocabulary.text_of([ranked[3]]))
    assert logits.flags.writeable


def test_forks_do_not_affect_each_other(model: LanguageModel) -> None:
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


def test_forced_tokens_at_the_start_of_an_answer_come_with_the_first_step(model: LanguageModel) -> None:
    constraint = model.constraints.new(Constraint(kind="regex", value="The end[.!]"))
    stepping = Stepping(model.vocabulary, PROMPT, constraint=constraint)
    logits = np.zeros(len(model.vocabulary), dtype=np.float32)
    advance = stepping.take(logits)
    assert advance.text == "The end"
    advance = stepping.take(logits)
    assert (advance.text in {".", "!"}, advance.reason) == (True, "constraint")


def test_bad_input_is_refused_with_a_clear_message(model: LanguageModel) -> None:
    stepping = Stepping(model.vocabulary, PROMPT, max_tokens=1)
    for shape in ((7,), (1, len(model.vocabulary))):
        with pytest.raises(ValueError, match="one a token is meant"):
            stepping.take(np.zeros(shape))
    stepping.take(np.zeros(len(model.vocabulary)))
    with pytest.raises(ValueError, match=r"has ended \(length\)"):
        stepping.take(np.zeros(len(model.vocabulary)))
    with pytest.raises(ValueError, match="`max_tokens` is 0"):
        Stepping(model.vocabulary, PROMPT, max_tokens=0)


def test_a_hook_that_raises_ends_the_answer_and_its_text_is_kept(model: LanguageModel) -> None:
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


def test_the_number_of_forks_is_limited(model: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        return [Decision(), Decision()] if step.phase == "before" else None

    stepping = Stepping(model.vocabulary, PROMPT, slow_s=math.inf, hooks=[hook])
    with pytest.raises(HookFailedError, match="“hook” failed"):
        by_stepping(model, stepping)
