"""Reasoning before answers: found in every format, finished or not, and not confused with text about it."""

from __future__ import annotations

import pytest

from app.model.message import Figures, Message, Record
from app.model.thoughts import may_become_thought, may_end_thought, split_thought, thought_seconds


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("<think>\nWell.\n</think>\n\nYes.", "Well.", "Yes."),
        ("\n<think>a</think>b", "a", "b"),
        ("<thinking>a</thinking>\nb", "a", "b"),
        ("[THINK]a[/THINK]b", "a", "b"),
        ("◁think▷a◁/think▷b", "a", "b"),
        ("<seed:think>a</seed:think>b", "a", "b"),
        ("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b", "a", "b"),
        ("<|begin_of_thought|>a<|end_of_thought|>\n<|begin_of_solution|>\nb", "a", "b"),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", "a", "b"),
        ("its beginning stood in the prompt\nso\n</think>\n\nb", "its beginning stood in the prompt\nso", "b"),
        ("<think>\n\n</think>\n\nb", "", "b"),
        ("<think>no end `</thin", "no end `</thin", ""),
    ],
)
def test_reasoning_is_separated_from_the_answer(text: str, thought: str, answer: str) -> None:
    found = split_thought(text)
    assert found is not None
    assert found.text == thought
    assert text[found.answer_start :] == answer
    assert found.is_closed is not text.startswith("<think>no end")


@pytest.mark.parametrize(
    "text",
    ["Plain.", "A tag `</think>` in code", "About <think> in the middle", "Inline </think> in a line.", "", "<thin"],
)
def test_text_about_reasoning_is_not_reasoning(text: str) -> None:
    assert split_thought(text) is None


def test_text_that_may_become_a_mark_is_held_back() -> None:
    assert all(may_become_thought("\n<think>"[:length]) for length in range(8))
    assert not may_become_thought("<b>")
    assert not may_become_thought("Well")


def test_the_users_own_marks_are_found_first_also_while_the_text_grows() -> None:
    own = ("<hm>", "</hm>")
    assert split_thought("<hm>a</hm>b", own) == ("a", 10, True)
    assert split_thought("<think>a</think>b", own) == ("a", 16, True)
    assert all(may_become_thought("<hm>"[:length], own) for length in range(4))
    assert not may_become_thought("<hm", None)
    unopened = ("", ";;")
    assert split_thought("a;;b", unopened) == ("a", 3, True)
    assert split_thought("a;", unopened) is None
    assert may_end_thought("a;;", 1, unopened)
    assert not may_end_thought("a;", 1, unopened)
    assert split_thought("<hm>a</hm>b", ("<hm>", "")) is None


@pytest.mark.parametrize("token_chars", [(), (7, 5, 8, 2)])
def test_the_duration_of_reasoning_follows_from_the_record(token_chars: tuple[int, ...]) -> None:
    text = "<think>Well.</think>Ja"
    record = Record(token_chars=token_chars, figures=Figures(new_tokens=4, tokens_per_s=2.0))
    message = Message(id=1, parent_id=None, role="assistant", text=text, record=record)
    found = split_thought(text)
    assert found is not None
    seconds = thought_seconds(message, found)
    assert seconds == (1.5 if token_chars else 2.0)
    assert thought_seconds(Message(id=1, parent_id=None, role="assistant", text=text), found) is None
