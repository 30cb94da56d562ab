"""Names of conversations: short, about the topic, and never empty if anything was asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.titles import says_little, title_of


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What is a branch?", "What is a branch?"),
        ("Hi! Could you please explain monads? I know Haskell.", "Explain monads?"),
        ("Hallo, kannst du mir bitte helfen, ein Zelt zu wählen?", "Helfen, ein Zelt zu wählen?"),
        ("## Plan\n\n- one\n- two", "Plan"),
        ("Fix **this** bug.\n\n```python\nx = 1\n```", "Fix this bug."),
        ("```python\nx = 1\n```\nWhy does it fail?", "Why does it fail?"),
        ("请解释一下这个函数。它很长。", "请解释一下这个函数。"),
        (
            "Tell me how the conversation tree is stored on the disk and how it comes back",
            "Tell me how the conversation tree is stored on…",
        ),
        (
            "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamte",
            "Donaudampfschifffahrtselektrizitätenhauptbetrie…",
        ),
        ("Help me write a letter", "Write a letter"),
        ("Highland cattle", "Highland cattle"),
        ("Hello there is a bug here", "There is a bug here"),
        ("Hi all, why is it so?", "Why is it so?"),
        ("my notes.txt:\n\n```text\nSome text.\n```\n\nWhat do they say?", "What do they say?"),
        ("What is wrong here:\n\n```\nx = 1\n```", "What is wrong here:"),
    ],
)
def test_the_question_gives_the_name(question: str, title: str) -> None:
    assert title_of(question) == title
    assert not says_little(question)


@pytest.mark.parametrize(
    ("question", "answer", "title"),
    [
        ("Hi", "Hello! I am the guide.", "I am the guide."),
        ("hello!", "", "hello!"),
        ("Hello there", "", "Hello there"),
        ("Hallo zusammen!", "Willkommen bei Bough.", "Willkommen bei Bough."),
        ("```\nx = 1\n```", "# An assignment\n\nIt sets x.", "An assignment"),
        ("???", "", "???"),
        ("hello\n\nnotes.md:\n\n```md\nSome text.\n```", "It is about text.", "It is about text."),
        ("notes.md:\n\n````md\nSome ``` text.\n````", "", "notes.md"),
    ],
)
def test_if_the_question_says_little_the_answer_gives_the_name(question: str, answer: str, title: str) -> None:
    assert says_little(question)
    assert title_of(question, answer) == title


@given(st.text(), st.text())
def test_a_name_is_one_short_line_and_never_empty_after_a_question(question: str, answer: str) -> None:
    title = title_of(question, answer)
    assert len(title) <= 48
    assert title == " ".join(title.split())
    assert bool(title) or not question.strip() or len(question) > 2_000
