"""Hooks: what they are shown, and the effect of each decision."""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tests.worker.answers.hooked import PROMPT, ask, count, finished, ids, on_screen, once, text_of
from worker.answers.hook_chain import Hook
from worker.answers.hook_folder import HookFolder
from worker.decision import Decision, Splice, Verdict
from worker.language_model import LanguageModel
from worker.protocol import Chunk, Event, Failed, Forked, Generate, Retract, Sampling
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.step import Step


def test_a_hook_that_decides_nothing_changes_nothing(counting: LanguageModel) -> None:
    assert text_of(count(counting, {"quiet": lambda: lambda _: None})) == "bcdefg"


def test_a_token_replaces_the_sampled_one(counting: LanguageModel) -> None:
    events = count(counting, {"x": once(2, Decision(token=ids(counting, "x")[0]))})
    assert text_of(events) == "bcxyza"
    origins = [token.origin for event in events if isinstance(event, Chunk) for token in event.tokens]
    assert origins == ["sampled", "sampled", "forced", "sampled", "sampled", "sampled"]


def test_a_token_before_sampling_is_not_sampled(counting: LanguageModel) -> None:
    events = count(counting, {"x": once(2, Decision(token=ids(counting, "x")[0]), "before")})
    assert text_of(events) == "bcxyza"


def test_rejected_tokens_are_not_sampled_again(counting: LanguageModel) -> None:
    tried: list[list[int]] = []

    def make() -> Hook:
        shown: list[int] = []
        tried.append(shown)

        def hook(step: Step) -> Verdict:
            if step.phase == "after" and step.position == 2 and len(shown) < 3:
                shown.append(step.token)
                return Decision(resample=True)
            return None

        return hook

    events = count(counting, {"again": make})
    assert len(set(tried[0])) == 3
    assert finished(events).choices[0].token_ids[2] not in tried[0]


