"""Hooks: what they are shown, what they may decide, and that what was taken back leaves no trace in what follows.

`BOUGH_FUZZ_HOOKS` says for how many seeds a hook decides by chance.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.architectures import small_gemma3, small_lfm2, small_llama, write_random_model
from tests.models import write_scripted_model
from worker.answers.hook_chain import Hook
from worker.answers.hook_folder import HookFolder
from worker.cache.prompt_cache import PromptCache
from worker.decision import Decision, Splice, Verdict
from worker.decoding.sampler import Sampler
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.protocol import (
    Chunk,
    Constraint,
    Continuation,
    Event,
    Failed,
    Finished,
    Forked,
    Generate,
    Retract,
    Sampling,
    Segment,
)
from worker.requests.engine import Engine
from worker.requests.ticket import Ticket
from worker.step import Step

NUM_SEEDS = int(os.environ.get("BOUGH_FUZZ_HOOKS", "4"))
PLENTY = 1 << 30
PROMPT = [40, 41, 42, 43, 44]


def read(folder: Path) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(folder))).read()
    assert isinstance(model, LanguageModel)
    return model


@pytest.fixture(scope="module", params=["llama", "gemma3", "lfm2"])
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer
) -> LanguageModel:
    made: dict[str, Callable[[], dict[str, Any]]] = {
        "llama": lambda: small_llama(byte_level.get_vocab_size()),
        "gemma3": lambda: small_gemma3(window=12),
        "lfm2": small_lfm2,
    }
    folder = tmp_path_factory.mktemp("models") / request.param
    return read(write_random_model(folder, byte_level, made[request.param]()))


@pytest.fixture(scope="module")
def llama(random_llama: Path) -> LanguageModel:
    return read(random_llama)


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> LanguageModel:
    """A model that counts letters: "abc…xyz", and then over again."""
    letters = [byte_level.encode(letter).ids[0] for letter in "abcdefghijklmnopqrstuvwxyz"]
    successor = dict(zip(letters, letters[1:] + letters[:1], strict=True))
    return read(write_scripted_model(tmp_path_factory.mktemp("models") / "counting", byte_level, successor))


def ask_once(
    model: LanguageModel, given: Mapping[str, Callable[..., Hook]] | None, *, looks_ahead: bool, **fields: Any
) -> list[Event]:
    asked: dict[str, Any] = {"token_ids": PROMPT, "max_tokens": 12, "hooks": list(given or {}), **fields}
    cache, hooks = PromptCache(model.new_layers, PLENTY), HookFolder(given=given, slow_s=math.inf)
    engine = Engine(model, cache, hooks, looks_ahead=looks_ahead)
    engine.add(Generate(request_id=1, **asked), Ticket(1))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    return events


def ask(model: LanguageModel, given: Mapping[str, Callable[..., Hook]] | None = None, **fields: Any) -> list[Event]:
    """Answer one request, on both ways to decode, which say the same."""
    heard = [ask_once(model, given, looks_ahead=looks_ahead, **fields) for looks_ahead in (False, True)]
    if any(isinstance(event, Forked) for event in heard[0]):
        # Where several fork, their order in the batch, and with it the forks' numbers, may be another one.
        assert answers(heard[0]) == answers(heard[1])
    else:
        assert told(heard[0]) == told(heard[1])
    return heard[0]


def answers(events: Sequence[Event]) -> list[tuple[object, ...]]:
    """What came of each answer and of each fork, whatever its number."""
    ended = [event for event in events if isinstance(event, Finished)]
    return sorted((choice.text, choice.token_ids, choice.reason) for event in ended for choice in event.choices)


def told(events: Sequence[Event]) -> dict[int, list[object]]:
    """What was told of each answer, in its order."""
    by_choice: dict[int, list[object]] = {}
    for event in events:
        match event:
            case Chunk():
                tokens = [(token.id, token.origin) for token in event.tokens]
                by_choice.setdefault(event.choice, []).append((event.text, tokens))
            case Retract():
                by_choice.setdefault(event.choice, []).append((event.num_chars, event.num_tokens))
            case _:
                pass
    return by_choice


@dataclass
class Shown:
    """What is on somebody's screen."""

    text: str = ""
    token_ids: list[int] = field(default_factory=list[int])
    num_given_chars_back: int = 0
    """Of what was there before."""
    has_healed: bool = False
    """Whether there were tokens that spell given text, which are none of the answer's."""


