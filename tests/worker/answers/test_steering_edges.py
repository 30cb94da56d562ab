"""Edge cases of hooks and drafts: several things in one step, invalid decisions, unusual files."""

from __future__ import annotations

import math
import os
import signal
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from tokenizers import Tokenizer

from tests.architectures import small_llama, write_random_model
from tests.worker.answers.hooked import finished, on_screen, once, read
from tests.worker.rounding import agree
from worker.answers.hook_chain import Hook
from worker.answers.hook_folder import HookFolder
from worker.answers.writing import Writing
from worker.cache.prompt_cache import PromptCache
from worker.cache.token_tree import TokenTree
from worker.decision import Decision, Splice
from worker.decoding.draft import DraftModel, PromptLookUp
from worker.encoding import to_json
from worker.language_model import LanguageModel
from worker.protocol import Choice, Constraint, Continuation, Event, Failed, Finished, Generate, Sampling, Segment
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.step import Step

PLENTY = 1 << 30
PROMPT = list(range(40, 60))


def engine_of(
    model: LanguageModel, hooks: Mapping[str, Callable[..., Hook]] | None = None, draft: LanguageModel | None = None
) -> Engine:
    drafts = None if draft is None else DraftModel(draft, PromptCache(draft.new_layers, PLENTY))
    return Engine(
        model,
        PromptCache(model.new_layers, PLENTY),
        HookFolder(given=hooks, slow_s=math.inf),
        drafts,
        looks_ahead=False,
    )


def ask(engine: Engine, **fields: Any) -> list[Event]:
    asked: dict[str, Any] = {"token_ids": PROMPT, "max_tokens": 12, **fields}
    engine.add(Generate(request_id=1, **asked), Ticket(1))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    return events


def letter(model: LanguageModel, text: str) -> int:
    [token_id] = model.vocabulary.encode(text)
    return token_id


# --- drafts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["before", "after"])
@pytest.mark.parametrize("num_back", [2, 5])
def test_a_backtrack_from_a_rightly_guessed_token_leaves_only_the_tokens_that_stand(
    llama: LanguageModel, phase: str, num_back: int
) -> None:
    num_looked = 0

    def make() -> Hook:
        go_back = once(9, Decision(backtrack=num_back, token=77), phase)()

        def hook(step: Step) -> Any:
            nonlocal num_looked
            if step.phase == "after":
                num_looked += 1
                fresh = llama.forward(mx.array([PROMPT + list(step.tokens)]), llama.new_layers())
                assert np.allclose(step.logits, np.array(fresh)[0], atol=1e-2)
            return go_back(step)

        return hook

    asked: dict[str, Any] = {"hooks": ["back"], "max_tokens": 20}
    plain, guessed = (finished(ask(engine_of(llama, {"back": make}, draft), **asked)) for draft in (None, llama))
    assert guessed.usage.accepted_tokens > 10
    assert agree(llama, Generate(request_id=1, token_ids=PROMPT, max_tokens=20), guessed.choices, plain.choices)
    assert num_looked > 40


def at(place: int, verdict: Any, phase: str = "after") -> dict[str, Callable[..., Hook]]:
    return {"odd": once(place, verdict, phase)}


def behind_given_text(events: list[Event]) -> Choice:
    """Return the answer, whose first shown tokens spell given text again."""
    assert isinstance(events[-1], Finished), events[-1]
    [answer] = events[-1].choices
    assert on_screen(events)[0].text == answer.text
    return answer


def failure(events: list[Event]) -> Failed:
    assert isinstance(events[-1], Failed), events[-1]
    return events[-1]