def test_after_the_resample_limit_the_best_rejected_token_is_accepted(counting: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        return Decision(resample=True) if step.phase == "after" and step.position == 1 else None

    assert text_of(count(counting, {"never": lambda: hook}, max_resample_count=3)) == "bcdefg"


def test_a_backtrack_takes_back_shown_text(counting: LanguageModel) -> None:
    x = ids(counting, "x")[0]
    events = count(counting, {"back": once(4, [Decision(backtrack=3, token=x)])})
    assert [event.num_chars for event in events if isinstance(event, Retract)] == [3]
    assert text_of(events) == "bxyzab"


def test_a_backtrack_ends_at_the_start(counting: LanguageModel) -> None:
    events = count(counting, {"back": once(4, Decision(backtrack=100), "before")})
    assert text_of(events) == "bcdefg"
    # The fourth letter was not sent yet.
    assert [event.num_chars for event in events if isinstance(event, Retract)] == [3]


def test_an_empty_list_ends_the_answer_before_the_sampled_token(counting: LanguageModel) -> None:
    for phase in ("before", "after"):
        answer = finished(count(counting, {"stop": once(3, [], phase)})).choices[0]
        assert (answer.text, answer.reason) == ("bcd", "hook")


def test_a_mask_allows_only_its_tokens(counting: LanguageModel) -> None:
    mask = np.zeros(len(counting.vocabulary), dtype=np.bool_)
    mask[ids(counting, "qx")] = True
    text = text_of(count(counting, {"mask": once(1, Decision(mask=mask), "before")}))
    assert text[1] in "qx"
    assert text[0] == "b"


def test_a_splice_waits_for_its_token(counting: LanguageModel) -> None:
    splice = Splice(when_sampled=ids(counting, "d"), backtrack=2, ff_tokens=ids(counting, "xy"))
    always = [Decision(splices=[splice])]
    events = count(counting, {"splice": lambda: lambda step: always if step.phase == "before" else None})
    # "bcd": the sampled token and the one before it are taken back.
    assert text_of(events) == "bxyzab"


def test_a_splice_without_a_trigger_is_applied_at_once(counting: LanguageModel) -> None:
    splice = Splice(backtrack=1, ff_tokens=ids(counting, "xy"))
    events = count(counting, {"splice": once(2, Decision(splices=[splice]), "before")})
    assert text_of(events) == "bxyzab"


def test_the_next_step_reports_what_was_taken_back_and_appended(counting: LanguageModel) -> None:
    told_of: list[list[tuple[int, int, list[int]]]] = []

    def make() -> Hook:
        told: list[tuple[int, int, list[int]]] = []
        told_of.append(told)

        def hook(step: Step) -> Verdict:
            if step.phase == "before":
                told.append((step.position, step.backtracked, list(step.appended)))
                if len(told) == 3:
                    return Decision(splices=[Splice(backtrack=1, ff_tokens=ids(counting, "xy"))])
            return None

        return hook

    text_of(count(counting, {"told": make}, max_tokens=5))
    b, c, x, y, z = ids(counting, "bcxyz")
    assert told_of[0] == [(0, 0, []), (1, 0, [b]), (2, 0, [c]), (3, 1, [x, y]), (4, 0, [z])]


def test_a_list_of_decisions_forks(counting: LanguageModel) -> None:
    m, x = ids(counting, "mx")
    events = count(counting, {"fork": once(2, [Decision(), Decision(token=m), Decision(backtrack=1, token=x)])})
    answers = finished(events).choices
    assert [answer.text for answer in answers] == ["bcdefg", "bcmnop", "bxyzab"]
    assert [(event.parent, event.num_chars) for event in events if isinstance(event, Forked)] == [(0, 2), (0, 2)]


def test_a_fork_has_hooks_of_its_own(counting: LanguageModel) -> None:
    class Counter:
        def __init__(self) -> None:
            self.seen: list[int] = []

        def __call__(self, step: Step) -> Verdict:
            if step.phase == "before":
                return None
            self.seen.append(step.token)
            if step.position == 1 and step.branch == 0:
                return [Decision(), Decision(token=ids(counting, "m")[0])]
            # A hook that remembers the other branch's tokens would end here.
            return [] if len(self.seen) > step.position + 1 else None

    assert [answer.reason for answer in finished(count(counting, {"count": Counter})).choices] == ["length"] * 2


def test_an_answer_that_does_not_exist_yet_cannot_be_cancelled(counting: LanguageModel) -> None:
    m = ids(counting, "m")[0]
    hooks = HookFolder(given={"fork": once(2, [Decision(), Decision(token=m)])}, slow_s=math.inf)
    engine = Engine(counting, hooks=hooks)
    ticket = Ticket(1)
    engine.add(Generate(request_id=1, token_ids=ids(counting, "a"), max_tokens=6, hooks=["fork"]), ticket)
    ticket.cancel(1)
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    assert [answer.reason for answer in finished(events).choices] == ["length", "length"]


def test_a_fork_can_be_cancelled_once_it_is_announced(counting: LanguageModel) -> None:
    m = ids(counting, "m")[0]
    hooks = HookFolder(given={"fork": once(2, [Decision(), Decision(token=m)])}, slow_s=math.inf)
    engine = Engine(counting, hooks=hooks)
    ticket = Ticket(1)
    engine.add(Generate(request_id=1, token_ids=ids(counting, "a"), max_tokens=6, hooks=["fork"]), ticket)
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
        if any(isinstance(event, Forked) for event in events):
            ticket.cancel(1)
    assert [answer.reason for answer in finished(events).choices] == ["length", "cancelled"]


def test_too_many_forks_are_refused(counting: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        return [Decision(), Decision()] if step.phase == "before" else None

    events = count(counting, {"many": lambda: hook}, max_tokens=8)
    assert isinstance(events[-1], Failed)
    assert (events[-1].kind, "more than 64" in events[-1].message) == ("hook_failed", True)


def test_an_answer_that_backtracks_forever_ends(counting: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        return Decision(backtrack=2) if step.phase == "before" and step.position == 4 else None

    answer = finished(count(counting, {"circle": lambda: hook})).choices[0]
    assert answer.reason == "hook"


def test_a_hook_that_raises_ends_the_answer_and_the_text_is_kept(counting: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        if step.position == 3:
            raise RuntimeError("on purpose")
        return None

    # Text that may become the stop string is held back until then.
    events = count(counting, {"broken": lambda: hook}, stop=["dz"])
    assert isinstance(events[-1], Failed)
    assert events[-1].kind == "hook_failed"
    assert "“broken”" in events[-1].message
    assert "RuntimeError: on purpose" in events[-1].message
    assert "in hook" in events[-1].message
    assert on_screen(events)[0].text == "bcd"


@pytest.mark.parametrize(
    ("verdict", "word"),
    [
        (5, "returned int"),
        ([Decision(), "x"], "a list with str"),
        (Decision(backtrack=-1), "negative number"),
        (Decision(temperature=float("nan")), "nan"),
        (Decision(token=1 << 20), "the vocabulary has"),
        (Decision(token=-1), "the vocabulary has"),
        (Decision(mask=np.zeros(600, dtype=np.bool_)), "allows no token"),
        (Decision(mask=np.ones(7, dtype=np.bool_)), "shape"),
    ],
)
def test_invalid_decisions_are_named(llama: LanguageModel, verdict: Any, word: str) -> None:
    if isinstance(verdict, Decision) and verdict.mask is not None and verdict.mask.size == 600:
        verdict = Decision(mask=np.zeros(len(llama.vocabulary), dtype=np.bool_))
    events = ask(llama, {"odd": once(1, verdict, "before")})
    assert isinstance(events[-1], Failed)
    assert events[-1].kind == "hook_failed"
    assert word in events[-1].message


def test_unknown_hooks_and_options_are_refused(llama: LanguageModel) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"hooks": ["no such"]}, "uncertain pause"),
        ({"hooks": ["no repeats"], "hook_options": {"other": {}}}, "names “other”"),
        ({"hooks": ["../secret"]}, "there is no hook"),
    ]
    for fields, word in refused:
        [event] = ask(llama, **fields)[-1:]
        assert isinstance(event, Failed)
        assert event.kind == "bad_request"
        assert word in event.message


# --- what hooks are shown ------------------------------------------------------------------------------------


def test_candidates_have_the_models_probabilities_and_those_after_masks(llama: LanguageModel) -> None:
    allowed = np.zeros(len(llama.vocabulary), dtype=np.bool_)
    allowed[50:90] = True
    tried: dict[int, list[int]] = {}
    num_looked = 0

    def hook(step: Step) -> Verdict:
        nonlocal num_looked
        if step.phase == "before":
            tried[step.position] = []
            return Decision(mask=allowed)
        num_looked += 1
        logits = np.array(llama.forward(mx.array([PROMPT + list(step.tokens)]), llama.new_layers()))[0]
        assert np.allclose(step.logits, logits, atol=1e-3)
        exact = np.exp(logits.astype(np.float64) - logits.max())
        exact /= exact.sum()
        assert step.probability == pytest.approx(exact[step.token], rel=1e-2)
        left = exact * allowed
        left[tried[step.position]] = 0.0
        left /= left.sum()
        assert len(step.candidates) == 20
        for candidate in step.best(len(llama.vocabulary)):
            assert candidate.probability == pytest.approx(exact[candidate.token_id], rel=1e-2)
            assert candidate.masked_probability == pytest.approx(left[candidate.token_id], rel=1e-2, abs=1e-12)
            assert candidate.text == llama.vocabulary.text_of([candidate.token_id])
        probabilities = [candidate.probability for candidate in step.candidates]
        assert probabilities == sorted(probabilities, reverse=True)
        with pytest.raises(ValueError, match="read-only"):
            step.logits[0] = 1.0
        tried[step.position].append(step.token)
        return Decision(resample=True) if step.visit == 0 else None

    finished(ask(llama, {"look": lambda: hook}, sampling=Sampling(temperature=1.0, seed=4), max_tokens=3))
    assert num_looked == 12


def test_before_sampling_there_is_no_token(counting: LanguageModel) -> None:
    events = count(counting, {"odd": lambda: lambda step: Decision(token=step.token)})
    assert isinstance(events[-1], Failed)
    assert "before sampling" in events[-1].message