def on_screen(events: Sequence[Event]) -> dict[int, Shown]:
    """Play the events as a view would."""
    screens: dict[int, Shown] = {}
    for event in events:
        match event:
            case Chunk():
                screen = screens.setdefault(event.choice, Shown())
                screen.text += event.text
                screen.token_ids += [token.id for token in event.tokens]
                screen.has_healed |= any(token.origin == "healed" for token in event.tokens)
            case Retract():
                screen = screens.setdefault(event.choice, Shown())
                assert event.num_chars <= len(screen.text)
                assert event.num_tokens <= len(screen.token_ids)
                screen.text = screen.text[: len(screen.text) - event.num_chars]
                screen.token_ids = screen.token_ids[: len(screen.token_ids) - event.num_tokens]
                screen.num_given_chars_back += event.num_given_chars
            case Forked():
                parent = screens.get(event.parent, Shown())
                assert event.choice not in screens
                text, token_ids = parent.text[: event.num_chars], parent.token_ids[: event.num_tokens]
                screens[event.choice] = Shown(text, token_ids, parent.num_given_chars_back, parent.has_healed)
            case _:
                pass
    return screens


def finished(events: Sequence[Event]) -> Finished:
    assert isinstance(events[-1], Finished), events[-1]
    for choice, shown in on_screen(events).items():
        answer = events[-1].choices[choice]
        assert shown.text == answer.text
        assert shown.num_given_chars_back == answer.num_given_chars
        if shown.has_healed:
            continue
        # An unfinished character at the end is none of its tokens.
        num_whole = len(answer.token_ids) - answer.num_recut
        assert shown.token_ids[:num_whole] == answer.token_ids[:num_whole]
    return events[-1]


def once(place: int, verdict: Verdict, phase: str = "after") -> Callable[[], Hook]:
    """A hook that says something at one place, the first time."""

    def make() -> Hook:
        has_said = False

        def hook(step: Step) -> Verdict:
            nonlocal has_said
            if step.position == place and step.phase == phase and not has_said:
                has_said = True
                return verdict
            return None

        return hook

    return make


# --- one decision each ----------------------------------------------------------------------------------------


def count(model: LanguageModel, hooks: Mapping[str, Callable[..., Hook]], **fields: Any) -> list[Event]:
    ids = model.vocabulary.encode("a")
    return ask(model, hooks, token_ids=ids, max_tokens=fields.pop("max_tokens", 6), **fields)


def ids(model: LanguageModel, text: str) -> list[int]:
    return [token_id for letter in text for token_id in model.vocabulary.encode(letter)]


def text_of(events: list[Event]) -> str:
    return finished(events).choices[0].text


def test_a_hook_that_says_nothing_changes_nothing(counting: LanguageModel) -> None:
    assert text_of(count(counting, {"quiet": lambda: lambda _: None})) == "bcdefg"


def test_a_token_takes_the_drawn_ones_place(counting: LanguageModel) -> None:
    events = count(counting, {"x": once(2, Decision(token=ids(counting, "x")[0]))})
    assert text_of(events) == "bcxyza"
    origins = [token.origin for event in events if isinstance(event, Chunk) for token in event.tokens]
    assert origins == ["sampled", "sampled", "forced", "sampled", "sampled", "sampled"]


def test_a_token_before_sampling_comes_without_a_draw(counting: LanguageModel) -> None:
    events = count(counting, {"x": once(2, Decision(token=ids(counting, "x")[0]), "before")})
    assert text_of(events) == "bcxyza"


def test_what_was_tried_is_not_drawn_again(counting: LanguageModel) -> None:
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