def test_a_draft_guesses_only_tokens_that_the_model_has(
    llama: LanguageModel, tmp_path: Path, byte_level: Tokenizer
) -> None:
    size = byte_level.get_vocab_size(with_added_tokens=True)
    wider = read(write_random_model(tmp_path / "wider", byte_level, small_llama(size + 64)))
    draft = DraftModel(wider, PromptCache(wider.new_layers, PLENTY), num_ids=llama.vocab_size)
    guesses = [token_id for start in range(20) for token_id in draft.guess(PROMPT[start:], 7, None)]
    assert len(guesses) == 140
    assert max(guesses) < llama.vocab_size
    # The other way round, it reads tokens that it lacks as another token.
    narrow = DraftModel(llama, PromptCache(llama.new_layers, PLENTY), num_ids=size + 64)
    assert len(narrow.guess([*PROMPT, size + 60], 3, None)) == 3


class BreaksOnce:
    """A model that runs out of memory once, after a number of calls, and otherwise is another model."""

    def __init__(self, model: LanguageModel, num_times: int) -> None:
        self.model = model
        self.num_left = num_times

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def forward(self, token_ids: mx.array, layers: Any) -> mx.array:
        self.num_left -= 1
        logits = self.model.forward(token_ids, layers)
        if self.num_left == 0:
            raise RuntimeError("[malloc] there is no memory")
        return logits


@pytest.mark.parametrize("num_times", [1, 2, 6])
def test_an_answer_continues_without_a_draft_model_that_fails(llama: LanguageModel, num_times: int) -> None:
    breaks: Any = BreaksOnce(llama, num_times)
    engine = engine_of(llama, draft=breaks)
    constraint = Constraint(kind="regex", value="[a-z ]{30}")
    plain, *guessed = (
        finished(ask(each, constraint=constraint, max_tokens=20)) for each in (engine_of(llama), engine, engine)
    )
    assert [answer.choices[0].token_ids for answer in guessed] == [plain.choices[0].token_ids] * 2
    # The next answer uses it again, and its guesses are as good as before.
    assert guessed[0].usage.accepted_tokens < guessed[1].usage.accepted_tokens == guessed[1].usage.draft_tokens


def test_the_first_match_is_continued_however_often_the_gram_occurs() -> None:
    look_up = PromptLookUp([[5] * 400, [5, 5, 5, 6, 7]], [5] * 10)
    assert look_up.guess([5, 5, 5], 3, None) == [5, 5, 5]
    assert look_up.guess([5, 5, 6], 3, None) == [7]
    # After that position only those of the prompt follow.
    assert look_up.guess([5, 5, 5], 9, None) == [5] * 7


def test_a_guess_follows_the_same_three_tokens_at_their_next_occurrence() -> None:
    rng = Random(0)
    num_found = 0
    for _ in range(200):
        sources = [[rng.randrange(3) for _ in range(rng.randrange(30))] for _ in range(rng.randrange(1, 4))]
        look_up, sequence, last = PromptLookUp(sources[:-1], sources[-1]), [0, 1, 2], None
        for _ in range(20):
            places = [
                (which, place)
                for which, source in enumerate(sources)
                for place in range(3, len(source))
                if source[place - 3 : place] == sequence[-3:]
            ]
            last = min(
                (each for each in places if last is not None and each >= last), default=min(places, default=None)
            )
            guessed = [] if last is None else sources[last[0]][last[1] : last[1] + 4]
            assert look_up.guess(sequence, 4, None) == guessed
            num_found += bool(guessed)
            sequence += guessed[: rng.randrange(4)] or [rng.randrange(3)]
    assert num_found > 1000
    assert PromptLookUp([], [1, 2]).guess([1], 4, None) == []


def test_other_branches_are_read_from_the_tree_only_up_to_the_limit() -> None:
    class Nothing:
        def cut(self, num_tokens: int) -> tuple[Nothing, Nothing]:
            return self, self

    tree = TokenTree(Nothing())
    shared = list(range(1, 20_001))
    for number in range(500):
        tree.insert([*shared, 30_000 + number, 7], Nothing())
    tree.insert([0, 1], Nothing())
    tracemalloc.start()
    try:
        ways = tree.beside([0, 2], 16_000)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [list(way) for way in ways] == [[1], shared[:15_999]]
    assert most_bytes < 2_000_000
    ways = tree.beside([*shared, 40_000], 6)
    assert [list(each) for each in ways] == [[30_499, 7], [30_498, 7], [30_497, 7]]


