"""The line below an answer: it shows what is recorded."""

from __future__ import annotations

import pytest

from app.model.message import Figures, HookRecord, Message, Record, State
from app.ui.message.answer_summary import ending, statistics, statistics_in_sentences


def test_recorded_figures_are_shown_in_one_line() -> None:
    record = Record(
        figures=Figures(
            prompt_tokens=1_812,
            kept_tokens=1_798,
            read_tokens=14,
            first_word_ms=50,
            tokens_per_s=230.4,
            draft_tokens=60,
            accepted_tokens=40,
            forced_tokens=3,
            memory_bytes=312 << 20,
        ),
        hook_records=(HookRecord(name="quick", total_ms=11.6), HookRecord(name="slow", total_ms=100, is_off=True)),
    )
    assert statistics(record) == (
        "1,812 tokens, 1,798 kept · 14 read · first word after 0.05 s · 230 tokens/s · 312 MiB memory · "
        "40 of 60 drafted tokens accepted · 3 forced · hooks 112 ms · slow turned off: too slow"
    )
    assert statistics(Record(figures=Figures(prompt_tokens=5))) == "5 tokens, 0 kept"


@pytest.mark.parametrize(("stop", "shown"), [("###", "###"), ("\n\nQ:", r"\n\nQ:"), ("-" * 30, "-" * 24 + "…")])
def test_the_stop_string_that_ended_the_answer_is_shown(stop: str, shown: str) -> None:
    record = Record(figures=Figures(prompt_tokens=5), reason="stop", stop=stop)
    assert statistics(record) == f"5 tokens, 0 kept · ended before the stop string “{shown}”"


def test_figures_are_explained_in_sentences() -> None:
    figures = Figures(
        prompt_tokens=1_812,
        kept_tokens=1_798,
        read_tokens=14,
        new_tokens=20,
        queue_ms=10,
        first_word_ms=50,
        memory_bytes=3 << 30,
    )
    assert statistics_in_sentences(Record(model_identity="a hash", figures=figures, seed=7)).splitlines() == [
        "The prompt had 1,812 tokens: 1,798 were in the cache, 14 were read.",
        "The answer has 20 tokens.",
        "The first word came after 0.05 s: 0.01 s in the queue, 0.04 s of reading.",
        "The model used up to 3 GiB of memory, including its cache.",
        "Seed 7: the same seed and settings give the same answer.",
    ]
    assert len(statistics_in_sentences(Record(figures=Figures(prompt_tokens=5))).splitlines()) == 1


@pytest.mark.parametrize(
    ("state", "error", "begins", "kind"),
    [
        ("complete", None, "", "quiet"),
        ("stopped", None, "Stopped.", "quiet"),
        ("cut", None, "Stopped at the maximum", "quiet"),
        ("streaming", None, "This answer was interrupted", "quiet"),
        ("failed", "No model.", "No model.", "failure"),
        ("stopped", "The worker ended.", "The worker ended.", "warning"),
    ],
)
def test_an_unusual_ending_is_shown(state: State, error: str | None, begins: str, kind: str) -> None:
    message = Message(id=1, parent_id=0, role="assistant", text="a", state=state, record=Record(error=error))
    words, found = ending(message)
    assert words.startswith(begins)
    assert bool(words) is bool(begins)
    assert found == kind


@pytest.mark.parametrize(("number", "words"), [(1, "the oldest message"), (1_200, "the 1,200 oldest messages")])
def test_messages_left_out_of_the_prompt_are_counted(number: int, words: str) -> None:
    record = Record(figures=Figures(left_out_messages=number))
    assert words in ending(Message(id=1, parent_id=0, role="assistant", text="a", record=record))[0]


def test_an_answer_without_text_is_shown_as_empty() -> None:
    empty = Message(id=1, parent_id=0, role="assistant", text="")
    assert ending(empty) == ("(empty)", "quiet")