def test_after_so_many_draws_the_best_that_was_tried_stands(counting: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        return Decision(resample=True) if step.phase == "after" and step.position == 1 else None

    assert text_of(count(counting, {"never": lambda: hook}, max_resample_count=3)) == "bcdefg"


def test_a_backtrack_takes_back_what_was_shown(counting: LanguageModel) -> None:
    x = ids(counting, "x")[0]
    events = count(counting, {"back": once(4, [Decision(backtrack=3, token=x)])})
    assert [event.num_chars for event in events if isinstance(event, Retract)] == [3]
    assert text_of(events) == "bxyzab"


def test_a_backtrack_ends_at_the_beginning(counting: LanguageModel) -> None:
    events = count(counting, {"back": once(4, Decision(backtrack=100), "before")})
    assert text_of(events) == "bcdefg"
    # The fourth was not told yet.
    assert [event.num_chars for event in events if isinstance(event, Retract)] == [3]


def test_an_empty_list_ends_the_answer_before_the_drawn_token(counting: LanguageModel) -> None:
    for phase in ("before", "after"):
        answer = finished(count(counting, {"stop": once(3, [], phase)})).choices[0]
        assert (answer.text, answer.reason) == ("bcd", "hook")


def test_a_mask_leaves_what_it_names(counting: LanguageModel) -> None:
    mask = np.zeros(len(counting.vocabulary), dtype=np.bool_)
    mask[ids(counting, "qx")] = True
    text = text_of(count(counting, {"mask": once(1, Decision(mask=mask), "before")}))
    assert text[1] in "qx"
    assert text[0] == "b"


def test_a_splice_waits_for_its_token(counting: LanguageModel) -> None:
    splice = Splice(when_sampled=ids(counting, "d"), backtrack=2, ff_tokens=ids(counting, "xy"))
    always = [Decision(splices=[splice])]
    events = count(counting, {"splice": lambda: lambda step: always if step.phase == "before" else None})
    # "bcd": the drawn token and the one before it are taken back.
    assert text_of(events) == "bxyzab"


def test_a_splice_that_waits_for_nothing_is_done_at_once(counting: LanguageModel) -> None:
    splice = Splice(backtrack=1, ff_tokens=ids(counting, "xy"))
    events = count(counting, {"splice": once(2, Decision(splices=[splice]), "before")})
    assert text_of(events) == "bxyzab"


def test_what_was_taken_back_and_appended_is_told_the_next_time(counting: LanguageModel) -> None:
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


def test_a_list_forks(counting: LanguageModel) -> None:
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
            # Whoever remembers the other branch's tokens would end here.
            return [] if len(self.seen) > step.position + 1 else None

    assert [answer.reason for answer in finished(count(counting, {"count": Counter})).choices] == ["length"] * 2


def test_an_answer_that_is_not_there_yet_can_not_be_cancelled(counting: LanguageModel) -> None:
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


def test_a_fork_can_be_cancelled_once_it_is_told_of(counting: LanguageModel) -> None:
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
    assert (events[-1].kind, "over 64" in events[-1].message) == ("hook_failed", True)


def test_an_answer_that_is_taken_back_for_ever_ends(counting: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        return Decision(backtrack=2) if step.phase == "before" and step.position == 4 else None

    answer = finished(count(counting, {"circle": lambda: hook})).choices[0]
    assert answer.reason == "hook"


def test_a_hook_that_raises_ends_the_answer_and_what_was_said_is_kept(counting: LanguageModel) -> None:
    def hook(step: Step) -> Verdict:
        if step.position == 3:
            raise RuntimeError("on purpose")
        return None

    # What may become the stop string is held back until then.
    events = count(counting, {"broken": lambda: hook}, stop=["dz"])
    assert isinstance(events[-1], Failed)
    assert events[-1].kind == "hook_failed"
    assert "'broken'" in events[-1].message
    assert "RuntimeError: on purpose" in events[-1].message
    assert "in hook" in events[-1].message
    assert on_screen(events)[0].text == "bcd"


@pytest.mark.parametrize(
    ("verdict", "word"),
    [
        (5, "returned int"),
        ([Decision(), "x"], "a list with str"),
        (Decision(backtrack=-1), "fewer than no"),
        (Decision(temperature=float("nan")), "nan"),
        (Decision(token=1 << 20), "the vocabulary has"),
        (Decision(token=-1), "the vocabulary has"),
        (Decision(mask=np.zeros(600, dtype=np.bool_)), "leaves no token"),
        (Decision(mask=np.ones(7, dtype=np.bool_)), "shape"),
    ],
)
def test_what_no_hook_may_say_is_named(llama: LanguageModel, verdict: Any, word: str) -> None:
    if isinstance(verdict, Decision) and verdict.mask is not None and verdict.mask.size == 600:
        verdict = Decision(mask=np.zeros(len(llama.vocabulary), dtype=np.bool_))
    events = ask(llama, {"odd": once(1, verdict, "before")})
    assert isinstance(events[-1], Failed)
    assert events[-1].kind == "hook_failed"
    assert word in events[-1].message


def test_unknown_hooks_and_options_are_refused(llama: LanguageModel) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"hooks": ["no such"]}, "uncertain pause"),
        ({"hooks": ["no repeats"], "hook_options": {"other": {}}}, "none of the `hooks`"),
        ({"hooks": ["../secret"]}, "there is none named"),
    ]
    for fields, word in refused:
        [event] = ask(llama, **fields)[-1:]
        assert isinstance(event, Failed)
        assert event.kind == "bad_request"
        assert word in event.message