# --- several things in one step ------------------------------------------------------------------------------


@pytest.mark.parametrize("stops", [[], ["x"]])
def test_tokens_taken_back_as_the_answer_ends_are_not_kept(counting: LanguageModel, stops: list[str]) -> None:
    last = letter(counting, "x") if stops else min(counting.vocabulary.eos_ids)
    engine = engine_of(counting, at(8, Decision(backtrack=5, token=last)))
    events = ask(engine, hooks=["odd"], token_ids=[letter(counting, "a")], stop=stops)
    assert finished(events).choices[0].text == "bcd"
    assert engine.cache.num_tokens == len("abcd")


# --- given text, segments, constraints -----------------------------------------------------------------------


def test_an_answer_has_enough_visits_for_all_its_segments(counting: LanguageModel) -> None:
    segments = [Segment(max_tokens=1), Segment()]
    engine = engine_of(counting, {"quiet": lambda: lambda _: None})
    events = ask(engine, hooks=["quiet"], token_ids=[letter(counting, "a")], segments=segments, max_tokens=120)
    answer = finished(events).choices[0]
    assert (answer.reason, len(answer.token_ids)) == ("length", 120)


def test_a_fork_whose_next_segment_cannot_begin_fails_only_its_own_request(
    counting: LanguageModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fork = [Decision(), Decision(token=letter(counting, "m"))]
    engine = engine_of(counting, at(2, fork))
    a = letter(counting, "a")
    segments = [Segment(max_tokens=3), Segment(max_tokens=3)]
    engine.add(Generate(request_id=2, token_ids=[a], segments=segments, hooks=["odd"]), Ticket(2))
    engine.add(Generate(request_id=1, token_ids=[a], max_tokens=12), Ticket(1))

    begin = Writing.begin_next_segment

    def breaks_in_the_fork(writing: Writing) -> None:
        if writing.raw_text() == "bcm":
            raise KeyError("oddity")
        begin(writing)

    # The segments of both end with the same step.
    monkeypatch.setattr(Writing, "begin_next_segment", breaks_in_the_fork)
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    assert [event.request_id for event in events if isinstance(event, Failed)] == [2]
    assert [event.choices[0].text for event in events if isinstance(event, Finished)] == ["bcdefghijklm"]
    # The text written so far is sent.
    assert on_screen([event for event in events if event.request_id == 2])[1].text == "bcm"
    caplog.clear()


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_token_put_at_the_start_follows_the_given_text(llama: LanguageModel, phase: str) -> None:
    engine = engine_of(llama, at(3, Decision(backtrack=3, token=letter(llama, "x")), phase))
    answer = behind_given_text(ask(engine, hooks=["odd"], continuation=Continuation(text="Hello th")))
    assert answer.text.startswith("x")
    assert llama.vocabulary.bytes_of(answer.turn_token_ids).startswith(b"Hello thx")


@pytest.mark.parametrize("is_exact", [False, True])
@pytest.mark.parametrize("phrase", ["the", "th"])
def test_a_banned_phrase_that_begins_in_given_text_is_avoided(
    llama: LanguageModel, phrase: str, is_exact: bool
) -> None:
    given = Continuation(token_ids=llama.vocabulary.encode("Hello th")) if is_exact else Continuation(text="Hello th")
    options = {"banned phrases": {"phrases": [phrase]}}
    for seed, temperature in enumerate((0.0, 1.0)):
        sampling = Sampling(temperature=temperature, seed=seed)
        events = ask(
            engine_of(llama),
            hooks=["banned phrases"],
            hook_options=options,
            continuation=given,
            token_ids=PROMPT[:5],
            sampling=sampling,
        )
        answer = finished(events).choices[0] if is_exact else behind_given_text(events)
        assert answer.reason in {"length", "eos"}
        assert answer.text
        # Given text itself is never taken back.
        assert phrase not in ("Hello th" + answer.text).removeprefix("Hello " + phrase[:2])
        assert not (phrase == "the" and answer.text.startswith("e"))


def test_an_end_that_the_constraint_forbids_needs_feed_constraint_false(counting: LanguageModel) -> None:
    asked: dict[str, Any] = {
        "hooks": ["odd"],
        "token_ids": [letter(counting, "a")],
        "constraint": Constraint(kind="regex", value="[a-z]{5,9}"),
    }
    end = min(counting.vocabulary.eos_ids)
    failed = failure(ask(engine_of(counting, at(2, Decision(token=end))), **asked))
    assert "forbids" in failed.message
    for place, decision in ((2, Decision(token=end, feed_constraint=False)), (6, Decision(token=end))):
        answer = finished(ask(engine_of(counting, at(place, decision)), **asked)).choices[0]
        assert (answer.text, answer.reason) == ("bcdefg"[:place], "eos")


# --- invalid decisions ---------------------------------------------------------------------------------------


def said(**fields: Any) -> Decision:
    """A decision with arbitrary values."""
    return Decision(**fields)


def spliced(**fields: Any) -> Splice:
    return Splice(**fields)


@pytest.mark.parametrize("phase", ["before", "after"])
def test_numpys_numbers_work_like_pythons(counting: LanguageModel, phase: str) -> None:
    x, y = (np.int64(letter(counting, text)) for text in "xy")
    splice = spliced(when_sampled=np.array([x]), backtrack=np.int64(0), ff_tokens=np.array([y]))
    now = spliced(ff_tokens=np.array([x, y]))
    everything = [True] * len(counting.vocabulary)
    decisions = [
        said(token=x),
        said(backtrack=np.int64(1), token=x),
        Decision(splices=[splice]),
        Decision(splices=[now]),
        said(temperature=np.float32(0.0), mask=everything),
    ]
    for decision in decisions:
        events = ask(engine_of(counting, at(2, decision, phase)), hooks=["odd"], token_ids=[letter(counting, "a")])
        finished(events)
        for event in events:
            to_json(event)


@pytest.mark.parametrize(
    "decision",
    [
        said(backtrack="x"),
        said(backtrack=1.5),
        said(token="x"),
        said(token=1.5),
        said(temperature="x"),
        said(splices=5),
        said(splices=[3]),
        said(splices=[spliced(ff_tokens=5)]),
        said(mask=[True]),
        said(token="x", mask=[True] * 100_000),
    ],
)
def test_anything_but_a_decision_is_the_hooks_fault(counting: LanguageModel, decision: Decision) -> None:
    for phase in ("before", "after"):
        failed = failure(
            ask(engine_of(counting, at(2, decision, phase)), hooks=["odd"], token_ids=[letter(counting, "a")])
        )
        assert (failed.kind, "“odd”" in failed.message) == ("hook_failed", True)
        assert len(failed.message) < 1000


def test_masks_of_two_hooks_with_different_lengths_are_the_hooks_fault(counting: LanguageModel) -> None:
    lengths = {"one": len(counting.vocabulary), "other": 7}
    hooks = {name: once(1, Decision(mask=np.ones(size, dtype=np.bool_)), "before") for name, size in lengths.items()}
    failed = failure(ask(engine_of(counting, hooks), hooks=["one", "other"], token_ids=[letter(counting, "a")]))
    assert (failed.kind, "“other”" in failed.message, "shape" in failed.message) == ("hook_failed", True, True)


def test_the_hook_that_forks_too_often_is_named(counting: LanguageModel) -> None:
    hooks: dict[str, Callable[..., Hook]] = {
        "forks": lambda: lambda step: [Decision(), Decision()] if step.phase == "before" else None,
        "quiet": lambda: lambda _: None,
    }
    assert (
        "“forks”"
        in failure(ask(engine_of(counting, hooks), hooks=["forks", "quiet"], token_ids=[letter(counting, "a")])).message
    )


# --- files ---------------------------------------------------------------------------------------------------

STOPS = "def hook(step):\n    return [] if step.position == 3 else None\n"
DATA_CLASS = """from dataclasses import dataclass

@dataclass
class Hook:
    limit: int = 3

    def __call__(self, step):
        return [] if step.position == self.limit else None
"""
FILES = {
    "data class": DATA_CLASS,
    "late annotations": "from __future__ import annotations\n" + DATA_CLASS,
    "byte order mark": "\ufeff" + STOPS,
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_as_python_reads_them(counting: LanguageModel, tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text(FILES[name], encoding="utf-8")
    (tmp_path / "latin.py").write_text("# -*- coding: latin-1 -*-\n# é\n" + STOPS, encoding="latin-1")
    for each in (name, "latin"):
        engine = Engine(counting, PromptCache(counting.new_layers, PLENTY), HookFolder(tmp_path), looks_ahead=False)
        answer = finished(ask(engine, hooks=[each], token_ids=[letter(counting, "a")])).choices[0]
        assert (answer.text, answer.reason) == ("bcd", "hook")


@pytest.fixture
def _as_in_a_worker() -> Iterator[None]:
    """Ctrl+C does not raise `KeyboardInterrupt`."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def _as_in_a_program() -> Iterator[None]:
    """Ctrl+C raises `KeyboardInterrupt`, also if the tests run where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_as_in_a_program")
def test_ctrl_c_during_a_hook_ends_a_program_without_a_worker(counting: LanguageModel, tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text("def hook(step):\n    raise KeyboardInterrupt\n")
    engine = Engine(counting, PromptCache(counting.new_layers, PLENTY), HookFolder(tmp_path), looks_ahead=False)
    with pytest.raises(KeyboardInterrupt):
        ask(engine, hooks=["interrupted"])


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.exit(3)\n",
        "import sys\ndef hook(step):\n    sys.exit(3)\n",
        "def hook(step):\n    raise GeneratorExit\n",
        "def hook(step):\n    raise ValueError('\\udcff')\n",
        "raise KeyboardInterrupt\n",
        "def hook(step):\n    raise KeyboardInterrupt\n",
        "def hook(step):\n    return hook(step)\n",
        (
            "class Odd:\n"
            "    def __index__(self):\n        raise KeyboardInterrupt\n"
            "def hook(step):\n    from worker.decision import Decision\n    return Decision(token=Odd())\n"
        ),
        (
            "class Odd(Exception):\n"
            "    def __repr__(self):\n        raise SystemExit\n    __str__ = __repr__\n"
            "def hook(step):\n    raise Odd\n"
        ),
        (
            "class Hook:\n"
            "    def __call__(self, step):\n"
            "        from worker.decision import Decision\n        return [Decision()] * 2\n"
            "    def __deepcopy__(self, memo):\n        raise KeyboardInterrupt\n"
        ),
    ],
)
@pytest.mark.usefixtures("_as_in_a_worker")
def test_a_hook_that_exits_ends_its_answer_but_not_the_worker(
    counting: LanguageModel, tmp_path: Path, code: str
) -> None:
    (tmp_path / "exits.py").write_text(code)
    engine = Engine(counting, PromptCache(counting.new_layers, PLENTY), HookFolder(tmp_path), looks_ahead=False)
    failed = failure(ask(engine, hooks=["exits"]))
    assert failed.kind == "hook_failed"
    to_json(failed)
    assert not engine.is_busy


def test_hooks_with_odd_file_names_are_listed(counting: LanguageModel, tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"\xff.py")).write_text(STOPS)
    except OSError:
        pytest.skip("this file system has no such names")
    engine = Engine(counting, PromptCache(counting.new_layers, PLENTY), HookFolder(tmp_path), looks_ahead=False)
    failed = failure(ask(engine, hooks=["no such"]))
    assert b"\\\\udcff" in to_json(failed)
