"""Several hooks of one answer: how their decisions combine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.worker.answers.hooked import ask, count, finished, ids, once, text_of
from worker.answers.hook_chain import Hook
from worker.decision import Decision, Splice, Verdict
from worker.language_model import LanguageModel
from worker.protocol import Sampling
from worker.step import Step


def letters_mask(model: LanguageModel, letters: str) -> Any:
    mask = np.zeros(len(model.vocabulary), dtype=np.bool_)
    mask[ids(model, letters)] = True
    return mask


def test_masks_of_several_hooks_are_combined_with_and(counting: LanguageModel) -> None:
    one, other = (once(1, Decision(mask=letters_mask(counting, letters)), "before") for letters in ("mqx", "aqz"))
    assert text_of(count(counting, {"one": one, "other": other}))[1] == "q"


def test_the_last_temperature_counts(llama: LanguageModel) -> None:
    def at(temperature: float) -> Callable[[], Hook]:
        return lambda: lambda step: Decision(temperature=temperature) if step.phase == "before" else None

    hot = Sampling(temperature=3.0, seed=1)
    greedy = finished(ask(llama, {})).choices[0].text
    assert text_of(ask(llama, {"wild": at(9.0), "calm": at(0.0)}, sampling=hot)) == greedy
    assert text_of(ask(llama, {"calm": at(0.0), "wild": at(9.0)}, sampling=hot)) != greedy


def test_the_first_structural_decision_ends_the_step(counting: LanguageModel) -> None:
    asked: list[int] = []

    def second(step: Step) -> Verdict:
        if step.phase == "before":
            asked.append(step.position)
        return None

    stop = once(2, [], "before")
    assert text_of(count(counting, {"stop": stop, "second": lambda: second})) == "bc"
    assert 2 not in asked


def test_a_hook_after_one_that_puts_a_token_sees_that_token(counting: LanguageModel) -> None:
    shown: list[str] = []

    def second(step: Step) -> Verdict:
        if step.phase == "after" and step.position == 2:
            shown.append(step.token_text)
            assert 0 <= step.probability < 0.5
        return None

    x = ids(counting, "x")[0]
    assert text_of(count(counting, {"x": once(2, Decision(token=x)), "second": lambda: second})) == "bcxyza"
    assert set(shown) == {"x"}


def test_a_later_hook_can_reject_a_token_that_was_put(counting: LanguageModel) -> None:
    x = ids(counting, "x")[0]
    back = once(2, Decision(backtrack=1))
    assert text_of(count(counting, {"x": once(2, Decision(token=x)), "back": back})) == "bcdefg"
    again = once(2, Decision(resample=True))
    assert text_of(count(counting, {"x": once(2, Decision(token=x)), "again": again}))[2] not in "xd"


def test_a_mask_combines_with_a_later_hooks_decision(counting: LanguageModel) -> None:
    mask = once(3, Decision(mask=letters_mask(counting, "q")), "before")
    back = once(3, Decision(backtrack=1), "before")
    assert text_of(count(counting, {"mask": mask, "back": back}))[:3] == "bcq"


def test_splices_are_checked_in_order(counting: LanguageModel) -> None:
    d = ids(counting, "d")

    def always(letters: str) -> Callable[[], Hook]:
        splice = Splice(when_sampled=d, backtrack=1, ff_tokens=ids(counting, letters))
        return lambda: lambda step: Decision(splices=[splice]) if step.phase == "before" else None

    assert text_of(count(counting, {"one": always("x"), "other": always("m")})) == "bcxyza"