# --- what hooks are shown ---------------------------------------------------------------------------------------


def test_candidates_have_the_models_probabilities_and_those_that_masks_leave(llama: LanguageModel) -> None:
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


# --- several hooks ----------------------------------------------------------------------------------------------


def letters_mask(model: LanguageModel, letters: str) -> Any:
    mask = np.zeros(len(model.vocabulary), dtype=np.bool_)
    mask[ids(model, letters)] = True
    return mask


def test_masks_of_several_hooks_are_anded(counting: LanguageModel) -> None:
    one, other = (once(1, Decision(mask=letters_mask(counting, letters)), "before") for letters in ("mqx", "aqz"))
    assert text_of(count(counting, {"one": one, "other": other}))[1] == "q"


def test_the_last_temperature_holds(llama: LanguageModel) -> None:
    def at(temperature: float) -> Callable[[], Hook]:
        return lambda: lambda step: Decision(temperature=temperature) if step.phase == "before" else None

    hot = Sampling(temperature=3.0, seed=1)
    greedy = finished(ask(llama, {})).choices[0].text
    assert text_of(ask(llama, {"wild": at(9.0), "calm": at(0.0)}, sampling=hot)) == greedy
    assert text_of(ask(llama, {"calm": at(0.0), "wild": at(9.0)}, sampling=hot)) != greedy


def test_the_first_hook_that_does_more_has_the_last_word(counting: LanguageModel) -> None:
    asked: list[int] = []

    def second(step: Step) -> Verdict:
        if step.phase == "before":
            asked.append(step.position)
        return None

    stop = once(2, [], "before")
    assert text_of(count(counting, {"stop": stop, "second": lambda: second})) == "bc"
    assert 2 not in asked


def test_a_hook_after_one_that_puts_a_token_is_shown_that_token(counting: LanguageModel) -> None:
    shown: list[str] = []

    def second(step: Step) -> Verdict:
        if step.phase == "after" and step.position == 2:
            shown.append(step.token_text)
            assert 0 <= step.probability < 0.5
        return None

    x = ids(counting, "x")[0]
    assert text_of(count(counting, {"x": once(2, Decision(token=x)), "second": lambda: second})) == "bcxyza"
    assert set(shown) == {"x"}


def test_a_token_that_was_put_can_be_taken_away_by_a_later_hook(counting: LanguageModel) -> None:
    x = ids(counting, "x")[0]
    back = once(2, Decision(backtrack=1))
    assert text_of(count(counting, {"x": once(2, Decision(token=x)), "back": back})) == "bcdefg"
    again = once(2, Decision(resample=True))
    assert text_of(count(counting, {"x": once(2, Decision(token=x)), "again": again}))[2] not in "xd"


def test_a_mask_goes_with_what_a_later_hook_decides(counting: LanguageModel) -> None:
    mask = once(3, Decision(mask=letters_mask(counting, "q")), "before")
    back = once(3, Decision(backtrack=1), "before")
    assert text_of(count(counting, {"mask": mask, "back": back}))[:3] == "bcq"


