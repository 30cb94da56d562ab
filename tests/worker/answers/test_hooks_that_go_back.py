"""Hooks that backtrack beyond their own answer: into given text, a constraint, the previous segment."""

from __future__ import annotations

import pytest

from tests.worker.answers.hooked import ask, count, finished, ids, once, text_of
from worker.answers.hook_chain import Hook
from worker.decision import Decision, Verdict
from worker.language_model import LanguageModel
from worker.protocol import Constraint, Continuation, Failed, Retract, Segment
from worker.step import Step


@pytest.mark.parametrize("is_text", [False, True], ids=["tokens", "text"])
def test_a_backtrack_reaches_into_given_text(counting: LanguageModel, is_text: bool) -> None:
    x = ids(counting, "x")[0]
    # The last tokens of a text are spelled again, but count as given.
    continuation = Continuation(text="bcdef") if is_text else Continuation(token_ids=ids(counting, "bcdef"))
    # "gh" is written, "i" sampled, and "efgh" taken back with it.
    events = count(counting, {"back": once(2, Decision(backtrack=4, token=x))}, continuation=continuation)
    answer = finished(events).choices[0]
    assert (answer.text, answer.num_given_chars) == ("xyzabc", 2)
    assert counting.vocabulary.text_of(answer.turn_token_ids) == "bcdxyzabc"
    assert [event.num_given_chars for event in events if isinstance(event, Retract)] == [2]


def test_a_backtrack_ends_at_the_start_of_the_turn(counting: LanguageModel) -> None:
    seen: list[tuple[int, int]] = []

    def hook(step: Step) -> Verdict:
        seen.append((step.position, len(step.given)))
        return Decision(backtrack=1000) if step.phase == "after" and step.visit == 0 and step.position == 1 else None

    events = count(counting, {"back": lambda: hook}, continuation=Continuation(token_ids=ids(counting, "xyz")))
    answer = finished(events).choices[0]
    # It continues to count after the prompt's "a"; the hook finds the position by its number.
    assert (answer.text, answer.num_given_chars) == ("bcdefg", 3)
    assert answer.turn_token_ids == answer.token_ids
    assert (-3, 0) in seen
    assert max(seen)[1] == 0


def test_given_text_that_ends_inside_a_character_is_taken_back_by_bytes(llama: LanguageModel) -> None:
    token_ids = llama.vocabulary.encode("é\U0001f642")
    assert len(token_ids) > 2
    fox = ids(llama, "fox")
    hooks = {"back": once(1, Decision(backtrack=2))}
    events = ask(llama, hooks, continuation=Continuation(token_ids=[*fox, *token_ids]), max_tokens=3)
    answer = finished(events).choices[0]
    # One of the character's tokens is taken back, so the character is incomplete and disappears.
    assert answer.num_given_chars == 1
    assert answer.turn_token_ids[: len(fox) + len(token_ids) - 1] == [*fox, *token_ids][:-1]


def test_a_given_character_that_is_half_taken_back_disappears(llama: LanguageModel) -> None:
    fox, rest = ids(llama, "fox"), llama.vocabulary.encode("\U0001f642")
    assert len(rest) > 1

    def hook(step: Step) -> Verdict:
        return [] if step.position < 0 else Decision(backtrack=1)

    answer = finished(ask(llama, {"half": lambda: hook}, continuation=Continuation(token_ids=[*fox, *rest]))).choices[0]
    assert (answer.text, answer.num_given_chars) == ("", 1)
    assert answer.turn_token_ids == fox


def test_a_constraint_rewinds_into_given_text(counting: LanguageModel) -> None:
    x = ids(counting, "x")[0]
    back = {"back": once(1, Decision(backtrack=3, token=x))}
    for covers, value, text in (("turn", "bc(d|x)[a-z]{3}", "xyza"), ("new", "[a-z]{4}", "xyza")):
        constraint = Constraint(kind="regex", value=value, covers=covers)  # pyright: ignore[reportArgumentType]
        events = count(counting, back, constraint=constraint, continuation=Continuation(text="bcde"), max_tokens=40)
        answer = finished(events).choices[0]
        assert (answer.text, answer.reason, answer.num_given_chars) == (text, "constraint", 2), covers


def test_a_fork_may_go_back_into_given_text_alone(counting: LanguageModel) -> None:
    x = ids(counting, "x")[0]
    hooks = {"fork": once(1, [Decision(), Decision(backtrack=3, token=x)])}
    answers = finished(count(counting, hooks, continuation=Continuation(text="bcd"))).choices
    assert [(answer.text, answer.num_given_chars) for answer in answers] == [("efghi", 0), ("xyzabc", 2)]


def test_tokens_that_forks_share_are_counted_once(counting: LanguageModel) -> None:
    m = ids(counting, "m")[0]
    usage = finished(count(counting, {"fork": once(4, [Decision(), Decision(token=m)])})).usage
    assert (usage.generated_tokens, usage.forced_tokens) == (6 + 2, 1)
    # If the fork or its parent goes back further, they share less.
    usage = finished(count(counting, {"fork": once(4, [Decision(), Decision(backtrack=2, token=m)])})).usage
    assert usage.generated_tokens == 6 + 4
    usage = finished(count(counting, {"fork": once(4, [Decision(backtrack=2, token=m), Decision()])})).usage
    assert usage.generated_tokens == 6 + 4


# --- with constraints and segments ---------------------------------------------------------------------------


def test_a_constraint_rewinds_with_the_text(counting: LanguageModel) -> None:
    constraint = Constraint(kind="regex", value="b(c|x)d?[a-z]+")
    x = ids(counting, "x")[0]
    events = count(counting, {"back": once(4, Decision(backtrack=3, token=x))}, constraint=constraint)
    assert text_of(events) == "bxyzab"


def test_a_token_that_the_constraint_forbids_needs_feed_constraint_false(counting: LanguageModel) -> None:
    constraint = Constraint(kind="regex", value="[a-m]+")
    x = ids(counting, "x")[0]
    events = count(counting, {"x": once(2, Decision(token=x))}, constraint=constraint)
    assert isinstance(events[-1], Failed)
    assert "forbids" in events[-1].message
    past = Decision(token=x, feed_constraint=False)
    text = text_of(count(counting, {"x": once(2, past)}, constraint=constraint))
    assert text[:3] == "bcx"
    assert set(text[3:]) <= set("abcdefghijklm")


def test_a_backtrack_reaches_into_the_previous_segment(counting: LanguageModel) -> None:
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