def test_splices_are_looked_through_in_order(counting: LanguageModel) -> None:
    d = ids(counting, "d")

    def always(letters: str) -> Callable[[], Hook]:
        splice = Splice(when_sampled=d, backtrack=1, ff_tokens=ids(counting, letters))
        return lambda: lambda step: Decision(splices=[splice]) if step.phase == "before" else None

    assert text_of(count(counting, {"one": always("x"), "other": always("m")})) == "bcxyza"


# --- what was given -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_text", [False, True], ids=["tokens", "text"])
def test_a_backtrack_reaches_into_what_was_given(counting: LanguageModel, is_text: bool) -> None:
    x = ids(counting, "x")[0]
    # Of a text the last tokens are spelled again; they count as given all the same.
    continuation = Continuation(text="bcdef") if is_text else Continuation(token_ids=ids(counting, "bcdef"))
    # "gh" is said, "i" drawn, and "efgh" taken back with it.
    events = count(counting, {"back": once(2, Decision(backtrack=4, token=x))}, continuation=continuation)
    answer = finished(events).choices[0]
    assert (answer.text, answer.num_given_chars) == ("xyzabc", 2)
    assert counting.vocabulary.text_of(answer.turn_token_ids) == "bcdxyzabc"
    assert [event.num_given_chars for event in events if isinstance(event, Retract)] == [2]


def test_a_backtrack_ends_where_the_turn_begins(counting: LanguageModel) -> None:
    seen: list[tuple[int, int]] = []

    def hook(step: Step) -> Verdict:
        seen.append((step.position, len(step.given)))
        return Decision(backtrack=1000) if step.phase == "after" and step.visit == 0 and step.position == 1 else None

    events = count(counting, {"back": lambda: hook}, continuation=Continuation(token_ids=ids(counting, "xyz")))
    answer = finished(events).choices[0]
    # Behind the prompt's "a" it counts on; where that place was is told by its number.
    assert (answer.text, answer.num_given_chars) == ("bcdefg", 3)
    assert answer.turn_token_ids == answer.token_ids
    assert (-3, 0) in seen
    assert max(seen)[1] == 0


def test_what_is_given_in_the_middle_of_a_character_is_taken_back_by_bytes(llama: LanguageModel) -> None:
    token_ids = llama.vocabulary.encode("é\U0001f642")
    assert len(token_ids) > 2
    fox = ids(llama, "fox")
    hooks = {"back": once(1, Decision(backtrack=2))}
    events = ask(llama, hooks, continuation=Continuation(token_ids=[*fox, *token_ids]), max_tokens=3)
    answer = finished(events).choices[0]
    # One of the character's tokens goes: it is not whole any more, so all of it is gone.
    assert answer.num_given_chars == 1
    assert answer.turn_token_ids[: len(fox) + len(token_ids) - 1] == [*fox, *token_ids][:-1]


def test_of_a_given_character_that_is_taken_back_by_half_nothing_is_kept(llama: LanguageModel) -> None:
    fox, rest = ids(llama, "fox"), llama.vocabulary.encode("\U0001f642")
    assert len(rest) > 1

    def hook(step: Step) -> Verdict:
        return [] if step.position < 0 else Decision(backtrack=1)

    answer = finished(ask(llama, {"half": lambda: hook}, continuation=Continuation(token_ids=[*fox, *rest]))).choices[0]
    assert (answer.text, answer.num_given_chars) == ("", 1)
    assert answer.turn_token_ids == fox


def test_a_form_goes_back_into_what_was_given(counting: LanguageModel) -> None:
    x = ids(counting, "x")[0]
    back = {"back": once(1, Decision(backtrack=3, token=x))}
    for covers, value, text in (("turn", "bc(d|x)[a-z]{3}", "xyza"), ("new", "[a-z]{4}", "xyza")):
        constraint = Constraint(kind="regex", value=value, covers=covers)  # pyright: ignore[reportArgumentType]
        events = count(counting, back, constraint=constraint, continuation=Continuation(text="bcde"), max_tokens=40)
        answer = finished(events).choices[0]
        assert (answer.text, answer.reason, answer.num_given_chars) == (text, "constraint", 2), covers


def test_a_fork_may_go_back_into_what_was_given_alone(counting: LanguageModel) -> None:
    x = ids(counting, "x")[0]
    hooks = {"fork": once(1, [Decision(), Decision(backtrack=3, token=x)])}
    answers = finished(count(counting, hooks, continuation=Continuation(text="bcd"))).choices
    assert [(answer.text, answer.num_given_chars) for answer in answers] == [("efghi", 0), ("xyzabc", 2)]


def test_what_forks_share_is_counted_once(counting: LanguageModel) -> None:
    m = ids(counting, "m")[0]
    usage = finished(count(counting, {"fork": once(4, [Decision(), Decision(token=m)])})).usage
    assert (usage.generated_tokens, usage.forced_tokens) == (6 + 2, 1)
    # Where the fork, or the answer that it came from, goes back further it shares less.
    usage = finished(count(counting, {"fork": once(4, [Decision(), Decision(backtrack=2, token=m)])})).usage
    assert usage.generated_tokens == 6 + 4
    usage = finished(count(counting, {"fork": once(4, [Decision(backtrack=2, token=m), Decision()])})).usage
    assert usage.generated_tokens == 6 + 4


# --- beside constraints and segments --------------------------------------------------------------------------


def test_a_constraint_goes_back_with_the_text(counting: LanguageModel) -> None:
    constraint = Constraint(kind="regex", value="b(c|x)d?[a-z]+")
    x = ids(counting, "x")[0]
    events = count(counting, {"back": once(4, Decision(backtrack=3, token=x))}, constraint=constraint)
    assert text_of(events) == "bxyzab"


def test_a_token_that_the_constraint_forbids_needs_to_be_let_past_it(counting: LanguageModel) -> None:
    constraint = Constraint(kind="regex", value="[a-m]+")
    x = ids(counting, "x")[0]
    events = count(counting, {"x": once(2, Decision(token=x))}, constraint=constraint)
    assert isinstance(events[-1], Failed)
    assert "forbids" in events[-1].message
    past = Decision(token=x, feed_constraint=False)
    text = text_of(count(counting, {"x": once(2, past)}, constraint=constraint))
    assert text[:3] == "bcx"
    assert set(text[3:]) <= set("abcdefghijklm")


def test_a_backtrack_reaches_into_the_segment_before(counting: LanguageModel) -> None:
    segments = [Segment(stop=["e"]), Segment(constraint=Constraint(kind="regex", value="[a-z]{6}"))]
    x = ids(counting, "x")[0]

    def make() -> Hook:
        has_gone_back = False

        def hook(step: Step) -> Verdict:
            nonlocal has_gone_back
            # The "e" that was cut off is in neither.
            assert counting.vocabulary.text_of(step.tokens) == step.text
            if step.phase == "before" and step.text == "bcdef" and not has_gone_back:
                has_gone_back = True
                return Decision(backtrack=3, token=x)
            return None

        return hook

    events = count(counting, {"back": make}, segments=segments, max_tokens=40)
    answer = finished(events).choices[0]
    # "bcd", cut at "e", then "ef": "d" and "ef" are taken back.
    assert answer.text == "bcxyzabcdefghij"
    assert isinstance(answer.segments, list)
    assert "".join(segment.text for segment in answer.segments) == answer.text


# --- any decisions, against a model that has read nothing -------------------------------------------------------


@dataclass
class Draws:
    """All that was drawn: of what sequence, which visit of that seed, how, and what came."""

    made: list[tuple[list[int], int, int, Any, float | None, int]] = field(
        default_factory=list[tuple[list[int], int, int, Any, float | None, int]]
    )

    def __deepcopy__(self, _memo: object) -> Draws:
        """The hooks of forks tell theirs, too."""
        return self


class Chance:
    """A hook that decides anything; it knows how each token was drawn."""

    def __init__(self, seed: int, draws: Draws, size: int) -> None:
        self.random = random.Random(seed)
        self.draws = draws
        self.size = size
        self.num_forks = 0
        self.branch: int | None = None
        self.visits: dict[int, int] = {}
        self.visits_before: dict[int, int] = {}
        """By place; those before it forked were draws of its parent's seed."""
        self.mask: Any = None
        self.temperature: float | None = None
        self.tried: list[int] = []
        self.place = 0

    def _forget(self, place: int) -> None:
        self.mask = self.temperature = None
        self.tried = []
        self.place = place

    def __call__(self, step: Step) -> Verdict:
        chance, chosen = self.random, self.random.random()
        if self.branch != step.branch:
            self.branch, self.visits_before = step.branch, self.visits
        if step.phase == "before":
            self._forget(step.position)
            if chosen < 0.06:
                return Decision(backtrack=chance.randint(1, 6))
            if chosen < 0.07:
                return Decision(backtrack=step.position + 2)
            if chosen < 0.1:
                return Decision(token=chance.randrange(40, self.size))
            if chosen < 0.14:
                ff_tokens = [chance.randrange(40, self.size) for _ in range(chance.randint(0, 4))]
                return Decision(splices=[Splice(backtrack=chance.randint(0, 4), ff_tokens=ff_tokens)])
            if chosen < 0.3:
                self.mask = np.array([chance.random() < 0.5 for _ in range(self.size)])
                self.temperature = chance.choice([None, 0.0, 0.5, 2.0])
                return Decision(mask=self.mask, temperature=self.temperature)
            if chosen < 0.32 and self.num_forks < 2:
                self.num_forks += 1
                return [Decision(), Decision(token=chance.randrange(40, self.size))]
            return None
        if step.position != self.place:
            self._forget(step.position)  # somewhere else, and nobody was asked how to draw there
        left = np.ones(self.size, dtype=np.bool_) if self.mask is None else self.mask.copy()
        left[self.tried] = False
        visit = step.visit - self.visits_before.get(step.position, 0)
        self.visits = {**self.visits, step.position: step.visit + 1}
        self.draws.made.append(([*step.given, *step.tokens], step.branch, visit, left, self.temperature, step.token))
        if chosen < 0.15:
            self.tried.append(step.token)
            return Decision(resample=True)
        if chosen < 0.2:
            self._forget(-1)
            return Decision(backtrack=chance.randint(1, 5))
        if chosen < 0.23:
            return Decision(token=chance.randrange(40, self.size))
        if chosen < 0.25 and self.num_forks < 2:
            self.num_forks += 1
            return [Decision(), Decision(backtrack=1)]
        return None


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("seed", range(NUM_SEEDS))
def test_each_draw_is_that_of_a_model_that_has_read_nothing_else(model: LanguageModel, seed: int, n: int) -> None:
    # Of every second one something is given, which may be taken back, too.
    given = list(range(60, 60 + 9 * (seed % 2)))
    sampling = Sampling(temperature=1.0, seed=seed * 100)

    @cache
    def after(sequence: tuple[int, ...]) -> mx.array:
        return model.forward(mx.array([list(sequence)]), model.new_layers())

    for looks_ahead in (False, True):
        draws = Draws()
        made = iter(range(seed, seed + n))
        hooks = {"chance": lambda: Chance(next(made), draws, len(model.vocabulary))}  # noqa: B023 (made at once)
        continuation = Continuation(token_ids=given) if given else None
        events = ask_once(
            model, hooks, looks_ahead=looks_ahead, n=n, sampling=sampling, max_tokens=24, continuation=continuation
        )
        seeds = [choice.seed for choice in finished(events).choices]
        assert seeds[:n] == [seed * 100 + choice for choice in range(n)]
        assert len(set(seeds)) == len(seeds)
        assert len(draws.made) > 10
        num_close = 0
        for tokens, choice, visit, mask, temperature, token in draws.made:
            sequence = PROMPT + tokens
            logits = after(tuple(sequence))
            sampler = Sampler(sampling, seeds[choice])
            again = sampler.draw(logits, None, len(sequence), visit, mx.array(mask), temperature)
            num_close += again.item() != token
        # Two that are so close that rounding decides are rare.
        assert num_close <= len(draws.made) * 0.02
